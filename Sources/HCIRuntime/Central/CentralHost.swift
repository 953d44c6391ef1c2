import BluetoothCentral
import BluetoothHCI

/// A central as the loop runs it: whether the controller can be used is seen from its events.
struct CentralHost: LoopHost {
    var central: Central
    private(set) var failure: String?

    init(_ central: Central) { self.central = central }

    mutating func start(at now: Duration) {
        failure = nil
        central.start(at: now)
    }

    mutating func controllerLost(at now: Duration) {
        failure = nil
        central.controllerLost(at: now)
    }

    var isReady: Bool { central.isReady }

    var outstandingPacketCount: Int { central.outstandingPacketCount }

    mutating func receive(_ packet: ArraySlice<UInt8>, at now: Duration) { central.receive(packet, at: now) }
    mutating func advance(to now: Duration) { central.advance(to: now) }
    var nextDeadline: Duration? { central.nextDeadline }
    mutating func nextPacket(into buffer: inout [UInt8]) -> Bool { central.nextPacket(into: &buffer) }

    mutating func nextEvent() -> CentralEvent? {
        let event = central.nextEvent()
        if case .failed(let reason)? = event { failure = "\(reason)" }
        return event
    }

    mutating func beginShutdown(at now: Duration) { central.beginShutdown(at: now) }
    var isShutDown: Bool { central.isShutDown }
}
