import BluetoothHost
import ByteCoding
import Testing

/// The databases of BlueZ's GATT server tests, with the handles, UUIDs, properties and permissions that they have there
/// (facts of BlueZ unit/test-gatt.c), in the order in which they are declared there.
enum BlueZDatabase: String, CaseIterable {
    case services1 = "services-1"
    case services2 = "services-2"
    case services3 = "services-3"
    case small
    /// As `small`, but its Client Characteristic Configurations are ordinary values.
    case smallUninterpreted = "small-uninterpreted"
    case large
    case tail

    func make() throws -> GATTDatabase {
        switch self {
        case .services1: try Self.services1()
        case .services2: try Self.services2()
        case .services3: try Self.services3()
        case .small: try Self.small()
        case .smallUninterpreted: try Self.small(isInterpreted: false)
        case .large: try GATTDatabase(Self.largeShort() + Self.largeLong())
        case .tail: try Self.tail()
        }
    }

    // MARK: Attributes

    /// A characteristic whose value may be used as `operations` say, independent of its properties.
    static func value(
        _ uuid: String,
        _ operations: AttributeOperations,
        _ properties: CharacteristicProperties,
        _ value: AttributeValue,
        at handle: AttributeHandle? = nil,
        @DeclarationBuilder<Descriptor> descriptors: () -> [Descriptor] = { [] }
    ) -> Characteristic {
        Characteristic(
            BluetoothUUID(uuid) ?? .uuid16(0),
            properties,
            at: handle,
            permissions: AttributePermissions(operations: operations),
            value: value,
            addsDescriptors: false,
            descriptors: descriptors
        )
    }

    /// A descriptor that may be read and written as said.
    static func descriptor(
        _ uuid: String,
        _ operations: AttributeOperations,
        _ value: AttributeValue,
        at handle: AttributeHandle? = nil,
        write: AccessRequirement = .open
    ) -> Descriptor {
        Descriptor(
            BluetoothUUID(uuid) ?? .uuid16(0),
            at: handle,
            read: operations.contains(.read) ? .open : nil,
            write: operations.contains(.write) ? write : nil,
            value: value
        )
    }

    static let readWrite: AttributeOperations = [.read, .write]

    private static func bytes(_ hexadecimal: String) -> AttributeValue { .bytes(hex(hexadecimal)) }

    // MARK: Services 1 to 3

    private static func services1() throws -> GATTDatabase {
        try GATTDatabase {
            Service(.uuid16(0x1801), at: 0x0001, through: 0x0004) {
                value("2a00", .read, .read, "BlueZ") { descriptor("2901", .read, "Device Name") }
            }
            Service(.uuid16(0x180D), at: 0x0005, through: 0x0008) {
                value("2a29", .read, [.read, .write], "") { descriptor("2901", .read, "Manufacturer Name") }
            }
        }
    }

    private static func services2() throws -> GATTDatabase {
        try GATTDatabase {
            Service(.uuid16(0x1801), at: 0x0001, through: 0x0004) {
                value("2a00", .read, .read, "BlueZ") { descriptor("2901", .read, "Device Name") }
            }
            Service(.uuid16(0x180D), at: 0x0005, through: 0x000A) {
                value("2a29", .read, [.read, .write], "", at: 0x0007) {
                    descriptor("2901", .read, "Manufacturer Name", at: 0x000A)
                }
            }
        }
    }

    private static func services3() throws -> GATTDatabase {
        try GATTDatabase {
            Service(.uuid16(0x1800), at: 0x0100, through: 0x0121) {
                value("2a00", .read, .read, "BlueZ", at: 0x0110)
                value("2a01", .read, .read, bytes("0000"), at: 0x0120)
            }
            Service(.uuid16(0x1801), at: 0x0200, through: 0x0200)
            Service(.uuid16(0x180D), at: 0x0300, through: 0x0320) {
                value("2a29", .read, [.read, .write], "", at: 0x0310) {
                    // Its characteristic cannot be subscribed to.
                    Descriptor.clientCharacteristicConfiguration(at: 0x0320)
                }
            }
        }
    }

    // MARK: Small and tail

    private static func deviceInformation(at handle: AttributeHandle, isInterpreted: Bool = true) throws -> Service {
        let end = AttributeHandle(rawValue: handle.rawValue + 15)
        let configuration =
            isInterpreted
            ? Descriptor.clientCharacteristicConfiguration()
            : .uninterpreted(.clientCharacteristicConfiguration, write: .open, value: bytes("0000"))
        return Service(.uuid16(0x180A), name: "information", isPrimary: false, at: handle, through: end) {
            value("2a29", readWrite, [.read, .notify, .indicate, .reliableWrite], "BlueZ") {
                configuration
                descriptor("2901", .read, "Manufacturer Name")
                Descriptor.characteristicExtendedProperties()
            }
            value("2a28", .read, [.read, .indicate], "5.59") { configuration }
        }
    }

    private static func genericAccess(at handle: AttributeHandle) throws -> Service {
        let end = AttributeHandle(rawValue: handle.rawValue + 8)
        return Service(.genericAccess, at: handle, through: end) {
            Include("information")
            value("2a00", .read, .read, "BlueZ Unit Tester")
            value("0000B009-0000-0000-0123-456789abcdef", readWrite, [.read, .reliableWrite], bytes("09")) {
                Descriptor.characteristicExtendedProperties()
            }
            value("2a01", .read, .read, bytes("0000"))
        }
    }

    private static func small(isInterpreted: Bool = true) throws -> GATTDatabase {
        try GATTDatabase([
            deviceInformation(at: 0x0001, isInterpreted: isInterpreted), genericAccess(at: 0xF010),
            Service(.uuid16(0x180A), at: .last),
        ])
    }

    /// A database that ends at the last handle, declared in another order than that of its handles.
    private static func tail() throws -> GATTDatabase {
        try GATTDatabase([
            deviceInformation(at: 0x0003), genericAccess(at: 0xFFF7), Service(.uuid16(0x180A), at: 0x0001),
        ])
    }
}
