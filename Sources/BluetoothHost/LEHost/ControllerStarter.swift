import BluetoothHCI

/// Starts the controller, and starts it again when it fails: at once a few times, and then after a rest.
struct ControllerStarter: Sendable {
    /// How often a controller that does not answer is reset before it is given up.
    static let maximumAttempts = 3

    /// A random address for a controller that has no public one.
    private let spareAddress: DeviceAddress
    /// How often the controller has been started without success.
    private var attempts = 0
    private var pace = RestartPace()

    init(spareAddress: DeviceAddress) { self.spareAddress = spareAddress }

    /// The owner wants the controller to be started.
    mutating func start(_ core: inout HostCore) {
        attempts = 0
        reset(&core)
    }

    /// Resets the controller, and begins to ask what it can do.
    private mutating func reset(_ core: inout HostCore) {
        attempts += 1
        core.commands.removeAll()
        let startUp = StartUp(
            ownAddress: core.configuration.ownAddress,
            spareAddress: spareAddress,
            defaultPHY: core.configuration.defaultPHY,
            quirks: core.configuration.quirks
        )
        _ = carryOn(startUp, &core)
    }

    /// Takes the answer to a command of the start-up sequence.
    /// - Returns: whether the controller is ready now.
    mutating func receive(_ answer: CommandComplete, _ core: inout HostCore) -> Bool {
        guard case .starting(var startUp) = core.state else { return false }
        do throws(StartUpFailure) {
            if let notice = try startUp.receive(answer) { core.report(notice) }
            return carryOn(startUp, &core)
        } catch {
            fail(error, &core)
            return false
        }
    }

    /// Sends the next command.
    /// - Returns: whether there is none, because the controller is ready.
    private mutating func carryOn(_ startUp: StartUp, _ core: inout HostCore) -> Bool {
        if let command = startUp.command() {
            core.state = .starting(startUp)
            core.send(command, for: .startUp)
            return false
        }
        attempts = 0
        core.state = .ready
        core.capabilities = startUp.capabilities
        core.ownAddress = startUp.ownAddress
        core.controllerRandomAddress = core.ownAddress.type == .random ? core.ownAddress.address : nil
        if core.ownAddress.type != core.configuration.ownAddress.type.withoutIdentity {
            core.report(.noPublicAddress(core.ownAddress))
        }
        core.emit(.ready(core.capabilities))
        return true
    }

    // MARK: Starting again

    /// The controller does not answer a command, or had no room for it.
    /// - Returns: whether all has to be started again, because the controller was ready.
    mutating func commandTimedOut(_ opcode: HCIOpcode, _ core: inout HostCore) -> Bool {
        switch core.state {
        case .ready: return true
        case .starting: failedWhileStarting(.notAnsweredWhileStarting(opcode), opcode, &core)
        case .off, .resting, .failed: core.commands.removeAll()
        }
        return false
    }

    /// The controller says that it failed.
    /// - Returns: whether all has to be started again, because the controller was ready.
    mutating func hardwareFailed(code: UInt8, _ core: inout HostCore) -> Bool {
        switch core.state {
        case .ready: return true
        case .starting: failedWhileStarting(.hardwareErrorWhileStarting(code: code), Reset.opcode, &core)
        case .off, .resting, .failed: break
        }
        return false
    }

    private mutating func failedWhileStarting(_ what: HostNews, _ opcode: HCIOpcode, _ core: inout HostCore) {
        guard attempts < Self.maximumAttempts else { return fail(.notAnswering(opcode), &core) }
        core.report(what)
        reset(&core)
    }

    private func fail(_ failure: StartUpFailure, _ core: inout HostCore) {
        core.commands.removeAll()
        core.state = .failed
        core.report(.startUpFailed(failure))
        core.emit(.failed(failure))
    }

    /// The controller is not what it was.
    /// - Returns: how long to leave it alone.
    mutating func restarting(_ reason: RestartReason, _ core: inout HostCore) -> Duration {
        let rest = pace.failed(at: core.now)
        core.report(.restarting(reason, rest: rest))
        core.emit(.restarting(reason))
        return rest
    }

    /// Resets the controller at once, or after a rest.
    mutating func restart(after rest: Duration, _ core: inout HostCore) {
        guard rest > .zero else { return reset(&core) }
        core.commands.removeAll()
        core.state = .resting(until: core.now + rest)
    }

    /// Lets time pass.
    mutating func advance(_ core: inout HostCore) {
        if case .resting(let end) = core.state, end <= core.now { reset(&core) }
    }

    /// When the rest ends; nil if the controller does not rest.
    func nextDeadline(_ state: HostCore.State) -> Duration? {
        if case .resting(let end) = state { end } else { nil }
    }
}
