/// The first byte of a packet at the HCI boundary, as in the UART transport layer.
///
/// Source: Core 5.4, Vol 4, Part A, 2.
public enum HCIPacketType: UInt8, Hashable, Sendable, CaseIterable {
    /// Host to controller.
    case command = 1
    /// Asynchronous data, both ways: L2CAP lives here.
    case acl = 2
    /// Synchronous (voice) data, both ways.
    case sco = 3
    /// Controller to host.
    case event = 4
    /// Isochronous data, both ways.
    case iso = 5
}

/// Whatever sits above a controller: a host stack, a watch, a phone.
///
/// It does no I/O. Packets and the time come in, packets and the next deadline are asked for. A packet is one
/// `HCIPacketType` byte followed by the HCI packet, and always whole. Time is measured from an arbitrary origin and
/// never goes back.
public protocol HCIHost {
    /// Begins the conversation with the controller. Called before anything else, and again for a controller that was
    /// lost and has been found, or that could not be used: whatever was connected is gone.
    mutating func start(at now: Duration)

    /// Takes one whole packet from the controller.
    mutating func receive(_ packet: ArraySlice<UInt8>, at now: Duration)

    /// Lets time pass: whatever was due up to and including `now` happens. Before `nextDeadline` nothing does.
    mutating func advance(to now: Duration)

    /// When `advance(to:)` has something to do next; nil if only a packet can change anything.
    var nextDeadline: Duration? { get }

    /// Takes the next packet for the controller into `buffer`, replacing its content.
    /// - Returns: false when nothing is waiting.
    mutating func nextPacket(into buffer: inout [UInt8]) -> Bool
}
