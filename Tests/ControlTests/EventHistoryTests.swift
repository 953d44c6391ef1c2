import PebbleProtocol
import PebbleWatch
import SeededRandomness
import Testing

@testable import Control

/// What is kept of what has happened, and for how long.
@Suite struct EventHistoryTests {
    private static let apps = (1...2).map { PebbleUUID(upperHalf: 5, lowerHalf: UInt64($0)) }

    private func dictionary(_ value: UInt8, byteCount: Int = 1) throws -> AppMessageDictionary {
        try AppMessageDictionary([AppMessageTuple(key: 1, value: .bytes([UInt8](repeating: value, count: byteCount)))])
    }

    @Test func otherEventsDoNotPushMessagesOut() throws {
        var history = EventHistory()
        _ = history.record(.appMessageReceived(Self.apps[0], try dictionary(7)), text: "", at: .seconds(2))
        _ = history.record(
            .appMessageSent(Self.apps[1], try dictionary(8), .notConnected),
            text: "",
            at: .seconds(3)
        )
        for _ in 0..<1000 { _ = history.record(.buttonPressed(.up, .short), text: "", at: .seconds(4)) }
        let received = try #require(history.messages(.received, app: nil, after: 0).first)
        #expect(received.sequence == 1 && received.at == 2 && received.message.result == "ok")
        #expect(received.message.message.app == "\(Self.apps[0])" && received.message.message.entries.count == 1)
        let sent = history.messages(.sent, app: nil, after: 0)
        #expect(sent.map(\.message.result) == ["notConnected"])
        #expect(history.messages(.sent, app: "\(Self.apps[0])", after: 0).isEmpty)
        #expect(history.messages(.sent, app: "\(Self.apps[1])", after: 1) == sent)
        #expect(history.messages(.sent, app: nil, after: 2).isEmpty)
    }

    @Test func theOldestMessagesMakeWay() throws {
        var history = EventHistory()
        for number in 0..<300 {
            let message = try dictionary(UInt8(number & 0xFF))
            _ = history.record(.appMessageReceived(Self.apps[0], message), text: "", at: .zero)
        }
        let kept = history.messages(.received, app: nil, after: 0)
        #expect(kept.map(\.sequence) == Array(45...300), "the last 256, oldest first")
        // Large ones are fewer.
        for _ in 0..<100 {
            let message = try dictionary(1, byteCount: 8000)
            _ = history.record(.appMessageReceived(Self.apps[0], message), text: "", at: .zero)
        }
        let large = history.messages(.received, app: nil, after: 0)
        #expect((1..<20).contains(large.count) && large.last?.sequence == 400)
    }

    @Test func theFirstEventOfANameIsFound() throws {
        var history = EventHistory()
        _ = history.record(.pairable(true), text: "", at: .zero)
        _ = history.record(.buttonPressed(.up, .short), text: "", at: .zero)
        _ = history.record(.buttonPressed(.down, .short), text: "", at: .zero)
        #expect(history.events.first(.button, after: 0)?.sequence == 2)
        #expect(history.events.first(.button, after: 2)?.sequence == 3)
        #expect(history.events.first(.button, after: 3) == nil && history.events.first(.paired, after: 0) == nil)
        // Of one that is not among the last events, the last of its name is still known.
        for _ in 0..<600 { _ = history.record(.buttonPressed(.back, .short), text: "", at: .zero) }
        #expect(history.events.first(.pairable, after: 0)?.sequence == 1)
    }

    /// Against a list of everything that has happened: what is looked for is found, whichever events had to make way.
    @Test(arguments: 0..<8 as Range<UInt64>)
    func whatIsKeptIsFound(_ seed: UInt64) throws {
        var chance = SplitMix64(seed: seed)
        var history = EventHistory()
        var all: [ControlEvent] = []
        for _ in 0..<2000 {
            let event: WatchEvent =
                switch UInt64.random(in: 0..<400, using: &chance) {
                case 0: .pairable(true)
                case 1: .appLaunched(Self.apps[0], name: "Weather")
                case 2..<80: .appMessageReceived(Self.apps[1], try dictionary(3))
                default: .buttonPressed(.up, .short)
                }
            if let told = history.record(event, text: "\(all.count)", at: .zero) { all.append(told) }
        }
        #expect(history.last == 2000 && all.map(\.sequence) == Array(1...2000))
        let events = history.events
        // They are small enough for their number alone to count.
        let recent = Set(all.suffix(512).map(\.sequence))
        for name in [ControlEventName.pairable, .appLaunched, .appMessageReceived, .button, .paired] {
            let named = all.filter { $0.name == name }
            #expect(events.countsByName[name.rawValue] == (named.isEmpty ? nil : named.count))
            for number in [0, 1, 1000, 1487, 1488, 1489, 1990, 1999, 2000] as [UInt64] {
                let later = named.filter { $0.sequence > number }
                let expected = later.first { recent.contains($0.sequence) } ?? later.last
                #expect(
                    events.first(name, after: number)?.sequence == expected?.sequence,
                    "seed \(seed), \(name), \(number)"
                )
            }
        }
    }
}
