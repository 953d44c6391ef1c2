/// A few values by key, in the order in which the keys came.
///
/// It reads like a dictionary, and is for values that are large, few, and touched by every packet: they stay where they
/// are while they are looked at and changed, where a dictionary's accessors copy a value, or move it out and back through
/// memory that they allocate. Finding one takes time in proportion to how many there are.
struct SmallTable<Key: Equatable, Value> {
    /// The keys. They can be gone through while values change, keys leave and others come.
    private(set) var keys: [Key] = []
    /// The value of each key, and behind them nil, which every other key has.
    private var places: [Value?] = [nil]

    /// A table of nothing.
    init() {}

    var isEmpty: Bool { keys.isEmpty }

    /// Copies of the values, in the order of the keys.
    var values: some Sequence<Value> { places.lazy.compactMap { $0 } }

    subscript(key: Key) -> Value? {
        // Neither keeps a value nor runs another accessor: what an accessor needs beyond four words is allocated.
        _read {
            let span = places.span
            yield span[place(of: key)]
        }
        _modify {
            let place = placeOrNew(of: key)
            defer { removeIfEmpty(place) }
            var span = places.mutableSpan
            yield &span[place]
        }
    }

    /// Shows every value where it stands. Reading one through the subscript copies what its optional holds.
    mutating func forEachInPlace(_ body: (inout Value?) -> Void) {
        for place in keys.indices { body(&places[place]) }
    }

    /// Changes the value of a key where it stands; it is nil if the key has none.
    ///
    /// Unlike the subscript, it neither makes room for a key that has no value nor looks afterwards whether the value has been taken
    /// away, and costs half as much: it is for what every packet changes. `body` gives no value, and takes none away.
    @inline(__always)
    mutating func change<Result>(_ key: Key, _ body: (inout Value?) -> Result) -> Result {
        body(&places[place(of: key)])
    }

    /// Takes a value out.
    mutating func removeValue(forKey key: Key) -> Value? {
        guard let index = keys.firstIndex(of: key) else { return nil }
        keys.remove(at: index)
        return places.remove(at: index)
    }

    private func place(of key: Key) -> Int {
        var place = 0
        while place < keys.count, keys[place] != key { place += 1 }
        return place
    }

    @inline(never)
    private mutating func placeOrNew(of key: Key) -> Int {
        let place = place(of: key)
        if place == keys.count {
            keys.append(key)
            places.append(nil)
        }
        return place
    }

    /// A key that has got no value, or lost it, leaves.
    @inline(never)
    private mutating func removeIfEmpty(_ place: Int) {
        guard places[place] == nil else { return }
        keys.remove(at: place)
        places.remove(at: place)
    }
}

extension SmallTable: Sendable where Key: Sendable, Value: Sendable {}

extension SmallTable: Sequence {
    func makeIterator() -> some IteratorProtocol<(key: Key, value: Value)> {
        zip(keys, places).lazy.compactMap { key, value in value.map { (key: key, value: $0) } }.makeIterator()
    }
}
