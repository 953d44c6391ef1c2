import Control
import Faults

// How faults begin and end at a watch: as commands of its control vocabulary, on a simulated air and at a socket alike.

extension ScenarioMachine.Order {
    /// The request that the watch gets; nil for what is not for the watch.
    package var faultRequest: String? {
        switch self {
        case .fault(let fault, _):
            ControlValue.object(["command": .text("fault-add"), "fault": .text("\(fault)")]).json
        case .clear(let name?, _):
            ControlValue.object(["command": .text("fault-clear"), "name": .text(name)]).json
        case .clear(nil, _): ControlValue.object(["command": .text("fault-clear")]).json
        case .give, .tell: nil
        }
    }
}
