import ByteCoding
import SeededRandomness
import Testing

@testable import Bundles

@Suite("Zip archives from untrusted sources")
struct ZipArchiveTests {
    private func problem(_ zip: ZipMaker, limits: ZipArchive.Limits = ZipArchive.Limits()) -> String? {
        problem(zip.archive(), limits: limits)
    }

    private func problem(_ bytes: [UInt8], limits: ZipArchive.Limits = ZipArchive.Limits()) -> String? {
        do {
            let archive = try ZipArchive(bytes, limits: limits)
            for name in archive.names { _ = try archive.contents(of: name) }
            return nil
        } catch {
            return "\(error)"
        }
    }

    private func zip(_ name: String, _ bytes: [UInt8] = [1, 2, 3]) -> ZipMaker {
        var zip = ZipMaker()
        zip.add(name, bytes)
        return zip
    }

    @Test("Stored and deflated files, empty ones, folders and a comment")
    func good() throws {
        var zip = ZipMaker()
        zip.add("a/deflated", (0..<10_000).map { UInt8(truncatingIfNeeded: $0 % 17) })
        zip.files.append(ZipMaker.File(name: "stored", bytes: [9, 8, 7], isDeflated: false))
        zip.add("empty", [])
        zip.files.append(ZipMaker.File(name: "empty stored", bytes: [], isDeflated: false))
        zip.files.append(ZipMaker.File(name: "a/", bytes: [], isDeflated: false))
        zip.comment = Array("PK\u{5}\u{6} is no directory".utf8)
        let archive = try ZipArchive(zip.archive())
        #expect(archive.names == ["a/deflated", "empty", "empty stored", "stored"])
        #expect(try archive.contents(of: "a/deflated") == zip.files[0].bytes)
        #expect(try archive.contents(of: "stored") == [9, 8, 7])
        #expect(try archive.contents(of: "empty").isEmpty)
        #expect(throws: BundleError.missing("b")) { try archive.contents(of: "b") }
    }

    @Test(
        "Names that lead out of the archive, or nowhere",
        arguments: [
            "../a", "a/../../b", "/etc/passwd", "a//b", "./a", "a/./b", "..", "C:\\a", "a\\b", "C:/a", "a\u{0}b",
            "a\nb", "/",
            String(repeating: "a", count: 256),
        ]
    )
    func paths(name: String) {
        // Names that end in a slash are folders, which are not unpacked.
        #expect(problem(zip(name)) == (name == "/" ? nil : "\(BundleError.unsafePath(name))"))
    }

    @Test("A bomb is refused before it is unpacked; one with a wrong size is unpacked up to that size only")
    func bombs() {
        let zeros = [UInt8](repeating: 0, count: 64 * 1024 * 1024)
        let bomb = zip("bomb", zeros)
        #expect(bomb.archive().count < 100_000)
        #expect(problem(bomb)?.contains("more than the 8388608 that are allowed") == true)
        var liar = bomb
        liar.files[0].claimedByteCount = 1000
        #expect(problem(liar)?.contains("cannot be unpacked to the 1000 bytes") == true)
        var many = ZipMaker()
        for number in 0..<5 { many.add("\(number)", [UInt8](repeating: 0, count: 8 * 1024 * 1024)) }
        #expect(problem(many)?.contains("the unpacked archive has 41943040 bytes") == true)
        var small = ZipArchive.Limits()
        small.fileCount = 3
        var files = ZipMaker()
        for number in 0..<4 { files.add("\(number)", []) }
        #expect(problem(files, limits: small)?.contains("more than the 3") == true)
    }

    @Test("Files that overlap, as in bombs whose files share their bytes")
    func overlaps() {
        var zip = ZipMaker()
        zip.add("a", [UInt8](repeating: 1, count: 100))
        zip.add("b", [UInt8](repeating: 1, count: 100))
        zip.files[1].claimedOffset = 0
        #expect(problem(zip)?.contains("overlaps another file") == true)
        zip.files[1].claimedOffset = 1_000_000
        #expect(problem(zip)?.contains("is cut off") == true)
        zip.files[1].claimedOffset = nil
        zip.files[1].name = "a"
        #expect(problem(zip)?.contains("is there twice") == true)
    }

    @Test("Features that bundles do not use are refused")
    func unsupported() {
        var encrypted = zip("a")
        encrypted.files[0].flags = 1
        #expect(problem(encrypted)?.contains("damaged") == true)
        var bzip2 = zip("a")
        bzip2.files[0].method = 12
        #expect(problem(bzip2)?.contains("damaged") == true)
        var bytes = zip("a").archive()
        bytes[bytes.count - 18] = 1
        #expect(problem(bytes) == "the archive is one of several, which no bundle needs")
    }

    @Test("A missing file, a file that is no archive, and many mutated archives")
    func bent() {
        #expect(problem([]) != nil)
        #expect(problem([UInt8](repeating: 0x50, count: 100_000)) != nil)
        var zip = ZipMaker()
        zip.add("manifest.json", "{}")
        zip.add("a/b", (0..<300).map { UInt8(truncatingIfNeeded: $0 &* $0) })
        let good = zip.archive()
        var random = SplitMix64(seed: 1)
        for _ in 0..<20_000 {
            var bytes = good
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let index = Int.random(in: 0..<bytes.count, using: &random)
                bytes[index] = UInt8(truncatingIfNeeded: random.next())
            }
            if random.next() % 4 == 0 { bytes.removeLast(Int.random(in: 0..<bytes.count, using: &random)) }
            _ = problem(bytes)
        }
    }
}
