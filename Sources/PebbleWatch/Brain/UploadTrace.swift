import PebbleProtocol

/// Which upload the firmware has open, as its answers tell: it is given up when the phone that brings it leaves.
///
/// The firmware would wait for its next piece for half a minute, and refuse what the next phone brings meanwhile.
struct UploadTrace: Sendable {
    /// Whether an upload was begun that the firmware has not answered yet.
    private(set) var isBeginning = false
    /// The upload's name, once the firmware has given it one.
    private var token: PutBytesToken?

    /// The phone has sent a message of PutBytes, well-formed or not.
    mutating func sent(_ payload: [UInt8]) {
        switch try? PutBytesRequest(payload: payload) {
        case .begin:
            isBeginning = true
            token = nil
        case .abort, .install: token = nil
        case .put, .commit, nil: break
        }
    }

    /// The firmware has answered one.
    mutating func answered(_ payload: [UInt8]) {
        switch try? PutBytesResponse(payload: payload) {
        case .acknowledgement(let name):
            if isBeginning { token = name }
            isBeginning = false
        case .negativeAcknowledgement:
            isBeginning = false
            token = nil
        case nil: break
        }
    }

    /// Takes the message that gives the upload up; nil if none is open.
    mutating func takeAbort() -> PebbleMessage? {
        defer { token = nil }
        return token.map { PebbleMessage(PutBytesRequest.abort($0)) }
    }
}
