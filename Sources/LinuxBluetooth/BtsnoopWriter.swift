import BluetoothHCI
import ByteCoding
import Glibc
import PrivateFiles

/// The btsnoop file format, version 1, as Wireshark reads it.
///
/// A 16-byte header, then records: original length, included length, flags, cumulative drops (32 bits each), time stamp
/// (64 bits, microseconds since the year 0), then the packet. Integers are big-endian.
/// Source: RFC 1761, whose layout btsnoop has, and Wireshark's `wiretap/btsnoop.c`.
public enum Btsnoop {
    /// What every file begins with.
    package static let identification: [UInt8] = Array("btsnoop".utf8) + [0]
    /// The only version there is.
    static let version: UInt32 = 1
    /// HCI UART (H4): each packet begins with its type byte.
    package static let dataLinkH4: UInt32 = 1002
    /// From 0000-01-01 to 1970-01-01, both midnight UTC, proleptic Gregorian.
    package static let unixEpochMicroseconds: Int64 = 0x00DC_DDB3_0F2F_8000

    /// Which way a packet went.
    public enum Direction: UInt32, Hashable, Sendable {
        /// From the host to the controller.
        case sent = 0
        /// From the controller to the host.
        case received = 1
    }

    /// Flag of commands and events, as opposed to data.
    static let commandOrEvent: UInt32 = 1 << 1

    /// What every file of H4 packets begins with.
    package static var header: [UInt8] {
        var header = identification
        header.appendBigEndian(version)
        header.appendBigEndian(dataLinkH4)
        return header
    }

    /// Adds a packet's record to a buffer.
    /// - Parameter drops: how many packets have been left out before it.
    package static func append(
        _ packet: ArraySlice<UInt8>,
        _ direction: Direction,
        at time: Duration,
        drops: UInt32 = 0,
        to buffer: inout [UInt8]
    ) {
        let length = UInt32(clamping: packet.count)
        buffer.appendBigEndian(length)
        buffer.appendBigEndian(length)
        buffer.appendBigEndian(direction.rawValue | (isData(packet) ? 0 : commandOrEvent))
        buffer.appendBigEndian(drops)
        buffer.appendBigEndian(unixEpochMicroseconds &+ time.wholeMicroseconds)
        buffer += packet
    }

    private static func isData(_ packet: ArraySlice<UInt8>) -> Bool {
        switch packet.first.flatMap(HCIPacketType.init(rawValue:)) {
        case .acl, .sco, .iso: true
        case .command, .event, nil: false
        }
    }
}

/// Writes packets into a btsnoop file.
///
/// Records gather until `flush` hands them to the kernel, with one system call for all: a process that is killed leaves a
/// readable file with every record up to then. A program that flushes before working on a packet has that packet in the file
/// even if it brings the process down.
public final class BtsnoopWriter {
    /// Why a capture file cannot be made or went wrong.
    public struct CaptureError: Error, Hashable, Sendable, CustomStringConvertible {
        /// The file.
        public let path: String
        /// Why not.
        public let cause: SystemError
        /// Why a file that is there is not taken; nil if the kernel refused.
        public let refusal: PrivateFileError?

        init(path: String, cause: SystemError) {
            self.path = path
            self.cause = cause
            refusal = nil
        }

        init(_ error: PrivateFileError) {
            path = error.path
            cause = SystemError(code: error.code)
            refusal = error.advice == nil ? nil : error
        }

        public var description: String {
            "cannot write the capture file \(path): \(refusal?.reason ?? cause.description)"
        }

        /// What a person can do about it.
        public var advice: String {
            if let advice = refusal?.advice { return advice }
            return switch cause.code {
            case ENOENT, ENOTDIR: "the folder is not there: create it first, or name another file"
            case EACCES, EPERM, EROFS: "choose a file in a folder that you may write to"
            case EISDIR: "the path is a folder: name a file in it"
            case ENOSPC, EDQUOT: "make room on that disk, or name a file on another"
            default: "name another file"
            }
        }
    }

    /// How many bytes of records gather at most.
    static let bufferLimit = 256 * 1024

    /// The file's name.
    public let path: String
    private let file: FileDescriptor
    private var buffer: [UInt8] = []
    private var written: off_t = 0

    /// Creates the file, or empties the one that is there, and writes its header. What passes between host and controller
    /// includes keys, so the file is this user's alone.
    public init(path: String) throws(CaptureError) {
        self.path = path
        do {
            file = FileDescriptor(owning: try PrivateFile.create(path))
        } catch {
            throw CaptureError(error)
        }
        buffer = Btsnoop.header
        try flush()
    }

    deinit { try? flush() }

    /// Adds a packet, type byte first; `time` is what has passed since 1970-01-01 00:00 UTC.
    /// - Parameter drops: how many packets have been left out before it.
    public func record(
        _ packet: ArraySlice<UInt8>,
        _ direction: Btsnoop.Direction,
        at time: Duration,
        drops: UInt32 = 0
    ) throws(CaptureError) {
        Btsnoop.append(packet, direction, at: time, drops: drops, to: &buffer)
        if buffer.count >= Self.bufferLimit { try flush() }
    }

    /// Hands every record to the kernel.
    public func flush() throws(CaptureError) {
        var start = 0
        while start < buffer.count {
            let count = buffer.withUnsafeBytes { bytes in
                write(file.number, bytes.baseAddress?.advanced(by: start), bytes.count - start)
            }
            if count >= 0 {
                start += count
            } else if !SystemError.last.isInterrupted {
                let error = SystemError.last
                // No half a record at the end: what was written before this call is all that stays.
                ftruncate(file.number, written)
                buffer.removeAll(keepingCapacity: true)
                throw CaptureError(path: path, cause: error)
            }
        }
        written += off_t(start)
        buffer.removeAll(keepingCapacity: true)
    }
}

extension Duration {
    /// Rounded towards zero.
    fileprivate var wholeMicroseconds: Int64 {
        let (seconds, attoseconds) = components
        return seconds &* 1_000_000 &+ attoseconds / 1_000_000_000_000
    }
}
