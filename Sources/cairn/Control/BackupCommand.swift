import ArgumentParser
import Control
import Daemon
import HCIRuntime

/// `cairn backup`
struct BackupCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Copy everything that a watch remembers into one file.",
        discussion: """
            The watch may be running. The file has its identity and keys: only its owner can read it, and it is to be kept as \
            safe as the state directory. Of a watch that does not run, name the state directory; the service that runs needs no name.

              cairn backup watch.backup --state ~/.cairn
              sudo cairn backup watch.backup

            To restore it, stop the watch, and put the file as watch.sqlite into an empty state directory that belongs to the user who \
            runs the watch. Phones then connect by their bonds. Two watches that run from one backup are one watch twice, and no phone \
            can tell them apart.

              mkdir -m 700 ~/.cairn-restored
              install -m 600 watch.backup ~/.cairn-restored/watch.sqlite
            """
    )

    @Argument(help: "The file, which must not exist.")
    var file: String

    @Flag(help: "Replace the file if it exists.")
    var force = false

    @OptionGroup var watch: WatchReference

    func run() throws {
        try Console.run { () throws(ProgramError) in
            let backup: ControlBackup
            if let directory = watch.stateDirectory {
                backup = try StateBackup.make(stateDirectory: directory, path: file, force: force)
            } else {
                var client = try watch.connect()
                backup = try StateBackup.fetch(from: &client, path: file, force: force)
            }
            Console.print("\(file): \(backup.size) bytes; \(backup.words)")
            return .success
        }
    }
}

extension ControlBackup {
    fileprivate var words: String {
        let watch = address.map { "the watch \($0)" } ?? "no identity yet"
        return "\(watch), \(Self.counted(phones, "phone")), \(Self.counted(apps, "app")), "
            + "\(Self.counted(records, "record")), \(Self.counted(loggedBytes, "byte")) of logged data; schema \(schema)"
    }

    private static func counted(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
}
