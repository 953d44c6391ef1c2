/// The sizes and times that the Attribute Protocol and the Generic Attribute Profile fix.
public enum ATT {
    /// The fixed L2CAP channel of the one bearer that every LE connection has (Core 5.4, Vol 3, Part A, 2.1).
    package static let channelIdentifier: UInt16 = 0x0004
    /// The MTU of that bearer before any exchange (Core 5.4, Vol 3, Part G, 5.2.1).
    package static let defaultMTU = 23
    /// The MTU beyond which nothing grows: a whole value in one prepared write.
    public static let maximumMTU = 517
    /// The longest value that an attribute can have (Core 5.4, Vol 3, Part F, 3.2.9).
    public static let maximumValueLength = 512
    /// How long a request may wait for its response, or an indication for its confirmation, before the bearer is
    /// given up (Core 5.4, Vol 3, Part F, 3.3.3).
    package static let transactionTimeout: Duration = .seconds(30)
}
