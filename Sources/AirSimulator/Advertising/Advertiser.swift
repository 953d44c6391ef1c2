import BluetoothHCI

/// When the advertising events of a set take place: at its interval, each one late by a random part of 10 ms.
///
/// Source: Core 5.4, Vol 6, Part B, 4.4.2.2.1.
struct AdvertisingTimeline: Sendable {
    /// When the next event begins.
    private(set) var next: Microseconds
    private let interval: Microseconds
    private var random: SeededRandom

    static let maximumDelay: UInt64 = 10_000

    /// A timeline whose first event comes within 10 ms, as the radio would find time for it.
    init(start: Microseconds, interval: Microseconds, random: SeededRandom) {
        next = start
        self.interval = interval
        self.random = random
        next += delay()
    }

    /// Goes on to the event after the next one.
    mutating func advance() { next += interval + delay() }

    mutating func reseed(_ new: SeededRandom) { random = new }

    private mutating func delay() -> Microseconds { Microseconds(Int64(random.next(below: Self.maximumDelay + 1))) }
}

/// An advertising set: what it sends, and where it is in sending it.
struct Advertiser: Sendable {
    /// What a set is like, whether it was set up by legacy or by extended commands.
    struct Parameters: Sendable {
        var properties: AdvertisingEventProperties = [.legacy, .connectable, .scannable]
        var interval = AdvertisingInterval(rawValue: 0x0800)
        var channels = AdvertisingChannels.all
        var ownAddressType = OwnAddressType.public
        var peer = LEAddress.public(.zero)
        var filterPolicy = AdvertisingFilterPolicy.anyone
        var primaryPHY = PHY.le1M
        var secondaryPHY = PHY.le1M
        var sid: UInt8 = 0
        var powerDBm: Int8 = 0
        var notifiesScanRequests = false

        var isLegacy: Bool { properties.contains(.legacy) }
        var isConnectable: Bool { properties.contains(.connectable) }
        var isScannable: Bool { properties.contains(.scannable) }
    }

    /// What a set is doing now, until `stageEnd`.
    enum Stage: Sendable {
        /// Nothing: the next event comes when the timeline says.
        case waiting
        /// The radio is taken: the event begins once it is free.
        case postponed
        /// An advertising packet on one of the primary channels: its place among the set's channels.
        case primary(Int)
        /// A scanner asks for the scan response: on a primary channel or, if that is nil, after the auxiliary packet.
        case scanRequest(from: Int, channelIndex: Int?)
        case scanResponse(to: Int, channelIndex: Int?)
        /// An initiator connects.
        case connectRequest(from: Int, channelIndex: Int?)
        /// Several answer at once and destroy each other's packets.
        case collision(channelIndex: Int?)
        /// The auxiliary packet and those chained to it.
        case auxiliary
        case connectResponse(to: Int, requestEnd: Microseconds)
    }

    let actor: DeadlineActor
    let handle: AdvertisingHandle
    var parameters = Parameters()
    /// The address that a set of extended commands has of its own.
    var randomAddress: DeviceAddress?
    var data: [UInt8] = []
    var scanResponse: [UInt8] = []
    /// Data of which only some fragments have come.
    var partialData: [UInt8]?
    var partialScanResponse: [UInt8]?
    /// Changes with the data, so that scanners can tell.
    var dataIdentifier: UInt16 = 0

    var isEnabled = false
    var timeline: AdvertisingTimeline?
    var stage = Stage.waiting
    var stageEnd = Microseconds.zero
    /// The address that the event under way is sent with.
    var address = LEAddress.public(.zero)
    /// The local private address among them, if it was made from the resolving list.
    var localResolvableAddress = DeviceAddress.zero
    /// Those who heard the event under way and listen for its auxiliary packet.
    var auxiliaryListeners: [Int] = []
    /// When advertising ends by itself.
    var end: Microseconds?
    var maximumEvents: Int?
    var completedEvents = 0

    init(handle: AdvertisingHandle, actor: DeadlineActor) {
        self.handle = handle
        self.actor = actor
    }

    var interval: Microseconds { Microseconds(Int64(parameters.interval.rawValue) * 625) }

    /// The set's primary channels, 37 to 39.
    var channels: [Int] { (0..<3).filter { parameters.channels.rawValue & (1 << $0) != 0 }.map { 37 + $0 } }

    /// The payload of the packet on a primary channel.
    var primaryPayloadLength: Int {
        parameters.isLegacy ? AirTime.legacyAdvertisingHeaderLength + data.count : AirTime.extendedIndicationLength
    }

    /// How long the packet on a primary channel takes.
    var primaryAirTime: Microseconds { parameters.primaryPHY.airTime(payloadLength: primaryPayloadLength) }

    /// The time from the end of a packet on a primary channel to the start of the one on the next channel: a set that
    /// takes requests listens for them first.
    var primaryGap: Microseconds {
        takesRequestsOnPrimary
            ? AirTime.interFrameSpace + AirTime.listenTimeout + AirTime.channelSwitch : AirTime.channelSwitch
    }

    private var takesRequestsOnPrimary: Bool {
        parameters.isLegacy && (parameters.isConnectable || parameters.isScannable)
    }

    /// How long the radio is on in an event that no device answers.
    var radioPerEvent: RadioTime {
        let count = Int64(channels.count)
        var usage = RadioTime()
        usage.transmit += primaryAirTime * count
        if takesRequestsOnPrimary { usage.receive += AirTime.listenTimeout * count }
        if !parameters.isLegacy { usage += auxiliaryRadioTime }
        return usage
    }

    /// How long the radio is on for the auxiliary packets of an event, and the listening behind them.
    var auxiliaryRadioTime: RadioTime {
        var usage = RadioTime()
        for fragment in auxiliaryFragments { usage.transmit += auxiliaryAirTime(of: fragment) }
        if parameters.isConnectable || parameters.isScannable { usage.receive += AirTime.listenTimeout }
        return usage
    }

    // MARK: Auxiliary packets

    /// How much data one auxiliary packet carries: a payload of 255 octets less the extended header.
    static let auxiliaryDataCapacity = 238

    /// The lengths of the data in the auxiliary packets of an event.
    var auxiliaryFragments: [Int] { Self.fragments(of: parameters.isScannable ? 0 : data.count) }

    /// How data is spread over a packet and those chained to it.
    static func fragments(of length: Int) -> [Int] {
        var rest = length
        var fragments: [Int] = []
        repeat {
            fragments.append(min(rest, auxiliaryDataCapacity))
            rest -= auxiliaryDataCapacity
        } while rest > 0
        return fragments
    }

    /// The payload of an auxiliary packet: extended header with flags, AdvA, AdvDataInfo, AuxPtr and transmit power.
    static func auxiliaryPayloadLength(of dataLength: Int) -> Int { 17 + dataLength }

    /// How long an auxiliary packet takes.
    func auxiliaryAirTime(of dataLength: Int) -> Microseconds {
        parameters.secondaryPHY.airTime(payloadLength: Self.auxiliaryPayloadLength(of: dataLength))
    }

    /// How long a chain of auxiliary packets takes from the start of the first to the end of the last.
    func auxiliaryAirTime(ofChain fragments: [Int]) -> Microseconds {
        let packets = fragments.reduce(Microseconds.zero) { $0 + auxiliaryAirTime(of: $1) }
        return packets + AirTime.minimumAuxiliaryFrameSpace * Int64(fragments.count - 1)
    }
}
