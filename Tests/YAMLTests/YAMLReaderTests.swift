import SeededRandomness
import Testing

@testable import YAML

/// The tree that is made of a text, its places, and what is refused.
@Suite struct YAMLReaderTests {
    /// A node as a line: texts in quotation marks, plain ones as they are, with where each begins.
    private func line(_ node: YAMLNode) -> String {
        let place = "@\(node.mark.line):\(node.mark.column)"
        return switch node {
        case .scalar(let scalar): (scalar.isPlain ? scalar.text : "\"\(scalar.text)\"") + place
        case .sequence(let nodes, _): "[" + nodes.map(line).joined(separator: " ") + "]" + place
        case .mapping(let pairs): "{" + pairs.map { line($0) + "=" + line($1) }.joined(separator: " ") + "}" + place
        }
    }

    @Test(arguments: [
        ("a: 1\nb: [x, 'y']\n", "{a@1:1=1@1:4 b@2:1=[x@2:5 \"y\"@2:8]@2:4}@1:1"),
        ("- a\n-\n  b: c\n", "[a@1:3 {b@3:3=c@3:6}@3:3]@1:1"),
        ("a: |\n  one\n  two\nb: >-\n  x\n  y\n", "{a@1:1=\"one\ntwo\n\"@1:4 b@4:1=\"x y\"@4:4}@1:1"),
        ("\"\\u00e9\\n\": 'it''s'", "{\"é\n\"@1:1=\"it's\"@1:13}@1:1"),
        ("ü: é # words\n", "{ü@1:1=é@1:4}@1:1"), ("a:\n", "{a@1:1=@1:3}@1:1"), ("just words", "just words@1:1"),
        ("{? [a] : b}", "{[a@1:5]@1:4=b@1:10}@1:1"), ("%YAML 1.1\n---\na\n...\n", "a@3:1"),
        ("\u{FEFF}a: b", "{a@1:2=b@1:5}@1:2"),
    ])
    func aTextIsATree(text: String, expected: String) throws {
        let node = try #require(try YAMLReader.read(text))
        #expect(line(node) == expected)
    }

    @Test(arguments: ["", "\n\n", "# nothing\n", "   "]) func nothingIsNoDocument(text: String) throws {
        #expect(try YAMLReader.read(text) == nil)
    }

    @Test func aMappingIsAskedForItsKeys() throws {
        let mapping = try #require(try YAMLReader.read("a: 1\n\"b\": [2]\n[c]: 3")?.mapping)
        #expect(mapping["a"]?.scalar?.text == "1" && mapping["b"]?.sequence?.count == 1 && mapping["c"] == nil)
        #expect(mapping["a"]?.mapping == nil && mapping["a"]?.sequence == nil && mapping["b"]?.scalar == nil)
    }

    @Test func anAliasStandsForWhatItNames() throws {
        let node = try #require(try YAMLReader.read("a: &x [1, 2]\nb: *x\nc: &y t\nd: *y\ne: &x u\nf: *x"))
        #expect(
            line(node) == """
                {a@1:1=[1@1:8 2@1:11]@1:4 b@2:1=[1@1:8 2@1:11]@1:4 c@3:1=t@3:4 d@4:1=t@3:4 e@5:1=u@5:4 f@6:1=u@5:4}@1:1
                """
        )
    }

    private func error(_ text: String) -> YAMLError? {
        do throws(YAMLError) {
            _ = try YAMLReader.read(text)
            return nil
        } catch {
            return error
        }
    }

    /// The end of a text is the beginning of the line after it.
    @Test(arguments: [
        ("a: [1", 2, 1, "did not find expected ',' or ']'"), ("a: \"b", 1, 6, "found unexpected end of stream"),
        ("a: b\n\tc: d", 2, 1, "found a tab character that violates indentation"),
        ("a: *none", 1, 4, "found undefined alias"), ("a: &x [*x]", 1, 8, "found undefined alias"),
        ("a\n---\nb", 2, 1, "but found another document"), ("a: b: c", 1, 5, "mapping values are not allowed"),
    ])
    func whatIsWrongHasAPlace(text: String, line: Int, column: Int, words: String) throws {
        guard case .malformed(let problem, let mark)? = error(text) else {
            Issue.record("\(text) is read")
            return
        }
        #expect(problem.contains(words), "\(problem)")
        #expect(mark.map { [$0.line, $0.column] } == [line, column])
    }

    @Test func charactersThatAreNoTextHaveNoPlace() {
        guard case .malformed(_, nil)? = error("a: \u{1}") else {
            Issue.record("a control character is read")
            return
        }
    }

    @Test(arguments: [
        ("a: 1\nb: 2\na: 3", "a", 3, 1), ("x: {a: 1, 'a': 2}", "a", 1, 11), ("- {c: 1,\n   c: 2}", "c", 2, 4),
    ])
    func aRepeatedKeyIsRefusedWhereItIsRepeated(text: String, key: String, line: Int, column: Int) {
        #expect(error(text) == .repeatedKey(key, mark: YAMLMark(line: line, column: column)))
    }

    @Test func aliasesDoNotMakeAFileEndless() {
        // Each line has nine times what the line before has.
        let first = "a0: &a0 x\n"
        let lines = (1...9).map { number in
            let names = [String](repeating: "*a\(number - 1)", count: 9).joined(separator: ",")
            return "a\(number): &a\(number) [\(names)]\n"
        }
        guard case .malformed(let problem, let mark)? = error(first + lines.joined()) else {
            Issue.record("nine to the ninth values are read")
            return
        }
        #expect(problem.contains("\(YAMLReader.valueLimit)") && mark != nil)
    }

    @Test func nestingHasAnEnd() throws {
        let most = YAMLReader.depthLimit
        #expect(try YAMLReader.read(String(repeating: "[", count: most) + String(repeating: "]", count: most)) != nil)
        guard case .malformed? = error(String(repeating: "[", count: 100_000)) else {
            Issue.record("it is read")
            return
        }
        let deep = String(repeating: "[", count: most + 1) + "a" + String(repeating: "]", count: most + 1)
        #expect(error(deep) != nil)
    }

    /// Every text is read or refused.
    @Test func noTextTraps() {
        var random = SplitMix64(seed: 20)
        let parts = [
            "a", "b", ":", " ", "\n", "- ", "[", "]", "{", "}", ",", "&x ", "*x", "'", "\"", "|", ">", "#", "? ", "!t ",
            "%", "\t", "é",
        ]
        var readCount = 0
        for _ in 0..<3000 {
            let text = (0..<Int.random(in: 1...24, using: &random)).map { _ in parts.randomElement(using: &random) ?? ""
            }
            if error(text.joined()) == nil { readCount += 1 }
        }
        #expect((300..<2700).contains(readCount), "seed 20: \(readCount) texts are YAML")
    }
}
