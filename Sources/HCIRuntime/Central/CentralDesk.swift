import BluetoothCentral
import BluetoothHost

/// Names one stream of values.
final class Subscriber: Sendable {}

/// Who waits for what of a central: the callers of requests, and the streams of values. Only the loop's thread touches it.
final class CentralDesk: @unchecked Sendable {
    typealias Answer = (Result<CentralResponse, any Error>) -> Void
    typealias Values = AsyncThrowingStream<[UInt8], any Error>.Continuation

    private struct Subscription {
        let subscriber: Subscriber
        let peripheral: RemotePeripheral.ID
        let handle: AttributeHandle
        let values: Values
    }

    private var answers: [CentralRequestID: Answer] = [:]
    private var subscriptions: [Subscription] = []

    /// Gives the end of a request to its caller.
    func wait(for request: CentralRequestID, _ answer: @escaping Answer) { answers[request] = answer }

    /// Gives the values of a characteristic to a stream.
    func add(
        _ subscriber: Subscriber,
        to handle: AttributeHandle,
        of peripheral: RemotePeripheral.ID,
        _ values: Values
    ) {
        subscriptions.append(
            Subscription(subscriber: subscriber, peripheral: peripheral, handle: handle, values: values)
        )
    }

    /// Forgets a stream.
    /// - Returns: whether it was the last one of its characteristic.
    func remove(_ subscriber: Subscriber) -> Bool {
        guard let index = subscriptions.firstIndex(where: { $0.subscriber === subscriber }) else { return false }
        let removed = subscriptions.remove(at: index)
        return !subscriptions.contains { $0.peripheral == removed.peripheral && $0.handle == removed.handle }
    }

    /// Takes an event.
    /// - Returns: whether it is for the application, rather than an answer or a value.
    func take(_ event: CentralEvent) -> Bool {
        switch event {
        case .ended(let request, let result):
            answers.removeValue(forKey: request)?(result.mapError { $0 })
            return false
        case .valueReceived(let peripheral, let value):
            for subscription in subscriptions
            where subscription.peripheral == peripheral && subscription.handle == value.handle {
                subscription.values.yield(value.bytes)
            }
            return false
        case .disconnected(let peripheral, let reason):
            let ended = subscriptions.filter { $0.peripheral == peripheral }
            subscriptions.removeAll { $0.peripheral == peripheral }
            for subscription in ended { subscription.values.finish(throwing: CentralError.disconnected(reason)) }
            return true
        case .ready, .failed, .prompt, .bonded, .notice: return true
        }
    }

    /// The loop has ended: no answer comes any more.
    func close() {
        let unanswered = answers
        let ended = subscriptions
        answers = [:]
        subscriptions = []
        for answer in unanswered.values { answer(.failure(LoopEnded())) }
        for subscription in ended { subscription.values.finish(throwing: CancellationError()) }
    }
}

/// The loop has ended; its outcome says why.
struct LoopEnded: Error {}
