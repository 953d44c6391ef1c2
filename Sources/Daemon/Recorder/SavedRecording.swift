import Glibc
import HCIRuntime
import LinuxBluetooth
import PrivateFiles

/// A recording that is written at once, whole.
enum SavedRecording {
    /// Writes a recording into a file of this user's alone.
    static func write(_ bytes: [UInt8], to path: String) throws(ProgramError) {
        let file: FileDescriptor
        do throws(PrivateFileError) {
            file = FileDescriptor(owning: try PrivateFile.create(path))
        } catch {
            throw ProgramError(recording: path, error.reason, advice: error.advice)
        }
        do throws(SystemError) {
            try file.writeAll(bytes)
        } catch {
            // Half a recording would be taken for a whole one that was torn.
            ftruncate(file.number, 0)
            throw ProgramError(
                .inputOutput,
                recording: path,
                "\(error)",
                advice: "make room on that disk, or name a file on another"
            )
        }
    }
}

extension FileDescriptor {
    /// Hands all of the bytes to the kernel.
    func writeAll(_ bytes: some Collection<UInt8>) throws(SystemError) {
        let bytes = ContiguousArray(bytes)
        var start = 0
        while start < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                write(number, buffer.baseAddress?.advanced(by: start), buffer.count - start)
            }
            if count >= 0 {
                start += count
            } else if SystemError.last.code != EINTR {
                throw .last
            }
        }
    }
}
