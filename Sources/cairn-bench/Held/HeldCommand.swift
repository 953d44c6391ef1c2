import ArgumentParser
import Foundation

extension CairnBench {
    /// `cairn-bench held`.
    struct HeldCommand: ParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "held",
            abstract: "Holds figures that do not depend on the machine to those in a file.",
            discussion: """
                It counts how often each benchmark asks the heap, how much of it a watch and its phone have, and how often the \
                loop asks the kernel; it measures, in turns, what should cost no more than something else; and it compares all \
                of that with the file. The exit \
                status is 1 if a figure has grown, or is not in the file; one that has fallen is named. --accept writes what \
                was measured into the file: the change of the file then shows what was accepted.
                """
        )

        @Argument(help: ArgumentHelp("The figures that are held.", valueName: "file"))
        var file: String

        @Flag(help: "Hold what is measured now.")
        var accept = false

        func run() throws {
            try AllocationCounterCheck.run()
            let place = URL(fileURLWithPath: file)
            var held = HeldFigures()
            do {
                held = try HeldFigures(try Data(contentsOf: place))
            } catch {
                // A new file begins with what is accepted.
                guard accept else { throw ValidationError("\(file) has no figures that are held: \(error)") }
            }
            var count = 0
            var problems: [String] = []
            var fallen: [String] = []
            for kind in HeldFigures.Kind.allCases {
                let measured = try HeldFigures.measure(kind, held: accept ? HeldFigures() : held)
                count += measured.count
                if accept {
                    held[kind] = measured
                } else {
                    problems += held.problems(measured, kind)
                    fallen += held.fallen(measured, kind)
                }
            }
            if accept {
                try held.file().write(to: place)
                print("\(count) figures are held from now on, of this \(HeldFigures.build) build: \(file)")
                return
            }
            for line in problems + fallen { print(line) }
            guard problems.isEmpty else {
                print("Find out why, or accept it: cairn-bench held \(file) --accept")
                throw ExitCode.failure
            }
            if !fallen.isEmpty { print("To hold what has fallen: cairn-bench held \(file) --accept") }
            print("None of \(count) figures has grown, of this \(HeldFigures.build) build.")
        }
    }
}
