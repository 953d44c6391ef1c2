import Control
import Logging
import PebbleProtocol
import PebbleWatch
import SeededRandomness
import Testing

@testable import Daemon
@testable import HCIRuntime

@Suite struct LineBudgetTests {
    @Test func aBurstIsToldAndThenOneLineEachInterval() {
        var budget = LineBudget(lines: 4, each: .seconds(8))
        for _ in 0..<4 { #expect(budget.take(at: .seconds(10)) == .tell(leftOut: nil)) }
        for _ in 0..<7 { #expect(budget.take(at: .seconds(10)) == .leaveOut) }
        // Half of it has to be back: two tokens, two seconds each.
        #expect(budget.opening == .seconds(14))
        #expect(budget.take(at: .milliseconds(13_999)) == .leaveOut)
        #expect(budget.take(at: .seconds(14)) == .tell(leftOut: 8))
        #expect(budget.take(at: .seconds(14)) == .tell(leftOut: nil))
        #expect(budget.take(at: .seconds(14)) == .leaveOut)
    }

    @Test func theCountIsToldByItselfWhenNothingMoreComes() {
        var budget = LineBudget(lines: 2, each: .seconds(2))
        _ = budget.take(at: .zero)
        _ = budget.take(at: .zero)
        #expect(budget.opening == nil, "nothing was left out yet")
        _ = budget.take(at: .zero)
        #expect(budget.reopened(at: .milliseconds(999)) == nil)
        #expect(budget.reopened(at: .seconds(1)) == 1)
        #expect(budget.reopened(at: .seconds(2)) == nil, "it is told once")
        #expect(budget.opening == nil)
        let isUnused = budget.isUnused(at: .seconds(60))
        #expect(isUnused)
    }

    @Test func itNeverTellsMoreThanItMay() {
        var budget = LineBudget(lines: 20, each: .seconds(120))
        var told = 0
        var now = Duration.zero
        while now < .seconds(3600) {
            if case .tell = budget.take(at: now) { told += 1 }
            now += .milliseconds(7)
        }
        #expect((500...620).contains(told), "\(told)")
    }

    @Test func everyLineIsToldOrCounted() {
        var budget = LineBudget(lines: 5, each: .seconds(10))
        var told = 0
        var counted = 0
        for step in 0..<10_000 {
            switch budget.take(at: .milliseconds(step * (step % 13) / 10)) {
            case .tell(let leftOut):
                told += 1
                counted += leftOut ?? 0
            case .leaveOut: break
            }
        }
        counted += budget.takeLeftOut() ?? 0
        #expect(told + counted == 10_000)
    }
}

@Suite struct LogThrottleTests {
    @Test(arguments: [
        ("connected to E1:B0:0B:1E:5A:01, 0x0040", "connected to # on 0x0040"),
        ("connection 0x0041: pairing failed: no reason", "pairing failed on 0x0041"),
        ("session 12: the phone sent a watch's action", "the phone sent a watch's"),
        ("session 12 open: hybrid, over PPoGATT", "session # open"),
        ("notification: Mum: come home", "notification"),
        ("0x0040: the phone did not answer; disconnecting", "the phone did not answer on 0x0040"),
        ("AppMessage to app 12345678, 14 bytes", "AppMessage to app #"),
        ("app deadbeef, main.c:12: hello there", "app deadbeef"),
        ("", ""),
    ])
    func linesAreOfAKindByHowTheyBegin(text: String, beginning: String) {
        #expect(LogThrottle.beginning(of: text) == beginning)
    }

    /// A flood of one kind leaves the others alone, and a link's the others' links.
    @Test func onlyTheFloodIsLeftOut() {
        var throttle = LogThrottle()
        func isTold(_ text: String, _ label: String = "gap", _ level: Logger.Level = .info) -> Bool {
            throttle.admit(text, label: label, level: level, at: .zero).isTold
        }
        let told = (0..<1000).filter { isTold("connected to \($0), 0x0040") }.count
        #expect(told == LogThrottle.linesOfKind)
        #expect(isTold("connected to 1, 0x0041"))
        #expect(isTold("disconnected, 0x0040: it left"))
        #expect(isTold("connected to 1, 0x0040", "gap", .warning))
        #expect(isTold("connected to 1, 0x0040", "smp"))
    }

    /// Each layer has its budget for any input of a phone, and the kept lines have a limit.
    @Test func kindsThatArePhonesOwnEndAtTheirLayer() {
        var throttle = LogThrottle()
        var generator = SystemRandomNumberGenerator()
        func word() -> String {
            String((0..<8).map { _ in Character(Unicode.Scalar(UInt8.random(in: 97...122, using: &generator))) })
        }
        var told = 0
        var now = Duration.zero
        for _ in 0..<20_000 {
            if throttle.admit("\(word()) \(word())", label: "watch", level: .info, at: now).isTold { told += 1 }
            now += .milliseconds(3)
        }
        #expect((60...120).contains(told), "\(told) in a minute")
        #expect(throttle.kindCount <= LogThrottle.kindLimit + 16)
        // Lines of the other layers are still written.
        #expect(throttle.admit("a phone is back", label: "gap", level: .info, at: now).isTold)
    }

    @Test func theCountSaysOfWhat() {
        var throttle = LogThrottle()
        for number in 0..<50 {
            _ = throttle.admit("connected to \(number), 0x0040", label: "gap", level: .info, at: .zero)
        }
        #expect(throttle.nextDeadline == .seconds(60))
        let expected = LogThrottle.Count(
            label: "gap",
            level: .info,
            text: "30 lines were left out here like “connected to # on 0x0040”"
        )
        #expect(throttle.reopened(at: .seconds(60)) == [expected])
        #expect(throttle.nextDeadline == nil)
    }

    /// The deadline is that of the budget that opens first, whatever other lines come in between.
    @Test func theDeadlineIsThatOfTheNextCount() {
        var throttle = LogThrottle()
        func flood(_ text: String, at now: Duration) {
            // The last one is the first that is left out.
            for _ in 0...LogThrottle.linesOfKind { _ = throttle.admit(text, label: "gap", level: .info, at: now) }
        }
        flood("connected to 1, 0x0040", at: .zero)
        #expect(throttle.nextDeadline == .seconds(60))
        flood("connected to 1, 0x0041", at: .seconds(10))
        #expect(throttle.nextDeadline == .seconds(60))
        _ = throttle.admit("disconnected, 0x0040", label: "gap", level: .info, at: .seconds(20))
        #expect(throttle.nextDeadline == .seconds(60))
        // The next line of the first kind tells the count, and no other is due before the second's.
        _ = throttle.admit("connected to 1, 0x0040", label: "gap", level: .info, at: .seconds(61))
        #expect(throttle.nextDeadline == .seconds(70))
        #expect(throttle.reopened(at: .seconds(70)).count == 1)
        #expect(throttle.nextDeadline == nil)
    }

    @Test func detailsThatWereAskedForAreAllThere() {
        let lines = LineList()
        let edge = LogEdge(clock: MonotonicClock()) { _, _, text in lines.append(text) }
        for _ in 0..<1000 { edge.log("the same again", label: "gap", level: .info, threshold: .debug) }
        #expect(lines.count == 1000)
        for _ in 0..<1000 { edge.log("the same again", label: "gap", level: .info, threshold: .info) }
        #expect(lines.count == 1000 + LogThrottle.linesOfKind)
        edge.finish()
        #expect(lines.count == 1000 + LogThrottle.linesOfKind + 1)
    }
}

/// Lines of AppMessages are counted before they have words, when their kind is left out.
@Suite struct FrequentLineTests {
    private static func message(_ number: UInt64, isSent: Bool) throws -> WatchEvent {
        var chance = SplitMix64(seed: number)
        let app = PebbleUUID(upperHalf: chance.next(), lowerHalf: chance.next())
        // What is said in it must not matter, even if it looks like a link.
        let text = AppMessageValue.string(AppMessageString("0x0040 said, 0x0041: so"))
        let dictionary = try AppMessageDictionary([AppMessageTuple(key: UInt32(number), value: text)])
        return isSent ? .appMessageSent(app, dictionary, .sendTimeout) : .appMessageReceived(app, dictionary)
    }

    @Test func theKindIsThatOfTheWords() throws {
        var known = 0
        for number in 0..<400 as Range<UInt64> {
            let line = try Self.message(number, isSent: number.isMultiple(of: 2)).storyLine
            guard let beginning = line.beginningOfDiscreetText else { continue }
            known += 1
            #expect(LogThrottle.beginning(of: line.discreetText) == beginning, "\(line.discreetText)")
        }
        #expect(known > 390)
        let word = PebbleUUID(upperHalf: 0xDEAD_BEEF_0000_0000, lowerHalf: 1)
        #expect(WatchEvent.appMessageReceived(word, .empty).storyLine.beginningOfDiscreetText == nil)
    }

    /// The same lines are written, and the same number is said to be left out, as if each line had been asked about with its words.
    @Test(arguments: [LogLevels(.info), LogLevels(.debug)])
    func aFloodIsLeftOutAllTheSame(_ levels: LogLevels) throws {
        let (lazy, eager) = (LineList(), LineList())
        let clock = MonotonicClock()
        let lazyEdge = LogEdge(clock: clock) { label, _, text in lazy.append("\(label) \(text)") }
        let eagerEdge = LogEdge(clock: clock) { label, _, text in eager.append("\(label) \(text)") }
        let loggers = Loggers(levels, edge: lazyEdge) { ConsoleLogHandler(label: $0, edge: lazyEdge) }
        for number in 0..<100 as Range<UInt64> {
            let line = try Self.message(number, isSent: number.isMultiple(of: 3)).storyLine
            loggers.log(line)
            eagerEdge.log(
                levels.standard <= .debug ? line.text : line.discreetText,
                label: "session",
                level: .info,
                threshold: levels.standard
            )
        }
        lazyEdge.finish()
        eagerEdge.finish()
        #expect(lazy.lines.sorted() == eager.lines.sorted())
        #expect(levels.standard == .debug ? lazy.count == 100 : lazy.count == 2 * LogThrottle.linesOfKind + 2)
    }
}

/// Lines that were written. One thread has it.
private final class LineList: @unchecked Sendable {
    private(set) var lines: [String] = []
    var count: Int { lines.count }
    func append(_ text: String) { lines.append(text) }
}
