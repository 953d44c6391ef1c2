import BluetoothHCI
import BluetoothHost
import PebbleProtocol
import PebbleWatch

extension ControlStatus {
    /// The same for programs.
    package init(_ status: WatchStatus, at now: Duration) {
        name = status.identity.name
        address = status.identity.address.address.description
        serialNumber = status.identity.serialNumber
        firmware = status.identity.firmware.description
        isReady = status.isReady
        air = "\(status.onAir)"
        advertisements = status.onAir.entries.map { Advertisement($0, at: now) }
        links = status.links.map { link in
            Link(
                connection: Int(link.connection.rawValue),
                phone: link.phone.address.description,
                isEncrypted: link.security.isEncrypted,
                isAuthenticated: link.security.isAuthenticated,
                isBonded: link.security.isBonded,
                mtu: link.mtu,
                services: link.services.map(\.rawValue)
            )
        }
        lastDisconnection = status.lastDisconnection.map { Disconnection($0, at: now) }
        lastStranger = status.lastStranger.map { Disconnection($0, at: now) }
        strangersTurnedAway = status.strangersTurnedAway
        sessions = status.sessions.map { session in
            Session(
                session: session.id.number,
                kind: "\(session.kind)",
                transport: "\(session.transport)",
                app: "\(session.application)"
            )
        }
        streams = status.streams.sorted { $0.key.rawValue < $1.key.rawValue }.map { stream, psm in
            Stream(stream: stream.rawValue, psm: Int(psm.rawValue))
        }
        phones = status.phones.map { phone in
            Phone(
                phone: phone.identity.address.description,
                isConnected: phone.isConnected,
                isStored: phone.isStored,
                isAuthenticated: phone.isAuthenticated
            )
        }
        pairing = Pairing(status.pairing, at: now)
        app = App(uuid: "\(status.runningApp.uuid)", name: status.runningApp.name)
        battery = Battery(percent: Int(status.sensors.batteryPercent), isCharging: status.sensors.isCharging)
        sensors = Sensors(status.sensors)
        heldButtons = WatchButton.allCases.filter(status.heldButtons.contains).map(\.rawValue)
        services = ControlServices(status.services)
        mirror = status.mirror.map { tally in
            Comparison(
                compared: Int(clamping: tally.compared),
                same: Int(clamping: tally.same),
                different: Int(clamping: tally.differentCount),
                withheld: Int(clamping: tally.withheld.values.reduce(0, &+)),
                lost: Int(clamping: tally.lost),
                waiting: Int(clamping: tally.waiting)
            )
        }
    }
}

extension ControlStatus.Advertisement {
    init(_ entry: OnAir.Entry, at now: Duration) {
        role = entry.role.rawValue
        intervalMilliseconds = entry.interval.duration / .milliseconds(1)
        address = entry.address.address.description
        data = entry.data.hexadecimal
        scanResponse = entry.scanResponse.hexadecimal
        reason = "\(entry.reason)"
        sinceSeconds = max(0, (now - entry.since).inSeconds)
        remainingSeconds = entry.remaining.map(\.inSeconds)
        nextIntervalMilliseconds = entry.next.map { $0.duration / .milliseconds(1) }
        turnSeconds = entry.turn.map(\.inSeconds)
        state =
            switch entry.state {
            case .onAir: "on-air"
            case .starting: "starting"
            case .waitingForTurn: "waiting"
            case .refused: "refused"
            }
        refusal = if case .refused(let status) = entry.state { "\(status)" } else { nil }
    }
}

extension ControlStatus.Disconnection {
    fileprivate init(_ disconnection: PebbleWatch.Disconnection, at now: Duration) {
        phone = disconnection.phone.address.description
        reason = "\(disconnection.reason)"
        cause = disconnection.cause.map { "\($0)" }
        secondsAgo = max(0, (now - disconnection.time).inSeconds)
        linkSeconds = disconnection.linkDuration.inSeconds
        remedy = "\(disconnection.remedy)"
        absenceSeconds = disconnection.absence?.inSeconds
    }
}

extension ControlStatus.Pairing {
    fileprivate init(_ pairing: WatchStatus.Pairing, at now: Duration) {
        mode = pairing.policy.mode.rawValue
        isBondable = pairing.isBondable
        isOpen = pairing.isOpen
        windowSeconds = pairing.windowEnd.map { max(0, ($0 - now).inSeconds) }
        waiting = pairing.waiting.map { waiting in
            ControlStatus.Waiting(
                connection: Int(waiting.connection.rawValue),
                phone: waiting.phone.address.description,
                question: waiting.question.name,
                number: waiting.question.number
            )
        }
        refused = pairing.refused.map { refused in
            ControlStatus.Refused(
                phone: refused.phone.address.description,
                reason: refused.reason.rawValue,
                secondsAgo: max(0, (now - refused.time).inSeconds),
                text: refused.description,
                advice: refused.advice
            )
        }
    }
}

extension ControlStatus.Sensors {
    fileprivate init(_ sensors: WatchSensors) {
        taps = sensors.tapCount
        lastTap = sensors.lastTap.map { "\($0.axis)\($0.direction < 0 ? "-" : "+")" }
        compassDegrees = sensors.heading.map { Double($0.angle) * 360 / 0x10000 }
        acceleration = sensors.acceleration.map { [Int($0.x), Int($0.y), Int($0.z)] }
        is24Hour = sensors.is24HourStyle
        showsTimelinePeek = sensors.showsTimelinePeek
        contentSize = Int(sensors.contentSize)
        phoneConnection = sensors.phoneConnectionOverride
        heartRate = sensors.heartRate.map { Int($0.beatsPerMinute) }
    }
}

extension PairingPrompt.Kind {
    /// The question by name.
    var name: String {
        switch self {
        case .confirmPairing: "confirm"
        case .numericComparison: "compare"
        case .displayPasskey: "show"
        case .requestPasskey: "type"
        }
    }

    /// What the watch's screen shows with it.
    var number: String? {
        switch self {
        case .confirmPairing, .requestPasskey: nil
        case .numericComparison(let value): value.digits
        case .displayPasskey(let passkey): passkey.digits
        }
    }
}

extension ControlObject {
    /// As one line of JSON.
    package var json: String { String(decoding: JSONLine.bytes(self).dropLast(), as: UTF8.self) }
}
