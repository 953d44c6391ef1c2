import AirSimulator
import BluetoothCryptography
import BluetoothHCI
import BluetoothHost
import BluetoothPeripheral
import SeededRandomness
import Testing

/// Two services with values of the same names, one for every kind of answer.
struct Notes: GATTService {
    enum Value: String, CaseIterable { case text, slow }
    var text: [UInt8] = Array("hello".utf8)
    var writes: [[UInt8]] = []
    var subscriptions: [Subscription] = []
    var permissions = AttributePermissions.open
    /// A request that is answered at a time.
    var waiting: (token: ReplyToken, isRead: Bool, time: Duration)?
    /// How long a slow answer takes; nil for ever.
    var slowness: Duration? = .seconds(2)
    var uuid: BluetoothUUID = .uuid16(0xFF00)

    var declaration: Service {
        Service(uuid) {
            Characteristic(
                .uuid16(0xFF01),
                [.read, .write, .writeWithoutResponse, .notify, .indicate],
                of: Value.text,
                permissions: permissions
            )
            Characteristic(.uuid16(0xFF02), [.read, .write], of: Value.slow)
        }
    }

    mutating func read(_ value: Value, by peer: Peer, _ output: inout Output) -> ReadReply {
        switch value {
        case .text: return .value(text)
        case .slow: return .later(wait(isRead: true, &output))
        }
    }

    mutating func write(
        _ bytes: ArraySlice<UInt8>,
        to value: Value,
        by peer: Peer,
        _ output: inout Output
    ) -> WriteReply {
        switch value {
        case .text:
            guard bytes.first != 0 else { return .refused(ATTError(rawValue: 0x80)) }
            writes.append(Array(bytes))
            text = Array(bytes)
            output.notify(.text, text)
            return .done
        case .slow: return .later(wait(isRead: false, &output))
        }
    }

    private mutating func wait(isRead: Bool, _ output: inout Output) -> ReplyToken {
        let token = output.later()
        if let slowness { waiting = (token, isRead, output.now + slowness) }
        return token
    }

    mutating func subscriptionChanged(
        of value: Value,
        to subscription: Subscription,
        _ cause: SubscriptionChange.Cause,
        by peer: Peer,
        _ output: inout Output
    ) {
        subscriptions.append(subscription)
    }

    var nextDeadline: Duration? { waiting?.time }

    mutating func advance(_ output: inout Output) {
        guard let (token, isRead, time) = waiting, time <= output.now else { return }
        waiting = nil
        if isRead { output.answer(token, with: [7]) } else { output.refuse(token, with: .unlikelyError) }
    }
}

/// Both of them.
struct TwoNotes: ServiceSet {
    var first = Notes()
    var second = Notes(text: Array("second".utf8), uuid: .uuid16(0xFF10))

    mutating func visitServices(_ visitor: inout some ServiceVisitor) {
        visitor.visit(&first)
        visitor.visit(&second)
    }
}

/// An echo over a channel.
struct Echo: ChannelService {
    enum Value: String, CaseIterable { case spsm }
    let listener = ChannelListener(requirement: .open)
    var spsm: SPSM?
    var closures = 0
    let declaration = Service(.uuid16(0xFF20)) { Characteristic(.uuid16(0xFF21), .read, of: Value.spsm) }

    mutating func listens(on spsm: SPSM) { self.spsm = spsm }

    func read(_ value: Value, by peer: Peer, _ output: inout Output) -> ReadReply {
        guard let number = spsm?.rawValue else { return .refused(.unlikelyError) }
        return .value([UInt8(number & 0xFF), UInt8(number >> 8)])
    }

    func write(_ bytes: ArraySlice<UInt8>, to value: Value, by peer: Peer, _ output: inout Output) -> WriteReply {
        .refused(.writeNotPermitted)
    }

    func received(_ bytes: [UInt8], on channel: Channel.ID, _ output: inout Output) {
        output.write(bytes, to: channel)
    }

    mutating func closed(_ channel: Channel.ID, _ closure: ChannelClosure, _ output: inout Output) {
        closures += 1
    }
}

/// A peripheral in the simulation, and what it reported.
struct Station<Services: ServiceSet>: HostOwner {
    var host: Peripheral<Services>
    var events: [PeripheralEvent] = []

    mutating func settle(at now: Duration) {
        while let event = host.nextEvent() { events.append(event) }
    }
}

/// A central on the same host.
struct Central: HostOwner {
    var host: LEHost
    var connection: ConnectionHandle?
    var results: [Result<GATTResponse, GATTProcedureError>] = []
    var received: [ReceivedValue] = []
    var channel: Channel.ID?
    var stream: [UInt8] = []
    /// Whether it reads what comes in on its channel.
    var isReading = true
    var bonds = 0

    init() {
        var security = SecurityManager.Configuration()
        security.confirmsJustWorks = false
        host = LEHost(
            configuration: LEHost.Configuration(ownAddress: .staticRandom(0xCE17), security: security),
            database: GATTDatabase(),
            cryptography: .swiftCrypto,
            randomness: RandomSource(state: 7, SplitMix64.draw)
        )
    }

    mutating func settle(at now: Duration) {
        while let event = host.nextEvent() {
            switch event {
            case .connected(let new): connection = new.handle
            case .disconnected: connection = nil
            case .gatt(.procedureEnded(let ended)): results.append(ended.result)
            case .gatt(.valueReceived(let value)): received.append(value)
            case .security(.bonded(_, let bond)):
                bonds += 1
                host.security?.bondStored(bond.identity)
            case .security(.prompt(let prompt)): _ = host.security?.answer(prompt.id, with: .accept, at: now)
            case .channel(.opened(let opened)): channel = opened.id
            case .channel(.readable(let id)):
                if isReading { host.channels.read(from: id, into: &stream, at: now) }
            default: break
            }
        }
    }
}

/// Services as values, on the air with a central, in virtual time.
@Suite struct PeripheralTests {
    static let address = LEAddress.staticRandom(0x9E41)

    private struct Pair<Services: ServiceSet> {
        var air: SimulatedPair<Station<Services>, Central>

        init(_ services: Services, pairing: PeripheralConfiguration.Pairing = .none) throws {
            var configuration = PeripheralConfiguration(
                name: "Test",
                address: PeripheralTests.address,
                pairing: pairing
            )
            configuration.advertising?.services = [.uuid16(0xFF00)]
            let peripheral = try Peripheral(
                services,
                configuration,
                cryptography: .swiftCrypto,
                randomness: RandomSource(state: 1, SplitMix64.draw)
            )
            air = SimulatedPair(seed: 3, watch: Station(host: peripheral), phone: Central())
            air.run(for: .seconds(1))
            try connect()
        }

        mutating func connect() throws {
            air.onPhone { phone, now in
                phone.host.connect(
                    to: PeripheralTests.address,
                    ConnectionParameters(
                        intervalMinimum: .milliseconds(30),
                        intervalMaximum: .milliseconds(30),
                        latency: 0,
                        supervisionTimeout: .milliseconds(2000)
                    ),
                    at: now
                )
            }
            air.run(for: .seconds(2))
            try #require(air.onPhone { phone, _ in phone.connection } != nil)
        }

        mutating func perform(
            _ procedure: GATTProcedure,
            for time: Duration = .seconds(1)
        ) throws -> Result<GATTResponse, GATTProcedureError>? {
            let count = try air.onPhone { phone, now in
                phone.host.advance(to: now)
                let connection = try #require(phone.connection)
                try phone.host.gatt.start(procedure, on: connection, at: now)
                return phone.results.count
            }
            air.run(for: time)
            return air.onPhone { phone, _ in phone.results.count > count ? phone.results[count] : nil }
        }

        /// The handle of the nth value with a UUID.
        mutating func handle(_ uuid: BluetoothUUID, _ index: Int = 0) throws -> AttributeHandle {
            guard case .success(.values(let values))? = try perform(.readByUUID(.characteristic)) else { return .none }
            let found = values.filter { $0.value.suffix(2) == [UInt8(uuid.short & 0xFF), UInt8(uuid.short >> 8)] }
            let value = try #require(found.dropFirst(index).first).value
            return AttributeHandle(
                rawValue: UInt16(value[value.startIndex + 1]) | UInt16(value[value.startIndex + 2]) << 8
            )
        }
    }

    @Test func valuesAreReadAndWritten() throws {
        var pair = try Pair(Notes())
        let text = try pair.handle(.uuid16(0xFF01))
        #expect(try pair.perform(.read(text)) == .success(.value(Array("hello".utf8)[...])))
        #expect(try pair.perform(.write(text, [1, 2, 3])) == .success(.written))
        #expect(try pair.perform(.read(text)) == .success(.value([1, 2, 3])))
        guard case .failure(.refused(let refusal))? = try pair.perform(.write(text, [0])) else {
            Issue.record("the write was not refused")
            return
        }
        #expect(refusal.error.rawValue == 0x80)
    }

    @Test func aLongWriteArrivesAsOne() throws {
        var pair = try Pair(Notes())
        let long = [UInt8](1...200) + [UInt8](1...200)
        let text = try pair.handle(.uuid16(0xFF01))
        #expect(try pair.perform(.writeLong(text, long[...]), for: .seconds(4)) == .success(.written))
        #expect(try pair.perform(.readLong(text), for: .seconds(4)) == .success(.value(long[...])))
    }

    @Test func subscribersHearOfChanges() throws {
        var pair = try Pair(Notes())
        let text = try pair.handle(.uuid16(0xFF01))
        let configuration = AttributeHandle(rawValue: text.rawValue + 1)
        #expect(try pair.perform(.subscribe(clientConfiguration: configuration, .notifications)) == .success(.written))
        pair.air.onWatch { station, now in
            station.host.update(at: now) { _ in }
        }
        #expect(try pair.perform(.write(text, [9])) == .success(.written))
        let received = pair.air.onPhone { phone, _ in phone.received }
        #expect(received.map(\.value) == [[9]])
        #expect(received.allSatisfy { !$0.isIndication })
    }

    @Test func answersMayComeLaterAndMustCome() throws {
        var pair = try Pair(Notes())
        let slow = try pair.handle(.uuid16(0xFF02))
        #expect(try pair.perform(.read(slow), for: .seconds(1)) == nil)
        pair.air.run(for: .seconds(2))
        #expect(pair.air.onPhone { phone, _ in phone.results.last } == .success(.value([7])))
        guard case .failure(.refused)? = try pair.perform(.write(slow, [1]), for: .seconds(4)) else {
            Issue.record("the write was not refused")
            return
        }
        pair.air.onWatch { station, now in station.host.update(at: now) { $0.slowness = nil } }
        guard case .failure(.refused(let refusal))? = try pair.perform(.read(slow), for: .seconds(12)) else {
            Issue.record("a forgotten answer silences the bearer")
            return
        }
        #expect(refusal.error == .unlikelyError)
    }

    @Test func servicesMayNameTheirValuesAlike() throws {
        var pair = try Pair(TwoNotes())
        let first = try pair.handle(.uuid16(0xFF01), 0)
        let second = try pair.handle(.uuid16(0xFF01), 1)
        #expect(try pair.perform(.write(second, [5])) == .success(.written))
        #expect(try pair.perform(.read(first)) == .success(.value(Array("hello".utf8)[...])))
        #expect(try pair.perform(.read(second)) == .success(.value([5])))
        // What the second sends is the second's.
        for handle in [first, second] {
            let configuration = AttributeHandle(rawValue: handle.rawValue + 1)
            #expect(
                try pair.perform(.subscribe(clientConfiguration: configuration, .notifications)) == .success(.written)
            )
        }
        #expect(try pair.perform(.write(second, [6])) == .success(.written))
        #expect(pair.air.onPhone { phone, _ in phone.received.map(\.handle) } == [second])
    }

    @Test func aValueWithoutACharacteristicIsAnError() {
        struct Forgetful: GATTService {
            enum Value: String, CaseIterable { case forgotten }
            var declaration: Service { Service(.uuid16(0xFF30)) {} }
            func read(_ value: Value, by peer: Peer, _ output: inout Output) -> ReadReply { .value([]) }
            func write(_ bytes: ArraySlice<UInt8>, to value: Value, by peer: Peer, _ output: inout Output) -> WriteReply
            { .done }
        }
        #expect(throws: PeripheralError.valueNotDeclared("forgotten")) {
            try Peripheral(
                Forgetful(),
                PeripheralConfiguration(name: "", address: Self.address),
                cryptography: .swiftCrypto,
                randomness: RandomSource(state: 1, SplitMix64.draw)
            )
        }
    }

    @Test func aBondedPeersSubscriptionsComeBack() throws {
        var notes = Notes()
        notes.permissions = .encrypted
        var pair = try Pair(notes, pairing: .anyone)
        let text = try pair.handle(.uuid16(0xFF01))
        guard case .failure(.refused(let refusal))? = try pair.perform(.read(text)) else {
            Issue.record("read without encryption")
            return
        }
        #expect(refusal.error == .insufficientAuthentication)
        try pair.air.onPhone { phone, now in
            phone.host.advance(to: now)
            let connection = try #require(phone.connection)
            try phone.host.security?.pair(connection, at: now)
        }
        pair.air.run(for: .seconds(4))
        let configuration = AttributeHandle(rawValue: text.rawValue + 1)
        #expect(try pair.perform(.subscribe(clientConfiguration: configuration, .notifications)) == .success(.written))
        try pair.air.onPhone { phone, now in phone.host.disconnect(try #require(phone.connection), at: now) }
        pair.air.run(for: .seconds(2))
        try pair.connect()
        try pair.air.onPhone { phone, now in
            phone.host.advance(to: now)
            let connection = try #require(phone.connection)
            try phone.host.security?.encrypt(connection, at: now)
        }
        pair.air.run(for: .seconds(2))
        pair.air.onPhone { phone, _ in phone.received = [] }
        #expect(try pair.perform(.write(text, [4])) == .success(.written))
        #expect(pair.air.onPhone { phone, _ in phone.received.map(\.value) } == [[4]])
        #expect(pair.air.onPhone { phone, _ in phone.bonds } == 1)
    }

    @Test func bytesOfAChannelComeBack() throws {
        var pair = try Pair(Echo())
        let value = try pair.handle(.uuid16(0xFF21))
        guard case .success(.value(let bytes))? = try pair.perform(.read(value)) else {
            Issue.record("no SPSM is published")
            return
        }
        let spsm = SPSM(rawValue: UInt16(bytes[bytes.startIndex]) | UInt16(bytes[bytes.startIndex + 1]) << 8)
        try pair.air.onPhone { phone, now in
            phone.host.advance(to: now)
            _ = try phone.host.channels.open(to: spsm, on: try #require(phone.connection), at: now)
        }
        pair.air.run(for: .seconds(1))
        // More than fits into both sides' room, for a peer that does not read at first.
        let sent = (0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let channel = try #require(pair.air.onPhone { phone, _ in phone.channel })
        pair.air.onPhone { phone, _ in phone.isReading = false }
        var rest = sent[...]
        for _ in 0..<100 {
            let count = pair.air.onPhone { phone, now in phone.host.channels.write(rest, to: channel, at: now) }
            rest = rest.dropFirst(count)
            pair.air.run(for: .seconds(1))
        }
        // It is held off: 64 KiB wait, as much as came in at once, and what both hosts have room for.
        let taken = sent.count - rest.count
        #expect((100_000..<300_000).contains(taken), "\(taken) bytes were taken of a peer that does not read")
        pair.air.onPhone { phone, now in
            phone.isReading = true
            phone.host.channels.read(from: channel, into: &phone.stream, at: now)
        }
        pair.air.run(for: .seconds(60))
        #expect(pair.air.onPhone { phone, _ in phone.stream } == sent.prefix(taken).map { $0 })
    }
}

extension BluetoothUUID {
    /// The number of a 16-bit UUID; 0 of a long one.
    fileprivate var short: UInt16 {
        switch self {
        case .uuid16(let number): number
        case .uuid128: 0
        }
    }
}
