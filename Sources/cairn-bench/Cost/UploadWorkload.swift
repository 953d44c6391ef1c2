import PebblePhone
import PebbleProtocol

/// A language pack that a phone uploads to the watch by PutBytes: both hosts and the air between them, and a store that takes
/// everything at once.
struct UploadWorkload: Workload {
    /// How long the file is, in bytes.
    static let byteCount = 65536
    /// How much one piece brings, in bytes (libpebble3).
    private static let pieceByteCount = 2000

    private var pair: WatchAndPhone
    private let bytes: [UInt8]
    private let checksum: UInt32

    init(_ transport: PhoneTransport) throws {
        pair = try WatchAndPhone(transport)
        bytes = (0..<Self.byteCount).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        checksum = LegacyChecksum.checksum(of: bytes)
    }

    mutating func run(_ count: Int) throws(WorkloadFailure) {
        for _ in 0..<count { try upload() }
    }

    private mutating func upload() throws(WorkloadFailure) {
        let object = PutBytesObject(
            size: UInt32(Self.byteCount),
            kind: .file,
            target: .bank(0, fileName: "lang")
        )
        let token = try accepted(.begin(object))
        for start in stride(from: 0, to: bytes.count, by: Self.pieceByteCount) {
            let piece = bytes[start..<min(start + Self.pieceByteCount, bytes.count)]
            _ = try accepted(.put(PutBytesPiece(token: token, data: piece)))
        }
        _ = try accepted(.commit(token, crc: checksum))
        _ = try accepted(.install(token))
    }

    private mutating func accepted(_ request: PutBytesRequest) throws(WorkloadFailure) -> PutBytesToken {
        let answer = try pair.ask(PebbleMessage(request)) { message in
            message.endpoint == PutBytesResponse.endpoint ? try? PutBytesResponse(payload: message.payload) : nil
        }
        guard case .acknowledgement(let token) = answer else {
            throw WorkloadFailure("the watch refused the upload")
        }
        return token
    }
}
