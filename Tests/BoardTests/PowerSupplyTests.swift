import Foundation
import Testing

@testable import Board

/// Batteries as files of sysfs, valid and invalid.
@Suite struct PowerSupplyTests {
    private final class Supplies {
        let url = FileManager.default.temporaryDirectory.appending(path: "cairn-supplies-\(UUID())")

        deinit { try? FileManager.default.removeItem(at: url) }

        func write(_ supply: String, _ files: [String: String]) throws {
            let folder = url.appending(path: supply)
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            for (name, text) in files {
                try Data((text + "\n").utf8).write(to: folder.appending(path: name))
            }
        }

        func charge(_ name: String?) throws(PowerSupply.Failure) -> PowerSupply.Charge {
            try PowerSupply(named: name, folder: url.path).charge()
        }
    }

    @Test(arguments: [
        ("Charging", true), ("Full", true), ("Not charging", true), ("Discharging", false),
        ("Unknown", false), ("", false),
    ])
    func capacityAndStatus(status: String, isCharging: Bool) throws {
        let supplies = Supplies()
        try supplies.write("BAT0", ["type": "Battery", "capacity": "87", "status": status])
        #expect(try supplies.charge("BAT0") == .init(percent: 87, isCharging: isCharging))
        #expect(try supplies.charge(nil) == .init(percent: 87, isCharging: isCharging))
    }

    @Test func theMachinesOwnBatteryIsFound() throws {
        let supplies = Supplies()
        try supplies.write("AC", ["type": "Mains", "online": "1"])
        try supplies.write("a-mouse", ["type": "Battery", "scope": "Device", "capacity": "5"])
        #expect(throws: PowerSupply.Failure(description: "this machine has no battery")) {
            try supplies.charge(nil)
        }
        try supplies.write("b-second", ["type": "Battery", "capacity": "60"])
        try supplies.write("b-first", ["type": "Battery", "scope": "System", "capacity": "50"])
        #expect(try supplies.charge(nil).percent == 50)
        #expect(try supplies.charge("b-second").percent == 60)
    }

    private static let gauges: [(files: [String: String], percent: UInt8)] = [
        (["charge_now": "500000", "charge_full": "2000000"], 25),
        (["energy_now": "21", "energy_full": "20"], 100), (["charge_now": "-3", "charge_full": "20"], 0),
        (["capacity": "101"], 100), (["capacity": "-4"], 0),
        (["charge_now": "1", "charge_full": "0", "energy_now": "1", "energy_full": "2"], 50),
    ]

    @Test(arguments: gauges)
    func whatAGaugeKnowsInstead(files: [String: String], percent: UInt8) throws {
        let supplies = Supplies()
        try supplies.write("BAT0", files)
        #expect(try supplies.charge("BAT0").percent == percent)
    }

    private static let nonsense: [(files: [String: String], problem: String)] = [
        ([:], "the battery does not say how full it is"), (["capacity": "abc"], "the battery's capacity is “abc”"),
        (["capacity": "99999999999999999999"], "the battery's capacity is “99999999999999999999”"),
        (["capacity": "50", "present": "0"], "the battery is not in its place"),
        (["charge_now": "nan", "charge_full": "5"], "the battery does not say how full it is"),
    ]

    @Test(arguments: nonsense)
    func nonsenseIsTold(files: [String: String], problem: String) throws {
        let supplies = Supplies()
        try supplies.write("BAT0", files)
        #expect(throws: PowerSupply.Failure(description: problem)) { try supplies.charge("BAT0") }
    }

    @Test func aNameIsNoPath() throws {
        let supplies = Supplies()
        try supplies.write("BAT0", ["capacity": "50"])
        for name in ["../BAT0", ".", "..", "BAT0/../BAT0"] {
            #expect(throws: PowerSupply.Failure(description: "“\(name)” is no power supply's name")) {
                try supplies.charge(name)
            }
        }
        #expect(throws: PowerSupply.Failure(description: "there is no power supply “BAT1”")) {
            try supplies.charge("BAT1")
        }
    }
}
