import Glibc
import SystemTestSupport
import Testing

@testable import PrivateFiles

/// Pieces of files as memory, and what becomes of a process whose file is lost.
@Suite struct MappedFileTests {
    @Test func whatIsWrittenIsInTheFile() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("file")
        let descriptor = try PrivateFile.create(path, forReading: true)
        let piece = try MappedFile(path, descriptor, from: 65536, count: 65536)
        close(descriptor)
        piece.bytes[0] = 7
        piece.bytes[65535] = 9
        let bytes = try contents(of: path)
        #expect(bytes.count == 131_072 && bytes[65536] == 7 && bytes[131_071] == 9)
        #expect(!piece.isLost)
    }

    /// Two pieces, of which one loses its file: only that is lost, and the process goes on.
    @Test func aFileThatIsCutIsLost() throws {
        let folder = try TemporaryFolder()
        let descriptors = try ["one", "other"].map { try PrivateFile.create(folder.file($0), forReading: true) }
        defer { for descriptor in descriptors { close(descriptor) } }
        let pieces = try descriptors.map { try MappedFile("file", $0, count: 65536) }
        ftruncate(descriptors[0], 0)
        for piece in pieces { for index in piece.bytes.indices { piece.bytes[index] = 5 } }
        #expect(pieces.map(\.isLost) == [true, false])
        #expect(pieces[0].bytes.allSatisfy { $0 == 5 })
        #expect(try contents(of: folder.file("other")).allSatisfy { $0 == 5 })
        // A place is free again for the next.
        for _ in 0..<100 { #expect(try !MappedFile("file", descriptors[1], count: 4096).isLost) }
    }

    @Test func whatCannotBeMappedIsAnError() throws {
        var ends: [Int32] = [0, 0]
        #expect(pipe(&ends) == 0)
        defer { for end in ends { close(end) } }
        #expect(throws: PrivateFileError("pipe", .system(ESPIPE))) { try MappedFile("pipe", ends[1], count: 4096) }
        let full = open("/dev/full", O_RDWR | O_CLOEXEC)
        defer { close(full) }
        #expect(throws: PrivateFileError.self) { try MappedFile("/dev/full", full, count: 4096) }
    }

    /// A fault of another's mapping, and a signal that somebody sends, still end the process.
    @Test func faultsOfOthersEndTheProcess() async {
        await #expect(processExitsWith: .signal(SIGBUS)) {
            let folder = try TemporaryFolder()
            let descriptor = try PrivateFile.create(folder.file("file"), forReading: true)
            let piece = try MappedFile("file", descriptor, count: 4096)
            ftruncate(descriptor, 0)
            piece.bytes[0] = 1
            guard piece.isLost else { return }
            let other = mmap(nil, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0)
            other?.storeBytes(of: 1, as: UInt8.self)
        }
        await #expect(processExitsWith: .signal(SIGBUS)) {
            let folder = try TemporaryFolder()
            let descriptor = try PrivateFile.create(folder.file("file"), forReading: true)
            let piece = try MappedFile("file", descriptor, count: 4096)
            raise(SIGBUS)
            piece.bytes[0] = 1
        }
    }
}
