import BluetoothHost
import Testing

/// Which error refuses which link: Core 5.4, Vol 3, Part F, 3.4.1.1 and 4, and Part C, 10.3.1.
@Suite struct ATTPermissionTests {
    /// Values of one byte at 0003, 0005, …: open, encrypted, authenticated, authenticated with 16 bytes of key,
    /// authorized, encrypted and authorized.
    private static func database() throws -> GATTDatabase {
        let requirements: [AccessRequirement] = [
            .open, .encrypted, .authenticated, .init(.authenticated, minimumKeySize: 16),
            .init(.none, needsAuthorization: true), .init(.encrypted, needsAuthorization: true),
        ]
        return try GATTDatabase {
            Service(.uuid16(0x1800)) {
                for requirement in requirements {
                    Characteristic(
                        .uuid16(0x2AAA),
                        [.read, .write, .writeWithoutResponse],
                        permissions: AttributePermissions(all: requirement),
                        value: [0x55]
                    )
                }
            }
        }
    }

    private static let stranger = LinkSecurity()
    private static let bonded = LinkSecurity(isBonded: true)
    private static let justWorks = LinkSecurity(isEncrypted: true, keySize: 16)
    private static let shortKey = LinkSecurity(isEncrypted: true, isAuthenticated: true, keySize: 7)
    private static let shortUnauthenticatedKey = LinkSecurity(isEncrypted: true, keySize: 7)
    private static let authenticated = LinkSecurity(isEncrypted: true, isAuthenticated: true, keySize: 16)
    private static let tooShortKey = LinkSecurity(isEncrypted: true, isAuthenticated: true, keySize: 6)
    private static let authorized = LinkSecurity(isAuthorized: true)
    private static let everything = LinkSecurity(
        isEncrypted: true,
        isAuthenticated: true,
        isBonded: true,
        isAuthorized: true,
        keySize: 16
    )

    /// For each link, the error code for each of the six attributes; nil where access is granted.
    private static let table: [(LinkSecurity, [UInt8?])] = [
        (stranger, [nil, 0x05, 0x05, 0x05, 0x08, 0x05]),
        (bonded, [nil, 0x0F, 0x0F, 0x0F, 0x08, 0x0F]),
        (justWorks, [nil, nil, 0x05, 0x05, 0x08, 0x08]),
        (shortKey, [nil, nil, nil, 0x0C, 0x08, 0x08]),
        (shortUnauthenticatedKey, [nil, nil, 0x05, 0x0C, 0x08, 0x08]),
        (authenticated, [nil, nil, nil, nil, 0x08, 0x08]),
        (tooShortKey, [nil, 0x0C, 0x0C, 0x0C, 0x08, 0x0C]),
        (authorized, [nil, 0x05, 0x05, 0x05, nil, 0x05]),
        (everything, [nil, nil, nil, nil, nil, nil]),
    ]

    @Test(arguments: table.indices)
    func everyKindOfAccessIsCheckedAlike(row: Int) throws {
        let (security, codes) = Self.table[row]
        var rig = GATTRig(try Self.database(), security: security)
        for (index, code) in codes.enumerated() {
            let handle = UInt8(3 + 2 * index)
            let name = [handle, 0x00].hexadecimal
            func failure(_ opcode: String) -> String? { code.map { "01 \(opcode) \(name) \([$0].hexadecimal)" } }
            rig.expect("0a \(name)", failure("0a") ?? "0b 55")
            rig.expect("0c \(name) 0000", failure("0c") ?? "0d 55")
            rig.expect("08 \(name) \(name) aa2a", failure("08") ?? "09 03 \(name) 55")
            rig.expect("0e \(name) \(name)", failure("0e") ?? "0f 55 55")
            rig.expect("20 \(name) 0300", failure("20") ?? "21 0100 55 0100 55")
            rig.expect("06 \(name) \(name) aa2a 55", code == nil ? "07 \(name) \(name)" : "01 06 \(name) 0a")
            rig.expect("12 \(name) 55", failure("12") ?? "13")
            rig.expect("16 \(name) 0000 55", failure("16") ?? "17 \(name) 0000 55")
            rig.expect("18 00", "19")
            rig.expect("12 \(name) 55", failure("12") ?? "13")
            _ = rig.events()
            #expect(rig.exchange("52 \(name) 55") == [])
            let refused = rig.events().compactMap { event -> ATTError? in
                guard case .pduIgnored(_, .refusedCommand(let response)) = event else { return nil }
                return response.error
            }
            #expect(refused.map(\.rawValue) == [code].compactMap(\.self))
        }
    }

    @Test func permissionToUseComesBeforeSecurity() throws {
        let database = try GATTDatabase {
            Service(.uuid16(0x1800)) {
                Characteristic(.uuid16(0x2AAA), .write, permissions: .authenticated)
                Characteristic(.uuid16(0x2AAB), .read, permissions: .authenticated)
            }
        }
        var rig = GATTRig(database)
        rig.expect("0a 0300", "01 0a 0300 02")
        rig.expect("12 0500 00", "01 12 0500 03")
        rig.expect("0a 0500", "01 0a 0500 05")
        rig.expect("12 0300 00", "01 12 0300 05")
    }

    @Test func readingAndWritingCanRequireDifferentThings() throws {
        let database = try GATTDatabase {
            Service(.uuid16(0x1800)) {
                Characteristic(
                    .uuid16(0x2AAA),
                    [.read, .write, .notify],
                    permissions: AttributePermissions(read: .open, write: .authenticated, subscribe: .encrypted),
                    value: [0x55]
                ) {
                    Descriptor(.characteristicUserDescription, read: .encrypted, write: .open, value: "x")
                    Descriptor(.uuid16(0x2AAC), read: nil, write: .open, value: [])
                }
            }
        }
        var rig = GATTRig(database)
        rig.expect("0a 0300", "0b 55")
        rig.expect("12 0300 00", "01 12 0300 05")
        rig.expect("0a 0400", "0b 0000", "configurations can always be read")
        rig.expect("12 0400 0100", "01 12 0400 05")
        rig.expect("0a 0500", "01 0a 0500 05")
        rig.expect("12 0500 79", "13")
        rig.expect("0a 0600", "01 0a 0600 02")
        rig.layer.securityChanged(GATTRig.connection, to: Self.justWorks)
        rig.expect("12 0300 00", "01 12 0300 05")
        rig.expect("12 0400 0100", "13")
        rig.expect("0a 0500", "0b 79")
    }

    /// Read, Read Blob, Read By Type, Read Multiple, Read Multiple Variable, and Find By Type Value, which tells whether a value is that.
    @Test(arguments: [
        "0a 0500", "0c 0500 0000", "08 0500 0500 aa2a", "0e 0300 0500", "20 0300 0500", "06 0500 0500 aa2a 55",
    ])
    func valuesThatWereReadDoNotLeaveOnALinkThatHasLostItsEncryption(request: String) throws {
        var rig = GATTRig(try Self.database(), security: Self.justWorks)
        rig.receive(request)
        rig.layer.securityChanged(GATTRig.connection, to: .none)
        #expect(rig.sent() == ["01\(request.prefix(2))00000f"], "Insufficient Encryption, at no handle")
        rig.expect("0a 0300", "0b 55", "the next request has its turn")
        rig.layer.securityChanged(GATTRig.connection, to: Self.justWorks)
        #expect(rig.exchange(request).allSatisfy { !$0.hasPrefix("01") }, "encrypted again")
        // What carries no value is answered as ever.
        rig.receive("02 1700")
        rig.layer.securityChanged(GATTRig.connection, to: .none)
        #expect(rig.sent().allSatisfy { $0.hasPrefix("03") })
    }

    @Test func whatTheOwnerAnswersTooLateDoesNotLeaveEither() throws {
        let database = try GATTDatabase {
            Service(.uuid16(0x1800)) {
                Characteristic(.uuid16(0x2AAA), .read, permissions: .encrypted, value: .askOwner)
            }
        }
        var rig = GATTRig(database, security: Self.justWorks)
        rig.receive("0a 0300")
        let asked = try #require(
            rig.events().compactMap { event -> ReadRequest? in
                if case .readRequested(let request) = event { request } else { nil }
            }.first
        )
        rig.layer.securityChanged(GATTRig.connection, to: .none)
        rig.layer.respond(to: asked, with: [0x55], at: rig.now)
        #expect(rig.sent() == ["010a00000f"])
    }

    @Test func securityIsAskedForAgainBeforeSending() throws {
        let database = try GATTDatabase {
            Service(.uuid16(0x1800)) {
                Characteristic(.uuid16(0x2AAA), [.notify, .indicate], permissions: .init(subscribe: .encrypted))
            }
        }
        var rig = GATTRig(database, security: Self.bonded)
        let state = GATTClientState(subscriptions: [0x0004: [.notifications, .indications]])
        try rig.layer.restore(state, on: GATTRig.connection)
        #expect(throws: GATTError.insufficientSecurity(0x0003, .insufficientEncryption)) {
            try rig.layer.notify([1], of: 0x0003, on: GATTRig.connection, at: rig.now)
        }
        #expect(throws: GATTError.insufficientSecurity(0x0003, .insufficientEncryption)) {
            try rig.layer.indicate([1], of: 0x0003, on: GATTRig.connection, at: rig.now)
        }
        #expect(rig.sent() == [])
        rig.layer.securityChanged(GATTRig.connection, to: Self.justWorks)
        try rig.layer.notify([1], of: 0x0003, on: GATTRig.connection, at: rig.now)
        #expect(rig.sent() == ["1b030001"])
    }

    // MARK: Procedures

    /// Which procedures each property permits, and each operation: Core 5.4, Vol 3, Part G, 3.3.1.1, table 3.5.
    private static let procedures: [(CharacteristicProperties, AttributeOperations)] = [
        ([], []), (.read, .read), (.write, .write), (.writeWithoutResponse, .writeWithoutResponse),
        (.authenticatedSignedWrites, .signedWrite),
        ([.write, .writeWithoutResponse], [.write, .writeWithoutResponse]),
        (.reliableWrite, []), (.broadcast, []), (.notify, []),
    ]

    @Test(arguments: procedures.indices, [false, true])
    func eachProcedureNeedsItsOwnProperty(row: Int, byPermission: Bool) throws {
        let (properties, allowed) = Self.procedures[row]
        for isOwners in [false, true] {
            let database = try GATTDatabase {
                Service(.uuid16(0x1800)) {
                    Characteristic(
                        .uuid16(0x2AAA),
                        // What clients are told is apart from what they may do.
                        byPermission ? [.read, .write, .writeWithoutResponse, .authenticatedSignedWrites] : properties,
                        permissions: .init(operations: byPermission ? allowed : nil),
                        value: isOwners ? .askOwner : [0x55],
                        addsDescriptors: false
                    )
                }
            }
            #expect(database.attribute(at: 3)?.operations == allowed)
            var rig = GATTRig(database, configuration: .init(ownerAnswers: .atOnce))
            /// Sends a request, and lets the owner accept it.
            func answer(_ request: String) -> [String] {
                rig.receive(request)
                while let event = rig.layer.nextEvent() {
                    switch event {
                    case .readRequested(let request): rig.layer.respond(to: request, with: [0x55], at: rig.now)
                    case .writeRequested(let request): rig.layer.respond(to: request, at: rig.now)
                    default: break
                    }
                }
                return rig.sent()
            }
            #expect(answer("0a 0300") == [allowed.contains(.read) ? "0b55" : "010a030002"])
            #expect(answer("12 0300 55") == [allowed.contains(.write) ? "13" : "0112030003"])
            #expect(answer("16 0300 0000 55") == [allowed.contains(.write) ? "170300000055" : "0116030003"])
            #expect(answer("18 01") == ["19"])
            rig.receive("52 0300 56")
            #expect(rig.sent() == [])
            let isWritten = rig.events().contains { if case .written = $0 { true } else { false } }
            #expect(isWritten == allowed.contains(.writeWithoutResponse))
            // The signature is never verified, so that no signed write is taken.
            rig.receive("d2 0300 57 000000000000000000000000")
            #expect(rig.sent() == [])
            let isIgnored = rig.events().contains {
                if case .pduIgnored(_, .unsupportedCommand(0xD2)) = $0 { true } else { false }
            }
            #expect(isIgnored)
        }
    }

    @Test func descriptorsAreWrittenWithRequests() throws {
        let database = try GATTDatabase {
            Service(.uuid16(0x1800)) {
                Characteristic(.uuid16(0x2AAA), [.writeWithoutResponse, .notify]) {
                    Descriptor(.characteristicUserDescription, write: .open, value: "x")
                }
            }
        }
        var rig = GATTRig(database)
        rig.expect("12 0500 79", "13")
        rig.expect("16 0500 0000 7a", "17 0500 0000 7a")
        rig.expect("18 01", "19")
        _ = rig.events()
        let refusal = ATTErrorResponse(requestOpcode: 0x52, handle: 0x0005, error: .writeNotPermitted)
        rig.expectIgnored("52 0500 7b", .refusedCommand(refusal))
        // Android up to 6 subscribes by command where the value takes commands.
        #expect(rig.exchange("52 0400 0100") == [])
        rig.expect("0a 0400", "0b 0100")
        rig.expect("0a 0500", "0b 7a")
    }
}
