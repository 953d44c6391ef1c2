import BluetoothCentral
import BluetoothHost
import BluetoothPeripheral
import HCIRuntime
import Testing

// snippet: permissions
struct Lock: GATTService {
    enum Value: String, CaseIterable { case isOpen }

    var isOpen = false

    let declaration = Service(.uuid16(0xFF10)) {
        Characteristic(.uuid16(0xFF11), [.read, .write], of: Value.isOpen, permissions: .encrypted, maximumLength: 1)
    }

    func read(_ value: Value, by peer: Peer, _ output: inout Output) -> ReadReply { .value([isOpen ? 1 : 0]) }

    mutating func write(
        _ bytes: ArraySlice<UInt8>,
        to value: Value,
        by peer: Peer,
        _ output: inout Output
    ) -> WriteReply {
        guard let byte = bytes.first, byte <= 1 else { return .refused(.valueNotAllowed) }
        isOpen = byte == 1
        return .done
    }
}
// end

/// Where bonds are kept: a file, on a real device.
final class Store {
    var bonds: [Bond] = []
    func save(_ bond: Bond) {
        bonds.removeAll { $0.identity == bond.identity }
        bonds.append(bond)
    }
}

private func configuration(_ store: Store) -> PeripheralConfiguration {
    // snippet: pairing
    var configuration = PeripheralConfiguration(name: "Lock", address: .staticRandom(0x10C4))
    configuration.pairing = .person(.displayYesNo)
    configuration.bonds = store.bonds
    configuration.storesBonds = true
    // end
    return configuration
}

// snippet: events
func handle(_ event: PeripheralEvent, of lock: inout Peripheral<Lock>, _ store: Store, at now: Duration) {
    switch event {
    case .prompt(let prompt):
        // A person looks at the number, and says yes.
        lock.answer(prompt.id, with: .accept, at: now)
    case .bonded(let bond):
        store.save(bond)
        lock.bondStored(bond.identity, at: now)
    default: break
    }
}
// end

@Suite struct SecurityTests {
    @Test func theLockOpensForABondedPeerAndKnowsItAgain() throws {
        let store = Store()
        var security = CentralConfiguration()
        security.security = SecurityManager.Configuration()
        var room = try Room(try Peripheral(Lock(), configuration(store)), security)
        let remote = try room.connect(to: .staticRandom(0x10C4))
        let isOpen = try remote.characteristic(.uuid16(0xFF11), of: .uuid16(0xFF10))
        #expect(throws: (any Error).self) {
            try room.perform { $0.write([1], to: isOpen, of: remote.id, at: $1) }
        }
        // The prompt is answered while the central waits for the end of the pairing.
        let request = try room.begin { $0.secure(remote.id, at: $1) }
        for _ in 0..<100 {
            for event in room.takeEvents() {
                try room.use { handle(event, of: &$0, store, at: $1) }
            }
            room.run(for: .milliseconds(50))
        }
        guard case .success(.secured)? = room.result(of: request) else {
            Issue.record("the link was not secured: \(String(describing: room.result(of: request)))")
            return
        }
        #expect(store.bonds.count == 1)
        try room.perform { $0.write([1], to: isOpen, of: remote.id, at: $1) }
        #expect(throws: (any Error).self) {
            try room.perform { $0.write([2], to: isOpen, of: remote.id, at: $1) }
        }
        #expect(configuration(store).bonds == store.bonds)
    }
}
