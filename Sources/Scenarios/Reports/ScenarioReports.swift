import Control

/// Results for people and programs.
package enum ScenarioReports {
    /// A report in JUnit's XML, as CI systems read it.
    package static func junit(_ results: [ScenarioResult]) -> String {
        let failures = results.count(where: \.outcome.isFailed)
        let skipped = results.count { if case .skipped = $0.outcome { true } else { false } }
        let total = results.reduce(Duration.zero) { $0 + $1.duration }
        var lines = [
            #"<?xml version="1.0" encoding="UTF-8"?>"#,
            #"<testsuites><testsuite name="cairn scenarios" tests="\#(results.count)" failures="\#(failures)" errors="0" "#
                + #"skipped="\#(skipped)" time="\#(seconds(total))">"#,
        ]
        for result in results {
            let head =
                #"<testcase classname="scenarios" name="\#(result.scenario.name.escaped)" "#
                + #"file="\#(result.scenario.path.escaped)" time="\#(seconds(result.duration))">"#
            lines.append(head)
            lines.append(#"<properties><property name="seed" value="\#(result.seed)"/></properties>"#)
            if case .failed(let failure) = result.outcome {
                let story = failure.story(runAgain: result.command).joined(separator: "\n")
                let message = "expected \(failure.expected); \(failure.instead)"
                lines.append(#"<failure message="\#(message.escaped)">\#(story.escaped)</failure>"#)
            }
            if case .skipped(let reason) = result.outcome {
                lines.append(#"<skipped message="\#(reason.escaped)"/>"#)
            }
            lines.append("<system-out>\(result.transcript.joined(separator: "\n").escaped)</system-out>")
            lines.append("</testcase>")
        }
        return (lines + ["</testsuite></testsuites>", ""]).joined(separator: "\n")
    }

    /// The score card of a suite, as text.
    package static func scoreCard(_ results: [ScenarioResult]) -> [String] {
        let width = results.map(\.scenario.name.count).max() ?? 0
        var lines: [String] = []
        for result in results {
            let name = result.scenario.name + String(repeating: " ", count: width - result.scenario.name.count)
            lines.append("\(padded(result.outcome.word))  \(name)  \(result.scenario.description)")
            if result.outcome.isFailed, !result.scenario.goodCompanion.isEmpty {
                lines.append("         a good companion: \(result.scenario.goodCompanion)")
            }
        }
        let passed = results.count(where: \.outcome.isPassed)
        return lines + ["", "\(passed) of \(results.count) scenarios passed."]
    }

    /// The score card as JSON.
    package static func scoreCardJSON(_ results: [ScenarioResult]) -> String {
        let scenarios = results.map { result -> ControlValue in
            var values: [String: ControlValue] = [
                "name": .text(result.scenario.name), "passed": .flag(result.outcome.isPassed),
                "seed": .text("\(result.seed)"),
                "seconds": .number((result.duration / .milliseconds(1)).rounded() / 1000),
                "modelledOn": .list(result.scenario.modelledOn.map { .text($0) }),
                "goodCompanion": .text(result.scenario.goodCompanion),
                "description": .text(result.scenario.description),
            ]
            if case .skipped(let reason) = result.outcome { values["skipped"] = .text(reason) }
            if case .failed(let failure) = result.outcome {
                values["failure"] = .object([
                    "place": .text(failure.place.description), "expected": .text(failure.expected),
                    "instead": .text(failure.instead),
                ])
            }
            return .object(values)
        }
        let passed = results.count(where: \.outcome.isPassed)
        let card: [String: ControlValue] = [
            "passed": .integer(Int64(passed)), "count": .integer(Int64(results.count)), "scenarios": .list(scenarios),
        ]
        return ControlValue.object(card).json
    }

    private static func padded(_ word: String) -> String {
        word + String(repeating: " ", count: max(0, 7 - word.count))
    }

    private static func seconds(_ duration: Duration) -> String { duration.stamp }
}

extension String {
    /// As XML has it in texts and attributes; characters that XML cannot have are left out.
    fileprivate var escaped: String {
        var escaped = ""
        for scalar in unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "\n", "\t": escaped.unicodeScalars.append(scalar)
            case _ where scalar.value < 0x20 || scalar.value == 0xFFFE || scalar.value == 0xFFFF: break
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
