import ArgumentParser
import Board
import Daemon

// What a board file and the environment say takes the way of the command line: each setting is an option, which stands
// before those that were typed and so gives way to them.

/// A setting, and the option of `cairn run` that it stands for.
struct RunSetting {
    enum Form {
        /// `--option=value`; a list is one value with commas.
        case value(option: String)
        /// `--option=value` for each value of a list.
        case each(option: String)
        /// `--option` and `--no-option`, for true and false.
        case flag(option: String)
    }

    let key: SettingKey
    let form: Form

    private init(_ key: SettingKey, _ form: Form) {
        self.key = key
        self.form = form
    }

    static func value(_ key: String, _ option: String) -> RunSetting {
        RunSetting(SettingKey(key), .value(option: option))
    }
    static func list(_ key: String, _ option: String) -> RunSetting {
        RunSetting(SettingKey(key, isList: true), .value(option: option))
    }
    static func each(_ key: String, _ option: String) -> RunSetting {
        RunSetting(SettingKey(key, isList: true), .each(option: option))
    }
    static func flag(_ key: String, _ option: String) -> RunSetting {
        RunSetting(SettingKey(key), .flag(option: option))
    }

    /// Every setting that there is.
    static let all: [RunSetting] = [
        .value("controller", "controller"),
        .value("controller-lost", "controller-lost"),
        .value("name", "name"),
        .value("address", "address"),
        .value("state", "state"),
        .value("control", "control"),
        .value("capture", "capture"),
        .value("log-level", "log-level"),
        .flag("insecure-test-link", "insecure-test-link"),
        .value("pairing.answer", "pairing"),
        .value("pairing.phones", "phones"),
        .flag("pairing.bonding", "bonding"),
        .flag("pairing.legacy", "legacy-pairing"),
        .value("pairing.io-capability", "io-capability"),
        .value("pairing.private-address", "private-address"),
        .value("pairing.service-changed-delay", "service-changed-delay"),
        .flag("pairing.battery", "battery"),
        .value("link.profile", "link-profile"),
        .flag("link.connection-parameters", "connection-parameters"),
        .value("link.loopback-streams", "loopback-streams"),
        .each("apps.install", "app"),
        .each("apps.behaviour", "behaviour"),
        .value("advertising.policy", "advertising"),
        .list("advertising.steps", "advertising-steps"),
        .value("beacon.uuid", "beacon"),
        .value("beacon.major", "beacon-major"),
        .value("beacon.minor", "beacon-minor"),
        .value("beacon.power", "beacon-power"),
        .value("beacon.hold-off", "beacon-hold-off"),
        .value("development.serial-port", "serial-port"),
        .value("air.port", "air-port"),
        .value("air.seed", "air-seed"),
        .value("air.loss", "air-loss"),
    ]

    /// The words of a command line that say the same.
    func arguments(for setting: Setting) throws(BoardError) -> [String] {
        switch form {
        case .value(let option): return ["--\(option)=\(setting.values.joined(separator: ","))"]
        case .each(let option): return setting.values.map { "--\(option)=\($0)" }
        case .flag(let option):
            switch setting.values.first {
            case "true": return ["--\(option)"]
            case "false": return ["--no-\(option)"]
            default: throw BoardError(setting, "this is true or false")
            }
        }
    }
}

extension RunCommand {
    /// This command with what the board file and the environment say besides.
    func completed() throws(DaemonError) -> RunCommand {
        let environment = [Setting].environment
        do throws(BoardError) {
            let keys = RunSetting.all.map(\.key)
            var file: BoardFile?
            if let path = board ?? environment["CAIRN_BOARD"] {
                let read = try BoardFile(path: path)
                try read.check(against: keys)
                file = read
            }
            var arguments: [String] = []
            // A board is met by iPhones: without a word about it, it advertises as they like best.
            if file != nil { arguments.append("--advertising=apple") }
            for setting in [Setting](keys, environment: environment, file: file) {
                guard let words = try RunSetting.all.first(where: { $0.key == setting.key })?.arguments(for: setting)
                else {
                    continue
                }
                try Self.check(words, setting)
                arguments += words
            }
            guard !arguments.isEmpty else { return self }
            return try Self.parsed(arguments + CommandLine.arguments.dropFirst(2))
        } catch {
            throw DaemonError(
                error.isUnreadable ? .unavailable : .configuration,
                "\(error)",
                advice: "see cairn run --help, and Boards/virtual/board.yaml for an example"
            )
        }
    }

    /// Each setting is tried alone, so that what is wrong with it is said of it.
    private static func check(_ words: [String], _ setting: Setting) throws(BoardError) {
        do {
            _ = try RunCommand.parse(words)
        } catch {
            throw BoardError(setting, RunCommand.message(for: error))
        }
    }

    private static func parsed(_ arguments: [String]) throws(BoardError) -> RunCommand {
        do {
            return try RunCommand.parse(arguments)
        } catch {
            // Both parts were parsed alone already.
            RunCommand.exit(withError: error)
        }
    }
}
