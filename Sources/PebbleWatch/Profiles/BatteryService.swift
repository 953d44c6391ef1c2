import BluetoothHost
import BluetoothPeripheral

/// Battery: the charge in percent.
struct BatteryService: GATTService {
    enum Value: String, CaseIterable { case level = "battery level" }

    let declaration: Service
    private var percent: UInt8
    private var isTold = true
    /// Whether phones are to see the service, if that is to change.
    private var wantsShown: Bool?
    /// Whether phones see the service, or are about to.
    private(set) var isShown: Bool

    init(_ configuration: WatchConfiguration) {
        percent = configuration.batteryLevel
        isShown = configuration.offersBattery
        // A charge that goes down slowly is the same before and after an address changes.
        let permissions: AttributePermissions = configuration.hidesIdentity ? .encrypted : .open
        declaration = Service(.uuid16(0x180F), isPublished: configuration.offersBattery) {
            Characteristic(
                .uuid16(0x2A19),
                [.read, .notify],
                of: Value.level,
                permissions: permissions,
                keeping: [configuration.batteryLevel]
            )
        }
    }

    /// The charge was measured: phones that subscribed are told.
    mutating func measured(_ percent: UInt8) {
        self.percent = percent
        isTold = false
    }

    /// Shows the service to phones, or hides it.
    mutating func show(_ isShown: Bool) {
        self.isShown = isShown
        wantsShown = isShown
    }

    func read(_ value: Value, by peer: Peer, _ output: inout Output) -> ReadReply {
        switch value {
        case .level: .value([percent])
        }
    }

    func write(_ bytes: ArraySlice<UInt8>, to value: Value, by peer: Peer, _ output: inout Output) -> WriteReply {
        .refused(.writeNotPermitted)
    }

    mutating func advance(_ output: inout Output) {
        if let isShown = wantsShown { output.show(isShown) }
        wantsShown = nil
        if !isTold {
            output.set(.level, [percent])
            output.notify(.level, [percent])
        }
        isTold = true
    }
}
