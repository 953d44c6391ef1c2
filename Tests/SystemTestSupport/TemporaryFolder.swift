import Glibc

/// A folder of its own for one test, gone with the value, and everything in it.
public final class TemporaryFolder {
    public let path: String

    public init() throws {
        var template = Array("/tmp/cairn-test-XXXXXX".utf8CString)
        path = try template.withUnsafeMutableBufferPointer { buffer in
            guard let name = buffer.baseAddress, let made = mkdtemp(name) else { throw TestSetupError("mkdtemp") }
            return String(cString: made)
        }
    }

    deinit { Self.remove(path) }

    /// Removes a folder and all that is in it.
    private static func remove(_ path: String) {
        if let folder = opendir(path) {
            while let entry = readdir(folder) {
                let name = withUnsafePointer(to: &entry.pointee.d_name) { name in
                    name.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                }
                let isFolder = entry.pointee.d_type == UInt8(DT_DIR)
                if isFolder, name != ".", name != ".." { remove("\(path)/\(name)") }
                if !isFolder { unlink("\(path)/\(name)") }
            }
            closedir(folder)
        }
        rmdir(path)
    }

    public func file(_ name: String) -> String { "\(path)/\(name)" }
}

/// The whole content of a file.
public func contents(of path: String) throws -> [UInt8] {
    guard let file = fopen(path, "r") else { throw TestSetupError("cannot open \(path)") }
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 4096)
    while true {
        let count = fread(&chunk, 1, chunk.count, file)
        guard count > 0 else { return bytes }
        bytes += chunk.prefix(count)
    }
}
