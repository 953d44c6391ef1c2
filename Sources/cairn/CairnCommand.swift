import ArgumentParser

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

            Run a watch on a Bluetooth controller that speaks H4 on a serial port:

              cairn run --controller serial:/dev/ttyUSB0,115200

            Run a watch on a virtual radio, on which another Bluetooth host can be the phone:

              cairn run --controller virtual --air-port 6402

            Every command ends with status 0 when it was asked to end, and otherwise with one that says why: 64 for a wrong \
            command line, 69 for something that is not there, 70 for a demonstration that failed, 73 for a file that cannot \
            be created, 74 for a connection or a file that failed half-way, 77 for something that this user may not do.
            """,
        version: cairnVersion,
        subcommands: [RunCommand.self, DemoCommand.self]
    )
}

/// What `--version` says.
let cairnVersion = "0.1.0"
