import CYAML

/// Reads YAML 1.1 with libyaml, which turns a text into events; this makes a tree of them that knows its lines and columns.
///
/// Aliases stand for what they name. What a text can grow to by them is bounded, and so is how deep it may be nested.
package struct YAMLReader {
    /// How many collections may be around a value.
    static let depthLimit = 100
    /// The most values of a document, those that aliases repeat among them: several for each of the longest text's bytes that say
    /// anything. A few lines of aliases can stand for more values than anybody can wait for.
    static let valueLimit = 100_000

    /// Reads the one document of a text.
    /// - Returns: nil if there is none: the text is empty, or has comments only.
    package static func read(_ text: String) throws(YAMLError) -> YAMLNode? {
        let bytes = Array(text.utf8)
        let result = bytes.withUnsafeBufferPointer { bytes -> Result<YAMLNode?, YAMLError> in
            var reader = YAMLReader(YAMLEvents(of: bytes))
            do throws(YAMLError) {
                return .success(try reader.readDocument())
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    /// What an alias stands for.
    private struct Anchored {
        let node: YAMLNode
        let count: Int
    }

    private let events: YAMLEvents
    private var anchors: [String: Anchored] = [:]
    /// The values so far.
    private var count = 0

    private init(_ events: YAMLEvents) { self.events = events }

    private mutating func readDocument() throws(YAMLError) -> YAMLNode? {
        guard try events.next().kind == .streamStart else { return nil }
        guard try events.next().kind == .documentStart else { return nil }
        let node = try readNode(try events.next(), depth: 0)
        _ = try events.next()
        let end = try events.next()
        guard end.kind == .streamEnd else {
            throw .malformed(problem: "but found another document", mark: end.mark)
        }
        return node
    }

    private mutating func readNode(_ event: YAMLEvents.Event, depth: Int) throws(YAMLError) -> YAMLNode {
        guard depth <= Self.depthLimit else {
            throw .malformed(problem: "more than \(Self.depthLimit) collections are nested", mark: event.mark)
        }
        let before = count
        let node: YAMLNode
        switch event.kind {
        case .scalar(let text, let isPlain):
            node = .scalar(YAMLScalar(text: text, isPlain: isPlain, mark: event.mark))
        case .sequenceStart: node = try readSequence(event.mark, depth)
        case .mappingStart: node = try readMapping(event.mark, depth)
        case .alias(let name):
            guard let anchored = anchors[name] else {
                throw .malformed(problem: "found undefined alias", mark: event.mark)
            }
            try add(anchored.count, event.mark)
            return anchored.node
        case .streamStart, .streamEnd, .documentStart, .documentEnd, .sequenceEnd, .mappingEnd:
            // libyaml's grammar has none of them where a value stands.
            throw .malformed(problem: "a value is missing", mark: event.mark)
        }
        try add(1, event.mark)
        if let anchor = event.anchor { anchors[anchor] = Anchored(node: node, count: count - before) }
        return node
    }

    private mutating func add(_ values: Int, _ mark: YAMLMark) throws(YAMLError) {
        count += values
        guard count <= Self.valueLimit else {
            let problem = "there are more than \(Self.valueLimit) values, with those that aliases repeat"
            throw .malformed(problem: problem, mark: mark)
        }
    }

    private mutating func readSequence(_ mark: YAMLMark, _ depth: Int) throws(YAMLError) -> YAMLNode {
        var nodes: [YAMLNode] = []
        while true {
            let event = try events.next()
            if event.kind == .sequenceEnd { return .sequence(nodes, mark) }
            nodes.append(try readNode(event, depth: depth + 1))
        }
    }

    private mutating func readMapping(_ mark: YAMLMark, _ depth: Int) throws(YAMLError) -> YAMLNode {
        var pairs: [YAMLMapping.Element] = []
        var names: Set<String> = []
        while true {
            let event = try events.next()
            if event.kind == .mappingEnd { return .mapping(YAMLMapping(pairs, mark)) }
            let key = try readNode(event, depth: depth + 1)
            if let name = key.scalar?.text, !names.insert(name).inserted {
                throw .repeatedKey(name, mark: event.mark)
            }
            pairs.append((key, try readNode(try events.next(), depth: depth + 1)))
        }
    }
}
