import BluetoothHost

/// What the phone's system offers in its GATT database, beside what the companion app adds.
///
/// The values mean nothing; what matters is how much there is to look through.
package enum PhoneSystem: String, Hashable, Sendable, CaseIterable {
    /// What every phone has to offer, and nothing else.
    case bare
    /// As an iPhone: services for battery and time, and Apple's for its own devices, notifications and media. It has no
    /// Database Hash; who is bonded is told of changes. (An iPhone mixes short and long UUIDs; this host sorts them.)
    case iOS
    /// As a phone with Android: little, and a Database Hash.
    case android

    /// What belongs into the Generic Attribute service.
    @DeclarationBuilder<ServiceMember>
    var genericAttribute: [ServiceMember] {
        Characteristic(.serviceChanged, .indicate)
        if self == .android {
            Characteristic(.serverSupportedFeatures, .read, value: [0x00])
            Characteristic(.clientSupportedFeatures, [.read, .write], value: .clientSupportedFeatures)
            Characteristic(.databaseHash, .read, name: Self.databaseHash)
        }
    }

    /// The services that stand in front of the companion's.
    @DeclarationBuilder<Service>
    var services: [Service] {
        if self == .iOS {
            Service(.uuid16(0x180F)) { Characteristic(.uuid16(GATTNumber.batteryLevel), [.read, .notify]) }
            Service(.uuid16(0x1805)) {
                Characteristic(.uuid16(0x2A2B), [.read, .notify])
                Characteristic(.uuid16(0x2A0F), .read)
            }
            Service(.uuid16(0x180A)) {
                Characteristic(.uuid16(GATTNumber.manufacturerName), .read)
                Characteristic(.uuid16(GATTNumber.modelNumber), .read)
            }
            // Continuity and Nearby.
            Service(Self.uuid("D0611E78-BBB4-4591-A5F8-487910AE4366")) {
                Characteristic(Self.uuid("8667556C-9A37-4C91-84ED-54EE27D90049"), [.write, .notify])
            }
            Service(Self.uuid("9FA480E0-4967-4542-9390-D343DC5D04AE")) {
                Characteristic(Self.uuid("AF0BADB1-5B99-43CD-917A-A77BC549E3CC"), [.write, .notify])
            }
            // ANCS.
            Service(Self.uuid("7905F431-B5CE-4E99-A40F-4B1E122D00D0")) {
                Characteristic(Self.uuid("69D1D8F3-45E1-49A8-9821-9BBDFDAAD9D9"), .write)
                Characteristic(Self.uuid("9FBF120D-6301-42D9-8C58-25E699A21DBD"), .notify)
                Characteristic(Self.uuid("22EAC6E9-24D6-4BB5-BE44-B36ACE7C7BFB"), .notify)
            }
            // AMS.
            Service(Self.uuid("89D3502B-0F36-433A-8EF4-C502AD55F8DC")) {
                Characteristic(Self.uuid("9B3C81D8-57B1-4A8A-B8DF-0E56F7CA51C2"), [.write, .notify])
                Characteristic(Self.uuid("2F7CABCE-808D-411F-9A0C-BB92BA96C102"), [.write, .notify])
                Characteristic(Self.uuid("C6B2F38C-23AB-46D8-A6AB-A3A870BBD5D7"), [.read, .write])
            }
        }
    }

    /// What finds the Database Hash's handle.
    static let databaseHash: AttributeName = "database hash"

    /// A UUID by its text, which is a constant of this file.
    private static func uuid(_ text: StaticString) -> BluetoothUUID { BluetoothUUID("\(text)") ?? .uuid16(0) }
}
