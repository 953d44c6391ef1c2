import HTTPTypes

extension HTTPFields {
    /// A header whose name the library has no word for.
    subscript(named name: String) -> String? {
        get { HTTPField.Name(name).flatMap { self[$0] } }
        set { if let name = HTTPField.Name(name) { self[name] = newValue } }
    }
}
