import Testing

@testable import PebbleWatch

@Suite("A part that few watches have")
struct RareTests {
    /// Has a large part.
    private struct Owner {
        @Rare var part: SIMD8<Int>?
        var isThere: Bool { _part.isThere }
    }

    @Test("It is used like an optional")
    func use() {
        var owner = Owner()
        #expect(owner.part == nil && !owner.isThere)
        owner.part?[3] = 5
        #expect(owner.part == nil && !owner.isThere)
        owner.part = .init(repeating: 1)
        owner.part?[3] += 5
        #expect(owner.part?[3] == 6 && owner.part?[4] == 1 && owner.isThere)
        owner.part = nil
        #expect(owner.part == nil && !owner.isThere)
        #expect(Owner(part: .init(repeating: 2)).part?[0] == 2)
        #expect(!Owner(part: nil).isThere)
    }

    @Test("A copy that changes leaves the other as it was")
    func copies() {
        let owner = Owner(part: .init(repeating: 1))
        var copy = owner
        copy.part?[0] = 2
        #expect(owner.part?[0] == 1 && copy.part?[0] == 2)
        copy.part = nil
        #expect(owner.isThere && !copy.isThere)
    }

    @Test("One that is not there takes eight bytes")
    func size() {
        #expect(MemoryLayout<Owner>.size == 8)
    }
}
