/// An attribute's value in a declaration: bytes that the database keeps, or word that the owner is to be asked.
public struct AttributeValue: Sendable, Hashable {
    enum Source: Sendable, Hashable {
        case stored([UInt8])
        case owner
        case clientSupportedFeatures
    }

    var source: Source
    /// The most bytes that the value may have.
    package var maximumLength: Int
    /// Whether the value always has its first length: shorter writes then change only the bytes that they bring
    /// (Core 5.4, Vol 3, Part F, 3.4.5.1).
    package var isFixedLength: Bool

    private init(_ source: Source, maximumLength: Int, isFixedLength: Bool) {
        self.source = source
        self.maximumLength = maximumLength
        self.isFixedLength = isFixedLength
    }

    /// Bytes that the database keeps, and that can grow to `maximumLength`.
    public static func bytes(_ bytes: [UInt8], maximumLength: Int = ATT.maximumValueLength) -> AttributeValue {
        AttributeValue(.stored(bytes), maximumLength: maximumLength, isFixedLength: false)
    }

    /// Bytes that the database keeps, and that never change in number.
    public static func fixedLength(_ bytes: [UInt8]) -> AttributeValue {
        AttributeValue(.stored(bytes), maximumLength: bytes.count, isFixedLength: true)
    }

    /// Text that the database keeps as UTF-8.
    public static func text(_ text: String) -> AttributeValue { bytes(Array(text.utf8)) }

    /// The owner answers every read and takes every write, of at most `maximumLength` bytes.
    public static func askOwner(maximumLength: Int) -> AttributeValue {
        AttributeValue(.owner, maximumLength: maximumLength, isFixedLength: false)
    }

    /// The owner answers every read and takes every write.
    public static let askOwner = askOwner(maximumLength: ATT.maximumValueLength)

    /// The value of the Client Supported Features characteristic, which each client has for itself
    /// (Core 5.4, Vol 3, Part G, 7.2). Its first byte has all the bits that there are.
    package static let clientSupportedFeatures = AttributeValue(
        .clientSupportedFeatures,
        maximumLength: ATT.maximumValueLength,
        isFixedLength: false
    )
}

extension AttributeValue: ExpressibleByArrayLiteral, ExpressibleByStringLiteral {
    public init(arrayLiteral bytes: UInt8...) { self = .bytes(bytes) }
    public init(stringLiteral text: String) { self = .text(text) }
}
