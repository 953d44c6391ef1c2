import Control
import Faults
import PebblePhone

/// What a watch and a phone are put through, step by step, and what has to come of it.
package struct Scenario: Sendable, Equatable {
    /// What it is called, in one word with hyphens: also the name of its file.
    package var name: String
    /// What it is about, in a sentence or two.
    package var description = ""
    /// The public reports that it is modelled on: addresses.
    package var modelledOn: [String] = []
    /// What a good companion does about it, in one sentence.
    package var goodCompanion = ""
    /// The defect that it finds; nil for one that is not about companions.
    package var defect: PhoneDefect?
    /// What can be chosen when it is run, and what is usual.
    package var parameters: [String: String] = [:]
    /// The watch's settings, by the keys of a board file.
    package var watch: [String: [String]] = [:]
    /// The phone.
    package var phone = ScenarioPhone()
    /// What happens, in order; what is repeated stands there as often.
    package var steps: [ScenarioStep] = []
    /// The file that it was read from.
    package var path = ""

    /// A scenario without steps.
    package init(name: String) { self.name = name }
}

/// Which phone a scenario has.
package struct ScenarioPhone: Sendable, Equatable {
    /// Whose it is.
    package enum Kind: String, Sendable, CaseIterable {
        /// The one that is built in.
        case cairn
        /// A real one, in the hand of a person who is told what to do.
        case real
        /// There is none.
        case none
    }

    /// What it is like to a watch.
    package enum Platform: String, Sendable, CaseIterable {
        case android, ios
    }

    package var kind = Kind.cairn
    package var platform = Platform.android
    /// Whether it does by itself what a companion app does; if not, only what the steps say.
    package var isCompanion = true
    /// Whether it offers PPoGATT itself, whatever phones of its kind do.
    package var isServer = false
    /// Whether it uses the watch's stream, and no PPoGATT.
    package var usesStream = false
    /// Whether it can pair.
    package var pairs = true
    /// Whether it keeps what it has found out of a bonded watch.
    package var remembersWatch = false

    /// The usual phone: a companion on Android that behaves.
    package init() {}
}

/// Who does something, and to whom it happens.
package enum ScenarioSide: String, Sendable, CaseIterable {
    case watch, phone
}

/// A command of the control vocabulary of a side.
package struct ScenarioCommand: Sendable, Equatable {
    package let side: ScenarioSide
    package let name: String
    /// Its fields, as the file has them.
    package let arguments: [String: ControlValue]
    /// The request, without the end of the line.
    package let line: String

    /// As the transcript has it: `watch press {"button":"up"}`.
    package var words: String {
        arguments.isEmpty
            ? "\(side.rawValue) \(name)" : "\(side.rawValue) \(name) \(ControlValue.object(arguments).json)"
    }
}

/// An event that is waited for, or must not come.
package struct ScenarioPattern: Sendable, Equatable {
    package let side: ScenarioSide
    package let name: String
    /// What its fields have to be.
    package let fields: ScenarioMatch

    /// Whether an event is one of those.
    package func matches(_ event: ScenarioEvent) -> Bool {
        event.side == side && event.name == name && fields.matches(.object(event.fields))
    }

    /// As people read it: `the watch's event “connected” with known = true`.
    package var words: String {
        let conditions = fields.words
        return "the \(side.rawValue)'s event “\(name)”" + (conditions.isEmpty ? "" : " with \(conditions)")
    }
}

/// One thing that is done, or that has to happen.
package struct ScenarioStep: Sendable, Equatable {
    /// When it begins.
    package enum Start: Sendable, Equatable {
        /// When the step before has ended.
        case atOnce
        /// So long after the beginning of the scenario, or at once if that is past.
        case at(Duration)
        /// So long after the end of the step before.
        case after(Duration)
        /// When this has happened; it has to, within the time.
        case when(ScenarioPattern, within: Duration)
    }

    /// How a command is to end.
    package enum Ending: Sendable, Equatable {
        /// It is done, and its answer has these fields.
        case done(ScenarioMatch)
        /// It is refused, for this reason if there is one: a code of the vocabulary.
        case refused(String?)
        /// It is done or refused, and the steps go on then.
        case either
        /// The steps go on at once, and it may end in any way.
        case any
    }

    /// What it is.
    package enum Deed: Sendable, Equatable {
        case give(ScenarioCommand, Ending)
        case fault(Fault)
        /// Faults of this name end; nil for all.
        case clear(String?)
        case expect(ScenarioPattern, within: Duration)
        case never(ScenarioPattern, during: Duration)
        /// A command that only looks is given again and again, until its answer is so.
        case until(ScenarioCommand, ScenarioMatch, within: Duration)
        /// A person is told something.
        case tell(String)
        /// Time passes.
        case pause
    }

    package let start: Start
    package let deed: Deed
    /// What a person with a real phone is told to do instead; nil for what the command says.
    package let person: String?
    package let place: ScenarioPlace
}

/// Where something stands.
package struct ScenarioPlace: Hashable, Sendable, CustomStringConvertible {
    package let file: String
    /// From 1 on; 0 for the file as a whole.
    package let line: Int
    /// From 1 on; 0 for the file as a whole.
    package let column: Int

    package init(file: String, line: Int = 0, column: Int = 0) {
        self.file = file
        self.line = line
        self.column = column
    }

    package var description: String { line == 0 ? file : "\(file):\(line):\(column)" }
}
