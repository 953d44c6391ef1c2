import BluetoothHCI
import BluetoothHost
import Testing

@Suite("LE host: controllers that report wrong features")
struct ControllerQuirksTests {
    /// Starts a host on a controller that says of itself what is in `version`.
    private func capabilities(
        version: String,
        address: String = "000000000000",
        quirks: ControllerQuirks = .known
    ) throws -> (ControllerCapabilities, [LEHostEvent]) {
        var script = ControllerScript.rich
        script.answers["0110"] = version
        script.answers["0910"] = "00 " + address
        var configuration = LEHost.Configuration(ownAddress: HostRig.ownAddress)
        configuration.quirks = quirks
        var rig = try HostRig(script, configuration: configuration)
        rig.host.start(at: rig.now)
        rig.answerCommands()
        let events = rig.events()
        let capabilities = events.compactMap { event -> ControllerCapabilities? in
            if case .ready(let capabilities) = event { capabilities } else { nil }
        }
        return (try #require(capabilities.first, "\(events)"), events)
    }

    @Test("A controller that claims extended scanning but lacks it gets the legacy commands, and a notice says so")
    func claimsTooMuch() throws {
        // Version 5.3, Actions Semiconductor (0x03E0).
        let actions = "00 0c 0000 0c e003 0000"
        let (capabilities, events) = try capabilities(version: actions)
        #expect(!capabilities.usesExtendedCommands)
        #expect(!capabilities.commands.contains(LEExtendedCreateConnection.id))
        #expect(capabilities.commands.contains(LECreateConnection.id))
        let words = events.map { "\($0)" }
        #expect(words.contains { $0.contains("Actions Semiconductor ATS2851: claims") }, "\(words)")
        let (trusting, silent) = try self.capabilities(version: actions, quirks: .none)
        #expect(trusting.usesExtendedCommands)
        #expect(silent.count == 1)
    }

    @Test("The features that other controllers report are believed")
    func others() throws {
        let (capabilities, events) = try capabilities(version: "00 0c 0000 0c 5900 0000")
        #expect(capabilities.usesExtendedCommands)
        #expect(events.count == 1, "\(events)")
    }

    @Test("An entry may be for some revisions only", arguments: [(0x0100, true), (0x01FF, true), (0x0200, false)])
    func revisions(subversion: UInt16, isConcerned: Bool) throws {
        let entry = ControllerQuirks.Entry(
            name: "Some",
            company: CompanyIdentifier(rawValue: 0x0059),
            subversions: 0x0100...0x01FF,
            missingCommands: [LESetDataLength.id]
        )
        let octets = "\(subversion == 0x01FF ? "ff" : "00")0\(subversion >> 8)"
        let quirks = ControllerQuirks(entries: [entry], placeholderAddresses: [])
        let (capabilities, _) = try capabilities(version: "00 0c 0000 0c 5900 " + octets, quirks: quirks)
        #expect(capabilities.commands.contains(LESetDataLength.id) == !isConcerned)
    }

    @Test("A placeholder address of a manufacturer counts as no address", arguments: ["ac1f12a04343", "aaaaaaaaaaaa"])
    func placeholders(address: String) throws {
        let broadcom = "00 09 0000 09 0f00 0000"
        #expect(try capabilities(version: broadcom, address: address).0.publicAddress == nil)
        #expect(try capabilities(version: broadcom, address: address, quirks: .none).0.publicAddress != nil)
        #expect(try capabilities(version: broadcom, address: "563412eb27b8").0.publicAddress != nil)
    }
}
