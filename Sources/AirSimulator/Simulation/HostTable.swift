import BluetoothHCI

/// The hosts of a simulation, in the order in which they are served, and which of them have anything to do.
///
/// A host is asked when it is due only after something has happened to it: it was given a packet or time, or its owner
/// used it. So those that wait cost nothing, however many there are.
struct HostTable {
    /// A host, and what it talks with.
    private struct Entry {
        var host: any HCIHost
        let controller: ControllerID
        let deadline: DeadlineActor
        var isStarted = false
        /// When it said that it is due, as it was woken last.
        var lastAnswer: Duration?
    }

    /// Holds a host's place while the host itself is being used.
    private struct AbsentHost: HCIHost {
        var nextDeadline: Duration? { nil }
        mutating func start(at now: Duration) {}
        mutating func receive(_ packet: ArraySlice<UInt8>, at now: Duration) {}
        mutating func advance(to now: Duration) {}
        mutating func nextPacket(into buffer: inout [UInt8]) -> Bool { false }
    }

    private var entries: [Entry] = []
    /// Which host has the controller at a place of the air; nil for those of others.
    private var hostsBySlot: [Int?] = []
    /// When those hosts are due that nothing has happened to since they were asked.
    private var deadlines = DeadlineQueue<Duration>()
    /// Which host is behind a deadline.
    private var hostsByDeadline: [Int] = []
    /// Those to which something has happened: they are asked again.
    private var touched = PlaceSet()

    mutating func add(_ host: any HCIHost, _ controller: ControllerID) -> Int {
        let index = entries.count
        let deadline = deadlines.makeActor()
        entries.append(Entry(host: host, controller: controller, deadline: deadline))
        hostsByDeadline.append(index)
        while hostsBySlot.count <= controller.slot { hostsBySlot.append(nil) }
        hostsBySlot[controller.slot] = index
        touched.insert(index)
        return index
    }

    /// Uses a host in place; nil if it is of another type, or not there.
    mutating func use<Host: HCIHost, Result>(_ index: Int, _ body: (inout Host) throws -> Result) rethrows -> Result? {
        guard entries.indices.contains(index) else { return nil }
        // The host leaves its place for the call, so that it is not copied when it changes.
        var taken: any HCIHost = AbsentHost()
        swap(&taken, &entries[index].host)
        guard var host = taken as? Host else {
            swap(&taken, &entries[index].host)
            return nil
        }
        taken = AbsentHost()
        defer {
            entries[index].host = host
            touch(index)
        }
        return try body(&host)
    }

    /// Something happens to a host: what it said about its next deadline does not count any more.
    private mutating func touch(_ index: Int) {
        deadlines.set(nil, for: entries[index].deadline)
        touched.insert(index)
    }

    /// When the first host is due.
    var nextDeadline: Duration? {
        var earliest = deadlines.next
        for index in touched {
            if let deadline = entries[index].host.nextDeadline { earliest = min(earliest ?? deadline, deadline) }
        }
        return earliest
    }

    /// The hosts that have something to do, or may have, in the order in which they are served.
    mutating func takeDue(at now: Duration) -> PlaceSet {
        while let due = deadlines.popActor(dueBy: now) { touched.insert(hostsByDeadline[due.actor.number]) }
        defer { touched = PlaceSet() }
        return touched
    }

    /// Starts a host that has not been started, and lets time pass for one that is due.
    /// - Returns: whether it was due.
    mutating func wake(_ index: Int, at now: Duration) -> Bool {
        if !entries[index].isStarted {
            entries[index].isStarted = true
            entries[index].host.start(at: now)
        }
        entries[index].lastAnswer = entries[index].host.nextDeadline
        guard let due = entries[index].lastAnswer, due <= now else { return false }
        entries[index].host.advance(to: now)
        return true
    }

    /// Takes the next packet of a host.
    mutating func nextPacket(from index: Int, into buffer: inout [UInt8]) -> Bool {
        entries[index].host.nextPacket(into: &buffer)
    }

    /// A host has done what was due: from now on its deadline is waited for.
    /// - Parameter hasActed: whether anything has happened to it since it was woken.
    mutating func rest(_ index: Int, hasActed: Bool) {
        let deadline = hasActed ? entries[index].host.nextDeadline : entries[index].lastAnswer
        deadlines.set(deadline, for: entries[index].deadline)
    }

    /// The hosts of the controllers at some places, in the order in which they are served.
    func hosts(at slots: PlaceSet) -> PlaceSet {
        var hosts = PlaceSet()
        for slot in slots where slot < hostsBySlot.count {
            if let host = hostsBySlot[slot] { hosts.insert(host) }
        }
        return hosts
    }

    func controller(of index: Int) -> ControllerID { entries[index].controller }

    /// Gives a host a packet.
    mutating func receive(_ packet: ArraySlice<UInt8>, by index: Int, at now: Duration) {
        entries[index].host.receive(packet, at: now)
        touch(index)
    }
}
