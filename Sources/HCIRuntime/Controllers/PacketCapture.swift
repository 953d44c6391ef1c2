import LinuxBluetooth
import Logging

/// The capture of a running watch, in a file or through a named pipe. A disk that fills up ends the capture, not the watch, and
/// a pipe waits for its reader, not the watch.
///
/// As a member of the loop it stands behind the members that record: packets that have left in a turn are in the file before
/// the loop waits again. Packets that have come in are there before any of them is worked on; `HostRunner` sees to that.
public final class PacketCapture: LoopMember {
    /// How often a pipe without a reader is looked at.
    private static let lookInterval: Duration = .milliseconds(100)

    private enum Sink {
        case file(BtsnoopWriter)
        case pipe(BtsnoopPipe)
        /// It has ended.
        case none
    }

    private var sink: Sink
    private var nextLook: Duration?
    private var pipeToken: PollSet.Token?
    private let clock: MonotonicClock
    private let log: Logger

    /// Creates the file, or takes the pipe that is there.
    public init(path: String, clock: MonotonicClock, log: Logger) throws(ProgramError) {
        do {
            if let pipe = try BtsnoopPipe(path: path) {
                sink = .pipe(pipe)
            } else {
                sink = .file(try BtsnoopWriter(path: path))
            }
        } catch {
            throw ProgramError(.cannotCreate, "\(error)", advice: error.advice)
        }
        self.clock = clock
        self.log = log
        // A reader that waits already has everything from the first packet on.
        if case .pipe(let pipe) = sink { note(pipe.look(), of: pipe) }
    }

    /// Adds a packet that was seen at a reading of the clock.
    package func record(_ packet: ArraySlice<UInt8>, _ direction: Btsnoop.Direction, at now: Duration) {
        let time = clock.civilTime(at: now)
        switch sink {
        case .file(let writer):
            write { () throws(BtsnoopWriter.CaptureError) in try writer.record(packet, direction, at: time) }
        case .pipe(let pipe): pipe.record(packet, direction, at: time)
        case .none: break
        }
    }

    /// Sees to it that what was added survives the process.
    package func flush() {
        switch sink {
        case .file(let writer): write { () throws(BtsnoopWriter.CaptureError) in try writer.flush() }
        case .pipe(let pipe): note(pipe.flush(), of: pipe)
        case .none: break
        }
    }

    private func write(_ body: () throws(BtsnoopWriter.CaptureError) -> Void) {
        do {
            try body()
        } catch {
            log.error("\(error); the capture ends here and the watch goes on")
            sink = .none
        }
    }

    private func note(_ change: BtsnoopPipe.Change?, of pipe: BtsnoopPipe) {
        switch change {
        case .opened?:
            nextLook = nil
            log.notice("the pipe \(pipe.path) has a reader: the capture begins")
        case .closed?:
            nextLook = clock.now + Self.lookInterval
            log.notice(
                "the reader of the pipe \(pipe.path) is gone: the capture waits for another, and the watch goes on"
            )
        case nil: break
        }
    }

    public func start(at now: Duration) {
        guard case .pipe(let pipe) = sink, !pipe.isOpen else { return }
        log.notice("the capture waits until something reads the pipe \(pipe.path)")
        nextLook = now + Self.lookInterval
    }

    public func addPollRequests(to set: inout PollSet) {
        pipeToken = nil
        guard case .pipe(let pipe) = sink, let descriptor = pipe.descriptor else { return }
        pipeToken = set.add(descriptor, reading: false, writing: pipe.wantsToWrite)
    }

    public func takeInput(_ set: borrowing PollSet, at now: Duration) {
        // What a pipe cannot take now is written when the output moves, and so is found out whether it can.
        guard case .pipe(let pipe) = sink, let pipeToken, set.isWritable(pipeToken), !pipe.wantsToWrite else { return }
        note(pipe.readerIsGone(), of: pipe)
    }

    public func moveOutput(at now: Duration) -> Bool {
        flush()
        return false
    }

    public func advance(to now: Duration) {
        guard let look = nextLook, look <= now, case .pipe(let pipe) = sink else { return }
        nextLook = now + Self.lookInterval
        note(pipe.look(), of: pipe)
    }

    public var nextDeadline: Duration? { nextLook }
    public func beginStop(at now: Duration) { nextLook = nil }
    public var isStopped: Bool { true }
}
