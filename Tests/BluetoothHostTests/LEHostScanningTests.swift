import BluetoothHCI
import BluetoothHost
import ByteCoding
import Testing

@Suite("LE host: scanning")
struct LEHostScanningTests {
    static let parameters = ScanParameters(
        type: .active,
        interval: ScanInterval(rawValue: 0x60),
        window: ScanInterval(rawValue: 0x30),
        filtersDuplicates: true
    )

    @Test("Legacy: parameters, enable; new parameters only while it is disabled; stop")
    func legacy() throws {
        var rig = try HostRig.ready(.minimal)
        rig.host.startScanning(Self.parameters, at: rig.now)
        #expect(rig.answerCommands() == ["01 0b20 07 01 6000 3000 01 00", "01 0c20 02 01 01"].map(compact))
        var passive = Self.parameters
        passive.type = .passive
        passive.filtersDuplicates = false
        rig.host.startScanning(passive, at: rig.now)
        #expect(
            rig.answerCommands()
                == ["01 0c20 02 00 00", "01 0b20 07 00 6000 3000 01 00", "01 0c20 02 01 00"].map(compact)
        )
        rig.host.stopScanning(at: rig.now)
        #expect(rig.answerCommands() == [compact("01 0c20 02 00 00")])
        #expect(rig.events().descriptions == ["scanningStarted", "scanningStarted", "scanningEnded"])
        rig.host.stopScanning(at: rig.now)
        #expect(rig.sent().isEmpty)
    }

    @Test("Extended: on LE 1M")
    func extended() throws {
        var rig = try HostRig.ready(.rich)
        rig.host.startScanning(Self.parameters, at: rig.now)
        #expect(
            rig.answerCommands() == ["01 4120 08 01 00 01 01 6000 3000", "01 4220 06 01 01 0000 0000"].map(compact)
        )
        rig.give(HostRig.le("11", ""))
        #expect(rig.events().descriptions == ["scanningStarted", "scanningEnded"])
    }

    @Test("Failures and parameters that no controller takes are reported")
    func failures() throws {
        var rig = try HostRig.ready(.minimal)
        rig.host.startScanning(Self.parameters, at: rig.now)
        _ = rig.sent()
        rig.give(HostRig.commandComplete("0b20", "0c"))
        #expect(rig.sent().isEmpty)
        #expect(rig.events().descriptions == ["scanningFailed(\(HCIStatus.commandDisallowed))"])
        for (interval, window) in [(0x30, 0x60), (0x03, 0x03), (0x4001, 0x10)] as [(UInt16, UInt16)] {
            var parameters = Self.parameters
            parameters.interval = ScanInterval(rawValue: interval)
            parameters.window = ScanInterval(rawValue: window)
            rig.host.startScanning(parameters, at: rig.now)
            #expect(rig.sent().isEmpty)
            #expect(rig.events().descriptions == ["scanningFailed(\(HCIStatus.invalidHCICommandParameters))"])
        }
    }

    @Test("Before the controller is ready, scanning waits for it")
    func beforeReady() throws {
        var rig = try HostRig(.minimal)
        rig.host.startScanning(Self.parameters, at: rig.now)
        rig.host.start(at: rig.now)
        #expect(rig.answerCommands().last == compact("01 0c20 02 01 01"))
        rig = try HostRig(.minimal)
        rig.host.startScanning(Self.parameters, at: rig.now)
        rig.host.stopScanning(at: rig.now)
        rig.host.start(at: rig.now)
        #expect(rig.answerCommands().last?.hasPrefix("010c20") == false)
    }

    @Test("Legacy and extended reports become the same event")
    func reports() throws {
        var rig = try HostRig.ready()
        rig.give(HostRig.le("02", "02 00 \(HostRig.peerHex) 03 020106 c4 04 \(HostRig.peerHex) 02 010a 7f"))
        rig.give(HostRig.le("0d", "01 1b00 \(HostRig.peerHex) 01 00 ff 04 c0 0000 00 000000000000 03 020104"))
        rig.give(HostRig.le("0b", "01 01 \(HostRig.peerHex) fe 05040302014a d0"))
        let reports = rig.events().reports
        #expect(reports.count == 4)
        #expect(reports.map(\.address) == Array(repeating: HostRig.peer, count: 4))
        #expect(reports.map(\.data) == [[2, 1, 6], [1, 10], [2, 1, 4], []])
        #expect(reports.map(\.isScanResponse) == [false, true, true, false])
        #expect(reports.map(\.isConnectable) == [true, false, true, true])
        #expect(reports.map(\.isScannable) == [true, false, true, false])
        #expect(reports.map(\.isDirected) == [false, false, false, true])
        #expect(reports.map(\.rssiDBm) == [-60, nil, -64, -48])
        #expect(reports[2].txPowerDBm == 4)
        #expect(reports[3].directAddress?.address == DeviceAddress(0x4A_01_02_03_04_05))
    }

    /// An extended report with a data status, a set and some data.
    static func part(_ status: UInt8, sid: String, _ data: String) -> String {
        let count = [UInt8(data.count / 2)].hexadecimal
        let type = [status << 5].hexadecimal
        return HostRig.le(
            "0d",
            "01 \(type)00 \(HostRig.peerHex) 01 02 \(sid) 7f c0 0000 00 000000000000 \(count) \(data)"
        )
    }

    @Test("Data in fragments is put together, for each set apart")
    func parts() throws {
        var rig = try HostRig.ready()
        rig.give(Self.part(1, sid: "01", "0102"))
        rig.give(Self.part(1, sid: "02", "aabb"))
        rig.give(Self.part(1, sid: "01", "0304"))
        rig.give(Self.part(0, sid: "01", "05"))
        rig.give(Self.part(2, sid: "02", "cc"))
        rig.give(Self.part(0, sid: "02", "dd"))
        let reports = rig.events().reports
        #expect(reports.map(\.data) == [[1, 2, 3, 4, 5], [0xAA, 0xBB, 0xCC], [0xDD]])
        #expect(reports.map(\.isTruncated) == [false, true, false])
    }

    @Test("Fragments without an end fill no memory: 1650 octets an advertisement, four advertisements")
    func endlessParts() throws {
        var rig = try HostRig.ready()
        let data = String(repeating: "5a", count: 200)
        for _ in 0..<50 { rig.give(Self.part(1, sid: "01", data)) }
        rig.give(Self.part(0, sid: "01", data))
        #expect(rig.events().reports.map(\.data.count) == [1650])
        for sid in ["01", "02", "03", "04", "05"] { rig.give(Self.part(1, sid: sid, "01")) }
        rig.give(Self.part(0, sid: "01", "02"))
        rig.give(Self.part(0, sid: "05", "02"))
        #expect(rig.events().reports.map(\.data) == [[2], [1, 2]])
    }

    @Test("An owner who does not listen loses reports, not memory, and no other events")
    func deafOwner() throws {
        var rig = try HostRig.ready()
        for _ in 0..<2000 { rig.give(HostRig.le("02", "01 00 \(HostRig.peerHex) 00 c4")) }
        rig.give(HostRig.connected("4000"))
        #expect(rig.host.counters.lostEvents == 2000 - 1024)
        let events = rig.events()
        #expect(events.reports.count == 1024 && events.connections.count == 1)
    }
}
