import ArgumentParser
import Control
import Daemon
import HCIRuntime
import LinuxBluetooth

/// `cairn capture`
struct CaptureCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "capture",
        abstract: "Capture the watch's HCI packets from now on, in a btsnoop file or as pcap.",
        discussion: """
            It ends with Ctrl-C, with --for, or with the watch. Keys are among what passes between host and controller, so only the user \
            who started the watch, and root, may capture; the file is for its owner alone. A file that exists is replaced. - stands for \
            standard output, which has the packets in pcap, because Wireshark reads that while it grows:

              cairn capture watch.btsnoop --for 60
              cairn capture - | wireshark -k -i -

            Packets that this program is too slow for are left out whole, and counted.
            """
    )

    @Argument(help: "The file, or - for standard output.", transform: pathArgument)
    var file: String

    @Option(name: .customLong("for"), help: ArgumentHelp("End after this long.", valueName: "seconds"))
    var seconds: Double?

    @OptionGroup var watch: WatchReference

    func validate() throws { try Patience.check(seconds) }

    func run() throws {
        try Console.run { () throws(ProgramError) in
            let patience = Patience(seconds: seconds)
            var client = try watch.connect()
            let start = try client.ask(ControlCommands.Packets.blank).content.startedAt
            var sink = try Sink(file)
            while true {
                switch try client.nextLine(within: patience.left) {
                case .line(let line):
                    guard let line = ControlPacketLine(parsing: line) else { continue }
                    try sink.take(line, since: start)
                case .nothingYet: return finish(sink)
                case .ended:
                    Console.printError("The watch has ended, and the capture with it.")
                    return finish(sink)
                }
                if patience.left == .zero { return finish(sink) }
            }
        }
    }

    private func finish(_ sink: Sink) -> ExitStatus {
        let lost = sink.drops == 0 ? "" : "; \(sink.drops) were lost"
        Console.printError("\(sink.count) packets\(lost)")
        return .success
    }

    /// Where the capture goes.
    private struct Sink {
        /// Nil for standard output.
        private let writer: BtsnoopWriter?
        private(set) var count = 0
        private(set) var drops: UInt32 = 0

        init(_ path: String) throws(ProgramError) {
            guard path != "-" else {
                writer = nil
                Console.write(Pcap.header)
                return
            }
            do throws(BtsnoopWriter.CaptureError) {
                writer = try BtsnoopWriter(path: path)
            } catch {
                throw Self.explain(error)
            }
        }

        mutating func take(_ line: ControlPacketLine, since start: Double) throws(ProgramError) {
            switch line {
            case .lost(let lost): drops = UInt32(clamping: Int(drops) + lost.lost)
            case .packet(let packet):
                count += 1
                let direction: Btsnoop.Direction = packet.direction == .sent ? .sent : .received
                let time = Duration.seconds(start + packet.at)
                guard let writer else {
                    var record: [UInt8] = []
                    Pcap.append(packet.data[...], direction, at: time, to: &record)
                    return Console.write(record)
                }
                do throws(BtsnoopWriter.CaptureError) {
                    try writer.record(packet.data[...], direction, at: time, drops: drops)
                    // A capture that is ended from outside is whole up to here.
                    try writer.flush()
                } catch {
                    throw Self.explain(error)
                }
            }
        }

        private static func explain(_ error: BtsnoopWriter.CaptureError) -> ProgramError {
            ProgramError(.cannotCreate, "\(error)", advice: error.advice)
        }
    }
}
