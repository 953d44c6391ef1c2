/// How long a radio has been on.
public struct RadioTime: Hashable, Sendable {
    /// Transmitting.
    public var transmitting: Duration { transmit.duration }
    /// Receiving, or listening for something to receive.
    public var receiving: Duration { receive.duration }

    var transmit = Microseconds.zero
    var receive = Microseconds.zero

    /// Not at all.
    public init() {}

    static func += (left: inout RadioTime, right: RadioTime) {
        left.transmit += right.transmit
        left.receive += right.receive
    }

    /// What came on top of an earlier reading of the same radio.
    public static func - (later: RadioTime, earlier: RadioTime) -> RadioTime {
        var difference = RadioTime()
        difference.transmit = later.transmit - earlier.transmit
        difference.receive = later.receive - earlier.receive
        return difference
    }
}

/// How long the radio of one controller has been on, and for what.
///
/// The time for which a radio starts up, and that by which clocks that drift widen a receiver's windows, is not in it.
public struct RadioUsage: Hashable, Sendable {
    /// Advertising: the packets, the requests that came, and the listening for them.
    public internal(set) var advertising = RadioTime()
    /// Scanning and initiating: the windows, and the requests that were sent.
    public internal(set) var scanning = RadioTime()
    /// Connections.
    public internal(set) var connections = RadioTime()

    /// Not at all.
    public init() {}

    /// Everything together.
    public var total: RadioTime {
        var sum = advertising
        sum += scanning
        sum += connections
        return sum
    }

    /// What came on top of an earlier reading of the same radio.
    public static func - (later: RadioUsage, earlier: RadioUsage) -> RadioUsage {
        var difference = RadioUsage()
        difference.advertising = later.advertising - earlier.advertising
        difference.scanning = later.scanning - earlier.scanning
        difference.connections = later.connections - earlier.connections
        return difference
    }
}
