import CYAML

/// libyaml's parser, and what it finds in a text: one event after the other.
final class YAMLEvents {
    /// A part of a document.
    struct Event {
        /// What was found.
        enum Kind: Equatable {
            case streamStart
            case streamEnd
            case documentStart
            case documentEnd
            case alias(String)
            case scalar(String, isPlain: Bool)
            case sequenceStart
            case sequenceEnd
            case mappingStart
            case mappingEnd
        }

        let kind: Kind
        /// The name by which an alias can repeat it; nil for none.
        let anchor: String?
        /// Where it begins.
        let mark: YAMLMark
    }

    /// libyaml keeps pointers into it: it stays where it is.
    private let parser: UnsafeMutablePointer<yaml_parser_t>

    /// Begins a text.
    /// - Parameter text: UTF-8, which is there as long as this is.
    init(of text: UnsafeBufferPointer<UInt8>) {
        parser = .allocate(capacity: 1)
        parser.initialize(to: yaml_parser_t())
        yaml_parser_initialize(parser)
        yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
        yaml_parser_set_input_string(parser, text.baseAddress, text.count)
    }

    deinit {
        yaml_parser_delete(parser)
        parser.deallocate()
    }

    /// The next event. After the end of the stream there is that end again.
    func next() throws(YAMLError) -> Event {
        var event = yaml_event_t()
        guard yaml_parser_parse(parser, &event) == 1 else { throw failure }
        defer { yaml_event_delete(&event) }
        return Event(event)
    }

    private var failure: YAMLError {
        let problem = parser.pointee.problem.map { String(cString: $0) } ?? "there is no memory left"
        // Of bytes that are no text libyaml says no line.
        let isPlaced = parser.pointee.error == YAML_SCANNER_ERROR || parser.pointee.error == YAML_PARSER_ERROR
        return .malformed(problem: problem, mark: isPlaced ? YAMLMark(parser.pointee.problem_mark) : nil)
    }
}

extension YAMLEvents.Event {
    fileprivate init(_ event: yaml_event_t) {
        mark = YAMLMark(event.start_mark)
        switch event.type {
        case YAML_STREAM_START_EVENT: (kind, anchor) = (.streamStart, nil)
        case YAML_DOCUMENT_START_EVENT: (kind, anchor) = (.documentStart, nil)
        case YAML_DOCUMENT_END_EVENT: (kind, anchor) = (.documentEnd, nil)
        case YAML_ALIAS_EVENT: (kind, anchor) = (.alias(Self.text(event.data.alias.anchor) ?? ""), nil)
        case YAML_SCALAR_EVENT:
            let scalar = event.data.scalar
            let bytes = UnsafeBufferPointer(start: scalar.value, count: scalar.length)
            let isPlain = scalar.style == YAML_PLAIN_SCALAR_STYLE
            kind = .scalar(String(decoding: bytes, as: UTF8.self), isPlain: isPlain)
            anchor = Self.text(scalar.anchor)
        case YAML_SEQUENCE_START_EVENT: (kind, anchor) = (.sequenceStart, Self.text(event.data.sequence_start.anchor))
        case YAML_SEQUENCE_END_EVENT: (kind, anchor) = (.sequenceEnd, nil)
        case YAML_MAPPING_START_EVENT: (kind, anchor) = (.mappingStart, Self.text(event.data.mapping_start.anchor))
        case YAML_MAPPING_END_EVENT: (kind, anchor) = (.mappingEnd, nil)
        // The end of the stream, and after it libyaml's event without a type.
        default: (kind, anchor) = (.streamEnd, nil)
        }
    }

    private static func text(_ anchor: UnsafeMutablePointer<yaml_char_t>?) -> String? {
        anchor.map { String(cString: $0) }
    }
}

extension YAMLMark {
    /// libyaml counts from 0.
    fileprivate init(_ mark: yaml_mark_t) { self.init(line: mark.line + 1, column: mark.column + 1) }
}
