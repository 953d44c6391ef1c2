import BluetoothHCI
import BluetoothHost
import BluetoothPeripheral
import Logging

/// A peripheral on a controller, for programs that use Swift's concurrency. The loop has a thread of its own.
///
///     let heart = try RunningPeripheral(peripheral, on: "hci0")
///     for await event in heart.events {
///         if case .connected(let peer) = event { print("\(peer.address) is here") }
///     }
public final class RunningPeripheral<Services: ServiceSet>: Sendable {
    /// What happens, from the start on; of events that are not taken, the latest 4096. It ends with the peripheral, and `outcome`
    /// says how.
    public let events: AsyncStream<PeripheralEvent>
    /// How many events wait to be taken: a peer can cause as many as it likes.
    private static var eventLimit: Int { 4096 }
    private let thread: LoopThread<PeripheralHost<Services>>

    /// Opens the controller and starts. Everything else happens on a thread of its own.
    /// - Parameters:
    ///   - peripheral: one that has not been started.
    ///   - transport: where the controller is: see `Peripheral.run(on:)`.
    ///   - capturePath: a file that gets all packets, in the format of btsnoop; nil for none. It has keys in it.
    ///   - log: where notices and failures go.
    public init(
        _ peripheral: Peripheral<Services>,
        on transport: String,
        capturePath: String? = nil,
        log: Logger = Logger(label: "peripheral")
    ) throws(ProgramError) {
        let (events, continuation) = AsyncStream<PeripheralEvent>.makeStream(
            bufferingPolicy: .bufferingNewest(Self.eventLimit)
        )
        self.events = events
        thread = try LoopThread(
            PeripheralHost(peripheral),
            on: transport,
            capturePath: capturePath,
            log: log,
            name: "peripheral",
            handleEvent: { continuation.yield($0) },
            atEnd: { continuation.finish() }
        )
    }

    /// Changes the services. All of them advance afterwards, so that what is new is told at once.
    /// - Throws: `CancellationError` if the peripheral has ended.
    public func update<Result: Sendable>(
        _ change: @escaping @Sendable (inout Services) -> Result
    ) async throws -> Result {
        try await perform { host, now in host.peripheral.update(at: now, change) }
    }

    /// Answers a prompt.
    /// - Returns: false if it stands no more.
    public func answer(_ prompt: PairingPrompt.ID, with answer: PairingAnswer) async throws -> Bool {
        try await perform { host, now in host.peripheral.answer(prompt, with: answer, at: now) }
    }

    /// A bond has been stored: it counts from now on.
    public func bondStored(_ identity: LEAddress) async throws {
        try await perform { host, now in host.peripheral.bondStored(identity, at: now) }
    }

    /// Disconnects every peer, and ends.
    @discardableResult
    public func stop() async throws -> EventLoop.Outcome { try await thread.stop() }

    /// How it ended, once it has.
    public var outcome: EventLoop.Outcome { get async throws { try await thread.outcome } }

    private func perform<Result: Sendable>(
        _ body: @escaping @Sendable (inout PeripheralHost<Services>, Duration) -> Result
    ) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            thread.perform { runner, now in
                guard let runner else { return continuation.resume(throwing: CancellationError()) }
                continuation.resume(returning: runner.update(at: now) { body(&$0, now) })
            }
        }
    }
}
