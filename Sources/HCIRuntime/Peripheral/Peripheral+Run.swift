import BluetoothCryptography
import BluetoothPeripheral
import Logging

extension Peripheral {
    /// A peripheral with swift-crypto's cryptography and the operating system's random numbers.
    public init(_ services: Services, _ configuration: PeripheralConfiguration) throws(PeripheralError) {
        try self.init(services, configuration, cryptography: .swiftCrypto, randomness: .system)
    }

    /// Runs the peripheral on a controller until the process is asked to end (SIGINT or SIGTERM).
    ///
    ///     try Peripheral(HeartRate(), PeripheralConfiguration(name: "Heart", address: address)).run(on: "hci0")
    ///
    /// - Parameters:
    ///   - transport: where the controller is: `hci0`, `usb:...`, `tcp:HOST:PORT`, `unix:PATH`, `serial:DEVICE@BAUD`, or `virtual`.
    ///   - capturePath: a file that gets all packets, in the format of btsnoop; nil for none. It has keys in it.
    ///   - log: where the loop and the controller's loss are logged.
    ///   - handleEvent: is given every event.
    /// - Throws: `ProgramError`, whose description says what happened and what to do next.
    @discardableResult
    public func run(
        on transport: String,
        capturePath: String? = nil,
        log: Logger = Logger(label: "peripheral"),
        handleEvent: @escaping (PeripheralEvent) -> Void = { _ in }
    ) throws(ProgramError) -> EventLoop.Outcome {
        let clock = MonotonicClock()
        let loop = EventLoop(clock: clock, signals: try .catching(), log: log)
        _ = try loop.add(PeripheralHost(self), on: transport, capturePath: capturePath, clock: clock, log: log) {
            event,
            _ in
            handleEvent(event)
        }
        return try loop.run()
    }
}
