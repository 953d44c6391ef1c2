/// What a fault does, by the seam where it is interposed. The raw values are the names that people type.
public enum FaultKind: Hashable, Sendable {
    /// On the radio, which only a virtual air can spoil.
    case radio(RadioFault)
    /// Between the controller and the host.
    case hci(HCIFault)
    /// Between PPoGATT and the GATT layer.
    case ppogatt(PPoGATTFault)
    /// Between the sessions of the Pebble Protocol and the services.
    case message(MessageFault)
    /// The watch itself: its power, clock, memory, store, buttons and apps.
    case watch(WatchFault)

    /// The name, as it is typed.
    public var name: String {
        switch self {
        case .radio(let fault): fault.rawValue
        case .hci(let fault): fault.rawValue
        case .ppogatt(let fault): fault.rawValue
        case .message(let fault): fault.rawValue
        case .watch(let fault): fault.rawValue
        }
    }
}

/// Faults on a virtual air. ``FaultDefinition/all`` says what each does.
public enum RadioFault: String, Hashable, Sendable, CaseIterable {
    case loss = "radio.loss"
    case burst = "radio.burst"
    case fade = "radio.fade"
    case deaf = "radio.deaf"
    case clockDrift = "radio.clock-drift"
}

/// Faults at the HCI boundary. ``FaultDefinition/all`` says what each does.
public enum HCIFault: String, Hashable, Sendable, CaseIterable {
    case linkLost = "link.lost"
    case linkDropped = "link.dropped"
    case linkMute = "link.mute"
    case controllerHangs = "controller.hang"
    case controllerResets = "controller.reset"
    case hardwareError = "controller.hardware-error"
    case eventLost = "controller.event-lost"
    case eventLate = "controller.event-late"
    case commandRefused = "controller.command-refused"
    case noBuffers = "controller.no-buffers"
    case setsLost = "controller.sets-lost"
    case attError = "att.error"
    case attLate = "att.late"
    case attNever = "att.never"
    case attTwice = "att.twice"
    case mtuRefused = "att.mtu-refused"
    case confirmationNotAwaited = "att.confirmation-not-awaited"
    case serviceChangedLost = "gatt.service-changed-lost"
    case wrongHash = "gatt.wrong-hash"
    case creditsWithheld = "l2cap.credits-withheld"
    case psmRefused = "l2cap.psm-refused"
    case channelDropped = "l2cap.channel-dropped"
    case tinyMPS = "l2cap.tiny-mps"
    case parametersRefused = "l2cap.parameters-refused"
    case pairingRefused = "smp.pairing-refused"
    case pairingStalled = "smp.stalled"
    case wrongConfirm = "smp.wrong-confirm"
    case wrongDHKeyCheck = "smp.wrong-dhkey-check"
    case otherModel = "smp.other-model"
    case keyCorrupted = "encryption.key-corrupted"
    case encryptionRefused = "encryption.refused"
}

/// Faults of the transport PPoGATT. ``FaultDefinition/all`` says what each does.
public enum PPoGATTFault: String, Hashable, Sendable, CaseIterable {
    case ackLost = "ppogatt.ack-lost"
    case ackLate = "ppogatt.ack-late"
    case ackDoubled = "ppogatt.ack-doubled"
    case dataLost = "ppogatt.data-lost"
    case dataCorrupted = "ppogatt.data-corrupted"
    case dataReordered = "ppogatt.data-reordered"
    case dataRepeated = "ppogatt.data-repeated"
    case reset = "ppogatt.reset"
    case windowOfOne = "ppogatt.window-one"
    case otherVersion = "ppogatt.other-version"
}

/// Faults of the Pebble Protocol's messages. ``FaultDefinition/all`` says what each does.
public enum MessageFault: String, Hashable, Sendable, CaseIterable {
    case lost = "message.lost"
    case cut = "message.cut"
    case doubled = "message.doubled"
    case late = "message.late"
    case pingUnanswered = "ping.unanswered"
    case versionOld = "version.old"
    case versionRecovery = "version.recovery"
    case versionWithoutCapability = "version.without-capability"
    case putBytesRefused = "putbytes.nack"
    case putBytesWrongCRC = "putbytes.wrong-crc"
    case blobDBBusy = "blobdb.busy"
    case blobDBFull = "blobdb.full"
    case blobDBStale = "blobdb.stale"
    case appMessageRefused = "appmessage.nack"
    case appMessageSilent = "appmessage.silence"
    case appMessageBusy = "appmessage.busy"
    case appMessageInboxSmall = "appmessage.inbox-small"
}

/// Faults of the watch itself. ``FaultDefinition/all`` says what each does.
public enum WatchFault: String, Hashable, Sendable, CaseIterable {
    case appCrashes = "app.crash"
    case appSlow = "app.slow"
    case reboot = "watch.reboot"
    case factoryReset = "watch.factory-reset"
    case battery = "watch.battery"
    case clockJump = "watch.clock-jump"
    case timeZone = "watch.time-zone"
    case memoryShort = "watch.memory-short"
    case buttonStuck = "watch.button-stuck"
    case addressRotates = "watch.address-rotates"
    case bondForgotten = "bond.forgotten"
    case databaseChanged = "gatt.database-changed"
    case storageFull = "storage.full"
    case storageSlow = "storage.slow"
    case storageReadOnly = "storage.read-only"
    case storageCorrupt = "storage.corrupt-row"
}
