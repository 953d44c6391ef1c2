import BluetoothHCI
import PebbleProtocol

/// What kind of watch this one says it is: everything a phone uses to tell one Pebble from another.
///
/// The values stand in the scan response, in the Device Information service and in the Pebble Protocol's version
/// response, so they are kept in one place.
public struct WatchIdentity: Sendable, Equatable {
    /// A firmware version as `v4.9.100` or `v4.9.100-suffix`, the only forms that every client parses.
    public struct FirmwareVersion: Sendable, Equatable, CustomStringConvertible {
        /// The first number, 4 in `v4.9.100`.
        public let major: UInt8
        /// The second number, 9 in `v4.9.100`.
        public let minor: UInt8
        /// The third number, 100 in `v4.9.100`.
        public let patch: UInt8
        /// What follows the hyphen, if anything.
        public let suffix: String?

        /// Names a version by its parts.
        public init(major: UInt8, minor: UInt8, patch: UInt8, suffix: String? = nil) {
            self.major = major
            self.minor = minor
            self.patch = patch
            self.suffix = suffix
        }

        public var description: String { "v\(major).\(minor).\(patch)" + (suffix.map { "-\($0)" } ?? "") }
    }

    /// The Bluetooth SIG company in the scan response.
    public struct Company: Sendable, Equatable {
        /// The SIG's number.
        public let identifier: CompanyIdentifier
        /// The name in the Device Information service.
        public let name: String

        /// Names a company.
        public init(identifier: CompanyIdentifier, name: String) {
            self.identifier = identifier
            self.name = name
        }

        /// Who makes the watches of 2025 and later.
        public static let core = Company(identifier: CompanyIdentifier(rawValue: 0x0EEA), name: "Core Devices LLC")
        /// Who made the originals.
        public static let pebble = Company(identifier: CompanyIdentifier(rawValue: 0x0154), name: "Pebble Technology")
    }

    /// The name on the air, in GAP and in the settings of phones: at most 19 bytes of UTF-8.
    public var name: String
    /// Exactly twelve ASCII letters and digits.
    public var serialNumber: String
    /// The identity address, of which the Pebble Protocol reports the octets.
    public var address: LEAddress
    /// The company whose number is in the scan response and whose name is in Device Information.
    public var company: Company
    /// The board by its number, as in the scan response and in firmware metadata. It decides what the screen is like.
    public var hardware: HardwarePlatform
    /// The board's name, at most nine ASCII characters.
    public var boardName: String
    /// The case's colour, as manufacturing numbers it. It must go with the hardware: companions choose the pairing path by it.
    package var color: WatchColor
    /// The normal firmware's version, as in the scan response, in Device Information and in the version response.
    public var firmware: FirmwareVersion
    /// The recovery firmware's version, as in the version response.
    public var recoveryFirmware: FirmwareVersion
    /// When the firmware was built, seconds since 1970.
    public var firmwareTimestamp: UInt32
    /// Short hash of the source that the firmware was built from, at most seven characters.
    public var firmwareRevision: String

    /// Longest name that a Pebble can be given, in bytes of UTF-8.
    public static let maximumNameLength = 19
    /// Length of every serial number, in bytes.
    public static let serialNumberLength = 12

    /// What the advertisement says the watch can be found by.
    public var flags: AdvertisingFlags

    /// A watch whose name and serial number follow from its address, as on the real one, and the rest from its model.
    public init(address: LEAddress, personality: Personality = .universal) {
        self.address = address
        name = Self.name(at: address, prefix: personality.namePrefix)
        serialNumber = Self.serialNumber(at: address)
        company = personality.company
        hardware = personality.hardware
        boardName = personality.boardName
        color = personality.color
        firmware = personality.firmware
        recoveryFirmware = personality.recoveryFirmware
        flags = personality.flags
        firmwareTimestamp = 1_735_689_600
        firmwareRevision = "cairn"
    }

    /// The name that follows from an address.
    static func name(at address: LEAddress, prefix: String) -> String { "\(prefix) \(nameSuffix(of: address.address))" }

    /// The serial number that follows from an address.
    static func serialNumber(at address: LEAddress) -> String { "CAIRN000\(nameSuffix(of: address.address))" }

    /// The four hexadecimal digits at the end of a watch's name: the last two octets of its address as printed.
    public static func nameSuffix(of address: DeviceAddress) -> String {
        [address.octet(1), address.octet(0)].hexadecimal.uppercased()
    }

    /// Why an identity cannot be used; the text is for the person who configured it.
    public enum Invalid: Error, Equatable, Sendable, CustomStringConvertible {
        /// The name has this many bytes of UTF-8; 1 to ``WatchIdentity/maximumNameLength`` are allowed.
        case nameLength(Int)
        /// The name begins as those of dual-mode watches do, `Pebble-LE ` or `Pebble Time LE `.
        case nameReserved(String)
        /// The serial number is not twelve ASCII letters or digits.
        case serialNumber(String)

        public var description: String {
            switch self {
            case .nameLength(let length):
                "the name has \(length) bytes of UTF-8; a Pebble's has 1 to \(WatchIdentity.maximumNameLength)"
            case .nameReserved(let name):
                "the name \"\(name)\" looks like the low-energy half of a dual-mode watch, which companions refuse to pair "
                    + "with; use \"Pebble XXXX\""
            case .serialNumber(let serial):
                "the serial number \"\(serial)\" must be exactly \(WatchIdentity.serialNumberLength) ASCII letters or digits"
            }
        }
    }

    /// Refuses what no companion would accept.
    public func validate() throws(Invalid) {
        guard (1...Self.maximumNameLength).contains(name.utf8.count) else { throw .nameLength(name.utf8.count) }
        for prefix in ["Pebble-LE ", "Pebble Time LE "] where name.hasPrefix(prefix) { throw .nameReserved(name) }
        let serialIsPlain = serialNumber.utf8.allSatisfy { byte in
            (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
        }
        guard serialNumber.utf8.count == Self.serialNumberLength, serialIsPlain else {
            throw .serialNumber(serialNumber)
        }
    }
}
