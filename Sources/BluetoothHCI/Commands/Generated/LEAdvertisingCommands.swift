// Made by `generate` from commands.txt: change that file, and run it again.

import ByteCoding

/// Sets how legacy advertising happens; not allowed while it runs.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.5.
package struct LESetAdvertisingParameters: HCICommandWithReturn {
    package static let id = HCICommandID("LESetAdvertisingParameters", .lowEnergy, 0x0006, bit: (25, 5))

    /// The shortest time between advertising events.
    package var intervalMinimum: AdvertisingInterval
    /// The longest time between advertising events.
    package var intervalMaximum: AdvertisingInterval
    /// What scanners and initiators may do.
    package var type: AdvertisingType
    /// The address to advertise with.
    package var ownAddressType: OwnAddressType
    /// Whom directed advertising is for.
    package var peer: LEAddress
    /// The channels to use.
    package var channels: AdvertisingChannels
    /// Whose requests are answered.
    package var filterPolicy: AdvertisingFilterPolicy

    /// Makes the command with these parameters.
    package init(
        intervalMinimum: AdvertisingInterval,
        intervalMaximum: AdvertisingInterval,
        type: AdvertisingType,
        ownAddressType: OwnAddressType,
        peer: LEAddress,
        channels: AdvertisingChannels,
        filterPolicy: AdvertisingFilterPolicy
    ) {
        self.intervalMinimum = intervalMinimum
        self.intervalMaximum = intervalMaximum
        self.type = type
        self.ownAddressType = ownAddressType
        self.peer = peer
        self.channels = channels
        self.filterPolicy = filterPolicy
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        intervalMinimum = AdvertisingInterval(
            rawValue: UInt32(
                try reader.readLittleEndian("le_set_advertising_parameters.interval_minimum", as: UInt16.self)
            )
        )
        intervalMaximum = AdvertisingInterval(
            rawValue: UInt32(
                try reader.readLittleEndian("le_set_advertising_parameters.interval_maximum", as: UInt16.self)
            )
        )
        type = try AdvertisingType(reading: &reader, "le_set_advertising_parameters.type")
        ownAddressType = try OwnAddressType(reading: &reader, "le_set_advertising_parameters.own_address_type")
        peer = try LEAddress(reading: &reader, "le_set_advertising_parameters.peer")
        channels = AdvertisingChannels(rawValue: try reader.readUInt8("le_set_advertising_parameters.channels"))
        filterPolicy = try AdvertisingFilterPolicy(reading: &reader, "le_set_advertising_parameters.filter_policy")
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.appendLittleEndian(UInt16(clamping: intervalMinimum.rawValue))
        buffer.appendLittleEndian(UInt16(clamping: intervalMaximum.rawValue))
        buffer.append(type.rawValue)
        buffer.append(ownAddressType.rawValue)
        peer.encode(to: &buffer)
        buffer.append(channels.rawValue)
        buffer.append(filterPolicy.rawValue)
    }
}

/// Reads how strongly legacy advertising transmits.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.6.
package struct LEReadAdvertisingPhysicalChannelTxPower: HCICommandWithReturn, HCICommandWithoutParameters {
    package static let id = HCICommandID("LEReadAdvertisingPhysicalChannelTxPower", .lowEnergy, 0x0007, bit: (25, 6))

    /// What Command Complete carries after the status.
    package struct ReturnParameters: HCIReturnParameters {
        package static let size = 1

        /// The level in dBm.
        package var powerDBm: Int8

        /// Makes return parameters with these values.
        package init(powerDBm: Int8) {
            self.powerDBm = powerDBm
        }

        package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
            powerDBm = try reader.readInt8("le_read_advertising_physical_channel_tx_power.return.power_d_bm")
        }

        package func encode(to buffer: inout [UInt8]) {
            buffer.append(UInt8(bitPattern: powerDBm))
        }
    }

    /// Makes the command, which has no parameters.
    package init() {}
}

/// Sets the data of legacy advertising.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.7.
package struct LESetAdvertisingData: HCICommandWithReturn {
    package static let id = HCICommandID("LESetAdvertisingData", .lowEnergy, 0x0008, bit: (25, 7))

    /// Up to 31 octets of AD structures.
    package var data: AdvertisingBytes

    /// Makes the command with these parameters.
    package init(data: AdvertisingBytes) {
        self.data = data
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        data = try AdvertisingBytes(reading: &reader, "le_set_advertising_data.data")
    }

    package func encode(to buffer: inout [UInt8]) {
        data.encode(to: &buffer)
    }
}

/// Sets the data that legacy advertising answers active scanners with.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.8.
package struct LESetScanResponseData: HCICommandWithReturn {
    package static let id = HCICommandID("LESetScanResponseData", .lowEnergy, 0x0009, bit: (26, 0))

    /// Up to 31 octets of AD structures.
    package var data: AdvertisingBytes

    /// Makes the command with these parameters.
    package init(data: AdvertisingBytes) {
        self.data = data
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        data = try AdvertisingBytes(reading: &reader, "le_set_scan_response_data.data")
    }

    package func encode(to buffer: inout [UInt8]) {
        data.encode(to: &buffer)
    }
}

/// Starts or stops legacy advertising.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.9.
package struct LESetAdvertisingEnable: HCICommandWithReturn {
    package static let id = HCICommandID("LESetAdvertisingEnable", .lowEnergy, 0x000A, bit: (26, 1))

    /// Whether to advertise.
    package var isEnabled: Bool

    /// Makes the command with these parameters.
    package init(isEnabled: Bool) {
        self.isEnabled = isEnabled
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        isEnabled = try reader.readBool("le_set_advertising_enable.is_enabled")
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.append(isEnabled ? 1 : 0)
    }
}
