import HTTPTypes
import Hummingbird
import NIOCore

/// The files of the page. They are read once, so that a request names one of them or nothing.
struct PageFiles: Sendable {
    /// A file.
    struct File: Sendable {
        let type: String
        let bytes: ByteBuffer
    }

    /// Which type a file's ending says.
    private static let types = [
        "html": "text/html; charset=utf-8", "css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8",
        "svg": "image/svg+xml", "png": "image/png", "ico": "image/x-icon", "woff2": "font/woff2",
        "json": "application/json",
        "webmanifest": "application/manifest+json", "txt": "text/plain; charset=utf-8",
    ]

    private let files: [String: File]

    /// The page that was installed with the program; empty if there is none.
    init() {
        var files: [String: File] = [:]
        for path in Resources.files(in: "Page") {
            guard let type = path.split(separator: ".").last.flatMap({ Self.types[String($0)] }),
                let bytes = try? Resources.file("Page/" + path)
            else { continue }
            files["/" + path] = File(type: type, bytes: bytes)
        }
        files["/"] = files["/index.html"]
        self.files = files
    }

    /// The file at a path of the address; nil for none.
    subscript(path: String) -> File? { files[path] }

    /// The answer that gives a file.
    static func response(_ file: File) -> Response {
        Response(status: .ok, headers: [.contentType: file.type], body: ResponseBody(byteBuffer: file.bytes))
    }
}
