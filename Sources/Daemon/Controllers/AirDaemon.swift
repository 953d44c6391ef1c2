import AirSimulator
import BluetoothHCI
import HCIRuntime
import LinuxBluetooth

/// Everything that is decided about a process that is nothing but a virtual radio.
public struct AirDaemonConfiguration: Sendable {
    /// How many adapters of this machine it becomes.
    public var adapterCount = 0
    /// A loopback port that offers controllers to other hosts; nil for none.
    public var port: UInt16?
    /// A Unix socket that offers them, which only this user can open; nil for none.
    public var socketPath: String?
    /// A loopback port where emulators take this process for netsim; nil for none.
    public var netsimPort: UInt16?
    /// Which `netsim.ini` announces that port; nil for none.
    public var netsimInstance: UInt8?
    /// Determines what the radio leaves to chance, the adapters' addresses among it.
    public var seed: UInt64 = 0
    /// How well controllers hear each other.
    public var quality = LinkQuality.perfect
    /// What is logged.
    public var logLevels = LogLevels()
    /// The kernel's driver for virtual adapters.
    public var adapterDevice = VirtualAdapter.devicePath

    public init() {}
}

/// A process that is a virtual radio: controllers that share one air, for this machine's kernel and for other hosts.
public final class AirDaemon {
    /// The port for other hosts, if there is one.
    public let port: UInt16?
    /// The port for emulators, if there is one.
    public let netsimPort: UInt16?
    /// Where the socket between the air and the program for emulators is, if no other was named.
    private let directory: PassingDirectory?
    private let loop: EventLoop

    /// Makes the adapters and opens the port, so that an error shows at once.
    /// - Parameter adapterIsReady: is told the name and the address of each adapter as soon as the kernel has it.
    public init(
        _ configuration: AirDaemonConfiguration,
        adapterIsReady: @escaping (_ name: String, DeviceAddress) -> Void = { _, _ in }
    ) throws(ProgramError) {
        let clock = MonotonicClock()
        let loggers = Loggers(configuration.logLevels, clock: clock)
        loop = EventLoop(clock: clock, signals: try .catching(), log: loggers[.daemon])
        let air = VirtualAir(Air(seed: configuration.seed, quality: configuration.quality), log: loggers[.air])
        air.adapterIsReady = adapterIsReady
        port = if let wanted = configuration.port { try air.listen(on: wanted) } else { nil }
        directory = if configuration.netsimPort != nil, configuration.socketPath == nil { try .init() } else { nil }
        let path = configuration.socketPath ?? directory.map { $0.path + "/air.sock" }
        if configuration.netsimPort != nil { air.socketController = .dualMode }
        if let path { try air.listen(at: path) }
        try air.makeAdapters(configuration.adapterCount, path: configuration.adapterDevice)
        if let wanted = configuration.netsimPort, let path {
            let netsim = try NetsimPort(
                port: wanted,
                announcedAs: configuration.netsimInstance,
                airPath: path,
                log: loggers[.air]
            )
            netsimPort = netsim.port
            // It ends first: its program closes what it has at the air.
            loop.add(netsim)
        } else {
            netsimPort = nil
        }
        loop.add(air)
        if let edge = loggers.edge { loop.add(LogCounts(edge)) }
        loop.add(OutputReader(of: loop, log: loggers[.daemon]))
    }

    /// Runs until a signal. The adapters are gone when the process is.
    public func run() throws(ProgramError) -> EventLoop.Outcome { try loop.run() }
}
