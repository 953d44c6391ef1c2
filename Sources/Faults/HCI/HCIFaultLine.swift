import BluetoothHCI
import BluetoothHost
import ByteCoding

/// The boundary between a controller and a host, with faults on it.
///
/// Packets of both sides go in, and come out as the faults leave them. It keeps the accounts of the ACL packets straight: the
/// host hears of each of its packets that it is completed once, and the controller never gets more than it has room for,
/// whatever is withheld, changed or invented in between.
///
/// It stands there only while a fault needs it: ``isIdle`` says when it can go.
public struct HCIFaultLine: Sendable {
    /// What a line that comes between the two while they work has to know of them.
    public struct Basis: Sendable {
        /// A connection that is there.
        public struct Connection: Sendable {
            /// Its handle.
            public var handle: ConnectionHandle
            /// The phone: its identity if it is known, else the address that it uses.
            public var phone: DeviceAddress
            /// How many ACL packets the controller has and has not completed.
            public var outstandingPackets: Int

            /// A connection.
            public init(handle: ConnectionHandle, phone: DeviceAddress, outstandingPackets: Int) {
                self.handle = handle
                self.phone = phone
                self.outstandingPackets = outstandingPackets
            }
        }

        /// How many ACL packets the controller has room for; 0 if it is not started.
        public var packetCount: Int
        /// Whether it advertises in sets.
        public var hasAdvertisingSets: Bool
        /// The connections, in order.
        public var connections: [Connection]

        /// A controller that has not been started, unless said otherwise.
        public init(packetCount: Int = 0, hasAdvertisingSets: Bool = true, connections: [Connection] = []) {
            self.packetCount = packetCount
            self.hasAdvertisingSets = hasAdvertisingSets
            self.connections = connections
        }
    }

    /// What the line cannot do itself.
    public enum Action: Hashable, Sendable {
        /// The two ends of a link are to hear nothing of each other for a while.
        case silence(ConnectionHandle, for: Duration)
    }

    /// A command that the controller has, and its answer.
    struct Command: Sendable {
        let opcode: UInt16
        /// What the host takes the command for; nil if it has not sent it.
        let known: UInt16?
    }

    /// Something that goes on when its time has come, or when the fault that holds it is over.
    struct Held: Sendable {
        enum Content: Sendable {
            /// A packet of the controller's or the host's, as it came.
            case packet([UInt8], FaultDirection)
            /// An event of the controller's that is late.
            case late([UInt8])
            /// A PDU; of the watch's, with the packets that the host is told of.
            case pdu(FaultPDU, ConnectionHandle, FaultDirection, owed: Int)
        }

        let content: Content
        let due: Duration?
        let fault: FaultID?
    }

    var faults = FaultList()
    var links: [FaultLink] = []
    var now: Duration = .zero
    var held: [Held] = []
    var packetCount: Int
    var hasAdvertisingSets: Bool
    /// ACL packets for the controller that wait for room, each with the packets that the host is told of.
    var waitingData: [(handle: ConnectionHandle, packet: [UInt8], owed: Int)] = []
    var waitingCommands: [(packet: [UInt8], command: Command)] = []
    var commandsInFlight: [Command] = []
    var actions: [Action] = []
    private var toHost = PacketQueue()
    private var toController = PacketQueue()

    /// A line without faults.
    public init(_ basis: Basis) {
        packetCount = basis.packetCount
        hasAdvertisingSets = basis.hasAdvertisingSets
        links = basis.connections.map { connection in
            var link = FaultLink(handle: connection.handle, phone: connection.phone)
            link.inFlight = Array(repeating: 1, count: max(0, connection.outstandingPackets))
            return link
        }
    }

    // MARK: Faults

    /// Adds a fault of the HCI boundary.
    /// - Throws: `FaultError.tooMany`.
    public mutating func add(_ fault: Fault, as id: FaultID, at now: Duration) throws(FaultError) {
        try faults.add(fault, as: id, at: now)
        advance(to: now)
    }

    /// Takes a fault away, and lets go what it held.
    /// - Parameters:
    ///   - id: which one; nil for all.
    ///   - now: the time since the line's clock began.
    /// - Returns: whether it was there.
    public mutating func clear(_ id: FaultID?, at now: Duration) -> Bool {
        let wasThere = faults.clear(id)
        advance(to: now)
        return wasThere
    }

    /// The faults that are there.
    public var running: [RunningFault] { faults.running }

    /// The oldest firing that has not been told.
    public mutating func nextFiring() -> FaultFiring? { faults.nextFiring() }

    /// What is to be done outside of the line.
    public mutating func nextAction() -> Action? { actions.isEmpty ? nil : actions.removeFirst() }

    /// Whether the line changes nothing any more and keeps nothing back, so that controller and host can do without it.
    public var isIdle: Bool {
        faults.isEmpty && held.isEmpty && waitingData.isEmpty && waitingCommands.isEmpty && actions.isEmpty
            && toHost.isEmpty && toController.isEmpty
            && commandsInFlight.allSatisfy { $0.known == $0.opcode }
            && links.allSatisfy { link in
                link.withheld == 0 && link.inFlight.allSatisfy { $0 == 1 } && !link.fromPhone.hasBegun
                    && !link.toPhone.hasBegun && link.inventedRequests.isEmpty && link.inventedAnswers.isEmpty
                    && link.anticipatedConfirmations == 0
            }
    }

    // MARK: Packets

    /// Takes a packet from the controller.
    public mutating func fromController(_ packet: ArraySlice<UInt8>, at now: Duration) {
        advance(to: now)
        guard !holds(packet, .fromPhone) else { return }
        takeFromController(packet)
        pump()
    }

    /// Takes a packet from the host.
    public mutating func fromHost(_ packet: ArraySlice<UInt8>, at now: Duration) {
        advance(to: now)
        guard !holds(packet, .toPhone) else { return }
        takeFromHost(packet)
        pump()
    }

    /// The next packet for the host.
    public mutating func nextForHost(into buffer: inout [UInt8]) -> Bool { toHost.popFirst(into: &buffer) }

    /// The next packet for the controller.
    public mutating func nextForController(into buffer: inout [UInt8]) -> Bool { toController.popFirst(into: &buffer) }

    /// A controller that hangs takes nothing and says nothing; it has all of it when it comes back.
    private mutating func holds(_ packet: ArraySlice<UInt8>, _ direction: FaultDirection) -> Bool {
        guard let fault = faults.atWork(.hci(.controllerHangs), at: now) else { return false }
        held.append(Held(content: .packet(Array(packet), direction), due: nil, fault: fault.id))
        return true
    }

    mutating func takeFromController(_ packet: ArraySlice<UInt8>) {
        switch packet.first.flatMap(HCIPacketType.init(rawValue:)) {
        case .acl?: receiveData(packet, .fromPhone)
        case .event?: receiveEvent(packet)
        case .command?, .sco?, .iso?, nil: giveHost(packet)
        }
    }

    mutating func takeFromHost(_ packet: ArraySlice<UInt8>) {
        switch packet.first.flatMap(HCIPacketType.init(rawValue:)) {
        case .acl?: receiveData(packet, .toPhone)
        case .command?: receiveCommand(packet)
        case .event?, .sco?, .iso?, nil: giveController(packet)
        }
    }

    mutating func giveHost(_ packet: some Sequence<UInt8>) { toHost.append { $0.append(contentsOf: packet) } }

    mutating func giveController(_ packet: some Sequence<UInt8>) {
        toController.append { $0.append(contentsOf: packet) }
    }

    /// The controller is gone, or another one is there: nothing that was said before counts.
    public mutating func controllerLost() {
        reset()
        commandsInFlight = []
        held = []
    }

    /// The controller is reset: what it has of links and data is gone. It still answers the commands that were invented.
    mutating func reset() {
        links = []
        waitingData = []
        waitingCommands = []
        commandsInFlight.removeAll { $0.known != nil }
        held.removeAll { item in
            if case .packet = item.content { false } else { true }
        }
        toHost.removeAll()
        toController.removeAll()
    }

    // MARK: Time

    /// When `advance(to:)` has something to do.
    public var nextDeadline: Duration? {
        var next = faults.nextDeadline(after: now)
        for item in held { if let due = item.due { next = min(next ?? due, due) } }
        return next
    }

    /// Lets time pass.
    public mutating func advance(to now: Duration) {
        self.now = max(now, self.now)
        startStanding()
        fireByThemselves()
        _ = faults.removeOver(at: self.now)
        release()
        pump()
    }

    /// What is due goes on, and what no fault holds any more.
    private mutating func release() {
        guard !held.isEmpty else { return }
        let ids = Set(faults.running.lazy.filter { [now] in $0.isAtWork(at: now) }.map { $0.id })
        let all = held
        held = []
        for item in all {
            let isFree = item.fault.map { !ids.contains($0) } ?? item.due.map { $0 <= now } ?? true
            guard isFree else {
                held.append(item)
                continue
            }
            switch item.content {
            case .packet(let packet, .fromPhone): takeFromController(packet[...])
            case .packet(let packet, .toPhone): takeFromHost(packet[...])
            case .late(let packet):
                if let event = try? HCIEvent(body: packet.dropFirst()) { note(event, packet[...], isSeen: true) }
            case .pdu(let pdu, let handle, .fromPhone, _):
                // What was released before it may have ended the link.
                if link(handle) != nil { giveHost(pdu, on: handle) }
            case .pdu(let pdu, let handle, .toPhone, let owed): send(pdu, on: handle, owed: owed)
            }
        }
    }

    /// Faults that hold all the time are told when they begin.
    private mutating func startStanding() {
        for index in faults.running.indices
        where faults.running[index].fault.definition.occasion == .standing
            && faults.update(index, { [now] in $0.begins(at: now) })
        {
            faults.tell(faults.running[index], "it begins")
        }
        guard !faults.isAtWork(.hci(.noBuffers), at: now) else { return }
        for index in links.indices where links[index].withheld > 0 {
            let count = links[index].withheld
            links[index].withheld = 0
            tellCompleted(count, on: links[index].handle)
        }
    }

    // MARK: Firing

    /// An occasion for a fault about a link.
    mutating func fire(
        _ fault: HCIFault,
        on link: Int,
        where matches: (Fault) -> Bool = { _ in true }
    ) -> RunningFault? {
        faults.fire(.hci(fault), phone: links[link].phone, at: now, where: matches)
    }
}
