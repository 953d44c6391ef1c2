import AirSimulator
import Board
import BluetoothCryptography
import BluetoothHCI
import BluetoothHost
import Control
import Faults
import FlightRecorder
import HCIRuntime
import LinuxBluetooth
import Logging
import PebbleWatch
import WatchStorage

/// Everything that is decided about a process that runs a watch.
public struct WatchDaemonConfiguration: Sendable {
    /// Where the watch's controller is.
    public var controller: TransportAddress
    /// What happens when it cannot be reached or is lost.
    public var whenControllerLost = RemoteController.LossPolicy.reopen
    /// A loopback port that offers controllers on the virtual air to other hosts; nil for none. Only with `.virtual`.
    public var airPort: UInt16?
    /// A Unix socket that offers them, which only this user can open; nil for none. Only with `.virtual`.
    public var airSocketPath: String?
    /// Determines what the virtual air leaves to chance.
    public var airSeed: UInt64 = 0
    /// How well controllers hear each other on the virtual air.
    public var airQuality = LinkQuality.perfect
    /// Where the watch's HCI packets are recorded; nil for nowhere.
    public var capturePath: String?
    /// Where the watch keeps what it remembers from one run to the next; nil for nowhere.
    public var stateDirectory: String?
    /// Where it takes commands; nil for a socket in the state directory, if there is one.
    public var controlPath: String?
    /// Who may give it commands.
    public var controlAccess = ControlAccess.user
    /// A loopback port that the SDK's tools take for the emulator's; nil for none, 0 for any that is free.
    public var qemuPort: UInt16?
    /// Where the firmware is that answers phones; nil for the watch's own services. `makeWatch` makes a watch with that brain.
    public var firmware: FirmwareAddress?
    /// Where the console of that firmware's emulator is, if that runs already; nil for none. One that Cairn starts has its own.
    public var firmwareConsole: EmulatorPlace?
    /// A path that becomes a serial port for the SDK's tools; nil for none.
    public var serialPortPath: String?
    /// The board's buttons, LED and battery.
    public var board = BoardHardware()
    /// What is recorded of the watch.
    public var recording = RecordingPlan()
    /// What is logged.
    public var logLevels = LogLevels()
    /// Whether faults can be added; nil to allow them where the controller is a virtual one only.
    public var allowsFaults: Bool?
    /// Cairn's version, for programs that ask.
    public var version = ""
    /// The watch's static random address; nil for the one that the state directory remembers, or else a new one.
    public var address: DeviceAddress?
    /// Makes the watch that has an address.
    public var makeWatch: @Sendable (LEAddress) -> WatchConfiguration

    /// A watch on a controller; the rest is usual.
    public init(
        controller: TransportAddress,
        makeWatch: @escaping @Sendable (LEAddress) -> WatchConfiguration = {
            WatchConfiguration(identity: .init(address: $0))
        }
    ) {
        self.controller = controller
        self.makeWatch = makeWatch
    }
}

/// A process that runs a watch: the loop, the controller, the capture and the log.
public final class WatchDaemon {
    /// The loop; `run` runs it.
    public let loop: EventLoop
    /// Where everything is logged.
    public let loggers: Loggers
    /// The port of the virtual air, if there is one.
    public let airPort: UInt16?

    private let watch: HostRunner<WatchHost>
    private let air: VirtualAir?
    private let capture: PacketCapture?
    private let store: SQLiteStore?
    private let recorder: FlightRecorder
    private let recording: RecordingFile?
    private let crashMemory: CrashMemory?

    /// Prepares everything that can be prepared before the watch starts, so that an error shows at once.
    /// - Parameter handleEvent: is given everything that happens on the watch, in order, after it has been logged.
    public init(
        _ configuration: WatchDaemonConfiguration,
        randomness: RandomSource = .system,
        handleEvent: @escaping (WatchEvent, Duration) -> Void = { _, _ in }
    ) throws(ProgramError) {
        let clock = MonotonicClock()
        var loggers = Loggers(configuration.logLevels, clock: clock)
        loggers.isOnlyDisplay = configuration.controlPath == nil && configuration.stateDirectory == nil
        self.loggers = loggers
        loop = EventLoop(clock: clock, signals: try .catching(), log: loggers[.daemon])

        let capture: PacketCapture? =
            if let path = configuration.capturePath {
                try PacketCapture(path: path, clock: clock, log: loggers[.daemon])
            } else {
                nil
            }
        if let directory = configuration.stateDirectory {
            try StateDirectory.check(directory)
            try Self.checkNobodyRuns(in: directory)
        }
        let store: SQLiteStore? =
            if let path = configuration.stateDirectory { try Self.openStore(path) } else { nil }
        self.store = store
        let memory = SessionMemory()
        let (made, recorder) = try Self.makeWatch(configuration, store, randomness)
        self.recorder = recorder
        recording =
            if let path = configuration.recording.path {
                try RecordingFile(
                    path,
                    limit: configuration.recording.limit * 1_000_000,
                    of: recorder,
                    log: loggers[.daemon]
                )
            } else {
                nil
            }
        recorder.sink = recording
        let trouble = configuration.stateDirectory.map {
            TroubleRecordings(in: $0, of: recorder, log: loggers[.daemon])
        }
        crashMemory = configuration.stateDirectory.flatMap { directory in
            if let left = CrashMemory.left(in: directory, log: loggers[.daemon]) { trouble?.save(memory: left) }
            guard configuration.recording.memory > 0 else { return nil }
            return CrashMemory(in: directory, of: recorder, log: loggers[.daemon])
        }
        let audience = WatchAudience(loggers, recorder: recorder, trouble: trouble, memory: memory)
        let watch = HostRunner(
            WatchHost(made, recorder: recorder, store: store),
            capture: capture,
            log: loggers[.hci]
        ) { event, now in
            audience.hear(event, at: now)
            handleEvent(event, now)
        }
        watch.handleFiring = { [unowned watch] firing, now in watch.tell(.fault(firing), at: now) }
        audience.note = { [unowned watch] firing, now in watch.note(firing, at: now) }
        self.watch = watch
        let faults = FaultDesk(
            watch: watch,
            hasStore: store != nil,
            isAllowed: configuration.allowsFaults ?? (configuration.controller == .virtual)
        )
        if let path = configuration.controlPath
            ?? configuration.stateDirectory.map({ $0 + "/" + ControlAddress.fileName })
        {
            audience.control = try ControlSocket(
                path: path,
                access: configuration.controlAccess,
                watch: watch,
                store: store,
                recorder: recorder,
                program: ControlProgram(configuration, controlPath: path),
                faults: faults,
                loggers: loggers,
                logLevels: configuration.logLevels,
                clock: clock
            )
        }
        switch configuration.controller {
        case .virtual:
            let air = VirtualAir(
                Air(seed: configuration.airSeed, quality: configuration.airQuality),
                log: loggers[.air]
            )
            air.attach(watch, to: .modern)
            airPort = if let port = configuration.airPort { try air.listen(on: port) } else { nil }
            if let path = configuration.airSocketPath { try air.listen(at: path) }
            loop.add(air)
            faults.air = air
            air.handleFiring = { [unowned watch] firing, now in watch.tell(.fault(firing), at: now) }
            watch.handleFaultAction = { [weak air] action, _ in
                switch action {
                case .silence(let handle, let length): air?.silence(handle, for: length)
                }
            }
            self.air = air
        case .tcp, .unix, .serial, .adapter, .netsim:
            loop.add(
                RemoteController(
                    configuration.controller,
                    runner: watch,
                    whenLost: configuration.whenControllerLost,
                    log: loggers[.transport]
                )
            )
            air = nil
            airPort = nil
        }
        let control = audience.control
        control?.program.ports.air = airPort.map(Int.init)
        self.capture = capture
        if let capture { loop.add(capture) }
        // These stand behind the controller, which lets the watch's time pass first.
        if let control { loop.add(control) }
        audience.led = try Self.addHardware(configuration.board, to: loop, of: watch, log: loggers[.daemon])
        loop.add(OutputReader(of: loop, log: loggers[.daemon]))
        if let trouble { loop.add(RefusedChanges(of: watch, trouble: trouble)) }
        let reporter = ServiceReporter(ServiceManager(), watch: watch, log: loggers[.daemon])
        loop.add(reporter)
        loop.add(memory)
        audience.service = reporter
        if let edge = loggers.edge { loop.add(LogCounts(edge)) }
        try addFirmware(configuration, watch)
        if let port = configuration.qemuPort {
            let users = PortUsers.ofControl(configuration.controlAccess)
            let developerPort = try DeveloperPort(port: port, users: users, watch: watch, log: loggers[.session])
            control?.program.ports.qemu = Int(developerPort.number)
            loop.add(developerPort)
        }
        if let path = configuration.serialPortPath {
            loop.add(try DeveloperSerialPort(path: path, watch: watch, log: loggers[.session]))
        }
    }

    /// How much was compared with the real firmware; nothing for a watch that is not.
    public var mirrorTally: MirrorTally { watch.host.watch.mirrorTally ?? MirrorTally() }

    /// The real firmware's emulator, or the way to it.
    private func addFirmware(
        _ configuration: WatchDaemonConfiguration,
        _ watch: HostRunner<WatchHost>
    ) throws(ProgramError) {
        let log = loggers[.firmware]
        switch configuration.firmware {
        case .port(let place):
            let link = EmulatorLink(place, watch: watch, log: loggers[.session])
            loop.add(link)
            if let console = configuration.firmwareConsole {
                loop.add(EmulatorConsole(console, beside: link, watch: watch, log: log))
            }
        case .images(let images):
            guard let state = configuration.stateDirectory else {
                throw ProgramError(
                    .usage,
                    "an emulator that Cairn starts keeps the watch's flash in the state directory, and there is none",
                    advice: "name one: --state DIRECTORY"
                )
            }
            let process = try EmulatorProcess(images, state: state, watch: watch, log: log)
            loop.add(process)
            let link = EmulatorLink(process.port, watch: watch, log: loggers[.session])
            loop.add(link)
            loop.add(EmulatorConsole(process.console, beside: link, watch: watch, log: log))
        case nil: break
        }
    }

    /// Puts another host of this process on the virtual air; without one, nothing happens.
    public func attach(_ runner: any HostRunning) { air?.attach(runner, to: .modern) }

    /// Runs until a signal, `loop.requestStop()`, or something that the watch cannot go on after.
    public func run() throws(ProgramError) -> EventLoop.Outcome {
        defer {
            capture?.flush()
            recorder.flush()
            recording?.end()
            crashMemory?.end()
            closeStore()
            watch.forgetListeners()
            recorder.sink = nil
        }
        return try loop.run()
    }

    /// What is in the log beside the store's file goes into the file: then it is whole, and can be copied.
    private func closeStore() {
        do throws(WatchStoreError) {
            try store?.close()
        } catch {
            loggers[.daemon].warning("the watch's state is not in one file: \(error)")
        }
    }

    /// - Returns: the LED, if there is one, which has to hear of events.
    private static func addHardware(
        _ board: BoardHardware,
        to loop: EventLoop,
        of watch: HostRunner<WatchHost>,
        log: Logger
    ) throws(ProgramError) -> BoardLED? {
        switch board.battery {
        case .fixed: break
        case .automatic: loop.add(BatteryGauge(PowerSupply(named: nil), watch: watch, log: log))
        case .powerSupply(let name): loop.add(BatteryGauge(PowerSupply(named: name), watch: watch, log: log))
        }
        do throws(GPIOError) {
            if !board.buttons.isEmpty {
                loop.add(try BoardButtons(board, clock: loop.clock, watch: watch, log: log))
            }
            guard let line = board.led else { return nil }
            let led = try BoardLED(board, line: line, watch: watch, log: log)
            loop.add(led)
            return led
        } catch {
            throw ProgramError(error)
        }
    }

    private static func openStore(_ directory: String) throws(ProgramError) -> SQLiteStore {
        do throws(WatchStoreError) {
            return try SQLiteStore(directory: directory)
        } catch {
            throw Self.stateError(error)
        }
    }

    /// The store would refuse as well, but not say why in words that help.
    private static func checkNobodyRuns(in directory: String) throws(ProgramError) {
        guard PrivateSocket.isAnswered(directory + "/" + ControlAddress.fileName) else { return }
        throw ProgramError(
            .cannotCreate,
            "a watch runs already with the state directory \(directory)",
            advice: "stop that one, or name a directory that no other Cairn uses"
        )
    }

    private static func stateError(_ error: WatchStoreError) -> ProgramError {
        if case .refused = error {
            return ProgramError(
                .cannotCreate,
                "the watch's state is not safe from others: \(error)",
                advice: error.advice
            )
        }
        let status: ExitStatus =
            switch error {
            case .unusable, .readOnly, .refused: .cannotCreate
            case .full, .corrupt, .newer, .foreign: .inputOutput
            }
        return ProgramError(status, "cannot keep the watch's state: \(error)", advice: error.advice)
    }

    private static func makeWatch(
        _ configuration: WatchDaemonConfiguration,
        _ store: SQLiteStore?,
        _ randomness: RandomSource
    ) throws(ProgramError) -> (Watch, FlightRecorder) {
        var memory = WatchMemory()
        do throws(WatchStoreError) {
            if let store { memory = try store.load() }
        } catch {
            throw stateError(error)
        }
        let address = configuration.address.map(LEAddress.random) ?? memory.identity?.address
        if let remembered = memory.identity?.address, let address, address != remembered {
            throw ProgramError(
                .usage,
                "the state directory belongs to the watch \(remembered.address), not to \(address.address)",
                advice: "leave the address out, or name another directory: phones know a watch by its address"
            )
        }
        var addressRandomness = randomness
        let watch = configuration.makeWatch(
            address
                ?? .random(DeviceAddress(staticRandomFrom: UInt64.random(in: .min ... .max, using: &addressRandomness)))
        )
        do throws(WatchIdentity.Invalid) {
            try watch.identity.validate()
        } catch {
            throw ProgramError(.usage, "\(error)", advice: "choose another")
        }
        do throws(GATTDatabaseError) {
            let numbers = DrawnNumbers(randomness)
            let made = try Watch(watch, memory: memory, cryptography: .swiftCrypto, randomness: numbers.randomness)
            let header = RecordingHeader(
                program: configuration.version,
                settings: configuration.recording.settings,
                circumstances: RecordingHeader.Circumstances(watch),
                memory: memory,
                apps: watch.apps,
                files: configuration.recording.files
            )
            let recorder = FlightRecorder(
                header,
                numbers: numbers,
                limit: configuration.recording.memory * 1_000_000,
                leavesOutSecrets: configuration.recording.leavesOutSecrets
            )
            return (made, recorder)
        } catch {
            throw ProgramError(.usage, "the watch cannot be made: \(error)", advice: "choose another name")
        }
    }
}

extension WatchStoreError {
    /// What a person can do about it.
    var advice: String {
        switch self {
        case .refused(_, _, let advice): "\(advice), or name another directory"
        case .unusable, .readOnly: "name a directory that you may write to and that no other Cairn uses"
        case .full: "make room on that disk"
        case .corrupt: "restore a backup, or move it away: the watch is then a new one, and phones have to pair again"
        case .newer:
            "use the newer Cairn, or another state directory; a backup that was made before the update fits this one"
        case .foreign: "name another state directory, or move that file away"
        }
    }
}
