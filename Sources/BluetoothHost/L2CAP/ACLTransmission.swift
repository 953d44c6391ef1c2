/// Whose turn it is to send ACL packets, and whether the controller has room for them.
struct ACLTransmission: Sendable {
    /// The controller's buffers.
    var buffers: ACLBuffers
    /// The link whose turn it is.
    private var nextLink = 0

    /// - Parameter buffers: the controller's; none until it is started.
    init(_ buffers: ACLBuffers = ACLBuffers()) { self.buffers = buffers }

    /// The link to ask next, when `turn` links before it have been asked.
    func link(inTurn turn: Int, of count: Int) -> Int { (nextLink + turn) % count }

    /// A link has sent a packet: it is the next one's turn.
    mutating func sent(by link: Int, of count: Int) {
        buffers.take()
        nextLink = (link + 1) % count
    }

    /// A link is gone, and what it had with the controller has been dropped.
    mutating func remove(link: Int, outstandingPackets: Int) {
        if nextLink > link { nextLink -= 1 }
        buffers.giveBack(outstandingPackets)
    }
}
