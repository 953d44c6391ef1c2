import BluetoothHCI
import FlightRecorder
import HCIRuntime
import PebbleWatch

/// The watch as the loop runs it: what it wants to remember goes to its store, and who is connected, and whether the
/// controller can be used, is seen from its events.
public struct WatchHost: LoopHost {
    /// The watch itself.
    public private(set) var watch: Watch
    /// Keeps everything that the watch is given.
    let recorder: FlightRecorder
    private let store: (any WatchStore)?
    private var refusedChange: String?
    private var connections: Set<ConnectionHandle> = []
    private var isLeaving = false
    public private(set) var failure: String?

    /// A watch that has not been started; without a store it remembers everything until the process ends.
    /// - Parameter recorder: stands around the watch: the watch is given nothing but through it.
    public init(_ watch: Watch, recorder: FlightRecorder, store: (any WatchStore)?) {
        self.watch = watch
        self.recorder = recorder
        self.store = store
    }

    public mutating func start(at now: Duration) {
        failure = nil
        give(.start, at: now)
    }

    public mutating func controllerLost(at now: Duration) {
        failure = nil
        give(.controllerLost, at: now)
    }

    public var isReady: Bool { watch.isReady }

    public var outstandingPacketCount: Int { watch.outstandingPacketCount }

    public mutating func isAtRest() -> Bool { watch.isAtRest() }

    public mutating func receive(_ packet: ArraySlice<UInt8>, at now: Duration) { give(.packet(packet), at: now) }

    public mutating func advance(to now: Duration) { give(.time, at: now) }

    public var nextDeadline: Duration? { watch.nextDeadline }

    public mutating func nextPacket(into buffer: inout [UInt8]) -> Bool {
        recorder.nextPacket(of: &watch, into: &buffer)
    }

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

    public static func handOnEvents(of runner: HostRunner<WatchHost>, at now: Duration) -> Bool {
        var wereThere = false
        while let event = runner.takeEvent() {
            wereThere = true
            runner.tell(event, at: now)
        }
        return wereThere
    }

    public mutating func beginShutdown(at now: Duration) {
        isLeaving = true
        give(.shutdown, at: now)
    }

    /// Gives the watch an input; what the watch is to remember of it is in the store when this returns.
    /// - Throws: `WatchCommandError` when it is a command that cannot be carried out now.
    @discardableResult
    public mutating func take(
        _ input: WatchInput,
        at now: Duration
    ) throws(WatchCommandError) -> WatchInputResult {
        defer { storeChanges(at: now) }
        return try recorder.take(input, by: &watch, at: now)
    }

    /// Gives the watch an input that is no command, and so cannot be refused.
    private mutating func give(_ input: WatchInput, at now: Duration) { _ = try? take(input, at: now) }

    private mutating func storeChanges(at now: Duration) {
        while let (id, change) = recorder.nextMemoryChange(of: &watch) {
            var failure: WatchStoreError?
            do throws(WatchStoreError) {
                try store?.apply(change)
            } catch {
                failure = error
                refusedChange = "\(error)"
            }
            _ = try? recorder.take(.memoryChangeFinished(id, failure: failure), by: &watch, at: now)
        }
    }

    /// Takes why the store refused a change last, if it has since this was asked.
    mutating func takeRefusedChange() -> String? {
        defer { refusedChange = nil }
        return refusedChange
    }

    public var isShutDown: Bool { isLeaving && connections.isEmpty }
}

extension HostRunner<WatchHost> {
    /// Gives the watch an input that does not come from its controller. See `update(at:_:)` for who may.
    @discardableResult
    func take(_ input: WatchInput, at now: Duration) throws(WatchCommandError) -> WatchInputResult {
        try update(at: now) { host throws(WatchCommandError) in try host.take(input, at: now) }
    }

    /// Carries out a command.
    @discardableResult
    func perform(_ command: WatchCommand, at now: Duration) throws(WatchCommandError) -> WatchCommandResult {
        guard case .command(let result) = try take(.command(command), at: now) else { return .done }
        return result
    }

    /// A tool of the SDK has connected.
    /// - Returns: its name.
    func connectTool(_ carrier: DeveloperCarrier, at now: Duration) -> DeveloperConnectionID? {
        guard case .tool(let tool)? = try? take(.toolConnected(carrier), at: now) else { return nil }
        return tool
    }

    /// The emulator of the firmware does something.
    func take(_ input: FirmwareInput, at now: Duration) { _ = try? take(.firmware(input), at: now) }

    /// Takes the next bytes for the emulator of the firmware; none when nothing waits.
    func nextFirmwareBytes(at now: Duration) -> [UInt8] {
        guard host.watch.hasFirmwareBytes,
            case .firmwareBytes(let bytes)? = try? take(.firmware(.hasRoom), at: now)
        else { return [] }
        return bytes
    }

    /// Whether a message has left for the emulator of the firmware in part.
    var isInFirmwareMessage: Bool { host.watch.isInFirmwareMessage }

    /// A tool has gone.
    func toolLeft(_ tool: DeveloperConnectionID, reason: String, at now: Duration) {
        _ = try? take(.toolLeft(tool, reason: reason), at: now)
    }

    /// Takes bytes of a tool.
    func receive(_ bytes: ArraySlice<UInt8>, from tool: DeveloperConnectionID, at now: Duration) {
        _ = try? take(.toolBytes(bytes, from: tool), at: now)
    }

    /// Takes the next bytes for a tool; none when nothing waits.
    func nextBytes(for tool: DeveloperConnectionID, at now: Duration) -> [UInt8] {
        guard case .toolBytes(let bytes)? = try? take(.toolHasRoom(tool), at: now) else { return [] }
        return bytes
    }
}
