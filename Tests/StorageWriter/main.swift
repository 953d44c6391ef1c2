// Writes to a store without end, one change after the other, and says on standard output which one has been
// acknowledged. The tests kill it at any moment and look at what it left behind.

import BluetoothHCI
import BluetoothHost
import Foundation
import PebbleWatch
import WatchStorage

let arguments = CommandLine.arguments
guard arguments.count == 3, let first = Int(arguments[2]) else {
    print("usage: StorageWriter DIRECTORY FIRST-NUMBER")
    exit(64)
}
let store = try SQLiteStore(directory: arguments[1])
for number in first... {
    // The identity and every key of a bond carry its number, so that a mixture of two bonds shows.
    let value = UInt128(truncatingIfNeeded: number) &* 0x0001_0001_0001_0001_0001_0001_0001_0001
    let identity = LEAddress.random(DeviceAddress(0xC000_0000_0000 | UInt64(number)))
    let bond = Bond(
        identity: identity,
        keys: .secureConnections(LongTermKey(value)),
        isAuthenticated: true,
        peerIdentityResolvingKey: IdentityResolvingKey(value),
        metadata: Bond.Metadata(name: "phone \(number)")
    )
    try store.apply(.bond(bond, replacingOthers: true))
    let handle = AttributeHandle(rawValue: UInt16(truncatingIfNeeded: number) | 1)
    let client = GATTClientState(subscriptions: [handle: .notifications])
    try store.apply(.client(identity, client, seenDatabaseHash: Array(repeating: UInt8(number & 0xFF), count: 16)))
    FileHandle.standardOutput.write(Data("\(number)\n".utf8))
}
