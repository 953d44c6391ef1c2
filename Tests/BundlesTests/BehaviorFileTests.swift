import PebbleProtocol
import PebbleWatch
import Testing

@testable import Bundles

@Suite("Behaviours from files")
struct BehaviorFileTests {
    @Test("Everything a script can say")
    func everything() throws {
        let script = try BehaviorFile.script(
            in: Array(
                """
                {
                  "inboxSize": 124, "outboxSize": 636,
                  "onLaunch": [{"send": {"0": "ready"}}],
                  "rules": [
                    {"when": {"1": 5, "2": "hi", "3": null}, "do": [
                      {"send": {"10": {"uint8": 7}, "9": {"received": 1}}, "after": 0.25},
                      {"send": {"4": {"bytes": "00ff"}, "5": {"int16": -2}, "6": true}}]},
                    {"do": []}
                  ],
                  "buttons": {"select": [{"send": {}}]}
                }
                """.utf8
            )
        )
        let expected = AppScript(
            inboxSize: 124,
            outboxSize: 636,
            onLaunch: [.init(tuples: [.init(key: 0, source: .value(.string("ready")))])],
            rules: [
                .init(
                    conditions: [.equals(1, .int32(5)), .equals(2, .string("hi")), .has(3)],
                    actions: [
                        .init(
                            tuples: [
                                .init(key: 9, source: .received(1)), .init(key: 10, source: .value(.uint8(7))),
                            ],
                            delay: .milliseconds(250)
                        ),
                        .init(tuples: [
                            .init(key: 4, source: .value(.bytes([0, 0xFF]))),
                            .init(key: 5, source: .value(.int16(-2))), .init(key: 6, source: .value(.int32(1))),
                        ]),
                    ]
                ),
                .init(conditions: [], actions: []),
            ],
            onButton: [.select: [.init(tuples: [])]]
        )
        #expect(script == expected)
    }

    @Test(
        "What is wrong, and where",
        arguments: [
            ("[]", "line 1, the top: an object is needed"),
            (
                "{\n\n\"rule\": []}",
                "line 3, the top: \"rule\" is unknown; there are buttons, inboxSize, onLaunch, outboxSize, rules"
            ),
            ("{\"rules\": [\n{}]}", "line 2, rules[0]: \"do\" is missing"),
            (#"{"rules": {}}"#, "line 1, rules: a list is needed"),
            (#"{"inboxSize": 9000}"#, "line 1, inboxSize: a whole number from 0 to 8200 is needed"),
            (
                #"{"onLaunch": [{"send": {"x": 1}}]}"#,
                "line 1, onLaunch[0].send: \"x\" is no key: keys are whole numbers from 0 to 4294967295"
            ),
            (
                "{\"onLaunch\": [{\"send\": {\"1\":\n {\"uint8\":\r\n 256}}}]}",
                "line 3, onLaunch[0].send.1.uint8: a whole number from 0 to 255 is needed"
            ),
            (
                #"{"onLaunch": [{"send": {"1": {"uint9": 1}}}]}"#,
                "line 1, onLaunch[0].send.1.uint9: there is no type \"uint9\"; there are bytes, int8, int16, int32, "
                    + "uint8, uint16, uint32"
            ),
            (
                #"{"onLaunch": [{"send": {"1": 1.5}}]}"#,
                "line 1, onLaunch[0].send.1: a whole number from -2147483648 to 2147483647 is needed"
            ),
            (
                #"{"onLaunch": [{"send": {}, "after": -1}]}"#,
                "line 1, onLaunch[0].after: a number of seconds from 0 to 3600 is needed"
            ),
            (#"{"buttons": {"back": []}}"#, "line 1, buttons: \"back\" is unknown; there are down, select, up"),
            (#"{"onLaunch": [{"after": 1}]}"#, "line 1, onLaunch[0]: \"send\" or \"draw\" is missing"),
        ]
    )
    func problems(json: String, problem: String) {
        #expect(throws: BundleError.invalid(file: "the script", reason: problem)) {
            try BehaviorFile.script(in: Array(json.utf8))
        }
    }

    @Test("Everything a script can draw")
    func drawings() throws {
        let script = try BehaviorFile.script(
            in: Array(
                """
                {"onLaunch": [{"after": 1, "draw": [
                  {"clear": "#FFAA00"},
                  {"text": "Hi"},
                  {"text": {"received": 3}, "x": -5, "y": 7, "size": 2, "align": "center", "color": "black"},
                  {"rectangle": [1, 2, 3, 4]}, {"rectangle": [1, 2, 3, 4], "fill": false, "color": "red"},
                  {"line": [0, 1, -2, 3], "color": "light-gray"},
                  {"bitmap": ["#.", ".##"], "x": 1, "y": 2, "size": 3, "color": "cyan", "background": "blue"},
                  {"invert": true}, {"invert": [0, 0, 5, 6]}
                ]}]}
                """.utf8
            )
        )
        let area = PixelRectangle(x: 1, y: 2, width: 3, height: 4)
        let expected: [Drawing] = [
            .clear(PebbleColor(red: 3, green: 2, blue: 0)), .text(DrawnText(.text("Hi"))),
            .text(DrawnText(.received(3), x: -5, y: 7, scale: 2, alignment: .center, color: .black)),
            .rectangle(area, .white, isFilled: true), .rectangle(area, .red, isFilled: false),
            .line(from: PixelPoint(x: 0, y: 1), to: PixelPoint(x: -2, y: 3), .lightGray),
            .bitmap(
                DrawnBitmap(
                    rows: [[true, false], [false, true, true]],
                    x: 1,
                    y: 2,
                    scale: 3,
                    color: PebbleColor(red: 0, green: 3, blue: 3),
                    background: PebbleColor(red: 0, green: 0, blue: 3)
                )
            ),
            .invert(nil), .invert(PixelRectangle(x: 0, y: 0, width: 5, height: 6)),
        ]
        #expect(script.onLaunch == [.init(drawings: expected, delay: .seconds(1))])
    }

    @Test(
        "What cannot be drawn, and on which line it stands",
        arguments: [
            (
                #"{"text": "a", "clear": "red"}"#,
                ": one of bitmap, clear, invert, line, rectangle, text is needed, and only one"
            ),
            (#"{"x": 1}"#, ": one of bitmap, clear, invert, line, rectangle, text is needed, and only one"),
            (#"{"text": "a", "size": 0}"#, ".size: a whole number from 1 to 64 is needed"),
            (#"{"text": "a", "size": 65}"#, ".size: a whole number from 1 to 64 is needed"),
            (#"{"text": "a", "size": 1.5}"#, ".size: a whole number from 1 to 64 is needed"),
            (#"{"text": "a", "x": 1e9}"#, ".x: a whole number from -10000 to 10000 is needed"),
            (#"{"text": "a", "y": "3"}"#, ".y: a whole number from -10000 to 10000 is needed"),
            (#"{"text": "a", "align": "middle"}"#, ".align: one of \"left\", \"center\", \"right\" is needed"),
            (#"{"text": 5}"#, ".text: a text or {\"received\": KEY} is needed"),
            (#"{"text": {"received": -1}}"#, ".text.received: a whole number from 0 to 4294967295 is needed"),
            (#"{"text": "a", "font": 1}"#, ": \"font\" is unknown; there are align, color, size, text, x, y"),
            (#"{"line": [1, 2, 3]}"#, ".line: [x, y, x, y] is needed"),
            (#"{"line": [1, 2, 3, null]}"#, ".line[3]: a whole number from -10000 to 10000 is needed"),
            (#"{"rectangle": [0, 0, -1, 1]}"#, ".rectangle: width and height are not negative"),
            (#"{"rectangle": [0, 0, 1, 1], "fill": 1}"#, ".fill: true or false is needed"),
            (#"{"invert": false}"#, ".invert: true or [x, y, width, height] is needed"),
            (##"{"bitmap": ["#x"]}"##, ".bitmap[0]: a row has only # and ."),
            (
                ##"{"bitmap": "#"}"##,
                ".bitmap: a list of rows is needed, each a text of # for a pixel that is set and . for one that is not"
            ),
            (
                ##"{"clear": "#123456"}"##,
                ".clear: a colour is needed: black, blue, cyan, dark-gray, green, light-gray, magenta, red, white, yellow, "
                    + "or \"#RRGGBB\" of 00, 55, AA and FF"
            ),
        ]
    )
    func wrongDrawings(drawing: String, problem: String) {
        let json = "{\"rules\": [{\"do\": [\n  {\"draw\": [{\"clear\": \"red\"},\n    \(drawing)]}]}]}"
        let reason = "line 3, rules[0].do[0].draw[1]" + problem
        #expect(throws: BundleError.invalid(file: "the script", reason: reason)) {
            try BehaviorFile.script(in: Array(json.utf8))
        }
    }

    @Test(
        "What is no JSON, and on which line",
        arguments: [
            ("", "line 1: a value is needed, not the end"),
            ("{", "line 1: a name in quotation marks is needed, not the end"),
            ("{\n\"a\": 1\n\"b\": 2}", "line 3: a comma or } is needed, not \""),
            ("{\n\"a\": [1,\n2,]}", "line 3: a value is needed, not ]"),
            ("{\n\"a\" 1}", "line 2: a colon is needed behind \"a\", not 1"),
            ("{\"a\": 1,\n\"a\": 2}", "line 2: \"a\" stands here twice"),
            ("{\"a\": \"x\ny\"}", "line 1: the text has no end on its line; a line break is written \\n"),
            ("{\"a\": \"x", "line 1: the text has no end"),
            ("{\"a\": yes}", "line 1: “yes” is no value: texts stand in quotation marks"),
            ("{\"a\": 01}", "line 1: “01” is no value: texts stand in quotation marks"),
            ("{\"a\": 0x1}", "line 1: “0x1” is no value: texts stand in quotation marks"),
            ("{\"a\": +1}", "line 1: “+1” is no value: texts stand in quotation marks"),
            ("{\"a\": 1e999}", "line 1: “1e999” is no value: texts stand in quotation marks"),
            ("{}\n{}", "line 2: nothing may follow the value, but there is {"),
            (#"{"a": "\q"}"#, #"line 1: \q means nothing in a text"#),
            (#"{"a": "\u12"}"#, #"line 1: four hexadecimal digits are needed behind \u"#),
            (#"{"a": "\ud800x"}"#, #"line 1: half of a character stands behind \u"#),
            (String(repeating: "[", count: 40), "line 1: this is nested more than 32 deep"),
        ]
    )
    func noJSON(text: String, problem: String) {
        #expect(throws: BundleError.invalid(file: "the script", reason: problem)) {
            try BehaviorFile.script(in: Array(text.utf8))
        }
    }

    @Test("Texts may have the escapes of JSON, and must be UTF-8")
    func texts() throws {
        let script = try BehaviorFile.script(
            in: Array(#"{"onLaunch": [{"draw": [{"text": "a\u00e9\n\ud83d\ude00\\ \/\"日"}]}]}"#.utf8)
        )
        #expect(script.onLaunch.first?.drawings == [.text(DrawnText(.text("aé\n😀\\ /\"日")))])
        #expect(throws: BundleError.invalid(file: "the script", reason: "line 1: this text is not UTF-8")) {
            try BehaviorFile.script(in: Array("{\"".utf8) + [0xFF] + Array("\": 1}".utf8))
        }
    }

    @Test("More actions than can wait are refused when the script is read")
    func tooManyActions() {
        let actions = Array(repeating: #"{"send": {}}"#, count: 33).joined(separator: ",\n")
        let reason = "line 1, onLaunch: there are 33 actions; at most 32 are done at once"
        #expect(throws: BundleError.invalid(file: "the script", reason: reason)) {
            try BehaviorFile.script(in: Array("{\"onLaunch\": [\(actions)]}".utf8))
        }
    }

    @Test("Invalid JSON, and messages that are too large for any inbox")
    func unreadable() {
        #expect(throws: BundleError.self) { try BehaviorFile.script(in: Array("{".utf8)) }
        let long = #"{"onLaunch": [{"send": {"1": ""# + String(repeating: "x", count: 9000) + #""}}]}"#
        #expect(throws: BundleError.self) { try BehaviorFile.script(in: Array(long.utf8)) }
    }

    @Test("The behaviours that have names")
    func names() throws {
        #expect(try BehaviorFile.behavior(named: "echo") == .echo)
        #expect(try BehaviorFile.behavior(named: "external") == .external)
        #expect(throws: BundleError.self) { try BehaviorFile.behavior(named: "/nonexistent/script.json") }
    }
}
