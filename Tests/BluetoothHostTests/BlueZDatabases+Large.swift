import BluetoothHost
import Testing

/// The large database: services of both UUID sizes, mixed, and every kind of characteristic (facts of BlueZ
/// unit/test-gatt.c).
extension BlueZDatabase {
    private static let readWriteProperties: CharacteristicProperties = [.read, .write]

    private static func bytes(_ hexadecimal: String) -> AttributeValue { .bytes(hex(hexadecimal)) }

    /// 512 bytes, of which each five digits are alike.
    private static let longText: String = {
        let fifty = "11111222223333344444555556666677777888889999900000"
        return String((String(repeating: fifty, count: 10) + "111112222233").prefix(512))
    }()

    /// The bytes 11 22 33 44 55 66 77 88 99 00, over and over, `count` in all.
    private static func pattern(_ count: Int) -> AttributeValue {
        let ten: [UInt8] = [0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x88, 0x99, 0x00]
        return .bytes((0..<count).map { ten[$0 % 10] })
    }

    private static let common = "11223344556677889900" + String(repeating: "1234567890", count: 4)

    /// The services below 0x0090, all with 16-bit UUIDs.
    static func largeShort() -> [Service] {
        [
            Service(.uuid16(0xA00B), name: "included", at: 0x0080, through: 0x0086) {
                value("b008", readWrite, [.read, .write, .reliableWrite], bytes("08")) {
                    descriptor("b015", readWrite, bytes("01"))
                    descriptor("b016", readWrite, bytes("02"))
                    descriptor("b017", readWrite, bytes("03"), write: .encrypted)
                    Descriptor.characteristicExtendedProperties()
                }
            },
            Service(.uuid16(0xA00D), name: "secondary", isPrimary: false, at: 0x0001, through: 0x0006) {
                Include("included")
                value("b00c", .read, .read, bytes("0c"))
                value("0000b00b-0000-0000-0123-456789abcdef", .read, .read, bytes("0b"))
            },
            Service(.genericAttribute, at: 0x0010, through: 0x0013) {
                value("2a05", .read, .indicate, bytes("0100ffff")) { Descriptor.clientCharacteristicConfiguration() }
            },
            Service(.uuid16(0xA00A), at: 0x0020, through: 0x0029) {
                Include("secondary")
                value("b001", .read, .read, bytes("01"))
                value("b002", readWrite, readWriteProperties, .text(longText))
                value("b002", .write, .write, "11111222223333344444555556666677777888889999900000")
                value("b003", .write, .write, bytes("03"))
            },
            Service(.uuid16(0xA00B), at: 0x0030, through: 0x0032) { value("b007", .write, .write, bytes("07")) },
            Service(.genericAccess, at: 0x0040, through: 0x0046) {
                value("2a00", .read, .read, "Test Database")
                value("2a01", .read, .read, bytes("11"))
                value("2a04", .read, .read, bytes("6400c800000007d0"))
            },
            Service(.uuid16(0xA00B), at: 0x0050, through: 0x0052) {
                value("b006", readWrite, [.read, .write, .writeWithoutResponse, .notify, .indicate], bytes("06"))
            },
            Service(.uuid16(0xA00B), at: 0x0060, through: 0x006B) {
                value("b004", readWrite, readWriteProperties, bytes("04"))
                value("b004", readWrite, readWriteProperties, bytes("04")) {
                    descriptor("2903", readWrite, bytes("0000"))
                }
                value("b004", [], [], bytes("04")) { descriptor("b012", [], pattern(43)) }
                value("b004", .read, .read, bytes("04")) { descriptor("b012", .read, pattern(43)) }
            },
            Service(.uuid16(0xA00B), at: 0x0070, through: 0x0076) {
                value("b005", readWrite, [.read, .write, .reliableWrite, .writableAuxiliaries], bytes("05")) {
                    Descriptor.characteristicExtendedProperties()
                    descriptor("2901", readWrite, "ABCDEFGHIJKLMNOPQRSTUVWXYZ")
                    descriptor("2904", [], bytes("000130011131"))
                    descriptor("0000d5d4-0000-0000-0123-456789abcdef", .read, bytes("44"))
                }
            },
        ]
    }

    /// The services from 0x0090 on: two with 128-bit UUIDs, and one with a 16-bit UUID between them.
    static func largeLong() -> [Service] {
        let long = BluetoothUUID("0000a00c-0000-0000-0123-456789abcdef") ?? .uuid16(0)
        return [
            Service(long, at: 0x0090, through: 0x0096) {
                Include("secondary")
                value("0000b009-0000-0000-0123-456789abcdef", readWrite, [.read, .write, .reliableWrite], bytes("09")) {
                    Descriptor.characteristicExtendedProperties()
                    descriptor("0000d9d2-0000-0000-0123-456789abcdef", readWrite, bytes("22"))
                    descriptor("0000d9d3-0000-0000-0123-456789abcdef", .write, bytes("33"))
                }
            },
            Service(.uuid16(0xA00F), at: 0x00A0, through: 0x00B1) {
                value("b00e", .read, .read, "Length is ") { descriptor("2904", .read, bytes("19000030010000")) }
                value("b00f", readWrite, readWriteProperties, bytes("65")) {
                    descriptor("2904", .read, bytes("04000127010100"))
                }
                value("b006", readWrite, readWriteProperties, bytes("3412")) {
                    descriptor("2904", .read, bytes("06001027010200"))
                }
                value("b007", readWrite, readWriteProperties, bytes("04030201")) {
                    descriptor("2904", .read, bytes("08001727010300"))
                }
                value("b010", .read, .read, bytes("65341204030201")) {
                    descriptor("2905", .read, bytes("a600a900ac00"))
                }
                value("b011", readWrite, [.read, .authenticatedSignedWrites], bytes("12"))
            },
            Service(long, at: 0x00C0, through: 0x00DD) {
                value("b00a", .read, .read, bytes("0a"))
                for (text, uuid, description) in shortTexts {
                    value("b002", readWrite, readWriteProperties, .text(text)) {
                        descriptor(uuid, readWrite, bytes(description))
                    }
                }
                for (count, uuid, end) in [(43, "b012", ""), (44, "b013", "44"), (45, "b014", "4455")] {
                    value("b002", readWrite, readWriteProperties, pattern(count)) {
                        descriptor(uuid, readWrite, bytes(common + "112233445566778899" + "00112233" + end))
                    }
                }
                for (text, uuid, end) in longTexts {
                    value("b002", readWrite, readWriteProperties, .text(text)) {
                        descriptor(uuid, readWrite, bytes(common + "112233445566778899" + "00112233" + end))
                    }
                }
            },
        ]
    }

    private static let shortTexts = [
        ("111112222233333444445", "b012", "11223344556677889900123456789011"),
        ("2222233333444445555566", "b013", "1122334455667788990012345678901122"),
        ("33333444445555566666777", "b014", "112233445566778899001234567890112233"),
    ]

    private static let longTexts = [
        ("1111122222333334444455555666667777788888999", "b012", ""),
        ("22222333334444455555666667777788888999990000", "b013", "44"),
        ("333334444455555666667777788888999990000011111", "b014", "4455"),
    ]
}
