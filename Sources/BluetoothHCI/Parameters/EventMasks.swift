/// Which events of the first page a host wants.
///
/// Source: Core 5.4, Vol 4, Part E, 7.3.1.
package struct EventMask: OptionSet, Hashable, Sendable {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }
    /// Bit 0: Inquiry Complete.
    package static let inquiryComplete = EventMask(rawValue: 1 << 0)
    /// Bit 2: Connection Complete.
    package static let connectionComplete = EventMask(rawValue: 1 << 2)
    /// Bit 4: Disconnection Complete.
    package static let disconnectionComplete = EventMask(rawValue: 1 << 4)
    /// Bit 6: Remote Name Request Complete.
    package static let remoteNameRequestComplete = EventMask(rawValue: 1 << 6)
    /// Bit 7: Encryption Change, version 1.
    package static let encryptionChange = EventMask(rawValue: 1 << 7)
    /// Bit 11: Read Remote Version Information Complete.
    package static let readRemoteVersionInformationComplete = EventMask(rawValue: 1 << 11)
    /// Bit 15: Hardware Error.
    package static let hardwareError = EventMask(rawValue: 1 << 15)
    /// Bit 25: Data Buffer Overflow.
    package static let dataBufferOverflow = EventMask(rawValue: 1 << 25)
    /// Bit 47: Encryption Key Refresh Complete.
    package static let encryptionKeyRefreshComplete = EventMask(rawValue: 1 << 47)
    /// Bit 61: LE Meta, without which no LE event is sent.
    package static let leMeta = EventMask(rawValue: 1 << 61)
    /// What a controller sends after a reset.
    package static let initial = EventMask(rawValue: 0x0000_1FFF_FFFF_FFFF)
}

/// Which events of the second page a host wants.
///
/// Source: Core 5.4, Vol 4, Part E, 7.3.69.
package struct EventMaskPage2: OptionSet, Hashable, Sendable {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }
    /// Bit 25: Encryption Change, version 2.
    package static let encryptionChangeV2 = EventMaskPage2(rawValue: 1 << 25)
}

/// Which LE events a host wants: bit n is the subevent with code n + 1.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.1.
package struct LEEventMask: OptionSet, Hashable, Sendable {
    package let rawValue: UInt64
    package init(rawValue: UInt64) { self.rawValue = rawValue }

    /// The mask with the bit of one subevent.
    package init(_ subevent: LESubevent) {
        let code = subevent.rawValue
        rawValue = (1...64).contains(code) ? 1 << (UInt64(code) - 1) : 0
    }

    /// What a controller sends after a reset: the first five subevents.
    package static let initial = LEEventMask(rawValue: 0x1F)
}
