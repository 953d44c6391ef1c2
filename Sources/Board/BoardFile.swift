import Configuration
import Glibc
import Yams

/// A board's description, as read: which settings it makes, and on which line.
///
/// The file is YAML: a mapping of settings, of which some stand in sections. It is composed with Yams, the parser that
/// swift-configuration uses, because only that says where in the file a setting stands.
public struct BoardFile: Sendable {
    /// What a setting was set to.
    struct Entry: Sendable {
        /// One value, or those of a list.
        let values: [String]
        let isList: Bool
        let line: Int
    }

    /// The file is larger than any description of a board.
    static let sizeLimit = 256 * 1024
    /// More settings than any board has.
    static let entryLimit = 500

    /// Where it was read.
    public let path: String
    /// By key, such as `advertising.policy`.
    let entries: [String: Entry]

    /// Reads a file; which settings there are is not looked at yet.
    public init(path: String) throws(BoardError) {
        try self.init(text: try Self.contents(of: path), path: path)
    }

    init(text: String, path: String) throws(BoardError) {
        self.path = path
        var entries: [String: Entry] = [:]
        if let root = try Self.compose(text, path) {
            guard let mapping = root.mapping else {
                throw BoardError(
                    path,
                    root.mark?.line,
                    nil,
                    "a board file is a list of settings, such as “name: Pebble 1234”"
                )
            }
            try Self.collect(mapping, under: [], in: path, into: &entries)
        }
        self.entries = entries
    }

    /// Refuses settings that do not exist, and lists where there is one value and the other way round.
    public func check(against known: [SettingKey]) throws(BoardError) {
        let byName = Dictionary(known.map { ($0.name, $0) }) { first, _ in first }
        for (name, entry) in entries.sorted(by: { $0.value.line < $1.value.line }) {
            guard let key = byName[name] else {
                throw BoardError(path, entry.line, name, "there is no such setting; \(Self.hint(for: name, known))")
            }
            guard entry.isList == key.isList else {
                throw BoardError(
                    path,
                    entry.line,
                    name,
                    key.isList ? "this takes a list" : "this takes one value, no list"
                )
            }
        }
    }

    /// The settings as swift-configuration layers them.
    var provider: InMemoryProvider {
        let values = entries.map { name, entry in
            let content: ConfigContent = entry.isList ? .stringArray(entry.values) : .string(entry.values.first ?? "")
            return (AbsoluteConfigKey(ConfigKey(name)), ConfigValue(content, isSecret: false))
        }
        return InMemoryProvider(name: path, values: Dictionary(values) { first, _ in first })
    }

    /// What could have been meant.
    private static func hint(for name: String, _ known: [SettingKey]) -> String {
        let section = name.split(separator: ".").dropLast().joined(separator: ".")
        let siblings = known.map(\.name).filter {
            $0.split(separator: ".").dropLast().joined(separator: ".") == section
        }
        if siblings.isEmpty {
            let sections = Set(known.compactMap { $0.name.contains(".") ? $0.name.split(separator: ".").first : nil })
            return "the sections are \(sections.sorted().joined(separator: ", "))"
        }
        let names = siblings.compactMap { $0.split(separator: ".").last }.joined(separator: ", ")
        return section.isEmpty ? "there are \(names), and sections" : "in \(section) there are \(names)"
    }

    // MARK: Reading

    private static func compose(_ text: String, _ path: String) throws(BoardError) -> Node? {
        do {
            return try Yams.compose(yaml: text)
        } catch let error as YamlError {
            switch error {
            case .scanner(_, let problem, let mark, _), .parser(_, let problem, let mark, _),
                .composer(_, let problem, let mark, _):
                throw BoardError(path, mark.line, nil, "this is not YAML: \(problem)")
            default:
                throw BoardError(path, nil, nil, "this is not YAML: \(error)")
            }
        } catch {
            throw BoardError(path, nil, nil, "this is not YAML: \(error)")
        }
    }

    private static func collect(
        _ mapping: Node.Mapping,
        under section: [String],
        in path: String,
        into entries: inout [String: Entry]
    ) throws(BoardError) {
        for (keyNode, value) in mapping {
            let line = keyNode.mark?.line ?? 0
            guard let word = keyNode.scalar?.string, !word.contains(".") else {
                throw BoardError(path, line, section.joined(separator: "."), "a setting's name is a word")
            }
            let name = (section + [word]).joined(separator: ".")
            guard entries.count < entryLimit else { throw BoardError(path, line, name, "there are too many settings") }
            switch value {
            case .mapping(let inner):
                guard section.isEmpty else { throw BoardError(path, line, name, "sections have no sections") }
                try collect(inner, under: [word], in: path, into: &entries)
            case .sequence(let items):
                var values: [String] = []
                for item in items {
                    guard let scalar = item.scalar else {
                        throw BoardError(path, item.mark?.line ?? line, name, "a list holds plain values")
                    }
                    values.append(scalar.string)
                }
                entries[name] = Entry(values: values, isList: true, line: line)
            case .scalar(let scalar):
                entries[name] = Entry(values: [scalar.string], isList: false, line: line)
            case .alias:
                throw BoardError(path, line, name, "aliases are not understood here")
            }
        }
    }

    private static func contents(of path: String) throws(BoardError) -> String {
        func failure(_ what: String) -> BoardError { BoardError(path, nil, nil, what, isUnreadable: true) }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(String(cString: strerror(errno))) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            if count < 0 {
                if errno == EINTR { continue }
                throw failure(String(cString: strerror(errno)))
            }
            guard count > 0 else { break }
            bytes += buffer.prefix(count)
            guard bytes.count <= sizeLimit else { throw failure("it is larger than \(sizeLimit / 1024) KiB") }
        }
        guard let text = String(validating: bytes, as: UTF8.self) else { throw failure("it is not UTF-8 text") }
        return text
    }
}
