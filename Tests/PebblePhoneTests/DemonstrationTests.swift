import AirSimulator
import BluetoothHCI
import PebblePhone
import PebbleProtocol
import PebbleWatch
import Testing

@Suite("A phone's whole story with a watch")
struct DemonstrationTests {
    @Test("goes to its end", arguments: PhoneTransport.allCases, [1, 2, 3] as [UInt64])
    func wholeStory(_ transport: PhoneTransport, _ seed: UInt64) throws {
        var rig = try Rig(transport, seed: seed)
        rig.runToTheEnd(within: .seconds(120))
        guard case .success(let summary) = rig.outcome else {
            Issue.record("\(String(describing: rig.outcome))\n\(rig.transcript)")
            return
        }
        #expect(summary.pings == 1)
        #expect(summary.echoes == DemonstrationScript.standard.exchanges.count)
        #expect(summary.reconnections == 0)
    }
}
