import Glibc

/// A file on the disk, read whole.
package enum BundleFile {
    /// Larger than every bundle there is, in bytes.
    package static let sizeLimit = 16 * 1024 * 1024

    /// Reads a file.
    /// - Parameter limit: how many bytes it may have.
    package static func read(_ path: String, limit: Int = sizeLimit) throws(BundleError) -> [UInt8] {
        // Opening a pipe that nothing writes to would wait for ever; read like this, it is empty.
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else { throw unreadable(errno) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            // One byte more than allowed shows that there is more, even if the file's size says otherwise.
            let count = Glibc.read(descriptor, &buffer, min(buffer.count, limit + 1 - bytes.count))
            if count < 0, errno == EINTR { continue }
            if count < 0, errno == EAGAIN {
                var request = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
                _ = poll(&request, 1, -1)
                continue
            }
            guard count >= 0 else { throw unreadable(errno) }
            guard count > 0 else { return bytes }
            bytes += buffer.prefix(count)
            guard bytes.count <= limit else {
                throw .tooLarge(what: "the file", byteCount: UInt64(bytes.count), limit: limit)
            }
        }
    }

    private static func unreadable(_ code: Int32) -> BundleError {
        let reason =
            switch code {
            case ENOENT, ENOTDIR: "there is no such file"
            case EISDIR: "it is a directory"
            case EACCES: "this user may not read it"
            default: String(cString: strerror(code))
            }
        return .unreadable(reason: "it cannot be read: \(reason)")
    }
}
