import Glibc

/// A directory in which only this user may make, change or replace files. It is held open, so that what is done in it is done
/// in the one that was checked.
public struct PrivateDirectory: ~Copyable {
    /// The directory, as it was named, without slashes at the end.
    public let path: String
    private let descriptor: Int32

    /// Opens a directory, making it, and those above it that are not there, for this user alone.
    ///
    /// One that is there is refused if it is a link, belongs to another user, or can be written to by others, or if anyone may
    /// replace one above it. Who may read its list of files does not matter.
    public init(_ path: String) throws(PrivateFileError) {
        let path = Self.withoutSlashes(path)
        try Self.make(path)
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else {
            let error = PrivateFileError.last(path)
            // A link to a directory is no directory itself: open(2), O_NOFOLLOW.
            guard error.cause == .system(ENOTDIR), (try? FileStatus(path, followsLink: false))?.kind == S_IFLNK else {
                throw error
            }
            throw PrivateFileError(path, .link)
        }
        do throws(PrivateFileError) {
            let status = try FileStatus(of: descriptor, path)
            try Self.check(status, path)
            try Self.checkAbove(path)
        } catch {
            close(descriptor)
            throw error
        }
        self.path = path
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }

    /// A file in the directory, by which it is known again.
    public struct File {
        fileprivate let name: String
        fileprivate let status: FileStatus
    }

    /// Sees to it that a file is there, empty if it was not, and this user's alone.
    public borrowing func makeFile(_ name: String) throws(PrivateFileError) -> File {
        guard let file = try secureFile(name, O_CREAT) else {
            throw PrivateFileError(path + "/" + name, .system(ENOENT))
        }
        return file
    }

    /// Sees to it that a file is this user's alone, if it is there.
    public borrowing func secureFile(_ name: String) throws(PrivateFileError) { _ = try secureFile(name, 0) }

    /// Fails if the file is not the one any more that was checked. Who opens files by their path asks this afterwards.
    public borrowing func confirm(_ file: File) throws(PrivateFileError) {
        let found = try FileStatus(path + "/" + file.name, followsLink: false)
        guard found.isSame(as: file.status) else { throw PrivateFileError(path + "/" + file.name, .replaced) }
    }

    private borrowing func secureFile(_ name: String, _ flags: Int32) throws(PrivateFileError) -> File? {
        let full = path + "/" + name
        let file = openat(
            descriptor,
            name,
            O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags,
            PrivateFile.mode
        )
        guard file >= 0 else {
            guard errno == ENOENT, flags & O_CREAT == 0 else { throw .last(full) }
            return nil
        }
        defer { close(file) }
        let status = try FileStatus(of: file, full)
        guard status.kind == S_IFREG else { throw PrivateFileError(full, .kind) }
        try PrivateFile.makePrivate(file, status, full)
        return File(name: name, status: status)
    }
}

extension PrivateDirectory {
    /// Fails if others could put something else in the place of what is made at a path, such as a socket or a link: then its
    /// directory belongs to another user, or others may write to it. In one like `/tmp`, where each may remove only what is
    /// theirs, they cannot.
    public static func checkPlace(of path: String) throws(PrivateFileError) {
        let directory = parent(of: withoutSlashes(path))
        let status = try FileStatus(directory, followsLink: true)
        // If it is no directory, the caller that makes something in it finds that out.
        guard status.kind == S_IFDIR, status.mode & S_ISVTX == 0 else { return }
        try check(status, directory)
        try checkAbove(directory)
    }

    /// Whether only root, and those who own the directories above it, can have made what is at a path.
    public static func isOutOfReachOfOthers(_ path: String) -> Bool {
        var directory = parent(of: withoutSlashes(path))
        while true {
            guard let status = try? FileStatus(directory, followsLink: true), status.mode & S_IWOTH == 0 else {
                return false
            }
            guard directory != "/", directory != "." else { return true }
            directory = parent(of: directory)
        }
    }

    private static func check(_ status: FileStatus, _ path: String) throws(PrivateFileError) {
        guard TrustedUsers.numbers().contains(status.owner) else { throw PrivateFileError(path, .owner(status.owner)) }
        guard status.mode & (S_IWGRP | S_IWOTH) == 0 else { throw PrivateFileError(path, .writable(status.mode)) }
    }

    /// A user who may rename a directory above another can put any directory in its place.
    private static func checkAbove(_ path: String) throws(PrivateFileError) {
        guard let resolved = realpath(path, nil) else { throw .last(path) }
        defer { free(resolved) }
        var directory = String(cString: resolved)
        while directory != "/" {
            directory = parent(of: directory)
            let status = try FileStatus(directory, followsLink: false)
            guard status.mode & S_IWOTH == 0 || status.mode & S_ISVTX != 0 else {
                throw PrivateFileError(directory, .writable(status.mode))
            }
        }
    }

    private static func make(_ path: String) throws(PrivateFileError) {
        guard mkdir(path, 0o700) != 0, errno != EEXIST else { return }
        let above = parent(of: path)
        guard errno == ENOENT, above != path else { throw .last(path) }
        try make(above)
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw .last(path) }
    }

    private static func parent(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        let above = withoutSlashes(String(path[..<slash]))
        return above.isEmpty ? "/" : above
    }

    private static func withoutSlashes(_ path: String) -> String {
        var path = path[...]
        while path.count > 1, path.last == "/" { path.removeLast() }
        return String(path)
    }
}
