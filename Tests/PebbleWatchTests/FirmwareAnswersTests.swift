import Testing

/// What the real firmware answered to every message that was sent to it, asked of this watch, in the same order.
@Suite("The recorded answers of the real firmware")
struct FirmwareAnswersTests {
    @Test(
        "Every case is answered as the firmware answers it, or as the table of differences says",
        arguments: ["main", "uploads"]
    )
    func replay(group name: String) throws {
        let group = try #require(try FirmwareAnswers.load().groups.first { $0.name == name })
        var replay = try FirmwareReplay()
        var table = FirmwareDifference.all.filter { $0.group == name }
        for (index, recorded) in group.cases.enumerated() {
            let answers = try replay.play(recorded)
            let isInStep = replay.isInStep()
            #expect(isInStep, "\(index), \(recorded.name): the watch is out of step")
            guard let expected = recorded.expected.map(FirmwareReplay.comparable) else { continue }
            let difference = table.firstIndex { $0.name == recorded.name }.map { table.remove(at: $0) }
            if let difference {
                #expect(answers != expected, "\(index), \(recorded.name): no difference any more; the table is stale")
                #expect(answers == difference.answers, "\(index), \(recorded.name): another difference")
            } else {
                #expect(answers == expected, "\(index), \(recorded.name)")
            }
        }
        #expect(table.isEmpty, "stale: \(table.map(\.name))")
    }

    @Test("The recording is whole")
    func recordingIsWhole() throws {
        let groups = try FirmwareAnswers.load().groups
        #expect(groups.map(\.name) == ["main", "uploads"])
        #expect(groups.map(\.cases.count) == [487, 55])
        #expect(groups.flatMap(\.cases).filter { $0.expected != nil }.count == 374)
    }
}
