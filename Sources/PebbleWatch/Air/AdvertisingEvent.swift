import BluetoothHCI

/// What somebody does to the watch, as far as its sensors tell, that makes it likely that a phone is wanted.
public enum WatchActivity: String, Hashable, Sendable, CaseIterable {
    /// It was switched on, or its controller was started again.
    case boot
    /// A button was pressed, or the screen touched.
    case button
    /// It was picked up or shaken.
    case motion
    /// The charger was connected or taken away.
    case charger
}

/// How a link ended.
public enum LinkEnd: String, Hashable, Sendable, CaseIterable {
    /// The radio lost it: distance, interference, a phone that died, a controller that failed.
    case lost
    /// The controller reported a link on which nothing ever came.
    case notEstablished
    /// The phone ended it: Bluetooth was switched off, or its last app let go.
    case phone
    /// The watch ended it.
    case watch

    /// What a reason of the controller's means.
    public init(_ reason: HCIStatus) {
        self =
            switch reason {
            case .connectionFailedToBeEstablished: .notEstablished
            case .remoteUserTerminatedConnection, .remoteDeviceLowResources, .remoteDevicePowerOff: .phone
            case .connectionTerminatedByLocalHost: .watch
            default: .lost
            }
    }
}

/// What the advertising policy is told.
public enum AdvertisingEvent: Hashable, Sendable {
    /// The controller has been started, or started again, and has so many advertising sets.
    case controllerReady(advertisingSets: Int)
    /// The controller is not there any more; `controllerReady` follows when it is back.
    case controllerLost
    /// Somebody has the watch in hand.
    case activity(WatchActivity)
    /// A person or a program wants the watch to be found now.
    case command
    /// A phone connected; the controller has stopped advertising for it by itself.
    case connected
    /// Those who are connected are strangers: the bonded phone is waited for beside them.
    case onlyStrangersAreHere
    /// Strangers come, or come no more: while they do, the bonded phone is waited for with haste.
    case strangers(areAbout: Bool)
    /// The watch is about to change its address, and says nothing meanwhile; or it has another one.
    case addressChanges(isSilent: Bool)
    /// The link is encrypted and the phone a bonded one: no other phone is waited for.
    case bondedPhoneIsBack
    /// The link is gone.
    case disconnected(LinkEnd)
    /// How many phones are bonded.
    case bonds(count: Int)
    /// Somebody opened the pairing window, again perhaps; or it closed.
    case pairingWindow(isOpen: Bool)
}

/// Why the watch advertises as it does: what began the schedule that is on the air.
public enum AdvertisingReason: Hashable, Sendable {
    /// Somebody has the watch in hand, or its controller was started.
    case activity(WatchActivity)
    /// A person or a program asked for it.
    case command
    /// A link ended, in this way.
    case disconnected(LinkEnd)
    /// A phone was bonded, and the watch waits for it.
    case bondAdded
    /// The last bond was removed, and the watch can be discovered again.
    case bondRemoved
    /// The pairing window was opened.
    case pairingWindow
    /// Strangers are about, so the bonded phone is waited for at the shortest interval.
    case strangers
    /// The beacon's own.
    case noPhoneConnected
}

extension AdvertisingReason: CustomStringConvertible {
    public var description: String {
        switch self {
        case .activity(.boot): "the controller was started"
        case .activity(.button): "a button was pressed"
        case .activity(.motion): "the watch was moved"
        case .activity(.charger): "the charger was connected or taken away"
        case .command: "somebody asked for it"
        case .disconnected(.lost): "the link was lost"
        case .disconnected(.notEstablished): "a connection was not established"
        case .disconnected(.phone): "the phone ended the link"
        case .disconnected(.watch): "the watch ended the link"
        case .bondAdded: "a phone was bonded"
        case .bondRemoved: "a phone was forgotten"
        case .pairingWindow: "the pairing window is open"
        case .strangers: "strangers are about"
        case .noPhoneConnected: "no phone is connected"
        }
    }
}
