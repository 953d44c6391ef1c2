import BluetoothHost
import PebbleProtocol

/// What people and tools have in their hands: buttons, sensors, and the connections of the SDK's tools.
struct WatchControls: Sendable {
    var buttons = ButtonInput()
    var sensors: WatchSensors
    var developers = DeveloperConnections()

    init(_ configuration: WatchConfiguration) {
        sensors = WatchSensors(batteryPercent: configuration.batteryLevel)
    }

    var nextDeadline: Duration? { buttons.nextDeadline.earlier(developers.nextDeadline) }
}
