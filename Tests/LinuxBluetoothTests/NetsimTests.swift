import Foundation
import Testing

@testable import LinuxBluetooth

struct NetsimAddressTests {
    @Test(arguments: [
        "netsim", "netsim:127.0.0.1:8877", "netsim:[::1]:8877", "netsim,name=wrist", "netsim,name=wrist,instance=2",
        "netsim:host.example:1,name=a:b", "android-emulator", "android-emulator:127.0.0.1:8554",
    ])
    func anAddressReadsAsItIsWritten(_ text: String) throws {
        #expect(try TransportAddress(parsing: text).description == text)
    }

    @Test(arguments: [
        ("netsim:", "names no port"), ("netsim:8877", "names no port"), ("netsim:host:0", "is no TCP port"),
        ("netsim:host:99999", "is no TCP port"), ("netsim::8877", "names no host"), ("netsim,", "is no option"),
        ("netsim,name", "is no option"), ("netsim,name=", "is no name"), ("netsim,name=a b", "is no name"),
        ("netsim,name=a,name=b", "is no name"), ("netsim,instance=256", "is no instance"),
        ("netsim,instance=-1", "is no instance"), ("netsim,mode=host", "is no option"),
        ("netsim:host:1,instance=2", "both a port and an instance"), ("android-emulator,name=a", "is no option"),
        ("netsim,name=" + String(repeating: "n", count: 65), "is no name"),
    ])
    func whatIsWrongIsSaid(_ text: String, _ words: String) {
        let error = #expect(throws: TransportAddressError.self) { try TransportAddress(parsing: text) }
        #expect(error?.description.contains(words) == true, "\(error?.description ?? "")")
    }
}

final class NetsimFileTests {
    private let directory = NSTemporaryDirectory() + "netsim-\(UUID().uuidString)"

    init() throws { try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false) }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    @Test func directoriesAreAskedInTheOrderOfEmulators() {
        let variables = ["XDG_RUNTIME_DIR": "/run/user/1", "TMPDIR": "/var/tmp"]
        #expect(NetsimFile.directories { variables[$0] } == ["/run/user/1", "/var/tmp", "/tmp"])
        #expect(NetsimFile.directories { _ in nil } == ["/tmp"])
        #expect(NetsimFile.directories { _ in "/tmp" } == ["/tmp"])
    }

    @Test(
        arguments: [
            ("grpc.port=41000\n", 41000), ("web.port=1\r\ngrpc.port = 5 \r\n", 5), ("grpc.port=0", nil),
            ("grpc.port=65536", nil), ("grpc.port=", nil), ("grpc.ports=7", nil), ("", nil), ("grpc.port=1=2", nil),
        ] as [(String, UInt16?)]
    )
    func thePortIsThatOfItsKey(_ text: String, _ port: UInt16?) {
        #expect(NetsimFile.port(in: Array(text.utf8)) == port)
    }

    @Test func aNetsimIsFoundWhereItIsAnnouncedAndGoneWhenItIsTakenBack() throws {
        let listener = try StreamListener(loopbackPort: 0)
        let file = try NetsimFile.announce(port: listener.port, instance: 4, in: ["/nowhere", directory])
        #expect(file.path == directory + "/netsim_4.ini")
        #expect(try NetsimFile.find(4, in: [directory]) == file)
        try file.check()
        #expect(throws: NetsimFile.Problem.missing(name: "netsim.ini", directories: [directory])) {
            try NetsimFile.find(0, in: [self.directory])
        }
        #expect(throws: NetsimFile.Problem.taken(path: file.path, port: listener.port)) {
            try NetsimFile.announce(port: listener.port &+ 1, instance: 4, in: [self.directory])
        }
        file.remove()
        #expect(!FileManager.default.fileExists(atPath: file.path))
    }

    @Test func aStaleFileIsToldAndReplaced() throws {
        let port = try closedPort()
        let stale = try NetsimFile.announce(port: port, instance: 0, in: [directory])
        #expect(throws: NetsimFile.Problem.stale(path: stale.path, port: port)) { try stale.check() }
        let listener = try StreamListener(loopbackPort: 0)
        let file = try NetsimFile.announce(port: listener.port, instance: 0, in: [directory])
        // It is not the stale one's any more.
        stale.remove()
        #expect(try NetsimFile.find(0, in: [directory]) == file)
    }

    @Test func anAnnouncementFollowsNoLink() throws {
        let target = directory + "/target"
        #expect(FileManager.default.createFile(atPath: target, contents: Data("kept".utf8)))
        try FileManager.default.createSymbolicLink(atPath: directory + "/netsim.ini", withDestinationPath: target)
        _ = try NetsimFile.announce(port: 1, instance: 0, in: [directory])
        #expect(FileManager.default.contents(atPath: target) == Data("kept".utf8))
    }

    private func closedPort() throws -> UInt16 { try StreamListener(loopbackPort: 0).port }
}

/// Programs of the shell take the helper's place: what they print is what a helper says.
struct NetsimHelperTests {
    private func helper(_ script: String) throws -> NetsimHelper { try NetsimHelper(["-c", script], path: "/bin/sh") }

    /// Reads lines until the helper is ready, or at its end.
    private func wait(for helper: NetsimHelper, until isDone: (NetsimHelper) -> Bool) {
        while !isDone(helper) {
            var request = pollfd(fd: helper.descriptor, events: Int16(POLLIN), revents: 0)
            guard poll(&request, 1, 10_000) > 0 else { return }
            helper.readLines()
        }
    }

    @Test func aHelperThatIsReadyGivesItsSocketOnce() throws {
        let helper = try helper("echo ready; cat >/dev/null")
        wait(for: helper) { $0.isReady }
        #expect(helper.isReady)
        #expect(helper.end == nil)
        let isThere = helper.takeInput() != nil
        let isThereAgain = helper.takeInput() != nil
        #expect(isThere && !isThereAgain)
    }

    @Test(arguments: [
        ("echo ended refused the chip is taken", NetsimEnd(.refused, "the chip is taken")),
        ("echo ended of-another-version text", NetsimEnd(.lost, "text")),
        ("exit 3", NetsimEnd(.helperDied, "the program cairn-netsim ended with status 3")),
        ("kill -9 $$", NetsimEnd(.helperDied, "the program cairn-netsim was ended by signal 9")),
        ("echo ended; echo nonsense; exit 1", NetsimEnd(.helperDied, "the program cairn-netsim ended with status 1")),
    ])
    func theEndIsNamed(_ script: String, _ end: NetsimEnd) throws {
        let helper = try helper(script)
        wait(for: helper) { $0.end != nil }
        #expect(helper.end == end)
    }

    @Test func aFloodOfOneLineIsNotKept() throws {
        let helper = try helper(
            "head -c 20000 /dev/zero | tr '\\0' x; echo; echo skipped 3 deadbe; echo ended lost over"
        )
        wait(for: helper) { $0.end != nil }
        #expect(helper.end == NetsimEnd(.lost, "over"))
        #expect(helper.takeGarbage()?.count == 3)
    }

    @Test func aMissingHelperIsNamed() {
        let error = #expect(throws: NetsimEnd.self) { try NetsimHelper([], path: "/nowhere/cairn-netsim") }
        #expect(error?.kind == .helperMissing)
    }
}
