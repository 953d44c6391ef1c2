/// Why a text is no YAML that is read.
package enum YAMLError: Error, Hashable, Sendable {
    /// It is not written as YAML is.
    /// - Parameters:
    ///   - problem: what is wrong, as a phrase.
    ///   - mark: where; nil if that is not known.
    case malformed(problem: String, mark: YAMLMark?)
    /// A mapping has a key twice.
    /// - Parameter mark: where it stands for the second time.
    case repeatedKey(String, mark: YAMLMark)
}
