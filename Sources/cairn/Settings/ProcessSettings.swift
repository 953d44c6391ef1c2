import Daemon
import HCIRuntime
import PebbleWatch
import Settings

/// What the watch remembers, who controls it, and what is logged.
enum ProcessSettings: SettingGroup {
    static let title = ""
    static let settings: [Setting<RunPlan>] = [
        Setting(
            "state",
            option: "state",
            .path("a directory", placeholder: "directory"),
            ifGiven: \.process.stateDirectory,
            otherwise: "$CAIRN_STATE, else nowhere",
            // systemd.exec(5), StateDirectory=
            fromServiceManager: { Environment.directory("STATE_DIRECTORY") },
            help: "Where the watch remembers bonded phones and who it is, and where it takes commands."
        ),
        Setting(
            "control",
            option: "control",
            .path("a path for a Unix socket"),
            ifGiven: \.process.controlPath,
            otherwise: "control.sock in the state directory",
            // systemd.exec(5), RuntimeDirectory=
            fromServiceManager: { Environment.directory("RUNTIME_DIRECTORY").map(ControlAddress.path) },
            help: "The Unix socket where the watch takes commands.",
            page: "control.md"
        ),
        Setting(
            "control-access",
            option: "control-access",
            .choice,
            into: \.process.controlAccess,
            help: """
                Who may give the watch commands at its socket: the user who started it, or the socket's group too. Root \
                always may.
                """
        ),
        Setting(
            "faults.allowed",
            option: "faults-allowed",
            .flag,
            ifGiven: \.process.allowsFaults,
            otherwise: "with a virtual controller only",
            help: "Let faults be added on purpose while the watch runs.",
            page: "faults.md"
        ),
        Setting(
            "log-level",
            option: "log-level",
            .word("LEVEL or LAYER=LEVEL, separated by commas", placeholder: "levels", print: { "\($0.standard)" }) {
                try LogLevels(parsing: $0)
            },
            into: \.process.logLevels,
            help: "What to log: LEVEL or LAYER=LEVEL, separated by commas."
        ),
        Setting(
            "insecure-test-link",
            option: "insecure-test-link",
            .flag,
            default: false,
            help: """
                Open the Pebble transport to anyone in range, without pairing or encryption. Only for test rigs that cannot \
                pair.
                """
        ) { $0.watch.linkSecurity = $1 ? .insecureTestLink : .required },
    ]
}

extension ControlAccess: SettingChoice {}
