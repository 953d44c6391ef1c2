import BluetoothHost
import PebbleWatch
import Settings

/// Who may pair with the watch, and what bonded phones see of it.
enum PairingSettings: SettingGroup {
    static let title = "PAIRING"
    static let settings: [Setting<RunPlan>] = [
        Setting(
            "pairing.answer",
            option: "pairing",
            .choice,
            ifGiven: \.pairing,
            otherwise: "button on a board with an up or a select button, else auto",
            help: """
                Which phones may pair: open lets in any phone at any time, for benches; auto lets in the first, and others \
                only after cairn pair or while select was held; button lets any phone ask, and a person answers with a \
                button, cairn confirm or cairn refuse; reject lets in none.
                """,
            page: "security.md"
        ),
        Setting(
            "pairing.phones",
            option: "phones",
            .number(1...16),
            into: \.watch.pairing.phoneLimit,
            help: "How many phones the watch remembers. One too many replaces the one that paired the longest time ago."
        ),
        Setting(
            "pairing.bonding",
            option: "bonding",
            .flag,
            into: \.watch.pairing.isBondable,
            help: """
                Keep keys, or none: then phones cannot pair, and the watch's database has no Service Changed and never \
                changes.
                """
        ),
        Setting(
            "pairing.legacy",
            option: "legacy-pairing",
            .flag,
            into: \.watch.pairing.allowsLegacyPairing,
            help:
                "Pair with phones that lack LE Secure Connections too. Anyone who records such a pairing can read the link."
        ),
        // What the watch shows, cairn events and the log show; what it takes, cairn passkey takes.
        Setting(
            "pairing.io-capability",
            option: "io-capability",
            .choice,
            into: \.watch.pairing.ioCapability,
            help: "What the watch says it can show and take, which decides how phones pair."
        ),
        Setting(
            "pairing.private-address",
            option: "private-address",
            .duration(1...60, .minutes),
            otherwise: "the static address, always",
            help: "Advertise with a resolvable private address, and change it after this time."
        ) { $0.watch.privacy = .resolvablePrivateAddress(lifetime: $1) },
        Setting(
            "pairing.battery",
            option: "battery",
            .flag,
            into: \.watch.offersBattery,
            help: "Show the battery service, or hide it."
        ),
        Setting(
            "pairing.service-changed-delay",
            option: "service-changed-delay",
            .duration(0...3600, .seconds),
            into: \.watch.serviceChangedDelay,
            help: "How long after encryption a phone is told that the database has changed. iOS needs 10."
        ),
    ]
}

extension PairingPolicy.Mode: SettingChoice {}

extension IOCapability: SettingChoice {
    public static var choices: [IOCapability] {
        [.displayYesNo, .displayOnly, .keyboardOnly, .keyboardDisplay, .noInputNoOutput]
    }

    public var choiceName: String {
        switch self {
        case .displayYesNo: "display-yes-no"
        case .displayOnly: "display-only"
        case .keyboardOnly: "keyboard-only"
        case .keyboardDisplay: "keyboard-display"
        case .noInputNoOutput: "none"
        }
    }
}
