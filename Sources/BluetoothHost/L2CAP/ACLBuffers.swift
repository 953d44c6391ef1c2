/// The controller's buffers for ACL data: how many there are, how large, and how many are free.
///
/// Source: Core 5.4, Vol 4, Part E, 4.1.
struct ACLBuffers: Sendable {
    /// The least that a controller's buffer can hold, in octets.
    static let minimumDataLength = 27

    /// How much data one buffer holds, in octets.
    private(set) var dataLength = ACLBuffers.minimumDataLength
    /// How many there are.
    private(set) var total = 0
    /// How many are free.
    private(set) var free = 0

    /// How many are not.
    var used: Int { total - free }

    /// No buffers: nothing is sent.
    init() {}

    /// A controller's buffers, all of them free.
    init(dataLength: Int, total: Int) {
        self.dataLength = max(Self.minimumDataLength, dataLength)
        self.total = total
        free = total
    }

    /// A packet goes out.
    mutating func take() { free = max(0, free - 1) }

    /// The controller is done with packets.
    mutating func giveBack(_ count: Int) { free = min(total, free + count) }

    /// How many buffers one of several connections may hold at once, so that none is left without.
    func share(of connections: Int) -> Int { max(1, total / max(1, connections)) }
}
