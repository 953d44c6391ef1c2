// What programs that wait for events check before they do: which events there are, and which fields an event can have.

extension ControlEventName {
    /// The names of the fields that the event can have.
    package var fieldNames: [String] { declaration.fieldNames }

    /// The event that has a variant of this name, such as `service` for `notification-shown`; nil if there is none.
    package static func withVariant(_ name: String) -> ControlEventName? {
        allCases.first { $0.declaration.variantNames.contains(name) }
    }

    /// The names of all variants of all events.
    package static var variantNames: [String] { allCases.flatMap { $0.declaration.variantNames } }
}

extension PhoneControlEventName {
    /// The names of the fields that the event can have.
    package var fieldNames: [String] { declaration.fieldNames }
}

extension ControlEventDeclaration {
    fileprivate var fieldNames: [String] {
        var names = variantNames.isEmpty ? [] : ["name"]
        for (_, type) in all {
            for field in type.fields where !names.contains(field.name) { names.append(field.name) }
        }
        return names
    }

    fileprivate var variantNames: [String] { all.compactMap(\.variant) }
}
