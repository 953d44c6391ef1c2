/// A place in a text.
package struct YAMLMark: Hashable, Sendable {
    /// From 1.
    package let line: Int
    /// In code points, from 1.
    package let column: Int
}

/// A value of a YAML document, as it is written: a scalar is its text, whatever type it looks like.
package indirect enum YAMLNode: Sendable {
    case scalar(YAMLScalar)
    case sequence([YAMLNode], YAMLMark)
    case mapping(YAMLMapping)

    /// Where it begins.
    package var mark: YAMLMark {
        switch self {
        case .scalar(let scalar): scalar.mark
        case .sequence(_, let mark): mark
        case .mapping(let mapping): mapping.mark
        }
    }

    /// The scalar that it is; nil for another kind of node.
    package var scalar: YAMLScalar? {
        if case .scalar(let scalar) = self { scalar } else { nil }
    }

    /// The elements of the sequence that it is; nil for another kind of node.
    package var sequence: [YAMLNode]? {
        if case .sequence(let nodes, _) = self { nodes } else { nil }
    }

    /// The mapping that it is; nil for another kind of node.
    package var mapping: YAMLMapping? {
        if case .mapping(let mapping) = self { mapping } else { nil }
    }
}

/// A text.
package struct YAMLScalar: Sendable {
    /// What it says, without quotation marks and escapes.
    package let text: String
    /// Whether it is written without quotation marks, `|` or `>`: only then it can mean something else than text.
    package let isPlain: Bool
    /// Where it begins.
    package let mark: YAMLMark
}

/// Values by keys, in the order in which they are written. No two keys are the same text.
package struct YAMLMapping: Sendable, Sequence {
    /// A key and its value.
    package typealias Element = (key: YAMLNode, value: YAMLNode)

    private let pairs: [Element]
    /// Where it begins.
    package let mark: YAMLMark

    init(_ pairs: [Element], _ mark: YAMLMark) {
        self.pairs = pairs
        self.mark = mark
    }

    package func makeIterator() -> IndexingIterator<[Element]> { pairs.makeIterator() }

    /// The value of a key that is a text.
    package subscript(key: String) -> YAMLNode? { pairs.first { $0.key.scalar?.text == key }?.value }
}
