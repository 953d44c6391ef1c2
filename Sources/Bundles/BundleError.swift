/// Why a bundle is refused. Nothing is written and nothing installed then.
public enum BundleError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The file cannot be read.
    case unreadable(reason: String)
    /// The file, or something in it, is larger than any bundle for a Pebble is.
    case tooLarge(what: String, byteCount: UInt64, limit: Int)
    /// It is no zip archive, or a damaged one.
    case damagedArchive(reason: String)
    /// It is an archive that uses something no bundle needs.
    case unsupportedArchive(reason: String)
    /// A name in the archive leads out of it.
    case unsafePath(String)
    /// Something that must be there is not.
    case missing(String)
    /// A file of the bundle cannot be understood.
    case invalid(file: String, reason: String)
    /// A file's bytes are not those that the bundle was made with.
    case wrongChecksum(file: String)
    /// It is a bundle of another kind.
    case wrongKind(found: String, wanted: String)
    /// It is for other watches.
    case wrongPlatform(available: [String], wanted: String)

    /// Whether it is about the file and not about what is in it.
    public var isUnreadable: Bool { if case .unreadable = self { true } else { false } }

    public var description: String {
        switch self {
        case .unreadable(let reason): reason
        case .tooLarge(let what, let byteCount, let limit):
            "\(what) has \(byteCount) bytes, more than the \(limit) that are allowed"
        case .damagedArchive(let reason): "it is no zip archive, or a damaged one: \(reason)"
        case .unsupportedArchive(let reason): "the archive \(reason), which no bundle needs"
        case .unsafePath(let name): "the archive holds a file called \"\(name)\", which leads out of it"
        case .missing(let what): "it has no \(what)"
        case .invalid(let file, let reason): "\(file): \(reason)"
        case .wrongChecksum(let file): "\(file): the checksum is wrong, so the file is damaged"
        case .wrongKind(let found, let wanted): "it is a bundle of type \"\(found)\", not \"\(wanted)\""
        case .wrongPlatform(let available, let wanted):
            "it has nothing for \(wanted); it is for \(available.isEmpty ? "no watch" : available.joined(separator: ", "))"
        }
    }
}
