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
    private let region: MappedFile

    /// Sees to it that what a recorder keeps from now on outlives the process.
    /// - Returns: nil if there is no room for it; the recorder keeps it in the process alone then.
    init?(in directory: String, of recorder: FlightRecorder, log: Logger) {
        path = directory + "/" + Self.name
        do throws(PrivateFileError) {
            region = try Self.map(path, recorder.memorySize)
        } catch {
            unlink(path)
            log.warning("what is recorded of the watch will be lost if the watch crashes: \(error)")
            return nil
        }
        recorder.keepMemory(in: region.bytes, of: self)
    }

    private static func map(_ path: String, _ size: Int) throws(PrivateFileError) -> MappedFile {
        let file = FileDescriptor(owning: try PrivateFile.create(path, forReading: true))
        return try MappedFile(path, file.number, count: size)
    }

    /// The recorder is gone by now, which holds on to this.
    deinit { unlink(path) }

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
