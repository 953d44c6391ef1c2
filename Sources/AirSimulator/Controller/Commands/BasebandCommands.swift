import BluetoothHCI

// What every controller has: reset, masks, flow control, and what it is.

extension Reset: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<NoParameters> {
        air.abandonEverything(slot)
        air.controllers[slot].reset()
        air.deadlines.set(nil, for: air.controllers[slot].brEDRActor)
        air.replanAdvertisers()
        return .done
    }
}

extension SetEventMask: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<NoParameters> {
        air.controllers[slot].eventMask = mask
        return .done
    }
}

extension SetEventMaskPage2: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<NoParameters> {
        air.controllers[slot].eventMaskPage2 = mask
        return .done
    }
}

extension LESetEventMask: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<NoParameters> {
        air.controllers[slot].leEventMask = mask
        return .done
    }
}

extension WriteLEHostSupport: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<NoParameters> {
        air.controllers[slot].brEDR.supportsLE = isSupported
        return .done
    }
}

extension SetControllerToHostFlowControl: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<NoParameters> {
        guard air.controllers[slot].connections.isEmpty else { return .failure(.commandDisallowed) }
        air.controllers[slot].hostBuffers.isInUse = flowControl == .acl || flowControl == .both
        return .done
    }
}

extension HostBufferSize: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<NoParameters> {
        guard aclDataLength >= DataLength.minimum.octets, aclPacketCount > 0 else {
            return .failure(.invalidHCICommandParameters)
        }
        air.controllers[slot].hostBuffers.total = Int(aclPacketCount)
        return .done
    }
}

extension HostNumberOfCompletedPackets: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<NoParameters> {
        for entry in packets {
            let index = air.controllers[slot].connections.firstIndex { $0.handle == entry.handle }
            // A connection may have ended by now, and its packets with it.
            guard let index else { continue }
            let unreturned = air.controllers[slot].connections[index].unreturnedPackets
            guard Int(entry.count) <= unreturned else { return .failure(.invalidHCICommandParameters) }
            air.controllers[slot].connections[index].unreturnedPackets = unreturned - Int(entry.count)
        }
        air.updateAcceptance(slot)
        return .done
    }
}

// MARK: - What it is

extension ReadLocalVersionInformation: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<ReturnParameters> {
        let configuration = air.controllers[slot].configuration
        return .success(
            ReturnParameters(
                hciVersion: configuration.version,
                hciRevision: configuration.subversion,
                lmpVersion: configuration.version,
                company: configuration.company,
                lmpSubversion: configuration.subversion
            )
        )
    }
}

extension ReadLocalSupportedCommands: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<ReturnParameters> {
        let configuration = air.controllers[slot].configuration
        let ofBREDR = configuration.isDualMode ? BREDRCommand.all.map(\.id) : []
        let known = SimulatedCommands.all.map { $0.id }.filter { configuration.knows($0) } + ofBREDR
        return .success(ReturnParameters(commands: SupportedCommands(known)))
    }
}

extension ReadLocalSupportedFeatures: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<ReturnParameters> {
        .success(ReturnParameters(features: air.controllers[slot].linkManagerFeatures))
    }
}

extension ReadBDADDR: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<ReturnParameters> {
        .success(ReturnParameters(address: air.controllers[slot].publicAddress))
    }
}

extension ReadBufferSize: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<ReturnParameters> {
        let configuration = air.controllers[slot].configuration
        let buffers = configuration.sharesBuffersWithBREDR ? configuration.dataBuffers : BREDRState.dataBuffers
        return .success(
            ReturnParameters(
                aclDataLength: buffers.length,
                synchronousDataLength: 0,
                aclPacketCount: UInt16(buffers.count),
                synchronousPacketCount: 0
            )
        )
    }
}

extension LEReadBufferSize: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<ReturnParameters> {
        let configuration = air.controllers[slot].configuration
        let isOwn = !configuration.sharesBuffersWithBREDR
        return .success(
            ReturnParameters(
                aclDataLength: isOwn ? configuration.dataBuffers.length : 0,
                aclPacketCount: isOwn ? configuration.dataBuffers.count : 0
            )
        )
    }
}

extension LEReadBufferSizeV2: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<ReturnParameters> {
        let configuration = air.controllers[slot].configuration
        let isOwn = !configuration.sharesBuffersWithBREDR
        return .success(
            ReturnParameters(
                aclDataLength: isOwn ? configuration.dataBuffers.length : 0,
                aclPacketCount: isOwn ? configuration.dataBuffers.count : 0,
                isoDataLength: 0,
                isoPacketCount: 0
            )
        )
    }
}

extension LEReadLocalSupportedFeatures: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<ReturnParameters> {
        .success(ReturnParameters(features: air.controllers[slot].features))
    }
}

extension LEReadSupportedStates: ImmediateCommand {
    /// All 42 combinations that the Core lists.
    private static let allStates = LEStates(rawValue: (1 << 42) - 1)

    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<ReturnParameters> {
        .success(ReturnParameters(states: Self.allStates))
    }
}

extension LEReadTransmitPower: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<ReturnParameters> {
        let power = air.controllers[slot].configuration.transmitPower
        return .success(ReturnParameters(minimumDBm: power.lowerBound, maximumDBm: power.upperBound))
    }
}

extension LERand: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<ReturnParameters> {
        .success(ReturnParameters(randomNumber: air.controllers[slot].random.next()))
    }
}

extension LEEncrypt: ImmediateCommand {
    func perform(in air: inout Air, by slot: Int) -> HCIOutcome<ReturnParameters> {
        .success(ReturnParameters(ciphertext: AES128(key: key).encrypt(plaintext)))
    }
}
