import AirSimulator
import BluetoothHCI
import PebblePhone
import PebbleProtocol
import PebbleWatch
import Testing

/// A demonstration has to be able to fail.
@Suite("A demonstration reports its failure")
struct FailureTests {
    /// An app with the echo's UUID that does something else to what it gets.
    struct UnfaithfulEcho: WatchApp {
        enum Fault: Hashable, Sendable {
            case changesOneByte
            case keepsItToItself
            case doesNotListen
        }

        let fault: Fault
        let uuid = DemonstrationScript.echo
        let name = "Unfaithful"

        mutating func didLaunch(_ context: inout AppContext) {
            guard fault != .doesNotListen else { return }
            _ = context.open(inboxSize: context.inboxSizeMaximum, outboxSize: context.outboxSizeMaximum)
        }

        mutating func inboxReceived(_ message: AppMessageDictionary, _ context: inout AppContext) {
            guard fault == .changesOneByte else { return }
            var bytes = Array(message.encoded)
            bytes[bytes.count - 1] ^= 1
            _ = context.send(AppMessageDictionary(encoded: bytes[...]))
        }
    }

    struct OtherApp: WatchApp {
        let uuid = PebbleUUID(upperHalf: 1, lowerHalf: 2)
        let name = "Other"
    }

    @Test(
        arguments: [
            (UnfaithfulEcho.Fault.changesOneByte, "the echo {0: uint8 6} is not what was sent, {0: uint8 7}"),
            (.keepsItToItself, "the echo of a dictionary did not happen in time"),
            (.doesNotListen, "the watch refused a dictionary"),
        ]
    )
    func unfaithfulEcho(fault: UnfaithfulEcho.Fault, reason: String) throws {
        var rig = try Rig(Rig.Settings(app: UnfaithfulEcho(fault: fault)))
        rig.runToTheEnd()
        #expect(rig.failure == reason, "\(rig.transcript)")
        // In any case, the phone disconnects.
        #expect(rig.count { if case .disconnected(.connectionTerminatedByLocalHost) = $0 { true } else { false } } == 1)
    }

    @Test func watchWithoutTheApp() throws {
        var rig = try Rig(Rig.Settings(app: OtherApp()))
        rig.runToTheEnd()
        #expect(rig.failure == "the start of the watchapp did not happen in time", "\(rig.transcript)")
    }

    @Test func noWatch() throws {
        var rig = try Rig(Rig.Settings(hasWatch: false))
        rig.runToTheEnd()
        #expect(rig.failure == "a session with a watch did not happen in time", "\(rig.transcript)")
        #expect(rig.story.map { "\($0.event)" } == ["the controller is ready", "looking for a watch"])
    }

    @Test func anotherWatch() throws {
        var rig = try Rig(Rig.Settings(configurePhone: { $0.watch = .name("Pebble 9999") }))
        rig.runToTheEnd()
        #expect(rig.failure == "a session with a watch did not happen in time", "\(rig.transcript)")
    }

    @Test(arguments: [WatchSelection.name("Pebble 4455"), .address(Rig.watchAddress)])
    func theRightWatch(selection: WatchSelection) throws {
        var rig = try Rig(Rig.Settings(configurePhone: { $0.watch = selection }))
        rig.runToTheEnd()
        #expect(rig.summary != nil, "\(rig.transcript)")
    }

    @Test("A phone that may not pair fails with a watch that demands pairing", arguments: PhoneTransport.allCases)
    func pairingRefused(transport: PhoneTransport) throws {
        var rig = try Rig(Rig.Settings(transport: transport, configurePhone: { $0.pairing = .never }))
        rig.runToTheEnd()
        #expect(rig.failure != nil, "\(rig.transcript)")
        #expect(rig.count { if case .transportOpened = $0 { true } else { false } } == 0)
    }

    @Test func watchThatIsLostForEver() throws {
        var rig = try Rig(Rig.Settings())
        rig.run(within: .seconds(60)) { $0.story.count > 60 }
        rig.setQuality(.outOfRange)
        rig.runToTheEnd()
        #expect(rig.failure == "a session with a watch did not happen in time", "\(rig.transcript)")
    }

    @Test func phoneThatDoesNotComeBack() throws {
        var rig = try Rig(Rig.Settings(configurePhone: { $0.reconnectDelay = nil }))
        rig.run(within: .seconds(60)) { $0.story.count > 60 }
        rig.setQuality(.outOfRange)
        rig.run(within: .seconds(12)) { _ in false }
        rig.setQuality(.perfect)
        rig.runToTheEnd()
        #expect(rig.failure != nil)
        #expect(rig.count { if case .connecting = $0 { true } else { false } } == 1, "\(rig.transcript)")
    }
}
