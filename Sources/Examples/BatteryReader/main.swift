// Reads the battery of another device: `battery-reader hci0`. With `--follow` it prints every new level, too.
import BluetoothCentral
import BluetoothHost
import Glibc
import HCIRuntime

let service = BluetoothUUID.uuid16(0x180F)
let level = BluetoothUUID.uuid16(0x2A19)
var arguments = CommandLine.arguments.dropFirst()
let isFollowing = arguments.last == "--follow"
if isFollowing { arguments.removeLast() }
do {
    let central = try RunningCentral(on: arguments.first ?? "hci0")
    let found = try await central.find(within: .seconds(30)) { $0.services.contains(service) }
    let peripheral = try await central.connect(to: found.address, within: .seconds(30))
    let percent = try await peripheral.read(level, of: service).first ?? 0
    print("\(found.name ?? "\(found.address)"): \(percent) %")
    if isFollowing {
        for try await value in try await peripheral.subscribe(to: level, of: service) {
            print("\(value.first ?? 0) %")
            fflush(nil)
        }
    }
    try await central.stop()
} catch {
    ProgramError.exit(with: error)
}
