import BluetoothHCI
import BluetoothHost
import PebbleProtocol
import PebbleWatch

// The controller, the air and the links, for programs.

extension ControlEvents.Started {
    init(_ capabilities: ControllerCapabilities) {
        self.init(
            hciVersion: capabilities.version.map { "\($0.hciVersion)" },
            bufferCount: capabilities.aclPacketCount,
            bufferLength: capabilities.aclDataLength,
            advertisingSetCount: capabilities.advertisingSetCount
        )
    }
}

extension ControlEvents.Failed {
    init(_ failure: StartUpFailure) {
        switch failure {
        case .commandFailed(let opcode, let status):
            self.init(reason: "\(failure)", command: "\(opcode)", status: Int(status.rawValue))
        case .malformedAnswer(let opcode, _), .notAnswering(let opcode):
            self.init(reason: "\(failure)", command: "\(opcode)")
        case .noDataBuffers: self.init(reason: "\(failure)")
        }
    }
}

extension ControlEvents.Advertising {
    init(_ onAir: OnAir, at now: Duration) {
        advertisements = onAir.entries.map { .init(advertisement: .init($0, at: now)) }
        silence = onAir.silence.map {
            switch $0 {
            case .controllerNotReady: "controller-not-ready"
            case .connected: "connected"
            case .changingAddress: "changing-address"
            }
        }
    }
}

extension ControlEvents.Phone {
    init(_ phone: LEAddress) { self.init(phone: "\(phone.address)", addressType: "\(phone.type)") }
}

extension ControlEvents.PHYs {
    init(_ phys: LinkPHYs) {
        self.init(transmitPHY: phys.transmit.controlName, receivePHY: phys.receive.controlName)
    }
}

extension ControlEvents.Reason {
    init(_ status: HCIStatus) { self.init(reason: "\(status)", status: Int(status.rawValue)) }
}

extension RecoveryEvent {
    var control: ControlEventFields {
        switch self {
        case .linkEnded(let disconnection): .init(.linkEnded, ControlEvents.LinkEnded(disconnection))
        case .phoneIsBack(let phone, let absence):
            .init(.phoneBack, ControlEvents.PhoneBack(phone: .init(phone), absenceSeconds: absence.inSeconds))
        case .controllerRestarting(let reason):
            .init(.controllerRestarting, ControlEvents.ControllerRestarting(reason))
        case .controllerLost: .init(.controllerLost, ControlEvents.Nothing())
        case .transportGivenUp(let connection, let reason):
            .init(
                .transportGivenUp,
                ControlEvents.ReasonOnLink(connection: Int(connection.rawValue), reason: "\(reason)")
            )
        case .transportStalled(let connection):
            .init(.transportStalled, ControlEvents.OnLink(connection, ControlEvents.Nothing()))
        case .churning(true):
            .init(
                .churning,
                ControlEvents.Churning(
                    endedLinks: LinkChurn.limit,
                    withinSeconds: LinkChurn.window.inSeconds,
                    intervalMilliseconds: LinkChurn.shortestInterval.duration.inMilliseconds
                )
            )
        case .churning(false): .init(.churned, ControlEvents.Nothing())
        case .strangersTurnedAway: .init(.strangers, ControlEvents.Nothing())
        case .strangersGone(let count): .init(.strangersGone, ControlEvents.Count(count: count))
        }
    }
}

extension ControlEvents.ControllerRestarting {
    fileprivate init(_ reason: RestartReason) {
        switch reason {
        case .hardwareError(let code): self.init(reason: "\(reason)", code: Int(code))
        case .commandTimeout(let opcode): self.init(reason: "\(reason)", command: "\(opcode)")
        case .unexpectedReset: self.init(reason: "\(reason)")
        }
    }
}

extension ControlEvents.LinkEnded {
    fileprivate init(_ disconnection: Disconnection) {
        self.init(
            phone: .init(disconnection.phone),
            reason: .init(disconnection.reason),
            linkSeconds: disconnection.linkDuration.inSeconds,
            remedy: "\(disconnection.remedy)"
        )
        switch disconnection.cause {
        case .transport(let reason)?:
            cause = "transport"
            transport = "\(reason)"
        case .noResponse?: cause = "no-response"
        case .command?: cause = "command"
        case .forgotten?: cause = "forgotten"
        case .replaced?: cause = "replaced"
        case .keyRejected?: cause = "key-rejected"
        case .tenure(let end)?:
            cause = "tenure"
            tenure = "\(end)"
        case .restart(let why)?:
            cause = "restart"
            restart = why.controlName
        case .switchedOff?: cause = "switched-off"
        case .busy?: cause = "busy"
        case .firmwareGone?: cause = "firmware-gone"
        case nil: break
        }
        if case .advertises(let purpose, let interval) = disconnection.remedy {
            role = purpose.rawValue
            intervalMilliseconds = interval.duration.inMilliseconds
        }
    }
}

extension ControlEvents.OnLink {
    init(_ connection: ConnectionHandle, _ details: Details) {
        self.init(connection: Int(connection.rawValue), details: details)
    }
}

extension LinkEvent {
    func control(of connection: ConnectionHandle) -> ControlEventFields {
        func event(_ variant: ControlLinkEvent, _ details: some ControlObject) -> ControlEventFields {
            ControlEventFields(variant, ControlEvents.OnLink(connection, details))
        }
        switch self {
        case .dataLength(let transmit, let receive):
            return event(
                .dataLength,
                ControlEvents.DataLength(transmitOctets: Int(transmit.octets), receiveOctets: Int(receive.octets))
            )
        case .phys(let phys):
            return event(.phys, ControlEvents.PHYs(phys))
        case .phyRefused(let status): return event(.phyRefused, ControlEvents.Reason(status))
        case .mtu(let mtu): return event(.mtu, ControlEvents.MTU(mtu: Int(mtu)))
        case .parameters(let interval, let latency, let timeout, let subrating):
            return event(
                .parameters,
                ControlEvents.Parameters(
                    intervalMilliseconds: interval.duration.inMilliseconds,
                    latency: Int(latency),
                    supervisionTimeoutMilliseconds: timeout.duration.inMilliseconds,
                    subrateFactor: Int(subrating.factor),
                    continuationNumber: Int(subrating.continuationNumber)
                )
            )
        case .responseTime(let responseTime, let consumers):
            return event(
                .responseTime,
                ControlEvents.ResponseTime(responseTime: "\(responseTime)", consumers: consumers.map(\.rawValue))
            )
        case .requested(let parameters, let attempt):
            return event(
                .requested,
                ControlEvents.ParametersRequested(attempt: Int(attempt), parameters: .init(parameters))
            )
        case .refused(let failure):
            guard case .controller(let status) = failure else {
                return event(.refused, ControlEvents.ParametersRefused(reason: "\(failure)"))
            }
            return event(
                .refused,
                ControlEvents.ParametersRefused(reason: "\(status)", status: Int(status.rawValue))
            )
        case .notRequested(let parameters, let violation):
            return event(
                .notRequested,
                ControlEvents.ParametersNotRequested(reason: "\(violation)", parameters: .init(parameters))
            )
        case .gaveUp(let responseTime, let attempts):
            return event(
                .gaveUp,
                ControlEvents.GaveUp(responseTime: "\(responseTime)", attempts: Int(attempts))
            )
        case .phoneManages(let isPhone):
            return event(.phoneManages, ControlEvents.PhoneManages(phoneManages: isPhone))
        }
    }
}

extension ControlEvents.WantedParameters {
    fileprivate init(_ parameters: ConnectionParameters) {
        self.init(
            intervalMinimumMilliseconds: parameters.intervalMinimum.duration.inMilliseconds,
            intervalMaximumMilliseconds: parameters.intervalMaximum.duration.inMilliseconds,
            latency: Int(parameters.latency),
            supervisionTimeoutMilliseconds: parameters.supervisionTimeout.duration.inMilliseconds
        )
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
    var control: ControlEventFields {
        switch self {
        case .battery(let percent, let isCharging):
            .init(
                ControlSensor.battery,
                ControlEvents.BatterySensed(percent: Int(percent), isCharging: isCharging)
            )
        case .tap(let axis, let direction):
            .init(ControlSensor.tap, ControlEvents.TapSensed(axis: "\(axis)", direction: Int(direction)))
        case .compass(let heading, let calibration):
            .init(
                ControlSensor.compass,
                ControlEvents.HeadingSensed(
                    degrees: Double(heading) * 360 / 0x10000,
                    heading: Int(heading),
                    calibration: "\(calibration)"
                )
            )
        case .accelerometer(let samples):
            .init(
                ControlSensor.accelerometer,
                ControlEvents.AccelerationSensed(
                    samples: samples.map { .init(x: Int($0.x), y: Int($0.y), z: Int($0.z)) }
                )
            )
        case .phoneConnection(let isConnected):
            .init(ControlSensor.phoneConnection, ControlEvents.PhoneConnectionSensed(isConnected: isConnected))
        case .timeFormat(let is24Hour):
            .init(ControlSensor.timeFormat, ControlEvents.TimeFormatSensed(is24Hour: is24Hour))
        case .timelinePeek(let isShown):
            .init(ControlSensor.timelinePeek, ControlEvents.TimelinePeekSensed(isShown: isShown))
        case .contentSize(let size):
            .init(ControlSensor.contentSize, ControlEvents.ContentSizeSensed(size: Int(size)))
        case .health(let metric, let value):
            .init(ControlSensor.health, ControlEvents.HealthSensed(metric: "\(metric)", value: Int(value)))
        case .heartRate(let rate, let quality):
            .init(
                ControlSensor.heartRate,
                ControlEvents.HeartRateSensed(beatsPerMinute: Int(rate), quality: Int(quality))
            )
        }
    }
}

extension Duration {
    /// To a hundredth.
    var inMilliseconds: Double { (self / .microseconds(10)).rounded() / 100 }
}
