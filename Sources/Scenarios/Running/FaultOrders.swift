import Control
import Faults

// How faults begin and end at a watch that runs: as commands of its control vocabulary.

extension Fault {
    /// The request that begins it.
    package var beginningRequest: String {
        let arguments = Dictionary(arguments.map { ($0.key, ControlValue.text($0.value)) }) { first, _ in first }
        return ControlValue.object([
            "command": .text(ControlCommands.FaultAdd.name), "name": .text(name), "arguments": .object(arguments),
        ]).json
    }

    /// The request that ends the one of a number, or all.
    package static func endingRequest(_ number: Int64?) -> String {
        var request: [String: ControlValue] = ["command": .text(ControlCommands.FaultClear.name)]
        request["number"] = number.map { .integer($0) }
        return ControlValue.object(request).json
    }
}
