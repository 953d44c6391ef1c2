import Glibc
import HCIRuntime
import LinuxBluetooth
import PrivateFiles

/// A file that pieces are appended to, each of which is in the file when `append` returns, whatever becomes of the process.
///
/// A file on a disk is written through a window of memory that is mapped, so that a piece costs no system call. Until its end it
/// is longer than what is in it: zeros follow. A pipe, a device, and a disk with little room are written to by system calls.
final class GrowingFile {
    /// How much of the file is mapped at a time, in bytes: a multiple of every size of a page.
    private static let windowSize = 1 << 16

    /// How many bytes have been appended.
    private(set) var size = 0
    private let path: String
    private let file: FileDescriptor
    private var canBeMapped: Bool
    /// What is mapped now, and where in the file that begins.
    private var window: MappedFile?
    private var windowStart = 0

    /// Creates a file that is this user's alone, or empties it.
    init(_ path: String) throws(PrivateFileError) {
        self.path = path
        var status = stat()
        // A pipe that is opened for reading as well would never say that its reader is gone.
        canBeMapped = stat(path, &status) != 0 || status.st_mode & S_IFMT == S_IFREG
        file = FileDescriptor(owning: try PrivateFile.create(path, forReading: canBeMapped))
    }

    deinit { end() }

    /// Appends bytes, the first four of them last: as long as these are zero, a reader knows that the rest is not whole.
    /// - Throws: if there is no room, or the file was lost; nothing of the bytes is in it then.
    func append(_ bytes: [UInt8]) throws(GrowingFileError) {
        let end = size + bytes.count
        if let window, end <= windowStart + window.bytes.count {
            Self.copy(bytes, into: window, at: size - windowStart)
            guard !window.isLost else { throw .lost }
            size = end
            return
        }
        try appendAcross(bytes)
    }

    private static func copy(_ bytes: [UInt8], into window: MappedFile, at place: Int) {
        bytes.withUnsafeBytes { bytes in
            let target = UnsafeMutableRawBufferPointer(rebasing: window.bytes[place...])
            let first = min(bytes.count, 4)
            UnsafeMutableRawBufferPointer(rebasing: target[first...]).copyMemory(from: .init(rebasing: bytes[first...]))
            MappedFile.orderWrites()
            target.copyMemory(from: .init(rebasing: bytes[..<first]))
        }
    }

    /// Appends what the window has no room for: by a system call, and maps what follows.
    private func appendAcross(_ bytes: [UInt8]) throws(GrowingFileError) {
        guard window?.isLost != true else { throw .lost }
        closeWindow()
        do throws(SystemError) {
            try file.writeAll(bytes)
        } catch {
            // No half a piece at the end; a reader would cut it, but need not say so.
            ftruncate(file.number, off_t(size))
            throw .system(error)
        }
        size += bytes.count
        guard canBeMapped else { return }
        windowStart = size / Self.windowSize * Self.windowSize
        window = try? MappedFile(path, file.number, from: windowStart, count: Self.windowSize)
        if window == nil {
            canBeMapped = false
            ftruncate(file.number, off_t(size))
        }
    }

    /// Gives up the window; the next system call writes behind what is in the file.
    private func closeWindow() {
        guard let isLost = window?.isLost else { return }
        window = nil
        if !isLost { ftruncate(file.number, off_t(size)) }
        lseek(file.number, off_t(size), SEEK_SET)
    }

    /// Cuts off the zeros behind what is in the file. What is appended afterwards is written as before.
    func end() { closeWindow() }
}

/// Why nothing more is appended to a file.
enum GrowingFileError: Error, CustomStringConvertible {
    /// The kernel refused.
    case system(SystemError)
    /// What was mapped is not there any more.
    case lost

    var description: String {
        switch self {
        case .system(let error): "\(error)"
        case .lost: "somebody has cut the file, or its disk fails"
        }
    }
}
