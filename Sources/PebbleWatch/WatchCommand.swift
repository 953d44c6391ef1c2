import BluetoothHCI
import BluetoothHost
import Faults
import PebbleProtocol

/// Everything that a person can do to the watch, and what its surroundings can: `Watch.perform(_:at:)` carries it out.
///
/// Buttons on a board, the command line, the control socket and the developer port all end here, so that what one of them
/// can do, all can.
public enum WatchCommand: Sendable, Equatable {
    // MARK: Buttons and senses

    /// A button was pressed and let go.
    case press(WatchButton, ButtonPress)
    /// These buttons, and no others, are held down, from a moment in the past on, or from now on.
    case hold(Set<WatchButton>, since: Duration? = nil)
    /// A sensor has something to say.
    case sense(SensorReading)

    // MARK: Apps

    /// Launches an app, as from the launcher's menu.
    case launchApp(PebbleUUID)
    /// Stops the running app: the watchface comes back.
    case stopApp
    /// Installs a whole app, in the place of one with the same UUID, and starts it if that is wanted. It is there when the store
    /// has it: `Watch.installationFailure` says why not.
    case installApp(AppPackage, launches: Bool)
    /// Removes an app that a phone or a command has installed; if it runs, the watchface comes back.
    case removeApp(PebbleUUID)
    /// Has the running app send a dictionary to its companion, on behalf of code outside: how it ended is told as
    /// `WatchEvent.appMessageSent`.
    case sendAppMessage(AppMessageDictionary)

    // MARK: Pairing

    /// Lets a phone pair that has no bond, for a while.
    case openPairing(for: Duration)
    /// Ends that.
    case closePairing
    /// Says yes to the pairing that waits for it: to a question, or to a number that both show.
    case confirmPairing
    /// Says no to the pairing that waits for a person, whatever it asks.
    case refusePairing
    /// What the phone shows, for a pairing that asks for it.
    case enterPasskey(Passkey)
    /// Makes secrets to hand to a phone out of band; they count for one pairing.
    case makeOutOfBandData
    /// Takes the secrets that a phone handed over out of band; they count for its next pairing.
    case takeOutOfBandData(OutOfBandBlock)

    // MARK: Phones

    /// Forgets the phone with this identity address, and disconnects it.
    case forget(DeviceAddress)
    /// Forgets every phone.
    case forgetAll
    /// Disconnects every phone.
    case disconnect
    /// Advertises as fast as the profile ever does, for a phone that is looking for the watch now.
    case advertise
    /// Shows the battery service to phones, or hides it.
    case offerBattery(Bool)
    /// Lets phones open a stream, with a PSM that it has not had before, or withdraws it: its channels close, and phones
    /// can read no PSM any more.
    case publish(WatchStream, Bool)

    // MARK: Services

    /// Sets the clock, as a phone does: in seconds since 1970, of UTC if a zone is given, else of local time. A zone is minutes
    /// that local time is ahead of UTC, and a name. Of a name alone the minutes are those that the watch has, or 0; without a
    /// name the zone is called after its minutes.
    case setTime(seconds: UInt32, offsetMinutes: Int?, zone: String?)
    /// Something with music, calls, notifications, settings, data or the watch as a whole.
    case service(ServiceCommand)

    // MARK: Faults

    /// Adds a fault of PPoGATT, of messages or of the watch itself, which goes by this number. Those of the radio and of the
    /// HCI boundary are not the watch's.
    case addFault(Fault, FaultID)
    /// Takes one of the watch's faults away, or all of them.
    case clearFaults(FaultID? = nil)
}

extension WatchCommand {
    /// How long a pairing window stays open when nothing else is said.
    public static let pairingWindow = Duration.seconds(300)
    /// The longest window.
    public static let longestPairingWindow = Duration.seconds(3600)
}

/// The result of a command that was carried out.
public enum WatchCommandResult: Sendable, Equatable {
    /// There is nothing more to say.
    case done
    /// Phones may pair until this time.
    case pairingOpen(until: Duration)
    /// What to hand to the phone.
    case outOfBandData(OutOfBandBlock)
    /// These phones are forgotten.
    case forgot([LEAddress])
    /// The links to these phones are being ended.
    case disconnecting([LEAddress])
    /// The running app has taken a dictionary to send, and this has become of it so far.
    case appMessage(PebbleUUID, AppMessageDelivery)
}

/// How far a dictionary is on its way from an app to its companion.
public enum AppMessageDelivery: String, Sendable, Equatable {
    /// A session has taken it; its companion has not answered yet.
    case sent
    /// It goes out when its companion is back, or is given up with the time that it has for an answer.
    case waits
    /// The app is asleep or the session is busy: it goes out then.
    case queued
}

/// Why a command was not carried out. Nothing has changed then.
public enum WatchCommandError: Error, Sendable, Equatable, CustomStringConvertible {
    /// No app with this UUID is installed.
    case unknownApp(PebbleUUID)
    /// The app came with the watch, and stays.
    case appIsBuiltIn(PebbleUUID)
    /// A part of the app is larger than the watch takes, or there are too many apps.
    case noRoomForApp(PebbleUUID)
    /// The store has not taken the app yet that a command brought before.
    case installsAlready
    /// The app runs already.
    case runsAlready(PebbleUUID)
    /// Nothing runs but the watchface, which cannot be stopped.
    case nothingToStop
    /// The watch was configured to keep no keys.
    case notBondable
    /// The watch was configured to keep no keys, and so has promised that its database never changes.
    case databaseIsFixed
    /// The watch was configured to refuse every pairing.
    case pairingIsRefused
    /// A pairing window of a length that makes no sense.
    case badWindow
    /// No pairing waits for a person.
    case nothingWaits
    /// A pairing waits, but for a passkey, not for a yes.
    case passkeyIsAsked
    /// A pairing waits, but for the phone's user, to type this.
    case passkeyIsShown(Passkey)
    /// No pairing waits for a passkey.
    case noPasskeyIsAsked
    /// The source of randomness is broken.
    case noSecrets
    /// No phone with this address is remembered.
    case unknownPhone(DeviceAddress)
    /// No phone is remembered.
    case noPhones
    /// No phone is connected.
    case notConnected
    /// The sensor cannot read that.
    case impossibleReading(String)
    /// There is no call, or no phone that could be told.
    case noCall
    /// There is no such item, or it has no such action.
    case noSuchAction
    /// That is no key of a setting, or there is no room for another.
    case noSuchSetting
    /// The data are not whole items, or there is no room for them.
    case noRoomForData
    /// The app could not send its dictionary, and why.
    case appMessageNotSent(AppMessageResult)
    /// A fault is not taken, and why.
    case fault(FaultError)

    public var description: String {
        switch self {
        case .unknownApp(let uuid): "no app \(uuid) is installed"
        case .appIsBuiltIn(let uuid): "the app \(uuid) came with the watch, and cannot be removed"
        case .noRoomForApp(let uuid):
            "there is no room for the app \(uuid): a part of it is too large, or too many apps are installed"
        case .installsAlready: "another app is just being installed"
        case .runsAlready(let uuid): "the app \(uuid) runs already"
        case .nothingToStop: "only the watchface runs, which cannot be stopped"
        case .notBondable: "this watch keeps no keys, so nobody can pair with it: it was started with --no-bonding"
        case .databaseIsFixed:
            "the database of a watch that keeps no keys never changes: it was started with --no-bonding"
        case .pairingIsRefused: "this watch refuses every pairing: it was started with --pairing reject"
        case .badWindow:
            "pairing can be opened for 1 to \(WatchCommand.longestPairingWindow.components.seconds) seconds"
        case .nothingWaits: "no pairing waits for an answer"
        case .passkeyIsAsked: "the pairing waits for the passkey that the phone shows, not for a yes"
        case .passkeyIsShown(let passkey): "the pairing waits for the phone, where \(passkey.digits) has to be typed"
        case .noPasskeyIsAsked: "no pairing waits for a passkey"
        case .noSecrets: "no secrets could be made: the source of randomness is broken"
        case .unknownPhone(let address): "no phone \(address) is remembered"
        case .noPhones: "no phone is remembered"
        case .notConnected: "no phone is connected"
        case .impossibleReading(let why): why
        case .noCall: "there is no call, or no phone is connected"
        case .noSuchAction: "there is no such item, or it has no such action"
        case .noSuchSetting: "that is no key of a setting, or there is no room for another"
        case .noRoomForData: "the data are not whole items, or the spool has no room for them"
        case .appMessageNotSent(.notConnected): "nothing was sent: no companion of the running app is connected"
        case .appMessageNotSent(.busy):
            "nothing was sent: the app's last message is still under way; its end is the event app-message-sent"
        case .appMessageNotSent(.invalidState): "nothing was sent: what runs has no outbox for AppMessages"
        case .appMessageNotSent(.bufferOverflow): "nothing was sent: the dictionary does not fit into the app's outbox"
        case .appMessageNotSent(let result): "nothing was sent: \(result)"
        case .fault(let error): "\(error)"
        }
    }
}
