import ArgumentParser
import Daemon
import HCIRuntime
import LinuxBluetooth

/// `cairn adapters`: what this machine has for a watch to run on.
struct AdaptersCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "adapters",
        abstract: "List this machine's Bluetooth adapters, what each can do and who has it, and emulators' radios.",
        discussion: """
            Anyone may ask; root also learns how many advertising sets a controller has, and the names of all programs that \
            use one. The radio of Android emulators, netsim, is listed if a netsim.ini announces it. The status is 0 if there is \
            an adapter or a netsim that a watch can have now, and 69 if there is none.

            EXAMPLES

              cairn adapters
              sudo cairn adapters --json
            """
    )

    @Flag(help: "As JSON, for programs: an array with one object for each adapter and each netsim.")
    var json = false

    func run() throws {
        try Console.run { () throws(ProgramError) in
            let netsims = NetsimFile.all().map(NetsimReport.init)
            let adapters = try listed(orNone: !netsims.isEmpty)
            if json {
                Console.print(AdapterReport.json(of: adapters, and: netsims))
            } else if adapters.isEmpty, netsims.isEmpty {
                let none = AdapterProblem.noAdapter(.first)
                Console.print("\(none)\n\(none.advice)")
            } else {
                let texts = adapters.map { AdapterReport($0).text } + netsims.map(\.text)
                Console.print(texts.joined(separator: "\n\n"))
            }
            let isAny = adapters.contains { $0.problem == nil } || netsims.contains(where: \.isUsable)
            return isAny ? .success : .unavailable
        }
    }

    /// - Parameter orNone: a machine whose kernel knows no Bluetooth has no adapters, and that is no error.
    private func listed(orNone: Bool) throws(ProgramError) -> [Adapter] {
        do {
            return try Adapters.list()
        } catch {
            if orNone { return [] }
            throw ProgramError(error.isPermission ? .notPermitted : .unavailable, "\(error)", advice: error.advice)
        }
    }
}
