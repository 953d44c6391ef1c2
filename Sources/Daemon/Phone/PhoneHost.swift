import BluetoothHCI
import BluetoothHost
import HCIRuntime
import PebblePhone
import PebbleProtocol

/// The phone as the loop runs it: its bonds go to its store, and whether the controller can be used is seen from its events.
struct PhoneHost: LoopHost {
    /// What a phone has to tell.
    enum Event {
        case story(PhoneEvent)
        /// A command has ended.
        case ended(PhoneRequestID, Result<PhoneCommandResult, PhoneCommandError>)
        /// The bonds could not be stored, and why.
        case notStored(String)
    }

    /// The phone itself.
    private(set) var phone: CommandedPhone
    private let store: PhoneStore?
    private var isLeaving = false
    private(set) var failure: String?
    /// Why the store does not have the bonds that the phone has; nil if it does.
    private var storeProblem: String?
    private var untold: String?
    private var now: Duration = .zero

    /// A phone that has not been started; without a store it remembers its bonds until the process ends.
    init(_ phone: CommandedPhone, store: PhoneStore?) {
        self.phone = phone
        self.store = store
    }

    mutating func start(at now: Duration) {
        self.now = now
        failure = nil
        phone.start(at: now)
    }

    mutating func controllerLost(at now: Duration) {
        self.now = now
        failure = nil
        phone.controllerLost(at: now)
    }

    var isReady: Bool { phone.isReady }

    var outstandingPacketCount: Int { phone.outstandingPacketCount }

    mutating func receive(_ packet: ArraySlice<UInt8>, at now: Duration) {
        self.now = now
        phone.receive(packet, at: now)
    }

    mutating func advance(to now: Duration) {
        self.now = now
        phone.advance(to: now)
    }

    var nextDeadline: Duration? { phone.nextDeadline }

    mutating func nextPacket(into buffer: inout [UInt8]) -> Bool { phone.nextPacket(into: &buffer) }

    /// Begins a command, whose end is an event.
    mutating func begin(_ command: PhoneCommand, as id: PhoneRequestID, at now: Duration) {
        self.now = now
        phone.begin(command, as: id, at: now)
    }

    /// Gives a command up.
    mutating func cancel(_ id: PhoneRequestID, at now: Duration) {
        self.now = now
        phone.cancel(id, at: now)
    }

    mutating func nextEvent() -> Event? {
        if let problem = untold {
            untold = nil
            return .notStored(problem)
        }
        if let event = phone.nextEvent() {
            switch event {
            case .bonded(let bond):
                if storeBonds() { phone.bondStored(bond.identity, at: now) }
            case .failed(let reason): failure = reason
            default: break
            }
            return .story(event)
        }
        guard let (id, result) = phone.nextResult() else { return nil }
        return .ended(id, checked(result))
    }

    /// What is answered says also whether it will be known after the next start.
    private mutating func checked(
        _ result: Result<PhoneCommandResult, PhoneCommandError>
    ) -> Result<PhoneCommandResult, PhoneCommandError> {
        switch result {
        case .success(.forgot):
            if !storeBonds(), let storeProblem {
                return .failure(.refused("it is forgotten, but not in the state directory: \(storeProblem)"))
            }
        case .success(.pairing(let report)) where report.summary != nil:
            if let storeProblem { return .failure(.refused("paired, but the keys are not stored: \(storeProblem)")) }
        default: break
        }
        return result
    }

    /// - Returns: whether the store, if there is one, has the bonds.
    private mutating func storeBonds() -> Bool {
        guard let store else { return true }
        do throws(ProgramError) {
            try store.save(address: phone.status.address, bonds: phone.bonds)
            storeProblem = nil
            return true
        } catch {
            storeProblem = error.what
            untold = error.what
            return false
        }
    }

    mutating func beginShutdown(at now: Duration) {
        self.now = now
        isLeaving = true
        phone.beginShutdown(at: now)
    }

    var isShutDown: Bool { isLeaving && phone.isShutDown }
}
