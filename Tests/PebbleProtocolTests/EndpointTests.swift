import PebbleProtocol
import Testing

@Suite("Endpoints and who may use them")
struct EndpointTests {
    struct Row: Sendable {
        let number: UInt16
        let access: Endpoint.Access
        let isInRecovery: Bool
    }

    /// The protocol's endpoint table, row by row, with decimal numbers.
    static let table: [Row] = [
        Row(number: 0, access: .any, isInRecovery: true),
        Row(number: 11, access: .system, isInRecovery: false),
        Row(number: 16, access: .any, isInRecovery: true),
        Row(number: 17, access: .any, isInRecovery: true),
        Row(number: 18, access: .system, isInRecovery: true),
        Row(number: 32, access: .system, isInRecovery: false),
        Row(number: 33, access: .system, isInRecovery: false),
        Row(number: 48, access: .any, isInRecovery: false),
        Row(number: 49, access: .any, isInRecovery: false),
        Row(number: 50, access: .any, isInRecovery: false),
        Row(number: 51, access: .system, isInRecovery: false),
        Row(number: 52, access: .any, isInRecovery: false),
        Row(number: 53, access: .system, isInRecovery: false),
        Row(number: 911, access: .system, isInRecovery: false),
        Row(number: 2000, access: .obsolete, isInRecovery: false),
        Row(number: 2001, access: .any, isInRecovery: false),
        Row(number: 2002, access: .system, isInRecovery: true),
        Row(number: 2003, access: .system, isInRecovery: true),
        Row(number: 2004, access: .obsolete, isInRecovery: false),
        Row(number: 2006, access: .system, isInRecovery: false),
        Row(number: 3000, access: .obsolete, isInRecovery: false),
        Row(number: 3010, access: .obsolete, isInRecovery: false),
        Row(number: 4000, access: .obsolete, isInRecovery: false),
        Row(number: 5000, access: .obsolete, isInRecovery: false),
        Row(number: 5001, access: .system, isInRecovery: true),
        Row(number: 6000, access: .obsolete, isInRecovery: false),
        Row(number: 6001, access: .system, isInRecovery: false),
        Row(number: 6778, access: .system, isInRecovery: false),
        Row(number: 7000, access: .obsolete, isInRecovery: false),
        Row(number: 8000, access: .system, isInRecovery: false),
        Row(number: 8181, access: .obsolete, isInRecovery: false),
        Row(number: 9000, access: .system, isInRecovery: true),
        Row(number: 10000, access: .system, isInRecovery: false),
        Row(number: 11000, access: .system, isInRecovery: false),
        Row(number: 11440, access: .system, isInRecovery: false),
        Row(number: 43981, access: .system, isInRecovery: false),
        Row(number: 45531, access: .system, isInRecovery: false),
        Row(number: 45787, access: .system, isInRecovery: false),
        Row(number: 48879, access: .system, isInRecovery: true),
        Row(number: 51966, access: .any, isInRecovery: false),
        Row(number: 51967, access: .any, isInRecovery: false),
        Row(number: 61453, access: .system, isInRecovery: true),
    ]

    @Test("The table has these endpoints and no others")
    func wholeTable() {
        let rows = Dictionary(uniqueKeysWithValues: Self.table.map { ($0.number, $0) })
        for number in UInt16.min...UInt16.max {
            let definition = Endpoint(rawValue: number).definition
            #expect(definition?.access == rows[number]?.access, "\(number)")
            #expect(definition?.isInRecoveryFirmware == rows[number]?.isInRecovery, "\(number)")
        }
    }

    @Test("Admission by session and firmware")
    func admission() {
        func admitted(_ endpoint: Endpoint, _ session: SessionKind, recovery: Bool = false) -> Endpoint.Admission {
            endpoint.admission(on: session, inRecoveryFirmware: recovery)
        }
        #expect(admitted(.appMessage, .app) == .allowed)
        #expect(admitted(.blobDB, .app) == .disallowed)
        #expect(admitted(.blobDB, .system) == .allowed)
        #expect(admitted(.blobDB, .hybrid) == .allowed)
        #expect(admitted(.appManager, .hybrid) == .unhandled)
        #expect(admitted(Endpoint(rawValue: 0x7777), .hybrid) == .unhandled)
        #expect(admitted(.ping, .system, recovery: true) == .unhandled)
        #expect(admitted(.blobDB, .app, recovery: true) == .unhandled)
        #expect(admitted(.putBytes, .system, recovery: true) == .allowed)
        #expect(admitted(.putBytes, .app, recovery: true) == .disallowed)
    }

    @Test("An app session has exactly ten endpoints")
    func appSession() {
        let allowed = Self.table.map { Endpoint(rawValue: $0.number) }.filter {
            $0.admission(on: .app, inRecoveryFirmware: false) == .allowed
        }
        #expect(
            allowed.map(\.rawValue)
                == [0x0000, 0x0010, 0x0011, 0x0030, 0x0031, 0x0032, 0x0034, 0x07D1, 0xCAFE, 0xCAFF]
        )
    }

    @Test("An endpoint prints its name")
    func description() {
        #expect(Endpoint.appMessage.description == "AppMessage (0x0030)")
        #expect(Endpoint(rawValue: 0x7777).description == "0x7777")
        #expect(Endpoint(rawValue: 0xABEF).description == "0xABEF")
        #expect(Endpoint.putBytes.description == "PutBytes (0xBEEF)")
    }
}
