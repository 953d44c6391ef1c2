import ByteCoding

/// What a firmware image says of itself.
///
/// Layout, 47 bytes: timestamp (UInt32, big-endian), version tag (32 bytes), short Git hash (8 bytes), flags,
/// hardware platform, metadata version.
public struct FirmwareMetadata: Equatable, Sendable {
    /// When it was built, in seconds since 1970.
    public var timestamp: UInt32
    /// Such as `v4.9.100`; companions parse it, see ``WatchVersion``.
    public var versionTag: String
    /// At most seven characters.
    public var shortGitHash: String
    /// What kind of image this is.
    package var flags: Flags
    /// The board that it is for.
    public var hardwarePlatform: HardwarePlatform
    /// The version of this layout.
    package var metadataVersion: UInt8

    /// What kind of image this is.
    package struct Flags: OptionSet, Hashable, Sendable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Bit 0: the image is recovery firmware.
        package static let recovery = Flags(rawValue: 1 << 0)
        /// Bit 1: the image is firmware for Bluetooth LE.
        package static let bleFirmware = Flags(rawValue: 1 << 1)
        /// Bit 2: the board keeps two images of its firmware, in slots 0 and 1.
        package static let dualSlot = Flags(rawValue: 1 << 2)
        /// Bit 3: the image is built for slot 0. Without it, an image with ``dualSlot`` is for slot 1.
        package static let slot0 = Flags(rawValue: 1 << 3)
    }

    /// How many bytes it takes.
    package static let encodedLength = 47
    /// The only version of the layout.
    package static let currentMetadataVersion: UInt8 = 1

    private enum Width {
        static let versionTag = 32
        static let shortGitHash = 8
    }

    /// Metadata by its fields.
    package init(
        timestamp: UInt32,
        versionTag: String,
        shortGitHash: String,
        flags: Flags,
        hardwarePlatform: HardwarePlatform,
        metadataVersion: UInt8 = currentMetadataVersion
    ) {
        self.timestamp = timestamp
        self.versionTag = versionTag
        self.shortGitHash = shortGitHash
        self.flags = flags
        self.hardwarePlatform = hardwarePlatform
        self.metadataVersion = metadataVersion
    }

    init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        timestamp = try reader.readBigEndian("firmware_metadata.timestamp")
        versionTag = try reader.readFixedString(width: Width.versionTag, "firmware_metadata.version_tag")
        shortGitHash = try reader.readFixedString(width: Width.shortGitHash, "firmware_metadata.short_git_hash")
        flags = Flags(rawValue: try reader.readUInt8("firmware_metadata.flags"))
        hardwarePlatform = HardwarePlatform(rawValue: try reader.readUInt8("firmware_metadata.hw_platform"))
        metadataVersion = try reader.readUInt8("firmware_metadata.version")
    }

    func encode(to payload: inout [UInt8]) {
        payload.appendBigEndian(timestamp)
        payload.appendFixedString(Self.terminated(versionTag, width: Width.versionTag), width: Width.versionTag)
        payload.appendFixedString(Self.terminated(shortGitHash, width: Width.shortGitHash), width: Width.shortGitHash)
        payload += [flags.rawValue, hardwarePlatform.rawValue, metadataVersion]
    }

    /// The firmware blanks a string that would leave no room for its NUL.
    private static func terminated(_ text: String, width: Int) -> String {
        text.utf8.count < width ? text : ""
    }
}
