import BluetoothHCI
import HCIRuntime
import PebbleWatch

/// The watch as the loop runs it: what it wants to remember goes to its store, and who is connected, and whether the
/// controller can be used, is seen from its events.
public struct WatchHost: LoopHost {
    /// The watch itself.
    public private(set) var watch: Watch
    private let store: (any WatchStore)?
    private var connections: Set<ConnectionHandle> = []
    private var isLeaving = false
    public private(set) var failure: String?

    /// A watch that has not been started; without a store it remembers everything until the process ends.
    public init(_ watch: Watch, store: (any WatchStore)?) {
        self.watch = watch
        self.store = store
    }

    public mutating func start(at now: Duration) {
        failure = nil
        watch.start(at: now)
        storeChanges(at: now)
    }

    public mutating func controllerLost(at now: Duration) {
        failure = nil
        watch.controllerLost(at: now)
        storeChanges(at: now)
    }

    public var isReady: Bool { watch.isReady }

    public mutating func receive(_ packet: ArraySlice<UInt8>, at now: Duration) {
        watch.receive(packet, at: now)
        storeChanges(at: now)
    }

    public mutating func advance(to now: Duration) {
        watch.advance(to: now)
        storeChanges(at: now)
    }

    public var nextDeadline: Duration? { watch.nextDeadline }

    public mutating func nextPacket(into buffer: inout [UInt8]) -> Bool { watch.nextPacket(into: &buffer) }

    public mutating func nextEvent() -> WatchEvent? {
        guard let event = watch.nextEvent() else { return nil }
        switch event {
        case .connected(let handle, _): connections.insert(handle)
        case .disconnected(let handle, _): connections.remove(handle)
        case .failed(let reason): failure = "\(reason)"
        default: break
        }
        return event
    }

    public mutating func beginShutdown(at now: Duration) {
        isLeaving = true
        watch.disconnectAll(at: now)
    }

    /// Does something to the watch that does not come from its controller; what the watch is to remember of it is in the store
    /// when this returns.
    public mutating func withWatch<Result, Failure>(
        at now: Duration,
        _ body: (inout Watch) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        defer { storeChanges(at: now) }
        return try body(&watch)
    }

    private mutating func storeChanges(at now: Duration) {
        while let (id, change) = watch.nextMemoryChange() {
            var failure: WatchStoreError?
            do throws(WatchStoreError) {
                try store?.apply(change)
            } catch {
                failure = error
            }
            watch.memoryChangeFinished(id, failure: failure, at: now)
        }
    }

    public var isShutDown: Bool { isLeaving && connections.isEmpty }
}

extension HostRunner<WatchHost> {
    /// Does something to the watch that does not come from its controller. See `update(at:_:)` for who may.
    func withWatch<Result, Failure>(
        at now: Duration,
        _ body: (inout Watch) throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try update(at: now) { host throws(Failure) in try host.withWatch(at: now, body) }
    }
}
