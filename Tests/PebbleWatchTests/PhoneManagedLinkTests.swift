import AirSimulator
import BluetoothHCI
import BluetoothHost
import ByteCoding
import PebbleWatch
import Testing

/// What a phone says of its link by writing Connection Parameters, to the byte, and what the watch then does on the air.
@Suite struct PhoneManagedLinkTests {
    private static let seed: UInt64 = 0x11A5
    private static let connectionParameters = BluetoothUUID.uuid128(0x0000_0005_328E_0FBB_C642_1AA6_699B_DADA)

    /// The commands of one kind that the watch gives its controller.
    private final class Sent {
        var commands: [String] = []
    }

    /// A watch and a phone that have been connected for so long that nothing goes on any more.
    private struct Rig {
        var pair: RigPair
        let value: AttributeHandle
        let sent = Sent()

        init(watchController: ControllerConfiguration = .modern) throws {
            var configuration = WatchConfiguration(identity: WatchIdentity(address: RigWatch.address))
            configuration.offersConnectionParameters = true
            configuration.linkSecurity = .insecureTestLink
            pair = RigPair(
                seed: PhoneManagedLinkTests.seed,
                watch: try RigWatch(configuration, seed: PhoneManagedLinkTests.seed),
                phone: RigPhone(address: 0xA2, seed: PhoneManagedLinkTests.seed),
                watchController: watchController
            )
            pair.run(for: .seconds(1))
            try pair.connect()
            pair.run(for: .seconds(30))
            guard case .values(let values)? = try pair.perform(.readByUUID(PhoneManagedLinkTests.connectionParameters))
            else { throw WatchCommandError.notConnected }
            value = try #require(values.first).handle
            pair.onWatch { watch, _ in watch.events = [] }
            pair.simulation.observer = { [watch = pair.watch, sent] packet in
                guard packet.controller == watch.controller, packet.isFromHost, packet.bytes.first == 1 else { return }
                sent.commands.append(Array(packet.bytes).hexadecimal)
            }
        }

        /// Writes a value.
        /// - Returns: the error that the phone is answered; nil if it is answered that the value was written.
        mutating func write(_ hexadecimal: String) throws -> ATTError? {
            let bytes = try #require([UInt8](hexadecimal: hexadecimal))
            guard try pair.perform(.write(value, bytes[...])) == nil else { return nil }
            guard case .refused(let refusal)? = pair.onPhone({ phone, _ in phone.failures.last }) else {
                Issue.record("the write has no end")
                return nil
            }
            return refusal.error
        }

        /// What the watch said of the link since this was last asked.
        mutating func events() -> [LinkEvent] {
            pair.onWatch { watch, _ in
                defer { watch.events = [] }
                return watch.events.compactMap { if case .link(_, let event) = $0 { event } else { nil } }
            }
        }

        /// The parameters of commands since this was last asked, without the connection's handle.
        func parameters(of opcode: String) -> [String] {
            defer { sent.commands = [] }
            return sent.commands.filter { $0.hasPrefix("01" + opcode) }.map { String($0.dropFirst(12)) }
        }
    }

    private static func parameters(_ shortest: Double, _ longest: Double, _ latency: UInt16) -> ConnectionParameters {
        ConnectionParameters(
            intervalMinimum: .milliseconds(shortest),
            intervalMaximum: .milliseconds(longest),
            latency: latency,
            supervisionTimeout: .milliseconds(6000)
        )
    }

    /// Sets of the slow, the middle and the fast response time: shortest interval in 1.25 ms, how much the longest is longer,
    /// latency, and the timeout in 30 ms.
    private static let sets = "3c00 18 02 c8" + "3000 0c 01 c8" + "1800 0c 00 c8"

    @Test func theWatchAsksForTheSetsOfThePhone() throws {
        var rig = try Rig()
        #expect(try rig.write("0000" + Self.sets) == nil)
        rig.pair.run(for: .seconds(10))
        #expect(rig.events().contains(.requested(Self.parameters(75, 105, 2), attempt: 1)), "the slow one")
        // LE Connection Update: 75 to 105 ms, latency 2, 6 s.
        #expect(rig.parameters(of: "1320") == ["3c0054000200580200000000"])
        #expect(try rig.write("0101") == nil)
        rig.pair.run(for: .seconds(10))
        let middle = rig.events()
        #expect(middle.contains(.responseTime(.middle, for: [.phone])))
        #expect(middle.contains(.requested(Self.parameters(60, 75, 1), attempt: 1)))
        #expect(rig.parameters(of: "1320") == ["30003c000100580200000000"])
        #expect(try rig.write("0102") == nil)
        rig.pair.run(for: .seconds(10))
        #expect(rig.events().contains(.requested(Self.parameters(30, 45, 0), attempt: 1)))
        #expect(rig.parameters(of: "1320") == ["180024000000580200000000"])
        #expect(try rig.write("0100") == nil)
        rig.pair.run(for: .seconds(10))
        #expect(rig.parameters(of: "1320") == ["3c0054000200580200000000"], "slow once more")
    }

    /// The watch does not ask for parameters that no phone grants.
    @Test func aSetThatBreaksTheRulesIsNotAskedFor() throws {
        var rig = try Rig()
        // 7.5 ms for all three.
        #expect(try rig.write("0000" + "0600 00 00 c8" + "0600 00 00 c8" + "0600 00 00 c8") == nil)
        rig.pair.run(for: .seconds(10))
        let wanted = Self.parameters(7.5, 7.5, 0)
        #expect(rig.events() == [.notRequested(wanted, .intervalTooShort(minimum: .milliseconds(15)))])
        #expect(rig.parameters(of: "1320").isEmpty)
    }

    @Test func packetsAreMadeLongerWhenThePhoneWantsThat() throws {
        var rig = try Rig()
        #expect(try rig.write("0200") == nil)
        #expect(rig.parameters(of: "2220").isEmpty, "it does not want that")
        #expect(try rig.write("0201") == nil)
        // LE Set Data Length: 251 bytes in 17040 us.
        #expect(rig.parameters(of: "2220") == ["fb009042"])
    }

    /// The ATT error is the firmware's: 0x86.
    @Test func aControllerWithoutLongPacketsRefuses() throws {
        var rig = try Rig(watchController: .legacy)
        for command in ["0201", "0200"] { #expect(try rig.write(command) == ATTError(rawValue: 0x86)) }
        #expect(rig.parameters(of: "2220").isEmpty)
    }

    @Test func aPhoneThatWantsNoSleepIsAnsweredAndTheLinkStaysAsItIs() throws {
        var rig = try Rig()
        #expect(try rig.write("0300") == nil)
        rig.pair.run(for: .seconds(10))
        #expect(rig.events().isEmpty)
        #expect(rig.parameters(of: "1320").isEmpty)
    }
}
