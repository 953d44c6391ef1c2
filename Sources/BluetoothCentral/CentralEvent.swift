import BluetoothHCI
import BluetoothHost

/// What a central reports to its application.
public enum CentralEvent: Sendable {
    /// The controller has been started, or started again.
    case ready(ControllerCapabilities)
    /// The controller cannot be used. All requests have ended.
    case failed(StartUpFailure)
    /// A request has ended: each does once.
    case ended(CentralRequestID, Result<CentralResponse, CentralError>)
    /// A peripheral notified or indicated a value; indications have been confirmed.
    case valueReceived(RemotePeripheral.ID, RemoteValue)
    /// A connection that `connect` made is gone, and why.
    case disconnected(RemotePeripheral.ID, HCIStatus)
    /// A pairing needs a person: call `Central.answer`.
    case prompt(PairingPrompt)
    /// A bond is new, or replaces another: store it, and call `Central.bondStored` if the configuration says so.
    case bonded(Bond)
    /// The host has something for the log.
    case notice(HostNotice)
}

/// A value that a peripheral sent by itself.
public struct RemoteValue: Hashable, Sendable {
    /// The handle of the characteristic's value: `RemoteCharacteristic.handle`.
    public let handle: AttributeHandle
    /// The value; of a notification only as much as fits into the MTU.
    public let bytes: [UInt8]
}

/// Tells one request from every other.
public struct CentralRequestID: Hashable, Sendable {
    let number: UInt64
}

/// What a request of a central came to.
public enum CentralResponse: Hashable, Sendable {
    /// `Central.find`: the first advertiser that was wanted.
    case found(ScanResult)
    /// `Central.scan`: every advertiser that was heard, in the order in which they were; the latest 256.
    case scanned([ScanResult])
    /// `Central.connect`: the peripheral, with its database.
    case connected(RemotePeripheral)
    /// `Central.read`: the whole value.
    case value([UInt8])
    /// `Central.write` and `Central.subscribe`: the peripheral has taken what was written, or the Write Command is queued.
    case written
    /// `Central.secure`: the link is encrypted.
    case secured(LinkSecurity)
    /// `Central.disconnect`: the connection is gone.
    case disconnected
}

/// Why a request of a central failed.
public enum CentralError: Error, Equatable, Sendable {
    /// The controller cannot be used.
    case controllerFailed(StartUpFailure)
    /// The controller does not listen for advertisements.
    case scanningFailed(HCIStatus)
    /// No advertiser that was wanted was heard in time.
    case notFound
    /// The peripheral was not connected to, or its database not discovered, in time.
    case timedOut
    /// The controller could not connect.
    case connectionFailed(HCIStatus)
    /// The connection is gone, and why; nil if it was gone before the request was made.
    case disconnected(HCIStatus?)
    /// The peripheral has no service of this type.
    case noSuchService(BluetoothUUID)
    /// The service has no characteristic of this type.
    case noSuchCharacteristic(BluetoothUUID)
    /// The characteristic has no Client Characteristic Configuration.
    case cannotSubscribe(BluetoothUUID)
    /// The procedure did not reach its end: the peripheral refused it or did not answer, for example.
    case procedure(GATTProcedureError)
    /// The procedure could not be started.
    case notStarted(GATTError)
    /// This central does not pair: its configuration has no security.
    case doesNotPair
    /// Pairing could not be started.
    case pairingNotStarted(SecurityRefusal)
    /// A pairing failed.
    case pairingFailed(PairingFailure)
    /// The link could not be encrypted with the bond's key; `.pinOrKeyMissing` says that the peripheral has lost it.
    case encryptionFailed(HCIStatus)
    /// `Central.cancel` ended the request.
    case cancelled
}

extension CentralError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .controllerFailed(let failure): "the controller cannot be used: \(failure)"
        case .scanningFailed(let status): "the controller does not scan: \(status)"
        case .notFound:
            "no such peripheral advertised in time: is it switched on, near, and not connected to another device?"
        case .timedOut: "the peripheral did not connect in time: is it still near, and not connected to another device?"
        case .connectionFailed(let status): "the controller could not connect: \(status)"
        case .disconnected(let status?): "the peripheral is disconnected: \(status)"
        case .disconnected(nil): "the peripheral is not connected any more"
        case .noSuchService(let uuid): "the peripheral has no service \(uuid)"
        case .noSuchCharacteristic(let uuid): "the service has no characteristic \(uuid)"
        case .cannotSubscribe(let uuid): "the characteristic \(uuid) has no Client Characteristic Configuration"
        case .procedure(let error): "\(error)"
        case .notStarted(let error): "\(error)"
        case .doesNotPair: "this central does not pair: its configuration has no security"
        case .pairingNotStarted(let refusal): "pairing could not be started: \(refusal.reason)"
        case .pairingFailed(let failure): "pairing failed: \(failure)"
        case .encryptionFailed(let status): "the link could not be encrypted with the bond's key: \(status)"
        case .cancelled: "the request was cancelled"
        }
    }
}

extension SecurityRefusal {
    /// What it means to the owner of a central.
    fileprivate var reason: String {
        switch self {
        case .unknownConnection: "the connection is gone"
        case .wrongRole: "only the central of a connection pairs"
        case .busy: "a pairing or an encryption is going on"
        case .timedOut: "a pairing on this connection timed out; connect again first"
        case .tooSoon(let time): "the last one with this peripheral failed; not before \(time)"
        case .notPairable: "this device may not be paired with now"
        case .noKey: "there is no key for this peripheral"
        }
    }
}
