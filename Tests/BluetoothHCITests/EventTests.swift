import BluetoothHCI
import ByteCoding
import SeededRandomness
import Testing

@Suite("Events: byte tables from the Core")
struct EventTests {
    @Test("Every event encodes to the Core's bytes and back", arguments: Samples.events)
    func bytes(_ sample: EventSample) throws {
        let expected = try #require([UInt8](hexadecimal: sample.hexadecimal))
        #expect(sample.event.packet.hexadecimal == expected.hexadecimal)
        #expect(try HCIEvent(body: expected.dropFirst()) == sample.event)
    }

    @Test("Every event cut short is refused, with any length field", arguments: Samples.events)
    func truncation(_ sample: EventSample) throws {
        let body = try #require([UInt8](hexadecimal: sample.hexadecimal)).dropFirst()
        for count in 0..<body.count {
            #expect(throws: ByteDecodingError.self) { try HCIEvent(body: body.prefix(count)) }
        }
        #expect(throws: ByteDecodingError.self) { try HCIEvent(body: body + [0]) }
        switch sample.event {
        case .unknown, .unknownLE, .commandComplete: return
        default: break
        }
        // The length field agrees with the cut: the parameters themselves are too short.
        let parameters = body.dropFirst(2)
        for count in 0..<parameters.count {
            let cut = body.prefix(1) + [UInt8(count)] + parameters.prefix(count)
            #expect(throws: ByteDecodingError.self) { try HCIEvent(body: cut) }
        }
    }

    @Test("Parameters that a newer controller adds are ignored", arguments: Samples.events)
    func extraParameters(_ sample: EventSample) throws {
        switch sample.event {
        case .unknown, .unknownLE, .commandComplete: return
        default: break
        }
        let body = try #require([UInt8](hexadecimal: sample.hexadecimal)).dropFirst()
        let longer = body.prefix(1) + [UInt8(body.count - 2 + 3)] + body.dropFirst(2) + [0xDE, 0xAD, 0xBF]
        #expect(try HCIEvent(body: longer) == sample.event)
    }

    @Test("A typed event's own packet is the same as the enumeration's")
    func typedPackets() throws {
        let connection = LEConnectionComplete(.success(Samples.newConnection))
        #expect(connection.packet == HCIEvent.leConnectionComplete(connection).packet)
        let error = HardwareError(code: 3)
        #expect(error.packet == HCIEvent.hardwareError(error).packet)
    }

    @Test("A failed connection is decoded, even with invalid values in its unused parameters")
    func failedConnection() throws {
        let nonsense = [UInt8](hexadecimal: "3e 13 01 3e ffff 77 99 ffffffffffff ffff ffff ffff ff") ?? []
        #expect(
            try HCIEvent(body: nonsense[...])
                == .leConnectionComplete(.init(.failure(.connectionFailedToBeEstablished)))
        )
    }

    @Test("A legacy advertising report has at most 31 octets of data")
    func legacyAdvertisingDataHasALimit() throws {
        func body(_ count: UInt8) -> [UInt8] {
            [0x3E, 12 + count, 0x02, 1, 0, 0, 1, 2, 3, 4, 5, 6, count] + [UInt8](repeating: 0, count: Int(count)) + [0]
        }
        _ = try HCIEvent(body: body(31)[...])
        #expect(throws: ByteDecodingError("le_advertising_report.data_length", .invalidValue(32))) {
            try HCIEvent(body: body(32)[...])
        }
    }

    @Test("Reserved bits above a connection handle are ignored; a handle out of range is refused")
    func handles() throws {
        let reserved = [UInt8](hexadecimal: "05 04 00 40f0 13") ?? []
        #expect(
            try HCIEvent(body: reserved[...])
                == .disconnectionComplete(
                    .init(status: .success, handle: 0x0040, reason: .remoteUserTerminatedConnection)
                )
        )
        let outOfRange = [UInt8](hexadecimal: "05 04 00 000f 13") ?? []
        #expect(throws: ByteDecodingError("disconnection_complete.handle", .invalidValue(0x0F00))) {
            try HCIEvent(body: outOfRange[...])
        }
        #expect(ConnectionHandle(rawValue: 0x0F00) == nil)
        #expect(ConnectionHandle(rawValue: 0x0EFF)?.rawValue == 0x0EFF)
    }

    @Test("Random bytes are an event or an error, never a trap")
    func randomBytes() {
        let seed: UInt64 = 0x0E7E_4701
        var random = SplitMix64(seed: seed)
        let codes = Samples.events.map { $0.event.packet.dropFirst().prefix(1) }
        var decoded = 0
        for _ in 0..<50_000 {
            let parameters = random.bytes(Int(random.next() % 80))
            var body = Array(codes.randomElement(using: &random) ?? [])
            body.append(UInt8(parameters.count))
            body += parameters
            // Half of the LE events are of a kind that is known.
            if body.first == 0x3E, parameters.count > 0, Bool.random(using: &random) {
                body[2] = UInt8.random(in: 1...20, using: &random)
            }
            if let event = try? HCIEvent(body: body[...]) {
                decoded += 1
                _ = event.packet
            }
        }
        #expect(decoded > 2_500, "seed \(seed)")
    }
}

@Suite("Return parameters: byte tables from the Core")
struct ReturnParametersTests {
    /// Checks success with the parameters, at every length, failure with and without them.
    func check<Command: HCICommandWithReturn>(
        _ command: Command.Type,
        _ value: Command.ReturnParameters,
        _ hexadecimal: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let parameters = try #require([UInt8](hexadecimal: hexadecimal))
        var encoded: [UInt8] = []
        value.encode(to: &encoded)
        #expect(encoded.hexadecimal == parameters.hexadecimal, sourceLocation: sourceLocation)
        #expect(Command.ReturnParameters.size == parameters.count, sourceLocation: sourceLocation)
        let complete = CommandComplete(
            commandCredits: 1,
            opcode: Command.opcode,
            returnParameters: ([0] + parameters)[...]
        )
        #expect(complete == CommandComplete(commandCredits: 1, to: command, .success(value)))
        #expect(try complete.outcome(of: command) == .success(value), sourceLocation: sourceLocation)
        for count in 0...parameters.count where count < parameters.count + 1 {
            var cut = complete
            cut.returnParameters = complete.returnParameters.prefix(count)
            #expect(throws: ByteDecodingError.self, sourceLocation: sourceLocation) { try cut.outcome(of: command) }
        }
        for rest in [[], parameters] {
            let failed = CommandComplete(
                commandCredits: 1,
                opcode: Command.opcode,
                returnParameters: ([0x0C] + rest)[...]
            )
            #expect(try failed.outcome(of: command) == .failure(.commandDisallowed), sourceLocation: sourceLocation)
        }
        #expect(
            CommandComplete(commandCredits: 1, to: command, .failure(.unknownHCICommand)).returnParameters.count
                == 1 + parameters.count
        )
    }

    @Test("What the controller says about itself")
    func controller() throws {
        try check(
            ReadLocalVersionInformation.self,
            .init(
                hciVersion: .v5_4,
                hciRevision: 0x1122,
                lmpVersion: .v5_3,
                company: CompanyIdentifier(rawValue: 0x05F1),
                lmpSubversion: 0x3344
            ),
            "0d 2211 0c f105 4433"
        )
        var octets = [UInt8](repeating: 0, count: 64)
        octets[5] = 0x80
        octets[26] = 0x02
        try check(
            ReadLocalSupportedCommands.self,
            .init(commands: SupportedCommands([Reset.id, LESetAdvertisingEnable.id])),
            octets.hexadecimal
        )
        try check(
            ReadLocalSupportedFeatures.self,
            .init(features: [.leSupported, .brEDRNotSupported]),
            "0000000060000000"
        )
        try check(
            ReadBufferSize.self,
            .init(aclDataLength: 1021, synchronousDataLength: 64, aclPacketCount: 8, synchronousPacketCount: 1),
            "fd03 40 0800 0100"
        )
        try check(ReadBDADDR.self, .init(address: Samples.publicPeer.address), "1371da7d1a00")
        try check(LEReadBufferSize.self, .init(aclDataLength: 251, aclPacketCount: 12), "fb00 0c")
        try check(
            LEReadBufferSizeV2.self,
            .init(aclDataLength: 251, aclPacketCount: 12, isoDataLength: 300, isoPacketCount: 4),
            "fb00 0c 2c01 04"
        )
        try check(
            LEReadLocalSupportedFeatures.self,
            .init(features: [.encryption, .connectionParametersRequest, .leCodedPHY, .channelSelectionAlgorithm2]),
            "0348000000000000"
        )
        try check(LEReadSupportedStates.self, .init(states: LEStates(rawValue: 0x3FF)), "ff03000000000000")
        try check(LEReadTransmitPower.self, .init(minimumDBm: -20, maximumDBm: 8), "ec 08")
        try check(LERand.self, .init(randomNumber: 0x0102_0304_0506_0708), "0807060504030201")
        try check(LEEncrypt.self, .init(ciphertext: Samples.key), Samples.keyHex)
        try check(Reset.self, NoParameters(), "")
    }

    @Test("What the controller says about advertising, links and lists")
    func rest() throws {
        try check(LEReadAdvertisingPhysicalChannelTxPower.self, .init(powerDBm: -4), "fc")
        try check(LESetExtendedAdvertisingParameters.self, .init(selectedPowerDBm: 4), "04")
        try check(LEReadMaximumAdvertisingDataLength.self, .init(length: 1650), "7206")
        try check(LEReadNumberOfSupportedAdvertisingSets.self, .init(count: 10), "0a")
        try check(LEReadFilterAcceptListSize.self, .init(size: 8), "08")
        try check(LEReadResolvingListSize.self, .init(size: 8), "08")
        try check(LEReadPeerResolvableAddress.self, .init(address: Samples.peer.address), "5544332211c0")
        try check(LEReadLocalResolvableAddress.self, .init(address: Samples.peer.address), "5544332211c0")
        try check(ReadRSSI.self, .init(handle: 0x0040, rssiDBm: -50), "4000 ce")
        try check(ReadRSSI.self, .init(handle: 0x0040, rssiDBm: nil), "4000 7f")
        try check(ReadTransmitPowerLevel.self, .init(handle: 0x0040, powerDBm: -8), "4000 f8")
        try check(LESetDataLength.self, .init(handle: 0x0040), "4000")
        try check(LELongTermKeyRequestReply.self, .init(handle: 0x0040), "4000")
        try check(LELongTermKeyRequestNegativeReply.self, .init(handle: 0x0040), "4000")
        try check(LERemoteConnectionParameterRequestReply.self, .init(handle: 0x0040), "4000")
        try check(LERemoteConnectionParameterRequestNegativeReply.self, .init(handle: 0x0040), "4000")
        try check(
            LEReadSuggestedDefaultDataLength.self,
            .init(transmit: DataLength(octets: 27, timeMicroseconds: 328)),
            "1b00 4801"
        )
        try check(
            LEReadMaximumDataLength.self,
            .init(transmit: .maximum, receive: DataLength(octets: 251, timeMicroseconds: 2120)),
            "fb00 9042 fb00 4808"
        )
        try check(LEReadPHY.self, .init(handle: 0x0040, transmit: .le2M, receive: .le1M), "4000 02 01")
    }
}
