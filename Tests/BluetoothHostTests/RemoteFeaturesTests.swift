import BluetoothHCI
import BluetoothHost
import Testing

/// LE Read Remote Features is answered by Command Status, and later by an event; an owner hears once how it ended.
@Suite("LE host: the peer's features") struct RemoteFeaturesTests {
    /// Connects, and answers the command with a status.
    /// - Returns: what the owner heard before any event of the controller's.
    private static func told(_ status: String) throws -> [LEFeatures?] {
        var rig = try HostRig.ready()
        rig.give(HostRig.connected("4000"))
        var asked = 0
        var packets = rig.sent()
        while !packets.isEmpty {
            for packet in packets where packet.hasPrefix("01") {
                let opcode = String(packet.dropFirst(2).prefix(4))
                if opcode == "1620" { asked += 1 }
                rig.give(opcode == "1620" ? HostRig.commandStatus(status, opcode) : rig.script.answer(to: opcode))
            }
            packets = rig.sent()
        }
        #expect(asked == 1)
        return rig.events().compactMap { event in
            if case .remoteFeaturesRead(_, let features) = event { .some(features) } else { nil }
        }
    }

    @Test func aRefusalIsToldAtOnce() throws { #expect(try Self.told("0c") == [nil]) }

    @Test func aCommandThatHasBegunIsNotToldYet() throws { #expect(try Self.told("00") == []) }
}
