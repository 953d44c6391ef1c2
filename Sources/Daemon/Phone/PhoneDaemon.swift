import AirSimulator
import BluetoothCryptography
import BluetoothHCI
import BluetoothHost
import Control
import Glibc
import HCIRuntime
import LinuxBluetooth
import Logging
import PebblePhone
import PebbleProtocol

/// Everything that is decided about a process that runs a phone.
public struct PhoneDaemonConfiguration: Sendable {
    /// What a phone is like to a watch.
    public enum Platform: String, Sendable, CaseIterable {
        /// As a phone with Android: it uses the watch's own PPoGATT service.
        case android
        /// As an iPhone: it offers PPoGATT itself, beside the services of Apple's.
        case ios
    }

    /// Where the phone's controller is.
    public var controller: TransportAddress
    /// What happens when it cannot be reached or is lost.
    public var whenControllerLost = RemoteController.LossPolicy.reopen
    /// A loopback port that offers controllers on the virtual air to other hosts; nil for none. Only with `.virtual`.
    public var airPort: UInt16?
    /// Where the phone's HCI packets are recorded; nil for nowhere.
    public var capturePath: String?
    /// Where the phone keeps its bonds and its address; nil for nowhere.
    public var stateDirectory: String?
    /// Where it takes commands; nil for a socket in the state directory, which has to be there then.
    public var controlPath: String?
    /// What is logged.
    public var logLevels = LogLevels()
    /// Cairn's version, for programs that ask.
    public var version = ""
    /// The phone's static random address; nil for the one that the state directory remembers, or else a new one.
    public var address: DeviceAddress?
    /// What its Device Name says.
    public var name = "Cairn Phone"
    /// What it is like.
    public var platform = Platform.android
    /// Whether it offers PPoGATT itself, whatever phones of its kind do.
    public var isServer = false
    /// Whether it uses an L2CAP channel to the watch's stream, and no PPoGATT.
    public var usesStream = false
    /// Whether it can pair.
    public var pairs = true
    /// Whether it behaves as a companion app does.
    public var isCompanion = false
    /// What it does wrong.
    package var defects: Set<PhoneDefect> = []
    /// Civil time in seconds since 1970, UTC, and the minutes that local time is ahead of it.
    public var clock: (seconds: UInt32, offsetMinutes: Int16) = (0, 0)

    /// A phone on a controller; the rest is usual.
    public init(controller: TransportAddress) { self.controller = controller }
}

/// A process that runs a phone: the loop, the controller, the capture, the log, and the socket for its commands.
///
/// It is in the program that runs watches, since that has all of its parts for `cairn demo` already: the watch's process has
/// none of it in memory that is not used.
public final class PhoneDaemon {
    /// The loop; `run` runs it.
    public let loop: EventLoop
    /// Where everything is logged.
    public let loggers: Loggers
    private let capture: PacketCapture?
    let phone: HostRunner<PhoneHost>

    /// Prepares everything that can be prepared before the phone starts, so that an error shows at once.
    public init(
        _ configuration: PhoneDaemonConfiguration,
        randomness: RandomSource = .system
    ) throws(ProgramError) {
        let clock = MonotonicClock()
        let loggers = Loggers(configuration.logLevels, clock: clock)
        self.loggers = loggers
        loop = EventLoop(clock: clock, signals: try .catching(), log: loggers[.daemon])
        guard
            let path = configuration.controlPath
                ?? configuration.stateDirectory.map(ControlAddress.phonePath(in:))
        else {
            throw ProgramError(
                .usage,
                "nothing could tell this phone what to do",
                advice: "add --state DIR, where it also keeps its bonds, or --control PATH"
            )
        }
        let capture: PacketCapture? =
            if let path = configuration.capturePath {
                try PacketCapture(path: path, clock: clock, log: loggers[.daemon])
            } else {
                nil
            }
        self.capture = capture
        let store: PhoneStore? =
            if let directory = configuration.stateDirectory { try PhoneStore(directory: directory) } else { nil }
        var socket: PhoneSocket?
        let phone = HostRunner(
            PhoneHost(try Self.makePhone(configuration, store, randomness), store: store),
            capture: capture,
            log: loggers[.hci]
        ) { [loggers] event, now in
            switch event {
            case .story(let event):
                let line = event.storyLine
                loggers.log(line)
                socket?.deliver(event, text: line.text, at: now)
            case .ended(let id, let result): socket?.deliver(result, of: id)
            case .notStored(let problem): loggers[.store].error("\(problem)")
            }
        }
        self.phone = phone
        let control = try PhoneSocket(
            path: path,
            phone: phone,
            program: ControlProgram(configuration, controlPath: path),
            log: loggers[.daemon]
        )
        socket = control
        if case .virtual = configuration.controller {
            let air = VirtualAir(Air(seed: .random(in: .min ... .max)), log: loggers[.air])
            air.attach(phone, to: .modern)
            if let port = configuration.airPort { _ = try air.listen(on: port) }
            loop.add(air)
        } else {
            loop.add(
                RemoteController(
                    configuration.controller,
                    runner: phone,
                    whenLost: configuration.whenControllerLost,
                    log: loggers[.transport]
                )
            )
        }
        if let capture { loop.add(capture) }
        // It stands behind the controller, which lets the phone's time pass first.
        loop.add(control)
        loop.add(OutputReader(of: loop, log: loggers[.daemon]))
        if let edge = loggers.edge { loop.add(LogCounts(edge)) }
    }

    /// Runs until a signal, `loop.requestStop()`, or something that the phone cannot go on after.
    public func run() throws(ProgramError) -> EventLoop.Outcome {
        ProgramMemory.release()
        defer {
            capture?.flush()
            phone.forgetListeners()
        }
        return try loop.run()
    }

    private static func makePhone(
        _ configuration: PhoneDaemonConfiguration,
        _ store: PhoneStore?,
        _ randomness: RandomSource
    ) throws(ProgramError) -> CommandedPhone {
        if let address = configuration.address, let remembered = store?.address, address != remembered {
            throw ProgramError(
                .usage,
                "the state directory belongs to the phone \(remembered), not to \(address)",
                advice: "leave the address out, or name another directory: watches know a phone by its address"
            )
        }
        var randomness = randomness
        let address =
            configuration.address ?? store?.address
            ?? DeviceAddress(staticRandomFrom: UInt64.random(in: .min ... .max, using: &randomness))
        if let store, store.address == nil { try store.save(address: address, bonds: store.bonds) }
        do throws(GATTDatabaseError) {
            return try CommandedPhone(
                PhoneConfiguration(configuration, address: address, bonds: store?.bonds ?? []),
                randomness: randomness
            )
        } catch {
            throw ProgramError(.usage, "the phone cannot be made: \(error)", advice: "choose another name")
        }
    }
}

extension PhoneConfiguration {
    fileprivate init(_ configuration: PhoneDaemonConfiguration, address: DeviceAddress, bonds: [Bond]) {
        let clock = PhoneClock(
            secondsAtOrigin: configuration.clock.seconds,
            offsetMinutes: configuration.clock.offsetMinutes
        )
        self.init(address: address, clock: clock)
        name = configuration.name
        self.bonds = bonds
        pairing = configuration.pairs ? .whenTold : .never
        isCompanion = configuration.isCompanion
        defects = configuration.defects
        switch configuration.platform {
        case .android:
            system = .android
            transport = configuration.isServer ? .forward : .reversed
        case .ios:
            system = .iOS
            transport = .forward
            version.platform = PhonePlatform(.iOS)
        }
        if configuration.usesStream { transport = .stream }
    }
}

extension ControlProgram {
    fileprivate init(_ configuration: PhoneDaemonConfiguration, controlPath: String) {
        self.init(pid: Int(getpid()), version: configuration.version, controller: "\(configuration.controller)")
        paths.state = configuration.stateDirectory.map(Self.wholePath)
        paths.control = Self.wholePath(controlPath)
        paths.capture = configuration.capturePath.map(Self.wholePath)
    }
}
