import ByteCoding

/// Endpoint 0x0010: the phone asks what watch it talks to.
public enum WatchVersionMessage: EndpointMessage {
    /// `00`, phone to watch.
    case request
    /// `01` and the answer, watch to phone.
    case response(WatchVersion)

    public static var endpoint: Endpoint { .watchVersion }

    public init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        let command = try reader.readUInt8("watch_version.command")
        switch command {
        case 0x00: self = .request
        case 0x01: self = .response(try WatchVersion(reading: &reader))
        default: throw ByteDecodingError("watch_version.command", .invalidValue(UInt64(command)))
        }
    }

    public func encodePayload(to payload: inout [UInt8]) {
        switch self {
        case .request:
            payload.append(0x00)
        case .response(let version):
            payload.append(0x01)
            version.encode(to: &payload)
        }
    }
}

/// What a watch says of itself.
///
/// Layout after the command byte: running and recovery ``FirmwareMetadata``, boot loader (UInt32), board (9 bytes),
/// serial number (12), Bluetooth address (6, **least** significant first), resources CRC and timestamp (UInt32 each),
/// locale (6), language version (UInt16), capabilities (UInt64, **little**-endian) = 149 bytes; then, each generation
/// adding one: unfaithful flag, health insights version (UInt16), JavaScript bytecode version (UInt16). Everything
/// else is big-endian.
///
/// The running version tag must satisfy all clients at once: an optional-looking but required `v`, a major number of
/// one digit that is at least 3, then `.minor.patch`, then anything after a `-`.
public struct WatchVersion: Equatable, Sendable {
    /// The firmware that runs.
    public var running: FirmwareMetadata
    /// The recovery firmware in store; nil encodes as zeros.
    public var recovery: FirmwareMetadata?
    /// Seconds since 1970.
    package var bootLoaderVersion: UInt32
    /// The board's name, such as `snowy_s3`: at most 9 bytes.
    package var board: String
    /// 12 ASCII characters.
    public var serialNumber: String
    /// The address, as six bytes in the order in which it is printed.
    public var bluetoothAddress: BluetoothAddress
    /// Of the system resource pack.
    package var resourcesCRC: UInt32
    /// Of the system resource pack, in seconds since 1970.
    package var resourcesTimestamp: UInt32
    /// Such as `en_US`: at most 5 bytes.
    public var locale: String
    /// Of the language pack.
    public var languageVersion: UInt16
    /// What the watch can do.
    public var capabilities: Capabilities
    /// Whether the phone must write all databases again; libpebble3 takes an absent flag for true.
    package var isUnfaithful: Bool?
    /// Not sent without ``isUnfaithful``.
    package var healthInsightsVersion: UInt16?
    /// Not sent without ``healthInsightsVersion``.
    package var javaScriptBytecodeVersion: UInt16?

    /// A Bluetooth device address in printed order.
    public struct BluetoothAddress: Hashable, Sendable, CustomStringConvertible {
        /// The 48 bits as one number: 0xC01122334455 is C0:11:22:33:44:55.
        public let rawValue: UInt64

        fileprivate static let encodedLength = 6

        /// The low 48 bits of a number.
        public init(rawValue: UInt64) { self.rawValue = rawValue & 0xFFFF_FFFF_FFFF }

        public var description: String {
            (0..<UInt64(Self.encodedLength)).reversed()
                .map { [UInt8(truncatingIfNeeded: rawValue >> ($0 * 8))].hexadecimal.uppercased() }
                .joined(separator: ":")
        }
    }

    private enum Width {
        static let board = 9
        static let serialNumber = 12
        static let locale = 6
    }

    /// A version by its fields; the last three say which generation of the response this is.
    package init(
        running: FirmwareMetadata,
        recovery: FirmwareMetadata?,
        bootLoaderVersion: UInt32,
        board: String,
        serialNumber: String,
        bluetoothAddress: BluetoothAddress,
        resourcesCRC: UInt32,
        resourcesTimestamp: UInt32,
        locale: String,
        languageVersion: UInt16,
        capabilities: Capabilities,
        isUnfaithful: Bool?,
        healthInsightsVersion: UInt16?,
        javaScriptBytecodeVersion: UInt16?
    ) {
        self.running = running
        self.recovery = recovery
        self.bootLoaderVersion = bootLoaderVersion
        self.board = board
        self.serialNumber = serialNumber
        self.bluetoothAddress = bluetoothAddress
        self.resourcesCRC = resourcesCRC
        self.resourcesTimestamp = resourcesTimestamp
        self.locale = locale
        self.languageVersion = languageVersion
        self.capabilities = capabilities
        self.isUnfaithful = isUnfaithful
        self.healthInsightsVersion = isUnfaithful == nil ? nil : healthInsightsVersion
        self.javaScriptBytecodeVersion = self.healthInsightsVersion == nil ? nil : javaScriptBytecodeVersion
    }

    init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        running = try FirmwareMetadata(reading: &reader)
        let recoveryBlock = try reader.readBytes(FirmwareMetadata.encodedLength, "watch_version.recovery")
        if recoveryBlock.contains(where: { $0 != 0 }) {
            var block = ByteReader(recoveryBlock)
            recovery = try FirmwareMetadata(reading: &block)
        }
        bootLoaderVersion = try reader.readBigEndian("watch_version.boot_loader_version")
        board = try reader.readFixedString(width: Width.board, "watch_version.board")
        serialNumber = try reader.readFixedString(width: Width.serialNumber, "watch_version.serial_number")
        let address = try reader.readBytes(BluetoothAddress.encodedLength, "watch_version.bluetooth_address")
        bluetoothAddress = BluetoothAddress(rawValue: address.reversed().reduce(0) { $0 << 8 | UInt64($1) })
        resourcesCRC = try reader.readBigEndian("watch_version.resources_crc")
        resourcesTimestamp = try reader.readBigEndian("watch_version.resources_timestamp")
        locale = try reader.readFixedString(width: Width.locale, "watch_version.locale")
        languageVersion = try reader.readBigEndian("watch_version.language_version")
        capabilities = Capabilities(rawValue: try reader.readLittleEndian("watch_version.capabilities"))
        guard let flag = try? reader.readUInt8("watch_version.is_unfaithful") else { return }
        isUnfaithful = flag != 0
        guard let version: UInt16 = try? reader.readBigEndian("watch_version.health_insights_version") else { return }
        healthInsightsVersion = version
        javaScriptBytecodeVersion = try? reader.readBigEndian("watch_version.js_bytecode_version")
    }

    func encode(to payload: inout [UInt8]) {
        running.encode(to: &payload)
        if let recovery {
            recovery.encode(to: &payload)
        } else {
            payload += repeatElement(0, count: FirmwareMetadata.encodedLength)
        }
        payload.appendBigEndian(bootLoaderVersion)
        payload.appendFixedString(board, width: Width.board)
        payload.appendFixedString(serialNumber, width: Width.serialNumber)
        for shift in stride(from: UInt64(0), to: UInt64(BluetoothAddress.encodedLength * 8), by: 8) {
            payload.append(UInt8(truncatingIfNeeded: bluetoothAddress.rawValue >> shift))
        }
        payload.appendBigEndian(resourcesCRC)
        payload.appendBigEndian(resourcesTimestamp)
        // A client that expects a NUL must find one.
        payload.appendFixedString(locale, width: Width.locale - 1)
        payload.append(0)
        payload.appendBigEndian(languageVersion)
        payload.appendLittleEndian(capabilities.rawValue)
        guard let isUnfaithful else { return }
        payload.append(isUnfaithful ? 1 : 0)
        guard let healthInsightsVersion else { return }
        payload.appendBigEndian(healthInsightsVersion)
        if let javaScriptBytecodeVersion { payload.appendBigEndian(javaScriptBytecodeVersion) }
    }
}
