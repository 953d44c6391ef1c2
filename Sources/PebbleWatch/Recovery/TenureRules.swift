/// How long links may stay that are not encrypted, and who is waited for beside them: the one table of these limits.
/// `Docs/security.md` has it too.
struct TenureRules: Sendable, Equatable {
    /// How long a link may be there, or be without progress; nil for as long as it likes.
    var patience: Duration?
    /// Whether progress begins that time again: a request of the phone's that it had not sent before on this link, or a pairing
    /// that goes on. Where it does not, a pairing that goes on still is waited for.
    var countsProgress: Bool
    /// How long a link may be unencrypted in all, whatever happens on it; nil for as long as it likes.
    var limit: Duration?
    /// What patience comes down to with those who come again and again; nil if it stays as it is.
    var shortestPatience: Duration?
    /// Whether a bonded phone is waited for, beside the links of others, and ends those when it comes.
    var isOwnerAwaited: Bool

    /// A phone is bonded and waited for.
    static let owned = TenureRules(
        patience: .seconds(30),
        countsProgress: false,
        limit: .seconds(90),
        shortestPatience: .seconds(1),
        isOwnerAwaited: true
    )
    /// No phone is bonded, or a person has opened the pairing window.
    static let welcoming = TenureRules(
        patience: .seconds(60),
        countsProgress: true,
        limit: .seconds(600),
        shortestPatience: .seconds(8),
        isOwnerAwaited: false
    )
    /// A bench, where anybody may come at any time, or a watch that does not bond.
    static func bench(isOwnerAwaited: Bool) -> TenureRules {
        TenureRules(
            patience: .seconds(600),
            countsProgress: true,
            limit: nil,
            shortestPatience: nil,
            isOwnerAwaited: isOwnerAwaited
        )
    }
    /// Plain links are what the watch is used by.
    static let unlimited = TenureRules(
        patience: nil,
        countsProgress: true,
        limit: nil,
        shortestPatience: nil,
        isOwnerAwaited: false
    )
}

/// Why a link was ended that had not earned its place.
public enum TenureEnd: Sendable, Hashable {
    /// It was not encrypted in time, although a phone is bonded.
    case notEncrypted(after: Duration)
    /// Nothing new happened on it.
    case noProgress(for: Duration)
    /// It was not encrypted in all the time there is for that.
    case unencryptedFor(Duration)
    /// The bonded phone has come.
    case ownerIsHere
}

extension TenureEnd: CustomStringConvertible {
    public var description: String {
        switch self {
        case .notEncrypted(let time): "it was not encrypted within \(time.inSeconds), and a phone is bonded"
        case .noProgress(let time): "nothing new happened on it for \(time.inSeconds)"
        case .unencryptedFor(let time): "it was not encrypted for \(time.inSeconds)"
        case .ownerIsHere: "the bonded phone has come"
        }
    }
}
