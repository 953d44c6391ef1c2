import Bundles
import Glibc
import HCIRuntime
import LinuxBluetooth
import PrivateFiles

/// The directory of an emulator in a state directory: the watch's flash, and the sockets of its serial ports.
struct EmulatorDirectory: ~Copyable {
    /// The largest flash of any board, in bytes.
    private static let largestFlash = 64 << 20

    /// The directory's path.
    let path: String
    /// The directory, open: sockets in it are reached by this, since a path may be longer than a socket's.
    let descriptor: FileDescriptor

    /// Makes the directory of a board, and its flash from the SDK's if there is none.
    /// - Parameter state: the state directory.
    init(in state: String, for images: EmulatorImages.Found) throws(ProgramError) {
        let path = "\(state)/firmware/\(images.name)"
        let descriptor = try Self.open(path, in: "\(state)/firmware")
        // A flash that was not whole yet has another name.
        if access("\(path)/\(EmulatorCommand.Name.flash)", F_OK) != 0 {
            try Self.makeFlash(in: path, from: images.flash)
        }
        self.path = path
        self.descriptor = descriptor
    }

    private static func open(_ path: String, in above: String) throws(ProgramError) -> FileDescriptor {
        do throws(PrivateFileError) {
            _ = try PrivateDirectory(above)
            _ = try PrivateDirectory(path)
        } catch {
            throw ProgramError(
                .cannotCreate,
                "cannot keep the firmware's flash: \(error)",
                advice: error.advice ?? "name another state directory"
            )
        }
        let number = Glibc.open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard number >= 0 else {
            throw ProgramError(
                .cannotCreate,
                "cannot use \(path): \(SystemError.last)",
                advice: "name another state directory"
            )
        }
        return FileDescriptor(owning: number)
    }

    /// A socket in the directory.
    borrowing func place(of name: String, called title: String) -> EmulatorPlace {
        EmulatorPlace(own: "/proc/self/fd/\(descriptor.number)/\(name)", called: title)
    }

    /// Removes what an emulator has left behind that was killed.
    borrowing func removeSockets() {
        for name in [EmulatorCommand.Name.port, EmulatorCommand.Name.console] { unlinkat(descriptor.number, name, 0) }
    }

    /// A flash is there whole, or not at all: it is made under another name.
    private static func makeFlash(in path: String, from source: String) throws(ProgramError) {
        let part = "\(path)/\(EmulatorCommand.Name.flash).new"
        let packed = try read(source)
        let number: Int32
        do throws(PrivateFileError) {
            number = try PrivateFile.create(part)
        } catch {
            throw ProgramError(
                .cannotCreate,
                "cannot keep the firmware's flash: \(error)",
                advice: error.advice ?? "name another state directory"
            )
        }
        let file = FileDescriptor(owning: number)
        if source.hasSuffix(".bz2") {
            let problem = try BZip2.unpack(packed, limit: largestFlash) { piece throws(ProgramError) in
                try write(piece, to: file, part)
            }
            if let problem {
                unlink(part)
                throw ProgramError(
                    .inputOutput,
                    "cannot unpack the emulator's flash \(source): \(problem)",
                    advice: "install the SDK again with the pebble tool"
                )
            }
        } else {
            try write(packed, to: file, part)
        }
        guard fsync(file.number) == 0, rename(part, "\(path)/\(EmulatorCommand.Name.flash)") == 0 else {
            throw failure(part)
        }
    }

    private static func read(_ path: String) throws(ProgramError) -> [UInt8] {
        let number = Glibc.open(path, O_RDONLY | O_CLOEXEC)
        guard number >= 0 else { throw unreadable(path) }
        let file = FileDescriptor(owning: number)
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let count = buffer.withUnsafeMutableBytes { Glibc.read(file.number, $0.baseAddress, $0.count) }
            if count == 0 { return bytes }
            guard count > 0 else {
                if errno == EINTR { continue }
                throw unreadable(path)
            }
            bytes += buffer.prefix(count)
            guard bytes.count <= largestFlash else {
                throw ProgramError(
                    .inputOutput,
                    "\(path) is larger than any watch's flash",
                    advice: "name a directory with the images of an SDK"
                )
            }
        }
    }

    private static func write(
        _ bytes: [UInt8],
        to file: borrowing FileDescriptor,
        _ path: String
    ) throws(ProgramError) {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(file.number, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else {
                let error = failure(path)
                unlink(path)
                throw error
            }
            rest = rest.dropFirst(count)
        }
    }

    private static func unreadable(_ path: String) -> ProgramError {
        ProgramError(
            .unavailable,
            "cannot read \(path): \(SystemError.last)",
            advice: "check the file's permissions, or install the SDK again"
        )
    }

    private static func failure(_ path: String) -> ProgramError {
        ProgramError(.inputOutput, "cannot write \(path): \(SystemError.last)", advice: "make room on the disk")
    }
}
