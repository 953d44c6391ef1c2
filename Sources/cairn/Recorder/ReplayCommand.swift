import ArgumentParser
import BluetoothCryptography
import BluetoothHost
import ByteCoding
import Control
import Daemon
import FlightRecorder
import HCIRuntime
import LinuxBluetooth
import PebbleWatch

/// `cairn replay`
struct ReplayCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "replay",
        abstract: "Run a watch again from a recording, and compare all that it does.",
        discussion: """
            A recording is what cairn run --record or cairn recorder save has written, or what a watch in trouble has left in its \
            state directory. A watch in this process is given the same inputs; every packet, event, change of memory and command's \
            end is compared. No controller is needed, and no time passes: hours take seconds.

              cairn replay watch.cairnrec
              cairn replay watch.cairnrec --status-at 12.5
              cairn replay watch.cairnrec --screen-at 1m -o screen.png
              cairn replay watch.cairnrec --capture watch.btsnoop
              cairn replay watch.cairnrec --from 12 --until 13 --step
              cairn replay watch.cairnrec --log-level debug
              cairn replay watch.cairnrec --bisect connected

            Times are since the watch's process began. --bisect takes what cairn wait takes: it names the input after which a condition \
            that held does not hold any more, or the input that an event came with.

            The status is 0 if all was the same, 70 if something differed, 74 if the file is no recording, 75 if --bisect has found \
            nothing, or the beginning of the recording is lost and it can only be shown (--step, --capture).
            """
    )

    @Argument(help: "The recording.", transform: pathArgument)
    var file: String

    @Option(
        help: ArgumentHelp("Stop at this time: 12.5, 200ms, 2m.", valueName: "time"),
        transform: TimelineTime.argument
    )
    var until: TimelineTime?

    @Option(
        help: ArgumentHelp("Show nothing from before this time.", valueName: "time"),
        transform: TimelineTime.argument
    )
    var from: TimelineTime?

    @Flag(help: "Show each input, and what came of it.")
    var step = false

    @Option(
        name: .customLong("status-at"),
        help: ArgumentHelp("Stop at this time, and print how the watch was doing.", valueName: "time"),
        transform: TimelineTime.argument
    )
    var statusAt: TimelineTime?

    @Option(
        name: .customLong("screen-at"),
        help: ArgumentHelp("Stop at this time, and write what the screen showed; goes with -o.", valueName: "time"),
        transform: TimelineTime.argument
    )
    var screenAt: TimelineTime?

    @Option(
        name: .shortAndLong,
        help: ArgumentHelp("The picture's file (PNG).", valueName: "file"),
        transform: pathArgument
    )
    var output: String?

    @Option(
        help: ArgumentHelp(
            "Write the HCI packets into this file (btsnoop). A file that is there is replaced.",
            valueName: "file"
        ),
        transform: pathArgument
    )
    var capture: String?

    @Option(
        name: .customLong("log-level"),
        help: ArgumentHelp(
            "Print what would have been logged: LEVEL or LAYER=LEVEL, separated by commas.",
            valueName: "levels"
        ),
        transform: LogLevels.argument(over: LogLevels())
    )
    var logLevels: LogLevels?

    @Option(
        help: ArgumentHelp("Find the input after which this holds no more, or the event came.", valueName: "what"),
        transform: WaitCommand.Goal.argument
    )
    var bisect: WaitCommand.Goal?

    @Flag(help: "Print lines of JSON, for programs.")
    var json = false

    func validate() throws {
        guard (screenAt == nil) == (output == nil) else {
            throw ValidationError("--screen-at and -o go together: when, and where to")
        }
        guard statusAt == nil || screenAt == nil else {
            throw ValidationError("--status-at and --screen-at are two questions: ask one at a time")
        }
    }

    func run() throws {
        try Console.run { () throws(ProgramError) in
            let recording = try RecordingInput.recording(at: file)
            if let place = recording.tornEnd {
                Console.printError("\(file): the end is torn at byte \(place), and cut there")
            }
            if recording.header.program != cairnVersion {
                Console.printError("\(file) was recorded by Cairn \(recording.header.program); this is \(cairnVersion)")
            }
            var report = try ReplayReport(self, recording.header)
            if recording.hasLostBeginning { return try show(recording, &report) }
            return try replay(recording, &report)
        }
    }

    /// Shows what there is of a recording without its beginning.
    private func show(_ recording: Recording, _ report: inout ReplayReport) throws(ProgramError) -> ExitStatus {
        guard statusAt == nil, screenAt == nil, bisect == nil, logLevels == nil else {
            throw ProgramError(
                .refused,
                "\(file) has lost its beginning, so no watch can be run from it",
                advice: "--step and --capture show what it has; cairn run --record-limit keeps more"
            )
        }
        for step in RecordedStory(recording) {
            if step.time > end { break }
            try report.take(step)
        }
        try report.finish()
        Console.printError("\(file) has lost its beginning: it was shown, and not run again")
        return .refused
    }

    private func replay(_ recording: Recording, _ report: inout ReplayReport) throws(ProgramError) -> ExitStatus {
        let withoutSecrets = recording.header.isWithoutSecrets
        let configuration = try RunPlan.watch(of: recording.header)
        var replay: Replay
        do throws(GATTDatabaseError) {
            replay = try Replay(
                recording,
                configuration,
                cryptography: .swiftCrypto,
                describe: { $0.recordedText(withoutSecrets: withoutSecrets) }
            )
        } catch {
            throw ProgramError(
                .configuration,
                "no watch can be made of what \(file) begins with: \(error)",
                advice: "replay it with Cairn \(recording.header.program), which recorded it"
            )
        }
        var search = bisect.map { BisectSearch($0) }
        while let next = replay.nextInputTime, next <= end, let step = replay.step() {
            try report.take(step)
            search?.look(step, replay.watch)
        }
        try report.finish()
        if let statusAt { print(ControlStatus(replay.watch.status, at: statusAt.duration)) }
        if screenAt != nil, let output { try Self.writeScreen(replay.watch.frame, to: output) }
        return conclude(replay, search)
    }

    /// Says how it went.
    private func conclude(_ replay: Replay, _ search: BisectSearch?) -> ExitStatus {
        if json {
            var fields: [String: ControlValue] = [
                "inputs": .integer(Int64(replay.inputCount)), "seconds": .number(replay.time / .seconds(1)),
                "same": .flag(replay.divergence == nil),
            ]
            if let divergence = replay.divergence {
                fields["divergence"] = .object([
                    "input": .integer(Int64(divergence.input)), "seconds": .number(divergence.time / .seconds(1)),
                    "text": .text(divergence.description),
                ])
            }
            if let found = search?.found {
                fields["found"] = .object([
                    "input": .integer(Int64(found.input)), "seconds": .number(found.time / .seconds(1)),
                    "text": .text(found.words),
                ])
            }
            Console.print(ControlValue.object(fields).json)
        } else if statusAt == nil, screenAt == nil {
            Console.print(
                "\(replay.inputCount) inputs in \(replay.time / .seconds(1)) s"
                    + (replay.divergence == nil ? ": all is the same" : "")
            )
            if let search { Console.print(search.words) }
        }
        if let divergence = replay.divergence {
            Console.printError("The replay parts from the recording \(divergence).")
            if replay.recording.header.isWithoutSecrets {
                Console.printError(
                    "The recording has no secrets in it, and so goes no further than to the first that matters."
                )
            }
            return .demonstrationFailed
        }
        return search.map { $0.found == nil ? .refused : .success } ?? .success
    }

    private func print(_ status: ControlStatus) {
        Console.print(json ? status.json : status.lines.map(\.printable).joined(separator: "\n"))
    }

    private static func writeScreen(_ frame: FrameBuffer, to path: String) throws(ProgramError) {
        let picture: [UInt8]
        do throws(ScreenPicture.Failure) {
            picture = try ScreenPicture.png(frame)
        } catch {
            throw ProgramError(.systemError, "there is no picture of the screen: \(error)", advice: "try again")
        }
        try ResultFile.write(picture, to: path, what: "picture")
    }

    /// When it stops.
    private var end: Duration {
        [until, statusAt, screenAt].compactMap { $0?.duration }.min() ?? .seconds(Int64.max)
    }
}

/// Finds the input that `--bisect` is about.
///
/// Every input is looked at, since all of them have to be run in any case: so it is the first, also if a condition comes and
/// goes.
private struct BisectSearch {
    private let goal: WaitCommand.Goal
    private var held = false
    private(set) var found: (input: Int, time: Duration, words: String)?

    init(_ goal: WaitCommand.Goal) { self.goal = goal }

    mutating func look(_ step: ReplayedStep, _ watch: Watch) {
        guard found == nil else { return }
        switch goal {
        case .condition(let condition):
            let holds = condition.holds(watch)
            if held, !holds { found = (step.input, step.time, step.words) }
            held = holds
        case .event(let name):
            if step.events.contains(where: { $0.isCalled(name) }) { found = (step.input, step.time, step.words) }
        }
    }

    var words: String {
        let (name, verb, never) =
            switch goal {
            case .condition(let condition):
                (condition.rawValue, "holds no more", held ? "holds to the end" : "has never held")
            case .event(let event): (event.rawValue, "came", "never came")
            }
        guard let found else { return "\(name) \(never)" }
        return "\(name) \(verb) after input \(found.input), at \(found.time / .seconds(1)) s: \(found.words.printable)"
    }
}

/// What a replay prints and writes while it runs.
private struct ReplayReport {
    private let command: ReplayCommand
    private let wallClock: Duration
    private let writer: BtsnoopWriter?

    init(_ command: ReplayCommand, _ header: RecordingHeader) throws(ProgramError) {
        self.command = command
        wallClock = header.circumstances.wallClock
        guard let path = command.capture else {
            writer = nil
            return
        }
        do throws(BtsnoopWriter.CaptureError) {
            writer = try BtsnoopWriter(path: path)
        } catch {
            throw Self.explain(error)
        }
    }

    func take(_ step: ReplayedStep) throws(ProgramError) {
        if let from = command.from, step.time < from.duration { return }
        if let writer {
            let time = wallClock + step.time
            do throws(BtsnoopWriter.CaptureError) {
                if let packet = step.received { try writer.record(packet, .received, at: time) }
                for packet in step.sent { try writer.record(packet, .sent, at: time) }
            } catch {
                throw Self.explain(error)
            }
        }
        if command.step { show(step) }
        if let levels = command.logLevels { log(step, levels) }
        for note in step.notes where command.step { Console.printError("the recorder notes: \(note.printable)") }
    }

    func finish() throws(ProgramError) {
        do throws(BtsnoopWriter.CaptureError) {
            try writer?.flush()
        } catch {
            throw Self.explain(error)
        }
    }

    private func show(_ step: ReplayedStep) {
        guard command.json else {
            Console.print("\(step.time / .seconds(1))  #\(step.input)  \(step.words.printable)")
            if let packet = step.received { Console.print("    < \(packet.hexadecimal)") }
            for packet in step.sent { Console.print("    > \(packet.hexadecimal)") }
            for text in step.eventTexts { Console.print("    \(text.printable)") }
            return
        }
        var fields: [String: ControlValue] = [
            "input": .integer(Int64(step.input)), "seconds": .number(step.time / .seconds(1)),
            "what": .text(step.words),
            "sent": .list(step.sent.map { .text($0.hexadecimal) }), "events": .list(step.eventTexts.map { .text($0) }),
        ]
        if let packet = step.received { fields["received"] = .text(packet.hexadecimal) }
        Console.print(ControlValue.object(fields).json)
    }

    private func log(_ step: ReplayedStep, _ levels: LogLevels) {
        for event in step.events {
            let line = event.storyLine
            guard levels[line.layer] <= line.level else { continue }
            Console.print("\(step.time / .seconds(1))  \(line.level) \(line.layer.rawValue)  \(line.text.printable)")
        }
    }

    private static func explain(_ error: BtsnoopWriter.CaptureError) -> ProgramError {
        ProgramError(.cannotCreate, "\(error)", advice: error.advice)
    }
}

extension TimelineTime {
    /// As a span since the beginning.
    fileprivate var duration: Duration { .microseconds(microseconds) }
}
