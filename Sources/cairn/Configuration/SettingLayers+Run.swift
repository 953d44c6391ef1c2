import Settings
import Daemon

extension SettingLayers {
    /// Where the settings of a watch come from.
    init(words: CommandWords, environment: [String: String], file: BoardFile?) {
        self.init()
        commandLine = words.settings
        self.environment = environment
        self.file = file
        for setting in RunSetting.all {
            if let usual = setting.usual { standard[setting.key] = [usual] }
        }
        // A board is met by iPhones: without a word about it, it advertises as they like best.
        if file != nil { standard[SettingKey("advertising.policy")] = ["apple"] }
        // A service manager says where a service keeps things: systemd.exec(5), RuntimeDirectory= and StateDirectory=.
        if let directory = Environment.directory("STATE_DIRECTORY") { standard[SettingKey("state")] = [directory] }
        if let directory = Environment.directory("RUNTIME_DIRECTORY") {
            standard[SettingKey("control")] = [ControlAddress.path(in: directory)]
        }
    }
}
