import BluetoothCentral
import BluetoothCryptography
import BluetoothHCI
import BluetoothHost
import Logging
import Synchronization

/// A central on a controller, for programs that use Swift's concurrency. The loop has a thread of its own.
///
///     let central = try RunningCentral(on: "hci0")
///     let sensor = try await central.find(within: .seconds(30)) { $0.services.contains(.uuid16(0x180F)) }
///     let peripheral = try await central.connect(to: sensor.address, within: .seconds(30))
///     let level = try await peripheral.read(.uuid16(0x2A19), of: .uuid16(0x180F))
///
/// Its functions throw `CentralError`; `ProgramError` if the controller cannot be reached; and `CancellationError` if the task is
/// cancelled or the central was stopped.
public final class RunningCentral: Sendable {
    /// What happens besides the answers to requests: the loss of a connection, and what pairing needs. Of events that are not
    /// taken, the latest 4096. It ends with the central, and `outcome` says how.
    public let events: AsyncStream<CentralEvent>
    /// How many events, or values of one subscription, wait to be taken: a peer can cause as many as it likes.
    static let eventLimit = 4096
    private let thread: LoopThread<CentralHost>
    private let desk: CentralDesk

    /// Opens the controller and starts. Everything else happens on a thread of its own.
    /// - Parameters:
    ///   - configuration: what can be chosen about the central.
    ///   - transport: where the controller is: see `Peripheral.run(on:)`.
    ///   - capturePath: a file that gets all packets, in the format of btsnoop; nil for none. It has keys in it.
    ///   - log: where the loop and the controller's loss are logged.
    public init(
        _ configuration: CentralConfiguration = CentralConfiguration(),
        on transport: String,
        capturePath: String? = nil,
        log: Logger = Logger(label: "central")
    ) throws(ProgramError) {
        let (events, continuation) = AsyncStream<CentralEvent>.makeStream(
            bufferingPolicy: .bufferingNewest(Self.eventLimit)
        )
        let desk = CentralDesk()
        self.events = events
        self.desk = desk
        thread = try LoopThread(
            CentralHost(Central(configuration, cryptography: .swiftCrypto, randomness: .system)),
            on: transport,
            capturePath: capturePath,
            log: log,
            name: "central",
            handleEvent: { if desk.take($0) { continuation.yield($0) } },
            atEnd: {
                desk.close()
                continuation.finish()
            }
        )
    }

    // MARK: Requests

    /// Scans until an advertiser is heard that is wanted.
    /// - Parameters:
    ///   - time: how long it scans at most, also while the controller is being started.
    ///   - isWanted: is shown what is known of each advertiser whenever it is heard, on the loop's thread.
    /// - Throws: `CentralError.notFound`, or what the type's comment names.
    public func find(
        within time: Duration,
        where isWanted: @escaping @Sendable (ScanResult) -> Bool
    ) async throws -> ScanResult {
        let response = try await request { $0.find(within: time, at: $1, where: isWanted) }
        guard case .found(let result) = response else { throw CentralError.notFound }
        return result
    }

    /// Scans for a while.
    /// - Returns: every advertiser that was heard, in the order in which they were; the latest 256.
    public func scan(for time: Duration) async throws -> [ScanResult] {
        guard case .scanned(let results) = try await request({ $0.scan(for: time, at: $1) }) else { return [] }
        return results
    }

    /// Connects to a peripheral and discovers its database: both together may take this time.
    public func connect(to peer: LEAddress, within time: Duration) async throws -> ConnectedPeripheral {
        let response = try await request { $0.connect(to: peer, within: time, at: $1) }
        guard case .connected(let peripheral) = response else { throw CentralError.disconnected(nil) }
        return ConnectedPeripheral(remote: peripheral, central: self)
    }

    /// Answers a prompt.
    /// - Returns: false if it stands no more.
    public func answer(_ prompt: PairingPrompt.ID, with answer: PairingAnswer) async throws -> Bool {
        try await perform { central, now in central.answer(prompt, with: answer, at: now) }
    }

    /// A bond has been stored: it counts from now on.
    public func bondStored(_ identity: LEAddress) async throws {
        try await perform { central, now in central.bondStored(identity, at: now) }
    }

    /// Disconnects every peripheral, and ends.
    @discardableResult
    public func stop() async throws -> EventLoop.Outcome { try await thread.stop() }

    /// How it ended, once it has.
    public var outcome: EventLoop.Outcome { get async throws { try await thread.outcome } }

    // MARK: The loop's thread

    /// Makes a request, and waits for its end; cancels it with the task.
    func request(
        _ begin: @escaping @Sendable (inout Central, Duration) -> CentralRequestID
    ) async throws -> CentralResponse {
        let ticket = RequestTicket()
        let result: Result<CentralResponse, any Error> = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                thread.perform { [desk] runner, now in
                    guard let runner else { return continuation.resume(returning: .failure(LoopEnded())) }
                    runner.update(at: now) { host in
                        guard !ticket.isCancelled else {
                            return continuation.resume(returning: .failure(CentralError.cancelled))
                        }
                        let id = begin(&host.central, now)
                        ticket.begin(id)
                        // The host hands its events on after this, so that even a request that ended at once is answered.
                        desk.wait(for: id) { continuation.resume(returning: $0) }
                    }
                }
            }
        } onCancel: {
            guard let begun = ticket.cancel() else { return }
            thread.perform { runner, now in runner?.update(at: now) { $0.central.cancel(begun, at: now) } }
        }
        return try await answer(result)
    }

    private func answer<Value>(_ result: Result<Value, any Error>) async throws -> Value {
        do {
            return try result.get()
        } catch is LoopEnded {
            _ = try await outcome
            throw CancellationError()
        } catch CentralError.cancelled {
            throw CancellationError()
        }
    }

    private func perform<Value: Sendable>(
        _ body: @escaping @Sendable (inout Central, Duration) -> Value
    ) async throws -> Value {
        let result: Result<Value, any Error> = await withCheckedContinuation { continuation in
            thread.perform { runner, now in
                guard let runner else { return continuation.resume(returning: .failure(LoopEnded())) }
                continuation.resume(returning: .success(runner.update(at: now) { body(&$0.central, now) }))
            }
        }
        return try await answer(result)
    }

    /// Opens a stream of a characteristic's values.
    func values(
        of characteristic: RemoteCharacteristic,
        of peripheral: RemotePeripheral.ID
    ) async throws -> AsyncThrowingStream<[UInt8], any Error> {
        let (stream, values) = AsyncThrowingStream<[UInt8], any Error>.makeStream(
            bufferingPolicy: .bufferingNewest(Self.eventLimit)
        )
        let subscriber = Subscriber()
        values.onTermination = { [thread, desk] termination in
            guard case .cancelled = termination else { return }
            thread.perform { runner, now in
                guard let runner, desk.remove(subscriber) else { return }
                runner.update(at: now) { host in
                    _ = host.central.subscribe(to: characteristic, of: peripheral, [], at: now)
                }
            }
        }
        do {
            _ = try await request { [desk] central, now in
                // The stream is there before the subscription, so that no value is lost.
                desk.add(subscriber, to: characteristic.handle, of: peripheral, values)
                return central.subscribe(to: characteristic, of: peripheral, at: now)
            }
        } catch {
            thread.perform { [desk] _, _ in _ = desk.remove(subscriber) }
            throw error
        }
        return stream
    }
}

/// What a request is called, for the task that waits for it to cancel it.
private final class RequestTicket: Sendable {
    private enum State {
        case waiting
        case begun(CentralRequestID)
        case cancelled
    }

    private let state = Mutex(State.waiting)

    var isCancelled: Bool {
        state.withLock { state in
            if case .cancelled = state { true } else { false }
        }
    }

    /// The request has been made.
    func begin(_ id: CentralRequestID) { state.withLock { $0 = .begun(id) } }

    /// The task is cancelled.
    /// - Returns: the request to be cancelled, if it has been made.
    func cancel() -> CentralRequestID? {
        state.withLock { state in
            defer { state = .cancelled }
            if case .begun(let id) = state { return id }
            return nil
        }
    }
}
