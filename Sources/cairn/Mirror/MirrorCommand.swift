import ArgumentParser
import Daemon
import HCIRuntime
import LinuxBluetooth
import PebbleWatch
import Settings

/// `cairn mirror`: the watch that `cairn run` runs, compared with the real firmware.
struct MirrorCommand: SettingCommand {
    typealias Catalog = RunSettings

    static let configuration = CommandConfiguration(
        commandName: "mirror",
        abstract: "Compare the watch with the real firmware while a phone uses it.",
        discussion: """
            The watch answers phones itself, as with cairn run, whose options it takes. The real firmware in its emulator \
            (--firmware) is asked the same in its shadow: phones notice nothing of it. Each difference in meaning is printed: what \
            the phone said, what the watch answered, and what the firmware did. What each watch may say in its own way, such as \
            its clock, is no difference; Docs/emulator.md lists it.

            Ctrl-C ends it with a summary. The status is 0 if nothing differed, 70 if something did, and 69 if the phone said \
            something and no firmware was there to be asked.

            EXAMPLES

              cairn mirror --controller hci0 --firmware tcp:127.0.0.1:12344
              cairn mirror --controller virtual --air-port 6402 --firmware tcp:127.0.0.1:12344 --report differences.jsonl
            """
    )

    @Option(
        help: ArgumentHelp("A file that describes the board. (default: $CAIRN_BOARD, else none)", valueName: "file"),
        transform: pathArgument
    )
    var board: String?

    @Option(
        help: ArgumentHelp(
            "Write each difference to this file too, and the summary, as a JSON object on a line of its own.",
            valueName: "file"
        ),
        transform: pathArgument
    )
    var report: String?

    var typed: [SettingKey: [String]] = [:]

    var otherOptions: [Mirror.Child] { [("_board", _board), ("_report", _report)] }

    mutating func takeOtherOptions(of container: KeyedDecodingContainer<SettingOptionKey>) throws {
        _board = try container.decode(Option<String?>.self, forKey: SettingOptionKey(stringValue: "board"))
        _report = try container.decode(Option<String?>.self, forKey: SettingOptionKey(stringValue: "report"))
    }

    func run() throws {
        try Console.run { () throws(ProgramError) in
            var typed = typed
            typed[DeveloperSettings.firmwareRole.key] = [DeveloperSettings.FirmwareRole.mirrors.rawValue]
            let configuration = try RunConfiguration(typed: typed, board: board)
            var plan = configuration.plan
            try plan.describeRecording(configuration.values)
            let controller = try plan.chosenController
            guard plan.process.firmware != nil else {
                throw ProgramError(
                    .usage,
                    "there is no firmware to compare the watch with",
                    advice: "add --firmware tcp:127.0.0.1:12344, or where the emulator's port is: see Docs/emulator.md"
                )
            }
            let report = try MirrorReport(path: self.report)
            let daemon = try plan.daemon(on: controller) { event, now in report.take(event, at: now) }
            let outcome = try daemon.run()
            let status = report.end(with: daemon.mirrorTally)
            return outcome.exitStatus == .success ? status : outcome.exitStatus
        }
    }
}
