import PebbleProtocol

/// Which upload the firmware has open, as its answers tell: it is given up when the phone that brings it leaves.
///
/// The firmware would wait for its next piece for half a minute, and refuse what the next phone brings meanwhile.
struct UploadTrace: Sendable {
    /// Whether an upload was begun that the firmware has not answered yet.
    private(set) var isBeginning = false
    /// Whether the firmware was given more time to answer that.
    var isWaitedFor = false
    /// The upload's name, once the firmware has given it one.
    private var token: PutBytesToken?
    /// How many of its bytes have not been sent.
    private var left: UInt32 = 0

    /// A file of one byte, which is never sent. Its name is no file's of the firmware.
    private static let probe = PutBytesObject(size: 1, kind: .file, target: .bank(0, fileName: "cairn"))

    /// Begins an upload that is given up as soon as it has a name.
    ///
    /// The firmware may have one open that nobody remembers, because the process was killed that brought it. A second beginning
    /// is refused and costs the firmware the first; without a first one it is accepted, and given up. So there is none afterwards.
    mutating func begin() -> PebbleMessage {
        let message = PebbleMessage(PutBytesRequest.begin(Self.probe))
        self = UploadTrace()
        sent(message.payload)
        return message
    }

    /// The phone has sent a message of PutBytes, well-formed or not.
    /// - Returns: the upload's name if it is a piece of it that the firmware has every reason to take.
    @discardableResult
    mutating func sent(_ payload: [UInt8]) -> PutBytesToken? {
        switch try? PutBytesRequest(payload: payload) {
        case .begin(let object):
            isBeginning = true
            token = nil
            left = object.size
        case .abort, .install: token = nil
        case .put(let piece):
            guard piece.token == token, piece.data.count == piece.declaredLength, piece.declaredLength <= left,
                payload.count <= PutBytesRequest.maximumLength
            else { return nil }
            left -= piece.declaredLength
            return token
        case .commit: left = 0
        case nil: break
        }
        return nil
    }

    /// The firmware has answered one.
    mutating func answered(_ payload: [UInt8]) {
        switch try? PutBytesResponse(payload: payload) {
        case .acknowledgement(let name):
            if isBeginning { token = name }
            isBeginning = false
        case .negativeAcknowledgement:
            // It may go on all the same. To give up one that does not costs nothing.
            isBeginning = false
            left = 0
        case nil: break
        }
    }

    /// Takes the message that gives the upload up; nil if none is open.
    mutating func takeAbort() -> PebbleMessage? {
        defer { token = nil }
        return token.map { PebbleMessage(PutBytesRequest.abort($0)) }
    }
}
