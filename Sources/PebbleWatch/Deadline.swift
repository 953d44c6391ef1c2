extension Duration? {
    /// Takes another deadline if it comes earlier; nil is none. Asking for deadlines happens at every step, and costs no array so.
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
