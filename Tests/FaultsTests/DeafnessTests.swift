import AirSimulator
import BluetoothHCI
import Testing

@testable import Faults

/// A link on which one side hears nothing of the other.
@Suite struct DeafnessTests {
    @Test func theWatchHearsNothingOfThePhone() throws {
        let rig = try FaultRig.connected()
        let (watch, phone) = (rig.air.watch.controller, rig.air.phone.controller)
        rig.air.simulation.air.setDeafness(of: watch, to: phone, true)
        rig.run(1)
        rig.air.simulation.air.setDeafness(of: watch, to: phone, false)
        #expect(try rig.readsName(), "a second is less than the supervision timeout")
        rig.air.simulation.air.setDeafness(of: watch, to: phone, true)
        rig.run(6)
        #expect(rig.phone { $0.reasons } == [.connectionTimeout], "a peripheral that hears nothing says nothing")
    }

    @Test func thePhoneHearsNothingOfTheWatch() throws {
        let rig = try FaultRig.connected()
        rig.air.simulation.air.setDeafness(of: rig.air.phone.controller, to: rig.air.watch.controller, true)
        rig.run(6)
        #expect(rig.phone { $0.reasons } == [.connectionTimeout])
        #expect(rig.connect(), "the next link is as others are")
    }

    @Test func aConnectionKnowsItsPeer() throws {
        let rig = try FaultRig.connected()
        let handle = try #require(rig.phone { $0.connection })
        #expect(rig.air.simulation.air.peer(of: rig.air.phone.controller, on: handle) == rig.air.watch.controller)
        #expect(rig.air.simulation.air.peer(of: rig.air.phone.controller, on: 0x0EFF) == nil)
    }
}
