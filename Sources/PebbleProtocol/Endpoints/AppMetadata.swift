import ByteCoding

/// An installed app, as the phone writes it into the watch's app database (``BlobDBDatabase/apps``).
///
/// Layout, 126 bytes: UUID, flags and icon (UInt32 each, little-endian), app version, SDK version, face colour, face
/// template, name (96 bytes).
public struct AppMetadata: Equatable, Sendable {
    /// Names the app. The watch knows the record by it, whatever key the phone writes the record under.
    public var uuid: PebbleUUID
    /// What kind of app it is.
    public var flags: AppFlags
    /// A resource.
    package var iconResourceID: UInt32
    /// The app's own version.
    public var majorVersion: UInt8
    /// The minor number of the app's own version.
    public var minorVersion: UInt8
    /// What it was built with.
    public var sdk: SDKVersion
    /// `argb2222`.
    package var faceBackgroundColor: UInt8
    /// A built-in template; 0 for none.
    package var faceTemplateID: UInt8
    /// At most 96 bytes.
    public var name: String

    /// How many bytes it takes.
    package static let encodedLength = 126
    private static let nameWidth = 96

    /// Metadata by its fields.
    public init(
        uuid: PebbleUUID,
        flags: AppFlags,
        iconResourceID: UInt32 = 0,
        majorVersion: UInt8,
        minorVersion: UInt8,
        sdk: SDKVersion,
        faceBackgroundColor: UInt8 = 0,
        faceTemplateID: UInt8 = 0,
        name: String
    ) {
        self.uuid = uuid
        self.flags = flags
        self.iconResourceID = iconResourceID
        self.majorVersion = majorVersion
        self.minorVersion = minorVersion
        self.sdk = sdk
        self.faceBackgroundColor = faceBackgroundColor
        self.faceTemplateID = faceTemplateID
        self.name = name
    }

    /// Reads a record's value, which must have exactly this length.
    public init(_ value: ArraySlice<UInt8>) throws(ByteDecodingError) {
        guard value.count == Self.encodedLength else {
            throw ByteDecodingError("app_metadata", .invalidLength(value.count))
        }
        var reader = ByteReader(value)
        uuid = try PebbleUUID(reading: &reader, "app_metadata.uuid")
        flags = AppFlags(rawValue: try reader.readLittleEndian("app_metadata.flags"))
        iconResourceID = try reader.readLittleEndian("app_metadata.icon")
        majorVersion = try reader.readUInt8("app_metadata.app_version_major")
        minorVersion = try reader.readUInt8("app_metadata.app_version_minor")
        sdk = SDKVersion(
            major: try reader.readUInt8("app_metadata.sdk_version_major"),
            minor: try reader.readUInt8("app_metadata.sdk_version_minor")
        )
        faceBackgroundColor = try reader.readUInt8("app_metadata.app_face_bg_color")
        faceTemplateID = try reader.readUInt8("app_metadata.app_face_template_id")
        name = try reader.readFixedString(width: Self.nameWidth, "app_metadata.name")
    }

    /// Appends the value.
    public func encode(to bytes: inout [UInt8]) {
        uuid.encode(to: &bytes)
        bytes.appendLittleEndian(flags.rawValue)
        bytes.appendLittleEndian(iconResourceID)
        bytes += [majorVersion, minorVersion, sdk.major, sdk.minor, faceBackgroundColor, faceTemplateID]
        bytes.appendFixedString(name, width: Self.nameWidth)
    }
}

/// What kind of app an app is, in its metadata and its executable's header.
public struct AppFlags: OptionSet, Hashable, Sendable {
    public let rawValue: UInt32

    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// Bit 0: the app is a watchface. Without it, the app is one for the launcher's menu.
    public static let watchFace = AppFlags(rawValue: 1 << 0)
    /// Bit 1: no menu shows the app.
    package static let hidden = AppFlags(rawValue: 1 << 1)
    /// Bit 2: menus show the app only while its companion app on the phone talks to it.
    package static let shownOnlyWhenCommunicating = AppFlags(rawValue: 1 << 2)
    /// Bit 3: the app may have JavaScript that runs on the phone. Its AppMessages go over the Pebble app's session then.
    public static let allowsJavaScript = AppFlags(rawValue: 1 << 3)
    /// Bit 4: a background worker belongs to the app, and is uploaded with it as ``PutBytesObject/Kind/appWorker``.
    package static let hasWorker = AppFlags(rawValue: 1 << 4)
    /// Bit 5: the app is written in Rocky.js, which PebbleOS has given up.
    package static let rockyJS = AppFlags(rawValue: 1 << 5)
    /// Bit 10: the app is written for Moddable's JavaScript engine, XS.
    package static let moddable = AppFlags(rawValue: 1 << 10)
}
