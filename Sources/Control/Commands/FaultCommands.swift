import Faults
import PebbleWatch

// Faults that are added on purpose: Docs/faults.md.

extension ControlCommands {
    /// `fault-add`
    package struct FaultAdd: ControlCommand {
        package typealias Answer = ControlAnswers.FaultNumber

        package var name = ""
        package var arguments: [String: String] = [:]

        package static let name = "fault-add"
        package static let help = "Add a fault, by its name."
        package static let discussion = "What each does and takes is in faults.md, and in the answer to fault-names."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required(
                "name",
                &name,
                .text.describing(["enum": .list(FaultDefinition.all.map { .text($0.name) })]),
                "which fault"
            )
            try fields.defaulted(
                "arguments",
                &arguments,
                .dictionary(of: .text),
                "its parameters and the options of every fault, by their names, as they are typed: "
                    + FaultParameter.options.map(\.key.rawValue).joined(separator: ", ")
            )
        }

        package func request() throws(ControlRequest.Invalid) -> ControlRequest {
            do throws(FaultError) {
                let words = arguments.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
                return .addFault(try Fault(named: name, words))
            } catch {
                throw ControlRequest.Invalid(description: error.description)
            }
        }
    }

    /// `fault-list`
    package struct FaultList: ControlCommand {
        package typealias Answer = ControlAnswers.Faults

        package static let name = "fault-list"
        package static let onlyReads = true
        package static let help = "List the faults that are there."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) {}
        package func request() -> ControlRequest { .faults }
    }

    /// `fault-names`
    package struct FaultNames: ControlCommand {
        package typealias Answer = ControlAnswers.FaultNames

        package static let name = "fault-names"
        package static let onlyReads = true
        package static let help = "List the faults that can be added, and what each takes."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) {}
        package func request() -> ControlRequest { .faultNames }
    }

    /// `fault-clear`
    package struct FaultClear: ControlCommand {
        package var number: Int?

        package static let name = "fault-clear"
        package static let help = "Take a fault away, or all of them."

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.optional("number", &number, .count, "the fault's number; without it, all faults")
        }

        package func request() -> ControlRequest { .clearFaults(number.map(FaultID.init(rawValue:))) }
    }
}

extension ControlAnswers {
    /// The answer to `fault-add`.
    package struct FaultNumber: ControlObject {
        package var number = 0

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("number", &number, .count, "the number that the fault goes by")
        }
    }

    /// The answer to `fault-list`.
    package struct Faults: ControlObject {
        package var faults: [ControlFault] = []

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("faults", &faults, .list(of: .object), "the faults, in the order of their numbers")
        }
    }

    /// The answer to `fault-names`.
    package struct FaultNames: ControlObject {
        package var names: [ControlFaultName] = []
        package var options: [ControlFaultParameter] = []

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("names", &names, .list(of: .object), "the faults, in the order of the documentation")
            try fields.required("options", &options, .list(of: .object), "what every fault takes besides")
        }
    }
}

/// A fault that is there.
package struct ControlFault: ControlObject {
    package var number = 0
    package var name = ""
    package var arguments: [String: String] = [:]
    package var firings = 0
    package var isAtWork = false
    package var endsAt: Double?

    package static var blank: Self { Self() }
    package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
        try fields.required("number", &number, .count, "the number that it goes by")
        try fields.required("name", &name, .text, "its name")
        try fields.required("arguments", &arguments, .dictionary(of: .text), "what it was given, by name")
        try fields.required("firings", &firings, .count, "how often it has fired")
        try fields.required("isAtWork", &isAtWork, .flag, "whether it has begun and not ended")
        try fields.optional(
            "endsAt",
            &endsAt,
            .amount.in(.seconds),
            "when it ends, since the watch was started; nothing if it is there until it is cleared"
        )
    }
}

extension ControlFault {
    /// A fault that is there at a time.
    package init(_ running: RunningFault, at now: Duration) {
        self = .blank
        number = running.id.rawValue
        name = running.fault.name
        for argument in running.fault.arguments { arguments[argument.key] = argument.value }
        firings = running.firings
        isAtWork = running.isAtWork(at: now)
        endsAt = running.end.map { $0 / .seconds(1) }
    }

    /// The same in words.
    package var words: String {
        let text = arguments.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        return ([name] + text).joined(separator: " ")
    }
}

/// A fault that can be added.
package struct ControlFaultName: ControlObject {
    package var name = ""
    package var help = ""
    package var seam = ""
    package var fires = ""
    package var needs: String?
    package var parameters: [ControlFaultParameter] = []

    package static var blank: Self { Self() }
    package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
        try fields.required("name", &name, .text, "its name")
        try fields.required("help", &help, .text, "what it does")
        try fields.required("seam", &seam, .text, "where it is interposed")
        try fields.required("fires", &fires, .text, "at each occasion, once, or all the time")
        try fields.optional("needs", &needs, .text, "what must be there: virtual air, or store")
        try fields.required("parameters", &parameters, .list(of: .object), "what it takes besides the options")
    }
}

extension ControlFaultName {
    /// A row of the table.
    package init(_ definition: FaultDefinition) {
        self = .blank
        name = definition.name
        help = definition.help
        seam = definition.seam
        fires = definition.occasion.name
        needs = definition.need == .nothing ? nil : definition.need.name
        parameters = definition.parameters.map(ControlFaultParameter.init)
    }
}

/// A parameter of a fault.
package struct ControlFaultParameter: ControlObject {
    package var name = ""
    package var help = ""
    package var form = ""
    package var fallback: String?

    package static var blank: Self { Self() }
    package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
        try fields.required("name", &name, .text, "its name")
        try fields.required("help", &help, .text, "what it says")
        try fields.required("form", &form, .text, "what its values are, with range and unit")
        try fields.optional("default", &fallback, .text, "what it is if it is left out")
    }
}

extension ControlFaultParameter {
    /// A parameter of the table.
    package init(_ parameter: FaultParameter) {
        self = .blank
        name = parameter.key.rawValue
        help = parameter.help
        form = parameter.form.description
        fallback = parameter.fallback?.description
    }
}

extension ControlAnswers.FaultNames {
    /// The whole table.
    package static var all: Self {
        var answer = Self.blank
        answer.names = FaultDefinition.all.map(ControlFaultName.init)
        answer.options = FaultParameter.options.map(ControlFaultParameter.init)
        return answer
    }
}
