import ByteCoding

/// Connects to an advertiser on any PHY. LE Enhanced Connection Complete follows.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.66.
package struct LEExtendedCreateConnection: HCICommand {
    package static let id = HCICommandID("LEExtendedCreateConnection", .lowEnergy, 0x0043, bit: (37, 7))

    /// How to look for the advertiser on one PHY, and how to meet once connected there.
    package struct Initiation: Hashable, Sendable {
        /// The time between scans for the advertiser.
        package var scanInterval: ScanInterval
        /// How long each scan listens.
        package var scanWindow: ScanInterval
        /// How often the two sides meet.
        package var parameters: ConnectionParameters

        /// Makes the part of the command that is sent for one PHY.
        package init(scanInterval: ScanInterval, scanWindow: ScanInterval, parameters: ConnectionParameters) {
            self.scanInterval = scanInterval
            self.scanWindow = scanWindow
            self.parameters = parameters
        }

        init(reading reader: inout ByteReader) throws(ByteDecodingError) {
            scanInterval = try ScanInterval(reading: &reader, "le_extended_create_connection.scan_interval")
            scanWindow = try ScanInterval(reading: &reader, "le_extended_create_connection.scan_window")
            parameters = try ConnectionParameters(reading: &reader, "le_extended_create_connection")
        }

        func encode(to buffer: inout [UInt8]) {
            scanInterval.encode(to: &buffer)
            scanWindow.encode(to: &buffer)
            parameters.encode(to: &buffer)
        }
    }

    /// Whether the peer or the filter accept list says whom to connect to.
    package var filterPolicy: InitiatorFilterPolicy
    /// The address to connect with.
    package var ownAddressType: OwnAddressType
    /// Whom to connect to.
    package var peer: LEAddress
    /// How to look on LE 1M; nil not to.
    package var le1M: Initiation?
    /// How to connect on LE 2M, on which no peer is looked for; nil not to.
    package var le2M: Initiation?
    /// How to look on LE Coded; nil not to.
    package var leCoded: Initiation?

    /// Makes the command. For each PHY that is not nil, it sends the PHY's bit and an `Initiation`.
    package init(
        filterPolicy: InitiatorFilterPolicy,
        ownAddressType: OwnAddressType,
        peer: LEAddress,
        le1M: Initiation?,
        le2M: Initiation? = nil,
        leCoded: Initiation? = nil
    ) {
        self.filterPolicy = filterPolicy
        self.ownAddressType = ownAddressType
        self.peer = peer
        self.le1M = le1M
        self.le2M = le2M
        self.leCoded = leCoded
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        filterPolicy = try InitiatorFilterPolicy(
            reading: &reader,
            "le_extended_create_connection.initiator_filter_policy"
        )
        ownAddressType = try OwnAddressType(reading: &reader, "le_extended_create_connection.own_address_type")
        peer = try LEAddress(reading: &reader, "le_extended_create_connection.peer_address")
        let phys = PHYSet(rawValue: try reader.readUInt8("le_extended_create_connection.initiating_phys"))
        guard phys.isSubset(of: .all) else {
            throw ByteDecodingError(
                "le_extended_create_connection.initiating_phys",
                .invalidValue(UInt64(phys.rawValue))
            )
        }
        le1M = phys.contains(.le1M) ? try Initiation(reading: &reader) : nil
        le2M = phys.contains(.le2M) ? try Initiation(reading: &reader) : nil
        leCoded = phys.contains(.leCoded) ? try Initiation(reading: &reader) : nil
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.append(filterPolicy.rawValue)
        buffer.append(ownAddressType.rawValue)
        peer.encode(to: &buffer)
        var phys: PHYSet = []
        if le1M != nil { phys.insert(.le1M) }
        if le2M != nil { phys.insert(.le2M) }
        if leCoded != nil { phys.insert(.leCoded) }
        buffer.append(phys.rawValue)
        le1M?.encode(to: &buffer)
        le2M?.encode(to: &buffer)
        leCoded?.encode(to: &buffer)
    }
}
