import BluetoothHCI

/// Where controllers are not what they say, as data.
///
/// Only what another project's driver had to learn from the hardware stands here; every entry says where.
package struct ControllerQuirks: Sendable {
    /// What is wrong with the controllers of one maker, or with some revisions of them.
    package struct Entry: Sendable {
        /// Which controllers, in words.
        package var name: String
        /// Who made them.
        package var company: CompanyIdentifier
        /// Which revisions, by LMP/PAL_Subversion of Read Local Version Information; nil for all.
        package var subversions: ClosedRange<UInt16>?
        /// Commands that they say they understand, and do not carry out.
        package var missingCommands: [HCICommandID]

        /// An entry for the controllers of one company: for those with these subversions, or for all if they are nil.
        package init(
            name: String,
            company: CompanyIdentifier,
            subversions: ClosedRange<UInt16>? = nil,
            missingCommands: [HCICommandID]
        ) {
            self.name = name
            self.company = company
            self.subversions = subversions
            self.missingCommands = missingCommands
        }

        func concerns(_ version: ReadLocalVersionInformation.ReturnParameters) -> Bool {
            version.company == company && subversions?.contains(version.lmpSubversion) != false
        }
    }

    /// Controllers that claim too much.
    package var entries: [Entry]
    /// Public addresses that controllers show which were given none: many devices share each.
    package var placeholderAddresses: Set<DeviceAddress>

    /// A table of one's own.
    package init(entries: [Entry], placeholderAddresses: Set<DeviceAddress>) {
        self.entries = entries
        self.placeholderAddresses = placeholderAddresses
    }

    /// Controllers are taken at their word.
    package static let none = ControllerQuirks(entries: [], placeholderAddresses: [])

    /// What is known.
    package static let known = ControllerQuirks(
        entries: [
            // Linux, drivers/bluetooth/btusb.c, BTUSB_ACTIONS_SEMI: "Support is advertised, but not implemented". The
            // controller answers them with Unknown HCI Command.
            Entry(
                name: "Actions Semiconductor ATS2851",
                company: CompanyIdentifier(rawValue: 0x03E0),
                missingCommands: [
                    LESetExtendedScanParameters.id, LESetExtendedScanEnable.id, LEExtendedCreateConnection.id,
                    LEReadTransmitPower.id,
                ]
            )
        ],
        // Linux, drivers/bluetooth/btbcm.c, btbcm_check_bdaddr: what Broadcom's controllers show without an address of their
        // own, the chip's number among it. Those of Raspberry Pis do until the board's driver has told them theirs.
        placeholderAddresses: [
            DeviceAddress(0x0020_7002_A000),  // BCM20702A0
            DeviceAddress(0x2070_02A0_0000),  // BCM20702A1
            DeviceAddress(0x2076_A000_5679),  // BCM2076B1
            DeviceAddress(0x4343_A012_1FAC),  // BCM43430A0
            DeviceAddress(0xAAAA_AAAA_AAAA),  // BCM43430A1
            DeviceAddress(0x4324_B300_0000),  // BCM4324B3
            DeviceAddress(0x4330_B100_0000),  // BCM4330B1
            DeviceAddress(0x4334_B000_0000),  // BCM4334B0
            DeviceAddress(0x4345_C500_1FAC),  // BCM4345C5
            DeviceAddress(0x4334_1B00_1FAC),  // BCM43341B
        ]
    )

    /// Takes away what a controller does not carry out.
    /// - Returns: what there is to say about that, if there is anything.
    func correct(
        _ commands: inout SupportedCommands,
        of version: ReadLocalVersionInformation.ReturnParameters?
    ) -> HostNews? {
        guard let version, let entry = entries.first(where: { $0.concerns(version) }) else { return nil }
        let claimed = entry.missingCommands.filter { commands.contains($0) }
        for command in claimed { commands.remove(command) }
        return claimed.isEmpty ? nil : .commandsNotCarriedOut(controller: entry.name, claimed)
    }

    /// A controller's public address; nil if that is none of its own.
    func publicAddress(_ address: DeviceAddress) -> DeviceAddress? {
        address == .zero || placeholderAddresses.contains(address) ? nil : address
    }
}
