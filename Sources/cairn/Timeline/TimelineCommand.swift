import ArgumentParser
import Control
import Daemon
import Glibc
import HCIRuntime
import LinuxBluetooth
import Timeline

/// `cairn timeline`
struct TimelineCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "timeline",
        abstract: "Draw a capture, or a running watch, as a picture over time.",
        discussion: """
            The picture has a lane for the air, and one for each layer: HCI, L2CAP, ATT, PPoGATT, Pebble Protocol. It is an SVG, \
            or a page (HTML) to zoom into; each is one file that loads nothing. The decoded packet is under the pointer. Keys are \
            left out. A capture is btsnoop or pcap with H4 packets, as --capture and cairn capture write; - is standard input.

              cairn timeline watch.btsnoop -o watch.html
              cairn timeline watch.btsnoop --from 1.5 --to 3 --lanes att,ppogatt,pebble -o pairing.svg
              cairn capture - --for 5 | cairn timeline - >watch.svg

            Of a running watch, what the watch did and why is a lane of its own:

              cairn timeline --watch ~/.cairn/control.sock --for 30s -o watch.html
            """
    )

    @Argument(help: "The capture; - for standard input.", transform: pathArgument)
    var capture: String?

    @Option(
        help: ArgumentHelp(
            "Draw what passes from now on at a running watch: where it takes commands, or its state directory.",
            valueName: "socket"
        ),
        transform: pathArgument
    )
    var watch: String?

    @Option(
        name: .customLong("for"),
        help: ArgumentHelp("How long to look at the watch: 30s, 2m. (default: 10s)", valueName: "time"),
        transform: TimelineTime.argument
    )
    var duration: TimelineTime?

    @Option(
        help: ArgumentHelp("Draw from this time on, since the first packet: 1.5, 200ms.", valueName: "time"),
        transform: TimelineTime.argument
    )
    var from: TimelineTime?

    @Option(help: ArgumentHelp("Draw up to this time.", valueName: "time"), transform: TimelineTime.argument)
    var to: TimelineTime?

    @Option(help: ArgumentHelp("Draw one link only: the first is 1.", valueName: "number"))
    var link: Int?

    @Option(
        help: ArgumentHelp(
            "The lanes to draw, with commas between: \(LaneList.names). (default: all)",
            valueName: "lanes"
        ),
        transform: LaneList.argument
    )
    var lanes: LaneList?

    @Option(
        help: ArgumentHelp("Draw at most so many packets, from 1 to \(Self.largestLimit).", valueName: "packets")
    )
    var limit = TimelineBuilder.Selection.usualPacketLimit

    @Flag(help: "Draw pauses as long as they were.")
    var linear = false

    @Option(
        help: "What to write. (default: what the name of the file ends in, else svg)"
    )
    var format: Format?

    @Option(
        name: [.customShort("o"), .long],
        help: ArgumentHelp("The file to write; without it, standard output.", valueName: "file"),
        transform: pathArgument
    )
    var output: String?

    enum Format: String, ExpressibleByArgument, CaseIterable {
        case svg, html
    }

    static let largestLimit = 200_000
    /// How much of a file is read at once.
    private static let chunk = 256 * 1024

    func validate() throws {
        guard (capture == nil) != (watch == nil) else {
            throw ValidationError(
                capture == nil
                    ? "what is to be drawn? Name a capture, or a running watch with --watch"
                    : "a capture and --watch are two pictures: name one of them"
            )
        }
        guard watch != nil || duration == nil else {
            throw ValidationError("--for is for --watch: of a capture, choose with --from and --to")
        }
        if let from, let to, from.microseconds >= to.microseconds {
            throw ValidationError("--to has to be later than --from")
        }
        if let duration, !(100_000...86_400_000_000).contains(duration.microseconds) {
            throw ValidationError("--for takes a time from 0.1 to 86400 seconds")
        }
        if let link, link < 1 { throw ValidationError("--link takes a number from 1 on") }
        guard (1...Self.largestLimit).contains(limit) else {
            throw ValidationError("--limit takes a number of packets from 1 to \(Self.largestLimit)")
        }
    }

    func run() throws {
        try Console.run { () throws(ProgramError) in
            var builder = TimelineBuilder(
                TimelineBuilder.Selection(
                    from: from?.microseconds,
                    to: to?.microseconds,
                    link: link,
                    lanes: lanes?.lanes ?? Timeline.Lane.allCases,
                    packetLimit: limit
                )
            )
            if let capture { try read(capture, into: &builder) }
            if let watch { try look(at: watch, into: &builder) }
            let timeline = builder.finish()
            for note in timeline.notes { Console.printError(note.printable) }
            try write(draw(timeline))
            return .success
        }
    }

    // MARK: - The picture

    private func draw(_ timeline: Timeline) -> String {
        let name = watch ?? capture.map { $0 == "-" ? "standard input" : $0 } ?? ""
        let title = "Timeline of \(name.split(separator: "/").last.map(String.init) ?? name)"
        return switch chosenFormat {
        case .svg: TimelineSVG(timeline, title: title, folds: !linear).text()
        case .html: TimelineHTML(timeline, title: title, folds: !linear).text()
        }
    }

    private var chosenFormat: Format {
        if let format { return format }
        let name = output?.lowercased() ?? ""
        return name.hasSuffix(".html") || name.hasSuffix(".htm") ? .html : .svg
    }

    private func write(_ text: String) throws(ProgramError) {
        guard let output, output != "-" else { return Console.write(Array(text.utf8)) }
        try ResultFile.write(Array(text.utf8), to: output, what: "timeline")
    }

    // MARK: - A capture

    private func read(_ path: String, into builder: inout TimelineBuilder) throws(ProgramError) {
        let file = path == "-" ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw Self.unreadable(path, .last) }
        defer { if path != "-" { close(file) } }
        var reader = CaptureReader()
        var chunk = [UInt8](repeating: 0, count: Self.chunk)
        var packets = 0
        do throws(CaptureProblem) {
            while !builder.isComplete {
                let count = chunk.withUnsafeMutableBytes { Glibc.read(file, $0.baseAddress, $0.count) }
                if count < 0, errno == EINTR { continue }
                guard count >= 0 else { throw .unreadable(errno) }
                guard count > 0 else { return try reader.end() }
                reader.append(chunk[..<count])
                while let packet = try reader.next() {
                    builder.take(packet)
                    packets += 1
                }
            }
        } catch {
            try explain(error, path, packets, &builder)
        }
    }

    /// What could be read of a capture that is not whole is drawn, with a note; what is no capture is refused.
    private func explain(
        _ problem: CaptureProblem,
        _ path: String,
        _ packets: Int,
        _ builder: inout TimelineBuilder
    ) throws(ProgramError) {
        let name = path == "-" ? "standard input" : path
        switch problem {
        case .empty:
            throw ProgramError(
                .unavailable,
                "\(name) is empty",
                advice: "a capture has a header at least: capture again with cairn capture, or cairn run --capture"
            )
        case .notACapture:
            throw ProgramError(
                .unavailable,
                "\(name) is no capture: it is neither btsnoop nor pcap",
                advice: "name a file that cairn capture, cairn run --capture, btmon or Wireshark has written"
            )
        case .unsupported(let kind, let advice):
            throw ProgramError(.unavailable, "\(name) is \(kind), which is not read", advice: advice)
        case .damaged(let offset):
            builder.note("The capture is damaged at byte \(offset): what follows packet \(packets) is left out.")
        case .truncated(let offset):
            builder.note("The capture ends within a record, at byte \(offset): \(packets) packets are whole.")
        case .unreadable(let code):
            throw Self.unreadable(name, SystemError(code: code))
        }
    }

    private static func unreadable(_ path: String, _ error: SystemError) -> ProgramError {
        ProgramError(
            error.code == EACCES || error.code == EPERM ? .notPermitted : .unavailable,
            "cannot read \(path): \(error)",
            advice: "name a capture that you may read; captures are their user's alone"
        )
    }

    // MARK: - A running watch

    private func look(at path: String, into builder: inout TimelineBuilder) throws(ProgramError) {
        var status = stat()
        let isDirectory = stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
        let address = isDirectory ? ControlAddress(stateDirectory: path) : ControlAddress(path: path)
        var client = try ControlClient(address)
        try client.listen(after: nil)
        let start = try client.ask(ControlCommands.Packets.blank).content.startedAt
        let patience = Patience(seconds: Double(duration?.microseconds ?? 10_000_000) / 1_000_000)
        var drops: UInt32 = 0
        while patience.left != .zero {
            let line: [UInt8]
            switch try client.nextLine(within: patience.left) {
            case .line(let next): line = next
            case .nothingYet: return
            case .ended: return builder.note("The watch has ended, and the capture with it.")
            }
            if let event = ControlEventLine(parsing: line) {
                builder.take(event: event.event, event.text, at: Self.microseconds(start + event.at))
            } else if let packet = ControlPacketLine(parsing: line) {
                switch packet {
                case .lost(let lost): drops = UInt32(clamping: Int(drops) + lost.lost)
                case .packet(let packet):
                    builder.take(
                        CapturedPacket(
                            microseconds: Self.microseconds(start + packet.at),
                            isFromHost: packet.direction == .sent,
                            bytes: packet.data[...],
                            drops: drops
                        )
                    )
                }
            }
        }
    }

    private static func microseconds(_ seconds: Double) -> Int64 { Int64((seconds * 1_000_000).rounded()) }
}

/// A time on the command line: seconds, or a number with `ms`, `s` or `m` behind it.
struct TimelineTime: Sendable {
    let microseconds: Int64

    @Sendable
    static func argument(_ text: String) throws -> TimelineTime {
        let units = [("ms", 1_000.0), ("s", 1_000_000), ("m", 60_000_000), ("", 1_000_000)]
        for (unit, microseconds) in units where text.hasSuffix(unit) {
            guard let number = Double(text.dropLast(unit.count)), number.isFinite, (0...1e9).contains(number) else {
                break
            }
            return TimelineTime(microseconds: Int64((number * microseconds).rounded()))
        }
        throw ValidationError("“\(text)” is no time: write 1.5 or 1.5s, 200ms, 2m")
    }
}

/// Lanes on the command line.
struct LaneList: Sendable {
    let lanes: [Timeline.Lane]

    static var names: String { Timeline.Lane.allCases.map(\.rawValue).joined(separator: ", ") }

    @Sendable
    static func argument(_ text: String) throws -> LaneList {
        LaneList(
            lanes: try text.split(separator: ",", omittingEmptySubsequences: false).map { name in
                guard let lane = Timeline.Lane(rawValue: String(name)) else {
                    throw ValidationError("“\(name)” is no lane; there are \(names)")
                }
                return lane
            }
        )
    }
}
