import BluetoothHCI
import BluetoothHost
import Foundation
import PebbleWatch
import SeededRandomness
import Testing
import WatchStorage

/// After any interrupted write, the store has one whole state.
@Suite struct TornWriteTests {
    private static func temporaryDirectory() -> String {
        FileManager.default.temporaryDirectory.appendingPathComponent("cairn-torn-\(UUID().uuidString)").path
    }

    /// The number that every part of the one remembered bond carries, or nil if parts of different bonds are mixed.
    private static func number(of memory: WatchMemory) -> Int? {
        guard memory.phones.count == 1, let phone = memory.phones.first else { return nil }
        let number = Int(phone.bond.identity.address.value & 0xFF_FFFF_FFFF)
        let value = UInt128(number) &* 0x0001_0001_0001_0001_0001_0001_0001_0001
        guard phone.bond.keys == .secureConnections(LongTermKey(value)),
            phone.bond.peerIdentityResolvingKey == IdentityResolvingKey(value),
            phone.bond.metadata.name == "phone \(number)"
        else { return nil }
        if let hash = phone.seenDatabaseHash, hash != Array(repeating: UInt8(number & 0xFF), count: 16) { return nil }
        return number
    }

    /// `kill -9` in a loop: no acknowledged change is lost, and none is there by half.
    @Test func killedAtAnyInstructionNothingIsHalf() throws {
        let rounds = ProcessInfo.processInfo.environment["CAIRN_KILL_ROUNDS"].flatMap(Int.init) ?? 500
        let seed = ProcessInfo.processInfo.environment["CAIRN_SEED"].flatMap(UInt64.init) ?? 0xCA1_2024
        var random = SplitMix64(seed: seed)
        let directory = Self.temporaryDirectory()
        defer { try? FileManager.default.removeItem(atPath: directory) }
        // Built beside the tests.
        let tests = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        let writer = URL(fileURLWithPath: tests).deletingLastPathComponent().appendingPathComponent("StorageWriter")
        var next = 1
        for round in 0..<rounds {
            let process = Process()
            process.executableURL = writer
            process.arguments = [directory, "\(next)"]
            let output = Pipe()
            process.standardOutput = output
            try process.run()
            // Not every round lasts until its first line.
            let wanted = Int.random(in: 0...6, using: &random)
            var text = ""
            for _ in 0..<wanted {
                let data = output.fileHandleForReading.availableData
                guard !data.isEmpty else { break }
                text += String(decoding: data, as: UTF8.self)
            }
            var delay = timespec(tv_sec: 0, tv_nsec: Int.random(in: 0...400_000, using: &random))
            nanosleep(&delay, nil)
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
            text += String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
            let acknowledged = text.split(separator: "\n").last.flatMap { Int($0) }
            let memory = try SQLiteStore(directory: directory).load()
            guard acknowledged != nil || !memory.phones.isEmpty || next > 1 else { continue }
            if memory.phones.isEmpty, acknowledged == nil { continue }
            let found = try #require(Self.number(of: memory), "round \(round), seed \(seed): a mixture")
            let least = acknowledged ?? (next - 1)
            #expect(found >= least, "round \(round), seed \(seed): \(least) was acknowledged, \(found) is there")
            #expect(found <= least + 1, "round \(round), seed \(seed)")
            next = found + 1
        }
        #expect(next > rounds / 4, "the writer hardly wrote: the test proved little")
    }

    /// The journal cut at every length that a power cut could leave: an older state or the newer, whole.
    @Test func cutAtEveryWriteBoundaryNothingIsHalf() throws {
        let origin = Self.temporaryDirectory()
        let copy = Self.temporaryDirectory()
        defer {
            try? FileManager.default.removeItem(atPath: origin)
            try? FileManager.default.removeItem(atPath: copy)
        }
        func bond(_ number: Int) -> Bond {
            let value = UInt128(number) &* 0x0001_0001_0001_0001_0001_0001_0001_0001
            return Bond(
                identity: .random(DeviceAddress(0xC000_0000_0000 | UInt64(number))),
                keys: .secureConnections(LongTermKey(value)),
                isAuthenticated: true,
                peerIdentityResolvingKey: IdentityResolvingKey(value),
                metadata: Bond.Metadata(name: "phone \(number)")
            )
        }
        let store = try SQLiteStore(directory: origin)
        for number in 1...6 { try store.apply(.bond(bond(number), replacingOthers: true)) }
        let main = try Data(contentsOf: URL(fileURLWithPath: origin + "/" + SQLiteStore.fileName))
        let journal = try Data(contentsOf: URL(fileURLWithPath: origin + "/" + SQLiteStore.fileName + "-wal"))
        var seen: Set<Int> = []
        for length in Array(stride(from: 0, to: journal.count, by: 97)) + [journal.count] {
            try? FileManager.default.removeItem(atPath: copy)
            try FileManager.default.createDirectory(atPath: copy, withIntermediateDirectories: true)
            try main.write(to: URL(fileURLWithPath: copy + "/" + SQLiteStore.fileName))
            try journal.prefix(length).write(to: URL(fileURLWithPath: copy + "/" + SQLiteStore.fileName + "-wal"))
            let memory = try SQLiteStore(directory: copy).load()
            if memory.phones.isEmpty {
                #expect(seen.isEmpty, "a longer journal holds no less")
                continue
            }
            seen.insert(try #require(Self.number(of: memory), "cut at \(length): a mixture"))
        }
        #expect(seen == Set(1...6), "every state was there at some length")
        withExtendedLifetime(store) {}
    }
}
