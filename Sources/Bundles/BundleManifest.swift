import FoundationEssentials
import PebbleProtocol

/// The `manifest.json` of a bundle, and what a bundle and a watch have to agree on.
struct BundleManifest: Decodable {
    static let fileName = "manifest.json"

    /// A file of the bundle.
    struct File: Decodable {
        let name: String
        let size: Int
        /// ``LegacyChecksum``, as a number.
        let crc: UInt32
    }

    /// The firmware of a firmware bundle.
    struct Firmware: Decodable {
        let name: String
        let size: Int
        let crc: UInt32
        let type: String
        let timestamp: UInt32
        let hwrev: String?
        let commit: String?
        let versionTag: String?

        var file: File { File(name: name, size: size, crc: crc) }
    }

    let type: String
    let application: File?
    let resources: File?
    let worker: File?
    let firmware: Firmware?

    /// Reads the manifest in a folder of the archive.
    init(in archive: ZipArchive, folder: String) throws(BundleError) {
        let path = folder + Self.fileName
        let bytes = try archive.contents(of: path)
        do {
            self = try JSONDecoder().decode(Self.self, from: Data(bytes))
        } catch {
            throw .invalid(file: path, reason: JSONProblem.description(of: error))
        }
    }
}

extension ZipArchive {
    /// A file that a manifest names, with the size and the checksum that the manifest says.
    func contents(of file: BundleManifest.File, in folder: String) throws(BundleError) -> [UInt8] {
        let path = folder + file.name
        let bytes = try contents(of: path)
        guard bytes.count == file.size else {
            throw .invalid(file: path, reason: "it has \(bytes.count) bytes, but the manifest says \(file.size)")
        }
        guard LegacyChecksum.checksum(of: bytes) == file.crc else { throw .wrongChecksum(file: path) }
        return bytes
    }
}

/// What is wrong with some JSON, in words for the person who wrote it.
enum JSONProblem {
    static func description(of error: any Error) -> String {
        switch error {
        case DecodingError.keyNotFound(let key, let context):
            "\(path(context.codingPath))\"\(key.stringValue)\" is missing"
        case DecodingError.typeMismatch(_, let context), DecodingError.valueNotFound(_, let context):
            "\(path(context.codingPath))\(context.debugDescription)"
        case DecodingError.dataCorrupted(let context):
            "\(path(context.codingPath))\(context.debugDescription)"
        default: "\(error)"
        }
    }

    private static func path(_ keys: [any CodingKey]) -> String {
        keys.isEmpty ? "" : keys.map(\.stringValue).joined(separator: ".") + ": "
    }
}
