import BluetoothHCI
import ByteCoding

/// Reads what passes on one connection, for tools that show captures.
///
/// It decodes what either side sends, and answers nothing. What is held back of unfinished L2CAP PDUs is bounded by the longest
/// payload that the host takes.
package struct LinkDissector: Sendable {
    /// What an ACL packet has brought.
    package enum Finding: Sendable {
        /// A whole L2CAP PDU, which this packet ended.
        case pdu(DissectedPDU)
        /// A PDU that was dropped, and why.
        case problem(FrameProblem)
    }

    private var fromHost = FrameRecombiner()
    private var toHost = FrameRecombiner()
    private var bearers = BearerDissector()

    /// A connection on which nothing has passed.
    package init() {}

    /// Takes the next packet of either direction.
    package mutating func receive(_ packet: ACLPacket, isFromHost: Bool) -> [Finding] {
        let isStart = packet.boundary != .continuing
        let outcome =
            isFromHost
            ? fromHost.receive(packet.data, isStart: isStart) : toHost.receive(packet.data, isStart: isStart)
        return outcome.problems.map(Finding.problem)
            + (outcome.frame.map { [.pdu(DissectedPDU($0, from: isFromHost ? .host : .peer, &bearers))] } ?? [])
    }
}

/// An L2CAP PDU and what it says.
package struct DissectedPDU: Sendable {
    /// What is on the channel.
    package enum Content: Sendable {
        /// An ATT PDU of `size` octets, and the bearer that it is on: 0 is the fixed channel, 1 the first enhanced bearer of the
        /// connection.
        case attribute(DissectedATT, size: Int, bearer: Int)
        /// A piece of an ATT PDU that is not whole yet, on an enhanced bearer.
        case attributePart(bearer: Int)
        /// A signaling command, by the Core's name.
        case signaling(name: String, code: UInt8)
        /// A request for a credit-based channel: what it is to be opened to, and the requester's ends.
        case channelRequest(name: String, SPSM, ends: [ChannelID])
        /// A command of the Security Manager, by the Core's name, and whether a key is in it.
        case security(name: String, hasKey: Bool)
        /// A PDU on a channel that was opened, or on one that this library does not know.
        case other
        /// A PDU that cannot be decoded.
        case malformed(ByteDecodingError)
    }

    /// The channel that the PDU is for.
    package let channel: ChannelID
    /// What follows the L2CAP header.
    package let payload: ArraySlice<UInt8>
    /// What the payload says.
    package let content: Content

    init(_ frame: L2CAPFrame, from side: BearerDissector.Side, _ bearers: inout BearerDissector) {
        channel = frame.channel
        payload = frame.payload
        do throws(ByteDecodingError) {
            content = try Self.content(of: frame, from: side, &bearers)
        } catch {
            content = .malformed(error)
        }
    }

    private static func content(
        of frame: L2CAPFrame,
        from side: BearerDissector.Side,
        _ bearers: inout BearerDissector
    ) throws(ByteDecodingError) -> Content {
        switch frame.channel {
        case .attribute: return .attribute(try DissectedATT(frame.payload), size: frame.payload.count, bearer: 0)
        case .signaling:
            let pdu = try SignalingPDU(decoding: frame.payload)
            bearers.take(pdu, from: side)
            let code = frame.payload.first ?? 0
            return switch pdu.command {
            case .reject: .signaling(name: "Command Reject", code: code)
            case .disconnectionRequest: .signaling(name: "Disconnection Request", code: code)
            case .disconnectionResponse: .signaling(name: "Disconnection Response", code: code)
            case .connectionParameterUpdateRequest:
                .signaling(name: "Connection Parameter Update Request", code: code)
            case .connectionParameterUpdateResponse:
                .signaling(name: "Connection Parameter Update Response", code: code)
            case .creditBased(let command): content(of: command, code)
            case .unknown: .signaling(name: "Unknown command", code: code)
            }
        case .securityManager:
            var reader = ByteReader(frame.payload)
            let number = try reader.readUInt8("smp.code")
            guard let code = SMPCode(rawValue: number) else {
                throw ByteDecodingError("smp.code", .invalidValue(UInt64(number)))
            }
            return .security(name: name(of: code), hasKey: PacketTranscript.pdusWithKeys.contains(number))
        default:
            guard let (bearer, pdu) = try bearers.take(frame, from: side) else { return .other }
            guard let pdu else { return .attributePart(bearer: bearer) }
            return .attribute(try DissectedATT(pdu), size: pdu.count, bearer: bearer)
        }
    }

    private static func content(of command: CreditBasedCommand, _ code: UInt8) -> Content {
        switch command {
        case .connectionRequest(let spsm, let source, _):
            .channelRequest(name: "LE Credit Based Connection Request", spsm, ends: [source])
        case .connectionResponse: .signaling(name: "LE Credit Based Connection Response", code: code)
        case .flowControlCredit: .signaling(name: "Flow Control Credit", code: code)
        case .enhancedConnectionRequest(let spsm, _, let sources):
            .channelRequest(name: "Credit Based Connection Request", spsm, ends: sources)
        case .enhancedConnectionResponse: .signaling(name: "Credit Based Connection Response", code: code)
        case .reconfigureRequest: .signaling(name: "Credit Based Reconfigure Request", code: code)
        case .reconfigureResponse: .signaling(name: "Credit Based Reconfigure Response", code: code)
        }
    }

    private static func name(of code: SMPCode) -> String {
        switch code {
        case .pairingRequest: "Pairing Request"
        case .pairingResponse: "Pairing Response"
        case .pairingConfirm: "Pairing Confirm"
        case .pairingRandom: "Pairing Random"
        case .pairingFailed: "Pairing Failed"
        case .encryptionInformation: "Encryption Information"
        case .centralIdentification: "Central Identification"
        case .identityInformation: "Identity Information"
        case .identityAddressInformation: "Identity Address Information"
        case .signingInformation: "Signing Information"
        case .securityRequest: "Security Request"
        case .pairingPublicKey: "Pairing Public Key"
        case .pairingDHKeyCheck: "Pairing DHKey Check"
        case .keypressNotification: "Keypress Notification"
        }
    }
}

/// The fields of an ATT PDU; those that its opcode does not have are nil or empty.
package struct DissectedATT: Sendable {
    /// What kind of PDU it is.
    package let opcode: ATTOpcode
    /// The attribute that it is about.
    package private(set) var handle: AttributeHandle?
    /// The last handle of the range that it asks about; `handle` is the first.
    package private(set) var lastHandle: AttributeHandle?
    /// The type of attribute that it asks about.
    package private(set) var type: BluetoothUUID?
    /// Where the value begins, in octets.
    package private(set) var offset: Int?
    /// The receive MTU that is told, in octets.
    package private(set) var mtu: Int?
    /// The value that is carried.
    package private(set) var value: ArraySlice<UInt8>?
    /// The attributes and values that are listed.
    package private(set) var values: [HandleValue] = []
    /// The attributes and types that are listed.
    package private(set) var types: [DiscoveredDescriptor] = []
    /// The refusal.
    package private(set) var error: ATTErrorResponse?

    init(_ pdu: ArraySlice<UInt8>) throws(ByteDecodingError) {
        var reader = ByteReader(pdu)
        let number = try reader.readUInt8("att.opcode")
        guard let opcode = ATTOpcode(rawValue: number) else {
            throw ByteDecodingError("att.opcode", .invalidValue(UInt64(number)))
        }
        self.opcode = opcode
        switch opcode.role {
        case .request:
            if let request = try ATTRequest(opcode, reading: &reader) { take(request) }
        case .response: take(try ATTResponse(opcode, reading: &reader))
        case .command, .notification, .indication:
            if opcode == .multipleHandleValueNotification {
                try takeValues(&reader)
            } else {
                handle = try AttributeHandle(reading: &reader)
                value = reader.readRemaining()
            }
        case .confirmation: try reader.expectEnd("pdu")
        }
    }

    private mutating func takeValues(_ reader: inout ByteReader) throws(ByteDecodingError) {
        while !reader.isEmpty {
            let handle = try AttributeHandle(reading: &reader)
            let length = try reader.readLittleEndian("value_length", as: UInt16.self)
            values.append(HandleValue(handle, try reader.readBytes(Int(length), "attribute_value")))
        }
    }

    private mutating func take(_ request: ATTRequest) {
        switch request {
        case .exchangeMTU(let mtu): self.mtu = mtu
        case .findInformation(let range): take(range)
        case .findByTypeValue(let range, let type, let value):
            take(range)
            self.type = type
            self.value = value
        case .readByType(let range, let type), .readByGroupType(let range, let type):
            take(range)
            self.type = type
        case .read(let handle): self.handle = handle
        case .readBlob(let handle, let offset):
            self.handle = handle
            self.offset = offset
        case .readMultiple(var list), .readMultipleVariable(var list): handle = list.popFirst()
        case .write(let handle, let value):
            self.handle = handle
            self.value = value
        case .prepareWrite(let handle, let offset, let value):
            self.handle = handle
            self.offset = offset
            self.value = value
        case .executeWrite: break
        }
    }

    private mutating func take(_ range: RequestedHandles) {
        handle = range.start
        lastHandle = range.end
    }

    private mutating func take(_ response: ATTResponse) {
        switch response {
        case .error(let error):
            self.error = error
            handle = error.handle
        case .exchangeMTU(let mtu): self.mtu = mtu
        case .findInformation(let types): self.types = types
        case .findByTypeValue(let groups), .readByGroupType(let groups):
            values = groups.map { HandleValue($0.start, $0.value) }
        case .readByType(let values): self.values = values
        case .read(let value), .readBlob(let value), .readMultiple(let value): self.value = value
        case .prepareWrite(let handle, let offset, let value):
            self.handle = handle
            self.offset = offset
            self.value = value
        case .readMultipleVariable, .write, .executeWrite: break
        }
    }
}
