import Glibc
import Testing

@testable import Daemon
@testable import HCIRuntime

@Suite("Memory of the program itself")
struct ProgramMemoryTests {
    @Test("pages that only the start needed are returned to the kernel, and pages that are used again are loaded again")
    func release() throws {
        let before = try residentFilePages()
        ProgramMemory.releaseStartUp()
        let after = try residentFilePages()
        // In a test run most of what is mapped is the tests' own code.
        #expect(after < before)
        #expect((0..<1000).reduce(0, +) == 499_500)
    }

    /// The third number of statm: resident pages that belong to files.
    private func residentFilePages() throws -> Int {
        let file = try #require(fopen("/proc/self/statm", "r"))
        defer { fclose(file) }
        var text = [CChar](repeating: 0, count: 256)
        let count = fread(&text, 1, text.count - 1, file)
        let numbers = String(decoding: text[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self).split(separator: " ")
        return try #require(numbers.count > 2 ? Int(numbers[2]) : nil)
    }
}
