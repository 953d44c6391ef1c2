import BluetoothHCI
import ByteCoding
import Testing

@Suite("Commands: byte tables from the Core")
struct CommandTests {
    @Test("Every command encodes to the Core's bytes and back", arguments: Samples.commands)
    func bytes(_ sample: CommandSample) throws {
        func check(_ command: some HCICommand) throws {
            let expected = try #require([UInt8](hexadecimal: sample.hexadecimal))
            #expect(command.packet.hexadecimal == expected.hexadecimal)
            let packet = try HCICommandPacket(body: expected.dropFirst())
            #expect(packet.opcode == type(of: command).opcode)
            #expect(try type(of: command).init(parameters: packet.parameters) == command)
        }
        try check(sample.command)
    }

    @Test("Every command cut short or with a byte too many is refused", arguments: Samples.commands)
    func lengths(_ sample: CommandSample) throws {
        func check<Command: HCICommand>(_ command: Command) throws {
            var parameters: [UInt8] = []
            command.encode(to: &parameters)
            for count in 0..<parameters.count {
                #expect(throws: ByteDecodingError.self) { try Command(parameters: parameters.prefix(count)) }
            }
            #expect(throws: ByteDecodingError.self) { try Command(parameters: (parameters + [0])[...]) }
            let packet = command.packet.dropFirst()
            for count in 0..<packet.count {
                #expect(throws: ByteDecodingError.self) { try HCICommandPacket(body: packet.prefix(count)) }
            }
        }
        try check(sample.command)
    }

    @Test("Every known command has a sample, and no two share an opcode or a support bit")
    func completeness() {
        let sampled = Set(Samples.commands.map { type(of: $0.command).opcode })
        for command in HCICommands.all {
            #expect(sampled.contains(command.opcode), "\(command.name)")
            #expect(HCICommands.command(command.opcode)?.opcode == command.opcode)
        }
        #expect(Set(HCICommands.all.map { $0.opcode }).count == HCICommands.all.count)
        let bits = HCICommands.all.compactMap { $0.supportedBit }
        #expect(Set(bits).count == bits.count)
        #expect(bits.count == HCICommands.all.count - 1, "only Read Local Supported Commands has no bit")
    }

    @Test("Values outside of an enumeration are refused by name")
    func enumerations() {
        func error(_ hexadecimal: String, _ read: (ArraySlice<UInt8>) throws -> Void) -> ByteDecodingError? {
            do {
                try read(([UInt8](hexadecimal: hexadecimal) ?? [])[...])
                return nil
            } catch { return error as? ByteDecodingError }
        }
        #expect(
            error("02") { _ = try LESetAdvertisingEnable(parameters: $0) }
                == ByteDecodingError("le_set_advertising_enable.is_enabled", .invalidValue(2))
        )
        #expect(
            error("20" + Samples.zeros31) { _ = try LESetAdvertisingData(parameters: $0) }
                == ByteDecodingError("le_set_advertising_data.data", .invalidLength(32))
        )
        #expect(
            error("000f") { _ = try LEReadRemoteFeatures(parameters: $0) }
                == ByteDecodingError("le_read_remote_features.handle", .invalidValue(0x0F00))
        )
        #expect(
            error("00 00 02 01 6000 3000") { _ = try LESetExtendedScanParameters(parameters: $0) }
                == ByteDecodingError("le_set_extended_scan_parameters.scanning_phys", .invalidValue(2))
        )
        #expect(
            error("f0") { _ = try LERemoveAdvertisingSet(parameters: $0) }
                == ByteDecodingError("le_remove_advertising_set.set", .invalidValue(0xF0))
        )
    }

    @Test("Data that is too long for a command is cut to its room")
    func clamping() {
        #expect(AdvertisingBytes(repeatElement(1, count: 40)).bytes.count == 31)
        #expect(AdvertisingFragment(repeatElement(1, count: 300)).bytes.count == 251)
        let sets = (0..<70).map { _ in LESetExtendedAdvertisingEnable.Entry(set: 1) }
        #expect(LESetExtendedAdvertisingEnable(isEnabled: true, sets: sets).packet.count == 4 + 2 + 63 * 4)
    }

    @Test("An opcode prints its command's name, or its number")
    func opcodes() {
        #expect("\(HCIOpcode(rawValue: 0x0C03))" == "Reset")
        #expect("\(HCIOpcode(rawValue: 0x2006))" == "LESetAdvertisingParameters")
        #expect("\(HCIOpcode(rawValue: 0x0009))" == "0x0009")
        #expect(HCIOpcode(.vendor, 1).rawValue == 0xFC01)
    }

    @Test("Supported commands are where the Core puts them")
    func supportedCommands() throws {
        // Octet and bit from Core 5.4, Vol 4, Part E, 6.27; the value is octet * 8 + bit.
        let places: [(HCICommandID, Int)] = [
            (Disconnect.id, 5), (ReadRemoteVersionInformation.id, 23), (SetEventMask.id, 46), (Reset.id, 47),
            (ReadTransmitPowerLevel.id, 82), (HostBufferSize.id, 86), (ReadBufferSize.id, 119),
            (ReadBDADDR.id, 121), (SetEventMaskPage2.id, 178), (WriteLEHostSupport.id, 198),
            (LESetEventMask.id, 200), (LESetRandomAddress.id, 204), (LESetAdvertisingEnable.id, 209),
            (LECreateConnectionCancel.id, 213), (LEConnectionUpdate.id, 218), (LERand.id, 223),
            (LEReadSupportedStates.id, 227), (LERemoteConnectionParameterRequestReply.id, 268),
            (LESetDataLength.id, 270), (LEWriteSuggestedDefaultDataLength.id, 272),
            (LEAddDeviceToResolvingList.id, 275), (LESetAddressResolutionEnable.id, 281), (LESetPHY.id, 286),
            (LESetAdvertisingSetRandomAddress.id, 289), (LESetExtendedAdvertisingEnable.id, 293),
            (LEClearAdvertisingSets.id, 297), (LESetExtendedScanParameters.id, 301),
            (LEExtendedCreateConnection.id, 303), (LEReadTransmitPower.id, 311), (LESetPrivacyMode.id, 314),
            (LEReadBufferSizeV2.id, 333),
        ]
        for (command, place) in places {
            var octets = [UInt8](repeating: 0, count: 64)
            octets[place / 8] = 1 << UInt8(place % 8)
            var reader = ByteReader(octets)
            let commands = try ReadLocalSupportedCommands.ReturnParameters(reading: &reader).commands
            let found = HCICommands.all.filter { $0.supportedBit != nil && commands.contains($0) }
            #expect(found.map { $0.opcode } == [command.opcode], "\(command.name)")
        }
        var some = SupportedCommands([Reset.id, LESetPHY.id])
        #expect(some.contains(Reset.id) && some.contains(LESetPHY.id) && !some.contains(LERand.id))
        some.remove(LESetPHY.id)
        #expect(!some.contains(LESetPHY.id) && some.contains(ReadLocalSupportedCommands.id))
    }
}
