import AirSimulator
import LinuxBluetooth
import Logging

extension EventLoop {
    /// Adds a host and its controller.
    /// - Parameter transport: where the controller is: see `Peripheral.run(on:)`.
    /// - Returns: what runs the host.
    func add<Host: LoopHost>(
        _ host: Host,
        on transport: String,
        capturePath: String?,
        clock: MonotonicClock,
        log: Logger,
        handleEvent: @escaping (Host.Event, Duration) -> Void
    ) throws(ProgramError) -> HostRunner<Host> {
        let address: TransportAddress
        do {
            address = try TransportAddress(parsing: transport)
        } catch {
            throw ProgramError(
                .usage,
                "\(error)",
                advice: "Name a controller: hci0, tcp:HOST:PORT, unix:PATH, serial:DEVICE, virtual."
            )
        }
        var capture: PacketCapture?
        if let capturePath { capture = try PacketCapture(path: capturePath, clock: clock, log: log) }
        let runner = HostRunner(host, capture: capture, log: log, handleEvent: handleEvent)
        if case .virtual = address {
            let air = VirtualAir(Air(seed: 0, quality: .perfect), log: log)
            air.attach(runner, to: .modern)
            add(air)
        } else {
            add(RemoteController(address, runner: runner, whenLost: .reopen, log: log))
        }
        if let capture { add(capture) }
        return runner
    }
}
