import BluetoothHCI
import BluetoothHost
import PebbleProtocol

/// Which model a watch is, as far as phones can tell: everything in which the generations of Pebbles differ, as data.
///
/// A client that knows only one generation finds that generation's services, values and habits. ``universal`` is no
/// model: it is the superset that every client accepts. Each kind of app has a model that runs it.
public struct Personality: Sendable {
    /// What the watch hosts itself of PPoGATT.
    public enum ReversedTransport: Sendable, Equatable {
        /// Watches of Pebble 2: the watch begins, and any link may subscribe.
        case v1
        /// Watches of 2025: the phone begins, on an encrypted link.
        case v2
    }

    /// What the Generic Attribute service has besides Service Changed.
    public enum Caching: Sendable, Equatable {
        /// Nothing: a phone that keeps what it found relies on Service Changed alone.
        case none
        /// The features of server and client.
        case features
        /// The client's features and the Database Hash, by which a phone sees in one round trip that nothing changed.
        case databaseHash
    }

    /// What a watch with one session does for a second companion while another has it. Only a watch whose brain is an emulated
    /// firmware has one.
    public enum Occupancy: Sendable, Equatable {
        /// The second session ends when it opens, and its link with it.
        case endsSession
        /// The second link ends when it is there: no watch of 2025 has two.
        case endsLink
        /// The second link stays, and the watch opens no PPoGATT on it until the session is free.
        case opensLater
    }

    /// What people call it.
    public private(set) var name: String
    /// What else people call it: the SDK's name for the kind of apps that it runs, if that is not its name.
    public private(set) var otherNames: [String] = []
    /// The personality whose services and habits it has: its own, unless it differs in who it is only.
    public private(set) var generation: String

    // MARK: Who it is

    /// What stands before the four digits in its name.
    public private(set) var namePrefix: String
    /// The company whose number is in the scan response and whose name is in Device Information.
    public private(set) var company: WatchIdentity.Company
    /// The board by its number, as in the scan response and in firmware metadata.
    public private(set) var hardware: HardwarePlatform
    /// The board by its name, as in the version response and as Device Information's Model Number.
    public private(set) var boardName: String
    /// The case's colour, as in the scan response.
    package private(set) var color: WatchColor
    /// The firmware that the watch says it runs, until it is updated.
    public private(set) var firmware: WatchIdentity.FirmwareVersion
    /// The firmware that the watch says it recovers with, until that is updated.
    public let recoveryFirmware: WatchIdentity.FirmwareVersion

    // MARK: How it is found

    /// The Flags in its advertisement.
    public let flags: AdvertisingFlags
    /// How it advertises unless it is told otherwise.
    public let advertising: AdvertisingProfile

    // MARK: Its database

    /// GAP's Appearance.
    public let appearance: UInt16
    /// GAP's Peripheral Preferred Connection Parameters, if it has any.
    public let preferredParameters: [UInt8]?
    /// What helps phones to keep the database that they found, besides Service Changed.
    public let caching: Caching
    /// The characteristics of Device Information in their order.
    public let deviceInformation: [BluetoothUUID]
    /// Whether the pairing service has GATT MTU.
    public let hasPairingMTU: Bool
    /// Whether the pairing service has Connection Parameters.
    public let hasConnectionParameters: Bool
    /// Whether a phone that subscribes within the pairing service is told the value in front of the response.
    public let notifiesSubscribers: Bool
    /// Whether a phone that unsubscribes from Connectivity has its Pebble app woken, which seems to have ended.
    public let wakesUnsubscribers: Bool
    /// Whether it has the Battery Service.
    public let hasBattery: Bool
    /// Which PPoGATT service it hosts; nil for none, so that only the phone's own service carries the Pebble Protocol.
    public let reversedTransport: ReversedTransport?
    /// The streams that phones can open; no real watch has any.
    public let streams: Set<WatchStream>

    // MARK: Its transport

    /// What it does for a second companion while another has its one session.
    public let occupancy: Occupancy
    /// The largest ATT MTU that it agrees to.
    public let maximumMTU: Int
    /// The ATT MTU from which its PPoGATT receive window follows.
    public let windowMTU: Int
    /// The timers, limits and habits of its PPoGATT.
    public let transportRules: PPoGATTRules

    // MARK: What it uses of phones

    /// The most bytes of a notification's title that it asks an iPhone for.
    public let notificationTitleLimit: Int
}

// MARK: - The personalities

extension Personality {
    /// All of them.
    public static let all = [universal, core, silk, snowy, emery, gabbro, chalk, aplite]

    /// Those that have services and habits of their own.
    public static let generations = all.filter { $0.name == $0.generation }

    /// What every client accepts: a Pebble 2 Duo that has the characteristics and habits of its ancestors too.
    public static let universal = Personality(
        name: "universal",
        generation: "universal",
        namePrefix: "Pebble",
        company: .core,
        hardware: .asterix,
        boardName: "asterix",
        color: .duo2Black,
        firmware: .core,
        recoveryFirmware: .coreRecovery,
        flags: [.leGeneralDiscoverable, .brEDRNotSupported],
        advertising: .pebble,
        appearance: 0x0000,
        preferredParameters: nil,
        caching: .databaseHash,
        deviceInformation: [.modelNumber, .serialNumber, .firmwareRevision, .softwareRevision, .manufacturerName],
        hasPairingMTU: true,
        hasConnectionParameters: true,
        notifiesSubscribers: true,
        wakesUnsubscribers: true,
        hasBattery: true,
        reversedTransport: .v2,
        streams: [.pebble],
        occupancy: .endsSession,
        maximumMTU: ATT.maximumMTU,
        windowMTU: 256,
        transportRules: .pebbleOS,
        notificationTitleLimit: 128
    )

    /// The watches of 2025: Pebble 2 Duo.
    public static let core = Personality(
        name: "core",
        otherNames: ["flint"],
        generation: "core",
        namePrefix: "Pebble",
        company: .core,
        hardware: .asterix,
        boardName: "asterix",
        color: .duo2Black,
        firmware: .core,
        recoveryFirmware: .coreRecovery,
        flags: [.leGeneralDiscoverable, .brEDRNotSupported],
        advertising: .pebble,
        appearance: 0x0000,
        preferredParameters: nil,
        caching: .features,
        deviceInformation: [
            .modelNumber, .serialNumber, .hardwareRevision, .firmwareRevision, .softwareRevision, .manufacturerName,
            .systemID,
        ],
        hasPairingMTU: false,
        hasConnectionParameters: false,
        notifiesSubscribers: false,
        wakesUnsubscribers: false,
        hasBattery: true,
        reversedTransport: .v2,
        streams: [],
        occupancy: .endsLink,
        maximumMTU: 256,
        windowMTU: 256,
        transportRules: .pebbleOS,
        notificationTitleLimit: 128
    )

    /// Pebble 2 HR: Dialog's radio.
    public static let silk = Personality(
        name: "silk",
        otherNames: ["diorite"],
        generation: "silk",
        namePrefix: "Pebble",
        company: .pebble,
        hardware: .silk,
        boardName: "silk",
        color: .pebble2HRBlack,
        firmware: .original,
        recoveryFirmware: .originalRecovery,
        flags: .leGeneralDiscoverable,
        advertising: .pebble,
        appearance: genericWatch,
        preferredParameters: preferredParameters,
        caching: .none,
        deviceInformation: originalInformation,
        hasPairingMTU: true,
        hasConnectionParameters: true,
        notifiesSubscribers: true,
        wakesUnsubscribers: true,
        hasBattery: false,
        reversedTransport: .v1,
        streams: [],
        occupancy: .opensLater,
        maximumMTU: 339,
        windowMTU: 339,
        transportRules: .originalFirmware,
        notificationTitleLimit: 40
    )

    /// Pebble Time: PPoGATT forward only.
    public static let snowy = Personality(
        name: "snowy",
        otherNames: ["basalt"],
        generation: "snowy",
        namePrefix: "Pebble Time",
        company: .pebble,
        hardware: .snowyS3,
        boardName: "snowy_s3",
        color: .timeBlack,
        firmware: .original,
        recoveryFirmware: .originalRecovery,
        flags: .leGeneralDiscoverable,
        advertising: .pebble,
        appearance: genericWatch,
        preferredParameters: preferredParameters,
        caching: .none,
        deviceInformation: originalInformation,
        hasPairingMTU: true,
        hasConnectionParameters: false,
        notifiesSubscribers: true,
        wakesUnsubscribers: false,
        hasBattery: false,
        reversedTransport: nil,
        streams: [],
        occupancy: .opensLater,
        maximumMTU: 158,
        windowMTU: 158,
        transportRules: .originalFirmware,
        notificationTitleLimit: 40
    )

    /// Pebble Time 2: a colour screen in the watches of 2025.
    public static let emery = core.model("emery", .obelixPVT, board: "obelix", .time2BlackGray)

    /// Pebble Round 2: the round screen of 2025.
    public static let gabbro = core.model("gabbro", .getafixDVT, board: "getafix", .round2Black20)

    /// Pebble Time Round: the round screen of Pebble Time.
    public static let chalk = snowy.model("chalk", .spalding, board: "spalding", .timeRoundBlack20)

    /// Pebble: the radio of Pebble Time, a screen without colours, and the last firmware that it got.
    public static let aplite = {
        var first = snowy.model("aplite", .tintinV15, board: "v1_5", .pebbleBlack)
        first.namePrefix = "Pebble"
        first.firmware = .firstPebble
        return first
    }()

    /// Another model of the same generation.
    private func model(
        _ name: String,
        _ hardware: HardwarePlatform,
        board: String,
        _ color: WatchColor
    ) -> Personality {
        var model = self
        model.name = name
        model.otherNames = []
        model.hardware = hardware
        model.boardName = board
        model.color = color
        return model
    }

    /// The model that runs a kind of app.
    package init(of platform: AppPlatform) {
        self =
            switch platform {
            case .aplite: .aplite
            case .basalt: .snowy
            case .chalk: .chalk
            case .diorite: .silk
            case .emery: .emery
            case .flint: .core
            case .gabbro: .gabbro
            }
    }

    /// Generic Watch (Bluetooth Assigned Numbers, 2.6).
    private static let genericWatch: UInt16 = 0x00C0
    /// 7.5 to 30 ms, latency 4, supervision timeout 6 s.
    private static let preferredParameters: [UInt8] = [0x06, 0x00, 0x18, 0x00, 0x04, 0x00, 0x58, 0x02]
    private static let originalInformation: [BluetoothUUID] = [
        .manufacturerName, .modelNumber, .serialNumber, .firmwareRevision, .softwareRevision,
    ]
}

extension WatchIdentity.FirmwareVersion {
    fileprivate static let core = Self(major: 4, minor: 9, patch: 100)
    fileprivate static let coreRecovery = Self(major: 4, minor: 4, patch: 2, suffix: "PRF")
    /// The last that Pebble published.
    fileprivate static let original = Self(major: 4, minor: 3, patch: 0)
    /// The last that Pebble published for its first watch.
    fileprivate static let firstPebble = Self(major: 3, minor: 12, patch: 3)
    fileprivate static let originalRecovery = Self(major: 3, minor: 14, patch: 0, suffix: "PRF")
}
