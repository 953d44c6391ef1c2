import BluetoothHCI
import BluetoothHost
import Testing

/// An owner that answers nothing: every request of the host to it ends all the same, and the link stays. The table of
/// `LEHostEvent` lists them.
@Suite("LE host: requests without an answer")
struct LEHostUnansweredTests {
    /// A connected host. Value 3 and the subscriptions to value 5, whose configuration is 6, are the owner's.
    private static func rig(role: String = "01") throws -> HostRig {
        var configuration = LEHost.Configuration(ownAddress: HostRig.ownAddress)
        configuration.security = SecurityManager.Configuration()
        let database = try GATTDatabase {
            Service(.uuid16(0x180F)) {
                Characteristic(.uuid16(0x2A19), [.read, .write], value: .askOwner)
                Characteristic(.uuid16(0x2A1A), .notify, ownerAnswersSubscriptions: true)
            }
        }
        var rig = try HostRig.ready(configuration: configuration, database: database)
        rig.host.security?.isPairable = true
        rig.connect(role: role)
        _ = rig.sent()
        _ = rig.events()
        return rig
    }

    /// The packets that the host sends now, all of which the controller has sent at once.
    private static func sent(_ rig: inout HostRig) -> [String] {
        let packets = rig.sent()
        for _ in packets { rig.give(HostRig.completed("4000", "0100")) }
        return packets
    }

    private static func isRequest(_ event: LEHostEvent) -> Bool {
        switch event {
        case .gatt(.readRequested), .gatt(.writeRequested), .security(.prompt), .security(.securityRequested): true
        case .gatt(.subscriptionChanged(let change)): change.cause == .requested
        default: false
        }
    }

    @Test(
        "A client's request is refused after the time that owners have",
        arguments: ["0a 0300", "12 0300 01", "12 0600 0100"]
    )
    func clientsRequest(_ request: String) throws {
        var rig = try Self.rig()
        rig.give(HostRig.frame("4000", channel: "0400", request))
        #expect(rig.events().filter(Self.isRequest).count == 1)
        #expect(rig.sent() == [])
        let refusal = "01 \(request.prefix(2)) \(request.dropFirst(3).prefix(4)) 0e"
        rig.advance(by: GATTLayer.defaultAnswerTime - .milliseconds(1))
        #expect(rig.sent() == [])
        rig.advance(by: .milliseconds(1))
        #expect(Self.sent(&rig) == [compact("02 4000 0900 0500 0400 \(refusal)")])
        let isTold = rig.events().contains { if case .gatt(.requestNotAnswered(0x40, _)) = $0 { true } else { false } }
        #expect(isTold)
        // The bearer lives.
        rig.give(HostRig.frame("4000", channel: "0400", "02 f700"))
        #expect(rig.sent() == [compact("02 4000 0700 0300 0400 03 0502")])
    }

    @Test("A client's request is refused by the owner's call", arguments: ["0a 0300", "12 0300 01", "12 0600 0100"])
    func refusal(_ request: String) throws {
        var rig = try Self.rig()
        rig.give(HostRig.frame("4000", channel: "0400", request))
        for event in rig.events() {
            switch event {
            case .gatt(.readRequested(let request)): rig.host.gatt.refuse(request, with: .outOfRange, at: rig.now)
            case .gatt(.writeRequested(let request)): rig.host.gatt.refuse(request, with: .outOfRange, at: rig.now)
            case .gatt(.subscriptionChanged(let change)): rig.host.gatt.refuse(change, with: .outOfRange, at: rig.now)
            default: break
            }
        }
        let refusal = "01 \(request.prefix(2)) \(request.dropFirst(3).prefix(4)) ff"
        #expect(rig.sent() == [compact("02 4000 0900 0500 0400 \(refusal)")])
    }

    /// A pairing to be confirmed, and a peripheral's wish for security: what the peer sends, and this side's role.
    private static let pairings = [("01 03 00 09 10 03 03", "01"), ("0b 01", "00")]

    @Test("A pairing without an answer of the owner fails at its timeout", arguments: pairings)
    func pairing(_ request: String, _ role: String) throws {
        var rig = try Self.rig(role: role)
        rig.give(HostRig.frame("4000", channel: "0600", request))
        #expect(rig.events().filter(Self.isRequest).count == 1)
        _ = Self.sent(&rig)
        rig.advance(by: .seconds(30))
        let isTold = rig.events().contains {
            if case .security(.pairingFailed(0x40, .timedOut)) = $0 { true } else { false }
        }
        #expect(isTold)
        #expect(rig.host.connection(0x40) != nil)
        rig.give(HostRig.frame("4000", channel: "0400", "02 f700"))
        #expect(rig.sent() == [compact("02 4000 0700 0300 0400 03 0502")])
    }

    @Test("A pairing is refused by the owner's call", arguments: pairings)
    func rejection(_ request: String, _ role: String) throws {
        var rig = try Self.rig(role: role)
        rig.give(HostRig.frame("4000", channel: "0600", request))
        for event in rig.events() {
            switch event {
            case .security(.prompt(let prompt)): rig.host.security?.answer(prompt.id, with: .reject, at: rig.now)
            case .security(.securityRequested(let connection, _)):
                rig.host.security?.rejectSecurityRequest(connection, at: rig.now)
            default: break
            }
        }
        // Pairing Failed, with a reason.
        #expect(Self.sent(&rig).last?.hasPrefix(compact("02 4000 0600 0200 0600 05")) == true)
    }
}
