import BluetoothCryptography
import BluetoothHCI
import BluetoothHost
import ByteCoding
import Daemon
import HCIRuntime

/// A peripheral that a central can measure throughput with.
///
/// Its service 12345678-1234-5678-1234-56789ABCDEF0 has the characteristics 123456NN-…:
///
/// | NN | properties | meaning |
/// |---|---|---|
/// | 01 | notify | carries the stream of notifications |
/// | 02 | write, write without response | takes bytes and counts them |
/// | 03 | read | the PSM of the channel (2) |
/// | 04 | read, write | see `BenchControl` |
///
/// The first SDU on a channel, and each after a transfer has ended, is a command: `S`, count (4) takes that many bytes in
/// SDUs and answers with one; `G`, count (4), length (2) sends that many bytes in SDUs of a length; `E`… comes back.
struct BenchPeripheral: LoopHost {
    enum Event {
        case advertising
        case failed(String)
    }

    /// Bytes that a channel is to send, in SDUs of a length.
    private struct Gift {
        let channel: Channel.ID
        var left: Int
        let length: Int
    }

    private static let mtu = 2048
    private static let set = AdvertisingSetID(rawValue: 0)
    private static let stream: AttributeName = "stream"
    private static let sink: AttributeName = "sink"
    private static let psm: AttributeName = "psm"
    private static let control: AttributeName = "control"

    private var host: LEHost
    private var counters = BenchCounters()
    /// How many bytes each channel still has to take until its next command.
    private var expected: [Channel.ID: Int] = [:]
    private var gifts: [Gift] = []
    /// Notifications that are still to be sent: to whom, how many bytes, and how many of them fit into one.
    private var notifying: (connection: ConnectionHandle, left: Int, length: Int)?
    /// Where the notified value and the one that takes bytes are.
    private let streamHandle: AttributeHandle?
    private let sinkHandle: AttributeHandle?
    private let filler = (0..<65535).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    private var buffer: [UInt8] = []
    private var events: [Event] = []
    /// The latest time that was handed in.
    private var latest = Duration.zero
    private var isLeaving = false

    init(address: DeviceAddress) throws {
        func uuid(_ number: UInt32) -> BluetoothUUID {
            .uuid128(UInt128(0x1234_5600 + number) << 96 | 0x1234_5678_1234_5678_9ABC_DEF0)
        }
        let database = try GATTDatabase {
            Service(.genericAccess) { Characteristic(.uuid16(0x2A00), .read, value: "bench") }
            Service(uuid(0x78)) {
                Characteristic(uuid(1), .notify, name: Self.stream)
                Characteristic(uuid(2), [.write, .writeWithoutResponse], name: Self.sink, value: .askOwner)
                Characteristic(uuid(3), .read, name: Self.psm, value: .fixedLength([0, 0]))
                Characteristic(uuid(4), [.read, .write], name: Self.control, value: .askOwner)
            }
        }
        streamHandle = database.handle(of: Self.stream)
        sinkHandle = database.handle(of: Self.sink)
        host = LEHost(
            configuration: LEHost.Configuration(
                ownAddress: .random(address),
                gatt: GATTLayer.Configuration(queueLimit: 64)
            ),
            database: database,
            cryptography: .swiftCrypto,
            randomness: .system
        )
        let parameters = ChannelParameters(face: .sdus, mtu: Self.mtu, receiveLimit: 65536, transmitLimit: 65536)
        let spsm = try host.channels.listen(ChannelListener(requirement: .open, parameters: parameters))
        if let handle = database.handle(of: Self.psm) {
            try host.gatt.setValue(
                [UInt8(truncatingIfNeeded: spsm.rawValue), UInt8(spsm.rawValue >> 8)],
                of: handle
            )
        }
    }

    // MARK: As a host

    mutating func start(at now: Duration) {
        host.start(at: now)
        work(at: now)
    }

    mutating func receive(_ packet: ArraySlice<UInt8>, at now: Duration) {
        host.receive(packet, at: now)
        work(at: now)
    }

    mutating func advance(to now: Duration) {
        host.advance(to: now)
        work(at: now)
    }

    var nextDeadline: Duration? { host.nextDeadline }

    mutating func nextPacket(into buffer: inout [UInt8]) -> Bool {
        if host.nextPacket(into: &buffer) { return true }
        // What has left may have made room for more.
        fill(at: latest)
        return host.nextPacket(into: &buffer)
    }

    mutating func nextEvent() -> Event? { events.isEmpty ? nil : events.removeFirst() }

    mutating func beginShutdown(at now: Duration) {
        isLeaving = true
        host.advance(to: now)
        host.stopAdvertising(Self.set, at: now)
        for connection in host.connections { host.disconnect(connection.handle, at: now) }
    }

    var isShutDown: Bool { isLeaving && host.connections.isEmpty }

    var outstandingPacketCount: Int { host.outstandingPacketCount }

    // MARK: Work

    private mutating func work(at now: Duration) {
        latest = now
        while let event = host.nextEvent() { handle(event, at: now) }
        fill(at: now)
    }

    private mutating func handle(_ event: LEHostEvent, at now: Duration) {
        switch event {
        case .ready, .disconnected:
            notifying = nil
            let set = AdvertisingSet(
                id: Self.set,
                kind: .connectable,
                interval: .milliseconds(20),
                data: [0x02, 0x01, 0x06]
            )
            if !isLeaving { host.startAdvertising(set, at: now) }
        case .advertisingStarted: events.append(.advertising)
        case .failed(let failure): events.append(.failed("\(failure)"))
        case .gatt(let event): handle(event, at: now)
        case .channel(let event): handle(event, at: now)
        default: break
        }
    }

    private mutating func handle(_ event: GATTEvent, at now: Duration) {
        switch event {
        case .written(let write): counters.took(write.value.count, at: now)
        case .readRequested(let request): host.gatt.respond(to: request, with: counters.value[...], at: now)
        case .writeRequested(let request):
            if request.handle == sinkHandle {
                counters.took(request.value.count, at: now)
            } else {
                obey(request.value, from: request.connection)
            }
            host.gatt.respond(to: request, at: now)
        default: break
        }
    }

    private mutating func obey(_ command: ArraySlice<UInt8>, from connection: ConnectionHandle) {
        var reader = ByteReader(command)
        switch try? reader.readUInt8("control.command") {
        case 1:
            guard let mtu = host.gatt.mtu(of: connection) else { return }
            let count = Int((try? reader.readLittleEndian("control.count", as: UInt32.self)) ?? 0)
            notifying = (connection, count, mtu - 3)
        case 2: counters = BenchCounters()
        default: break
        }
    }

    private mutating func handle(_ event: ChannelEvent, at now: Duration) {
        switch event {
        case .closed(let id, _, _):
            expected[id] = nil
            gifts.removeAll { $0.channel == id }
        case .readable(let id): read(id, at: now)
        default: break
        }
    }

    private mutating func read(_ id: Channel.ID, at now: Duration) {
        while true {
            buffer.removeAll(keepingCapacity: true)
            guard host.channels.readSDU(from: id, into: &buffer, at: now) else { return }
            guard let left = expected[id] else {
                begin(id, at: now)
                continue
            }
            if left > buffer.count {
                expected[id] = left - buffer.count
            } else {
                expected[id] = nil
                try? host.channels.writeSDU([UInt8](repeating: 0, count: 12)[...], to: id, at: now)
            }
        }
    }

    /// A channel begins with what `buffer` says.
    private mutating func begin(_ id: Channel.ID, at now: Duration) {
        var reader = ByteReader(buffer)
        let command = try? reader.readUInt8("command")
        switch command {
        case UInt8(ascii: "S"):
            expected[id] = Int((try? reader.readLittleEndian("count", as: UInt32.self)) ?? 0)
        case UInt8(ascii: "G"):
            let count = (try? reader.readLittleEndian("count", as: UInt32.self)) ?? 0
            let length = (try? reader.readLittleEndian("length", as: UInt16.self)) ?? 0
            gifts.append(Gift(channel: id, left: Int(count), length: max(1, Int(length))))
        case UInt8(ascii: "E"): try? host.channels.writeSDU(buffer[...], to: id, at: now)
        default: break
        }
    }

    /// Gives the host what it has room for.
    private mutating func fill(at now: Duration) {
        notify(at: now)
        guard !gifts.isEmpty else { return }
        for index in gifts.indices { give(index, at: now) }
        gifts.removeAll { $0.left == 0 }
    }

    private mutating func notify(at now: Duration) {
        guard let (connection, count, limit) = notifying, let streamHandle else { return }
        var left = count
        while left > 0 {
            let length = min(left, limit)
            guard (try? host.gatt.notify(filler.prefix(length), of: streamHandle, on: connection, at: now)) != nil
            else {
                break
            }
            left -= length
        }
        notifying = left > 0 ? (connection, left, limit) : nil
    }

    private mutating func give(_ index: Int, at now: Duration) {
        while gifts[index].left > 0 {
            let portion = min(gifts[index].left, gifts[index].length)
            guard (try? host.channels.writeSDU(filler.prefix(portion), to: gifts[index].channel, at: now)) != nil else {
                return
            }
            gifts[index].left -= portion
        }
    }
}
