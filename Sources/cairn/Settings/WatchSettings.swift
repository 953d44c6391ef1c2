import BluetoothHCI
import PebbleWatch
import Settings

/// The watch itself, on any machine.
///
/// The personality is the first that says something about the watch: it makes the watch that all others change.
enum WatchSettings: SettingGroup {
    static let title = ""
    static let settings: [Setting<RunPlan>] = [
        Setting(
            "personality",
            option: "personality",
            .choice,
            into: \.personality,
            placeholder: "model",
            help: """
                Which Pebble phones take it for: universal, which every companion accepts; core or flint (Pebble 2 Duo), silk \
                or diorite (Pebble 2), snowy or basalt (Pebble Time), emery (Pebble Time 2), gabbro (Pebble Round 2), chalk \
                (Pebble Time Round) or aplite (Pebble), with that model's services, name, version, apps and screen.
                """,
            page: "personalities.md"
        ),
        Setting(
            "name",
            option: "name",
            .word("up to \(WatchIdentity.maximumNameLength) bytes of UTF-8", parse: checkedName),
            ifGiven: \.name,
            otherwise: "Pebble and the end of its address",
            help: "The watch's name, at most \(WatchIdentity.maximumNameLength) bytes."
        ),
        Setting(
            "address",
            option: "address",
            .word("a static random address, such as C0:11:22:33:44:55", parse: staticRandomAddress),
            ifGiven: \.process.address,
            otherwise: "what --state remembers, else a new one, which --state then remembers",
            help: "The watch's static random address, from which its name and serial number follow."
        ),
        Setting(
            "capture",
            option: "capture",
            .path("a path for a file", placeholder: "file"),
            ifGiven: \.process.capturePath,
            help: """
                Record the watch's HCI packets in a btsnoop file, which Wireshark and tshark read; in a named pipe, for as \
                long as one of them reads it.
                """
        ),
    ]

    @Sendable
    private static func checkedName(_ text: String) throws -> String {
        var identity = WatchIdentity(address: RunPlan.anyAddress)
        identity.name = text
        try identity.validate()
        return text
    }

    @Sendable
    private static func staticRandomAddress(_ text: String) throws(SettingRefusal) -> DeviceAddress {
        guard let address = DeviceAddress(text) else {
            throw .because("“\(text)” is no address; write six pairs of hexadecimal digits, as in C0:11:22:33:44:55")
        }
        guard address.isStaticRandom else {
            throw .because("“\(text)” is no static random address: those begin with a pair from C0 to FF")
        }
        return address
    }
}

extension Personality: SettingChoice {
    public static var choices: [Personality] { all }
    public var choiceName: String { name }
    public var otherChoiceNames: [String] { otherNames }
}
