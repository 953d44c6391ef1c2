import BluetoothHCI
import BluetoothHost
import ByteCoding
import Testing

/// Clients that cache the database, and what bonds keep: Core 5.4, Vol 3, Part G, 2.5.2 and 7.
@Suite struct GATTCachingTests {
    /// 0003 Service Changed with 0004; 0006 Client Supported Features; 0008 Database Hash; 0009 service 180F with
    /// 000b (read, write, notify) and 000c; 000d service 1812.
    private static func rig() throws -> GATTRig {
        let database = try GATTDatabase {
            Service(.genericAttribute) {
                Characteristic(.serviceChanged, .indicate, name: "service changed")
                Characteristic(.clientSupportedFeatures, [.read, .write], value: .clientSupportedFeatures)
                Characteristic(.databaseHash, .read, value: .fixedLength(Array(repeating: 0xDB, count: 16)))
            }
            Service(.uuid16(0x180F)) {
                Characteristic(.uuid16(0x2A19), [.read, .write, .writeWithoutResponse, .notify], value: [0x64])
            }
            Service(.uuid16(0x1812), name: "optional", isPublished: false)
        }
        return GATTRig(database)
    }

    /// A client that caches, subscribed to Service Changed and to the value, when the database changes.
    private static func changedRig() throws -> GATTRig {
        var rig = try Self.rig()
        rig.expect("12 0600 01", "13")
        rig.expect("12 0400 0200", "13")
        rig.expect("12 0c00 0100", "13")
        let range = try rig.layer.setPublished(true, service: "optional")
        #expect(range == AttributeHandleRange(0x000D, 0x000D))
        _ = rig.events()
        return rig
    }

    // MARK: Client Supported Features

    @Test func featuresAreKeptPerClientAndOnlyGrow() throws {
        var rig = try Self.rig()
        rig.layer.connectionOpened(0x0041, at: rig.now)
        rig.expect("0a 0600", "0b 00")
        rig.expect("12 0600 01", "13")
        rig.expect("12 0600 05", "13")
        rig.expect("0a 0600", "0b 05")
        rig.expect("12 0600 04", "01 12 0600 13", "Value Not Allowed: no bit may be cleared")
        rig.expect("12 0600 ff00", "13", "unknown bits are not kept")
        rig.expect("0a 0600", "0b 07")
        rig.expect("12 0600", "01 12 0600 0d")
        rig.expect("16 0600 0000 00", "17 0600 0000 00")
        rig.expect("18 01", "01 18 0600 13")
        #expect(rig.layer.clientState(of: 0x0041)?.supportedFeatures == 0)
    }

    // MARK: Database Hash

    /// Core 5.4, Vol 3, Part G, Appendix B: the message of the example database, whose hash is
    /// F1CA2D48_ECF58BAC_8A8830BB_B9FBA990.
    @Test func hashCoversWhatTheSpecificationSays() throws {
        let database = try GATTDatabase {
            Service(.genericAccess) {
                Characteristic(.uuid16(0x2A00), [.read, .write], value: "name")
                Characteristic(.uuid16(0x2A01), .read, value: [0, 0])
            }
            Service(.genericAttribute) {
                Characteristic(.serviceChanged, .indicate)
                Characteristic(.clientSupportedFeatures, [.read, .write], value: .clientSupportedFeatures)
                Characteristic(.databaseHash, .read)
            }
            Service(.uuid16(0x1808)) {
                Include("battery")
                Characteristic(.uuid16(0x2A18), [.read, .indicate, .extendedProperties])
            }
            Service(.uuid16(0x180F), name: "battery", isPrimary: false) {
                Characteristic(.uuid16(0x2A19), .read, value: [100])
            }
        }
        let expected = hex(
            """
            0100 0028 0018 0200 0328 0a 0300 002a 0400 0328 02 0500 012a 0600 0028 0118 0700 0328 20 0800 052a \
            0900 0229 0a00 0328 0a 0b00 292b 0c00 0328 02 0d00 2a2b 0e00 0028 0818 0f00 0228 1400 1600 0f18 \
            1000 0328 a2 1100 182a 1200 0229 1300 0029 0000 1400 0128 0f18 1500 0328 02 1600 192a
            """
        )
        #expect(database.hashInput == expected)
    }

    @Test func hashFollowsPublication() throws {
        var rig = try Self.rig()
        let before = rig.layer.database.hashInput
        _ = try rig.layer.setPublished(true, service: "optional")
        #expect(rig.layer.database.hashInput == before + hex("0d00 0028 1218"))
    }

    // MARK: Clients that do not know of a change

    @Test(arguments: [
        ("0a 0c00", "0a 0c00"), ("0c 0c00 0000", "0c 0c00"), ("0e 0b00 0c00", "0e 0b00"), ("20 0b00 0c00", "20 0b00"),
        ("12 0b00 01", "12 0b00"), ("16 0b00 0000 01", "16 0b00"), ("08 0a00 ffff 192a", "08 0a00"),
    ])
    func requestsByHandleAreOutOfSyncOnce(request: String, refused: String) throws {
        var rig = try Self.changedRig()
        rig.expect(request, "01 \(refused) 12", "Database Out Of Sync")
        #expect(rig.layer.clientState(of: GATTRig.connection)?.isChangeAware == false)
        let again = rig.exchange(request)
        #expect(again.first?.hasPrefix("01") == false, "the next request shows that the client knows")
        #expect(rig.layer.clientState(of: GATTRig.connection)?.isChangeAware == true)
    }

    @Test func discoveryIsNeverOutOfSync() throws {
        var rig = try Self.changedRig()
        let requests = [
            "10 0100 ffff 0028", "06 0100 ffff 0028 0f18", "04 0100 ffff", "08 0a00 ffff 0328", "08 0100 ffff 192a",
            "02 1700", "18 00",
        ]
        for request in requests { #expect(rig.exchange(request).first?.hasPrefix("01") == false) }
        #expect(rig.exchange("08 0a00 ffff 0228") == ["01080a000a"], "there are no includes, but that is said")
        #expect(rig.layer.clientState(of: GATTRig.connection)?.isChangeAware == false)
    }

    @Test func commandsAreIgnoredAndValuesNotSentMeanwhile() throws {
        var rig = try Self.changedRig()
        let error = ATTErrorResponse(requestOpcode: 0x52, handle: 0x000B, error: .databaseOutOfSync)
        rig.expectIgnored("52 0b00 01", .refusedCommand(error))
        #expect(throws: GATTError.clientOutOfSync(0x000B)) {
            try rig.layer.notify([1], of: 0x000B, on: GATTRig.connection, at: rig.now)
        }
        #expect(rig.layer.database.value(of: 0x000B) == [0x64])
    }

    @Test func confirmingServiceChangedBringsTheClientBack() throws {
        var rig = try Self.changedRig()
        let range = hex("0d00 0d00")
        try rig.layer.indicate(range[...], of: 0x0003, on: GATTRig.connection, at: rig.now)
        #expect(rig.sent() == ["1d03000d000d00"])
        #expect(rig.layer.clientState(of: GATTRig.connection)?.isChangeAware == false, "not before it is confirmed")
        #expect(rig.exchange("1e") == [])
        rig.expect("0a 0b00", "0b 64")
        try rig.layer.notify([1], of: 0x000B, on: GATTRig.connection, at: rig.now)
        #expect(rig.sent() == ["1b0b0001"])
    }

    @Test func readingTheHashBringsTheClientBackWithItsNextRequest() throws {
        var rig = try Self.changedRig()
        let hash = String(repeating: "db", count: 16)
        rig.expect("08 0100 ffff 2a2b", "09 12 0800 \(hash)")
        #expect(throws: GATTError.clientOutOfSync(0x000B)) {
            try rig.layer.notify([1], of: 0x000B, on: GATTRig.connection, at: rig.now)
        }
        rig.expect("0a 0b00", "0b 64")
        try rig.layer.notify([1], of: 0x000B, on: GATTRig.connection, at: rig.now)
    }

    @Test func anotherChangeIsAnnouncedAgain() throws {
        var rig = try Self.changedRig()
        rig.expect("0a 0b00", "01 0a 0b00 12")
        _ = try rig.layer.setPublished(false, service: "optional")
        rig.expect("0a 0b00", "01 0a 0b00 12")
        rig.expect("0a 0b00", "0b 64")
    }

    @Test func clientsThatDoNotCacheAreLeftAlone() throws {
        var rig = try Self.rig()
        rig.expect("12 0c00 0100", "13")
        _ = try rig.layer.setPublished(true, service: "optional")
        rig.expect("0a 0b00", "0b 64")
        try rig.layer.notify([1], of: 0x000B, on: GATTRig.connection, at: rig.now)
        #expect(rig.layer.clientState(of: GATTRig.connection)?.isChangeAware == false, "a bond remembers it")
    }

    // MARK: What bonds keep

    @Test func stateOfABondedClientIsTakenAndGivenBack() throws {
        var rig = try Self.rig()
        rig.expect("12 0600 01", "13")
        rig.expect("12 0400 0200", "13")
        rig.expect("12 0c00 0100", "13")
        let closed = rig.layer.connectionClosed(GATTRig.connection)
        let state = try #require(closed)
        #expect(
            state
                == GATTClientState(
                    subscriptions: [0x0004: .indications, 0x000C: .notifications],
                    supportedFeatures: 0x01,
                    isChangeAware: true
                )
        )
        _ = rig.events()
        rig.layer.connectionOpened(0x0041, at: rig.now)
        try rig.layer.restore(state, on: 0x0041)
        let restored = rig.events().compactMap { event -> String? in
            guard case .subscriptionChanged(let change) = event else { return nil }
            return "\(change.connection) \(change.handle) \(change.current.rawValue) \(change.cause)"
        }
        #expect(restored == ["0x0041 0x0003 2 restored", "0x0041 0x000B 1 restored"])
        #expect(rig.layer.clientState(of: 0x0041) == state)
        try rig.layer.notify([1], of: 0x000B, on: 0x0041, at: rig.now)
    }

    @Test func stateThatTheDatabaseNoLongerFitsIsDropped() throws {
        var rig = try Self.rig()
        let old = GATTClientState(
            subscriptions: [0x0004: [.indications, .notifications], 0x0099: .notifications, 0x000B: .notifications],
            supportedFeatures: 0xFF,
            isChangeAware: false
        )
        try rig.layer.restore(old, on: GATTRig.connection)
        let expected = GATTClientState(
            subscriptions: [0x0004: .indications],
            supportedFeatures: 0x07,
            isChangeAware: false
        )
        #expect(rig.layer.clientState(of: GATTRig.connection) == expected)
        rig.expect("0a 0b00", "01 0a 0b00 12")
        #expect(throws: GATTError.notConnected(0x0042)) { try rig.layer.restore(old, on: 0x0042) }
    }
}
