import PebbleWatch
import Settings

/// What the watch asks of its links to phones.
enum LinkSettings: SettingGroup {
    static let title = "LINKS"
    static let settings: [Setting<RunPlan>] = [
        Setting(
            "link.profile",
            option: "link-profile",
            .choice,
            into: \.watch.link,
            placeholder: "profile",
            help:
                "Which connection parameters phones are asked for: pebble, or apple-2012 for phones that refuse 15 ms.",
            page: "link.md"
        ),
        Setting(
            "link.connection-parameters",
            option: "connection-parameters",
            .flag,
            default: false,
            help: """
                Offer the characteristic by which companions of watches before 2025 manage the connection parameters, even \
                if the personality has none.
                """
        ) { plan, isOffered in
            if isOffered { plan.watch.offersConnectionParameters = true }
        },
        Setting(
            "link.phone-discovery",
            option: "phone-discovery",
            .choice,
            into: \.watch.phoneDiscovery,
            placeholder: "way",
            help: """
                How the watch finds a phone's services: remembering them; afresh at each connection; or everything, looking \
                through the phone's whole database each time, as Pebbles do.
                """,
            page: "link.md"
        ),
        Setting(
            "link.enhanced-bearers",
            option: "enhanced-bearers",
            .number(0...5),
            into: \.watch.enhancedBearers,
            help: """
                How many enhanced ATT bearers (EATT) a phone may open beside the fixed channel, and the watch opens with a phone \
                that has the feature. 0 is none, as on the real watch; the models before 2025 have none in any case.
                """,
            page: "link.md"
        ),
        Setting(
            "link.subscription-pause",
            option: "subscription-pause",
            .duration(0...2000, .milliseconds),
            into: \.watch.subscriptionPause,
            help: """
                How long the watch is silent after a phone has subscribed to the PPoGATT service of silk. Gadgetbridge as \
                GATT client only needs 250.
                """,
            page: "companions.md"
        ),
    ]
}

/// What a watch offers to a person who tries it out.
enum DiagnosticSettings: SettingGroup {
    static let title = "DIAGNOSTICS"
    static let settings: [Setting<RunPlan>] = [
        Setting(
            "link.loopback-streams",
            option: "loopback-streams",
            .number(0...WatchStream.loopbacks.count),
            placeholder: "count",
            default: 0,
            help: """
                The number of L2CAP streams that send every byte back. Each has a service \
                51000000-328E-0FBB-C642-1AA6699BDADA. Its characteristic \
                ABDD3056-28FA-441D-A470-55A75A52553A holds the PSM.
                """,
            page: "channels.md"
        ) { $0.watch.streams.formUnion(WatchStream.loopbacks.prefix($1)) },
        Setting(
            "record",
            option: "record",
            .path("a path for the recording", placeholder: "file"),
            ifGiven: \.process.recording.path,
            otherwise: "in memory only",
            help: """
                Where everything is recorded that the watch is given, so that cairn replay can run it again. Keys are among \
                it: the file is its owner's alone. The recording of the run before is kept, with .before behind its name.
                """,
            page: "recorder.md"
        ),
        Setting(
            "record-limit",
            option: "record-limit",
            .number(8...1_000_000, of: "megabytes"),
            into: \.process.recording.limit,
            help: """
                How large the recording may become, with all its parts. Beyond it, the oldest part goes, and what is left can \
                be shown but not run again.
                """,
            page: "recorder.md"
        ),
        Setting(
            "record-memory",
            option: "record-memory",
            .number(0...1024, of: "megabytes"),
            into: \.process.recording.memory,
            help: """
                How much of the recording the watch's process keeps in its memory, for cairn recorder save and for when something \
                goes wrong. With 0 it is the last 128 kB.
                """,
            page: "recorder.md"
        ),
        Setting(
            "record-without-secrets",
            option: "record-without-secrets",
            .flag,
            default: false,
            help: """
                Leave bonds, keys and what they are made of out of everything that is recorded, also of what is only in memory. Such a \
                recording can be run again up to the pairing.
                """,
            page: "recorder.md"
        ) { $0.process.recording.leavesOutSecrets = $1 },
    ]
}

extension LinkProfile: SettingChoice {
    public static var choices: [LinkProfile] { all }
    public var choiceName: String { name }
}

extension PhoneDiscovery: SettingChoice {
    public var choiceName: String {
        switch self {
        case .remembering: "remembering"
        case .afresh: "afresh"
        case .everything: "everything"
        }
    }
}
