import BluetoothHost

/// The services of a peripheral. A service by itself is one; of several, a struct with one function:
///
///     struct Room: ServiceSet {
///         var thermometer = Thermometer()
///         var battery = Battery()
///
///         mutating func visitServices(_ visitor: inout some ServiceVisitor) {
///             visitor.visit(&thermometer)
///             visitor.visit(&battery)
///         }
///     }
public protocol ServiceSet: Sendable {
    /// Shows all services to a visitor, always in one order: that of their handles.
    mutating func visitServices(_ visitor: inout some ServiceVisitor)
}

/// Sees each service of a set in turn. Peripherals are visitors; nothing else needs to be.
public protocol ServiceVisitor {
    /// Sees a service.
    mutating func visit(_ service: inout some GATTService)
    /// Sees a service that peers open channels to.
    mutating func visit(_ service: inout some ChannelService)
}

extension ServiceVisitor {
    /// Sees a service that may be left out. Whether it is there must not change once the services are in use.
    public mutating func visit<Present: GATTService>(_ service: inout Present?) {
        guard var present = service else { return }
        // A value that is held twice would be copied when it changes.
        service = nil
        visit(&present)
        service = present
    }
}

extension GATTService {
    /// The set of this service alone.
    public mutating func visitServices(_ visitor: inout some ServiceVisitor) { visitor.visit(&self) }
}

extension ChannelService {
    /// The set of this service alone.
    public mutating func visitServices(_ visitor: inout some ServiceVisitor) { visitor.visit(&self) }
}

/// No services of one's own: what connects finds Generic Access and Generic Attribute.
public struct NoServices: ServiceSet {
    /// The empty set.
    public init() {}

    /// There is nothing to see.
    public mutating func visitServices(_ visitor: inout some ServiceVisitor) {}
}
