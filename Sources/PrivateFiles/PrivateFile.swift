import Glibc

/// A file that only this user may read or change, such as one with keys.
public enum PrivateFile {
    /// Read and written by the owner.
    public static let mode: mode_t = 0o600

    /// Opens a file for writing, made if it is not there, emptied if it is.
    ///
    /// One that is there must be a file of this user's with no other name; it gets the mode of a private one before anything is
    /// written. A pipe of this user's may stand in its place, and is opened as it is; so may a device.
    /// - Parameter forReading: whether it can be read, too, by this descriptor.
    /// - Returns: the open descriptor, which is the caller's.
    public static func create(_ path: String, forReading: Bool = false) throws(PrivateFileError) -> Int32 {
        let access = forReading ? O_RDWR : O_WRONLY
        let descriptor = open(path, access | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY, mode)
        guard descriptor >= 0 else { throw .last(path) }
        do throws(PrivateFileError) {
            let status = try FileStatus(of: descriptor, path)
            guard status.kind != S_IFCHR else { return descriptor }
            try makePrivate(descriptor, status, path)
            guard status.kind != S_IFREG || ftruncate(descriptor, 0) == 0 else { throw .last(path) }
            return descriptor
        } catch {
            close(descriptor)
            throw error
        }
    }

    /// Whether there is a named pipe of this user's at a path, not behind a link.
    /// - Throws: if there is one of another user's.
    public static func isPipe(_ path: String) throws(PrivateFileError) -> Bool {
        guard let status = try? FileStatus(path, followsLink: false), status.kind == S_IFIFO else { return false }
        guard TrustedUsers.numbers().contains(status.owner) else { throw PrivateFileError(path, .owner(status.owner)) }
        return true
    }

    /// Opens a named pipe for writing, without waiting for its reader. It gets the mode of a private file.
    /// - Returns: the open descriptor, which is the caller's.
    /// - Throws: ENXIO if nothing reads; also if another user's pipe, or something else, has taken the pipe's place.
    public static func openPipe(_ path: String) throws(PrivateFileError) -> Int32 {
        let descriptor = open(path, O_WRONLY | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY)
        guard descriptor >= 0 else { throw .last(path) }
        do throws(PrivateFileError) {
            let status = try FileStatus(of: descriptor, path)
            guard status.kind == S_IFIFO else { throw PrivateFileError(path, .kind) }
            try makePrivate(descriptor, status, path)
            return descriptor
        } catch {
            close(descriptor)
            throw error
        }
    }

    /// Sees to it that an open file or pipe is this user's alone.
    static func makePrivate(_ descriptor: Int32, _ status: FileStatus, _ path: String) throws(PrivateFileError) {
        guard status.kind == S_IFREG || status.kind == S_IFIFO else { throw PrivateFileError(path, .kind) }
        guard TrustedUsers.numbers().contains(status.owner) else { throw PrivateFileError(path, .owner(status.owner)) }
        guard status.kind == S_IFIFO || status.nameCount == 1 else { throw PrivateFileError(path, .manyNames) }
        guard status.mode == mode || fchmod(descriptor, mode) == 0 else { throw .last(path) }
    }
}

/// What the kernel says of a file.
struct FileStatus {
    private let status: stat

    init(of descriptor: Int32, _ path: String) throws(PrivateFileError) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .last(path) }
        self.status = status
    }

    /// - Parameter followsLink: whether what a link leads to is looked at, or the link itself.
    init(_ path: String, followsLink: Bool) throws(PrivateFileError) {
        var status = stat()
        guard (followsLink ? stat(path, &status) : lstat(path, &status)) == 0 else { throw .last(path) }
        self.status = status
    }

    var kind: mode_t { status.st_mode & S_IFMT }
    var mode: mode_t { status.st_mode & 0o7777 }
    var owner: uid_t { status.st_uid }
    var nameCount: UInt { UInt(status.st_nlink) }

    /// Whether both are the same file.
    func isSame(as other: FileStatus) -> Bool {
        status.st_dev == other.status.st_dev && status.st_ino == other.status.st_ino
    }
}
