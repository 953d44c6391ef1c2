import BluetoothHCI

/// A packet of a connection that has been sent, for a recorder of what is on the air.
struct SentPacket: Sendable {
    let role: LinkRole
    let phy: PHY
    /// The payload's length on the air.
    let length: Int
    let start: Microseconds
    let event: Int64
    let channel: Int
    let isReceived: Bool
    private let sequenceNumber: Bool
    private let nextExpectedSequenceNumber: Bool
    private let moreData: Bool

    init(
        _ packet: LinkPacket,
        _ role: LinkRole,
        _ phy: PHY,
        _ end: Microseconds,
        _ onAir: Microseconds,
        _ event: Int64,
        _ channel: Int,
        _ isReceived: Bool
    ) {
        self.role = role
        self.phy = phy
        length = packet.airLength
        start = end - onAir
        self.event = event
        self.channel = channel
        self.isReceived = isReceived
        sequenceNumber = packet.sequenceNumber
        nextExpectedSequenceNumber = packet.nextExpectedSequenceNumber
        moreData = packet.moreData
    }

    func header(of connection: UInt64) -> AirPacket.ConnectionPacket {
        AirPacket.ConnectionPacket(
            connection: connection,
            event: event,
            channel: channel,
            isFromCentral: role == .central,
            sequenceNumber: sequenceNumber,
            nextExpectedSequenceNumber: nextExpectedSequenceNumber,
            moreData: moreData
        )
    }
}
