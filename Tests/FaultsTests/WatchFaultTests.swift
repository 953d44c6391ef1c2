import AirSimulator
import BluetoothHCI
import PebblePhone
import PebbleProtocol
import Testing

@testable import Faults
@testable import PebbleWatch

/// Each fault of the watch itself.
@Suite struct WatchFaultTests {
    @Test(arguments: WatchFault.allCases) func isWhatItClaims(_ fault: WatchFault) throws {
        switch fault {
        case .appCrashes: try appCrashes()
        case .appSlow: try appSlow()
        case .reboot: try reboot()
        case .factoryReset: try factoryReset()
        case .battery: try battery()
        case .clockJump: try clockJump()
        case .timeZone: try timeZone()
        case .memoryShort: try memoryShort()
        case .buttonStuck: try buttonStuck()
        case .addressRotates: try addressRotates()
        case .bondForgotten: try bondForgotten()
        case .databaseChanged: try databaseChanged()
        case .storageFull, .storageReadOnly, .storageCorrupt: try storageFails(fault)
        case .storageSlow: try storageSlow()
        }
    }

    private func has(_ rig: FaultRig, _ isWanted: (WatchEvent) -> Bool) -> Bool {
        rig.watch { $0.events.contains(where: isWanted) }
    }

    private func appCrashes() throws {
        let rig = try FaultRig { $0.builtInApps = [SportsApp()] }
        let sports = SportsApp().uuid
        try rig.air.onWatch { owner, now in _ = try owner.host.watch.perform(.launchApp(sports), at: now) }
        try rig.add("app.crash")
        #expect(rig.watch { $0.host.watch.runningApp } != sports)
    }

    private func appSlow() throws {
        let rig = try SessionRig()
        try rig.add("app.slow delay=2s count=1")
        let id = rig.begin(SessionRig.push)
        rig.run(1)
        #expect(rig.phone { $0.results[id] == nil })
        rig.run(3)
        #expect(rig.phone { $0.results[id] != nil })
    }

    private func reboot() throws {
        let rig = try SessionRig()
        try rig.add("watch.reboot during=upload bytes=2000")
        rig.run(5)
        #expect(rig.firings("watch.reboot") == 0, "nothing is uploaded")
        #expect(!rig.succeeds(.upload([UInt8](repeating: 1, count: 20_000), name: "fault")))
        #expect(rig.firings("watch.reboot") == 1)
        #expect(
            rig.watch { owner in
                owner.events.contains { event in
                    if case .restarting(.reboot) = event { true } else { false }
                }
            }
        )
    }

    private func factoryReset() throws {
        let rig = try FaultRig.paired()
        try rig.add("watch.factory-reset")
        rig.run(5)
        #expect(rig.watch { $0.host.watch.bondedPhones.isEmpty })
    }

    private func battery() throws {
        let rig = try FaultRig()
        try rig.add("watch.battery from=50 to=40 over=10s")
        rig.air.run(for: .milliseconds(5500))
        #expect(rig.watch { $0.host.watch.status.sensors.batteryPercent } == 45)
        rig.run(20)
        #expect(rig.watch { $0.host.watch.status.sensors.batteryPercent } == 40)
    }

    private func clockJump() throws {
        let rig = try FaultRig()
        let seconds = { (rig: FaultRig) in
            rig.air.onWatch { owner, now in Int(owner.host.watch.clock.seconds(at: now)) }
        }
        let before = seconds(rig)
        try rig.add("watch.clock-jump seconds=7200")
        #expect(seconds(rig) == before + 7200)
    }

    private func timeZone() throws {
        let rig = try FaultRig()
        try rig.add("watch.time-zone minutes=330")
        #expect(rig.watch { $0.host.watch.clock.zone?.offsetMinutes } == 330)
    }

    private func memoryShort() throws {
        let rig = try SessionRig()
        try rig.add("watch.memory-short bytes=1000")
        #expect(!rig.succeeds(.upload([UInt8](repeating: 1, count: 2000), name: "fault")))
        #expect(rig.succeeds(.upload([UInt8](repeating: 1, count: 500), name: "fault")))
    }

    private func buttonStuck() throws {
        let rig = try FaultRig()
        try rig.add("watch.button-stuck button=up for=5s")
        rig.run(3)
        let isLong = has(rig) { event in
            if case .buttonPressed(.up, .long) = event { true } else { false }
        }
        #expect(isLong, "it counts as held")
        rig.run(4)
        #expect(rig.watch { $0.host.watch.runningFaults.isEmpty })
    }

    private func addressRotates() throws {
        let rig = try FaultRig { $0.privacy = .resolvablePrivateAddress(lifetime: .seconds(900)) }
        let before = rig.watch { $0.host.watch.presence.privateAddress }
        try rig.add("watch.address-rotates")
        rig.run(3)
        #expect(rig.watch { $0.host.watch.presence.privateAddress } != before)
        let open = try FaultRig()
        #expect(throws: WatchCommandError.self) { try open.add("watch.address-rotates") }
    }

    private func bondForgotten() throws {
        let rig = try FaultRig.paired()
        try rig.add("bond.forgotten")
        #expect(rig.watch { $0.host.watch.bondedPhones.isEmpty })
        #expect(rig.phone { $0.connection } != nil, "the link stays")
        try rig.encryptAgain()
        #expect(rig.phone { !$0.security.isEncrypted })
    }

    private func databaseChanged() throws {
        let rig = try FaultRig.connected()
        let services = { (rig: FaultRig) throws -> Int in
            guard case .success(.services(let found))? = try rig.perform(.discoverAllPrimaryServices) else { return 0 }
            return found.count
        }
        let before = try services(rig)
        try rig.add("gatt.database-changed")
        rig.run(2)
        #expect(abs(try services(rig) - before) == 1)
    }

    private func storageFails(_ fault: WatchFault) throws {
        let rig = try FaultRig.connected()
        try rig.add(fault.rawValue)
        let before = rig.watch { $0.storedChanges }
        rig.pair()
        #expect(rig.watch { $0.storedChanges } == before, "the store sees none of it")
        let complains = has(rig) { event in
            if case .diagnostic(let line) = event { line.layer == .store && line.severity == .error } else { false }
        }
        #expect(complains && rig.firings(fault.rawValue) >= 1)
    }

    private func storageSlow() throws {
        let rig = try FaultRig.connected()
        try rig.add("storage.slow delay=3s")
        rig.pair(for: 2)
        #expect(rig.watch { $0.host.watch.faults?.lateAnswers.isEmpty } == false)
        try rig.clear()
        rig.run(4)
        #expect(rig.watch { $0.host.watch.faults == nil }, "what was late has come")
    }
}
