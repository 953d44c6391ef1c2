import BluetoothHost
import PebbleProtocol

/// What attribute types are called: Pebble's, and those of the Bluetooth SIG that watches and phones have.
///
/// Source: Bluetooth Assigned Numbers, 3.4 to 3.8.
enum AttributeNames {
    private static let assigned: [UInt16: String] = [
        0x1800: "Generic Access", 0x1801: "Generic Attribute", 0x180A: "Device Information", 0x180F: "Battery",
        0x1805: "Current Time Service", 0x2800: "Primary Service", 0x2801: "Secondary Service", 0x2802: "Include",
        0x2803: "Characteristic", 0x2902: "Client Characteristic Configuration", 0x2A00: "Device Name",
        0x2A01: "Appearance", 0x2A04: "Preferred Connection Parameters", 0x2A05: "Service Changed",
        0x2A19: "Battery Level", 0x2A23: "System ID", 0x2A24: "Model Number", 0x2A25: "Serial Number",
        0x2A26: "Firmware Revision", 0x2A27: "Hardware Revision", 0x2A28: "Software Revision",
        0x2A29: "Manufacturer Name", 0x2A2B: "Current Time", 0x2AA6: "Central Address Resolution",
        0x2B29: "Client Supported Features", 0x2B2A: "Database Hash", 0x2B3A: "Server Supported Features",
        PebbleAttribute.pairingService: "Pebble Pairing Service",
    ]

    private static let pebbles: [UInt128: String] = [
        PebbleAttribute.connectivityStatus: "Connectivity", PebbleAttribute.triggerPairing: "Trigger Pairing",
        PebbleAttribute.pairingMTU: "GATT MTU", PebbleAttribute.connectionParameters: "Connection Parameters",
        PebbleAttribute.ppogattService: "PPoGATT", PebbleAttribute.ppogattData: "PPoGATT Data",
        PebbleAttribute.ppogattMeta: "PPoGATT Meta", PebbleAttribute.appLaunchService: "App Launch Service",
        PebbleAttribute.appLaunch: "App Launch", PebbleAttribute.reversedV1Service: "Reversed PPoGATT 1",
        PebbleAttribute.reversedV1Data: "PPoGATT Data", PebbleAttribute.reversedV1Meta: "PPoGATT Meta",
        PebbleAttribute.reversedV1DataWrite: "PPoGATT Data Write", PebbleAttribute.reversedService: "Reversed PPoGATT",
        PebbleAttribute.reversedData: "PPoGATT Data", PebbleAttribute.reversedDataWrite: "PPoGATT Data Write",
        PebbleAttribute.streamService: "Stream", PebbleAttribute.publishedPSM: "Published PSM",
        PebbleAttribute.loopbackService: "Loopback",
    ]

    private static let reversed: Set<UInt128> = [
        PebbleAttribute.reversedV1Data, PebbleAttribute.reversedV1DataWrite, PebbleAttribute.reversedData,
        PebbleAttribute.reversedDataWrite,
    ]

    /// The name of a type, or its UUID.
    static func name(of type: BluetoothUUID) -> String {
        switch type.shortened {
        case .uuid16(let number): assigned[number] ?? "\(type.shortened)"
        case .uuid128(let number): pebbles[number] ?? "\(type)"
        }
    }

    /// Whether packets of PPoGATT are written to it, or notified by it.
    static func isPPoGATT(_ type: BluetoothUUID) -> Bool {
        type.as128Bits == PebbleAttribute.ppogattData || isReversed(type)
    }

    /// Whether the watch hosts it.
    static func isReversed(_ type: BluetoothUUID) -> Bool { reversed.contains(type.as128Bits) }
}
