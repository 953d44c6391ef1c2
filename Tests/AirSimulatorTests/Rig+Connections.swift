import AirSimulator
import BluetoothHCI
import Testing

extension String {
    var address: DeviceAddress? { DeviceAddress(self) }
}

/// Two controllers that are connected: a peripheral with a public address ending in 01 and a central in 02.
struct ConnectedRig {
    var rig: Rig
    let peripheral: ControllerID
    let central: ControllerID
    /// The connection's handle at each end, as two bytes in hexadecimal.
    let peripheralHandle: String
    let centralHandle: String
    /// When the central sent its request to connect.
    let created: Duration

    /// Connects with legacy commands.
    /// - Parameters:
    ///   - interval: In 1.25 ms units.
    ///   - timeout: In 10 ms units.
    ///   - prepare: What the hosts say before they connect.
    init?(
        seed: UInt64 = 1,
        quality: LinkQuality = .perfect,
        interval: UInt16 = 24,
        latency: UInt16 = 0,
        timeout: UInt16 = 200,
        peripheral peripheralConfiguration: ControllerConfiguration = .modern,
        central centralConfiguration: ControllerConfiguration = .modern,
        prepare: (inout Rig, _ central: ControllerID, _ peripheral: ControllerID) -> Void = { _, _, _ in }
    ) {
        rig = Rig(seed: seed, quality: quality)
        peripheral = rig.add(peripheralConfiguration, address: 1)
        central = rig.add(centralConfiguration, address: 2)
        prepare(&rig, central, peripheral)
        // LE Set Advertising Parameters: 20 ms, ADV_IND, public, all channels. Enable.
        rig.send("01 06 20 0f 20 00 20 00 00 00 00 00 00 00 00 00 00 07 00", peripheral)
        rig.send("01 0a 20 01 01", peripheral)
        // LE Create Connection: scan 30 ms of 30 ms, to the peripheral's public address.
        rig.send(
            "01 0d 20 19 30 00 30 00 00 00 01 00 00 c0 c0 c0 00 \(little(interval)) \(little(interval))"
                + "\(little(latency)) \(little(timeout)) 00 00 00 00",
            central
        )
        guard let atCentral = rig.run(until: "04 3e 1f 0a 00", from: central),
            let atPeripheral = rig.run(until: "04 3e 1f 0a 00", from: peripheral)
        else { return nil }
        created = atCentral.time
        centralHandle = hex(atCentral.bytes[5...6])
        peripheralHandle = hex(atPeripheral.bytes[5...6])
        _ = rig.take(central)
        _ = rig.take(peripheral)
    }

    /// Sends ACL data from one end.
    mutating func sendData(_ data: [UInt8], from id: ControllerID) {
        var handle = bytes(id == central ? centralHandle : peripheralHandle)
        handle[1] |= 0x00
        rig.send([2] + handle + [UInt8(data.count & 0xFF), UInt8(data.count >> 8)] + data, id)
    }

    /// All ACL data that one end has received since it was last asked, put together.
    mutating func receivedData(_ id: ControllerID) -> [UInt8] {
        Array(rig.take(id, "02").map { $0.bytes.dropFirst(5) }.joined())
    }
}

extension ConnectedRig {
    static let key = "00 11 22 33 44 55 66 77 88 99 aa bb cc dd ee ff"

    /// Encrypts with the same key at both ends, and checks every step.
    mutating func encrypt(key: String = key) throws {
        _ = rig.take(central)
        _ = rig.take(peripheral)
        let status = rig.ask(
            "01 19 20 1c \(centralHandle) 01 02 03 04 05 06 07 08 0a 0b \(key)",
            central
        )
        #expect(status == ["04 0f 04 00 01 19 20"])
        // LE Long Term Key Request with random number and diversifier.
        let request = try rig.wait(for: "04 3e 0d 05", from: peripheral)
        #expect(request.hex == "04 3e 0d 05 \(peripheralHandle) 01 02 03 04 05 06 07 08 0a 0b")
        let reply = rig.ask("01 1a 20 12 \(peripheralHandle) \(key)", peripheral)
        #expect(reply == ["04 0e 06 01 1a 20 00 \(peripheralHandle)"])
        let atPeripheral = try rig.wait(for: "04 08", from: peripheral)
        #expect(atPeripheral.hex == "04 08 04 00 \(peripheralHandle) 01")
        let atCentral = try rig.wait(for: "04 08", from: central)
        #expect(atCentral.hex == "04 08 04 00 \(centralHandle) 01")
    }
}
