import Yams

/// How much a YAML text may say: an alias repeats what its anchor has, so that a few lines can stand for more values than anybody
/// can wait for.
package enum YAMLValues {
    /// The most values of a file, those that aliases repeat among them: several for each of the longest file's bytes that say anything.
    package static let limit = 100_000
    /// What a person is told of a file with more.
    package static let refusal = "there are more than \(limit) values, with those that aliases repeat"

    /// Whether a file has no more values than are read. No more than those are counted.
    package static func areFew(in node: Node) -> Bool {
        var left = limit
        count(node, &left)
        return left >= 0
    }

    private static func count(_ node: Node, _ left: inout Int) {
        left -= 1
        guard left >= 0 else { return }
        switch node {
        case .scalar, .alias: break
        case .sequence(let nodes): for node in nodes where left >= 0 { count(node, &left) }
        case .mapping(let pairs):
            for (key, value) in pairs where left >= 0 {
                count(key, &left)
                count(value, &left)
            }
        }
    }
}
