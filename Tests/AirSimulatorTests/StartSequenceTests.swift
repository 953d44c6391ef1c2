import AirSimulator
import Foundation
import Testing

/// The commands with which the hosts of phones start: `Vectors/start-sequences.json` says where they were seen.
private struct StartSequences: Decodable {
    struct Step: Decodable {
        var command: String
        var `if`: [String]?
    }

    struct Rules: Decodable {
        var name: String
        var source: String
        var steps: [Step]
    }

    struct Refusal: Decodable {
        var status: String
        var reason: String
    }

    struct Log: Decodable, CustomTestStringConvertible {
        var name: String
        var source: String
        var commands: [String]
        /// By opcode, as it is sent.
        var refused: [String: Refusal]

        var testDescription: String { name }
    }

    var rules: Rules
    var logs: [Log]

    static let all: StartSequences = {
        do {
            let url = try #require(
                Bundle.module.url(forResource: "start-sequences", withExtension: "json", subdirectory: "Vectors")
            )
            return try JSONDecoder().decode(StartSequences.self, from: Data(contentsOf: url))
        } catch {
            fatalError("\(error)")
        }
    }()
}

/// Hosts of phones start on a dual-mode controller: it knows each of their commands, and says so in Read Local Supported Commands.
@Suite struct StartSequenceTests {
    /// What a controller answers at once, with zeros behind what the vectors leave out.
    private static func ask(_ command: String, _ rig: inout Rig, _ id: ControllerID) -> [UInt8] {
        var packet = [1] + bytes(command)
        packet += Array(repeating: 0, count: max(0, Int(packet[3]) - (packet.count - 4)))
        let answers = rig.ask(hex(packet), id).filter { $0.hasPrefix("04 0e") || $0.hasPrefix("04 0f") }
        #expect(answers.count == 1, "\(command): \(answers)")
        return bytes(answers.first ?? "")
    }

    /// The status in Command Complete or Command Status, which has to be for the command.
    private static func status(of command: String, in answer: [UInt8]) throws -> UInt8 {
        let isStatus = answer[1] == 0x0F
        let place = isStatus ? 3 : 6
        try #require(answer.count > place, "\(command): \(hex(answer))")
        #expect(answer[isStatus ? 5...6 : 4...5] == ArraySlice(bytes(command)[0...1]), "\(command): \(hex(answer))")
        return answer[place]
    }

    private static func isSet(_ bytes: some Sequence<UInt8>, _ octet: Int, _ bit: Int) -> Bool {
        Array(bytes)[octet] >> bit & 1 == 1
    }

    /// The number of each command of which Read Local Supported Commands tells a host of Android's, as that host looks for it.
    @Test func anAndroidHostStartsByItsRules() throws {
        var rig = Rig()
        let id = rig.air.addController(.dualMode)
        var supported: [UInt8] = []
        var features: [UInt8] = []
        var pages: [[UInt8]] = []
        func holds(_ condition: String) -> Bool {
            let words = condition.split(separator: " ")
            let isNegated = condition.hasPrefix("!")
            let numbers = (words.last ?? "").drop { $0 == "!" }.split(separator: ".").compactMap { Int($0) }
            switch words.first {
            case "LE": return Self.isSet(features, numbers[0] / 8, numbers[0] % 8)
            case "LMP": return Self.isSet(pages[numbers[0]], numbers[1] / 8, numbers[1] % 8)
            default: return Self.isSet(supported, numbers[0], numbers[1]) != isNegated
            }
        }
        var skipped: [String] = []
        for step in StartSequences.all.rules.steps {
            guard (step.if ?? []).allSatisfy(holds) else {
                skipped.append(String(step.command.prefix(5)))
                continue
            }
            let answer = Self.ask(step.command, &rig, id)
            #expect(try Self.status(of: step.command, in: answer) == 0, "\(step.command): \(hex(answer))")
            switch step.command.prefix(5) {
            case "02 10": supported = Array(answer.dropFirst(7))
            case "03 20": features = Array(answer.dropFirst(7))
            case "04 10": pages.append(Array(answer.dropFirst(9)))
            default: break
            }
        }
        // What Android leaves out here: the older buffer size, periodic advertising, isochronous channels (the first of two).
        #expect(skipped == ["02 20", "4a 20", "74 20"])
    }

    @Test(arguments: StartSequences.all.logs)
    fileprivate func aHostThatWasSeenStarts(_ log: StartSequences.Log) throws {
        var rig = Rig()
        let id = rig.air.addController(.dualMode)
        var refusals = Set<String>()
        for command in log.commands {
            let opcode = String(command.prefix(5))
            // Scans and advertising go on while the host starts.
            rig.run(for: .milliseconds(5))
            let status = try Self.status(of: command, in: Self.ask(command, &rig, id))
            if bytes(opcode)[1] >= 0xFC {
                // A manufacturer's command.
                #expect(status == 0x01, "\(command)")
            } else if let refusal = log.refused[opcode], status != 0 {
                #expect(status == bytes(refusal.status)[0], "\(command): \(refusal.reason)")
                refusals.insert(opcode)
            } else {
                #expect(status == 0, "\(log.name): \(command)")
            }
        }
        #expect(refusals == Set(log.refused.keys))
    }

    /// What a phone's host sets is there again when it is read, and gone after a reset.
    @Test func settingsOfBREDRAreKept() throws {
        var rig = Rig()
        let id = rig.air.addController(.dualMode)
        // Class of Device, Scan Enable, Page Timeout, Simple Pairing Mode.
        for (write, read, value, initial) in [
            ("24 0c 03", "23 0c", "0c 02 5a", "00 00 00"), ("1a 0c 01", "19 0c", "03", "00"),
            ("18 0c 02", "17 0c", "00 28", "00 20"), ("56 0c 01", "55 0c", "01", "00"),
        ] {
            #expect(rig.ask("01 \(read) 00", id)[0].hasSuffix("\(read) 00 \(initial)"))
            #expect(rig.ask("01 \(write) \(value)", id)[0].hasSuffix(" 00"))
            #expect(rig.ask("01 \(read) 00", id)[0].hasSuffix("\(read) 00 \(value)"))
        }
        // Secure Simple Pairing and LE are on the page of what the host can do, once it has said so.
        _ = rig.ask("01 6d 0c 02 01 00", id)
        #expect(rig.ask("01 04 10 01 01", id) == ["04 0e 0e 01 04 10 00 01 02 03 00 00 00 00 00 00 00"])
        #expect(rig.ask("01 04 10 01 03", id) == ["04 0e 04 01 04 10 12"])
        // Out of range, or of the wrong length.
        #expect(rig.ask("01 1a 0c 01 04", id) == ["04 0e 04 01 1a 0c 12"])
        #expect(rig.ask("01 24 0c 02 00 00", id) == ["04 0e 04 01 24 0c 12"])
        _ = rig.ask("01 03 0c 00", id)
        #expect(rig.ask("01 23 0c 00", id) == ["04 0e 07 01 23 0c 00 00 00 00"])
    }

    /// An inquiry finds nobody and ends when its time is over; a page ends with Page Timeout.
    @Test func nobodyOnThisAirSpeaksBREDR() throws {
        var rig = Rig()
        let id = rig.air.addController(.dualMode)
        // Inquiry: GIAC, 2 times 1.28 s.
        #expect(rig.ask("01 01 04 05 33 8b 9e 02 00", id) == ["04 0f 04 00 01 01 04"])
        #expect(rig.ask("01 01 04 05 33 8b 9e 02 00", id) == ["04 0f 04 0c 01 01 04"])
        let end = try rig.wait(for: "04 01", from: id)
        #expect(end.hex == "04 01 01 00" && end.time == .milliseconds(2560))
        #expect(rig.ask("01 02 04 00", id) == ["04 0e 04 01 02 04 0c"])
        // Create Connection, with the page timeout of 5.12 s.
        let peer = "06 05 04 03 02 01"
        #expect(rig.ask("01 05 04 0d \(peer) 18 cc 01 00 00 00 01", id) == ["04 0f 04 00 01 05 04"])
        let failed = try rig.wait(for: "04 03", from: id)
        #expect(failed.hex == "04 03 0b 04 00 00 \(peer) 01 00")
        #expect(failed.time == end.time + .milliseconds(5120))
        // Remote Name Request, cancelled.
        #expect(rig.ask("01 19 04 0a \(peer) 01 00 00 00", id) == ["04 0f 04 00 01 19 04"])
        let said = rig.ask("01 1a 04 06 \(peer)", id)
        #expect(
            said.count == 2 && said[0] == "04 0e 0a 01 1a 04 00 \(peer)" && said[1].hasPrefix("04 07 ff 02 \(peer)")
        )
        // A reset ends an inquiry without a word.
        _ = rig.ask("01 01 04 05 33 8b 9e 02 00", id)
        _ = rig.ask("01 03 0c 00", id)
        rig.run(for: .seconds(5))
        #expect(rig.take(id).isEmpty)
    }

    /// A controller without BR/EDR knows none of its commands.
    @Test func withoutBREDRItsCommandsAreUnknown() throws {
        var rig = Rig()
        let id = rig.add(address: 1)
        for opcode in ["14 0c", "56 0c", "04 10", "01 04", "0f 08"] {
            #expect(rig.ask("01 \(opcode) 00", id) == ["04 0f 04 01 01 \(opcode)"])
        }
    }
}
