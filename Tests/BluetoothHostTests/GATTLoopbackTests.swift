import BluetoothHCI
import BluetoothHost
import ByteCoding
import Testing

/// Two GATT layers back to back: each procedure of one against the other's database.
@Suite struct GATTLoopbackTests {
    /// With k16 and k128 services and an MTU of m, discovery takes ⌈k16/⌊(m-2)/6⌋⌉ + ⌈k128/⌊(m-2)/20⌋⌉ + 1 round
    /// trips; the last one finds nothing.
    @Test(arguments: [(5, 3, 23), (5, 3, 64), (1, 0, 23), (0, 1, 23), (20, 7, 185), (20, 7, 517)])
    func servicesAreDiscoveredInTheFewestRounds(short: Int, long: Int, mtu: Int) throws {
        let database = try GATTDatabase {
            for index in 0..<short { Service(.uuid16(0x1800 + UInt16(index))) }
            for index in 0..<long { Service(.uuid128(UInt128(index))) }
        }
        var pair = GATTPair(database)
        if mtu > 23 {
            pair.server.receive([0x02, UInt8(mtu & 0xFF), UInt8(mtu >> 8)], on: pair.connection, at: .zero)
            var buffer: [UInt8] = []
            _ = pair.server.nextPDU(for: pair.connection, into: &buffer)
            pair.client = GATTLayer(database: GATTDatabase(), configuration: .init(maximumMTU: mtu))
            pair.client.connectionOpened(pair.connection, at: .zero)
            _ = try pair.perform(.exchangeMTU)
            pair.requestCount = 0
        }
        guard case .services(let services) = try pair.perform(.discoverAllPrimaryServices) else {
            Issue.record("no services")
            return
        }
        #expect(
            services.map(\.uuid) == (0..<short).map { .uuid16(0x1800 + UInt16($0)) }
                + (0..<long).map { .uuid128(UInt128($0)) }
        )
        func rounds(_ count: Int, _ size: Int) -> Int { (count + (mtu - 2) / size - 1) / ((mtu - 2) / size) }
        #expect(pair.requestCount == rounds(short, 6) + rounds(long, 20) + 1)
    }

    @Test(arguments: [false, true])
    func everythingIsFoundReadAndWritten(exchangesMTU: Bool) throws {
        var pair = GATTPair(try ByteTable.database())
        if exchangesMTU { #expect(try pair.perform(.exchangeMTU) == .mtu(517)) }

        guard case .services(let services) = try pair.perform(.discoverAllPrimaryServices) else { return }
        #expect(
            services.map(\.range.description) == ["0x0001-0x0005", "0x0006-0x0009", "0x000A-0x000E", "0x000F-0x0014"]
        )
        let custom = try #require(services.last)
        #expect(try pair.perform(.discoverPrimaryServices(ByteTable.service)) == .services([custom]))

        let include = DiscoveredInclude(handle: 0x0010, service: services[2])
        #expect(try pair.perform(.findIncludedServices(in: custom.range)) == .includedServices([include]))

        guard case .characteristics(let characteristics) = try pair.perform(.discoverCharacteristics(in: .all)) else {
            return
        }
        #expect(characteristics.map(\.value) == [0x0003, 0x0005, 0x0008, 0x000C, 0x0012, 0x0014])

        let descriptors = try pair.perform(.discoverDescriptors(in: #require(AttributeHandleRange(0x000D, 0x000E))))
        #expect(
            descriptors
                == .descriptors([
                    DiscoveredDescriptor(uuid: .clientCharacteristicConfiguration, handle: 0x000D),
                    DiscoveredDescriptor(uuid: .characteristicUserDescription, handle: 0x000E),
                ])
        )

        #expect(try pair.perform(.readLong(0x0012)) == .value(ByteTable.longValue[...]))
        let long = (0..<512).map { UInt8(truncatingIfNeeded: $0) }
        #expect(try pair.perform(.writeLong(0x0012, long[...])) == .written)
        #expect(pair.server.database.value(of: 0x0012) == long)
        #expect(try pair.perform(.readLong(0x0012)) == .value(long[...]))
        #expect(try pair.perform(.readByUUID(.uuid16(0x2A19))) == .values([HandleValue(0x000C, [0x64])]))
        #expect(try pair.perform(.readMultiple([0x0003, 0x000C])) == .value(Array("Cairn".utf8)[...] + [0x64]))

        #expect(try pair.perform(.subscribe(clientConfiguration: 0x000D, .notifications)) == .written)
        try pair.server.notify([42], of: 0x000C, on: pair.connection, at: .zero)
        #expect(try pair.perform(.subscribe(clientConfiguration: 0x0009, .indications)) == .written)
        try pair.server.indicate([1, 0, 0xFF, 0xFF], of: 0x0008, on: pair.connection, at: .zero)
        #expect(try pair.perform(.read(0x000C)) == .value([0x64]))
        #expect(pair.received == ["0x000C 2a", "0x0008 0100ffff"])
        #expect(pair.server.nextDeadline == nil, "the indication was confirmed")
    }
}
