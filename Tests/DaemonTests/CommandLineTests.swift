import Foundation
import LinuxBluetooth
import SystemTestSupport
import Testing

@testable import Daemon

/// The built program, from outside.
@Suite struct CommandLineTests {
    /// Runs to the end.
    private func cairn(_ arguments: String...) throws -> (end: ChildProcess.End, output: String, errors: String) {
        let process = try ChildProcess("cairn", arguments)
        let end = try process.wait()
        return (end, process.outputText, process.errorText)
    }

    @Test func helpSaysWhatThereIs() throws {
        for arguments in [[], ["--help"], ["help"]] {
            let process = try ChildProcess("cairn", arguments)
            #expect(try process.wait() == .exited(0))
            #expect(process.outputText.contains("cairn run --controller serial:/dev/ttyUSB0,115200"))
            #expect(process.outputText.contains("SUBCOMMANDS"))
        }
        for subcommand in ["run", "demo", "adapters", "air"] {
            let (end, output, _) = try cairn(subcommand, "--help")
            #expect(end == .exited(0))
            #expect(output.contains("EXAMPLES"))
            let longest = output.split(separator: "\n").filter { !$0.hasPrefix("USAGE") }.map(\.count).max()
            #expect(try #require(longest) <= 80, "it fits a terminal")
        }
        #expect(try cairn("--version").output == "0.1.0\n")
    }

    @Test(arguments: [
        (["air"], "nobody could use this radio: add --vhci COUNT, --port PORT, --socket PATH or --netsim PORT"),
        (["air", "--vhci", "17"], "--vhci takes a number of adapters from 0 to 16"),
        (["air", "--port", "0", "--loss", "100"], "--loss takes a number of percent from 0 to 99"),
        (["run"], "the watch needs a Bluetooth controller, and none is chosen"),
        (["run", "--controller", "hcix"], "“hcix” is no way to reach a controller; write hci0 (cairn adapters lists"),
        (["run", "--controller", "virtual", "--frequency", "5"], "cairn run has no option --frequency"),
        (
            ["run", "--controller", "virtual", "--air-port", "99999"],
            "“99999” is no port; write a number from 1 to 65535"
        ),
        (["run", "--controller", "unix:/a", "--air-port", "0"], "--air-port needs the virtual radio"),
        (["run", "--controller", "virtual", "--address", "C0:11"], "“C0:11” is no address; write six pairs"),
        (["run", "--controller", "virtual", "--address", "00:11:22:33:44:55"], "is no static random address"),
        (["run", "--controller", "virtual", "--log-level", "loud"], "“loud” is no log level; the levels are trace,"),
        (["run", "--controller", "virtual", "--log-level", "hcl=debug"], "“hcl” is no layer; the layers are daemon,"),
        (
            ["run", "--controller", "virtual", "--controller-lost", "cry"],
            "“cry” is not understood by --controller-lost"
        ),
        (["run", "--controller", "virtual", "--name", "A name of twenty bytes"], "the name has 22 bytes of UTF-8"),
        (["run", "--controller", "virtual", "--advertising", "loud"], "“loud” is not understood by --advertising"),
        (
            ["run", "--controller", "virtual", "--advertising", "custom"],
            "--advertising custom needs --advertising-steps"
        ),
        (
            ["run", "--controller", "virtual", "--advertising", "custom", "--advertising-steps", "20ms/30s"],
            "step 1, “20ms/30s”, is the last and has to last for ever"
        ),
        (["run", "--controller", "virtual", "--beacon", "42"], "“42” is no UUID; write 32 hexadecimal digits"),
        (
            ["run", "--controller", "virtual", "--beacon-power", "-59"],
            "--beacon-power needs a beacon: add --beacon UUID"
        ),
        (
            ["run", "--controller", "virtual", "--beacon-power", "-129"],
            "“-129” is not understood by --beacon-power"
        ),
        (["fly"], "“fly” is no command of cairn; there are run, mirror, demo,"),
    ])
    func aWrongCommandLineIsExplained(arguments: [String], beginning: String) throws {
        let process = try ChildProcess("cairn", arguments)
        #expect(try process.wait() == .exited(64))
        #expect(process.errorText.contains(beginning), "\(process.errorText)")
        #expect(process.outputText.isEmpty)
        #expect(process.errorText.split(separator: "cairn: ").count == 1, "it is told once: \(process.errorText)")
    }

    @Test(arguments: [
        (
            "advertising:\n  polcy: apple\n", 2,
            "advertising.polcy: there is no such setting; did you mean advertising.policy?"
        ),
        ("beacon:\n\n  uuid: 42\n", 3, "beacon.uuid: “42” is no UUID"),
        (
            "name: A name\npairing:\n  phones: many\n", 3,
            "pairing.phones: “many” is not understood: this takes a number from 1 to 16"
        ),
        ("pairing: {bonding: perhaps}\n", 1, "pairing.bonding: this takes true or false"),
        ("advertising:\n  steps: 1285ms\n", 2, "advertising.steps: this takes a list"),
        (
            "advertising:\n  policy: custom\n  steps: [20ms/30s]\n", 3,
            "advertising.steps: step 1"
        ),
        ("a: [\n", 2, "this is not YAML: "),
    ])
    func aWrongBoardFileIsExplained(text: String, line: Int, words: String) throws {
        let folder = try TemporaryFolder()
        let path = folder.file("board.yaml")
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        let (end, _, errors) = try cairn("run", "--controller", "virtual", "--board", path)
        #expect(end == .exited(78), "\(errors)")
        #expect(errors.contains("cairn: \(path):\(line): \(words)"), "\(errors)")
    }

    @Test func aBoardFileThatIsNotThereIsExplained() throws {
        let (end, _, errors) = try cairn("run", "--board", "/nowhere/board.yaml")
        #expect(end == .exited(69))
        #expect(errors.contains("cairn: /nowhere/board.yaml: there is no such file\n"), "\(errors)")
    }

    @Test func theCommandLineComesBeforeTheBoardFile() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("board.yaml")
        let text = "controller: virtual\nname: From the file\nlog-level: info\nadvertising: {policy: saver}\n"
        try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        let watch = try ChildProcess(
            "cairn",
            ["run", "--board", path, "--advertising=custom", "--advertising-steps=500ms"]
        )
        try watch.waitUntil("an advertisement") { $0.errorText.contains("advertises for discovery every 500 ms") }
        #expect(watch.errorText.contains("500 ms is none of Apple's intervals"))
        watch.send(SIGTERM)
        #expect(try watch.wait() == .exited(0))
    }

    @Test func aBoardAdvertisesAsAppleLikesIt() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("board.yaml")
        try Data("controller: virtual\n".utf8).write(to: URL(fileURLWithPath: path))
        let watch = try ChildProcess("cairn", ["run", "--board", path])
        try watch.waitUntil("an advertisement") { $0.errorText.contains("every 20 ms for 300 s, then every 152.5 ms") }
        watch.send(SIGTERM)
        #expect(try watch.wait() == .exited(0))
    }

    @Test func aControllerThatIsNotThereIsExplained() throws {
        let port = try { try RawSocket.listening().port }()
        let (end, _, errors) = try cairn("run", "--controller", "tcp:127.0.0.1:\(port)")
        #expect(end == .exited(69))
        #expect(
            errors == """
                cairn: cannot reach the controller at tcp:127.0.0.1:\(port): Connection refused
                       nothing listens there: start the controller first, and check the port

                """
        )
    }

    @Test func aControllerThatGoesAwayIsExplained() throws {
        let (listener, port) = try RawSocket.listening()
        let process = try ChildProcess("cairn", ["run", "--controller", "tcp:127.0.0.1:\(port)"])
        do {
            let controller = try listener.accepting()
            #expect(try controller.read(4) == TinyHost.reset)
        }
        #expect(try process.wait() == .exited(74))
        #expect(
            process.errorText.contains(
                "cairn: lost the controller at tcp:127.0.0.1:\(port): the other side closed the connection\n"
            )
        )
    }

    @Test func aBusyPortIsExplained() throws {
        let (listener, port) = try RawSocket.listening()
        let (end, _, errors) = try cairn("run", "--controller", "virtual", "--air-port", "\(port)")
        #expect(end == .exited(69))
        #expect(errors.contains("cairn: cannot listen on port \(port) of 127.0.0.1: Address already in use\n"))
        withExtendedLifetime(listener) {}
    }

    @Test func aCaptureThatCannotBeWrittenIsExplained() throws {
        let (end, _, errors) = try cairn("run", "--controller", "virtual", "--capture", "/nowhere/a.btsnoop")
        #expect(end == .exited(73))
        #expect(
            errors == """
                cairn: cannot write the capture file /nowhere/a.btsnoop: No such file or directory
                       the folder is not there: create it first, or name another file

                """
        )
    }

    @Test func theStateDirectoryRemembersWhichWatchItIs() throws {
        let folder = try TemporaryFolder()
        let state = folder.path + "/state"
        for name in ["", "/watch.sqlite", "/watch.sqlite-wal", "/watch.sqlite-shm"] { _ = folder.file("state" + name) }
        func start(_ arguments: String...) throws -> ChildProcess {
            try ChildProcess("cairn", ["run", "--controller", "virtual", "--state", state] + arguments)
        }
        let first = try start("--address", "C1:22:33:44:55:66")
        try first.waitUntil("an advertisement") { $0.errorText.contains("advertises for discovery") }
        let second = try start()
        #expect(try second.wait() == .exited(73), "one watch, one process")
        #expect(second.errorText.contains("that no other Cairn uses"), "\(second.errorText)")
        first.send(SIGTERM)
        #expect(try first.wait() == .exited(0))
        let other = try start("--address", "C2:22:33:44:55:66")
        #expect(try other.wait() == .exited(64))
        #expect(
            other.errorText.contains(
                "the state directory belongs to the watch C1:22:33:44:55:66, not to C2:22:33:44:55:66"
            )
        )
        let again = try start()
        try again.waitUntil("an advertisement") { $0.errorText.contains("advertises for discovery") }
        again.send(SIGINT)
        #expect(try again.wait() == .exited(0))
        for name in ["watch.sqlite", "watch.sqlite-wal", "watch.sqlite-shm"] { unlink("\(state)/\(name)") }
        rmdir(state)
    }

    @Test func theAirPortServesAController() throws {
        let process = try ChildProcess("cairn", ["run", "--controller", "virtual", "--air-port", "0"])
        let host = try RawSocket.connecting(port: try airPort(of: process))
        try host.write(TinyHost.reset)
        #expect(try host.read(7) == [0x04, 0x0E, 0x04, 0x01, 0x03, 0x0C, 0x00])
        process.send(SIGINT)
        #expect(try process.wait() == .exited(0))
        #expect(process.errorText.contains("SIGINT: ending"))
    }

    /// One process is the controller of the other, goes away, and comes back.
    @Test func waitsForItsControllerToComeBack() throws {
        func radio(port: UInt16) throws -> (ChildProcess, UInt16) {
            let process = try ChildProcess("cairn", ["run", "--controller", "virtual", "--air-port", "\(port)"])
            return (process, try airPort(of: process))
        }
        let (first, port) = try radio(port: 0)
        let watch = try ChildProcess(
            "cairn",
            ["run", "--controller", "tcp:127.0.0.1:\(port)", "--controller-lost", "retry"]
        )
        func advertisements() -> Int { watch.errorText.split(separator: "advertises for discovery").count - 1 }
        try watch.waitUntil("an advertisement") { _ in advertisements() == 1 }
        first.send(SIGKILL)
        #expect(try first.wait() == .killed(by: SIGKILL))
        try watch.waitUntil("a loss") { $0.errorText.contains("; trying again in ") }
        #expect(watch.errorText.contains("lost the controller at tcp:127.0.0.1:\(port): "))
        let (second, _) = try radio(port: port)
        try watch.waitUntil("an advertisement") { _ in advertisements() == 2 }
        watch.send(SIGINT)
        #expect(try watch.wait() == .exited(0))
        second.send(SIGINT)
        #expect(try second.wait() == .exited(0))
    }

    /// The captured packets can be read although the process was killed.
    @Test func aKilledProcessLeavesAWholeCapture() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("a.btsnoop")
        let process = try ChildProcess("cairn", ["run", "--controller", "virtual", "--capture", path])
        try process.waitUntil("an advertisement") { $0.errorText.contains("advertises for discovery") }
        process.send(SIGKILL)
        #expect(try process.wait() == .killed(by: SIGKILL))
        let packets = try capturedPackets(path)
        #expect(packets.first?.elementsEqual(TinyHost.reset) == true)
        #expect(packets.count > 20, "the start-up sequence: \(packets.count) packets")
    }

    @Test func aFullDiskEndsTheCaptureAndNotTheWatch() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("a.btsnoop")
        // No file may grow beyond 512 bytes: to the watch, the disk is full in the middle of a record.
        let script = "trap '' XFSZ; ulimit -f 1; exec \"$0\" \"$@\""
        let program = try ChildProcess.buildFolder() + "/cairn"
        let process = try ChildProcess(
            path: "/bin/sh",
            ["-c", script, program, "run", "--controller", "virtual", "--capture", path]
        )
        try process.waitUntil("an advertisement") { $0.errorText.contains("advertises for discovery") }
        process.send(SIGTERM)
        #expect(try process.wait() == .exited(0))
        #expect(
            process.errorText.contains(
                "cannot write the capture file \(path): File too large; the capture ends here and the watch goes on"
            )
        )
        #expect(try capturedPackets(path).count > 5)
    }

    /// The packets of a capture, all of which must be whole.
    private func capturedPackets(_ path: String) throws -> [ArraySlice<UInt8>] {
        var rest = try contents(of: path).dropFirst(16)
        var packets: [ArraySlice<UInt8>] = []
        while !rest.isEmpty {
            let length = rest.dropFirst(4).prefix(4).reduce(0) { $0 << 8 | Int($1) }
            try #require(rest.count >= 24 + length, "half a record at the end")
            packets.append(rest.dropFirst(24).prefix(length))
            rest = rest.dropFirst(24 + length)
        }
        return packets
    }

    @Test(arguments: ["forward", "reversed"])
    func theDemonstrationSucceeds(transport: String) throws {
        let (end, output, errors) = try cairn("demo", "--transport", transport, "--air-seed", "7")
        #expect(end == .exited(0), "\(output)\(errors)")
        #expect(output.contains("The demonstration succeeded: 2 pings answered, 12 dictionaries of"))
        #expect(errors.isEmpty)
        #expect(output.split(separator: "\n").allSatisfy { $0.count < 200 }, "lines that a person can read")
    }

    @Test func theWatchOfTheDemonstrationStaysForOtherPhones() throws {
        let process = try ChildProcess("cairn", ["demo", "--stay"])
        try process.waitUntil("its port") {
            $0.outputText.contains("H4 at tcp:127.0.0.1:") && $0.outputText.contains("Ctrl-C")
        }
        let text = process.outputText
        let digits = text.split(separator: "H4 at tcp:127.0.0.1:", maxSplits: 1).last?.prefix { $0.isNumber }
        let host = try RawSocket.connecting(port: try #require(UInt16(digits ?? "")))
        try host.write(TinyHost.reset)
        #expect(try host.read(7) == [0x04, 0x0E, 0x04, 0x01, 0x03, 0x0C, 0x00])
        process.send(SIGINT)
        #expect(try process.wait() == .exited(0))
    }

    private func airPort(of process: ChildProcess) throws -> UInt16 {
        let mark = "H4 controllers for other hosts at tcp:127.0.0.1:"
        try process.waitUntil("a port") {
            $0.errorText.split(separator: mark).last?.contains("\n") == true && $0.errorText.contains(mark)
        }
        let digits = process.errorText.split(separator: mark, maxSplits: 1).last?.prefix { $0.isNumber }
        return try #require(UInt16(digits ?? ""))
    }
}
