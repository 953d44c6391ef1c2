import BluetoothHCI
import Glibc

extension DeviceAddress {
    /// A static random address that is this machine's own: the same at every start, another one on every machine.
    ///
    /// It is made from `/etc/machine-id` by a one-way function, since that number is not to be told to others. A machine
    /// without one gets an address that lasts until the process ends.
    public static func ofThisMachine() -> DeviceAddress {
        guard let file = fopen("/etc/machine-id", "re") else { return .random() }
        defer { fclose(file) }
        var text = [UInt8](repeating: 0, count: 32)
        guard fread(&text, 1, text.count, file) == text.count else { return .random() }
        return DeviceAddress(machineIdentifier: text)
    }

    /// Source: the FNV-1a hash with 64 bits, and the finalizer of SplitMix64.
    init(machineIdentifier: [UInt8]) {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in Array("cairn".utf8) + machineIdentifier { hash = (hash ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        hash = (hash ^ (hash >> 30)) &* 0xBF58_476D_1CE4_E5B9
        hash = (hash ^ (hash >> 27)) &* 0x94D0_49BB_1331_11EB
        self.init(staticRandomFrom: hash ^ (hash >> 31))
    }

    private static func random() -> DeviceAddress {
        DeviceAddress(staticRandomFrom: UInt64.random(in: .min ... .max))
    }
}
