import BluetoothHCI
import BluetoothPeripheral

/// A peripheral as the loop runs it: whether the controller can be used is seen from its events.
struct PeripheralHost<Services: ServiceSet>: LoopHost {
    var peripheral: Peripheral<Services>
    private(set) var failure: String?

    init(_ peripheral: Peripheral<Services>) { self.peripheral = peripheral }

    mutating func start(at now: Duration) {
        failure = nil
        peripheral.start(at: now)
    }

    mutating func controllerLost(at now: Duration) {
        failure = nil
        peripheral.controllerLost(at: now)
    }

    var isReady: Bool { peripheral.isReady }

    var outstandingPacketCount: Int { peripheral.outstandingPacketCount }

    mutating func receive(_ packet: ArraySlice<UInt8>, at now: Duration) { peripheral.receive(packet, at: now) }
    mutating func advance(to now: Duration) { peripheral.advance(to: now) }
    var nextDeadline: Duration? { peripheral.nextDeadline }
    mutating func nextPacket(into buffer: inout [UInt8]) -> Bool { peripheral.nextPacket(into: &buffer) }

    mutating func nextEvent() -> PeripheralEvent? {
        let event = peripheral.nextEvent()
        if case .failed(let reason)? = event { failure = "\(reason)" }
        return event
    }

    mutating func beginShutdown(at now: Duration) { peripheral.beginShutdown(at: now) }
    var isShutDown: Bool { peripheral.isShutDown }
}
