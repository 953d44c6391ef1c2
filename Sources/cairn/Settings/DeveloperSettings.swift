import Daemon
import PebbleWatch
import Settings

/// Ways in for the SDK's tools.
enum DeveloperSettings: SettingGroup {
    /// The port that the SDK's tools look for the emulator at.
    private static let usualPort: UInt16 = 12344

    /// What the firmware in an emulator is to phones; `cairn mirror` sets it.
    static let firmwareRole = Setting<RunPlan>(
        "development.firmware-role",
        option: "firmware-role",
        .choice,
        into: \.firmwareRole,
        placeholder: "role",
        help: """
            What that firmware is to phones: it answers them; or it mirrors the watch's own services, and is asked the same \
            as they, so that differences show: cairn mirror does that, and reports them.
            """,
        page: "emulator.md"
    )

    /// What the firmware in an emulator is to phones.
    enum FirmwareRole: String, CaseIterable, SettingChoice {
        /// It answers them.
        case answers
        /// It is asked what phones ask the watch's own services.
        case mirrors

        /// The watch's brain, then.
        var brain: WatchBrain {
            switch self {
            case .answers: .emulator
            case .mirrors: .mirrored
            }
        }
    }

    static let title = "DEVELOPMENT"
    static let settings: [Setting<RunPlan>] = [
        Setting(
            "development.qemu-port",
            option: "qemu-port",
            .optionalWord("a port, or 0 for any", placeholder: "port", alone: usualPort, parse: LoopbackPort.parse),
            ifGiven: \.process.qemuPort,
            help: """
                Be the emulator to pebble --qemu and to pypkjs, on this port of 127.0.0.1; \(usualPort) if no number follows, \
                0 takes any free one and logs it.
                """,
            page: "control.md"
        ),
        Setting(
            "development.firmware",
            option: "firmware",
            .word("the place of an emulator, such as qemu:emery or tcp:127.0.0.1:\(usualPort)", placeholder: "place") {
                text in
                do throws(FirmwareAddress.Invalid) {
                    return try FirmwareAddress(parsing: text)
                } catch {
                    throw SettingRefusal.because(error.description)
                }
            },
            ifGiven: \.process.firmware,
            help: """
                Put the watch's radio under the real firmware, which runs in its emulator. qemu:BOARD starts that of the \
                newest SDK, qemu:DIRECTORY that of the images there; tcp:HOST:PORT or unix:PATH is the port of the Pebble \
                Protocol of one that runs. Phones talk to that firmware then.
                """,
            page: "emulator.md"
        ),
        Setting(
            "development.firmware-console",
            option: "firmware-console",
            .word("the place of a console, such as tcp:127.0.0.1:\(usualPort + 1)", placeholder: "place") { text in
                do throws(FirmwareAddress.Invalid) {
                    return try EmulatorPlace(parsing: text)
                } catch {
                    throw SettingRefusal.because(error.description)
                }
            },
            ifGiven: \.process.firmwareConsole,
            needs: SettingNeed("an emulator that runs already", from: "development.firmware", "tcp:HOST:PORT") { plan in
                // One that Cairn starts has its console with it.
                if case .port = plan.process.firmware { true } else { false }
            },
            help: """
                The console of an emulator that runs already, tcp:HOST:PORT or unix:PATH: the firmware's log is in Cairn's \
                then, and each phone gets a fresh session of the firmware's.
                """,
            page: "emulator.md"
        ),
        firmwareRole,
        Setting(
            "development.serial-port",
            option: "serial-port",
            .path("a path that is free"),
            ifGiven: \.process.serialPortPath,
            help: """
                Make a serial port with this path, for pebble --serial. The path must be free; it goes away with the watch.
                """
        ),
    ]
}
