import BluetoothHCI

/// The commands of BR/EDR that a dual-mode controller carries out: those with which hosts of phones start, and look for others.
///
/// They are a table of their own, since no host of Cairn's sends them.
///
/// Source: Core 5.4, Vol 4, Part E, 7.1 to 7.4.
struct BREDRCommand: Sendable {
    /// What a command does.
    enum Action: Sendable {
        /// Keeps its parameters; the index is that in `BREDRSetting.all`.
        case write(Int)
        case read(Int)
        /// Begins something that ends later.
        case begin(Search)
        case cancel(Search)
        case setEventFilter
        case readStoredLinkKeys
        case deleteStoredLinkKeys
        case readInquiryAccessCodes
        case writeInquiryAccessCodes
        case countInquiryAccessCodes
        case classifyChannels
        case readInquiryPower
        case readLEHostSupport
        case setMinimumKeySize
        case readFeatures
        case readCodecs
        case readSimplePairingOptions
    }

    /// How others are looked for.
    enum Search: Sendable {
        case inquiry
        case page(PageReason)
    }

    /// What somebody is paged for.
    enum PageReason: Sendable {
        case connection
        case name
    }

    let id: HCICommandID
    let action: Action
    /// How many octets its parameters are.
    let lengths: ClosedRange<Int>

    private init(_ id: HCICommandID, _ lengths: ClosedRange<Int>, _ action: Action) {
        self.id = id
        self.lengths = lengths
        self.action = action
    }

    private init(
        _ name: String,
        _ group: HCIOpcode.Group,
        _ command: UInt16,
        bit: (octet: Int, bit: UInt8),
        _ length: Int,
        _ action: Action
    ) {
        self.init(HCICommandID(name, group, command, bit: bit), length...length, action)
    }

    static let all: [BREDRCommand] =
        settings + [
            .init("Inquiry", .linkControl, 0x01, bit: (0, 0), 5, .begin(.inquiry)),
            .init("InquiryCancel", .linkControl, 0x02, bit: (0, 1), 0, .cancel(.inquiry)),
            .init("CreateConnection", .linkControl, 0x05, bit: (0, 4), 13, .begin(.page(.connection))),
            .init("CreateConnectionCancel", .linkControl, 0x08, bit: (0, 7), 6, .cancel(.page(.connection))),
            .init("RemoteNameRequest", .linkControl, 0x19, bit: (2, 3), 10, .begin(.page(.name))),
            .init("RemoteNameRequestCancel", .linkControl, 0x1A, bit: (2, 4), 6, .cancel(.page(.name))),
            .init(HCICommandID("SetEventFilter", .controllerAndBaseband, 0x05, bit: (6, 0)), 1...9, .setEventFilter),
            .init("ReadStoredLinkKey", .controllerAndBaseband, 0x0D, bit: (6, 5), 7, .readStoredLinkKeys),
            .init("DeleteStoredLinkKey", .controllerAndBaseband, 0x12, bit: (6, 7), 7, .deleteStoredLinkKeys),
            .init("ReadNumberOfSupportedIAC", .controllerAndBaseband, 0x38, bit: (11, 2), 0, .countInquiryAccessCodes),
            .init("ReadCurrentIACLAP", .controllerAndBaseband, 0x39, bit: (11, 3), 0, .readInquiryAccessCodes),
            .init(
                HCICommandID("WriteCurrentIACLAP", .controllerAndBaseband, 0x3A, bit: (11, 4)),
                4...(1 + 3 * BREDRState.inquiryAccessCodeLimit),
                .writeInquiryAccessCodes
            ),
            .init("SetAFHHostChannelClassification", .controllerAndBaseband, 0x3F, bit: (12, 1), 10, .classifyChannels),
            .init(
                "ReadInquiryResponseTransmitPowerLevel",
                .controllerAndBaseband,
                0x58,
                bit: (18, 0),
                0,
                .readInquiryPower
            ),
            .init("ReadLEHostSupport", .controllerAndBaseband, 0x6C, bit: (24, 5), 0, .readLEHostSupport),
            .init("SetMinEncryptionKeySize", .controllerAndBaseband, 0x84, bit: (45, 7), 1, .setMinimumKeySize),
            .init("ReadLocalExtendedFeatures", .informational, 0x04, bit: (14, 6), 1, .readFeatures),
            .init("ReadLocalSupportedCodecs", .informational, 0x0B, bit: (29, 5), 0, .readCodecs),
            .init("ReadLocalSimplePairingOptions", .informational, 0x0C, bit: (41, 3), 0, .readSimplePairingOptions),
        ]

    private static let settings: [BREDRCommand] = BREDRSetting.all.enumerated().flatMap { index, setting in
        let length = setting.initial.count
        return [
            setting.write.map { BREDRCommand($0, length...length, .write(index)) },
            setting.read.map { BREDRCommand($0, 0...0, .read(index)) },
        ].compactMap { $0 }
    }

    private static let byOpcode: [HCIOpcode: BREDRCommand] = Dictionary(
        all.map { ($0.id.opcode, $0) },
        uniquingKeysWith: { first, _ in first }
    )

    /// The command with an opcode; nil if it is none of BR/EDR, or not known.
    static func command(_ opcode: HCIOpcode) -> BREDRCommand? { byOpcode[opcode] }
}
