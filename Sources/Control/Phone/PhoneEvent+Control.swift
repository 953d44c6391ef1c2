import BluetoothHCI
import BluetoothHost
import PebblePhone
import PebbleProtocol

extension PhoneControlEvent {
    /// The event for programs; nil for what only matters to a person who looks for a fault.
    /// - Parameter text: the event in words.
    package init?(_ event: PhoneEvent, text: String, at now: Duration) {
        guard let (name, fields) = event.control else { return nil }
        self.init(name, fields.values, text, at: now)
    }
}

extension PhoneEvent {
    /// What programs are told: the event's name, and its fields, of the type that the name's declaration has.
    var control: (name: PhoneControlEventName, fields: any ControlObject)? {
        switch self {
        case .ready: (.ready, ControlEvents.Nothing())
        case .failed(let reason): (.failed, PhoneControlEvents.Why(reason: reason))
        case .controllerLost(let reason): (.controllerLost, PhoneControlEvents.Why(reason: reason))
        case .scanning: (.scanning, ControlEvents.Nothing())
        case .watchHeard(let sighting): (.watchHeard, PhoneControlStatus.Sighting(sighting))
        case .watchFound(let sighting): (.watchFound, PhoneControlStatus.Sighting(sighting))
        case .connecting(let watch): (.connecting, PhoneControlEvents.Watch(watch))
        case .connected(let watch): (.connected, PhoneControlEvents.Watch(watch))
        case .connectionFailed(let watch, let status):
            (
                .connectionFailed,
                PhoneControlEvents.ConnectionFailed(watch: "\(watch.address)", reason: .init(status))
            )
        case .linkParametersChanged(let interval, let latency, let timeout):
            (
                .linkParameters,
                PhoneControlEvents.Parameters(
                    intervalMilliseconds: interval.duration.inMilliseconds,
                    latency: Int(latency),
                    timeoutMilliseconds: timeout.duration.inMilliseconds
                )
            )
        case .disconnected(let reason): (.disconnected, ControlEvents.Reason(reason))
        case .dropped(let watch): (.dropped, PhoneControlEvents.Watch(watch))
        case .mtuAgreed(let mtu): (.mtu, PhoneControlEvents.MTU(mtu: mtu))
        case .databaseDiscovered(let watch):
            (
                .databaseDiscovered,
                PhoneControlEvents.Database(services: watch.services.count, attributes: watch.attributeCount)
            )
        case .deviceInformation(let information):
            (.deviceInformation, PhoneControlEvents.Information(information))
        case .connectivity(let status): (.connectivity, PhoneControlEvents.Connectivity(status))
        case .batteryLevel(let percent): (.battery, PhoneControlEvents.Battery(percent: Int(percent)))
        case .pairingQuestion(let kind), .pairingPrompt(let kind): (.pairingQuestion, PhoneControlStatus.Question(kind))
        case .pairingWanted: (.pairingWanted, ControlEvents.Nothing())
        case .bonded(let bond): (.bonded, PhoneControlEvents.Watch(bond.identity))
        case .paired(let summary):
            (
                .paired,
                PhoneControlEvents.Paired(
                    model: "\(summary.model)",
                    isAuthenticated: summary.isAuthenticated,
                    isBonded: summary.bondedIdentity != nil
                )
            )
        case .pairingFailed(let reason): (.pairingFailed, PhoneControlEvents.Why(reason: reason))
        case .securityChanged(let security): (.security, PhoneControlEvents.Security(security))
        case .transportOpened(let transport, let session):
            (
                .transportOpened,
                PhoneControlEvents.Transport {
                    $0.transport = transport.rawValue
                    $0.version = Int(session.version.rawValue)
                    $0.transmitWindow = Int(session.transmitWindow)
                    $0.receiveWindow = Int(session.receiveWindow)
                }
            )
        case .streamOpened(let spsm):
            (
                .transportOpened,
                PhoneControlEvents.Transport {
                    $0.transport = PhoneTransport.stream.rawValue
                    $0.psm = Int(spsm.rawValue)
                }
            )
        case .transportClosed(let reason): (.transportClosed, PhoneControlEvents.Why(reason: reason))
        case .message(let direction, let message):
            (
                .message,
                PhoneControlEvents.Message(
                    isFromWatch: direction == .fromWatch,
                    endpoint: Int(message.endpoint.rawValue),
                    name: "\(message.endpoint)",
                    length: message.payload.count
                )
            )
        case .watchVersion(let version):
            (
                .watchVersion,
                PhoneControlStatus.Watch(
                    board: version.board,
                    firmware: version.running.versionTag,
                    serialNumber: version.serialNumber
                )
            )
        case .watchColor(let color): (.watchColor, PhoneControlEvents.Color(color: color.map { "\($0)" }))
        case .timeSet(let time):
            (.timeSet, PhoneControlEvents.Time(secondsSince1970: time.seconds, zone: time.zoneName))
        case .runningApp(let app): (.runningApp, PhoneControlEvents.App(app: "\(app)"))
        case .negotiated: (.session, ControlEvents.Nothing())
        case .negotiationFailed(let failure): (.sessionFailed, PhoneControlEvents.Why(reason: "\(failure)"))
        case .pong(_, let delay): (.pong, PhoneControlAnswers.Pong(milliseconds: delay.inMilliseconds))
        case .pingTimedOut: (.pingTimedOut, ControlEvents.Nothing())
        case .appMessageReceived(let push):
            (.appMessageReceived, ControlEvents.AppMessageReceived(push.application, push.dictionary))
        case .appMessageEnded(let id, let outcome, let delay):
            (
                .appMessageEnded,
                PhoneControlEvents.MessageEnded(
                    transaction: Int(id.rawValue),
                    outcome: "\(outcome)",
                    milliseconds: delay.inMilliseconds
                )
            )
        case .phoneVersionSent, .diagnostic: nil
        }
    }
}

extension PhoneControlEvents.Watch {
    fileprivate init(_ watch: LEAddress) { self.watch = "\(watch.address)" }
}

extension PhoneControlEvents.Information {
    fileprivate init(_ information: DeviceInformation) {
        manufacturer = information.manufacturerName
        model = information.modelNumber
        serialNumber = information.serialNumber
        firmware = information.firmwareRevision
        hardware = information.hardwareRevision
        software = information.softwareRevision
    }
}

extension PhoneControlEvents.Connectivity {
    fileprivate init(_ status: ConnectivityStatus) {
        isBonded = status.isBonded
        isEncrypted = status.isEncrypted
        hasGateway = status.hasGateway
        isReversedPPoGATT = status.isReversedPPoGATT
        lastPairingResult = Int(status.lastPairingResult)
    }
}

extension PhoneControlEvents.Security {
    fileprivate init(_ security: LinkSecurity) {
        isEncrypted = security.isEncrypted
        isAuthenticated = security.isAuthenticated
        isBonded = security.isBonded
        keySize = security.keySize
    }
}
