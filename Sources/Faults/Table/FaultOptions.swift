/// What can be said about every fault, whatever it does.
extension FaultParameter {
    private static let longest = Duration.seconds(7 * 86_400)

    /// The options, in the order in which they are listed.
    public static let options: [FaultParameter] = [
        .time(.for, .milliseconds(1)...longest, "how long it is there; without it, until it is cleared"),
        .time(.after, .zero...longest, default: .zero, "the time before it begins"),
        .number(.skip, 0...1_000_000, default: 0, "how many occasions pass before its first one"),
        .number(.count, 1...1_000_000, "how often it fires, at the most"),
        .time(.every, .milliseconds(1)...longest, "the least time between two of its firings"),
        Self(
            .probability,
            .fraction,
            nil,
            "the probability that it fires at an occasion, above 0 and up to 1; without it, 1"
        ),
        .number(.seed, 0...Int(Int32.max), default: 0, "what determines the chances of probability"),
        Self(.phone, .address, nil, "the phone that it is for, by its address; without it, all phones"),
    ]
}
