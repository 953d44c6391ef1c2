import PebbleProtocol

/// The phone's end of one upload by PutBytes: begin, the pieces one after the other, commit, install.
///
/// Each request is answered before the next one is sent. The machine is told of answers, and says what to send.
struct PutBytesUpload: Sendable {
    /// How much one piece brings, in bytes (libpebble3).
    static let pieceLength = 2000

    /// How far the upload is.
    enum Step: String, Sendable {
        case begin, put, commit, install
    }

    /// What an answer leads to.
    enum Progress: Sendable, Equatable {
        case send(PutBytesRequest)
        case done
        /// The watch refused a step.
        case refused(Step)
    }

    /// What is uploaded.
    let bytes: [UInt8]
    private let kind: PutBytesObject.Kind
    private let target: PutBytesObject.Target
    /// Whether it ends with a checksum that is not that of its bytes.
    private let hasWrongChecksum: Bool
    private(set) var step = Step.begin
    private(set) var token: PutBytesToken?
    /// How many bytes have been sent.
    private(set) var sent = 0

    /// An upload that has not begun. An object has at least one byte.
    init(
        _ bytes: [UInt8],
        kind: PutBytesObject.Kind,
        target: PutBytesObject.Target,
        hasWrongChecksum: Bool = false
    ) {
        self.bytes = bytes
        self.hasWrongChecksum = hasWrongChecksum
        self.kind = kind
        self.target = target
    }

    /// What begins it.
    var beginning: PutBytesRequest {
        .begin(PutBytesObject(size: UInt32(clamping: bytes.count), kind: kind, target: target))
    }

    /// Takes the watch's answer to the request before.
    mutating func receive(_ answer: PutBytesResponse) -> Progress {
        guard case .acknowledgement(let named) = answer else { return .refused(step) }
        switch step {
        case .begin:
            token = named
            step = .put
            return .send(nextPiece(of: named))
        case .put:
            guard let token else { return .refused(step) }
            guard sent == bytes.count else { return .send(nextPiece(of: token)) }
            step = .commit
            let checksum = LegacyChecksum.checksum(of: bytes)
            return .send(.commit(token, crc: hasWrongChecksum ? ~checksum : checksum))
        case .commit:
            guard let token else { return .refused(step) }
            step = .install
            return .send(.install(token))
        case .install:
            return .done
        }
    }

    private mutating func nextPiece(of token: PutBytesToken) -> PutBytesRequest {
        let piece = bytes[sent..<min(sent + Self.pieceLength, bytes.count)]
        sent += piece.count
        return .put(PutBytesPiece(token: token, data: piece))
    }
}
