import PebblePhone
import PebbleProtocol
import Testing

@testable import Faults

/// Each fault of PPoGATT, as the phone and the watch get on with it.
@Suite struct PPoGATTFaultTests {
    @Test(arguments: PPoGATTFault.allCases) func isWhatItClaims(_ fault: PPoGATTFault) throws {
        switch fault {
        case .ackLost, .ackLate, .ackDoubled, .dataLost, .dataReordered, .dataRepeated:
            // PPoGATT is made for these: every message arrives all the same, and once. One Ack is for two packets, and a packet
            // that is lost twice ends the session.
            let count =
                switch fault {
                case .dataLost: 1
                case .ackLost, .ackLate, .ackDoubled: 2
                default: 3
                }
            let rig = try SessionRig()
            try rig.add("\(fault.rawValue) count=\(count)")
            let pongs = rig.heard(.ping).count
            for _ in 0..<6 { #expect(rig.succeeds(.ping), "\(fault.rawValue)") }
            #expect(rig.heard(.ping).count == pongs + 6)
            #expect(rig.firings(fault.rawValue) == count)
        case .dataCorrupted:
            let rig = try SessionRig()
            try rig.add("ppogatt.data-corrupted count=1")
            #expect(!rig.succeeds(.ping), "the cookie is another one")
            #expect(rig.succeeds(.ping))
        case .reset:
            let rig = try SessionRig()
            let before = rig.openings.count
            try rig.add("ppogatt.reset packets=1 count=1")
            _ = rig.tell(.ping)
            rig.run(30)
            #expect(rig.firings("ppogatt.reset") == 1)
            #expect(
                rig.phone { phone in
                    phone.story.contains { event in
                        if case .transportClosed(reason: "the other side reset it") = event { true } else { false }
                    }
                }
            )
            // The phone has left, as the Core app does, and may come back.
            _ = rig.tell(.connect(.known, within: .seconds(30)))
            rig.run(10)
            #expect(rig.openings.count == before + 1 && rig.succeeds(.ping))
        case .windowOfOne:
            let rig = try SessionRig(with: "ppogatt.window-one")
            let session = try #require(rig.openings.first)
            #expect(session.transmitWindow == 1 && session.receiveWindow == 1)
            #expect(rig.succeeds(.ping))
        case .otherVersion:
            let rig = try SessionRig(with: "ppogatt.other-version version=0", opens: false)
            rig.run(10)
            #expect(rig.firings("ppogatt.other-version") >= 1)
            #expect(rig.openings.allSatisfy { $0.version == .v0 })
        }
    }

    @Test func aFaultIsGoneWhenItIsCleared() throws {
        let rig = try SessionRig()
        try rig.add("ppogatt.data-lost")
        try rig.clear()
        #expect(rig.succeeds(.ping))
        #expect(rig.firings("ppogatt.data-lost") == 0)
        #expect(rig.watch { $0.host.watch.runningFaults.isEmpty })
    }
}
