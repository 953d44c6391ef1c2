import Testing

@testable import Faults

/// What faults say of themselves, and when they fire by themselves.
@Suite struct FaultDefinitionTests {
    @Test(
        "A fault says what a watch is to be started with, so that it can be added",
        arguments: [
            ("att.never", nil, "–"),
            (
                "radio.loss",
                "needs a virtual air in the watch's own process, and this watch has a real controller or somebody else's air: "
                    + "start it with --controller virtual",
                "virtual air"
            ),
            (
                "storage.full", "needs a store, and this watch remembers nothing: start it with --state DIR",
                "store"
            ),
        ] as [(String, String?, String)]
    )
    func needs(_ name: String, _ refusal: String?, _ column: String) throws {
        let definition = try #require(FaultDefinition(named: name))
        #expect(definition.need.refusal == refusal)
        #expect(definition.need.name == column)
    }

    @Test(
        "Values are written in one way, however they were typed",
        arguments: [
            ("att.never probability=1.0", "att.never probability=1"),
            ("att.never probability=0.500", "att.never probability=0.5"),
            ("att.never probability=0.000001", "att.never probability=0.000001"),
            ("att.late delay=2", "att.late delay=2s"), ("att.late delay=0.5min", "att.late delay=30s"),
            ("att.late delay=0.25s", "att.late delay=250ms"), ("att.error opcode=0x1F", "att.error opcode=31"),
        ]
    )
    func text(_ typed: String, _ written: String) throws {
        #expect("\(try Fault(parsing: typed))" == written)
    }

    @Test(
        "A number or a time that no integer holds is out of its range",
        arguments: [
            "att.error opcode=0xZZ", "att.error opcode=0x", "att.error opcode=0xFFFFFFFFFFFFFFFFF",
            "att.late delay=9223372036854775min", "att.late delay=1.", "att.late delay=s", "att.late delay=1.5ms",
        ]
    )
    func badValues(_ text: String) throws {
        do throws(FaultError) {
            _ = try Fault(parsing: text)
            Issue.record("“\(text)” was taken")
        } catch {
            guard case .badValue = error else {
                Issue.record("\(text): \(error)")
                return
            }
        }
    }

    @Test(
        "What happens by itself and did not by chance has its next chance a period later",
        arguments: [("watch.reboot", 1000), ("watch.reboot every=5", 5000), ("watch.reboot after=3", 4000)]
    )
    func nextChance(_ text: String, _ milliseconds: Int) throws {
        // Of a million chances one fires: the first of this seed does not.
        let fault = try Fault(parsing: text + " probability=0.000001 seed=1")
        var running = RunningFault(FaultID(rawValue: 1), fault, at: .zero)
        let start = running.start
        let begins = running.fires(at: start, phone: nil)
        #expect(!begins)
        #expect(running.nextDeadline(after: start) == .milliseconds(milliseconds))
        #expect(running.firings == 0 && !running.isOver(at: .seconds(60)))
    }
}
