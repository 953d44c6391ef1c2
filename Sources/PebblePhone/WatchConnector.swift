import BluetoothHCI
import BluetoothHost
import PebbleProtocol

/// How the phone comes by a connection, and what it does when it loses it.
struct WatchConnector: Sendable {
    /// What the phone does about getting connected.
    enum Activity: Sendable {
        /// The controller is not ready, or the phone was told to leave it.
        case idle
        case scanning(WatchScanner)
        case connecting(LEAddress, givesUpAt: Duration)
        /// There is a link.
        case connected
        /// A lost watch is connected to again.
        case pausing(LEAddress, until: Duration)
    }

    /// How long an attempt to connect may take (libpebble3).
    private static let connectTimeout: Duration = .seconds(60)

    private(set) var activity = Activity.idle
    /// Whether the phone was told to end the connection, and so does not come back.
    private(set) var isLeaving = false
    /// Which watch is looked for.
    var selection: WatchSelection
    /// What a survey has heard; nil while there is none.
    private var survey: WatchScanner?

    init(_ selection: WatchSelection) { self.selection = selection }

    /// Whether a survey goes on.
    var isSurveying: Bool { survey != nil }

    /// Whether a watch is looked for or connected to, or a link is there.
    var isEngaged: Bool {
        switch activity {
        case .idle: false
        case .scanning, .connecting, .connected, .pausing: true
        }
    }

    /// Whether a link is there, of a controller that works.
    var isConnected: Bool { if case .connected = activity { true } else { false } }
}

// MARK: - What the owner wants

extension WatchConnector {
    /// Looks for a watch, unless the phone is engaged.
    mutating func search(_ core: inout PhoneCore, at now: Duration) {
        isLeaving = false
        if case .idle = activity { startScanning(&core, at: now) }
    }

    /// Connects to a watch without looking for it first, unless the phone is engaged.
    mutating func connect(to watch: LEAddress, _ core: inout PhoneCore, at now: Duration) {
        isLeaving = false
        if case .idle = activity { beginConnecting(to: watch, &core, at: now) }
    }

    /// Ends the link, or what would lead to one, and stays away.
    mutating func leave(_ link: ConnectionHandle?, _ core: inout PhoneCore, at now: Duration) {
        isLeaving = true
        switch activity {
        case .idle: break
        case .scanning:
            core.host.stopScanning(at: now)
            activity = .idle
        case .connecting: core.host.cancelConnecting(at: now)
        case .connected:
            if let link { core.host.disconnect(link, reason: .remoteUserTerminatedConnection, at: now) }
        case .pausing: activity = .idle
        }
    }

    /// The link is left without a word: the phone stays away.
    mutating func drop() {
        isLeaving = true
        activity = .idle
    }

    /// Listens for watches, whatever else the phone does.
    mutating func beginSurvey(_ core: inout PhoneCore, at now: Duration) {
        survey = WatchScanner(.any)
        core.listen(at: now)
    }

    /// Ends a survey.
    /// - Returns: the watches that were heard; nil without a survey.
    mutating func endSurvey(_ core: inout PhoneCore, at now: Duration) -> [WatchSighting]? {
        guard let heard = survey?.sightings else { return nil }
        survey = nil
        if case .scanning = activity {} else { core.host.stopScanning(at: now) }
        return heard
    }
}

// MARK: - What happens

extension WatchConnector {
    /// The controller can be used, from now on or again.
    mutating func controllerStarted(_ core: inout PhoneCore, at now: Duration) {
        if case .idle = activity, !isLeaving, core.configuration.searchesByItself { startScanning(&core, at: now) }
    }

    /// All state of the controller is forgotten; its next start begins again.
    mutating func controllerStopped() { activity = .idle }

    private mutating func startScanning(_ core: inout PhoneCore, at now: Duration) {
        activity = .scanning(WatchScanner(selection))
        core.listen(at: now)
        core.emit(.scanning)
    }

    /// Something was advertised.
    mutating func receive(_ report: AdvertisingReport, _ core: inout PhoneCore, at now: Duration) {
        guard let address = report.address else { return }
        let data = AdvertisingData(parsing: report.data)
        if var survey {
            let before = survey.sightings.count
            survey.receive(from: address, data, rssiDBm: report.rssiDBm, at: now)
            self.survey = survey
            if survey.sightings.count > before, let sighting = survey.sighting(of: address) {
                core.emit(.watchHeard(sighting))
            }
        }
        guard case .scanning(var scanner) = activity else { return }
        // What is heard is changed where it stands: in a crowd it is much, and reports are many.
        activity = .idle
        scanner.receive(from: address, data, rssiDBm: report.rssiDBm, at: now)
        activity = .scanning(scanner)
        connectToFound(scanner, &core, at: now)
    }

    private mutating func connectToFound(_ scanner: WatchScanner, _ core: inout PhoneCore, at now: Duration) {
        guard let found = scanner.found(at: now) else { return }
        core.host.stopScanning(at: now)
        core.emit(.watchFound(found))
        beginConnecting(to: found.address, &core, at: now)
    }

    private mutating func beginConnecting(to watch: LEAddress, _ core: inout PhoneCore, at now: Duration) {
        activity = .connecting(watch, givesUpAt: now + Self.connectTimeout)
        core.host.connect(to: watch, core.configuration.connectionParameters, at: now)
        core.emit(.connecting(watch))
    }

    /// A link is up.
    mutating func connected() { activity = .connected }

    /// There is no link to a watch, or no more: the phone comes back after a while, if it is to.
    mutating func comeBack(to watch: LEAddress, _ core: PhoneCore, at now: Duration) {
        if let delay = core.configuration.reconnectDelay, !isLeaving {
            activity = .pausing(watch, until: now + delay)
        } else {
            activity = .idle
        }
    }
}

// MARK: - Time

extension WatchConnector {
    /// When `advance(to:_:)` has something to do.
    var nextDeadline: Duration? {
        switch activity {
        case .idle, .connected: nil
        case .scanning(let scanner): scanner.nextDeadline
        case .connecting(_, let givesUpAt): givesUpAt
        case .pausing(_, let until): until
        }
    }

    /// Does what is due.
    mutating func advance(to now: Duration, _ core: inout PhoneCore) {
        switch activity {
        case .idle, .connected: break
        case .scanning(let scanner): connectToFound(scanner, &core, at: now)
        case .connecting(let watch, let givesUpAt):
            guard givesUpAt <= now else { return }
            core.host.cancelConnecting(at: now)
            // The host reports the end of the attempt; should it not, the phone does not wait for it for ever.
            activity = .connecting(watch, givesUpAt: now + Self.connectTimeout)
        case .pausing(let watch, let until):
            guard until <= now else { return }
            beginConnecting(to: watch, &core, at: now)
        }
    }
}
