import BluetoothHCI
import Testing

@testable import Faults

/// What becomes of pairing and of keys at a line of faults, octet by octet.
@Suite struct PairingFaultTests {
    private static func phone(_ payload: [UInt8]) -> [UInt8] { LineRig.fromPhone(0x0006, payload) }
    private static func watch(_ payload: [UInt8]) -> [UInt8] { LineRig.toPhone(0x0006, payload) }

    /// Pairing Request: KeyboardDisplay, no OOB data, bonding and Secure Connections, 16 octets, identity keys of both.
    private static let request = phone([0x01, 0x04, 0x00, 0x09, 0x10, 0x02, 0x02])

    @Test("A pairing is refused in the watch's name, and the watch hears nothing of it")
    func refused() throws {
        var rig = LineRig()
        try rig.add("smp.pairing-refused count=1")
        rig.controller(Self.request)
        #expect(rig.controllerHears() == [Self.watch([0x05, 0x05])], "Pairing Failed: Pairing Not Supported")
        #expect(rig.hostHears().isEmpty)
        rig.controller(Self.request)
        #expect(rig.hostHears() == [Self.request])
    }

    @Test(
        "A pairing stalls at each step that has a PDU of the watch's",
        arguments: [
            ("response", [0x02]), ("public-key", [0x0C]), ("confirm", [0x03]), ("random", [0x04]),
            ("dhkey-check", [0x0D]),
            // Keys: Encryption Information, Central Identification, Identity Information and Address, Signing Information.
            ("keys", [0x06, 0x07, 0x08, 0x09, 0x0A]),
        ] as [(String, [UInt8])]
    )
    func stalled(_ step: String, _ codes: [UInt8]) throws {
        for code in codes {
            var rig = LineRig()
            try rig.add("smp.stalled step=\(step) count=1")
            rig.controller(Self.request)
            _ = rig.hostHears()
            // What belongs to no step: Pairing Failed, Security Request, Keypress Notification, and a code of nobody's.
            let others = [[0x05, 0x08], [0x0B, 0x01], [0x0E, 0x00], [0x7F]].map(Self.watch)
            for packet in others { rig.host(packet) }
            #expect(rig.controllerHears() == others)
            rig.host(Self.watch([code, 0xAA]))
            rig.host(Self.watch([0x04, 0xBB]))
            #expect(rig.controllerHears().isEmpty, "from this step on the phone hears nothing")
            #expect(rig.firings.map(\.effect) == ["the pairing stalls at \(step)"])
            rig.controller(Self.request)
            rig.host(Self.watch([code, 0xCC]))
            #expect(rig.controllerHears() == [Self.watch([code, 0xCC])], "the next pairing is another one")
        }
    }

    @Test("The phone's part of a pairing is never changed")
    func phonesPart() throws {
        var rig = LineRig()
        for fault in ["smp.wrong-confirm", "smp.wrong-dhkey-check", "smp.other-model", "smp.stalled"] {
            try rig.add(fault)
        }
        let packets = [[0x02, 0x03, 0x00, 0x09], [0x03, 0xAA], [0x0D, 0xAA], [0x04, 0xAA], []].map(Self.phone)
        for packet in packets { rig.controller(packet) }
        #expect(rig.hostHears() == packets)
        #expect(rig.firings.isEmpty)
    }

    @Test(
        "The watch's Pairing Response asks for a model",
        arguments: [
            // NoInputNoOutput without protection, DisplayYesNo with it, DisplayOnly with it.
            ("just-works", 0x03, 0x09), ("numeric", 0x01, 0x0D), ("passkey", 0x00, 0x0D),
        ] as [(String, UInt8, UInt8)]
    )
    func otherModel(_ model: String, _ capability: UInt8, _ requirements: UInt8) throws {
        for asked: UInt8 in [0x09, 0x0D] {
            var rig = LineRig()
            try rig.add("smp.other-model to=\(model)")
            rig.host(Self.watch([0x02, 0x04, 0x01, asked, 0x10, 0x02, 0x02]))
            #expect(rig.controllerHears() == [Self.watch([0x02, capability, 0x00, requirements, 0x10, 0x02, 0x02])])
            #expect(rig.firings.map(\.effect) == ["the watch pairs by \(model)"])
        }
    }

    @Test("A Pairing Response that ends before its requirements stays as it is")
    func shortResponse() throws {
        var rig = LineRig()
        try rig.add("smp.other-model to=numeric")
        rig.host(Self.watch([0x02, 0x04, 0x00]))
        #expect(rig.controllerHears() == [Self.watch([0x02, 0x04, 0x00])])
    }

    @Test(
        "A value that is wrong differs in one bit of its first octet",
        arguments: [("smp.wrong-confirm", 0x03), ("smp.wrong-dhkey-check", 0x0D)] as [(String, UInt8)]
    )
    func wrongValue(_ fault: String, _ code: UInt8) throws {
        var rig = LineRig()
        try rig.add(fault)
        let other: UInt8 = code == 0x03 ? 0x0D : 0x03
        let others = [[0x02, 0x03, 0x00, 0x09, 0x10, 0x02, 0x02], [0x04, 0x10], [other, 0x10]].map(Self.watch)
        for packet in others { rig.host(packet) }
        #expect(rig.controllerHears() == others)
        rig.host(Self.watch([code] + (0x10...0x1F)))
        #expect(rig.controllerHears() == [Self.watch([code, 0x11] + (0x11...0x1F))])
    }

    // MARK: Keys

    /// LE Long Term Key Request Reply for a connection, with the key 0F 0E … 01 00, its last octet first.
    private static func reply(_ handle: UInt8) -> [UInt8] { [0x01, 0x1A, 0x20, 0x12, handle, 0x00] + (0x00...0x0F) }

    @Test("A key that is corrupted is one bit off")
    func corruptedKey() throws {
        var rig = LineRig()
        try rig.add("encryption.key-corrupted count=1")
        rig.host(Self.reply(0x40))
        #expect(rig.controllerHears() == [[0x01, 0x1A, 0x20, 0x12, 0x40, 0x00, 0x01] + (0x01...0x0F)])
        rig.controller([0x04, 0x0E, 0x06, 0x01, 0x1A, 0x20, 0x00, 0x40, 0x00])
        rig.host(Self.reply(0x40))
        #expect(rig.controllerHears() == [Self.reply(0x40)])
    }

    @Test("A watch without a key says so, and its host believes that it gave one")
    func refusedKey() throws {
        var rig = LineRig()
        try rig.add("encryption.refused")
        rig.host(Self.reply(0x40))
        #expect(rig.controllerHears() == [[0x01, 0x1B, 0x20, 0x02, 0x40, 0x00]])
        rig.controller([0x04, 0x0E, 0x06, 0x01, 0x1B, 0x20, 0x00, 0x40, 0x00])
        #expect(rig.hostHears() == [[0x04, 0x0E, 0x06, 0x01, 0x1A, 0x20, 0x00, 0x40, 0x00]])
    }

    @Test("A key for a connection that the line does not know, or a reply without one, is the controller's")
    func foreignKey() throws {
        var rig = LineRig()
        try rig.add("encryption.refused")
        let replies = [Self.reply(0x41), [0x01, 0x1A, 0x20, 0x02, 0x40, 0x00]]
        for packet in replies { rig.host(packet) }
        #expect(rig.controllerHears() == replies)
        #expect(rig.firings.isEmpty)
    }
}
