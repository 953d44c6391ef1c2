extension Duration? {
    /// Takes another deadline if it comes earlier; nil is none. Deadlines are asked for at every step, and this costs
    /// no array.
    mutating func lower(to other: Duration?) {
        guard let other else { return }
        self = self.map { min($0, other) } ?? other
    }

    /// The earlier of two deadlines.
    func earlier(_ other: Duration?) -> Duration? {
        var earliest = self
        earliest.lower(to: other)
        return earliest
    }
}
