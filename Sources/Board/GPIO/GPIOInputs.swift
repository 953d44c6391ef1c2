import CLinux
import Glibc
import LinuxBluetooth

/// A line became active or inactive.
public struct GPIOEdge: Sendable, Equatable {
    public let line: UInt32
    public let isActive: Bool
    /// When, on the kernel's monotonic clock.
    public let time: Duration

    /// An edge.
    public init(line: UInt32, isActive: Bool, time: Duration) {
        self.line = line
        self.isActive = isActive
        self.time = time
    }
}

/// Lines that report when they change.
public final class GPIOInputs {
    /// How many edges are read at once.
    private static let batch = 16

    /// The lines, in the order in which they were asked for.
    public let lines: [UInt32]
    /// Whether the kernel waits until a line is quiet before it reports an edge; else the reader has to.
    public let isDebounced: Bool
    private let file: FileDescriptor

    /// Takes lines of a chip.
    public init(
        _ chip: GPIOChip,
        lines: [UInt32],
        active: GPIOLevel,
        pull: GPIOPull,
        debounce: Duration
    ) throws(GPIOError) {
        func take(_ debounce: Duration?) throws(GPIOError) -> FileDescriptor {
            let file = try chip.take(
                GPIORequest(lines: lines, active: active, direction: .input(pull, debounce: debounce))
            )
            _ = fcntl(file.number, F_SETFL, O_NONBLOCK)
            return file
        }
        self.lines = lines
        do throws(GPIOError) {
            file = try take(debounce)
            isDebounced = true
        } catch {
            // If that was not the reason, it fails again with the same one.
            file = try take(nil)
            isDebounced = false
        }
    }

    /// Lines behind a descriptor, for tests.
    init(lines: [UInt32], reading file: consuming FileDescriptor, isDebounced: Bool) {
        self.lines = lines
        self.file = file
        self.isDebounced = isDebounced
    }

    /// What to poll for reading.
    public var descriptor: Int32 { file.number }

    /// Which lines are active now.
    public func activeLines() throws(GPIOError) -> Set<UInt32> {
        var values = gpio_v2_line_values()
        values.mask = (1 << UInt64(lines.count)) &- 1
        guard ioctl(file.number, gpio_get_values_request, &values) == 0 else {
            throw GPIOError("cannot read GPIO lines: \(SystemError.last)", advice: "see the kernel's log: dmesg")
        }
        return Set(lines.enumerated().filter { values.bits & (1 << UInt64($0.offset)) != 0 }.map(\.element))
    }

    /// Takes the oldest edges that have come in, as many as fit; none if there are none.
    public func nextEdges() throws(GPIOError) -> [GPIOEdge] {
        var events = [gpio_v2_line_event](repeating: gpio_v2_line_event(), count: Self.batch)
        let count = events.withUnsafeMutableBytes { read(file.number, $0.baseAddress, $0.count) }
        guard count > 0 else {
            if count < 0, errno == EAGAIN || errno == EINTR { return [] }
            throw GPIOError(
                "GPIO lines are gone: \(count == 0 ? "the end of their events" : "\(SystemError.last)")",
                advice: "their chip was removed, or its driver was: start again when it is back"
            )
        }
        return events.prefix(count / MemoryLayout<gpio_v2_line_event>.stride).compactMap(GPIOEdge.init)
    }
}

extension GPIOEdge {
    /// What the kernel reports; nil for an event of a kind that there is none of.
    init?(_ event: gpio_v2_line_event) {
        line = event.offset
        time = .nanoseconds(Int64(clamping: event.timestamp_ns))
        switch event.id {
        case UInt32(GPIO_V2_LINE_EVENT_RISING_EDGE.rawValue): isActive = true
        case UInt32(GPIO_V2_LINE_EVENT_FALLING_EDGE.rawValue): isActive = false
        default: return nil
        }
    }
}
