import Glibc
import YAML

/// A board's description, as read: which settings it makes, and on which line.
///
/// The file is YAML: a mapping of settings, of which some stand in sections.
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
    /// What is wrong with how settings are written; they are not among the entries.
    private let malformed: [SettingError]

    /// Reads a file; which settings there are is not looked at yet.
    public init(path: String) throws(SettingError) {
        try self.init(text: try Self.contents(of: path), path: path)
    }

    /// Reads the text of a file.
    /// - Parameter path: where it was read, for errors.
    package init(text: String, path: String) throws(SettingError) {
        self.path = path
        var reading = Reading(path: path)
        if let root = try Self.compose(text, path) {
            guard let mapping = root.mapping else {
                throw SettingError(
                    path,
                    root.mark.line,
                    nil,
                    "a board file is a list of settings, such as “name: Pebble 1234”"
                )
            }
            reading.collect(mapping, under: nil)
        }
        entries = reading.entries
        malformed = reading.problems
    }

    /// Everything that is wrong with which settings there are and how they are written: settings that do not exist, and
    /// lists where there is one value and the other way round. Values are not looked at.
    public func problems(against known: [SettingKey]) -> [SettingError] {
        let byName = Dictionary(known.map { ($0.name, $0) }) { first, _ in first }
        var problems = malformed
        for (name, entry) in entries.sorted(by: { ($0.value.line, $0.key) < ($1.value.line, $1.key) }) {
            guard let key = byName[name] else {
                let hint = Self.hint(for: name, known)
                problems.append(SettingError(path, entry.line, name, "there is no such setting; \(hint)"))
                continue
            }
            guard entry.isList != key.isList else { continue }
            let problem = key.isList ? "this takes a list, such as [a, b]" : "this takes one value, no list"
            problems.append(SettingError(path, entry.line, name, problem))
        }
        return problems.inReadingOrder
    }

    /// How many settings it makes.
    public var settingCount: Int { entries.count }

    /// What could have been meant.
    private static func hint(for name: String, _ known: [SettingKey]) -> String {
        let names = known.map(\.name)
        let last = name.split(separator: ".").last ?? ""
        // A setting in the wrong section, or outside of its section, is another kind of slip than a typing error.
        if let meant = NearestName.of(name, among: names)
            ?? names.first(where: { $0.split(separator: ".").last == last })
        {
            return "did you mean \(meant)?"
        }
        let section = name.split(separator: ".").dropLast().joined(separator: ".")
        let siblings = known.filter { $0.section == section }
        guard !siblings.isEmpty else {
            let sections = Set(known.map(\.section)).subtracting([""]).sorted().joined(separator: ", ")
            return "the sections are \(sections)"
        }
        let siblingNames = siblings.compactMap { $0.name.split(separator: ".").last }.joined(separator: ", ")
        return section.isEmpty ? "there are \(siblingNames), and sections" : "in \(section) there are \(siblingNames)"
    }

    // MARK: Reading

    private static func compose(_ text: String, _ path: String) throws(SettingError) -> YAMLNode? {
        do throws(YAMLError) {
            return try YAMLReader.read(text)
        } catch {
            switch error {
            case .malformed(let problem, let mark):
                throw SettingError(path, mark?.line, nil, "this is not YAML: \(problem)")
            case .repeatedKey(let name, let mark):
                throw SettingError(path, mark.line, nil, "\(name) stands more than once; keep one")
            }
        }
    }

    /// Takes settings out of YAML, and remembers what is none.
    private struct Reading {
        let path: String
        var entries: [String: Entry] = [:]
        var problems: [SettingError] = []

        init(path: String) { self.path = path }

        mutating func collect(_ mapping: YAMLMapping, under section: String?) {
            for (keyNode, value) in mapping {
                let line = keyNode.mark.line
                guard let word = keyNode.scalar?.text, !word.contains(".") else {
                    refuse(section, line, "a setting's name is a word")
                    continue
                }
                let name = section.map { "\($0).\(word)" } ?? word
                guard entries.count + problems.count < entryLimit else {
                    return refuse(name, line, "there are too many settings")
                }
                switch value {
                case .mapping(let inner) where section == nil: collect(inner, under: word)
                case .mapping: refuse(name, line, "sections have no sections")
                case .sequence(let items, _): take(items, as: name, at: line)
                case .scalar(let scalar): entries[name] = Entry(values: [scalar.text], isList: false, line: line)
                }
            }
        }

        private mutating func take(_ items: [YAMLNode], as name: String, at line: Int) {
            var values: [String] = []
            for item in items {
                guard let scalar = item.scalar else {
                    return refuse(name, item.mark.line, "a list holds plain values")
                }
                values.append(scalar.text)
            }
            entries[name] = Entry(values: values, isList: true, line: line)
        }

        private mutating func refuse(_ name: String?, _ line: Int, _ problem: String) {
            problems.append(SettingError(path, line, name, problem))
        }
    }

    private static func contents(of path: String) throws(SettingError) -> String {
        func failure(_ what: String) -> SettingError { SettingError(path, nil, nil, what, isUnreadable: true) }
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw failure(Self.explain(errno)) }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            if count < 0 {
                if errno == EINTR { continue }
                throw failure(Self.explain(errno))
            }
            guard count > 0 else { break }
            bytes += buffer.prefix(count)
            guard bytes.count <= sizeLimit else {
                throw SettingError(path, nil, nil, "it is larger than \(sizeLimit / 1024) KiB, and so no board file")
            }
        }
        guard let text = String(validating: bytes, as: UTF8.self) else {
            let line = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
                .firstIndex { String(validating: $0, as: UTF8.self) == nil }
            throw SettingError(path, line.map { $0 + 1 }, nil, "this is not UTF-8 text; save the file as UTF-8")
        }
        return text
    }

    private static func explain(_ code: Int32) -> String {
        switch code {
        case ENOENT, ENOTDIR: "there is no such file"
        case EISDIR: "this is a directory; name the file in it"
        case EACCES: "this user may not read it"
        default: String(cString: strerror(code))
        }
    }
}
