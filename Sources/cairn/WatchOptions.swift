import ArgumentParser
import BluetoothHCI
import Daemon
import PebbleProtocol
import PebbleWatch

/// What can be said about the watch, whatever it runs on.
struct WatchOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The watch's name, at most 19 bytes. (default: Pebble and the end of its address)"))
    var name: String?

    @Option(
        help: ArgumentHelp(
            "The watch's static random address, from which its name and serial number follow. (default: what --state remembers, "
                + "else a new one, which --state then remembers)"
        ),
        transform: DeviceAddress.staticRandomArgument
    )
    var address: DeviceAddress?

    @Option(
        help: ArgumentHelp(
            "Record the watch's HCI packets in a btsnoop file, which Wireshark and tshark read; in a named pipe, for as long as "
                + "one of them reads it.",
            valueName: "file"
        ),
        transform: pathArgument
    )
    var capture: String?

    @OptionGroup var model: PersonalityOptions

    func validate() throws {
        do throws(WatchIdentity.Invalid) {
            try watchAnywhere.identity.validate()
        } catch {
            throw ValidationError("\(error)")
        }
    }

    /// The kind of app that the watch runs.
    var platform: AppPlatform { watchAnywhere.identity.hardware.appPlatform ?? .aplite }

    /// The watch before it has an address of its own.
    private var watchAnywhere: WatchConfiguration {
        watch(at: .random(DeviceAddress(0xC000_0000_0001)), linkSecurity: .required)
    }

    /// Makes the watch that has an address.
    func watch(at address: LEAddress, linkSecurity: LinkSecurityPolicy) -> WatchConfiguration {
        let personality = model.personality.personality
        var identity = WatchIdentity(address: address, personality: personality)
        if let name { identity.name = name }
        var watch = WatchConfiguration(identity: identity, personality: personality)
        watch.linkSecurity = linkSecurity
        watch.startTime = LocalTime.now
        watch.wallClock = LocalTime.sinceEpoch
        return watch
    }
}
