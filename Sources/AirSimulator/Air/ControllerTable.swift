/// The controllers of an air by their places, and which of them have what is looked for most: kept whenever a controller
/// changes, so that nobody has to go through all of them for each packet.
struct ControllerTable: Sendable {
    private var controllers: [SimulatedController] = []
    /// Those that scan or initiate.
    private(set) var listening = PlaceSet()
    /// Those that have an advertising set, enabled or not.
    private(set) var withAdvertisers = PlaceSet()
    /// Those that have a packet for their host.
    private(set) var withPackets = PlaceSet()
    /// The places whose controllers have been taken off the air.
    private(set) var vacant = PlaceSet()

    var indices: Range<Int> { controllers.indices }
    var count: Int { controllers.count }

    subscript(slot: Int) -> SimulatedController {
        // No coroutine that yields the controller: what its caller keeps of it has been seen released (Swift 6.3.1).
        @inline(__always) get { controllers[slot] }
        _modify {
            yield &controllers[slot]
            note(slot)
        }
    }

    mutating func append(_ controller: SimulatedController) {
        controllers.append(controller)
        note(controllers.count - 1)
    }

    private mutating func note(_ slot: Int) {
        let isAttached = controllers[slot].isAttached
        listening.set(slot, controllers[slot].listens)
        withAdvertisers.set(slot, !controllers[slot].advertisers.isEmpty)
        withPackets.set(slot, isAttached && !controllers[slot].outbox.isEmpty)
        vacant.set(slot, !isAttached)
    }
}
