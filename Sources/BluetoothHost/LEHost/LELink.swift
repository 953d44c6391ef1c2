import BluetoothHCI

/// A connection with all that the host keeps about it.
struct LELink: ConnectionMachine {
    /// Where a change of connection parameters that this side began stands.
    enum ParameterUpdate: Hashable, Sendable {
        case none
        /// The controller is at it.
        case linkLayer(ConnectionParameters)
        /// The central was asked by signaling and has not answered.
        case asked
    }

    var connection: Connection
    var recombiner = FrameRecombiner()
    var pairing = PairingRefusal()
    /// The frame that is being sent.
    var outbound = OutboundFrame()
    /// What has gone over the connection.
    var traffic = LinkTraffic()
    /// Whether credit-based channels go before ATT next: they take turns, so that neither waits long for the other.
    var channelsGoFirst = false
    /// How many ACL packets the controller holds.
    var outstandingPackets = 0
    var update = ParameterUpdate.none
    /// What to change the connection parameters to when that is possible again.
    var wantedParameters: ConnectionParameters?
    /// Whether the controller was asked what the peer can do.
    var isReadingRemoteFeatures = false
    /// Whether the owner knows of the connection. It does not yet if it is not clear which address it was made with.
    var isAnnounced = false
    var isDisconnecting = false

    init(_ connection: Connection) { self.connection = connection }

    var handle: ConnectionHandle { connection.handle }
    /// The layers on top keep their deadlines themselves.
    var deadline: Duration? { nil }
    static var hasDeadline: Bool { false }

    /// Takes the next ACL packet: of the frame that is being sent, or of the next one.
    /// - Parameter dataLength: how many octets one packet carries.
    /// - Returns: false when there is none.
    mutating func nextPacket(
        _ dataLength: Int,
        into buffer: inout [UInt8],
        _ gatt: inout GATTLayer,
        _ security: inout SecurityManager?,
        _ channels: inout ChannelManager
    ) -> Bool {
        guard outbound.isActive || nextFrame(&gatt, &security, &channels) else { return false }
        outbound.nextPacket(handle: handle, dataLength: dataLength, into: &buffer)
        outstandingPackets += 1
        return true
    }

    /// Asks the channels for a frame to send: the less they have to say and the more urgent it is, the earlier.
    /// - Returns: false when none has anything to say.
    private mutating func nextFrame(
        _ gatt: inout GATTLayer,
        _ security: inout SecurityManager?,
        _ channels: inout ChannelManager
    ) -> Bool {
        if channels.nextSignalingPDU(for: connection.handle, into: &outbound.payload) {
            begin(on: .signaling)
        } else if security?.nextPDU(for: connection.handle, into: &outbound.payload)
            ?? pairing.nextPDU(into: &outbound.payload)
        {
            begin(on: .securityManager)
        } else if channelsGoFirst {
            return nextDataFrame(&gatt, &channels) || nextAttributeFrame(&gatt)
        } else {
            return nextAttributeFrame(&gatt) || nextDataFrame(&gatt, &channels)
        }
        return true
    }

    private mutating func begin(on channel: ChannelID) {
        traffic.countSent(outbound.payload.count, on: channel)
        outbound.begin(on: channel)
    }

    private mutating func nextAttributeFrame(_ gatt: inout GATTLayer) -> Bool {
        guard gatt.nextPDU(for: connection.handle, into: &outbound.payload) else { return false }
        begin(on: .attribute)
        channelsGoFirst = true
        return true
    }

    private mutating func nextDataFrame(_ gatt: inout GATTLayer, _ channels: inout ChannelManager) -> Bool {
        if gatt.enhancedBearers > 0 { gatt.fillBearers(of: connection.handle, &channels) }
        let dataLength = Int(connection.transmitLength.octets)
        let channel = channels.nextFrame(for: connection.handle, dataLength: dataLength, into: &outbound.payload)
        guard let channel else { return false }
        begin(on: channel)
        channelsGoFirst = false
        return true
    }
}

/// A frame on its way to the controller, in as many ACL packets as it takes.
struct OutboundFrame: Sendable {
    /// The payload. The code that fills it may swap it for a buffer of its own.
    var payload: [UInt8] = []
    private var channel = ChannelID.attribute
    /// How many octets have gone out, header included; nil if there is no frame.
    private var sent: Int?

    /// Whether there is something to send.
    var isActive: Bool { sent != nil }

    /// Begins to send `payload`.
    mutating func begin(on channel: ChannelID) {
        self.channel = channel
        sent = 0
    }

    /// Puts the next ACL packet into `buffer`, replacing its content.
    mutating func nextPacket(handle: ConnectionHandle, dataLength: Int, into buffer: inout [UInt8]) {
        guard let sent else { return }
        let total = L2CAPFrame.headerSize + payload.count
        let count = min(dataLength, total - sent)
        buffer.removeAll(keepingCapacity: true)
        ACLPacket.encodeHeader(
            handle: handle,
            boundary: sent == 0 ? .firstNonFlushable : .continuing,
            length: count,
            to: &buffer
        )
        if sent == 0 {
            L2CAPFrame.encodeHeader(payloadCount: payload.count, channel: channel, to: &buffer)
            buffer.append(contentsOf: payload.prefix(count - L2CAPFrame.headerSize))
        } else {
            buffer.append(contentsOf: payload.dropFirst(sent - L2CAPFrame.headerSize).prefix(count))
        }
        self.sent = sent + count < total ? sent + count : nil
    }
}
