import BluetoothHCI

/// How a phone listens, as data.
struct ScannerProfile: Sendable {
    /// What tables call it.
    let name: String
    /// What files are called.
    let fileName: String
    let description: String
    let interval: ScanInterval
    let window: ScanInterval

    static let foreground = ScannerProfile(
        name: "foreground",
        fileName: "foreground",
        description: "30 ms of every 40 ms, as an iPhone with the app in front is reported to listen",
        interval: .milliseconds(40),
        window: .milliseconds(30)
    )
    static let tenth = ScannerProfile(
        name: "10 % duty",
        fileName: "10-percent",
        description: "30 ms of every 300 ms: an assumption for an app in the background",
        interval: .milliseconds(300),
        window: .milliseconds(30)
    )
    static let hundredth = ScannerProfile(
        name: "0.9 % duty",
        fileName: "0.9-percent",
        description: "11.25 ms of every 1280 ms: Android's slowest, and an assumption for a phone that sleeps",
        interval: .milliseconds(1280),
        window: ScanInterval(rawValue: 18)
    )

    static let all = [foreground, tenth, hundredth]
}
