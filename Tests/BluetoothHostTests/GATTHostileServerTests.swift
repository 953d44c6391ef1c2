import BluetoothHost
import ByteCoding
import Testing

/// A server that answers nonsense ends the procedure, with an error that says what was wrong.
@Suite struct GATTHostileServerTests {
    private static func fail(
        _ procedure: GATTProcedure,
        _ request: String,
        _ response: String,
        _ location: SourceLocation = #_sourceLocation
    ) -> GATTProcedureError? {
        var rig = GATTRig()
        let result = rig.perform(procedure, [(request, response)], location)
        guard case .failure(let error) = result else {
            Issue.record("\(String(describing: result))", sourceLocation: location)
            return nil
        }
        // The next procedure is not affected.
        #expect(rig.perform(.read(1), [("0a 0100", "0b 00")]) == .success(.value([0])), sourceLocation: location)
        return error
    }

    private static let range = AttributeHandleRange(0x0010, 0x0020) ?? .all

    @Test(arguments: ["0f 00", "13", "01 0c 0300 01", "1f", "03 1700"])
    func anotherResponseThanTheOneThatIsDue(response: String) throws {
        guard response != "1f" else {
            var rig = GATTRig()
            _ = try rig.layer.start(.read(3), on: GATTRig.connection, at: rig.now)
            #expect(rig.exchange("1f") == ["0a0300", "011f000006"], "a PDU that is no response does not count as one")
            return
        }
        let opcode = hex(response).first ?? 0
        #expect(Self.fail(.read(3), "0a 0300", response) == .unexpectedResponse(opcode: opcode))
    }

    @Test func responsesThatCannotBeRead() {
        let cases: [(GATTProcedure, String, String)] = [
            (.exchangeMTU, "02 0502", "03 05"),
            (.exchangeMTU, "02 0502", "03 050200"),
            (.read(3), "0a 0300", "01 0a 0300"),
            (.read(3), "0a 0300", "01 0a 0300 01 00"),
            (.read(3), "0a 0300", "01"),
            (.write(3, []), "12 0300", "13 00"),
            (.discoverAllPrimaryServices, "10 0100 ffff 0028", "11"),
            (.discoverAllPrimaryServices, "10 0100 ffff 0028", "11 06"),
            (.discoverAllPrimaryServices, "10 0100 ffff 0028", "11 00 0100 0200 0018"),
            (.discoverAllPrimaryServices, "10 0100 ffff 0028", "11 05 0100 0200 00"),
            (.discoverAllPrimaryServices, "10 0100 ffff 0028", "11 07 0100 0200 001800"),
            (.discoverAllPrimaryServices, "10 0100 ffff 0028", "11 06 0100 0200 0018 0300 0400 01"),
            (.discoverPrimaryServices(.uuid16(0x180F)), "06 0100 ffff 0028 0f18", "07"),
            (.discoverPrimaryServices(.uuid16(0x180F)), "06 0100 ffff 0028 0f18", "07 0100 02"),
            (.discoverCharacteristics(in: Self.range), "08 1000 2000 0328", "09"),
            (.discoverCharacteristics(in: Self.range), "08 1000 2000 0328", "09 01 10"),
            (.discoverCharacteristics(in: Self.range), "08 1000 2000 0328", "09 02 1000"),
            (.discoverCharacteristics(in: Self.range), "08 1000 2000 0328", "09 06 1000 02 1100 00"),
            (.discoverCharacteristics(in: Self.range), "08 1000 2000 0328", "09 07 1000 02 1000 002a"),
            (.discoverCharacteristics(in: Self.range), "08 1000 2000 0328", "09 07 1000 02 0000 002a"),
            (.discoverDescriptors(in: Self.range), "04 1000 2000", "05"),
            (.discoverDescriptors(in: Self.range), "04 1000 2000", "05 01"),
            (.discoverDescriptors(in: Self.range), "04 1000 2000", "05 03 1000 0229"),
            (.discoverDescriptors(in: Self.range), "04 1000 2000", "05 01 1000 02"),
            (.discoverDescriptors(in: Self.range), "04 1000 2000", "05 02 1000 0229"),
            (.findIncludedServices(in: Self.range), "08 1000 2000 0228", "09 07 1000 0100 0200 00"),
            (.findIncludedServices(in: Self.range), "08 1000 2000 0228", "09 06 1000 0000 0200"),
            (.findIncludedServices(in: Self.range), "08 1000 2000 0228", "09 06 1000 0300 0200"),
            (.writeLong(3, [1]), "16 0300 0000 01", "17 0300 00"),
        ]
        for (procedure, request, response) in cases {
            guard case .malformedResponse = Self.fail(procedure, request, response) else {
                Issue.record("\(response)")
                continue
            }
        }
    }

    @Test func responsesLongerThanTheMTU() {
        let long = String(repeating: "00", count: 23)
        let expected = GATTProcedureError.malformedResponse(ByteDecodingError("pdu", .invalidLength(24)))
        #expect(Self.fail(.read(3), "0a 0300", "0b \(long)") == expected)
    }

    @Test func handlesThatWereNotAskedFor() {
        let cases: [(GATTProcedure, String, String, AttributeHandle)] = [
            (.discoverAllPrimaryServices, "10 0100 ffff 0028", "11 06 0000 0200 0018", 0x0000),
            (.discoverAllPrimaryServices, "10 0100 ffff 0028", "11 06 0500 0400 0018", 0x0005),
            (.discoverAllPrimaryServices, "10 0100 ffff 0028", "11 06 0100 0500 0018 0500 0600 0118", 0x0005),
            (.discoverAllPrimaryServices, "10 0100 ffff 0028", "11 06 0600 0700 0018 0100 0200 0118", 0x0001),
            (.discoverAllPrimaryServices, "10 0100 ffff 0028", "11 06 0100 ffff 0018 0200 ffff 0118", 0x0002),
            (.discoverPrimaryServices(.uuid16(0x180F)), "06 0100 ffff 0028 0f18", "07 0500 0600 0500 0600", 0x0005),
            (.discoverCharacteristics(in: Self.range), "08 1000 2000 0328", "09 07 0f00 02 1100 002a", 0x000F),
            (.discoverCharacteristics(in: Self.range), "08 1000 2000 0328", "09 07 2100 02 2200 002a", 0x0021),
            (.discoverDescriptors(in: Self.range), "04 1000 2000", "05 01 1100 0229 1100 0229", 0x0011),
            (.discoverDescriptors(in: Self.range), "04 1000 2000", "05 01 1200 0229 1100 0229", 0x0011),
            (.findIncludedServices(in: Self.range), "08 1000 2000 0228", "09 08 0100 0a00 0e00 0f18", 0x0001),
            (.readByUUID(.uuid16(0x2AAA), in: Self.range), "08 1000 2000 aa2a", "09 03 0000 01", 0x0000),
        ]
        for (procedure, request, response, handle) in cases {
            #expect(Self.fail(procedure, request, response) == .handleOutOfRange(handle), "\(response)")
        }
    }

    @Test func aDiscoveryThatRepeatsItselfEnds() throws {
        var rig = GATTRig()
        let result = rig.perform(
            .discoverAllPrimaryServices,
            [
                ("10 0100 ffff 0028", "11 06 0100 0500 0018"), ("10 0600 ffff 0028", "11 06 0100 0500 0018"),
            ]
        )
        #expect(result == .failure(.handleOutOfRange(0x0001)))
    }

    @Test func aDiscoveryWithoutEndIsGivenUp() throws {
        var rig = GATTRig(mtu: 517)
        try rig.layer.start(.discoverDescriptors(in: .all), on: GATTRig.connection, at: rig.now)
        var next: UInt16 = 1
        for _ in 0..<200 {
            guard let request = rig.sent().first, request.hasPrefix("04") else { break }
            var response: [UInt8] = [0x05, 0x01]
            for _ in 0..<100 {
                response.append(contentsOf: [UInt8(next & 0xFF), UInt8(next >> 8), 0x02, 0x29])
                next += 1
            }
            rig.receive(response)
        }
        guard case .procedureEnded(let result) = rig.events().first else {
            Issue.record("no end")
            return
        }
        #expect(result.result == .failure(.tooManyResults))
        #expect(next <= 4201)
    }

    @Test func aValueWithoutEndIsGivenUp() throws {
        var rig = GATTRig()
        try rig.layer.start(.readLong(3), on: GATTRig.connection, at: rig.now)
        let part = String(repeating: "00", count: 22)
        #expect(rig.sent() == ["0a0300"])
        rig.receive("0b \(part)")
        var count = 1
        while count < 100, rig.sent().first?.hasPrefix("0c") == true {
            rig.receive("0d \(part)")
            count += 1
        }
        guard case .procedureEnded(let result) = rig.events().first else {
            Issue.record("no end")
            return
        }
        #expect(result.result == .failure(.valueTooLong))
        #expect(count == 24, "24 x 22 > 512")
    }
}
