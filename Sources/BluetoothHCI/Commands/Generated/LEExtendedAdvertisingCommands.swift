// Made by `generate` from commands.txt: change that file, and run it again.

import ByteCoding

/// Sets the random address of an advertising set.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.52.
package struct LESetAdvertisingSetRandomAddress: HCICommandWithReturn {
    package static let id = HCICommandID("LESetAdvertisingSetRandomAddress", .lowEnergy, 0x0035, bit: (36, 1))

    /// Which set.
    package var set: AdvertisingHandle
    /// The address.
    package var address: DeviceAddress

    /// Makes the command with these parameters.
    package init(set: AdvertisingHandle, address: DeviceAddress) {
        self.set = set
        self.address = address
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        set = try AdvertisingHandle(reading: &reader, "le_set_advertising_set_random_address.set")
        address = try DeviceAddress(reading: &reader, "le_set_advertising_set_random_address.address")
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.append(set.rawValue)
        address.encode(to: &buffer)
    }
}

/// Makes an advertising set, or changes one: version 1 of the command.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.53.
package struct LESetExtendedAdvertisingParameters: HCICommandWithReturn {
    package static let id = HCICommandID("LESetExtendedAdvertisingParameters", .lowEnergy, 0x0036, bit: (36, 2))

    /// What Command Complete carries after the status.
    package struct ReturnParameters: HCIReturnParameters {
        package static let size = 1

        /// The power the controller chose, in dBm.
        package var selectedPowerDBm: Int8

        /// Makes return parameters with these values.
        package init(selectedPowerDBm: Int8) {
            self.selectedPowerDBm = selectedPowerDBm
        }

        package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
            selectedPowerDBm = try reader.readInt8("le_set_extended_advertising_parameters.return.selected_power_d_bm")
        }

        package func encode(to buffer: inout [UInt8]) {
            buffer.append(UInt8(bitPattern: selectedPowerDBm))
        }
    }

    /// Which set.
    package var set: AdvertisingHandle
    /// What kind of advertising events.
    package var properties: AdvertisingEventProperties
    /// The shortest time between advertising events.
    package var intervalMinimum: AdvertisingInterval
    /// The longest time between advertising events.
    package var intervalMaximum: AdvertisingInterval
    /// The primary channels to use.
    package var channels: AdvertisingChannels
    /// The address to advertise with.
    package var ownAddressType: OwnAddressType
    /// Whom directed advertising is for.
    package var peer: LEAddress
    /// Whose requests are answered.
    package var filterPolicy: AdvertisingFilterPolicy
    /// How strongly to transmit, in dBm; nil for no preference.
    package var powerDBm: Int8?
    /// The PHY of the primary channels: LE 1M or LE Coded.
    package var primaryPHY: PHY
    /// How many events may go by before the auxiliary packet is sent.
    package var secondaryMaximumSkip: UInt8
    /// The PHY of the auxiliary packet.
    package var secondaryPHY: PHY
    /// The advertising set identifier that scanners see: 0 to 15.
    package var sid: UInt8
    /// Whether LE Scan Request Received events are wanted.
    package var notifiesScanRequests: Bool

    /// Makes the command with these parameters.
    package init(
        set: AdvertisingHandle,
        properties: AdvertisingEventProperties,
        intervalMinimum: AdvertisingInterval,
        intervalMaximum: AdvertisingInterval,
        channels: AdvertisingChannels,
        ownAddressType: OwnAddressType,
        peer: LEAddress,
        filterPolicy: AdvertisingFilterPolicy,
        powerDBm: Int8?,
        primaryPHY: PHY,
        secondaryMaximumSkip: UInt8,
        secondaryPHY: PHY,
        sid: UInt8,
        notifiesScanRequests: Bool
    ) {
        self.set = set
        self.properties = properties
        self.intervalMinimum = intervalMinimum
        self.intervalMaximum = intervalMaximum
        self.channels = channels
        self.ownAddressType = ownAddressType
        self.peer = peer
        self.filterPolicy = filterPolicy
        self.powerDBm = powerDBm
        self.primaryPHY = primaryPHY
        self.secondaryMaximumSkip = secondaryMaximumSkip
        self.secondaryPHY = secondaryPHY
        self.sid = sid
        self.notifiesScanRequests = notifiesScanRequests
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        set = try AdvertisingHandle(reading: &reader, "le_set_extended_advertising_parameters.set")
        properties = AdvertisingEventProperties(
            rawValue: try reader.readLittleEndian("le_set_extended_advertising_parameters.properties")
        )
        intervalMinimum = try AdvertisingInterval(
            reading24Bits: &reader,
            "le_set_extended_advertising_parameters.interval_minimum"
        )
        intervalMaximum = try AdvertisingInterval(
            reading24Bits: &reader,
            "le_set_extended_advertising_parameters.interval_maximum"
        )
        channels = AdvertisingChannels(
            rawValue: try reader.readUInt8("le_set_extended_advertising_parameters.channels")
        )
        ownAddressType = try OwnAddressType(reading: &reader, "le_set_extended_advertising_parameters.own_address_type")
        peer = try LEAddress(reading: &reader, "le_set_extended_advertising_parameters.peer")
        filterPolicy = try AdvertisingFilterPolicy(
            reading: &reader,
            "le_set_extended_advertising_parameters.filter_policy"
        )
        powerDBm = try reader.readDecibels("le_set_extended_advertising_parameters.power_d_bm")
        primaryPHY = try PHY(reading: &reader, "le_set_extended_advertising_parameters.primary_phy")
        secondaryMaximumSkip = try reader.readUInt8("le_set_extended_advertising_parameters.secondary_maximum_skip")
        secondaryPHY = try PHY(reading: &reader, "le_set_extended_advertising_parameters.secondary_phy")
        sid = try reader.readUInt8("le_set_extended_advertising_parameters.sid")
        notifiesScanRequests = try reader.readBool("le_set_extended_advertising_parameters.notifies_scan_requests")
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.append(set.rawValue)
        buffer.appendLittleEndian(properties.rawValue)
        intervalMinimum.encode24Bits(to: &buffer)
        intervalMaximum.encode24Bits(to: &buffer)
        buffer.append(channels.rawValue)
        buffer.append(ownAddressType.rawValue)
        peer.encode(to: &buffer)
        buffer.append(filterPolicy.rawValue)
        buffer.appendDecibels(powerDBm)
        buffer.append(primaryPHY.rawValue)
        buffer.append(secondaryMaximumSkip)
        buffer.append(secondaryPHY.rawValue)
        buffer.append(sid)
        buffer.append(notifiesScanRequests ? 1 : 0)
    }
}

/// Sets the data of an advertising set, whole or in fragments.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.54.
package struct LESetExtendedAdvertisingData: HCICommandWithReturn {
    package static let id = HCICommandID("LESetExtendedAdvertisingData", .lowEnergy, 0x0037, bit: (36, 3))

    /// Which set.
    package var set: AdvertisingHandle
    /// Which part of the data this is.
    package var operation: FragmentOperation
    /// Whether the controller may split the data.
    package var fragmentPreference: FragmentPreference
    /// Up to 251 octets.
    package var data: AdvertisingFragment

    /// Makes the command with these parameters.
    package init(
        set: AdvertisingHandle,
        operation: FragmentOperation,
        fragmentPreference: FragmentPreference,
        data: AdvertisingFragment
    ) {
        self.set = set
        self.operation = operation
        self.fragmentPreference = fragmentPreference
        self.data = data
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        set = try AdvertisingHandle(reading: &reader, "le_set_extended_advertising_data.set")
        operation = try FragmentOperation(reading: &reader, "le_set_extended_advertising_data.operation")
        fragmentPreference = try FragmentPreference(
            reading: &reader,
            "le_set_extended_advertising_data.fragment_preference"
        )
        data = try AdvertisingFragment(reading: &reader, "le_set_extended_advertising_data.data")
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.append(set.rawValue)
        buffer.append(operation.rawValue)
        buffer.append(fragmentPreference.rawValue)
        data.encode(to: &buffer)
    }
}

/// Sets the scan response data of an advertising set, whole or in fragments.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.55.
package struct LESetExtendedScanResponseData: HCICommandWithReturn {
    package static let id = HCICommandID("LESetExtendedScanResponseData", .lowEnergy, 0x0038, bit: (36, 4))

    /// Which set.
    package var set: AdvertisingHandle
    /// Which part of the data this is.
    package var operation: FragmentOperation
    /// Whether the controller may split the data.
    package var fragmentPreference: FragmentPreference
    /// Up to 251 octets.
    package var data: AdvertisingFragment

    /// Makes the command with these parameters.
    package init(
        set: AdvertisingHandle,
        operation: FragmentOperation,
        fragmentPreference: FragmentPreference,
        data: AdvertisingFragment
    ) {
        self.set = set
        self.operation = operation
        self.fragmentPreference = fragmentPreference
        self.data = data
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        set = try AdvertisingHandle(reading: &reader, "le_set_extended_scan_response_data.set")
        operation = try FragmentOperation(reading: &reader, "le_set_extended_scan_response_data.operation")
        fragmentPreference = try FragmentPreference(
            reading: &reader,
            "le_set_extended_scan_response_data.fragment_preference"
        )
        data = try AdvertisingFragment(reading: &reader, "le_set_extended_scan_response_data.data")
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.append(set.rawValue)
        buffer.append(operation.rawValue)
        buffer.append(fragmentPreference.rawValue)
        data.encode(to: &buffer)
    }
}

/// Reads how much data an advertising set can hold.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.57.
package struct LEReadMaximumAdvertisingDataLength: HCICommandWithReturn, HCICommandWithoutParameters {
    package static let id = HCICommandID("LEReadMaximumAdvertisingDataLength", .lowEnergy, 0x003A, bit: (36, 6))

    /// What Command Complete carries after the status.
    package struct ReturnParameters: HCIReturnParameters {
        package static let size = 2

        /// How much, in octets.
        package var length: UInt16

        /// Makes return parameters with these values.
        package init(length: UInt16) {
            self.length = length
        }

        package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
            length = try reader.readLittleEndian("le_read_maximum_advertising_data_length.return.length")
        }

        package func encode(to buffer: inout [UInt8]) {
            buffer.appendLittleEndian(length)
        }
    }

    /// Makes the command, which has no parameters.
    package init() {}
}

/// Reads how many advertising sets there can be at once.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.58.
package struct LEReadNumberOfSupportedAdvertisingSets: HCICommandWithReturn, HCICommandWithoutParameters {
    package static let id = HCICommandID("LEReadNumberOfSupportedAdvertisingSets", .lowEnergy, 0x003B, bit: (36, 7))

    /// What Command Complete carries after the status.
    package struct ReturnParameters: HCIReturnParameters {
        package static let size = 1

        /// How many.
        package var count: UInt8

        /// Makes return parameters with these values.
        package init(count: UInt8) {
            self.count = count
        }

        package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
            count = try reader.readUInt8("le_read_number_of_supported_advertising_sets.return.count")
        }

        package func encode(to buffer: inout [UInt8]) {
            buffer.append(count)
        }
    }

    /// Makes the command, which has no parameters.
    package init() {}
}

/// Removes a stopped advertising set.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.59.
package struct LERemoveAdvertisingSet: HCICommandWithReturn {
    package static let id = HCICommandID("LERemoveAdvertisingSet", .lowEnergy, 0x003C, bit: (37, 0))

    /// Which set.
    package var set: AdvertisingHandle

    /// Makes the command with these parameters.
    package init(set: AdvertisingHandle) {
        self.set = set
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        set = try AdvertisingHandle(reading: &reader, "le_remove_advertising_set.set")
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.append(set.rawValue)
    }
}

/// Removes all advertising sets, which must all be stopped.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.60.
package struct LEClearAdvertisingSets: HCICommandWithReturn, HCICommandWithoutParameters {
    package static let id = HCICommandID("LEClearAdvertisingSets", .lowEnergy, 0x003D, bit: (37, 1))

    /// Makes the command, which has no parameters.
    package init() {}
}
