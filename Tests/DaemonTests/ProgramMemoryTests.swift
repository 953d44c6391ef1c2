import BluetoothHCI
import BluetoothHost
import Glibc
import Testing

@testable import Daemon
@testable import HCIRuntime
@testable import PebbleWatch

/// Each test has a process of its own: other tests of the same process load pages meanwhile.
@Suite("Memory of the program itself")
struct ProgramMemoryTests {
    @Test("pages that only the start needed are returned to the kernel, and pages that are used again are loaded again")
    func release() async {
        await #expect(processExitsWith: .success) {
            let before = try residentFilePages()
            ProgramMemory.release()
            let after = try residentFilePages()
            // In a test run most of what is mapped is the tests' own code.
            #expect(after < before)
            #expect((0..<1000).reduce(0, +) == 499_500)
        }
    }

    @Test("what a session has needed is given back when it has opened, and once more ten seconds later")
    func ofASession() async {
        await #expect(processExitsWith: .success) {
            let memory = SessionMemory()
            memory.deliver(.pairable(true), at: .seconds(1))
            #expect(memory.nextDeadline == nil)
            memory.deliver(.sessionOpened(SessionID(number: 1), .system, .reversedPPoGATT), at: .seconds(3))
            #expect(memory.nextDeadline == .seconds(3))
            let before = try residentFilePages()
            memory.advance(to: .seconds(3))
            #expect(try residentFilePages() < before)
            memory.advance(to: .milliseconds(12_999))
            #expect(memory.nextDeadline == .seconds(13))
            memory.advance(to: .seconds(13))
            #expect(memory.nextDeadline == nil)
        }
    }

    @Test("what encryption has needed is given back at once")
    func ofEncryption() async {
        await #expect(processExitsWith: .success) {
            let memory = SessionMemory()
            let connection = try #require(ConnectionHandle(rawValue: 0x40))
            memory.deliver(.securityChanged(connection, LinkSecurity()), at: .seconds(2))
            #expect(memory.nextDeadline == .seconds(2))
            let before = try residentFilePages()
            memory.advance(to: .seconds(2))
            #expect(try residentFilePages() < before)
            #expect(memory.nextDeadline == nil)
        }
    }
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
