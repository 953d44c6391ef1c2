import AirSimulator
import BluetoothHCI

/// What a kind of phone does in its connections, as data.
struct DeviceProfile: Sendable {
    /// What the command line calls it.
    let name: String
    /// What is known of it, and from where.
    let description: String
    /// The PHY that it agrees to.
    let phy: PHY
    /// How many packets of at most 27 octets it exchanges in a connection event; nil: as many as fit.
    let shortExchanges: Int?
    /// How many longer ones; nil: as many as fit.
    let longExchanges: Int?

    static let ios2017 = DeviceProfile(
        name: "ios-2017",
        description: "an iPhone of 2017: LE 1M, 7 packets of 27 octets or 3 of 251 in a connection event, as follows "
            + "from the figures of Apple's talk",
        phy: .le1M,
        shortExchanges: 7,
        longExchanges: 3
    )

    static let current = DeviceProfile(
        name: "current",
        description: "a phone of today: LE 2M, connection events as long as the interval",
        phy: .le2M,
        shortExchanges: nil,
        longExchanges: nil
    )

    static let all = [ios2017, current]

    /// The phone's controller, for packets of at most this many octets.
    func controller(packetLength: Int) -> ControllerConfiguration {
        var configuration = ControllerConfiguration.modern
        configuration.eventLimits = ConnectionEventLimits(shortExchanges: shortExchanges, longExchanges: longExchanges)
        if packetLength <= Int(DataLength.minimum.octets) {
            configuration.features.remove(.dataPacketLengthExtension)
            configuration.maximumDataLength = .minimum
        }
        return configuration
    }
}
