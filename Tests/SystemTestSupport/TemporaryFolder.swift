import Glibc

/// A folder of its own for one test, gone with the value.
public final class TemporaryFolder {
    public let path: String
    private var names: [String] = []

    public init() throws {
        var template = Array("/tmp/cairn-test-XXXXXX".utf8CString)
        path = try template.withUnsafeMutableBufferPointer { buffer in
            guard let name = buffer.baseAddress, let made = mkdtemp(name) else { throw TestSetupError("mkdtemp") }
            return String(cString: made)
        }
    }

    deinit {
        for name in names { unlink("\(path)/\(name)") }
        rmdir(path)
    }

    public func file(_ name: String) -> String {
        names.append(name)
        return "\(path)/\(name)"
    }
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
