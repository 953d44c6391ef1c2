// An iBeacon, with no services to connect to: `ibeacon hci0`.
import BluetoothHCI
import BluetoothHost
import BluetoothPeripheral
import HCIRuntime

/// Type, length, UUID, major, minor, and the power that is received at one metre, in dBm (Apple, Proximity Beacon Specification).
let beacon: [UInt8] =
    [0x02, 0x15] + [
        0xE2, 0xC5, 0x6D, 0xB5, 0xDF, 0xFB, 0x48, 0xD2, 0xB0, 0x60, 0xD0, 0xF5, 0xA7, 0x10, 0x96, 0xE0,
    ] + [0x00, 0x01] + [0x00, 0x02] + [0xC5]
let set = AdvertisingSet(
    id: AdvertisingSetID(rawValue: 1),
    kind: .nonConnectable,
    interval: .milliseconds(100),
    data: AdvertisingData([
        .flags([.leGeneralDiscoverable, .brEDRNotSupported]),
        .manufacturerSpecific(CompanyIdentifier(rawValue: 0x004C), beacon[...]),
    ]).bytes
)
let configuration = PeripheralConfiguration(
    name: "Beacon",
    address: .staticRandom(0x4245_4143_4F4E),
    advertising: nil,
    beacons: [set]
)
try Peripheral(NoServices(), configuration).run(on: CommandLine.arguments.dropFirst().first ?? "hci0")
