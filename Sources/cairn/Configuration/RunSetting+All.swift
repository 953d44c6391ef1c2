import AirSimulator
import Board
import Daemon
import HCIRuntime
import PebbleWatch

extension RunSetting {
    /// Every setting that there is: all that `cairn run` takes on the command line but the board file itself.
    static let all: [RunSetting] = general + pairing + link + advertising + hardware + apps + development

    /// The settings by the options that they stand for.
    static let byOption = Dictionary(all.map { ($0.option, $0) }) { first, _ in first }

    private static let general: [RunSetting] = [
        .value("controller", "controller", takes: "a way to reach a controller, such as virtual or hci0"),
        .choice("controller-lost", "controller-lost", RemoteController.LossPolicy.names, usual: "reopen"),
        .value("name", "name", takes: "up to 19 bytes of UTF-8"),
        .value("address", "address", takes: "a static random address, such as C0:11:22:33:44:55"),
        .choice("personality", "personality", PersonalityOptions.Model.names, usual: "universal"),
        .value("state", "state", takes: "a directory"),
        .value("control", "control", takes: "a path for a Unix socket"),
        .choice("control-access", "control-access", ControlAccess.names, usual: "user"),
        .value("capture", "capture", takes: "a path for a file"),
        .value("log-level", "log-level", takes: "LEVEL or LAYER=LEVEL, separated by commas", usual: "info"),
        .flag("insecure-test-link", "insecure-test-link", usual: false),
    ]

    private static let pairing: [RunSetting] = [
        .choice("pairing.answer", "pairing", PairingPolicy.Mode.names),
        .value("pairing.phones", "phones", takes: "a number from 1 to 16", usual: "1"),
        .flag("pairing.bonding", "bonding", usual: true),
        .flag("pairing.legacy", "legacy-pairing", usual: false),
        .choice(
            "pairing.io-capability",
            "io-capability",
            PairingOptions.Capability.names,
            usual: "display-yes-no"
        ),
        .value("pairing.private-address", "private-address", takes: "a number of minutes from 1 to 60"),
        .value(
            "pairing.service-changed-delay",
            "service-changed-delay",
            takes: "a number of seconds from 0 to 3600",
            usual: "10"
        ),
        .flag("pairing.battery", "battery", usual: true),
    ]

    private static let link: [RunSetting] = [
        .choice("link.profile", "link-profile", LinkOptions.Profile.names, usual: "pebble"),
        .flag("link.connection-parameters", "connection-parameters", usual: false),
        .choice("link.phone-discovery", "phone-discovery", LinkOptions.Discovery.names, usual: "remembering"),
        .value(
            "link.subscription-pause",
            "subscription-pause",
            takes: "a number of milliseconds from 0 to 2000",
            usual: "250"
        ),
        .value(
            "link.loopback-streams",
            "loopback-streams",
            takes: "a number from 0 to \(WatchStream.loopbacks.count)",
            usual: "0"
        ),
    ]

    private static let advertising: [RunSetting] = [
        .choice("advertising.policy", "advertising", AdvertisingOptions.Policy.names, usual: "pebble"),
        .list("advertising.steps", "advertising-steps", takes: "steps such as [20ms/30s, 211.25ms/5min, 1285ms]"),
        .value("advertising.power", "advertising-power", takes: "a number of dBm from -127 to 20"),
        .value("beacon.uuid", "beacon", takes: "a UUID"),
        .value("beacon.major", "beacon-major", takes: "a number from 0 to 65535"),
        .value("beacon.minor", "beacon-minor", takes: "a number from 0 to 65535"),
        .value("beacon.power", "beacon-power", takes: "a number of dBm from -128 to 127"),
        .value("beacon.hold-off", "beacon-hold-off", takes: "a number of seconds from 0 to 3600"),
        .flag("beacon.despite-privacy", "beacon-despite-privacy", usual: false),
    ]

    private static let hardware: [RunSetting] = [
        .value("gpio.chip", "gpio-chip", takes: "the label or the path of a GPIO chip"),
        .value("gpio.back", "button-back", takes: "the number of a line"),
        .value("gpio.up", "button-up", takes: "the number of a line"),
        .value("gpio.select", "button-select", takes: "the number of a line"),
        .value("gpio.down", "button-down", takes: "the number of a line"),
        .choice("gpio.active", "buttons-active", GPIOLevel.names, usual: "low"),
        .choice("gpio.pull", "buttons-pull", GPIOPull.names, usual: "up"),
        .value("gpio.debounce", "buttons-debounce", takes: "a number of milliseconds from 0 to 1000", usual: "10"),
        .value("gpio.led", "led", takes: "the number of a line"),
        .choice("gpio.led-active", "led-active", GPIOLevel.names, usual: "high"),
        .value("battery.source", "battery-source", takes: "fixed, auto, or a power supply's name", usual: "fixed"),
        .value("battery.percent", "battery-percent", takes: "a number from 0 to 100", usual: "100"),
    ]

    private static let apps: [RunSetting] = [
        .each("apps.install", "app", takes: "paths of .pbw files"),
        .each("apps.behaviour", "behaviour", takes: "entries UUID=echo, UUID=external or UUID=FILE"),
    ]

    private static let development: [RunSetting] = [
        .optionalValue(
            "development.qemu-port",
            "qemu-port",
            takes: "a port, or 0 for any",
            alone: "\(DeveloperOptions.usualPort)"
        ),
        .value("development.serial-port", "serial-port", takes: "a path that is free"),
        .value("air.port", "air-port", takes: "a port, or 0 for any"),
        .value("air.socket", "air-socket", takes: "a path for a Unix socket"),
        .value("air.seed", "air-seed", takes: "a number"),
        .value("air.loss", "air-loss", takes: "a number of percent from 0 to 99"),
    ]
}

extension CaseIterable where Self: RawRepresentable<String> {
    /// What people write for them.
    static var names: [String] { allCases.map(\.rawValue) }
}
