import AirSimulator
import BluetoothHCI
import ByteCoding
import PebbleProtocol
import Testing

@testable import PebbleWatch

/// What the watch's advertising holds where it is not as usual: names that are too long, and a beacon beside a private address.
@Suite struct AdvertisedPartsTests {
    /// Flags, the pairing service and a name of 19 bytes leave room for the power, and a longer name does not: a legacy PDU has
    /// 31 bytes.
    @Test func whatHasNoRoomMovesToTheScanResponse() {
        var identity = WatchIdentity(address: .random(DeviceAddress(0xC0DE_0000_1234)))
        identity.serialNumber = "2DQ0135B3424"
        for length in 20...22 {
            identity.name = String(repeating: "n", count: length)
            let advertisement = Advertisement(for: .discovery, of: identity, by: .pebble, transmitPower: -4)
            // 02 01 06, 03 03 D9 FE, the name.
            let name = [UInt8(length + 1), 0x09] + [UInt8](repeating: 0x6E, count: length)
            #expect(advertisement.data.bytes == [0x02, 0x01, 0x06, 0x03, 0x03, 0xD9, 0xFE] + name, "\(length)")
            #expect(advertisement.scanResponse.bytes.suffix(3) == [0x02, 0x0A, 0xFC], "TX Power Level, -4 dBm")
        }
        // A name that is longer still has room in neither: what the watch is comes first.
        identity.name = String(repeating: "n", count: 25)
        let advertisement = Advertisement(for: .discovery, of: identity, by: .pebble)
        #expect(advertisement.data.bytes == [0x02, 0x01, 0x06, 0x03, 0x03, 0xD9, 0xFE])
        #expect(advertisement.scanResponse.localName == nil)
        #expect(advertisement.scanResponse.bytes.count <= 31 && !advertisement.scanResponse.bytes.isEmpty)
    }

    /// A non-resolvable private address has 00 in its two highest bits (Core 5.4, Vol 6, Part B, 1.3.2.2).
    @Test(
        arguments: [
            (0x7AAA_BBCC_DDEE, 0x3AAA_BBCC_DDEC), (0x4000_0000_0002, 0x0000_0000_0000),
            (0x7FFF_FFFF_FFFD, 0x3FFF_FFFF_FFFF),
        ] as [(UInt64, UInt64)]
    )
    func aBeaconBesideAPrivateAddressHasANonResolvableOne(watch: UInt64, beacon: UInt64) {
        let address = Beacon.address(besidesPrivate: .random(DeviceAddress(watch)))
        #expect(address == .random(DeviceAddress(beacon)))
    }

    /// Nothing that a scanner hears of a hidden watch's beacon outlives the address.
    @Test func theBeaconsAddressChangesWithTheWatchs() throws {
        let lifetime: Duration = .seconds(900)
        var configuration = WatchConfiguration(identity: WatchIdentity(address: RigWatch.address))
        configuration.privacy = .resolvablePrivateAddress(lifetime: lifetime)
        configuration.beacon = Beacon(uuid: PebbleUUID(upperHalf: 1, lowerHalf: 2))
        configuration.showsBeaconDespitePrivacy = true
        let watch = try RigWatch(configuration, seed: 5)
        var rig = RigPair(seed: 5, watch: watch, phone: RigPhone(address: 0x66, seed: 6))
        rig.run(for: .seconds(5))
        var addresses: [UInt64] = []
        for _ in 0..<3 {
            let (own, beacon) = try rig.onWatch { watch, _ in
                let address = try #require(watch.host.presence.privateAddress)
                return (address, try #require(watch.host.onAir.beacon).address)
            }
            #expect(own.value >> 46 == 0b01 && beacon.address.value >> 46 == 0b00)
            #expect(beacon == .random(beacon.address))
            #expect(beacon.address.value == (own.value & 0x3FFF_FFFF_FFFF) ^ 2)
            addresses.append(beacon.address.value)
            rig.run(for: lifetime)
        }
        #expect(Set(addresses).count == 3)
    }
}
