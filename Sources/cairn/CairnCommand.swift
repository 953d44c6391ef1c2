import ArgumentParser
import Control

/// The command line.
@main
struct CairnCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cairn",
        abstract:
            "A Pebble watch without the watch: a Bluetooth LE peripheral that companion apps take for a real one.",
        discussion: """
            Try it without any Bluetooth hardware:

              cairn demo

            Run a watch on this machine's Bluetooth adapter, or on a controller that speaks H4 on a serial port:

              cairn run --controller hci0
              cairn run --controller serial:/dev/ttyUSB0,115200

            Run a watch on a virtual radio, on which another Bluetooth host can be the phone:

              cairn run --controller virtual --air-port 6402

            Be the phone as well, so that a script has both ends:

              cairn phone --help

            Put a companion through what users report:

              cairn scenario --help

            See how the watch is doing, and do to it what a person would:

              cairn status --state ~/.cairn
              cairn pair --state ~/.cairn

            The environment's CAIRN_STATE stands for --state where that is left out.

            Every command ends with status 0 when it was asked to end, and otherwise with one that says why: 64 for a wrong \
            command line, 69 for something that is not there, 70 for a demonstration or a scenario that failed or a watch that differs, 73 for a file that cannot \
            be created, 74 for a connection or a file that failed half-way, 75 for something that the watch or the phone refused, 77 for something that this user may not do, \
            78 for a wrong board file or environment, 141 when nothing reads its output any more.
            """,
        version: cairnVersion,
        subcommands: [
            RunCommand.self, MirrorCommand.self, DemoCommand.self, PersonalitiesCommand.self, ConfigCommand.self,
            AdaptersCommand.self,
            AirCommand.self, PhoneTool.self, ScenarioTool.self, TimelineCommand.self, ReplayCommand.self,
            VocabularyCommand.self,
        ],
        groupedSubcommands: [
            CommandGroup(
                name: "At a running watch",
                subcommands: [
                    StatusCommand.self, EventsCommand.self, WaitCommand.self, ScreenCommand.self,
                    ScreenshotCommand.self,
                    PressCommand.self, TapCommand.self, BatteryCommand.self, AppsCommand.self, InstallCommand.self,
                    LaunchCommand.self, SendCommand.self, InboxCommand.self, OutboxCommand.self,
                    NotificationsCommand.self, SettingsCommand.self, TimeCommand.self, LinksCommand.self,
                ] + ControlCommands.subcommands(in: .watch) + [
                    CaptureCommand.self, FaultCommand.self, RecorderCommand.self, BackupCommand.self, AskCommand.self,
                ]
            ),
            CommandGroup(
                name: "Its phones",
                subcommands: [
                    PairCommand.self, PasskeyCommand.self, OOBCommand.self, ForgetCommand.self,
                ] + ControlCommands.subcommands(in: .phones)
            ),
        ]
    )
}

/// What `--version` says.
let cairnVersion = "0.1.0"
