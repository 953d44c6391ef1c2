import AirSimulator
import SeededRandomness
import Testing

/// Two hosts that ask for everything a connection can do, at any time, and answer when they like: on an air that loses nothing, they never
/// lose each other.
@Suite struct LinkEnduranceTests {
    /// What an end may ask of its controller, with its handle for `H`. Of the timing, every choice leaves the supervision timeout of 6 s far away.
    private static let requests = [
        // LE Set PHY: 2M, 1M, whatever.
        "01 32 20 07 H 00 02 02 00 00", "01 32 20 07 H 00 01 01 00 00", "01 32 20 07 H 03 00 00 00 00",
        // LE Connection Update: 7.5 ms, 30 ms with latency 4, 100 ms.
        "01 13 20 0e H 06 00 06 00 00 00 58 02 00 00 00 00", "01 13 20 0e H 18 00 18 00 04 00 58 02 00 00 00 00",
        "01 13 20 0e H 50 00 50 00 00 00 58 02 00 00 00 00",
        // LE Subrate Request: every third event, every event.
        "01 7e 20 0c H 03 00 03 00 01 00 00 00 58 02", "01 7e 20 0c H 01 00 01 00 00 00 00 00 58 02",
        // LE Set Data Length, LE Read Remote Features, Read Remote Version Information.
        "01 22 20 06 H fb 00 48 08", "01 22 20 06 H 40 00 48 08", "01 16 20 02 H", "01 1d 04 02 H",
        // LE Set Host Channel Classification: all, half of them.
        "01 14 20 05 ff ff ff ff 1f", "01 14 20 05 55 55 55 55 15",
        // ACL data.
        "02 H 05 00 01 02 03 04 05",
    ]
    /// LE Enable Encryption, which only the central may.
    private static let encryption = "01 19 20 1c H 00 00 00 00 00 00 00 00 00 00 \(ConnectedRig.key)"

    /// Two connected hosts that answer what they are asked, some time later.
    private struct Hosts {
        /// An answer that a host owes.
        struct Answer {
            let due: Duration
            let command: String
            let end: ControllerID
        }

        var link: ConnectedRig
        var random: SplitMix64
        var owed: [Answer] = []
        /// What they have asked for, and what each has heard of the end of their link.
        var asked: [String] = []
        var disconnections: [String] = []

        var ends: [ControllerID] { [link.central, link.peripheral] }

        func handle(at end: ControllerID) -> String { end == link.central ? link.centralHandle : link.peripheralHandle }

        mutating func ask(_ request: String, at end: ControllerID) {
            let request = request.replacing("H", with: handle(at: end))
            asked.append("\(link.rig.now) \(end): \(request)")
            link.rig.send(request, end)
        }

        mutating func live(for span: Duration) {
            link.rig.run(for: span)
            for end in ends {
                for said in link.rig.take(end) {
                    let due = link.rig.now + .milliseconds(Int64.random(in: 0...400, using: &random))
                    if said.hex.hasPrefix("04 3e 0d 05") {
                        // LE Long Term Key Request: here it is.
                        let command = "01 1a 20 12 \(handle(at: end)) \(ConnectedRig.key)"
                        owed.append(Answer(due: due, command: command, end: end))
                    } else if said.hex.hasPrefix("04 3e 0b 06") {
                        // LE Remote Connection Parameter Request: as it is wanted.
                        let command = "01 20 20 0e \(handle(at: end)) \(hex(said.bytes[6...])) 00 00 00 00"
                        owed.append(Answer(due: due, command: command, end: end))
                    } else if said.hex.hasPrefix("04 05") {
                        disconnections.append("\(said)")
                    }
                }
            }
            let now = link.rig.now
            for answer in owed where answer.due <= now { link.rig.send(answer.command, answer.end) }
            owed.removeAll { $0.due <= now }
        }
    }

    @Test(arguments: 1...60 as ClosedRange<UInt64>)
    func nothingThatHostsAskForEndsTheLink(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let link = try #require(
            ConnectedRig(seed: seed, interval: 24, timeout: 600) { rig, central, peripheral in
                // LE Set Event Mask: all. LE Set Host Feature: subrating. LE Set Default Subrate.
                for end in [central, peripheral] {
                    _ = rig.ask("01 01 20 08 ff ff ff ff ff ff ff ff", end)
                    _ = rig.ask("01 74 20 02 26 01", end)
                }
                _ = rig.ask("01 7d 20 0a 01 00 04 00 02 00 00 00 58 02", central)
            }
        )
        var hosts = Hosts(link: link, random: SplitMix64(seed: seed + 1000))
        for _ in 0..<300 {
            hosts.live(for: .microseconds(Int64.random(in: 0...60_000, using: &random)))
            let end = hosts.ends[Int.random(in: 0...1, using: &random)]
            let choices = Self.requests + (end == link.central ? [Self.encryption] : [])
            hosts.ask(choices[Int.random(in: 0..<choices.count, using: &random)], at: end)
        }
        // Everything comes to its end.
        for _ in 0..<200 { hosts.live(for: .milliseconds(100)) }
        #expect(hosts.disconnections.isEmpty, "seed \(seed): \(hosts.asked)")
        for end in hosts.ends { hosts.link.sendData([7, 8, 9], from: end) }
        hosts.link.rig.run(for: .seconds(2))
        for end in hosts.ends { #expect(hosts.link.receivedData(end) == [7, 8, 9], "seed \(seed)") }
    }
}
