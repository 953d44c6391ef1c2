import AirSimulator
import BluetoothHCI
import BluetoothHost
import ByteCoding
import Testing

@testable import PebbleWatch

/// A phone that unsubscribes from Service Changed in the moment in which it is to be told of a change.
@Suite struct WithdrawnIndicationTests {
    private func indications(_ rig: inout RigPair) -> [[UInt8]] {
        rig.onPhone { phone, _ in phone.received.filter(\.isIndication).map { Array($0.value) } }
    }

    @Test func whatThePhoneNoLongerWantsIsToldWhenItWantsItAgain() throws {
        var configuration = WatchConfiguration(identity: WatchIdentity(address: RigWatch.address))
        configuration.serviceChangedDelay = .seconds(1)
        let watch = try RigWatch(configuration, seed: 1)
        var rig = try RigPair(connecting: watch, RigPhone(address: 0x11, seed: 2), seed: 3)
        try rig.pair()
        let handle = try rig.configuration(of: .serviceChanged)
        #expect(try rig.perform(.subscribe(clientConfiguration: handle, .indications)) == .written)
        guard case .services(let services)? = try rig.perform(.discoverPrimaryServices(.uuid16(0x180F))) else {
            Issue.record("no battery service")
            return
        }
        let range = try #require(services.first?.range)
        try rig.onWatch { watch, now in
            _ = try watch.host.perform(.offerBattery(false), at: now)
            watch.host.advance(to: now)
            // The indication has not gone to the controller, which brings a Write Request of 0 to the configuration: ACL data,
            // L2CAP channel 4.
            let link = try #require(watch.host.links.keys.first).rawValue
            var packet: [UInt8] = [0x02]
            packet.appendLittleEndian(0x2000 | link)
            packet += [0x09, 0x00, 0x05, 0x00, 0x04, 0x00, 0x12]
            packet.appendLittleEndian(handle.rawValue)
            packet += [0x00, 0x00]
            watch.host.receive(packet[...], at: now)
        }
        rig.run(for: .seconds(10))
        #expect(indications(&rig) == [])
        #expect(rig.onPhone { phone, _ in phone.connection } != nil)
        #expect(try rig.perform(.subscribe(clientConfiguration: handle, .indications)) == .written)
        rig.run(for: .seconds(5))
        var expected: [UInt8] = []
        expected.appendLittleEndian(range.start.rawValue)
        expected.appendLittleEndian(range.end.rawValue)
        #expect(indications(&rig) == [expected])
    }
}
