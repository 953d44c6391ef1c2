import BluetoothCryptography
import BluetoothHost
import SeededRandomness
import Testing

@Suite("Sources of randomness")
struct RandomSourceTests {
    @Test("A seeded source yields what its generator yields")
    func sequence() {
        var generator = SplitMix64(seed: 0xCA1A)
        var source = RandomSource(state: 0xCA1A, SplitMix64.draw)
        for _ in 0..<100 { #expect(source.next() == generator.next()) }
        #expect(UInt128.random(in: 1...9_999, using: &source) == UInt128.random(in: 1...9_999, using: &generator))
    }

    @Test("A copy yields the same numbers as the original, and does not change it")
    func copies() {
        var source = RandomSource(state: 7, SplitMix64.draw)
        _ = source.next()
        var copy = source
        let drawn = (0..<10).map { _ in source.next() }
        #expect((0..<10).map { _ in copy.next() } == drawn)
    }

    @Test("Copies of the system's source never yield the same numbers")
    func system() {
        var source = RandomSource.system
        var copy = source
        let drawn = Set((0..<100).flatMap { _ in [source.next(), copy.next()] })
        #expect(drawn.count == 200)
    }
}
