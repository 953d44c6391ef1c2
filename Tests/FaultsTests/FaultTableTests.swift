import BluetoothHCI
import SeededRandomness
import Testing

@testable import Faults

/// The table of faults, and what people type.
@Suite struct FaultTableTests {
    private static var kinds: [FaultKind] {
        RadioFault.allCases.map(FaultKind.radio) + HCIFault.allCases.map(FaultKind.hci)
            + PPoGATTFault.allCases.map(FaultKind.ppogatt) + MessageFault.allCases.map(FaultKind.message)
            + WatchFault.allCases.map(FaultKind.watch)
    }

    @Test func everyFaultHasOneRow() {
        for kind in Self.kinds {
            #expect(FaultDefinition.all.count { $0.kind == kind } == 1, "\(kind.name)")
        }
        #expect(FaultDefinition.all.count == Self.kinds.count)
        #expect(Set(FaultDefinition.all.map(\.name)).count == Self.kinds.count)
    }

    @Test func rowsAreWellMade() {
        for definition in FaultDefinition.all {
            #expect(definition.help.hasSuffix("."), "\(definition.name)")
            #expect(definition.name.split(separator: ".").count == 2, "\(definition.name)")
            let keys = (definition.parameters + FaultParameter.options).map(\.key)
            #expect(Set(keys).count == keys.count, "\(definition.name): a parameter stands there twice")
            for parameter in definition.parameters + FaultParameter.options {
                guard let fallback = parameter.fallback else { continue }
                #expect(parameter.form.value("\(fallback)") == fallback, "\(definition.name) \(parameter.key)")
            }
            #expect(throws: Never.self) { try Fault(parsing: definition.name) }
        }
    }

    @Test func whatIsWrittenIsReadAgain() throws {
        for text in [
            "att.error opcode=10 error=5 for=1500ms count=3 probability=0.25 seed=9 phone=C0:DE:00:00:12:34",
            "watch.clock-jump seconds=-7200", "link.lost packets=3 during=encryption length=20s",
            "radio.loss percent=1 after=2s",
            "controller.event-lost event=62 code=3 every=250ms",
        ] {
            #expect("\(try Fault(parsing: text))" == text)
        }
        #expect(try Fault(parsing: "att.late delay=1.5min").time(.delay) == .seconds(90))
        #expect(try Fault(parsing: "att.late delay=2.5").time(.delay) == .milliseconds(2500))
        #expect(try Fault(parsing: "att.error opcode=0x0A").number(.opcode) == 10)
    }

    @Test(arguments: [
        ("", "no fault is named"),
        ("att.eror", "the nearest is “att.error”"),
        ("error", "the nearest is “att.error”"),
        ("zzzzzzzzzzzzzzzz", "“cairn fault names” lists them"),
        ("att.error opcde=3", "the nearest is “opcode”"),
        ("att.error opcode", "no key=value"),
        ("att.error =3", "no key=value"),
        ("att.error opcode=3 opcode=3", "given twice"),
        ("att.error opcode=0x21", "2 to 32"),
        ("att.error opcode=-0x2", "2 to 32"),
        ("att.late delay=0", "1ms to 120s"),
        ("att.late delay=1.2345", "1ms to 120s"),
        ("att.late delay=9223372036854775807min", "1ms to 120s"),
        ("link.lost during=never", "one of now, encryption, parameter-update"),
        ("att.error probability=0", "above 0"),
        ("att.error probability=1.1", "above 0"),
        ("att.error seed=1", "no probability is given"),
        ("att.error phone=me", "an address such as"),
        ("watch.reboot skip=1", "say after"),
        ("watch.reboot count=2", "only with every"),
        ("watch.reboot bytes=2", "during=upload"),
        ("radio.loss count=2", "holds all the time"),
        ("link.dropped reason=0x16", "no controller ends a link"),
        ("controller.event-lost code=3", "event=0x3E"),
        ("controller.hang phone=C0:DE:00:00:12:34", "leave phone out"),
    ])
    func whatIsWrongIsRefusedInWordsThatHelp(_ text: String, _ words: String) {
        do throws(FaultError) {
            _ = try Fault(parsing: text)
            Issue.record("“\(text)” was taken")
        } catch {
            #expect(error.description.contains(words), "\(text): \(error.description)")
        }
    }

    /// Whatever is typed, the parser answers, and what it takes it writes so that it reads it again.
    @Test func mutation() throws {
        var random = SplitMix64(seed: 18)
        let seeds = FaultDefinition.all.map { definition in
            ([definition.name]
                + definition.parameters.map { "\($0.key.rawValue)=\($0.fallback.map { "\($0)" } ?? "1")" })
                .joined(separator: " ")
        }
        let letters = Array("abcxyz0189=.- \u{0}é:")
        var taken = 0
        for _ in 0..<20_000 {
            var text = Array(seeds[Int.random(in: seeds.indices, using: &random)])
            for _ in 0..<Int.random(in: 0...3, using: &random) where !text.isEmpty {
                let place = Int.random(in: text.indices, using: &random)
                switch Int.random(in: 0...2, using: &random) {
                case 0: text.remove(at: place)
                case 1: text[place] = letters[Int.random(in: letters.indices, using: &random)]
                default: text.insert(letters[Int.random(in: letters.indices, using: &random)], at: place)
                }
            }
            do throws(FaultError) {
                let fault = try Fault(parsing: String(text))
                taken += 1
                #expect(try Fault(parsing: "\(fault)") == fault)
            } catch {
                #expect(!error.description.isEmpty)
            }
        }
        #expect(taken > 1000)
    }

    // MARK: When they fire

    private func fire(_ text: String, _ times: [Int]) throws -> [Bool] {
        var running = RunningFault(FaultID(rawValue: 1), try Fault(parsing: text), at: .zero)
        return times.map { running.fires(at: .seconds($0), phone: nil) }
    }

    @Test func options() throws {
        #expect(
            try fire("att.never after=2 for=3", [0, 1, 2, 3, 4, 5, 6]) == [
                false, false, true, true, true, false, false,
            ]
        )
        #expect(try fire("att.never skip=2 count=2", [0, 1, 2, 3, 4]) == [false, false, true, true, false])
        #expect(try fire("att.never every=2", [0, 1, 2, 3, 4]) == [true, false, true, false, true])
        #expect(try fire("watch.reboot every=2 count=2", [0, 1, 2, 3, 4]) == [true, false, true, false, false])
        #expect(try fire("watch.reboot", [0, 1, 2]) == [true, false, false])
        #expect(try fire("att.never phone=C0:DE:00:00:12:34", [0]) == [false], "it is another phone's")
    }

    @Test func chancesAreThoseOfTheSeed() throws {
        let times = Array(0..<1000)
        let one = try fire("att.never probability=0.3 seed=1", times)
        #expect(try fire("att.never probability=0.3 seed=1", times) == one)
        #expect(try fire("att.never probability=0.3 seed=2", times) != one)
        #expect((250...350).contains(one.count { $0 }))
    }

    @Test func thereIsALimit() throws {
        var list = FaultList()
        for number in 1...FaultList.limit {
            try list.add(Fault(.hci(.attNever)), as: FaultID(rawValue: number), at: .zero)
        }
        #expect(throws: FaultError.tooMany(FaultList.limit)) {
            try list.add(Fault(.hci(.attNever)), as: FaultID(rawValue: 99), at: .zero)
        }
    }

    @Test func theDocumentationHasTheTable() throws {
        var root = #filePath[...]
        for _ in 0..<3 { root = root[..<(root.lastIndex(of: "/") ?? root.startIndex)] }
        let text = try TextFile.read("\(root)/Docs/faults.md")
        #expect(text.contains(FaultReference.markdown), "cairn fault names --markdown prints what belongs there")
    }
}
