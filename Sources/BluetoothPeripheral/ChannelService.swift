import BluetoothHost

/// A service to which peers open L2CAP credit-based channels. It publishes its SPSM where its clients look for it, usually as
/// a value of its own.
public protocol ChannelService: GATTService {
    /// What a link must offer, and what this side offers on each channel.
    var listener: ChannelListener { get }

    /// The SPSM to listen on; nil for any dynamic one. It is asked for once.
    var wantedSPSM: SPSM? { get }

    /// The service can be reached by this SPSM from now on. Called before any peer connects.
    mutating func listens(on spsm: SPSM)

    /// A peer has opened a channel.
    mutating func opened(_ channel: Channel, by peer: Peer, _ output: inout ServiceOutput<Value>)

    /// Bytes came in.
    mutating func received(_ bytes: [UInt8], on channel: Channel.ID, _ output: inout ServiceOutput<Value>)

    /// A channel is closed.
    mutating func closed(_ channel: Channel.ID, _ closure: ChannelClosure, _ output: inout ServiceOutput<Value>)
}

extension ChannelService {
    /// Any dynamic one.
    public var wantedSPSM: SPSM? { nil }

    /// Does nothing.
    public mutating func opened(_ channel: Channel, by peer: Peer, _ output: inout ServiceOutput<Value>) {}

    /// Does nothing.
    public mutating func closed(_ channel: Channel.ID, _ closure: ChannelClosure, _ output: inout ServiceOutput<Value>)
    {}
}

extension ServiceOutput {
    /// Sends bytes over a channel, behind those that wait for it already. While 64 KiB or more wait, nothing that comes in on the
    /// channel is read, so that answers have a limit; a service that sends without being asked has to count by itself.
    public mutating func write(_ bytes: [UInt8], to channel: Channel.ID) { actions.append(.write(bytes, to: channel)) }

    /// Closes a channel. What has not been sent is lost.
    public mutating func close(_ channel: Channel.ID) { actions.append(.close(channel)) }
}
