import BluetoothHCI
import BluetoothHost
import ByteCoding
import PebbleProtocol

extension PhoneEvent: CustomStringConvertible {
    /// One line for a transcript.
    package var description: String {
        switch self {
        case .ready: "the controller is ready"
        case .failed(let reason): "the controller cannot be used: \(reason)"
        case .controllerLost(let reason): "the controller is lost: \(reason)"
        case .scanning: "looking for a watch"
        case .watchHeard(let sighting): "heard \(sighting)"
        case .watchFound(let sighting): "found \(sighting)"
        case .connecting(let watch): "connecting to \(watch)"
        case .connected(let watch): "connected to \(watch)"
        case .connectionFailed(let watch, let status): "no connection to \(watch): \(status)"
        case .linkParametersChanged(let interval, let latency, let timeout):
            "the link now has an interval of \(interval), a latency of \(latency) and a timeout of \(timeout)"
        case .disconnected(let reason): "disconnected: \(reason)"
        case .dropped(let watch): "left the link to \(watch) without a word"
        case .mtuAgreed(let mtu): "ATT MTU \(mtu)"
        case .databaseDiscovered(let watch):
            "discovered \(watch.services.count) services, \(watch.attributeCount) attributes"
        case .deviceInformation(let information): "\(information)"
        case .connectivity(let status): "\(status)"
        case .batteryLevel(let percent): "battery \(percent) %"
        case .pairingPrompt(let prompt): Self.describe(prompt)
        case .pairingQuestion(let question): Self.ask(question)
        case .pairingWanted: "the watch asks to be paired with"
        case .bonded(let bond): "has keys of \(bond.identity)"
        case .paired(let summary):
            "paired by \(summary.model), with an \(summary.isAuthenticated ? "" : "un")authenticated key"
        case .pairingFailed(let reason): "not paired: \(reason)"
        case .securityChanged(let security): Self.describe(security)
        case .transportOpened(let transport, let session):
            "PPoGATT open, \(transport.rawValue), version \(session.version.rawValue), "
                + "window \(session.transmitWindow) to the watch, \(session.receiveWindow) from it"
        case .streamOpened(let spsm): "the stream is open, PSM \(spsm)"
        case .transportClosed(let reason): "the Pebble transport is closed: \(reason)"
        case .message(.fromWatch, let message): "watch: \(message.endpoint), \(message.payload.count) bytes"
        case .message(.toWatch, let message): "phone: \(message.endpoint), \(message.payload.count) bytes"
        case .phoneVersionSent(let version): "told the watch what this phone is: \(version.platform.operatingSystem)"
        case .watchVersion(let version):
            "it is of board \(version.board), firmware \(version.running.versionTag), serial number \(version.serialNumber)"
        case .watchColor(let color): "its colour is \(color.map { "\($0)" } ?? "one without a name")"
        case .timeSet(let time): "set its clock to \(time.seconds) s since 1970, \(time.zoneName)"
        case .runningApp(let application): "it runs \(application)"
        case .negotiated: "the watch is connected"
        case .negotiationFailed(let failure): "the watch is not accepted: \(failure)"
        case .pong(_, let delay): "ping answered after \(Self.milliseconds(delay))"
        case .pingTimedOut: "ping not answered"
        case .appMessageReceived(let push): "AppMessage from \(push.application): \(push.dictionary)"
        case .appMessageEnded(let id, let outcome, let delay):
            "AppMessage \(id) \(outcome) after \(Self.milliseconds(delay))"
        case .diagnostic(let diagnostic): "\(diagnostic)"
        }
    }

    private static func milliseconds(_ duration: Duration) -> String {
        "\(Int64((duration / .milliseconds(1)).rounded())) ms"
    }

    private static func describe(_ prompt: PairingPrompt.Kind) -> String {
        switch prompt {
        case .confirmPairing: "asked whether to pair: yes"
        case .numericComparison(let value): "asked whether the watch shows \(value): yes"
        case .displayPasskey(let passkey): "to be typed into the watch: \(passkey)"
        case .requestPasskey: "asked for what the watch shows: there is nobody to type it"
        }
    }

    /// A passkey is for one person's eyes, and prints as no digits.
    private static func ask(_ question: PairingPrompt.Kind) -> String {
        switch question {
        case .confirmPairing: "is asked whether to pair"
        case .numericComparison(let value): "is asked whether the watch shows \(value)"
        case .displayPasskey(let passkey): "shows what is to be typed into the watch: \(passkey)"
        case .requestPasskey: "is asked for what the watch shows, and has no keys to type it"
        }
    }

    private static func describe(_ security: LinkSecurity) -> String {
        guard security.isEncrypted else { return "the link is not encrypted" }
        return "the link is encrypted with a\(security.isAuthenticated ? "n authenticated" : "") key of "
            + "\(security.keySize) bytes"
    }
}

extension WatchSighting: CustomStringConvertible {
    package var description: String {
        var parts = ["\(name ?? "a watch without a name") at \(address)"]
        if let advertisement {
            parts.append("serial number \(advertisement.serialNumber)")
            if let details = advertisement.details {
                let color = details.color.map { "\($0)" } ?? "colour \(details.colorNumber)"
                let platform = details.hardware.appPlatform?.rawValue ?? "hardware \(details.hardware.rawValue)"
                parts += [platform, color, "firmware \(details.firmware)"]
                if details.isInRecovery { parts.append("in recovery") }
            }
        }
        if let rssiDBm { parts.append("\(rssiDBm) dBm") }
        return parts.joined(separator: ", ")
    }
}

extension DeviceInformation: CustomStringConvertible {
    package var description: String {
        let fields: [(String, String?)] = [
            ("manufacturer", manufacturerName), ("model", modelNumber), ("serial number", serialNumber),
            ("firmware", firmwareRevision), ("hardware", hardwareRevision), ("software", softwareRevision),
        ]
        return fields.compactMap { name, value in value.map { "\(name) \"\($0)\"" } }.joined(separator: ", ")
    }
}
