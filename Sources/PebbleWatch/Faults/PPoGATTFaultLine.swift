import BluetoothHCI
import ByteCoding
import Faults
import PebbleProtocol

/// Between PPoGATT and the GATT layer, with faults on it: packets of both sides go in, and come out as the faults leave them.
///
/// It is there only while a fault needs it.
struct PPoGATTFaultLine: Sendable {
    /// Which link a packet belongs to.
    struct Place: Hashable, Sendable {
        let connection: ConnectionHandle
        let carrier: PhoneTransports.Carrier
    }

    private struct Late: Sendable {
        let packet: [UInt8]
        let place: Place
        let isFromPhone: Bool
        let due: Duration
    }

    var faults = FaultList()
    private var now: Duration = .zero
    /// Packets for phones that are late, or wait behind another.
    private var late: [Late] = []
    private var ready: [(place: Place, packet: [UInt8])] = []
    /// A Data packet that goes out behind the next one.
    private var overtaken: [Place: [UInt8]] = [:]
    /// The transports that are to be reset.
    private(set) var resets: [Place] = []

    /// Whether the line changes nothing any more and keeps nothing back.
    var isIdle: Bool { faults.isEmpty && late.isEmpty && ready.isEmpty && overtaken.isEmpty && resets.isEmpty }

    /// When `advance` has something to do.
    var nextDeadline: Duration? {
        var next = faults.nextDeadline(after: now)
        for item in late { next.lower(to: item.due) }
        return next
    }

    /// Lets time pass.
    /// - Returns: the packets of phones' that are due now.
    mutating func advance(to now: Duration) -> [(place: Place, packet: [UInt8])] {
        self.now = max(now, self.now)
        _ = faults.removeOver(at: now)
        var arriving: [(place: Place, packet: [UInt8])] = []
        let due = late.filter { $0.due <= now }
        late.removeAll { $0.due <= now }
        for item in due {
            if item.isFromPhone {
                arriving.append((item.place, item.packet))
            } else {
                ready.append((item.place, item.packet))
            }
        }
        if !faults.isAtWork(.ppogatt(.dataReordered), at: now) {
            ready.append(contentsOf: overtaken.map { ($0.key, $0.value) })
            overtaken = [:]
        }
        return arriving
    }

    /// Takes the transports that are to be reset.
    mutating func takeResets() -> [Place] {
        defer { resets = [] }
        return resets
    }

    /// A connection is gone, and its packets with it.
    mutating func remove(_ connection: ConnectionHandle) {
        late.removeAll { $0.place.connection == connection }
        ready.removeAll { $0.place.connection == connection }
        overtaken = overtaken.filter { $0.key.connection != connection }
        resets.removeAll { $0.connection == connection }
    }

    /// The next packet for a phone.
    mutating func nextPacket(for place: Place, into packet: inout [UInt8]) -> Bool {
        guard let index = ready.firstIndex(where: { $0.place == place }) else { return false }
        packet = ready.remove(at: index).packet
        return true
    }

    // MARK: Packets

    /// Takes a packet of the watch's; what becomes of it comes out of `nextPacket`.
    mutating func send(_ bytes: [UInt8], at place: Place, phone: DeviceAddress, at now: Duration) {
        self.now = max(now, self.now)
        guard let packet = try? PPoGATTPacket(bytes[...]) else { return ready.append((place, bytes)) }
        switch packet {
        case .data(let number, _): sendData(bytes, number, place, phone)
        case .acknowledgement(let number):
            if fire(.ackLost, phone, "to-phone", "the Ack \(number) is lost", place) != nil { return }
            if let fault = fire(.ackLate, phone, "to-phone", "the Ack \(number) is late", place) {
                return delay(bytes, place, isFromPhone: false, by: fault)
            }
            ready.append((place, bytes))
            if fire(.ackDoubled, phone, nil, "the Ack \(number) goes out twice", place) != nil {
                ready.append((place, bytes))
            }
        case .resetRequest(let request):
            guard !request.payload.isEmpty,
                let fault = fire(.otherVersion, phone, nil, "the watch opens with another version", place)
            else { return ready.append((place, bytes)) }
            var changed = bytes
            changed[PPoGATTPacket.headerLength] = UInt8(clamping: fault.fault.number(.version) ?? 0)
            ready.append((place, changed))
        case .resetComplete(let windows):
            guard windows != nil, fire(.windowOfOne, phone, nil, "the watch offers windows of one", place) != nil else {
                return ready.append((place, bytes))
            }
            ready.append((place, Self.windowsOfOne))
        }
    }

    private static var windowsOfOne: [UInt8] {
        var bytes: [UInt8] = []
        PPoGATTPacket.resetComplete(PPoGATTWindows(receive: 1, transmit: 1)).encode(to: &bytes)
        return bytes
    }

    private mutating func sendData(
        _ bytes: [UInt8],
        _ number: PPoGATTSequenceNumber,
        _ place: Place,
        _ phone: DeviceAddress
    ) {
        countData(place, phone)
        if fire(.dataLost, phone, "to-phone", "the packet \(number) is lost", place) != nil { return }
        var bytes = bytes
        if bytes.count > PPoGATTPacket.headerLength,
            fire(.dataCorrupted, phone, nil, "a bit of the packet \(number) is turned over", place) != nil
        {
            bytes[bytes.count - 1] ^= 0x01
        }
        if let first = overtaken.removeValue(forKey: place) {
            ready.append((place, bytes))
            ready.append((place, first))
            return
        }
        if fire(.dataReordered, phone, nil, "the packet \(number) goes out behind the next one", place) != nil {
            overtaken[place] = bytes
            return
        }
        ready.append((place, bytes))
        if fire(.dataRepeated, phone, nil, "the packet \(number) goes out twice", place) != nil {
            ready.append((place, bytes))
        }
    }

    /// Takes a packet of a phone's.
    /// - Returns: it, as it arrives now; nil if it does not.
    mutating func receive(
        _ bytes: ArraySlice<UInt8>,
        at place: Place,
        phone: DeviceAddress,
        at now: Duration
    ) -> ArraySlice<UInt8>? {
        self.now = max(now, self.now)
        guard let packet = try? PPoGATTPacket(bytes) else { return bytes }
        switch packet {
        case .data(let number, _):
            countData(place, phone)
            return fire(.dataLost, phone, "from-phone", "the phone's packet \(number) is lost", place) == nil
                ? bytes : nil
        case .acknowledgement(let number):
            if fire(.ackLost, phone, "from-phone", "the phone's Ack \(number) is lost", place) != nil { return nil }
            if let fault = fire(.ackLate, phone, "from-phone", "the phone's Ack \(number) is late", place) {
                delay(Array(bytes), place, isFromPhone: true, by: fault)
                return nil
            }
            return bytes
        case .resetComplete(let windows):
            // The watch's own sender keeps to what the phone was offered.
            guard windows != nil, faults.isAtWork(.ppogatt(.windowOfOne), phone: phone, at: now) else { return bytes }
            return Self.windowsOfOne[...]
        case .resetRequest: return bytes
        }
    }

    private mutating func delay(_ packet: [UInt8], _ place: Place, isFromPhone: Bool, by fault: RunningFault) {
        let due = now + (fault.fault.time(.delay) ?? .zero)
        late.append(Late(packet: packet, place: place, isFromPhone: isFromPhone, due: due))
    }

    /// A Data packet passes, which a reset may wait for.
    private mutating func countData(_ place: Place, _ phone: DeviceAddress) {
        for index in faults.indices(of: .ppogatt(.reset)) where faults.running[index].isAtWork(at: now) {
            let limit = faults.running[index].fault.number(.packets) ?? 0
            let now = now
            let fires = faults.update(index) { fault in
                fault.passed += 1
                return fault.passed > limit && fault.fires(at: now, phone: phone)
            }
            guard fires else { continue }
            faults.tell(faults.running[index], on: place.connection, "the watch resets the transport")
            resets.append(place)
        }
    }

    /// An occasion for a fault, which is told if it fires.
    private mutating func fire(
        _ fault: PPoGATTFault,
        _ phone: DeviceAddress,
        _ direction: String?,
        _ effect: String,
        _ place: Place
    ) -> RunningFault? {
        let fired = faults.fire(.ppogatt(fault), phone: phone, at: now) { fault in
            guard let direction, let wanted = fault.word(.direction) else { return true }
            return wanted == direction || wanted == "both"
        }
        if let fired { faults.tell(fired, on: place.connection, effect) }
        return fired
    }
}
