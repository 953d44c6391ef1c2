/// A fault as the table declares it: the parser, the help, the documentation and the control schema follow from it.
public struct FaultDefinition: Sendable {
    /// What it is, and its name.
    public let kind: FaultKind
    /// What it does, in a sentence with the watch, the phone or the controller as its subject.
    public let help: String
    /// What can be said about it, besides the options that every fault has.
    public let parameters: [FaultParameter]
    /// What must be there, so that it can be added.
    public let need: FaultNeed
    /// What makes it fire.
    public let occasion: FaultOccasion

    init(
        _ kind: FaultKind,
        _ help: String,
        _ occasion: FaultOccasion,
        needs need: FaultNeed = .nothing,
        _ parameters: [FaultParameter] = []
    ) {
        self.kind = kind
        self.help = help
        self.occasion = occasion
        self.need = need
        self.parameters = parameters
    }

    /// The name, as it is typed: a group, a full stop, and words with hyphens in between.
    public var name: String { kind.name }

    /// The seam where it is interposed, in a word.
    public var seam: String {
        switch kind {
        case .radio: "radio"
        case .hci: "HCI"
        case .ppogatt: "PPoGATT"
        case .message: "messages"
        case .watch: "watch"
        }
    }

    /// Looks for a fault by its name.
    public init?(named name: String) {
        guard let found = Self.all.first(where: { $0.name == name }) else { return nil }
        self = found
    }

    /// The parameter of a name; nil if the fault has none of that name.
    public subscript(key: FaultKey) -> FaultParameter? { parameters.first { $0.key == key } }
}

/// What must be there, so that a fault can be added.
public enum FaultNeed: Hashable, Sendable {
    /// Any watch has it.
    case nothing
    /// The watch's controller is a virtual one, in the watch's own process.
    case virtualAir
    /// The watch keeps its state in a directory.
    case store

    /// Why a fault is refused where this is not; nil if nothing is needed.
    public var refusal: String? {
        switch self {
        case .nothing: nil
        case .virtualAir:
            "needs a virtual air in the watch's own process, and this watch has a real controller or somebody else's air: "
                + "start it with --controller virtual"
        case .store: "needs a store, and this watch remembers nothing: start it with --state DIR"
        }
    }

    /// The column “needs” of the documentation.
    public var name: String {
        switch self {
        case .nothing: "–"
        case .virtualAir: "virtual air"
        case .store: "store"
        }
    }
}

/// What makes a fault fire.
public enum FaultOccasion: Hashable, Sendable {
    /// Each packet, message or change that it is about.
    case each
    /// The moment when it is added, or `after` is over; with `every` again and again.
    case once
    /// It holds all the time while it is there, and is told once.
    case standing

    /// The column “fires” of the documentation.
    public var name: String {
        switch self {
        case .each: "at each"
        case .once: "once"
        case .standing: "all the time"
        }
    }
}
