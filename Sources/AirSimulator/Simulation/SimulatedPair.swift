import BluetoothHCI

/// A watch and a phone on one air, each with a controller of its own.
public struct SimulatedPair<Watch: HostOwner, Phone: HostOwner> {
    /// Both of them, and any other hosts that were put on the same air.
    public var simulation: Simulation
    /// What the watch is called in `simulation`; `onWatch` uses the watch itself.
    public let watch: Simulation.HostID<Watch>
    /// What the phone is called in `simulation`; `onPhone` uses the phone itself.
    public let phone: Simulation.HostID<Phone>

    /// Two hosts that start when time passes next, the watch first.
    /// - Parameters:
    ///   - seed: Determines everything that the air leaves to chance.
    ///   - quality: What controllers are to each other unless `setQuality` says otherwise.
    ///   - watch: The host that starts first.
    ///   - phone: The other host.
    ///   - watchController: What the watch's controller can do.
    ///   - phoneController: What the phone's controller can do.
    public init(
        seed: UInt64,
        quality: LinkQuality = .perfect,
        watch: Watch,
        phone: Phone,
        watchController: ControllerConfiguration = .modern,
        phoneController: ControllerConfiguration = .modern
    ) {
        simulation = Simulation(seed: seed, quality: quality)
        self.watch = simulation.add(watch, watchController)
        self.phone = simulation.add(phone, phoneController)
    }

    /// The time.
    public var now: Duration { simulation.now }

    /// Changes how well the two hear each other.
    public mutating func setQuality(_ quality: LinkQuality) {
        simulation.air.setLinkQuality(quality, between: watch.controller, and: phone.controller)
    }
}

// MARK: - Letting time pass

extension SimulatedPair {
    /// Runs for a while.
    public mutating func run(for span: Duration) { simulation.run(for: span) }

    /// Runs until a condition is met, which is looked at whenever all is quiet at a moment.
    /// - Returns: how long that took; nil if it was not within the limit.
    @discardableResult
    public mutating func run(within limit: Duration, until condition: (inout Simulation) -> Bool) -> Duration? {
        let start = simulation.now
        let outcome = simulation.run(until: start + limit, condition: condition)
        return outcome == .conditionMet ? simulation.now - start : nil
    }

    /// The same, of a condition that the watch meets.
    @discardableResult
    public mutating func runUntilWatch(within limit: Duration, _ condition: (inout Watch) -> Bool) -> Duration? {
        run(within: limit) { [watch] simulation in simulation.withHost(watch) { condition(&$0) } == true }
    }

    /// The same, of a condition that the phone meets.
    @discardableResult
    public mutating func runUntilPhone(within limit: Duration, _ condition: (inout Phone) -> Bool) -> Duration? {
        run(within: limit) { [phone] simulation in simulation.withHost(phone) { condition(&$0) } == true }
    }
}

// MARK: - Using the hosts

extension SimulatedPair {
    /// Uses the watch in place; the body is given the time.
    @discardableResult
    public mutating func onWatch<Result>(_ body: (inout Watch, Duration) throws -> Result) rethrows -> Result {
        try use(watch, body)
    }

    /// Uses the phone in place; the body is given the time.
    @discardableResult
    public mutating func onPhone<Result>(_ body: (inout Phone, Duration) throws -> Result) rethrows -> Result {
        try use(phone, body)
    }

    private mutating func use<Owner: HostOwner, Result>(
        _ id: Simulation.HostID<Owner>,
        _ body: (inout Owner, Duration) throws -> Result
    ) rethrows -> Result {
        let now = simulation.now
        let result = try simulation.withHost(id) { owner in
            defer { owner.settle(at: now) }
            return try body(&owner, now)
        }
        guard let result else { preconditionFailure("the simulation of a pair is not to be exchanged") }
        return result
    }
}
