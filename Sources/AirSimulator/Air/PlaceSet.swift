/// A set of places in an array: a bit each, so that finding the next one costs next to nothing however many there are.
///
/// Its members come in rising order, so that what is done for each of them is done in an order that is always the same.
struct PlaceSet: Sendable, Sequence {
    private var words: [UInt64] = []

    var isEmpty: Bool { next(from: 0) == nil }

    func contains(_ place: Int) -> Bool {
        let word = place >> 6
        return word < words.count && words[word] & (1 << (place & 63)) != 0
    }

    mutating func insert(_ place: Int) {
        let word = place >> 6
        while words.count <= word { words.append(0) }
        words[word] |= 1 << (place & 63)
    }

    mutating func remove(_ place: Int) {
        let word = place >> 6
        if word < words.count { words[word] &= ~(1 << (place & 63)) }
    }

    /// Makes a place a member, or takes it out.
    mutating func set(_ place: Int, _ isMember: Bool) {
        guard isMember != contains(place) else { return }
        if isMember { insert(place) } else { remove(place) }
    }

    /// The first member at or behind a place; nil if there is none.
    func next(from place: Int) -> Int? {
        var index = place >> 6
        guard index < words.count else { return nil }
        var word = words[index] & (~0 << (place & 63))
        while word == 0 {
            index += 1
            guard index < words.count else { return nil }
            word = words[index]
        }
        return index << 6 | word.trailingZeroBitCount
    }

    /// The members as they are now, whatever becomes of the set meanwhile.
    func makeIterator() -> Iterator { Iterator(set: self) }

    struct Iterator: IteratorProtocol {
        let set: PlaceSet
        private var place = 0

        init(set: PlaceSet) { self.set = set }

        mutating func next() -> Int? {
            guard let found = set.next(from: place) else { return nil }
            place = found + 1
            return found
        }
    }
}
