import PebbleProtocol

/// A firmware as it is handed out: a `.pbz` file.
public struct FirmwareBundle: Sendable, Equatable {
    /// Whether it replaces the normal firmware or the recovery firmware.
    public enum Kind: String, Sendable {
        case normal, recovery
    }

    public let kind: Kind
    /// Such as `v4.9.101`, if the bundle says.
    public let versionTag: String?
    /// The board that it is for, if the bundle says.
    public let hardwareRevision: String?
    /// Seconds since 1970.
    public let timestamp: UInt32
    public let image: [UInt8]
    /// The system's resource pack; recovery firmware has none.
    public let resources: [UInt8]?

    /// Reads a bundle, and checks what it says of its files.
    public init(atPath path: String) throws(BundleError) { try self.init(in: ZipArchive(BundleFile.read(path))) }

    /// Reads a bundle, and checks what it says of its files. Of one for two slots, it is the first.
    public init(in archive: ZipArchive) throws(BundleError) {
        let folders = ["", "slot0/"]
        guard let folder = folders.first(where: { archive.contains($0 + BundleManifest.fileName) }) else {
            throw .missing(BundleManifest.fileName)
        }
        let manifest = try BundleManifest(in: archive, folder: folder)
        guard manifest.type == "firmware" else { throw .wrongKind(found: manifest.type, wanted: "firmware") }
        guard let firmware = manifest.firmware else {
            throw .invalid(file: folder + BundleManifest.fileName, reason: "\"firmware\" is missing")
        }
        guard let kind = Kind(rawValue: firmware.type) else {
            throw .invalid(
                file: folder + BundleManifest.fileName,
                reason: "firmware.type: \"\(firmware.type)\" is unknown"
            )
        }
        self.kind = kind
        versionTag = firmware.versionTag
        hardwareRevision = firmware.hwrev
        timestamp = firmware.timestamp
        image = try archive.contents(of: firmware.file, in: folder)
        if let file = manifest.resources {
            resources = try archive.contents(of: file, in: folder)
        } else {
            resources = nil
        }
    }
}
