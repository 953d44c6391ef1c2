// Made by `generate` from commands.txt: change that file, and run it again.

import ByteCoding

/// Reads how many devices the filter accept list can hold.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.14.
package struct LEReadFilterAcceptListSize: HCICommandWithReturn, HCICommandWithoutParameters {
    package static let id = HCICommandID("LEReadFilterAcceptListSize", .lowEnergy, 0x000F, bit: (26, 6))

    /// What Command Complete carries after the status.
    package struct ReturnParameters: HCIReturnParameters {
        package static let size = 1

        /// How many.
        package var size: UInt8

        /// Makes return parameters with these values.
        package init(size: UInt8) {
            self.size = size
        }

        package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
            size = try reader.readUInt8("le_read_filter_accept_list_size.return.size")
        }

        package func encode(to buffer: inout [UInt8]) {
            buffer.append(size)
        }
    }

    /// Makes the command, which has no parameters.
    package init() {}
}

/// Empties the filter accept list.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.15.
package struct LEClearFilterAcceptList: HCICommandWithReturn, HCICommandWithoutParameters {
    package static let id = HCICommandID("LEClearFilterAcceptList", .lowEnergy, 0x0010, bit: (26, 7))

    /// Makes the command, which has no parameters.
    package init() {}
}

/// Adds a device to the filter accept list.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.16.
package struct LEAddDeviceToFilterAcceptList: HCICommandWithReturn {
    package static let id = HCICommandID("LEAddDeviceToFilterAcceptList", .lowEnergy, 0x0011, bit: (27, 0))

    /// The device.
    package var device: LEAddress

    /// Makes the command with these parameters.
    package init(device: LEAddress) {
        self.device = device
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        device = try LEAddress(reading: &reader, "le_add_device_to_filter_accept_list.device")
    }

    package func encode(to buffer: inout [UInt8]) {
        device.encode(to: &buffer)
    }
}

/// Removes a device from the filter accept list.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.17.
package struct LERemoveDeviceFromFilterAcceptList: HCICommandWithReturn {
    package static let id = HCICommandID("LERemoveDeviceFromFilterAcceptList", .lowEnergy, 0x0012, bit: (27, 1))

    /// The device.
    package var device: LEAddress

    /// Makes the command with these parameters.
    package init(device: LEAddress) {
        self.device = device
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        device = try LEAddress(reading: &reader, "le_remove_device_from_filter_accept_list.device")
    }

    package func encode(to buffer: inout [UInt8]) {
        device.encode(to: &buffer)
    }
}

/// Lets the controller resolve, and make, private addresses of a bonded device.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.38.
package struct LEAddDeviceToResolvingList: HCICommandWithReturn {
    package static let id = HCICommandID("LEAddDeviceToResolvingList", .lowEnergy, 0x0027, bit: (34, 3))

    /// The device's identity address.
    package var peer: LEAddress
    /// The device's identity resolving key; 0 for none.
    package var peerIRK: UInt128
    /// Our identity resolving key towards it; 0 for none.
    package var localIRK: UInt128

    /// Makes the command with these parameters.
    package init(peer: LEAddress, peerIRK: UInt128, localIRK: UInt128) {
        self.peer = peer
        self.peerIRK = peerIRK
        self.localIRK = localIRK
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        peer = try LEAddress(reading: &reader, "le_add_device_to_resolving_list.peer")
        peerIRK = try reader.readLittleEndian("le_add_device_to_resolving_list.peer_irk")
        localIRK = try reader.readLittleEndian("le_add_device_to_resolving_list.local_irk")
    }

    package func encode(to buffer: inout [UInt8]) {
        peer.encode(to: &buffer)
        buffer.appendLittleEndian(peerIRK)
        buffer.appendLittleEndian(localIRK)
    }
}

/// Forgets the keys of a device.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.39.
package struct LERemoveDeviceFromResolvingList: HCICommandWithReturn {
    package static let id = HCICommandID("LERemoveDeviceFromResolvingList", .lowEnergy, 0x0028, bit: (34, 4))

    /// The device's identity address.
    package var peer: LEAddress

    /// Makes the command with these parameters.
    package init(peer: LEAddress) {
        self.peer = peer
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        peer = try LEAddress(reading: &reader, "le_remove_device_from_resolving_list.peer")
    }

    package func encode(to buffer: inout [UInt8]) {
        peer.encode(to: &buffer)
    }
}

/// Forgets the keys of all devices.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.40.
package struct LEClearResolvingList: HCICommandWithReturn, HCICommandWithoutParameters {
    package static let id = HCICommandID("LEClearResolvingList", .lowEnergy, 0x0029, bit: (34, 5))

    /// Makes the command, which has no parameters.
    package init() {}
}

/// Reads how many devices the resolving list can hold.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.41.
package struct LEReadResolvingListSize: HCICommandWithReturn, HCICommandWithoutParameters {
    package static let id = HCICommandID("LEReadResolvingListSize", .lowEnergy, 0x002A, bit: (34, 6))

    /// What Command Complete carries after the status.
    package struct ReturnParameters: HCIReturnParameters {
        package static let size = 1

        /// How many.
        package var size: UInt8

        /// Makes return parameters with these values.
        package init(size: UInt8) {
            self.size = size
        }

        package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
            size = try reader.readUInt8("le_read_resolving_list_size.return.size")
        }

        package func encode(to buffer: inout [UInt8]) {
            buffer.append(size)
        }
    }

    /// Makes the command, which has no parameters.
    package init() {}
}

/// Reads the private address that a device uses now.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.42.
package struct LEReadPeerResolvableAddress: HCICommandWithReturn {
    package static let id = HCICommandID("LEReadPeerResolvableAddress", .lowEnergy, 0x002B, bit: (34, 7))

    /// What Command Complete carries after the status.
    package struct ReturnParameters: HCIReturnParameters {
        package static let size = 6

        /// Its private address.
        package var address: DeviceAddress

        /// Makes return parameters with these values.
        package init(address: DeviceAddress) {
            self.address = address
        }

        package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
            address = try DeviceAddress(reading: &reader, "le_read_peer_resolvable_address.return.address")
        }

        package func encode(to buffer: inout [UInt8]) {
            address.encode(to: &buffer)
        }
    }

    /// The device's identity address.
    package var peer: LEAddress

    /// Makes the command with these parameters.
    package init(peer: LEAddress) {
        self.peer = peer
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        peer = try LEAddress(reading: &reader, "le_read_peer_resolvable_address.peer")
    }

    package func encode(to buffer: inout [UInt8]) {
        peer.encode(to: &buffer)
    }
}

/// Reads the private address that we use towards a device now.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.43.
package struct LEReadLocalResolvableAddress: HCICommandWithReturn {
    package static let id = HCICommandID("LEReadLocalResolvableAddress", .lowEnergy, 0x002C, bit: (35, 0))

    /// What Command Complete carries after the status.
    package struct ReturnParameters: HCIReturnParameters {
        package static let size = 6

        /// Our private address.
        package var address: DeviceAddress

        /// Makes return parameters with these values.
        package init(address: DeviceAddress) {
            self.address = address
        }

        package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
            address = try DeviceAddress(reading: &reader, "le_read_local_resolvable_address.return.address")
        }

        package func encode(to buffer: inout [UInt8]) {
            address.encode(to: &buffer)
        }
    }

    /// The device's identity address.
    package var peer: LEAddress

    /// Makes the command with these parameters.
    package init(peer: LEAddress) {
        self.peer = peer
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        peer = try LEAddress(reading: &reader, "le_read_local_resolvable_address.peer")
    }

    package func encode(to buffer: inout [UInt8]) {
        peer.encode(to: &buffer)
    }
}

/// Turns the resolving list on or off.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.44.
package struct LESetAddressResolutionEnable: HCICommandWithReturn {
    package static let id = HCICommandID("LESetAddressResolutionEnable", .lowEnergy, 0x002D, bit: (35, 1))

    /// Whether private addresses are resolved and made.
    package var isEnabled: Bool

    /// Makes the command with these parameters.
    package init(isEnabled: Bool) {
        self.isEnabled = isEnabled
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        isEnabled = try reader.readBool("le_set_address_resolution_enable.is_enabled")
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.append(isEnabled ? 1 : 0)
    }
}

/// Sets how long a private address of ours is used.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.45.
package struct LESetResolvablePrivateAddressTimeout: HCICommandWithReturn {
    package static let id = HCICommandID("LESetResolvablePrivateAddressTimeout", .lowEnergy, 0x002E, bit: (35, 2))

    /// How long, in seconds: 1 to 3600.
    package var timeoutSeconds: UInt16

    /// Makes the command with these parameters.
    package init(timeoutSeconds: UInt16) {
        self.timeoutSeconds = timeoutSeconds
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        timeoutSeconds = try reader.readLittleEndian("le_set_resolvable_private_address_timeout.timeout_seconds")
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.appendLittleEndian(timeoutSeconds)
    }
}

/// Chooses whether a device in the resolving list may also use its identity address.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.77.
package struct LESetPrivacyMode: HCICommandWithReturn {
    package static let id = HCICommandID("LESetPrivacyMode", .lowEnergy, 0x004E, bit: (39, 2))

    /// The device's identity address.
    package var peer: LEAddress
    /// Whether it may.
    package var mode: PrivacyMode

    /// Makes the command with these parameters.
    package init(peer: LEAddress, mode: PrivacyMode) {
        self.peer = peer
        self.mode = mode
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        peer = try LEAddress(reading: &reader, "le_set_privacy_mode.peer")
        mode = try PrivacyMode(reading: &reader, "le_set_privacy_mode.mode")
    }

    package func encode(to buffer: inout [UInt8]) {
        peer.encode(to: &buffer)
        buffer.append(mode.rawValue)
    }
}
