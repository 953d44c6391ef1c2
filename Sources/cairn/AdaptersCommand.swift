import ArgumentParser
import Daemon
import HCIRuntime
import LinuxBluetooth

/// `cairn adapters`: what this machine has for a watch to run on.
struct AdaptersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "adapters",
        abstract: "List this machine's Bluetooth adapters, what each can do, and who has it.",
        discussion: """
            Anyone may ask; root also learns how many advertising sets a controller has, and the names of all programs that \
            use one. The status is 0 if there is an adapter that a watch can have now, and 69 if there is none.

            EXAMPLES

              cairn adapters
              sudo cairn adapters --json
            """
    )

    @Flag(help: "As JSON, for programs: an array with one object for each adapter.")
    var json = false

    func run() throws {
        try Console.run { () throws(ProgramError) in
            let adapters = try listed()
            if json {
                Console.print(AdapterReport.json(of: adapters))
            } else if adapters.isEmpty {
                let none = AdapterProblem.noAdapter(.first)
                Console.print("\(none)\n\(none.advice)")
            } else {
                Console.print(adapters.map { AdapterReport($0).text }.joined(separator: "\n\n"))
            }
            return adapters.contains { $0.problem == nil } ? .success : .unavailable
        }
    }

    private func listed() throws(ProgramError) -> [Adapter] {
        do {
            return try Adapters.list()
        } catch {
            throw ProgramError(error.isPermission ? .notPermitted : .unavailable, "\(error)", advice: error.advice)
        }
    }
}
