import BluetoothHCI

/// A packet on the air, as a sniffer that hears everything would note it.
public struct AirPacket: Hashable, Sendable {
    /// What kind of packet it is.
    public enum Kind: Hashable, Sendable {
        /// On a primary advertising channel, 37 to 39.
        case advertising(channel: Int)
        /// The auxiliary packet of an extended advertising event; `fragment` counts those that are chained to it.
        case auxiliaryAdvertising(fragment: Int)
        /// A scanner asks an advertiser for its scan response: SCAN_REQ, or AUX_SCAN_REQ after an auxiliary packet.
        case scanRequest
        /// The advertiser answers: SCAN_RSP, or AUX_SCAN_RSP and each packet that is chained to it.
        case scanResponse
        /// An initiator connects to an advertiser: CONNECT_IND, or AUX_CONNECT_REQ after an auxiliary packet.
        case connectRequest
        /// The advertiser answers AUX_CONNECT_REQ: AUX_CONNECT_RSP. CONNECT_IND gets no answer.
        case connectResponse
        /// A packet of a connection.
        case connection(ConnectionPacket)
    }

    /// What the header of a connection's packet says, and where in the connection it is.
    public struct ConnectionPacket: Hashable, Sendable {
        /// Tells connections apart; the air never uses a number again.
        public var connection: UInt64
        /// The number of the connection event.
        public var event: Int64
        /// The data channel, from 0 to 36.
        public var channel: Int
        /// Whether the central sent it, rather than the peripheral.
        public var isFromCentral: Bool
        /// SN.
        public var sequenceNumber: Bool
        /// NESN.
        public var nextExpectedSequenceNumber: Bool
        /// MD.
        public var moreData: Bool
    }

    /// What kind of packet it is.
    public var kind: Kind
    /// Nil for the end of a connection that is not there any more.
    public var sender: ControllerID?
    /// When its preamble begins.
    public var start: Duration
    /// The PHY that it was sent on.
    public var phy: PHY
    /// The payload, with the integrity check of an encrypted one, in octets.
    public var payloadLength: Int
    /// Whether anyone that it was for has received it.
    public var isReceived: Bool
}

/// Keeps what is on the air until it is asked for.
extension Air {
    /// How many packets may wait to be asked for; then the oldest are forgotten.
    static let recordLimit = 65_536

    /// Begins or ends to note every packet on the air for `nextAirPacket()`. While it does, every event is simulated packet
    /// by packet, whether or not anyone hears it; what the hosts see is the same.
    public mutating func recordPackets(_ isWanted: Bool) {
        guard isWanted != recordsPackets else { return }
        recordsPackets = isWanted
        records.removeAll()
        for index in links.indices where links[index].isInUse {
            links[index].machine.setRecording(isWanted, at: now)
            finishLinkChange(index)
        }
        replanAdvertisers()
    }

    /// Takes the oldest packet that was noted. Packets are noted when they end.
    public mutating func nextAirPacket() -> AirPacket? { records.popFirst() }

    mutating func record(
        _ kind: AirPacket.Kind,
        from sender: Int?,
        _ phy: PHY,
        payloadLength: Int,
        start: Microseconds,
        isReceived: Bool
    ) {
        guard recordsPackets else { return }
        if records.count == Self.recordLimit { records.removeFirst() }
        records.append(
            AirPacket(
                kind: kind,
                sender: sender.map { controllers[$0].id },
                start: start.duration,
                phy: phy,
                payloadLength: payloadLength,
                isReceived: isReceived
            )
        )
    }

    /// Notes what a listener sends after an advertising packet.
    mutating func recordRequest(_ request: AdvertisingRequest, _ phy: PHY, start: Microseconds, isReceived: Bool) {
        record(
            request.connects ? .connectRequest : .scanRequest,
            from: request.sender,
            phy,
            payloadLength: request.connects ? AirTime.connectIndicationLength : AirTime.scanRequestLength,
            start: start,
            isReceived: isReceived
        )
    }

    /// Notes a chain of packets that ends now, of whose data some may have been received.
    mutating func recordChain(
        _ fragments: [Int],
        of place: AdvertiserPlace,
        receivedLength: Int?,
        _ kind: (_ fragment: Int) -> AirPacket.Kind
    ) {
        guard recordsPackets else { return }
        let set = self[place]
        var start = now - set.auxiliaryAirTime(ofChain: fragments)
        var length = 0
        for (index, fragment) in fragments.enumerated() {
            length += fragment
            record(
                kind(index),
                from: place.slot,
                set.parameters.secondaryPHY,
                payloadLength: Advertiser.auxiliaryPayloadLength(of: fragment),
                start: start,
                isReceived: receivedLength.map { length <= $0 } ?? false
            )
            start += set.auxiliaryAirTime(of: fragment) + AirTime.minimumAuxiliaryFrameSpace
        }
    }
}
