import HCIRuntime
import LinuxBluetooth
import Settings

/// What the watch runs on.
enum ControllerSettings: SettingGroup {
    static let title = ""
    static let settings: [Setting<RunPlan>] = [
        Setting(
            "controller",
            option: "controller",
            .word("a way to reach a controller, such as virtual or hci0") { try TransportAddress(parsing: $0) },
            ifGiven: \.controller,
            help: "Where the watch's Bluetooth controller is.",
            page: "controllers.md"
        ),
        Setting(
            "controller-lost",
            option: "controller-lost",
            .choice,
            into: \.process.whenControllerLost,
            help: """
                What to do when the controller cannot be reached or is lost: exit; reopen, which waits for one that has been \
                there; or retry, which waits for it from the start.
                """
        ),
    ]
}

extension RemoteController.LossPolicy: SettingChoice {}
