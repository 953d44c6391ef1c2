import Testing

@testable import PebbleWatch

@Suite("The table of a few values: keys keep the order in which they came")
struct SmallTableTests {
    /// Numbers under texts: b, a, and d, after c has left.
    private func table() -> SmallTable<String, Int> {
        var table = SmallTable<String, Int>()
        table["b"] = 2
        table["c"] = 3
        table["a"] = 1
        _ = table.removeValue(forKey: "c")
        table["d"] = 4
        return table
    }

    @Test("As a sequence it shows each key with its value, in that order, and nothing of what has left")
    func sequence() {
        #expect(table().map { "\($0.key)\($0.value)" } == ["b2", "a1", "d4"])
        #expect(SmallTable<String, Int>().map(\.value).isEmpty)
    }

    @Test("A key whose value becomes nil has left, and one that comes again is the last")
    func leaving() {
        var table = table()
        table["b"] = nil
        #expect(table.keys == ["a", "d"])
        table["b"] = 5
        #expect(table.map { "\($0.key)\($0.value)" } == ["a1", "d4", "b5"])
        table["x"] = nil
        #expect(table.keys == ["a", "d", "b"] && table["x"] == nil)
    }

    @Test("A value is changed where it stands, and a key without one is shown nil and does not come")
    func changing() {
        var table = table()
        let double: (inout Int?) -> Int? = { value in
            if let number = value { value = number * 2 }
            return value
        }
        #expect(table.change("a", double) == 2)
        #expect(table.change("x", double) == nil)
        #expect(table.map { "\($0.key)\($0.value)" } == ["b2", "a2", "d4"])
        #expect(table.keys == ["b", "a", "d"])
    }
}
