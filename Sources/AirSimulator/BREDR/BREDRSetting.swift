import BluetoothHCI

/// Something of the BR/EDR side that a host sets and reads again, and that changes nothing on this air.
struct BREDRSetting: Sendable {
    /// How it is set, and how it is read; nil where the Core has no command for that.
    let write: HCICommandID?
    let read: HCICommandID?
    /// What it is after a reset; also how long it is.
    let initial: [UInt8]
    /// What its first octet may be.
    let values: ClosedRange<UInt8>

    /// A setting of the group Controller & Baseband.
    private init(
        _ name: String,
        write: Place? = nil,
        read: Place? = nil,
        _ initial: [UInt8],
        in values: ClosedRange<UInt8> = 0x00...0xFF,
        group: HCIOpcode.Group = .controllerAndBaseband
    ) {
        self.write = write.map { HCICommandID("Write" + name, group, $0.command, bit: $0.bit) }
        self.read = read.map { HCICommandID("Read" + name, group, $0.command, bit: $0.bit) }
        self.initial = initial
        self.values = values
    }

    /// The number of a command in its group, and its bit in Read Local Supported Commands.
    private typealias Place = (command: UInt16, bit: (octet: Int, bit: UInt8))

    /// How many octets a name has, and an extended inquiry response with the octet before it that asks for error correction.
    static let nameLength = 248
    private static let inquiryResponseLength = 241

    /// Source: Core 5.4, Vol 4, Part E, 7.2.11, 7.2.12 and 7.3.
    static let all: [BREDRSetting] = [
        .init("DefaultLinkPolicySettings", write: (0x0F, (5, 4)), read: (0x0E, (5, 3)), [0, 0], group: .linkPolicy),
        .init("LocalName", write: (0x13, (7, 0)), read: (0x14, (7, 1)), Array(repeating: 0, count: nameLength)),
        .init("ConnectionAcceptTimeout", write: (0x16, (7, 3)), read: (0x15, (7, 2)), [0xA0, 0x1F]),
        .init("PageTimeout", write: (0x18, (7, 5)), read: (0x17, (7, 4)), [0x00, 0x20]),
        .init("ScanEnable", write: (0x1A, (7, 7)), read: (0x19, (7, 6)), [0], in: 0...3),
        .init("PageScanActivity", write: (0x1C, (8, 1)), read: (0x1B, (8, 0)), [0x00, 0x08, 0x12, 0x00]),
        .init("InquiryScanActivity", write: (0x1E, (8, 3)), read: (0x1D, (8, 2)), [0x00, 0x10, 0x12, 0x00]),
        .init("AuthenticationEnable", write: (0x20, (8, 5)), read: (0x1F, (8, 4)), [0], in: 0...1),
        .init("ClassOfDevice", write: (0x24, (9, 1)), read: (0x23, (9, 0)), [0, 0, 0]),
        .init("VoiceSetting", write: (0x26, (9, 3)), read: (0x25, (9, 2)), [0x60, 0x00]),
        .init("InquiryScanType", write: (0x43, (12, 5)), read: (0x42, (12, 4)), [0], in: 0...1),
        .init("InquiryMode", write: (0x45, (12, 7)), read: (0x44, (12, 6)), [0], in: 0...2),
        .init("PageScanType", write: (0x47, (13, 1)), read: (0x46, (13, 0)), [0], in: 0...1),
        .init(
            "ExtendedInquiryResponse",
            write: (0x52, (17, 1)),
            read: (0x51, (17, 0)),
            Array(repeating: 0, count: inquiryResponseLength),
            in: 0...1
        ),
        .init("SimplePairingMode", write: (0x56, (17, 6)), read: (0x55, (17, 5)), [0], in: 0...1),
        .init("InquiryTransmitPowerLevel", write: (0x59, (18, 1)), [0]),
        .init("DefaultErroneousDataReporting", write: (0x5B, (18, 3)), read: (0x5A, (18, 2)), [0], in: 0...1),
        .init("SecureConnectionsHostSupport", write: (0x7A, (32, 3)), read: (0x79, (32, 2)), [0], in: 0...1),
    ]
}
