/// Which buttons are down, from the edges of their lines.
///
/// A button that is down when the watch starts counts only once it has been let go: a wire that is not connected, or a
/// button that is stuck, must not forget a phone.
public struct HeldLines: Sendable {
    /// The lines that are down and count.
    public private(set) var held: Set<UInt32> = []
    /// The lines that were down at the start and have not been let go.
    public private(set) var stuck: Set<UInt32>

    /// - Parameter active: the lines that are active at the start.
    public init(active: Set<UInt32> = []) { stuck = active }

    /// Takes an edge.
    /// - Returns: whether `held` has changed.
    public mutating func receive(_ edge: GPIOEdge) -> Bool {
        guard edge.isActive else {
            stuck.remove(edge.line)
            return held.remove(edge.line) != nil
        }
        guard !stuck.contains(edge.line) else { return false }
        return held.insert(edge.line).inserted
    }
}
