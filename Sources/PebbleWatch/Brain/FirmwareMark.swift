import PebbleProtocol

/// A question of the watch's own, whose answer says that the firmware has gone on from all that it was asked before: a command to a
/// database that no firmware has, which is answered in its turn, by name, and shows nothing.
///
/// A ping would do, but the firmware shows a window for each, and has no memory for more than some 220.
struct FirmwareMark: Hashable, Sendable {
    /// Who asks: what the names of the questions begin with.
    enum Asker: UInt16, Sendable {
        case bridge = 0xCB00
        case mirror = 0xCC00
    }

    /// Who has asked.
    let asker: Asker
    private let number: UInt8

    private static let database = BlobDBDatabase(rawValue: 0xFF)

    init(_ asker: Asker, number: UInt8) {
        self.asker = asker
        self.number = number
    }

    /// The one that a message answers; nil if it answers none. While an update of the firmware is under way every command is put
    /// off, that one too.
    init?(answeredBy message: PebbleMessage) {
        guard message.endpoint == .blobDB, let answer = try? BlobDBResponse(payload: message.payload),
            [.invalidDatabase, .tryLater].contains(answer.status),
            let asker = Asker(rawValue: answer.token.rawValue & 0xFF00)
        else { return nil }
        self.asker = asker
        number = UInt8(truncatingIfNeeded: answer.token.rawValue)
    }

    /// What the firmware is asked.
    var question: PebbleMessage {
        let token = BlobDBToken(rawValue: asker.rawValue | UInt16(number))
        return PebbleMessage(BlobDBRequest(token: token, command: .clear(Self.database)))
    }
}
