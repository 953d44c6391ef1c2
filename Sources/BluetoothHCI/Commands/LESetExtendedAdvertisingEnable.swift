import ByteCoding

/// Starts or stops advertising sets; disabling with no sets stops all of them.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.56.
package struct LESetExtendedAdvertisingEnable: HCICommandWithReturn {
    package static let id = HCICommandID("LESetExtendedAdvertisingEnable", .lowEnergy, 0x0039, bit: (36, 5))

    /// One advertising set to start or stop.
    package struct Entry: Hashable, Sendable {
        /// Which set.
        package var set: AdvertisingHandle
        /// How long it runs; zero until it is stopped.
        package var duration: EnableDuration
        /// After how many extended advertising events it ends; zero for no limit.
        package var maximumEvents: UInt8

        /// Makes the entry of one set; unless limits are given, the set runs until it is stopped.
        package init(
            set: AdvertisingHandle,
            duration: EnableDuration = EnableDuration(rawValue: 0),
            maximumEvents: UInt8 = 0
        ) {
            self.set = set
            self.duration = duration
            self.maximumEvents = maximumEvents
        }
    }

    /// Whether to advertise.
    package var isEnabled: Bool
    /// The sets; at most 63 are sent.
    package var sets: [Entry]

    /// Makes the command. Without sets and with `isEnabled` false, it stops all sets.
    package init(isEnabled: Bool, sets: [Entry]) {
        self.isEnabled = isEnabled
        self.sets = sets
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        isEnabled = try reader.readBool("le_set_extended_advertising_enable.enable")
        let count = try reader.readUInt8("le_set_extended_advertising_enable.num_sets")
        sets = []
        for _ in 0..<count {
            sets.append(
                Entry(
                    set: try AdvertisingHandle(reading: &reader, "le_set_extended_advertising_enable.handle"),
                    duration: try EnableDuration(reading: &reader, "le_set_extended_advertising_enable.duration"),
                    maximumEvents: try reader.readUInt8("le_set_extended_advertising_enable.max_events")
                )
            )
        }
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.append(isEnabled ? 1 : 0)
        let sent = sets.prefix(63)
        buffer.append(UInt8(clamping: sent.count))
        for entry in sent {
            buffer.append(entry.set.rawValue)
            entry.duration.encode(to: &buffer)
            buffer.append(entry.maximumEvents)
        }
    }
}
