import BluetoothHCI
import ByteCoding

/// The commands that start a controller, one at a time: which comes next depends on the answers to those before it.
struct StartUp: Sendable {
    private enum Step: Int, CaseIterable {
        case reset
        case version
        case commands
        case linkManagerFeatures
        case publicAddress
        case features
        case eventMask
        case leEventMask
        case leHostSupport
        case leBufferSize
        case bufferSize
        case states
        case maximumDataLength
        case suggestedDataLength
        case advertisingDataLength
        case advertisingSetCount
        case filterAcceptListSize
        case resolvingListSize
        case defaultPHY
        case subratingSupport
        case randomAddress
    }

    /// What the controller has said so far.
    private(set) var capabilities = ControllerCapabilities()
    private var step: Step? = .reset
    private let wantedAddress: LEAddress
    private let spareAddress: DeviceAddress
    private let defaultPHY: PHYPreferences?
    private let quirks: ControllerQuirks

    /// - Parameters:
    ///   - ownAddress: the address to be known by; the controller decides the value of a public one.
    ///   - spareAddress: a static random address to use if the controller has no public one.
    ///   - defaultPHY: which PHYs new connections should use; nil to leave that to the controller.
    ///   - quirks: where controllers are not what they say.
    init(
        ownAddress: LEAddress,
        spareAddress: DeviceAddress,
        defaultPHY: PHYPreferences?,
        quirks: ControllerQuirks
    ) {
        wantedAddress = ownAddress
        self.spareAddress = spareAddress
        self.defaultPHY = defaultPHY
        self.quirks = quirks
    }

    /// The address that the host is known by.
    var ownAddress: LEAddress {
        guard wantedAddress.type.withoutIdentity == .public else { return .random(wantedAddress.address) }
        return capabilities.publicAddress.map(LEAddress.public) ?? .random(spareAddress)
    }

    /// The events that the host wants of the first page.
    private static let eventMask: EventMask = [
        .disconnectionComplete, .encryptionChange, .readRemoteVersionInformationComplete, .hardwareError,
        .dataBufferOverflow, .encryptionKeyRefreshComplete, .leMeta,
    ]

    /// Connection Subrating (Host Support), as LE Set Host Feature numbers it.
    private static let subratingSupportBit = UInt8(
        LEFeatures.connectionSubratingHostSupport.rawValue.trailingZeroBitCount
    )

    /// The command to send next; nil when all is said.
    func command() -> OutgoingCommand? {
        switch step {
        case .reset: OutgoingCommand(Reset())
        case .version: OutgoingCommand(ReadLocalVersionInformation())
        case .commands: OutgoingCommand(ReadLocalSupportedCommands())
        case .linkManagerFeatures: OutgoingCommand(ReadLocalSupportedFeatures())
        case .publicAddress: OutgoingCommand(ReadBDADDR())
        case .features: OutgoingCommand(LEReadLocalSupportedFeatures())
        case .eventMask: OutgoingCommand(SetEventMask(mask: Self.eventMask))
        case .leEventMask: OutgoingCommand(LESetEventMask(mask: capabilities.eventMask))
        case .leHostSupport: OutgoingCommand(WriteLEHostSupport(isSupported: true, simultaneousHost: 0))
        case .leBufferSize: OutgoingCommand(LEReadBufferSize())
        case .bufferSize: OutgoingCommand(ReadBufferSize())
        case .states: OutgoingCommand(LEReadSupportedStates())
        case .maximumDataLength: OutgoingCommand(LEReadMaximumDataLength())
        case .suggestedDataLength:
            OutgoingCommand(LEWriteSuggestedDefaultDataLength(transmit: capabilities.maximumTransmitLength))
        case .advertisingDataLength: OutgoingCommand(LEReadMaximumAdvertisingDataLength())
        case .advertisingSetCount: OutgoingCommand(LEReadNumberOfSupportedAdvertisingSets())
        case .filterAcceptListSize: OutgoingCommand(LEReadFilterAcceptListSize())
        case .resolvingListSize: OutgoingCommand(LEReadResolvingListSize())
        case .defaultPHY: defaultPHY.map { OutgoingCommand(LESetDefaultPHY(preferences: $0)) }
        case .subratingSupport:
            OutgoingCommand(LESetHostFeature(bit: Self.subratingSupportBit, isSupported: true))
        case .randomAddress: OutgoingCommand(LESetRandomAddress(address: ownAddress.address))
        case nil: nil
        }
    }

    /// Whether a step makes sense with this controller.
    private func isNeeded(_ step: Step) -> Bool {
        let commands = capabilities.commands
        switch step {
        case .reset, .version, .commands, .features, .eventMask, .leEventMask, .leBufferSize: return true
        case .linkManagerFeatures: return commands.contains(ReadLocalSupportedFeatures.id)
        case .publicAddress: return commands.contains(ReadBDADDR.id)
        case .leHostSupport: return capabilities.isDualMode && commands.contains(WriteLEHostSupport.id)
        // Zero says that LE shares the buffers of BR/EDR (Core 5.4, Vol 4, Part E, 7.8.2).
        case .bufferSize: return capabilities.aclDataLength == 0 || capabilities.aclPacketCount == 0
        case .states: return commands.contains(LEReadSupportedStates.id)
        case .maximumDataLength:
            return capabilities.supportsDataLengthExtension && commands.contains(LEReadMaximumDataLength.id)
        case .suggestedDataLength:
            return capabilities.maximumTransmitLength != .minimum
                && commands.contains(LEWriteSuggestedDefaultDataLength.id)
        case .advertisingDataLength:
            return capabilities.usesExtendedCommands && commands.contains(LEReadMaximumAdvertisingDataLength.id)
        case .advertisingSetCount:
            return capabilities.usesExtendedCommands && commands.contains(LEReadNumberOfSupportedAdvertisingSets.id)
        case .filterAcceptListSize: return commands.contains(LEReadFilterAcceptListSize.id)
        case .resolvingListSize: return commands.contains(LEReadResolvingListSize.id)
        case .defaultPHY: return defaultPHY != nil && commands.contains(LESetDefaultPHY.id)
        case .subratingSupport: return capabilities.supportsSubrating
        case .randomAddress: return ownAddress.type == .random
        }
    }

    /// Whether a host can do without what a step was to bring.
    private static func isOptional(_ step: Step) -> Bool {
        switch step {
        case .reset, .commands, .features, .eventMask, .leEventMask, .leBufferSize, .bufferSize, .randomAddress: false
        case .version, .linkManagerFeatures, .publicAddress, .leHostSupport, .states, .maximumDataLength,
            .suggestedDataLength, .advertisingDataLength, .advertisingSetCount, .filterAcceptListSize,
            .resolvingListSize, .defaultPHY, .subratingSupport:
            true
        }
    }

    /// Takes the answer to the last command and goes on to the next step.
    /// - Returns: what is worth a warning, if anything is.
    mutating func receive(_ answer: CommandComplete) throws(StartUpFailure) -> HostNews? {
        guard let step else { return nil }
        var warning: HostNews?
        do throws(StartUpFailure) {
            try take(answer, for: step)
            if step == .commands { warning = quirks.correct(&capabilities.commands, of: capabilities.version) }
        } catch {
            guard Self.isOptional(step) else { throw error }
            warning = .optionalCommandFailed(error)
        }
        advance(from: step)
        return warning
    }

    private mutating func advance(from step: Step) {
        self.step = Step.allCases.first { $0.rawValue > step.rawValue && isNeeded($0) }
    }

    private mutating func take(_ answer: CommandComplete, for step: Step) throws(StartUpFailure) {
        switch step {
        case .reset: _ = try value(of: Reset.self, in: answer)
        case .version: capabilities.version = try value(of: ReadLocalVersionInformation.self, in: answer)
        case .commands: capabilities.commands = try value(of: ReadLocalSupportedCommands.self, in: answer).commands
        case .linkManagerFeatures:
            capabilities.linkManagerFeatures = try value(of: ReadLocalSupportedFeatures.self, in: answer).features
        case .publicAddress:
            let address = try value(of: ReadBDADDR.self, in: answer).address
            capabilities.publicAddress = quirks.publicAddress(address)
        case .features: capabilities.features = try value(of: LEReadLocalSupportedFeatures.self, in: answer).features
        case .eventMask: _ = try value(of: SetEventMask.self, in: answer)
        case .leEventMask: _ = try value(of: LESetEventMask.self, in: answer)
        case .leHostSupport: _ = try value(of: WriteLEHostSupport.self, in: answer)
        case .leBufferSize:
            let size = try value(of: LEReadBufferSize.self, in: answer)
            setBuffers(length: size.aclDataLength, count: UInt16(size.aclPacketCount))
        case .bufferSize:
            let size = try value(of: ReadBufferSize.self, in: answer)
            setBuffers(length: size.aclDataLength, count: size.aclPacketCount)
            guard capabilities.aclDataLength >= ACLBuffers.minimumDataLength, capabilities.aclPacketCount > 0 else {
                throw .noDataBuffers
            }
        case .states: capabilities.states = try value(of: LEReadSupportedStates.self, in: answer).states
        case .maximumDataLength:
            capabilities.maximumTransmitLength = try value(of: LEReadMaximumDataLength.self, in: answer).transmit
        case .suggestedDataLength: _ = try value(of: LEWriteSuggestedDefaultDataLength.self, in: answer)
        case .advertisingDataLength:
            let length = try value(of: LEReadMaximumAdvertisingDataLength.self, in: answer).length
            capabilities.maximumAdvertisingDataLength = max(AdvertisingBytes.capacity, Int(length))
        case .advertisingSetCount:
            let count = try value(of: LEReadNumberOfSupportedAdvertisingSets.self, in: answer).count
            capabilities.advertisingSetCount = max(1, Int(count))
        case .filterAcceptListSize:
            capabilities.filterAcceptListSize = Int(try value(of: LEReadFilterAcceptListSize.self, in: answer).size)
        case .resolvingListSize:
            capabilities.resolvingListSize = Int(try value(of: LEReadResolvingListSize.self, in: answer).size)
        case .defaultPHY: _ = try value(of: LESetDefaultPHY.self, in: answer)
        case .subratingSupport: _ = try value(of: LESetHostFeature.self, in: answer)
        case .randomAddress: _ = try value(of: LESetRandomAddress.self, in: answer)
        }
    }

    private mutating func setBuffers(length: UInt16, count: UInt16) {
        let isUsable = Int(length) >= ACLBuffers.minimumDataLength && count > 0
        capabilities.aclDataLength = isUsable ? Int(length) : 0
        capabilities.aclPacketCount = isUsable ? Int(count) : 0
    }

    private func value<Command: HCICommandWithReturn>(
        of command: Command.Type,
        in answer: CommandComplete
    ) throws(StartUpFailure) -> Command.ReturnParameters {
        let outcome: HCIOutcome<Command.ReturnParameters>
        do {
            outcome = try answer.outcome(of: command)
        } catch {
            throw .malformedAnswer(Command.opcode, error)
        }
        switch outcome {
        case .success(let value): return value
        case .failure(let status): throw .commandFailed(Command.opcode, status)
        }
    }
}

/// Why a host could not start, or go on.
public enum StartUpFailure: Error, Equatable, Sendable {
    /// The controller refused a command that a host cannot do without.
    case commandFailed(HCIOpcode, HCIStatus)
    /// The controller answered a command with something that cannot be read.
    case malformedAnswer(HCIOpcode, ByteDecodingError)
    /// The controller has no room for data.
    case noDataBuffers
    /// The controller does not answer, not even when it is reset.
    case notAnswering(HCIOpcode)
}

extension StartUpFailure: CustomStringConvertible {
    public var description: String {
        switch self {
        case .commandFailed(let opcode, let status): "the controller refused \(opcode): \(status)"
        case .malformedAnswer(let opcode, let error): "the controller's answer to \(opcode) makes no sense: \(error)"
        case .noDataBuffers: "the controller has no buffers for LE data"
        case .notAnswering(let opcode): "the controller does not answer \(opcode)"
        }
    }
}
