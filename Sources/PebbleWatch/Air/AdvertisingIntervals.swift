import BluetoothHCI

/// The intervals that advertising uses, in the slots of 0.625 ms in which controllers count.
extension AdvertisingInterval {
    // Apple's Accessory Design Guidelines, "Advertising Interval". iPhones scan in patterns that are tuned to exactly
    // these ten; a slot beside one of them can take minutes longer to be heard.

    /// 20 ms, for the first 30 seconds at least: a phone that is near finds the watch at once.
    public static let apple20 = AdvertisingInterval(rawValue: 32)
    /// 152.5 ms.
    public static let apple152_5 = AdvertisingInterval(rawValue: 244)
    /// 211.25 ms.
    public static let apple211_25 = AdvertisingInterval(rawValue: 338)
    /// 318.75 ms.
    public static let apple318_75 = AdvertisingInterval(rawValue: 510)
    /// 417.5 ms.
    public static let apple417_5 = AdvertisingInterval(rawValue: 668)
    /// 546.25 ms.
    public static let apple546_25 = AdvertisingInterval(rawValue: 874)
    /// 760 ms.
    public static let apple760 = AdvertisingInterval(rawValue: 1216)
    /// 852.5 ms.
    public static let apple852_5 = AdvertisingInterval(rawValue: 1364)
    /// 1022.5 ms.
    public static let apple1022_5 = AdvertisingInterval(rawValue: 1636)
    /// 1285 ms.
    public static let apple1285 = AdvertisingInterval(rawValue: 2056)

    /// Apple's ten, the shortest first.
    public static let appleGrid: [AdvertisingInterval] = [
        .apple20, .apple152_5, .apple211_25, .apple318_75, .apple417_5, .apple546_25, .apple760, .apple852_5,
        .apple1022_5, .apple1285,
    ]

    /// 1021.875 ms: what the real firmware calls 1022 ms, rounded down to whole slots. It misses Apple's grid by one.
    public static let pebbleSlow = AdvertisingInterval(rawValue: 1635)

    /// 100 ms: what Apple's Proximity Beacon Specification asks of an iBeacon.
    public static let beacon = AdvertisingInterval(rawValue: 160)

    /// The interval as people write it, such as `152.5 ms`.
    public var inMilliseconds: String {
        // A slot is 625 µs, so that four decimals are exact.
        let tenThousandths = UInt64(rawValue) * 6_250
        var fraction = String(10_000 + tenThousandths % 10_000).dropFirst()
        while fraction.last == "0" { fraction = fraction.dropLast() }
        return "\(tenThousandths / 10_000)" + (fraction.isEmpty ? "" : "." + fraction) + " ms"
    }
}
