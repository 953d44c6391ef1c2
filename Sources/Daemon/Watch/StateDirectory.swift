import Glibc
import HCIRuntime

/// The directory where a watch keeps what it remembers: made when it is not there.
enum StateDirectory {
    /// Refuses a path that cannot become one, in words that say which part of it is in the way.
    static func check(_ path: String) throws(ProgramError) {
        var status = stat()
        var part = path
        while stat(part, &status) != 0 {
            guard errno == ENOENT || errno == ENOTDIR else {
                throw ProgramError(
                    errno == EACCES ? .notPermitted : .cannotCreate,
                    "cannot use the state directory \(path): \(String(cString: strerror(errno)))",
                    advice: "name a directory that you may write to"
                )
            }
            guard let slash = part.dropLast().lastIndex(of: "/") else {
                part = "."
                continue
            }
            part = slash == part.startIndex ? "/" : String(part[..<slash])
        }
        guard status.st_mode & S_IFMT == S_IFDIR else {
            throw ProgramError(
                .cannotCreate,
                "cannot use the state directory \(path): \(part) is a file",
                advice: "name a directory; it is made if it is not there"
            )
        }
        // A disk that is read-only is the store's to tell: it knows which file cannot be written.
        guard access(part, W_OK | X_OK) == 0 || errno == EROFS else {
            throw ProgramError(
                .notPermitted,
                "cannot use the state directory \(path): this user may not write in \(part)",
                advice: "name a directory that you may write to"
            )
        }
    }
}
