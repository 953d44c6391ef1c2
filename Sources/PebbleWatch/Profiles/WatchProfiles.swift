import BluetoothHCI
import BluetoothHost
import BluetoothPeripheral
import PebbleProtocol

/// What phones find when they connect: the GATT services of the watch, each in a file of its own.
///
/// What there is depends on the personality; the order of handles is that of all real watches, with 16-bit UUIDs first, so that a
/// phone discovers them in the fewest round trips.
struct WatchProfiles: ServiceSet {
    var access: GenericAccessService
    var attribute: GenericAttributeService
    var information: DeviceInformationService
    var pairing: PairingService
    var battery: BatteryService?
    var reversed: ReversedPPoGATTService?
    var streams: [PublishedPSMService]

    init(_ configuration: WatchConfiguration) {
        let personality = configuration.personality
        access = GenericAccessService(configuration)
        attribute = GenericAttributeService(configuration)
        information = DeviceInformationService(configuration)
        pairing = PairingService(configuration)
        battery = personality.hasBattery ? BatteryService(configuration) : nil
        reversed = personality.reversedTransport.map { ReversedPPoGATTService($0, configuration) }
        streams = WatchStream.allCases.map { PublishedPSMService($0, configuration) }
    }

    /// The order of services in the database.
    static let serviceOrder = GATTDatabase.ServiceOrder.shortUUIDsFirst

    mutating func visitServices(_ visitor: inout some ServiceVisitor) {
        visitor.visit(&access)
        visitor.visit(&attribute)
        visitor.visit(&information)
        visitor.visit(&pairing)
        visitor.visit(&battery)
        visitor.visit(&reversed)
        for index in streams.indices { visitor.visit(&streams[index]) }
    }

    /// Tells the pairing service how a link is.
    mutating func describe(
        _ connection: ConnectionHandle,
        _ links: borrowing PhoneLinks,
        _ core: borrowing WatchCore
    ) {
        guard let link = core.host.connection(connection), links[connection] != nil else { return }
        let connectivity = ConnectivityStatus(
            isBonded: link.security.isBonded,
            isEncrypted: link.security.isEncrypted,
            hasGateway: !core.phones.stored.isEmpty,
            isReversedPPoGATT: core.configuration.reversedRules == .reversedV1
                && links[connection]?.transports[.reversed] != nil,
            lastPairingResult: links[connection]?.record.lastPairingResult ?? 0
        )
        let parameters = ConnectionParametersStatus(
            supportsLongPackets: core.host.capabilities.supportsDataLengthExtension,
            interval: link.interval.rawValue,
            latency: link.latency,
            supervisionTimeout: link.supervisionTimeout.rawValue
        )
        pairing.describe(
            connection,
            PairingService.Link(
                connectivity: connectivity,
                mtu: links[connection]?.mtu ?? ATT.defaultMTU,
                parameters: parameters
            )
        )
    }

    /// Where the values are that the watch itself has to do with, once the services are bound.
    var handles: WatchHandles {
        WatchHandles(
            serviceChanged: attribute.handles[.serviceChanged] ?? .none,
            clientSupportedFeatures: attribute.handles[.clientSupportedFeatures] ?? .none,
            reversedData: reversed?.handles[.data] ?? .none,
            reversedDataWrite: reversed?.handles[.dataWrite] ?? .none
        )
    }
}

/// The values that no service answers for: those that the GATT layer keeps, and those that packets go over. Each is `.none` if the
/// watch has no such value.
struct WatchHandles: Sendable, Equatable {
    let serviceChanged: AttributeHandle
    let clientSupportedFeatures: AttributeHandle
    let reversedData: AttributeHandle
    let reversedDataWrite: AttributeHandle
}
