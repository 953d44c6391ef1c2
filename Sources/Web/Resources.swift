import Glibc
import NIOCore

/// The files that come with the program: the page, and control's schema.
///
/// SwiftPM puts them beside the program, a package of Debian in `share`. `Bundle.module` is not asked, because it ends the
/// process where the build directory is gone.
enum Resources {
    /// The directory that has them; nil if none has.
    private static let directory: String? = {
        let program = [UInt8](unsafeUninitializedCapacity: Int(PATH_MAX)) { bytes, count in
            count = bytes.withMemoryRebound(to: CChar.self) { path in
                path.baseAddress.map { max(readlink("/proc/self/exe", $0, path.count), 0) } ?? 0
            }
        }
        let path = String(decoding: program, as: UTF8.self)
        let folder = path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
        let places = [folder + "/cairn_Web.resources", folder + "/../share/cairn-web"]
        return places.first { access($0 + "/Vocabulary", R_OK) == 0 }
    }()

    /// The bytes of a file.
    /// - Parameter path: within the directory.
    static func file(_ path: String) throws(WebError) -> ByteBuffer {
        guard let directory, let bytes = contents(of: directory + "/" + path) else {
            throw WebError(
                .installation,
                "\(path) is not beside the program, and not in share/cairn-web",
                advice: "install cairn-web whole, or run it where it was built"
            )
        }
        return bytes
    }

    /// The paths of all files in a folder of the directory and in those below it, within that folder.
    static func files(in folder: String) -> [String] {
        guard let directory else { return [] }
        var files: [String] = []
        var folders = [""]
        while let next = folders.popLast() {
            guard let stream = opendir(directory + "/" + folder + "/" + next) else { continue }
            defer { closedir(stream) }
            while let entry = readdir(stream) {
                let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                    pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
                }
                guard !name.hasPrefix(".") else { continue }
                var status = stat()
                guard stat("\(directory)/\(folder)/\(next)\(name)", &status) == 0 else { continue }
                if status.st_mode & S_IFMT == S_IFDIR {
                    folders.append("\(next)\(name)/")
                } else {
                    files.append(next + name)
                }
            }
        }
        return files
    }

    /// The bytes of a file anywhere; nil if it is none, or cannot be read.
    static func contents(of path: String) -> ByteBuffer? {
        guard let file = fopen(path, "re") else { return nil }
        defer { fclose(file) }
        var contents = ByteBuffer()
        while true {
            let piece = [UInt8](unsafeUninitializedCapacity: 64 * 1024) { bytes, count in
                count = fread(bytes.baseAddress, 1, bytes.count, file)
            }
            guard !piece.isEmpty else { break }
            contents.writeBytes(piece)
        }
        return ferror(file) == 0 ? contents : nil
    }
}
