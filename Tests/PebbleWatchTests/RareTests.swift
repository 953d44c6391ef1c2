import Testing

@testable import PebbleWatch

@Suite("A part that few watches have")
struct RareTests {
    /// As large as sixty-four bytes.
    private typealias Large = SIMD8<Int>

    @Test("It is used like an optional")
    func use() {
        var rare = Rare<Large>()
        #expect(rare.part == nil && !rare.isThere)
        rare.part?[3] = 5
        #expect(rare.part == nil && !rare.isThere)
        rare.part = Large(repeating: 1)
        rare.part?[3] += 5
        #expect(rare.part?[3] == 6 && rare.part?[4] == 1 && rare.isThere)
        rare.part = nil
        #expect(rare.part == nil && !rare.isThere)
        #expect(Rare(Large(repeating: 2)).part?[0] == 2)
    }

    @Test("A copy that changes leaves the other as it was")
    func copies() {
        let rare = Rare(Large(repeating: 1))
        var copy = rare
        copy.part?[0] = 2
        #expect(rare.part?[0] == 1 && copy.part?[0] == 2)
        copy.part = nil
        #expect(rare.isThere && !copy.isThere)
    }

    @Test("One that is not there takes eight bytes")
    func size() {
        #expect(MemoryLayout<Rare<Large>>.size == 8)
    }
}
