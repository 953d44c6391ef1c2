import ByteCoding
import Glibc
import PrivateFiles

/// Writes packets into a named pipe that Wireshark or tshark reads, without ever waiting for it.
///
/// A capture begins whenever a reader opens the pipe, and ends when it closes it. Packets in between go nowhere, and those that
/// the reader is too slow for are left out whole: the next record says how many (`cumulative drops`).
public final class BtsnoopPipe {
    /// How many bytes wait for the reader at most.
    static let bufferLimit = 256 * 1024

    /// What a look at the pipe has shown.
    public enum Change: Sendable {
        /// A reader is there from now on.
        case opened
        /// It is gone.
        case closed
    }

    /// The pipe's name.
    public let path: String
    private var file: FileDescriptor?
    private var buffer: [UInt8] = []
    private var drops: UInt32 = 0

    /// - Returns: nil if there is no pipe at the path.
    /// - Throws: `CaptureError` if the pipe is another user's: what is captured holds keys.
    public init?(path: String) throws(BtsnoopWriter.CaptureError) {
        do throws(PrivateFileError) {
            guard try PrivateFile.isPipe(path) else { return nil }
        } catch {
            throw BtsnoopWriter.CaptureError(error)
        }
        self.path = path
    }

    /// Whether something reads.
    public var isOpen: Bool {
        switch file {
        case .some: true
        case nil: false
        }
    }

    /// What to poll while something reads: for writing if `wantsToWrite`, else for the reader's end alone.
    public var descriptor: Int32? {
        switch file {
        case .some(let file): file.number
        case nil: nil
        }
    }

    /// Whether bytes wait for the reader.
    public var wantsToWrite: Bool { !buffer.isEmpty }

    /// Sees whether a reader has come: open(2) of a pipe without one fails with ENXIO where it may not wait.
    public func look() -> Change? {
        guard !isOpen, let number = try? PrivateFile.openPipe(path),
            let opened = try? FileDescriptor.checking(number)
        else { return nil }
        file = consume opened
        buffer = Btsnoop.header
        drops = 0
        return .opened
    }

    /// Adds a packet, type byte first; `time` is what has passed since 1970-01-01 00:00 UTC.
    public func record(_ packet: ArraySlice<UInt8>, _ direction: Btsnoop.Direction, at time: Duration) {
        guard isOpen else { return }
        guard buffer.count < Self.bufferLimit else {
            drops &+= 1
            return
        }
        Btsnoop.append(packet, direction, at: time, drops: drops, to: &buffer)
    }

    /// Hands the reader what it takes now.
    public func flush() -> Change? {
        while wantsToWrite, let descriptor {
            let count = buffer.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
            if count > 0 {
                buffer.removeFirst(count)
            } else if errno == EAGAIN {
                return nil
            } else if errno != EINTR {
                return close()
            }
        }
        return nil
    }

    /// The reader has gone without anything to write for it, as poll(2) says.
    public func readerIsGone() -> Change? { isOpen ? close() : nil }

    private func close() -> Change {
        file = nil
        buffer = []
        return .closed
    }
}
