import BluetoothHCI
import BluetoothHost
import ByteCoding
import Glibc
import HCIRuntime
import LinuxBluetooth
import PrivateFiles

/// Where a phone keeps who it is and its bonds: one small file, replaced whole, that only this user may read.
///
/// The file has a line each: `cairn-phone 1`; `address` and the phone's static random address; `bond` and the stored form of a
/// `Bond`, in hexadecimal, for each watch. It has keys in it, and no error quotes what is in it.
final class PhoneStore {
    private static let fileName = "phone.bonds"
    private static let lockName = "phone.lock"
    private static let heading = "cairn-phone 1"
    /// The largest file that is read, in bytes: more than all bonds take, with the longest names.
    private static let sizeLimit = 64 * 1024

    /// The phone's address; nil in a directory that has not been used.
    private(set) var address: DeviceAddress?
    /// The watches that it is paired with.
    private(set) var bonds: [Bond] = []
    private let directory: String
    private let lock: FileDescriptor

    /// Opens a directory, which is made if it is not there, and reads what it has.
    /// - Throws: also if another phone runs with it.
    init(directory path: String) throws(ProgramError) {
        try StateDirectory.check(path)
        do throws(PrivateFileError) {
            let directory = try PrivateDirectory(path)
            self.directory = directory.path
            _ = try directory.makeFile(Self.lockName)
            try directory.secureFile(Self.fileName)
        } catch {
            throw ProgramError(
                .cannotCreate,
                "the phone's state is not safe from others: \(error)",
                advice: "\(error.advice ?? "name a directory that you may write to"), or name another directory"
            )
        }
        let number = open(path + "/" + Self.lockName, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        guard number >= 0 else { throw Self.failure(.cannotCreate, path + "/" + Self.lockName, .last) }
        lock = FileDescriptor(owning: number)
        guard flock(number, LOCK_EX | LOCK_NB) == 0 else {
            throw ProgramError(
                .cannotCreate,
                "a phone runs already with the state directory \(path)",
                advice: "stop that one, or name a directory that no other phone uses"
            )
        }
        try load()
    }

    private func load() throws(ProgramError) {
        let path = directory + "/" + Self.fileName
        guard access(path, F_OK) == 0 else { return }
        let bytes: [UInt8]
        do throws(SystemError) {
            bytes = try FileReading.bytes(of: path, limit: Self.sizeLimit)
        } catch {
            throw Self.failure(.inputOutput, path, error)
        }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: true)
        guard lines.first == Self.heading[...] else { throw Self.damaged(path, line: 1) }
        for (index, line) in lines.enumerated().dropFirst() {
            let words = line.split(separator: " ")
            guard words.count == 2 else { throw Self.damaged(path, line: index + 1) }
            switch words[0] {
            case "address":
                guard let address = DeviceAddress(words[1]) else { throw Self.damaged(path, line: index + 1) }
                self.address = address
            case "bond":
                guard let bond = Self.bond(words[1]) else { throw Self.damaged(path, line: index + 1) }
                bonds.append(bond)
            default: throw Self.damaged(path, line: index + 1)
            }
        }
    }

    private static func bond(_ text: Substring) -> Bond? {
        guard let bytes = [UInt8](hexadecimal: text) else { return nil }
        var reader = ByteReader(bytes)
        guard let bond = try? Bond(reading: &reader), reader.isEmpty else { return nil }
        return bond
    }

    /// Replaces what is kept: after a power cut it is all there, the old or the new.
    func save(address: DeviceAddress, bonds: [Bond]) throws(ProgramError) {
        var text = "\(Self.heading)\naddress \(address)\n"
        for bond in bonds {
            var bytes: [UInt8] = []
            bond.encode(to: &bytes)
            text += "bond \(bytes.hexadecimal)\n"
        }
        let path = directory + "/" + Self.fileName
        let fresh = path + ".new"
        // What a process left behind that was killed in the middle.
        unlink(fresh)
        let descriptor: Int32
        do throws(PrivateFileError) {
            descriptor = try PrivateFile.create(fresh)
        } catch {
            throw Self.failure(.cannotCreate, fresh, SystemError(code: error.code))
        }
        let file = FileDescriptor(owning: descriptor)
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { write(file.number, $0.baseAddress, $0.count) }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno != EINTR {
                throw Self.failure(.inputOutput, fresh, .last)
            }
        }
        guard fsync(file.number) == 0, rename(fresh, path) == 0 else { throw Self.failure(.inputOutput, path, .last) }
        // The new name is on the disk when its directory is.
        let place = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard place >= 0 else { throw Self.failure(.inputOutput, directory, .last) }
        defer { close(place) }
        guard fsync(place) == 0 else { throw Self.failure(.inputOutput, directory, .last) }
        self.address = address
        self.bonds = bonds
    }

    private static func failure(_ status: ExitStatus, _ path: String, _ error: SystemError) -> ProgramError {
        ProgramError(
            status,
            "cannot keep the phone's state at \(path): \(error)",
            advice: "name a directory that you may write to and that has room"
        )
    }

    private static func damaged(_ path: String, line: Int) -> ProgramError {
        ProgramError(
            .inputOutput,
            "cannot read the phone's state: \(path), line \(line), is none of Cairn's",
            advice: "move the file away: the phone is then a new one, and has to pair again"
        )
    }
}

/// Reading a whole file.
enum FileReading {
    /// The bytes of a regular file.
    /// - Throws: EISDIR or EINVAL for what is no file, EFBIG for more than the limit.
    static func bytes(of path: String, limit: Int) throws(SystemError) -> [UInt8] {
        // Opening a pipe that nothing writes to would wait for ever.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
        guard descriptor >= 0 else { throw .last }
        let file = FileDescriptor(owning: descriptor)
        var status = stat()
        guard fstat(file.number, &status) == 0 else { throw .last }
        guard status.st_mode & S_IFMT == S_IFREG else {
            throw SystemError(code: status.st_mode & S_IFMT == S_IFDIR ? EISDIR : EINVAL)
        }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            // One byte more than allowed shows that there is more.
            let wanted = min(buffer.count, limit + 1 - bytes.count)
            let count = buffer.withUnsafeMutableBytes { read(file.number, $0.baseAddress, wanted) }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .last }
            guard count > 0 else { return bytes }
            bytes += buffer.prefix(count)
            guard bytes.count <= limit else { throw SystemError(code: EFBIG) }
        }
    }
}
