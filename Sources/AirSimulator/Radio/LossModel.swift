/// How packets get lost between two radios.
public enum LossModel: Hashable, Sendable {
    /// Every packet arrives.
    case none
    /// Each packet is lost with the same probability, independent of earlier ones.
    case uniform(probability: Double)
    /// Losses come in bursts, as with a hand over an antenna or a Wi-Fi neighbour.
    case bursty(GilbertElliott)
    /// More or less gets lost as the radios walk apart or together, beginning when the model is set.
    case fading(DistanceFade)
    /// Nothing arrives: out of range, or in a metal box.
    case total

    /// Whether any packet may get lost at all.
    var isPossible: Bool {
        switch self {
        case .none: false
        case .uniform(let probability): probability > 0
        case .bursty(let burst): burst.lossWhenGood > 0 || burst.lossWhenBad > 0
        case .fading, .total: true
        }
    }

    /// Whether no packet can ever arrive.
    var isTotal: Bool {
        switch self {
        case .none: false
        case .uniform(let probability): probability >= 1
        case .bursty(let burst): burst.lossWhenGood >= 1 && burst.lossWhenBad >= 1
        case .fading: false
        case .total: true
        }
    }
}

/// The Gilbert-Elliott channel: a good and a bad state that alternate in time, each with its own loss.
///
/// The state changes in steps of one millisecond, with the probabilities that give the mean durations.
public struct GilbertElliott: Hashable, Sendable {
    /// How long the channel stays good on average; at least one millisecond.
    public var meanGood: Duration
    /// How long it stays bad on average; at least one millisecond.
    public var meanBad: Duration
    /// The probability that a packet is lost while the channel is good.
    public var lossWhenGood: Double
    /// The probability that a packet is lost while it is bad.
    public var lossWhenBad: Double

    /// A channel that loses everything while bad and nothing while good, unless said otherwise.
    public init(meanGood: Duration, meanBad: Duration, lossWhenGood: Double = 0, lossWhenBad: Double = 1) {
        self.meanGood = meanGood
        self.meanBad = meanBad
        self.lossWhenGood = lossWhenGood
        self.lossWhenBad = lossWhenBad
    }
}

/// What the radios of two controllers are to each other.
public struct LinkQuality: Hashable, Sendable {
    /// How packets get lost, in both directions.
    public var loss: LossModel
    /// The signal strength that each side measures, in dBm; while they walk, that at one metre.
    public var rssi: Int8

    /// A quality; a strong signal without loss unless said otherwise.
    public init(loss: LossModel = .none, rssi: Int8 = -50) {
        self.loss = loss
        self.rssi = rssi
    }

    /// Next to each other, nothing lost.
    public static let perfect = LinkQuality()
    /// Out of each other's range.
    public static let outOfRange = LinkQuality(loss: .total, rssi: -120)
}

/// A loss model at work: decides about one packet after the other.
struct LossProcess: Sendable {
    private(set) var model: LossModel
    private var random: SeededRandom
    /// Fading only: when the walk began.
    private var since: Microseconds
    /// Gilbert-Elliott only: whether the channel was bad when it was last looked at.
    private var isBad = false
    /// Gilbert-Elliott only: the millisecond when it was last looked at; nil before that.
    private var lastSlot: Int64?

    init(_ model: LossModel, since: Microseconds, random: SeededRandom) {
        self.model = model
        self.since = since
        self.random = random
    }

    /// Changes the model from `now` on.
    mutating func setModel(_ new: LossModel, at now: Microseconds) {
        model = new
        since = now
        isBad = false
        lastSlot = nil
    }

    mutating func reseed(_ new: SeededRandom) { random = new }

    /// Whether the packet that ends at `moment` is lost.
    mutating func losesPacket(at moment: Microseconds) -> Bool {
        switch model {
        case .none: false
        case .total: true
        case .uniform(let probability): random.chance(probability)
        case .bursty(let burst):
            advance(burst, to: moment)
                ? random.chance(burst.lossWhenBad)
                : random.chance(burst.lossWhenGood)
        case .fading(let fade): random.chance(fade.loss(after: (moment - since).duration))
        }
    }

    /// Lets the channel's state evolve over any stretch at once, and tells whether it is bad now.
    ///
    /// After n steps a two-state chain is bad with probability s + (b - s)·r^n, where s is its long-run share of bad
    /// time, b is 1 or 0 as it was bad or good before, and r = 1 - p(good to bad) - p(bad to good).
    private mutating func advance(_ burst: GilbertElliott, to moment: Microseconds) -> Bool {
        let slot = moment.count / 1000
        let toBad = Self.leavingProbability(mean: burst.meanGood)
        let toGood = Self.leavingProbability(mean: burst.meanBad)
        let share = toBad / (toBad + toGood)
        let probability: Double
        if let lastSlot {
            let steps = max(0, slot - lastSlot)
            if steps == 0 { return isBad }
            let before = isBad ? 1.0 : 0.0
            probability = share + (before - share) * Double.power(1 - toBad - toGood, steps)
        } else {
            probability = share
        }
        lastSlot = max(slot, lastSlot ?? slot)
        isBad = random.chance(probability)
        return isBad
    }

    private static func leavingProbability(mean: Duration) -> Double {
        min(1, 1 / max(1, mean / .milliseconds(1)))
    }
}
