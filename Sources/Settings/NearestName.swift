/// Finds the name that was meant when there is a typing error.
public enum NearestName {
    /// The name that is nearest to a word, if any is near: one typing error in three letters, at most three in all.
    /// - Parameter names: in the order of preference among those that are equally near.
    public static func of(_ word: String, among names: [String]) -> String? {
        let letters = Array(word.lowercased())
        let limit = min(max(letters.count / 3, 1), 3)
        var best: (name: String, distance: Int)?
        for name in names {
            let other = Array(name.lowercased())
            guard abs(other.count - letters.count) <= limit else { continue }
            let distance = typingErrors(letters, other)
            if distance <= limit, distance < best?.distance ?? .max { best = (name, distance) }
        }
        return best?.name
    }

    /// The question whether that name was meant, to stand at the end of a sentence; empty if no name is near.
    public static func question(_ word: String, among names: [String]) -> String {
        of(word, among: names).map { "; did you mean \($0)?" } ?? ""
    }

    /// How many letters were left out, added, mistaken, or swapped with their neighbour: the optimal string alignment
    /// distance.
    static func typingErrors(_ first: [Character], _ second: [Character]) -> Int {
        var beforePrevious: [Int] = []
        var previous = Array(0...second.count)
        for (row, letter) in first.enumerated() {
            var current = [row + 1]
            for (column, other) in second.enumerated() {
                var count = min(
                    previous[column] + (letter == other ? 0 : 1),
                    previous[column + 1] + 1,
                    current[column] + 1
                )
                if row > 0, column > 0, letter == second[column - 1], first[row - 1] == other {
                    count = min(count, beforePrevious[column - 1] + 1)
                }
                current.append(count)
            }
            beforePrevious = previous
            previous = current
        }
        return previous.last ?? 0
    }
}
