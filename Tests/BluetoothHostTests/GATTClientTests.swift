import BluetoothHCI
import BluetoothHost
import ByteCoding
import Testing

extension GATTRig {
    /// Starts a procedure and plays the server: expects each request, and answers it.
    mutating func perform(
        _ procedure: GATTProcedure,
        _ exchanges: [(request: String, response: String)],
        _ location: SourceLocation = #_sourceLocation
    ) -> Result<GATTResponse, GATTProcedureError>? {
        do throws(GATTError) {
            let id = try layer.start(procedure, on: Self.connection, at: now)
            for (request, response) in exchanges {
                #expect(sent() == [hex(request, location).hexadecimal], sourceLocation: location)
                receive(response)
            }
            #expect(sent() == [], "nothing more is asked", sourceLocation: location)
            let results = events().compactMap { event -> GATTProcedureResult? in
                if case .procedureEnded(let result) = event { result } else { nil }
            }
            #expect(results.count <= 1, sourceLocation: location)
            if let result = results.first { #expect(result.id == id, sourceLocation: location) }
            return results.first?.result
        } catch {
            Issue.record(error, sourceLocation: location)
            return nil
        }
    }
}

/// The client's procedures, on raw PDUs: Core 5.4, Vol 3, Part G, 4.
@Suite struct GATTClientTests {
    private static func range(_ start: AttributeHandle, _ end: AttributeHandle) throws -> AttributeHandleRange {
        try #require(AttributeHandleRange(start, end))
    }

    // MARK: MTU

    @Test(arguments: [
        (own: 517, server: "0502", agreed: 517), (own: 517, server: "b900", agreed: 185),
        (own: 256, server: "0502", agreed: 256), (own: 517, server: "1600", agreed: 23),
        (own: 517, server: "0000", agreed: 23),
    ])
    func clientAgreesOnTheSmallerMTU(own: Int, server: String, agreed: Int) throws {
        var rig = GATTRig(configuration: .init(maximumMTU: own))
        let offered = [UInt8(own & 0xFF), UInt8(own >> 8)].hexadecimal
        let result = rig.perform(.exchangeMTU, [("02 \(offered)", "03 \(server)")])
        #expect(result == .success(.mtu(agreed)))
        #expect(rig.layer.mtu(of: GATTRig.connection) == agreed)
        #expect(throws: GATTError.mtuAlreadyExchanged) {
            try rig.layer.start(.exchangeMTU, on: GATTRig.connection, at: rig.now)
        }
    }

    @Test func aServerWithoutMTUExchangeKeepsTheDefault() throws {
        var rig = GATTRig()
        let result = rig.perform(.exchangeMTU, [("02 0502", "01 02 0000 06")])
        let error = ATTErrorResponse(requestOpcode: 0x02, handle: .none, error: .requestNotSupported)
        #expect(result == .failure(.refused(error)))
        #expect(rig.layer.mtu(of: GATTRig.connection) == 23)
    }

    @Test func bothSidesMayExchangeTheMTU() throws {
        var rig = GATTRig()
        _ = try rig.layer.start(.exchangeMTU, on: GATTRig.connection, at: rig.now)
        #expect(rig.exchange("02 b900") == ["020502", "030502"])
        #expect(rig.layer.mtu(of: GATTRig.connection) == 185)
        rig.receive("03 b900")
        #expect(rig.layer.mtu(of: GATTRig.connection) == 185)
    }

    // MARK: Services

    @Test func discoversAllPrimaryServices() throws {
        var rig = GATTRig()
        let result = rig.perform(
            .discoverAllPrimaryServices,
            [
                ("10 0100 ffff 0028", "11 06 0100 0500 0018 0600 0900 0118"),
                ("10 0a00 ffff 0028", "11 14 1000 1f00 ffeeddccbbaa99887766554433221100"),
                ("10 2000 ffff 0028", "01 10 2000 0a"),
            ]
        )
        let services = [
            DiscoveredService(uuid: .uuid16(0x1800), range: try Self.range(1, 5)),
            DiscoveredService(uuid: .uuid16(0x1801), range: try Self.range(6, 9)),
            DiscoveredService(uuid: ByteTable.service, range: try Self.range(0x10, 0x1F)),
        ]
        #expect(result == .success(.services(services)))
    }

    @Test func discoveryEndsAtTheLastHandle() throws {
        var rig = GATTRig()
        let result = rig.perform(
            .discoverAllPrimaryServices,
            [("10 0100 ffff 0028", "11 06 0100 ffff 0018")]
        )
        #expect(result == .success(.services([DiscoveredService(uuid: .uuid16(0x1800), range: .all)])))
    }

    @Test func discoversPrimaryServicesByUUID() throws {
        var rig = GATTRig()
        let result = rig.perform(
            .discoverPrimaryServices(.uuid16(0x180F)),
            [
                ("06 0100 ffff 0028 0f18", "07 0a00 0e00 2000 2200"),
                ("06 2300 ffff 0028 0f18", "01 06 2300 0a"),
            ]
        )
        let services = [
            DiscoveredService(uuid: .uuid16(0x180F), range: try Self.range(0x0A, 0x0E)),
            DiscoveredService(uuid: .uuid16(0x180F), range: try Self.range(0x20, 0x22)),
        ]
        #expect(result == .success(.services(services)))
        let none = rig.perform(
            .discoverPrimaryServices(ByteTable.service),
            [("06 0100 ffff 0028 ffeeddccbbaa99887766554433221100", "01 06 0100 0a")]
        )
        #expect(none == .success(.services([])))
    }

    @Test func findsIncludedServicesAndReadsTheirLongUUIDs() throws {
        var rig = GATTRig()
        let result = rig.perform(
            .findIncludedServices(in: try Self.range(0x10, 0x1F)),
            [
                ("08 1000 1f00 0228", "09 08 1100 0a00 0e00 0f18"),
                ("08 1200 1f00 0228", "09 06 1200 3000 3f00 1300 4000 4f00"),
                ("0a 4000", "0b 000102030405060708090a0b0c0d0e0f"),
                ("0a 3000", "0b ffeeddccbbaa99887766554433221100"),
                ("08 1400 1f00 0228", "01 08 1400 0a"),
            ]
        )
        let includes = [
            DiscoveredInclude(handle: 0x11, service: .init(uuid: .uuid16(0x180F), range: try Self.range(0x0A, 0x0E))),
            DiscoveredInclude(handle: 0x12, service: .init(uuid: ByteTable.service, range: try Self.range(0x30, 0x3F))),
            DiscoveredInclude(
                handle: 0x13,
                service: .init(uuid: ByteTable.characteristic, range: try Self.range(0x40, 0x4F))
            ),
        ]
        #expect(result == .success(.includedServices(includes)))
    }

    // MARK: Characteristics

    @Test func discoversCharacteristics() throws {
        var rig = GATTRig()
        let exchanges = [
            ("08 0100 2000 0328", "09 07 0200 02 0300 002a 0400 0e 0500 012a"),
            ("08 0500 2000 0328", "09 15 1100 8a 1200 000102030405060708090a0b0c0d0e0f"),
            ("08 1200 2000 0328", "01 08 1200 0a"),
        ]
        let found = [
            DiscoveredCharacteristic(uuid: .uuid16(0x2A00), properties: .read, declaration: 2, value: 3),
            DiscoveredCharacteristic(
                uuid: .uuid16(0x2A01),
                properties: [.read, .write, .writeWithoutResponse],
                declaration: 4,
                value: 5
            ),
            DiscoveredCharacteristic(
                uuid: ByteTable.characteristic,
                properties: [.read, .write, .extendedProperties],
                declaration: 0x11,
                value: 0x12
            ),
        ]
        let range = try Self.range(0x01, 0x20)
        #expect(rig.perform(.discoverCharacteristics(in: range), exchanges) == .success(.characteristics(found)))
        let one = rig.perform(.discoverCharacteristics(in: range, uuid: .uuid16(0x2A01)), exchanges)
        #expect(one == .success(.characteristics([found[1]])))
    }

    @Test func discoversDescriptors() throws {
        var rig = GATTRig()
        let result = rig.perform(
            .discoverDescriptors(in: try Self.range(0x04, 0x09)),
            [
                ("04 0400 0900", "05 01 0400 0229 0500 0129"),
                ("04 0600 0900", "05 02 0600 000102030405060708090a0b0c0d0e0f"),
                ("04 0700 0900", "05 01 0900 0029"),
            ]
        )
        let descriptors = [
            DiscoveredDescriptor(uuid: .clientCharacteristicConfiguration, handle: 4),
            DiscoveredDescriptor(uuid: .characteristicUserDescription, handle: 5),
            DiscoveredDescriptor(uuid: ByteTable.characteristic, handle: 6),
            DiscoveredDescriptor(uuid: .characteristicExtendedProperties, handle: 9),
        ]
        #expect(result == .success(.descriptors(descriptors)))
    }

    // MARK: Reading

    @Test func readsAValue() throws {
        var rig = GATTRig()
        #expect(rig.perform(.read(3), [("0a 0300", "0b 436169726e")]) == .success(.value(hex("436169726e")[...])))
        #expect(rig.perform(.read(3), [("0a 0300", "0b")]) == .success(.value([])))
        let error = ATTErrorResponse(requestOpcode: 0x0A, handle: 3, error: .insufficientEncryption)
        #expect(rig.perform(.read(3), [("0a 0300", "01 0a 0300 0f")]) == .failure(.refused(error)))
    }

    @Test func readsALongValue() throws {
        var rig = GATTRig()
        let first = Array(UInt8(0)..<22).hexadecimal
        let second = Array(UInt8(22)..<44).hexadecimal
        let whole = rig.perform(
            .readLong(3),
            [("0a 0300", "0b \(first)"), ("0c 0300 1600", "0d \(second)"), ("0c 0300 2c00", "0d ff")]
        )
        #expect(whole == .success(.value((Array(0..<44) + [0xFF])[...])))
        let exact = rig.perform(.readLong(3), [("0a 0300", "0b \(first)"), ("0c 0300 1600", "0d")])
        #expect(exact == .success(.value(Array(0..<22)[...])))
        let short = rig.perform(.readLong(3), [("0a 0300", "0b 01")])
        #expect(short == .success(.value([1])))
        for code in ["0b", "07"] {
            let notLong = rig.perform(
                .readLong(3),
                [("0a 0300", "0b \(first)"), ("0c 0300 1600", "01 0c 0300 \(code)")]
            )
            #expect(notLong == .success(.value(Array(0..<22)[...])), "nothing was behind the first part")
        }
        let error = ATTErrorResponse(requestOpcode: 0x0A, handle: 3, error: .invalidOffset)
        #expect(rig.perform(.readLong(3), [("0a 0300", "01 0a 0300 07")]) == .failure(.refused(error)))
    }

    @Test func readsByUUID() throws {
        var rig = GATTRig()
        let result = rig.perform(
            .readByUUID(.uuid16(0x2AAA)),
            [
                ("08 0100 ffff aa2a", "09 04 0300 0102 0500 0304"),
                ("08 0600 ffff aa2a", "09 03 0700 05"),
                ("08 0800 ffff aa2a", "01 08 0800 0a"),
            ]
        )
        let values = [HandleValue(3, [1, 2]), HandleValue(5, [3, 4]), HandleValue(7, [5])]
        #expect(result == .success(.values(values)))
        let partly = rig.perform(
            .readByUUID(.uuid16(0x2AAA)),
            [("08 0100 ffff aa2a", "09 03 0300 01"), ("08 0400 ffff aa2a", "01 08 0500 05")]
        )
        #expect(partly == .success(.values([HandleValue(3, [1])])))
        let error = ATTErrorResponse(requestOpcode: 0x08, handle: 3, error: .readNotPermitted)
        let none = rig.perform(.readByUUID(.uuid16(0x2AAA)), [("08 0100 ffff aa2a", "01 08 0300 02")])
        #expect(none == .failure(.refused(error)))
    }

    @Test func readsMultiple() throws {
        var rig = GATTRig()
        let joined = rig.perform(.readMultiple([3, 5]), [("0e 0300 0500", "0f 010203")])
        #expect(joined == .success(.value([1, 2, 3])))
        let apart = rig.perform(.readMultipleVariable([3, 5, 7]), [("20 0300 0500 0700", "21 0100 01 0000 0400 0203")])
        let values = [HandleValue(3, [1]), HandleValue(5, []), HandleValue(7, [2, 3])]
        #expect(apart == .success(.values(values)), "the last may be cut off")
        let few = rig.perform(.readMultipleVariable([3, 5]), [("20 0300 0500", "21 0100 01 05")])
        #expect(few == .success(.values([HandleValue(3, [1])])), "as may a length")
        let many = rig.perform(.readMultipleVariable([3, 5]), [("20 0300 0500", "21 0000 0000 0000")])
        #expect(many == .failure(.tooManyResults))
    }

    // MARK: Writing

    @Test func writesAValue() throws {
        var rig = GATTRig()
        #expect(rig.perform(.write(3, [1, 2]), [("12 0300 0102", "13")]) == .success(.written))
        #expect(rig.perform(.write(3, []), [("12 0300", "13")]) == .success(.written))
        let full = Array(repeating: UInt8(7), count: 20)
        #expect(rig.perform(.write(3, full[...]), [("12 0300 \(full.hexadecimal)", "13")]) == .success(.written))
        #expect(rig.perform(.write(3, (full + [7])[...]), []) == .failure(.valueExceedsMTU))
        let error = ATTErrorResponse(requestOpcode: 0x12, handle: 3, error: .writeNotPermitted)
        #expect(rig.perform(.write(3, [1]), [("12 0300 01", "01 12 0300 03")]) == .failure(.refused(error)))
    }

    @Test func subscribes() throws {
        var rig = GATTRig()
        let notifications = GATTProcedure.subscribe(clientConfiguration: 4, .notifications)
        #expect(rig.perform(notifications, [("12 0400 0100", "13")]) == .success(.written))
        let indications = GATTProcedure.subscribe(clientConfiguration: 4, .indications)
        #expect(rig.perform(indications, [("12 0400 0200", "13")]) == .success(.written))
        let nothing = GATTProcedure.subscribe(clientConfiguration: 4, [])
        #expect(rig.perform(nothing, [("12 0400 0000", "13")]) == .success(.written))
    }

    @Test func writesWithoutResponse() throws {
        var rig = GATTRig()
        try rig.layer.writeWithoutResponse([1, 2, 3], to: 5, on: GATTRig.connection, at: rig.now)
        try rig.layer.writeWithoutResponse(
            Array(repeating: 0, count: 20)[...],
            to: 5,
            on: GATTRig.connection,
            at: rig.now
        )
        #expect(rig.sent() == ["520500010203", "520500" + String(repeating: "00", count: 20)])
        #expect(throws: GATTError.invalidValueLength(5, 21)) {
            try rig.layer.writeWithoutResponse(
                Array(repeating: 0, count: 21)[...],
                to: 5,
                on: GATTRig.connection,
                at: rig.now
            )
        }
    }

    @Test func writesALongValueInParts() throws {
        var rig = GATTRig()
        let value = Array(UInt8(0)..<40)
        let parts = [
            "0300 0000 \(value[..<18].hexadecimal)", "0300 1200 \(value[18..<36].hexadecimal)",
            "0300 2400 \(value[36...].hexadecimal)",
        ]
        let result = rig.perform(
            .writeLong(3, value[...]),
            parts.map { ("16 \($0)", "17 \($0)") } + [("18 01", "19")]
        )
        #expect(result == .success(.written))
        let empty = rig.perform(.writeLong(3, []), [("16 0300 0000", "17 0300 0000"), ("18 01", "19")])
        #expect(empty == .success(.written))
        let tooLong = Array(repeating: UInt8(0), count: 513)
        #expect(rig.perform(.writeLong(3, tooLong[...]), []) == .failure(.valueTooLong))
    }

    @Test func writesReliably() throws {
        var rig = GATTRig()
        let writes = [HandleValue(3, [1, 2]), HandleValue(5, [3])]
        let result = rig.perform(
            .writeReliably(writes),
            [
                ("16 0300 0000 0102", "17 0300 0000 0102"), ("16 0500 0000 03", "17 0500 0000 03"), ("18 01", "19"),
            ]
        )
        #expect(result == .success(.written))
    }

    @Test(arguments: ["17 0300 0000 0103", "17 0300 0100 0102", "17 0400 0000 0102", "17 0300 0000 01"])
    func cancelsWhatIsNotRepeatedFaithfully(echo: String) throws {
        var rig = GATTRig()
        let result = rig.perform(.writeLong(3, [1, 2]), [("16 0300 0000 0102", echo), ("18 00", "19")])
        #expect(result == .failure(.writeNotEchoed(3)))
    }

    @Test func cancelsWhatIsRefused() throws {
        var rig = GATTRig()
        let writes = [HandleValue(3, [1]), HandleValue(5, [2])]
        let error = ATTErrorResponse(requestOpcode: 0x16, handle: 5, error: .prepareQueueFull)
        let first = [("16 0300 0000 01", "17 0300 0000 01"), ("16 0500 0000 02", "01 16 0500 09")]
        #expect(rig.perform(.writeReliably(writes), first + [("18 00", "19")]) == .failure(.refused(error)))
        #expect(rig.perform(.writeReliably(writes), first + [("18 00", "01 18 0000 06")]) == .failure(.refused(error)))
        let atEnd = ATTErrorResponse(requestOpcode: 0x18, handle: 3, error: .invalidOffset)
        let result = rig.perform(
            .writeLong(3, [1]),
            [("16 0300 0000 01", "17 0300 0000 01"), ("18 01", "01 18 0300 07")]
        )
        #expect(result == .failure(.refused(atEnd)))
    }

    // MARK: One after the other

    @Test func proceduresWaitForEachOther() throws {
        var rig = GATTRig()
        let first = try rig.layer.start(.read(3), on: GATTRig.connection, at: rig.now)
        let second = try rig.layer.start(.write(5, [1]), on: GATTRig.connection, at: rig.now)
        #expect(first != second)
        #expect(rig.sent() == ["0a0300"])
        #expect(rig.exchange("0b 07") == ["12050001"])
        #expect(rig.exchange("13") == [])
        let ended = rig.events().compactMap { if case .procedureEnded(let result) = $0 { result.id } else { nil } }
        #expect(ended == [first, second])
    }

    @Test func waitingProceduresAreBounded() throws {
        var rig = GATTRig()
        for _ in 0..<33 { try rig.layer.start(.read(3), on: GATTRig.connection, at: rig.now) }
        #expect(throws: GATTError.queueFull) { try rig.layer.start(.read(3), on: GATTRig.connection, at: rig.now) }
        #expect(throws: GATTError.notConnected(0x0041)) { try rig.layer.start(.read(3), on: 0x0041, at: rig.now) }
    }

    @Test func aClosedConnectionEndsItsProcedures() throws {
        var rig = GATTRig()
        try rig.layer.start(.read(3), on: GATTRig.connection, at: rig.now)
        try rig.layer.start(.read(5), on: GATTRig.connection, at: rig.now)
        rig.layer.connectionClosed(GATTRig.connection)
        let errors = rig.events().compactMap { event -> GATTProcedureError? in
            guard case .procedureEnded(let result) = event, case .failure(let error) = result.result else { return nil }
            return error
        }
        #expect(errors == [.disconnected, .disconnected])
    }

    @Test func noResponseFor30SecondsEndsTheBearer() throws {
        var rig = GATTRig()
        rig.advance(by: .seconds(7))
        try rig.layer.start(.read(3), on: GATTRig.connection, at: rig.now)
        try rig.layer.start(.read(5), on: GATTRig.connection, at: rig.now)
        #expect(rig.layer.nextDeadline == .seconds(37))
        rig.advance(by: .seconds(10))
        #expect(rig.sent() == ["0a0300"], "the 30 seconds begin when the request leaves")
        #expect(rig.layer.nextDeadline == .seconds(47))
        rig.advance(by: .milliseconds(29_999))
        #expect(rig.events().isEmpty)
        rig.advance(by: .milliseconds(1))
        let events = rig.events()
        let errors = events.compactMap { event -> GATTProcedureError? in
            guard case .procedureEnded(let result) = event, case .failure(let error) = result.result else { return nil }
            return error
        }
        #expect(errors == [.timedOut, .timedOut])
        guard case .transactionTimedOut(GATTRig.connection) = events.last else {
            Issue.record("\(events)")
            return
        }
        #expect(rig.exchange("0b 01") == [])
        #expect(throws: GATTError.notConnected(GATTRig.connection)) {
            try rig.layer.start(.read(3), on: GATTRig.connection, at: rig.now)
        }
    }

    // MARK: Values that the server sends

    private static func received(_ rig: inout GATTRig) -> [String] {
        rig.events().compactMap { event in
            guard case .valueReceived(let value) = event else { return nil }
            return "\(value.handle) \(value.value.hexadecimal) \(value.isIndication)"
        }
    }

    @Test func reportsNotificationsAndIndications() throws {
        var rig = GATTRig(mtu: 64)
        #expect(rig.exchange("1b 0300 0102") == [])
        #expect(rig.exchange("1b 0300") == [])
        rig.expect("1d 0500 0304", "1e")
        #expect(rig.exchange("23 0300 0200 0102 0500 0000 0700 0100 ff") == [])
        #expect(
            Self.received(&rig) == [
                "0x0003 0102 false", "0x0003  false", "0x0005 0304 true", "0x0003 0102 false", "0x0005  false",
                "0x0007 ff false",
            ]
        )
    }

    @Test func malformedValuesAreIgnored() throws {
        var rig = GATTRig()
        let handle = ByteDecodingError("attribute_handle", .truncated(needed: 2, available: 1))
        rig.expectIgnored("1b 03", .malformed(opcode: 0x1B, handle))
        rig.expectIgnored("1d 03", .malformed(opcode: 0x1D, handle))
        rig.expectIgnored("23 0300 0100 01 05", .malformed(opcode: 0x23, handle))
        let value = ByteDecodingError("value", .truncated(needed: 2, available: 1))
        rig.expectIgnored("23 0300 0200 01", .malformed(opcode: 0x23, value))
        let long = String(repeating: "00", count: 21)
        rig.expectIgnored("1b 0300 \(long)", .tooLong(opcode: 0x1B, length: 24))
        rig.expectIgnored("1d 0300 \(long)", .tooLong(opcode: 0x1D, length: 24))
    }

    @Test func anIndicationWaitsForTheLastConfirmation() throws {
        var rig = GATTRig()
        rig.receive("1d 0300 01")
        rig.receive("1d 0300 02")
        #expect(rig.sent() == ["1e"], "only one confirmation waits")
        rig.expect("1d 0300 03", "1e")
        #expect(Self.received(&rig) == ["0x0003 01 true", "0x0003 03 true"])
    }
}
