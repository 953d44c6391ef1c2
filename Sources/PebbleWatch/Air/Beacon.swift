import BluetoothHCI
import PebbleProtocol

/// An iBeacon: what wakes a companion app on an iPhone that was force-quit, or whose phone was restarted.
///
/// iOS wakes an app when a region that it watches is entered or left, so the beacon is on the air only while no phone is
/// connected: the link that ends is what makes the phone "enter".
public struct Beacon: Hashable, Sendable {
    /// Which region it marks; the app has the same.
    public var uuid: PebbleUUID
    /// The first of two numbers that tell the beacons of one region apart.
    public var major: UInt16
    /// The second of the two numbers; by Apple's use, beacons of the same major number differ in it.
    public var minor: UInt16
    /// How strongly an iPhone receives it from one metre away, in dBm.
    public var measuredPower: Int8
    /// How long a lost link may be away before the beacon goes out, so that a short gap does not wake the phone. A link
    /// that the phone ended, as it does for a force-quit app, is not waited for.
    public var holdOff: Duration

    /// What is usual at one metre from a small antenna.
    public static let usualMeasuredPower: Int8 = -59

    /// A beacon of a region.
    public init(
        uuid: PebbleUUID,
        major: UInt16 = 0,
        minor: UInt16 = 0,
        measuredPower: Int8 = usualMeasuredPower,
        holdOff: Duration = .zero
    ) {
        self.uuid = uuid
        self.major = major
        self.minor = minor
        self.measuredPower = measuredPower
        self.holdOff = holdOff
    }

    /// The 30 bytes on the air: Flags, and Apple's manufacturer data.
    ///
    /// | Offset | Size | Field |
    /// |---|---|---|
    /// | 0 | 3 | Flags: LE General Discoverable, BR/EDR Not Supported |
    /// | 3 | 4 | length 26, manufacturer data, company 0x004C |
    /// | 7 | 2 | type 2, length 21 |
    /// | 9 | 16 | UUID, in text order |
    /// | 25 | 2 | major, big-endian |
    /// | 27 | 2 | minor, big-endian |
    /// | 29 | 1 | measured power, signed dBm |
    public var data: AdvertisingData {
        var payload: [UInt8] = [0x02, 0x15]
        uuid.encode(to: &payload)
        payload.appendBigEndian(major)
        payload.appendBigEndian(minor)
        payload.append(UInt8(bitPattern: measuredPower))
        return AdvertisingData([
            .flags([.leGeneralDiscoverable, .brEDRNotSupported]),
            .manufacturerSpecific(.apple, payload[...]),
        ])
    }

    /// The address that a watch's beacon uses beside a private one, which changes with it: a non-resolvable private one, which
    /// says nothing of any key (Core 5.4, Vol 6, Part B, 1.3.2.2).
    static func address(besidesPrivate watch: LEAddress) -> LEAddress {
        .random(DeviceAddress((watch.address.value ^ 2) & 0x3FFF_FFFF_FFFF))
    }

    /// The static random address that a watch's beacon uses: its own with one bit turned over. Were it the watch's,
    /// scanners would take the two for one device whose data changes all the time.
    static func address(besides watch: LEAddress) -> LEAddress {
        .random(DeviceAddress(staticRandomFrom: watch.address.value ^ 2))
    }
}

extension CompanyIdentifier {
    static let apple = CompanyIdentifier(rawValue: 0x004C)
}
