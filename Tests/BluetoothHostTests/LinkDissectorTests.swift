import BluetoothHCI
import ByteCoding
import Testing

@testable import BluetoothHost

/// What a tool that shows a capture is told of the frames on one connection.
@Suite("Link dissector")
struct LinkDissectorTests {
    /// Gives the dissector a whole frame in one packet.
    private static func findings(
        _ dissector: inout LinkDissector,
        _ channel: UInt16,
        _ payload: [UInt8],
        isFromHost: Bool = false
    ) throws -> [LinkDissector.Finding] {
        var data: [UInt8] = []
        data.appendLittleEndian(UInt16(payload.count))
        data.appendLittleEndian(channel)
        data += payload
        let handle = try #require(ConnectionHandle(rawValue: 0x0040))
        let packet = ACLPacket(handle: handle, boundary: .firstFlushable, data: data[...])
        return dissector.receive(packet, isFromHost: isFromHost)
    }

    /// What is said by a frame, which has to be the one finding.
    private static func content(
        _ dissector: inout LinkDissector,
        _ channel: UInt16,
        _ text: String,
        isFromHost: Bool = false
    ) throws -> DissectedPDU.Content {
        let found = try findings(&dissector, channel, hex(text), isFromHost: isFromHost)
        try #require(found.count == 1)
        guard case .pdu(let pdu) = found[0] else {
            Issue.record("\(found)")
            return .other
        }
        #expect(pdu.channel == ChannelID(rawValue: channel) && pdu.payload == hex(text)[...])
        return pdu.content
    }

    // MARK: Signaling

    @Test(
        "A signaling command is called by the Core's name",
        arguments: [
            ("01 01 0200 0000", "Command Reject"),
            ("06 02 0400 4000 5000", "Disconnection Request"),
            ("07 02 0400 4000 5000", "Disconnection Response"),
            ("12 03 0800 1800 2800 0000 5802", "Connection Parameter Update Request"),
            ("13 03 0200 0100", "Connection Parameter Update Response"),
            ("15 04 0a00 4000 0002 6400 0700 0000", "LE Credit Based Connection Response"),
            ("16 05 0400 4000 0100", "Flow Control Credit"),
            ("18 06 0a00 4000 4000 0100 0000 4000", "Credit Based Connection Response"),
            ("19 07 0600 8000 4000 4000", "Credit Based Reconfigure Request"),
            ("1a 07 0200 0000", "Credit Based Reconfigure Response"),
            ("20 08 0100 aa", "Unknown command"),
        ]
    )
    func signaling(pdu: String, name: String) throws {
        var dissector = LinkDissector()
        guard case .signaling(let found, let code) = try Self.content(&dissector, 0x0005, pdu) else {
            Issue.record("\(pdu)")
            return
        }
        #expect(found == name && code == hex(pdu)[0])
    }

    @Test("A request for channels says where to, and which ends the requester has")
    func channelRequests() throws {
        var dissector = LinkDissector()
        let plain = try Self.content(&dissector, 0x0005, "14 01 0a00 8000 5000 0002 6400 0700")
        guard case .channelRequest("LE Credit Based Connection Request", let spsm, let ends) = plain else {
            Issue.record("\(plain)")
            return
        }
        #expect(spsm == SPSM(rawValue: 0x80) && ends == [ChannelID(rawValue: 0x50)])
        let enhanced = try Self.content(&dissector, 0x0005, "17 02 0c00 2700 4000 4000 0100 5100 5200")
        guard case .channelRequest("Credit Based Connection Request", .enhancedATT, let several) = enhanced else {
            Issue.record("\(enhanced)")
            return
        }
        #expect(several == [ChannelID(rawValue: 0x51), ChannelID(rawValue: 0x52)])
    }

    @Test(
        "What cannot be decoded says which field is wrong",
        arguments: [
            (0x0005, "", "l2cap_signaling.code"), (0x0005, "06 00 0400 4000 5000", "l2cap_signaling.identifier"),
            (0x0005, "06 01 0500 4000 5000", "l2cap_signaling.length"), (0x0006, "", "smp.code"),
            (0x0006, "0f", "smp.code"), (0x0004, "", "att.opcode"), (0x0004, "14 0100", "att.opcode"),
            (0x0004, "0a 03", "attribute_handle"), (0x0004, "1e 00", "pdu"),
            (0x0004, "23 0300 0200 64", "attribute_value"),
            (0x0004, "23 0300 02", "value_length"), (0x0004, "11 05 0100 0500 00", "length"),
        ] as [(UInt16, String, String)]
    )
    func malformed(channel: UInt16, pdu: String, field: String) throws {
        var dissector = LinkDissector()
        guard case .malformed(let error) = try Self.content(&dissector, channel, pdu) else {
            Issue.record("\(pdu)")
            return
        }
        #expect(error.field == field)
    }

    // MARK: Security

    @Test(
        "A Security Manager command is called by the Core's name, and those with a key are marked",
        arguments: [
            (0x01, "Pairing Request", false), (0x02, "Pairing Response", false), (0x03, "Pairing Confirm", false),
            (0x04, "Pairing Random", false), (0x05, "Pairing Failed", false), (0x06, "Encryption Information", true),
            (0x07, "Central Identification", true), (0x08, "Identity Information", true),
            (0x09, "Identity Address Information", false), (0x0A, "Signing Information", true),
            (0x0B, "Security Request", false), (0x0C, "Pairing Public Key", false),
            (0x0D, "Pairing DHKey Check", false),
            (0x0E, "Keypress Notification", false),
        ] as [(UInt8, String, Bool)]
    )
    func security(code: UInt8, name: String, hasKey: Bool) throws {
        var dissector = LinkDissector()
        let content = try Self.content(&dissector, 0x0006, [code, 0x00].hexadecimal)
        guard case .security(name, hasKey) = content else {
            Issue.record("\(content)")
            return
        }
    }

    // MARK: Attributes

    private static func attribute(_ text: String) throws -> DissectedATT {
        var dissector = LinkDissector()
        guard case .attribute(let pdu, let size, let bearer) = try content(&dissector, 0x0004, text) else {
            throw ByteDecodingError("test", .invalidLength(0))
        }
        #expect(size == hex(text).count && bearer == 0)
        return pdu
    }

    /// What a PDU says, as text: handles, type, offset, MTU, value and lists, those that it has.
    private static func fields(_ text: String) throws -> String {
        let pdu = try attribute(text)
        var fields: [String] = []
        if let handle = pdu.handle { fields.append("handle \(handle.rawValue)") }
        if let handle = pdu.lastHandle { fields.append("last \(handle.rawValue)") }
        if let type = pdu.type { fields.append("type \(type)") }
        if let offset = pdu.offset { fields.append("offset \(offset)") }
        if let mtu = pdu.mtu { fields.append("mtu \(mtu)") }
        if let value = pdu.value { fields.append("value \(value.hexadecimal)") }
        fields += pdu.values.map { "\($0.handle.rawValue)=\($0.value.hexadecimal)" }
        fields += pdu.types.map { "\($0.handle.rawValue):\($0.uuid)" }
        if let error = pdu.error { fields.append("error \(error.error.rawValue) to \(error.requestOpcode)") }
        return fields.joined(separator: ", ")
    }

    @Test(
        "A request shows the fields that its layout has, and no others",
        arguments: [
            ("02 0502", "mtu 517"),
            ("04 0100 0500", "handle 1, last 5"),
            ("06 0100 ffff 0028 0f18", "handle 1, last 65535, type \(BluetoothUUID.uuid16(0x2800)), value 0f18"),
            ("08 0100 0500 0328", "handle 1, last 5, type \(BluetoothUUID.uuid16(0x2803))"),
            ("0a 0300", "handle 3"),
            ("0c 0300 1600", "handle 3, offset 22"),
            ("0e 0300 0500", "handle 3"),
            ("10 0100 ffff 0028", "handle 1, last 65535, type \(BluetoothUUID.uuid16(0x2800))"),
            ("12 0300 0102", "handle 3, value 0102"),
            ("16 0300 1200 aabb", "handle 3, offset 18, value aabb"),
            ("18 01", ""),
            ("20 0500 0300", "handle 5"),
        ]
    )
    func requests(pdu: String, expected: String) throws {
        #expect(try Self.fields(pdu) == expected)
    }

    @Test(
        "A response shows what it carries",
        arguments: [
            ("01 0a 0300 0a", "handle 3, error 10 to 10"),
            ("03 f700", "mtu 247"),
            ("05 01 0400 0229", "4:\(BluetoothUUID.uuid16(0x2902))"),
            ("07 0100 0500 0a00 0e00", "1=, 10="),
            ("09 03 0300 64 0500 65", "3=64, 5=65"),
            ("0b 436169", "value 436169"),
            ("0d 726e", "value 726e"),
            ("0f 0102", "value 0102"),
            ("11 06 0100 0500 0018 0a00 0e00 0f18", "1=0018, 10=0f18"),
            ("13", ""),
            ("17 0300 1200 aabb", "handle 3, offset 18, value aabb"),
            ("19", ""),
            ("21 0100 64", ""),
        ]
    )
    func responses(pdu: String, expected: String) throws {
        #expect(try Self.fields(pdu) == expected)
    }

    @Test(
        "What is sent without being asked for shows its values",
        arguments: [
            ("1b 0c00 64", "handle 12, value 64"),
            ("1d 0800 0100ffff", "handle 8, value 0100ffff"),
            ("1e", ""),
            ("23 0c00 0100 64 0e00 0300 010203", "12=64, 14=010203"),
            ("23", ""),
            ("52 0500 ff", "handle 5, value ff"),
            ("d2 0500 ff 000000000000000000000000", "handle 5, value ff000000000000000000000000"),
        ]
    )
    func unasked(pdu: String, expected: String) throws {
        #expect(try Self.fields(pdu) == expected)
    }

    // MARK: Frames

    @Test("A frame in pieces is found when it is whole; one that is cut short is a problem, and the next one is found")
    func pieces() throws {
        let handle = try #require(ConnectionHandle(rawValue: 0x0040))
        func packet(_ boundary: PacketBoundary, _ text: String) -> ACLPacket {
            ACLPacket(handle: handle, boundary: boundary, data: hex(text)[...])
        }
        var dissector = LinkDissector()
        #expect(dissector.receive(packet(.firstNonFlushable, "0300 0400 0a"), isFromHost: true).isEmpty)
        // The other direction is a stream of its own.
        let stray = dissector.receive(packet(.continuing, "0300"), isFromHost: false)
        guard case .problem(.continuationWithoutStart(count: 2))? = stray.first, stray.count == 1 else {
            Issue.record("\(stray)")
            return
        }
        let whole = dissector.receive(packet(.continuing, "0300"), isFromHost: true)
        guard case .pdu(let pdu)? = whole.first, whole.count == 1 else {
            Issue.record("\(whole)")
            return
        }
        #expect(pdu.payload == [0x0A, 0x03, 0x00])
        _ = dissector.receive(packet(.firstNonFlushable, "0300 0400 0a"), isFromHost: true)
        let both = dissector.receive(packet(.firstNonFlushable, "0300 0400 0a0500"), isFromHost: true)
        guard case .problem(.frameCutShort(needed: 7, available: 5))? = both.first, case .pdu(let next)? = both.last
        else {
            Issue.record("\(both)")
            return
        }
        #expect(both.count == 2 && next.payload == [0x0A, 0x05, 0x00])
    }

    // MARK: Enhanced bearers

    /// The PDU on a channel, as the bearer's number and its octets; nil of a channel that is no bearer.
    private static func bearer(
        _ dissector: inout LinkDissector,
        _ channel: UInt16,
        _ text: String,
        isFromHost: Bool
    ) throws -> Int? {
        switch try content(&dissector, channel, text, isFromHost: isFromHost) {
        case .attribute(_, _, let bearer): bearer
        case .attributePart(let bearer): -bearer
        case .signaling, .channelRequest, .security, .other, .malformed: nil
        }
    }

    @Test("Bearers are counted from the first request on; one that is refused has its number all the same")
    func bearers() throws {
        var dissector = LinkDissector()
        _ = try Self.content(&dissector, 0x0005, "17 01 0e00 2700 4000 4000 0100 5000 5100 5200", isFromHost: false)
        _ = try Self.content(&dissector, 0x0005, "18 01 0e00 0502 4000 0700 0400 4000 0000 4200", isFromHost: true)
        // To the host's ends, and to the peer's.
        #expect(try Self.bearer(&dissector, 0x0040, "0300 0a 0300", isFromHost: false) == 1)
        #expect(try Self.bearer(&dissector, 0x0042, "0300 0a 0300", isFromHost: false) == 3)
        #expect(try Self.bearer(&dissector, 0x0052, "0200 0b 64", isFromHost: true) == 3)
        #expect(try Self.bearer(&dissector, 0x0041, "0300 0a 0300", isFromHost: false) == nil)
        // A PDU in two frames, whose length stands in the first alone.
        #expect(try Self.bearer(&dissector, 0x0050, "0400 0b 64", isFromHost: true) == -1)
        #expect(try Self.bearer(&dissector, 0x0050, "65 66", isFromHost: true) == 1)
        // It is closed, and its ends are no bearer any more.
        _ = try Self.content(&dissector, 0x0005, "06 02 0400 4000 5000", isFromHost: false)
        #expect(try Self.bearer(&dissector, 0x0040, "0300 0a 0300", isFromHost: false) == nil)
        #expect(try Self.bearer(&dissector, 0x0050, "0200 0b 64", isFromHost: true) == nil)
    }

    @Test("A frame that brings more than its SDU is malformed")
    func overlong() throws {
        var dissector = LinkDissector()
        _ = try Self.content(&dissector, 0x0005, "17 01 0a00 2700 4000 4000 0100 5000")
        guard case .malformed(let error) = try Self.content(&dissector, 0x0050, "0200 0b 6465", isFromHost: true) else {
            Issue.record("not malformed")
            return
        }
        #expect(error == ByteDecodingError("k_frame.sdu", .invalidValue(3)))
    }

    @Test("An answer to a request that was not seen opens nothing")
    func answerAlone() throws {
        var dissector = LinkDissector()
        _ = try Self.content(&dissector, 0x0005, "18 01 0a00 0502 4000 0700 0000 4000", isFromHost: true)
        #expect(try Self.bearer(&dissector, 0x0040, "0300 0a 0300", isFromHost: false) == nil)
        // Nor does one from the side that asked, or one with another identifier.
        _ = try Self.content(&dissector, 0x0005, "17 02 0a00 2700 4000 4000 0100 5000", isFromHost: false)
        _ = try Self.content(&dissector, 0x0005, "18 02 0a00 0502 4000 0700 0000 4000", isFromHost: false)
        _ = try Self.content(&dissector, 0x0005, "18 03 0a00 0502 4000 0700 0000 4000", isFromHost: true)
        #expect(try Self.bearer(&dissector, 0x0040, "0300 0a 0300", isFromHost: false) == nil)
        #expect(
            try Self.bearer(&dissector, 0x0050, "0200 0b 64", isFromHost: true) == 1,
            "the requester's end is known"
        )
    }

    @Test("Of a side's ends and of requests without an answer, the newest 64 are kept")
    func bounded() throws {
        var dissector = LinkDissector()
        for number in UInt8(1)...65 {
            let request = "17 \([number].hexadecimal) 0a00 2700 4000 4000 0100 \([number].hexadecimal)01"
            _ = try Self.content(&dissector, 0x0005, request, isFromHost: false)
        }
        #expect(try Self.bearer(&dissector, 0x0101, "0200 0b 64", isFromHost: true) == nil, "the oldest of 65")
        #expect(try Self.bearer(&dissector, 0x0102, "0200 0b 64", isFromHost: true) == 2)
        #expect(try Self.bearer(&dissector, 0x0141, "0200 0b 64", isFromHost: true) == 65)
        // The first request is forgotten, the second one is not.
        _ = try Self.content(&dissector, 0x0005, "18 01 0a00 0502 4000 0700 0000 4000", isFromHost: true)
        _ = try Self.content(&dissector, 0x0005, "18 02 0a00 0502 4000 0700 0000 4100", isFromHost: true)
        #expect(try Self.bearer(&dissector, 0x0040, "0300 0a 0300", isFromHost: false) == nil)
        #expect(try Self.bearer(&dissector, 0x0041, "0300 0a 0300", isFromHost: false) == 2)
    }
}
