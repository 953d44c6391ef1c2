import FlightRecorder
import Glibc
import HCIRuntime
import LinuxBluetooth
import Logging
import PrivateFiles

/// What a recorder keeps in memory, in a file of the state directory that is mapped into the process: when the process crashes or is
/// killed, the kernel still has it. A process that ends in order takes the file away, so that one that is there is of one that did not.
///
/// Nothing is written by system calls; the kernel brings it to the disk when it has time. A loss of power may lose it.
final class CrashMemory {
    /// The file's name in the state directory.
    private static let name = "recorder.memory"
    /// The longest that is read: more than any recorder keeps.
    private static let longest = 2_000_000_000

    private let path: String
    private let region: UnsafeMutableRawBufferPointer

    /// Sees to it that what a recorder keeps from now on outlives the process.
    /// - Returns: nil if there is no room for it; the recorder keeps it in the process alone then.
    init?(in directory: String, of recorder: FlightRecorder, log: Logger) {
        path = directory + "/" + Self.name
        do throws(CrashMemoryError) {
            region = try Self.map(path, recorder.memorySize)
        } catch {
            unlink(path)
            log.warning("what is recorded of the watch will be lost if the watch crashes: \(error.reason)")
            return nil
        }
        recorder.keepMemory(in: region, of: self)
    }

    private static func map(_ path: String, _ size: Int) throws(CrashMemoryError) -> UnsafeMutableRawBufferPointer {
        let file: FileDescriptor
        do throws(PrivateFileError) {
            file = FileDescriptor(owning: try PrivateFile.create(path, forReading: true))
        } catch {
            throw CrashMemoryError(reason: "\(error)")
        }
        // A page without room on the disk would end the process when it is touched first.
        let failure = posix_fallocate(file.number, 0, off_t(size))
        guard failure == 0 else { throw CrashMemoryError(path, errno: failure) }
        let start = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, file.number, 0)
        guard let start, start != MAP_FAILED else { throw CrashMemoryError(path, errno: errno) }
        return UnsafeMutableRawBufferPointer(start: start, count: size)
    }

    /// The recorder is gone by now, which holds on to this.
    deinit {
        munmap(region.baseAddress, region.count)
        unlink(path)
    }

    /// The process ends in order.
    func end() { unlink(path) }

    /// What a process had in its memory that did not end in order; nil if there was none.
    static func left(in directory: String, log: Logger) -> [UInt8]? {
        let path = directory + "/" + name
        guard access(path, F_OK) == 0 else { return nil }
        do throws(ProgramError) {
            return try RecordingInput.bytes(of: path, limit: longest, what: "recorder's memory")
        } catch {
            log.warning("\(error.what)")
            return nil
        }
    }
}

/// Why nothing of a recorder's memory outlives its process.
private struct CrashMemoryError: Error {
    let reason: String

    init(reason: String) { self.reason = reason }

    init(_ path: String, errno number: Int32) { reason = "\(path): \(String(cString: strerror(number)))" }
}
