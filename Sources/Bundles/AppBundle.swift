import ByteCoding
import FoundationEssentials
import PebbleProtocol
import PebbleWatch

/// An app as developers hand it out: a `.pbw` file.
public enum AppBundle {
    /// A folder of the bundle, and up to which SDK (exclusive) apps in it run on a watch that has a better folder.
    private struct Candidate {
        let folder: String
        var minorLimit: UInt8?
    }

    private struct AppInfo: Decodable {
        let uuid: String
    }

    private static let infoFile = "appinfo.json"

    /// Reads a bundle, and checks everything in it that this watch uses.
    /// - Parameter platform: what the watch runs; the bundle must have an app for it.
    package static func package(atPath path: String, for platform: AppPlatform) throws(BundleError) -> AppPackage {
        try package(in: ZipArchive(BundleFile.read(path)), for: platform)
    }

    /// Reads a bundle, and checks everything in it that this watch uses.
    package static func package(in archive: ZipArchive, for platform: AppPlatform) throws(BundleError) -> AppPackage {
        let (folder, manifest) = try manifest(in: archive, for: platform)
        guard manifest.type == "application" else {
            throw .wrongKind(found: manifest.type, wanted: "application")
        }
        guard let application = manifest.application else {
            throw .invalid(file: folder + BundleManifest.fileName, reason: "\"application\" is missing")
        }
        let binary = try archive.contents(of: application, in: folder)
        let header = try header(of: binary, file: folder + application.name)
        try checkInfo(in: archive, uuid: header.uuid)
        // The SDK puts a pack into every bundle, if only an empty one, and the watch waits for it for ever.
        guard let file = manifest.resources else {
            let manifest = folder + BundleManifest.fileName
            throw .missing("resources (\(manifest) names none), and the watch starts no app without them")
        }
        let resources = try archive.contents(of: file, in: folder)
        try check(resources: resources, file: folder + file.name, header: header)
        var worker: [UInt8]?
        if let file = manifest.worker {
            let bytes = try archive.contents(of: file, in: folder)
            _ = try self.header(of: bytes, file: folder + file.name)
            worker = bytes
        } else if header.flags.contains(.hasWorker) {
            throw .missing("background worker, although the app says that it has one")
        }
        return AppPackage(metadata: header.metadata, binary: binary, resources: resources, worker: worker)
    }

    // MARK: Which app of the bundle

    private static func manifest(
        in archive: ZipArchive,
        for platform: AppPlatform
    ) throws(BundleError) -> (folder: String, BundleManifest) {
        for candidate in candidates(for: platform) where archive.contains(candidate.folder + BundleManifest.fileName) {
            let manifest = try BundleManifest(in: archive, folder: candidate.folder)
            guard let limit = candidate.minorLimit, let application = manifest.application else {
                return (candidate.folder, manifest)
            }
            let file = candidate.folder + application.name
            let header = try header(of: archive.contents(of: file), file: file)
            // An older app in a folder for an older watch: this one runs it as that one did.
            if header.sdk.minor < limit { return (candidate.folder, manifest) }
        }
        let available = archive.names.compactMap { name -> String? in
            guard name.hasSuffix(BundleManifest.fileName) else { return nil }
            let folder = name.dropLast(BundleManifest.fileName.count)
            return folder.isEmpty ? "the first Pebble" : String(folder.dropLast())
        }
        guard !available.isEmpty else { throw .missing(BundleManifest.fileName) }
        throw .wrongPlatform(available: available, wanted: platform.rawValue)
    }

    private static func candidates(for platform: AppPlatform) -> [Candidate] {
        let root = Candidate(folder: "", minorLimit: 0x16)
        return switch platform {
        case .aplite: [Candidate(folder: "aplite/"), Candidate(folder: "")]
        case .basalt: [Candidate(folder: "basalt/"), root]
        case .chalk: [Candidate(folder: "chalk/")]
        case .diorite: [Candidate(folder: "diorite/"), Candidate(folder: "aplite/", minorLimit: 0x50), root]
        case .emery: [Candidate(folder: "emery/"), Candidate(folder: "basalt/", minorLimit: 0x54), root]
        case .flint:
            [
                Candidate(folder: "flint/"), Candidate(folder: "diorite/"),
                Candidate(folder: "aplite/", minorLimit: 0x50), Candidate(folder: ""),
            ]
        case .gabbro: [Candidate(folder: "gabbro/"), Candidate(folder: "chalk/", minorLimit: 0x54)]
        }
    }

    // MARK: Checks

    private static func header(of binary: [UInt8], file: String) throws(BundleError) -> ProcessHeader {
        let header: ProcessHeader
        do throws(ByteDecodingError) {
            header = try ProcessHeader(checking: binary[...])
        } catch {
            throw error.field == "process.crc" ? .wrongChecksum(file: file) : .invalid(file: file, reason: "\(error)")
        }
        let newest = SDKVersion.current
        guard header.sdk.major == newest.major, header.sdk.minor <= newest.minor else {
            throw .invalid(
                file: file,
                reason: "it was built with SDK \(header.sdk.major).\(header.sdk.minor); this watch runs "
                    + "\(newest.major).0 to \(newest.major).\(newest.minor)"
            )
        }
        return header
    }

    private static func check(resources: [UInt8], file: String, header: ProcessHeader) throws(BundleError) {
        let pack: ResourcePack
        do throws(ByteDecodingError) {
            pack = try ResourcePack(checking: resources[...])
        } catch {
            let isChecksum = error.field.hasSuffix(".crc")
            throw isChecksum ? .wrongChecksum(file: file) : .invalid(file: file, reason: "\(error)")
        }
        guard header.resourceCRC == 0 || header.resourceCRC == pack.contentCRC else {
            throw .invalid(file: file, reason: "these are not the resources that the app was built with")
        }
    }

    /// The description must be of this app, if there is one: the oldest bundles have none.
    private static func checkInfo(in archive: ZipArchive, uuid: PebbleUUID) throws(BundleError) {
        guard archive.contains(infoFile) else { return }
        let bytes = try archive.contents(of: infoFile)
        let info: AppInfo
        do {
            info = try JSONDecoder().decode(AppInfo.self, from: Data(bytes))
        } catch {
            throw .invalid(file: infoFile, reason: JSONProblem.description(of: error))
        }
        guard let described = PebbleUUID(info.uuid) else {
            throw .invalid(file: infoFile, reason: "\"\(info.uuid)\" is no UUID")
        }
        guard described == uuid else {
            throw .invalid(file: infoFile, reason: "it describes the app \(described), but the executable is \(uuid)")
        }
    }
}
