import BluetoothHCI

/// On which data channel each event of a connection takes place.
///
/// Source: Core 5.4, Vol 6, Part B, 4.5.8.
package struct ChannelHopping: Sendable {
    /// By which algorithm the channels follow each other.
    package enum Algorithm: Hashable, Sendable {
        /// Channel Selection Algorithm #1: by the same increment each time, from 5 to 16.
        case increment(Int)
        /// Channel Selection Algorithm #2: pseudo-randomly, by the access address.
        case pseudoRandom(accessAddress: UInt32)
    }

    let algorithm: Algorithm
    /// The channels in use; never fewer than two.
    var channels: DataChannelMap

    /// Hopping over channels, of which there have to be two at least.
    package init(algorithm: Algorithm, channels: DataChannelMap) {
        self.algorithm = algorithm
        self.channels = channels
    }

    /// The channel of a connection event.
    package func channel(of event: Int64) -> Int {
        let used = channels.channels
        switch algorithm {
        case .increment(let increment):
            let unmapped = Int((Int64(increment) * (event + 1)) % Int64(DataChannelMap.channelCount))
            return channels.contains(channel: unmapped) ? unmapped : used[unmapped % used.count]
        case .pseudoRandom(let address):
            let number = Self.number(of: event, address: address)
            let unmapped = Int(number) % DataChannelMap.channelCount
            return channels.contains(channel: unmapped) ? unmapped : used[(used.count * Int(number)) >> 16]
        }
    }

    /// The pseudo-random number of a connection event (`prn_e`).
    ///
    /// Source: Core 5.4, Vol 6, Part B, 4.5.8.3.3.
    private static func number(of event: Int64, address: UInt32) -> UInt16 {
        let identifier = UInt16(address >> 16) ^ UInt16(truncatingIfNeeded: address)
        var number = UInt16(truncatingIfNeeded: event) ^ identifier
        for _ in 0..<3 {
            number = permuted(number >> 8) << 8 | permuted(number & 0xFF)
            number = number &* 17 &+ identifier
        }
        return number ^ identifier
    }

    /// The bits of an octet in the other order.
    private static func permuted(_ octet: UInt16) -> UInt16 {
        (0..<8).reduce(0) { $0 | (octet >> UInt16($1) & 1) << UInt16(7 - $1) }
    }
}
