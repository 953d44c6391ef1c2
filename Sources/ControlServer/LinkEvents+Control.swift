import BluetoothHCI
import BluetoothHost
import PebbleProtocol
import PebbleWatch

// The controller, the air and the links, for programs.

extension ControllerCapabilities {
    var controlFields: ControlFields {
        [
            "hciVersion": version.map { .text("\($0.hciVersion)") }, "bufferCount": .integer(aclPacketCount),
            "bufferLength": .integer(aclDataLength), "advertisingSetCount": .integer(advertisingSetCount),
        ]
    }
}

extension StartUpFailure {
    var controlFields: ControlFields {
        switch self {
        case .commandFailed(let opcode, let status):
            ["command": .text("\(opcode)"), "status": .integer(status.rawValue), "reason": .text("\(self)")]
        case .malformedAnswer(let opcode, _), .notAnswering(let opcode):
            ["command": .text("\(opcode)"), "reason": .text("\(self)")]
        case .noDataBuffers: ["reason": .text("\(self)")]
        }
    }
}

extension OnAir {
    func controlFields(at now: Duration) -> ControlFields {
        [
            "advertisements": .list(entries.map { .object($0.controlFields(at: now)) }),
            "silence": silence.map {
                switch $0 {
                case .controllerNotReady: .text("controller-not-ready")
                case .connected: .text("connected")
                case .changingAddress: .text("changing-address")
                }
            },
        ]
    }
}

extension OnAir.Entry {
    fileprivate func controlFields(at now: Duration) -> [String: ControlValue] {
        let entry = ControlStatus.Advertisement(self, at: now)
        let fields: ControlFields = [
            "role": .text(entry.role), "intervalMilliseconds": .number(entry.intervalMilliseconds),
            "address": .text(entry.address), "data": .text(entry.data), "scanResponse": .text(entry.scanResponse),
            "reason": .text(entry.reason), "remainingSeconds": entry.remainingSeconds.map { .number($0) },
            "nextIntervalMilliseconds": entry.nextIntervalMilliseconds.map { .number($0) },
            "turnSeconds": entry.turnSeconds.map { .number($0) }, "state": .text(entry.state),
            "refusal": entry.refusal.map { .text($0) },
        ]
        return fields.compactMapValues(\.self)
    }
}

extension RecoveryEvent {
    var controlName: ControlEventName {
        switch self {
        case .linkEnded: .linkEnded
        case .phoneIsBack: .phoneBack
        case .controllerRestarting: .controllerRestarting
        case .controllerLost: .controllerLost
        case .transportGivenUp: .transportGivenUp
        case .transportStalled: .transportStalled
        case .churning(true): .churning
        case .churning(false): .churned
        case .strangersTurnedAway: .strangers
        case .strangersGone: .strangersGone
        }
    }

    var controlFields: ControlFields {
        switch self {
        case .linkEnded(let disconnection): return disconnection.controlFields
        case .phoneIsBack(let phone, let absence):
            return ["absenceSeconds": .seconds(absence)].adding(phone)
        case .controllerRestarting(let reason):
            var fields: ControlFields = ["reason": .text("\(reason)")]
            switch reason {
            case .hardwareError(let code): fields["code"] = .integer(code)
            case .commandTimeout(let opcode): fields["command"] = .text("\(opcode)")
            case .unexpectedReset: break
            }
            return fields
        case .transportGivenUp(let connection, let reason):
            return ["connection": .of(connection), "reason": .text("\(reason)")]
        case .transportStalled(let connection): return ["connection": .of(connection)]
        case .churning(true):
            return [
                "endedLinks": .integer(LinkChurn.limit), "withinSeconds": .seconds(LinkChurn.window),
                "intervalMilliseconds": .milliseconds(LinkChurn.shortestInterval.duration),
            ]
        case .strangersGone(let count): return ["count": .integer(count)]
        case .controllerLost, .churning(false), .strangersTurnedAway: return [:]
        }
    }
}

extension Disconnection {
    fileprivate var controlFields: ControlFields {
        var fields: ControlFields = ["linkSeconds": .seconds(linkDuration), "remedy": .text("\(remedy)")]
        switch cause {
        case .transport(let reason)?:
            fields["cause"] = .text("transport")
            fields["transport"] = .text("\(reason)")
        case .noResponse?: fields["cause"] = .text("no-response")
        case .command?: fields["cause"] = .text("command")
        case .forgotten?: fields["cause"] = .text("forgotten")
        case .replaced?: fields["cause"] = .text("replaced")
        case .keyRejected?: fields["cause"] = .text("key-rejected")
        case .tenure(let end)?:
            fields["cause"] = .text("tenure")
            fields["tenure"] = .text("\(end)")
        case .restart(let restart)?:
            fields["cause"] = .text("restart")
            fields["restart"] = .text(restart.controlName)
        case .switchedOff?: fields["cause"] = .text("switched-off")
        case nil: break
        }
        if case .advertises(let role, let interval) = remedy {
            fields["role"] = .text(role.rawValue)
            fields["intervalMilliseconds"] = .milliseconds(interval.duration)
        }
        return fields.adding(phone).adding(reason)
    }
}

extension LinkEvent {
    /// What changed stands in `name`.
    var controlFields: ControlFields {
        switch self {
        case .dataLength(let transmit, let receive):
            [
                "name": .text("data-length"), "transmitOctets": .integer(transmit.octets),
                "receiveOctets": .integer(receive.octets),
            ]
        case .phys(let phys):
            [
                "name": .text("phys"), "transmitPHY": .text(phys.transmit.controlName),
                "receivePHY": .text(phys.receive.controlName),
            ]
        case .phyRefused(let status): ["name": .text("phy-refused")].adding(status)
        case .mtu(let mtu): ["name": .text("mtu"), "mtu": .integer(mtu)]
        case .parameters(let interval, let latency, let timeout):
            [
                "name": .text("parameters"), "intervalMilliseconds": .milliseconds(interval.duration),
                "latency": .integer(latency), "supervisionTimeoutMilliseconds": .milliseconds(timeout.duration),
            ]
        case .responseTime(let responseTime, let consumers):
            [
                "name": .text("response-time"), "responseTime": .text("\(responseTime)"),
                "consumers": .list(consumers.map { .text($0.rawValue) }),
            ]
        case .requested(let parameters, let attempt):
            ["name": .text("requested"), "attempt": .integer(attempt)]
                .merging(parameters.controlFields) { $1 }
        case .refused(let failure):
            if case .controller(let status) = failure {
                ["name": .text("refused")].adding(status)
            } else {
                ["name": .text("refused"), "reason": .text("\(failure)")]
            }
        case .notRequested(let parameters, let violation):
            ["name": .text("not-requested"), "reason": .text("\(violation)")]
                .merging(parameters.controlFields) { $1 }
        case .gaveUp(let responseTime, let attempts):
            [
                "name": .text("gave-up"), "responseTime": .text("\(responseTime)"),
                "attempts": .integer(attempts),
            ]
        case .phoneManages(let isPhone): ["name": .text("phone-manages"), "phoneManages": .flag(isPhone)]
        }
    }
}

extension ConnectionParameters {
    fileprivate var controlFields: ControlFields {
        [
            "intervalMinimumMilliseconds": .milliseconds(intervalMinimum.duration),
            "intervalMaximumMilliseconds": .milliseconds(intervalMaximum.duration), "latency": .integer(latency),
            "supervisionTimeoutMilliseconds": .milliseconds(supervisionTimeout.duration),
        ]
    }
}

extension PHY {
    fileprivate var controlName: String {
        switch self {
        case .le1M: "1M"
        case .le2M: "2M"
        case .leCoded: "coded"
        }
    }
}

extension SensorReading {
    /// Which sensor it is stands in `name`.
    var controlFields: ControlFields {
        switch self {
        case .battery(let percent, let isCharging):
            ["name": .text("battery"), "percent": .integer(percent), "isCharging": .flag(isCharging)]
        case .tap(let axis, let direction):
            ["name": .text("tap"), "axis": .text("\(axis)"), "direction": .integer(direction)]
        case .compass(let heading, let calibration):
            [
                "name": .text("compass"), "degrees": .number(Double(heading) * 360 / 0x10000),
                "heading": .integer(heading), "calibration": .text("\(calibration)"),
            ]
        case .accelerometer(let samples):
            [
                "name": .text("accelerometer"),
                "samples": .list(
                    samples.map { .object(["x": .integer($0.x), "y": .integer($0.y), "z": .integer($0.z)]) }
                ),
            ]
        case .phoneConnection(let isConnected):
            ["name": .text("phone-connection"), "isConnected": .flag(isConnected)]
        case .timeFormat(let is24Hour): ["name": .text("time-format"), "is24Hour": .flag(is24Hour)]
        case .timelinePeek(let isShown): ["name": .text("timeline-peek"), "isShown": .flag(isShown)]
        case .contentSize(let size): ["name": .text("content-size"), "size": .integer(size)]
        case .health(let metric, let value):
            ["name": .text("health"), "metric": .text("\(metric)"), "value": .integer(value)]
        case .heartRate(let rate, let quality):
            [
                "name": .text("heart-rate"), "beatsPerMinute": .integer(rate), "quality": .integer(quality),
            ]
        }
    }
}
