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
            ("[]", "the top: an object is needed"),
            (
                #"{"rule": []}"#,
                "the top: \"rule\" is unknown; there are buttons, inboxSize, onLaunch, outboxSize, rules"
            ),
            (#"{"rules": [{}]}"#, "rules[0]: \"do\" is missing"),
            (#"{"rules": {}}"#, "rules: a list is needed"),
            (#"{"inboxSize": 9000}"#, "inboxSize: a whole number from 0 to 8200 is needed"),
            (
                #"{"onLaunch": [{"send": {"x": 1}}]}"#,
                "onLaunch[0].send: \"x\" is no key: keys are whole numbers from 0 to 4294967295"
            ),
            (
                #"{"onLaunch": [{"send": {"1": {"uint8": 256}}}]}"#,
                "onLaunch[0].send.1.uint8: a whole number from 0 to 255 is needed"
            ),
            (
                #"{"onLaunch": [{"send": {"1": {"uint9": 1}}}]}"#,
                "onLaunch[0].send.1.uint9: there is no type \"uint9\"; there are bytes, int8, int16, int32, uint8, uint16, uint32"
            ),
            (
                #"{"onLaunch": [{"send": {"1": 1.5}}]}"#,
                "onLaunch[0].send.1: a whole number from -2147483648 to 2147483647 is needed"
            ),
            (
                #"{"onLaunch": [{"send": {}, "after": -1}]}"#,
                "onLaunch[0].after: a number of seconds from 0 to 3600 is needed"
            ),
            (#"{"buttons": {"back": []}}"#, "buttons: \"back\" is unknown; there are down, select, up"),
        ]
    )
    func problems(json: String, problem: String) {
        #expect(throws: BundleError.invalid(file: "the script", reason: problem)) {
            try BehaviorFile.script(in: Array(json.utf8))
        }
    }

    @Test("Text that is no JSON, and messages that never fit")
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
