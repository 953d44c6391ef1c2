import FlightRecorder
import Glibc
import HCIRuntime
import LinuxBluetooth
import Logging
import PrivateFiles

/// A recording on disk, in parts: the file itself, then the same name with `.1`, `.2` and so on. The oldest part goes when all
/// of them are longer than they may be. A disk that fills up ends the recording, not the watch.
final class RecordingFile: RecordingSink {
    /// How many parts there are at most.
    private static let partCount = 8

    private let path: String
    private let limit: Int
    private let log: Logger
    /// Nil once the recording has ended.
    private var file: GrowingFile?
    private var part = 0
    private var oldest = 0
    private var lastTime: Duration = .zero

    /// Creates the first part. What flows through a watch includes keys, so the files are this user's alone.
    init(_ path: String, limit: Int, of recorder: FlightRecorder, log: Logger) throws(ProgramError) {
        self.path = path
        self.limit = limit
        self.log = log
        Self.keepPredecessor(of: path)
        do throws(PrivateFileError) {
            file = try GrowingFile(path)
        } catch {
            throw ProgramError(recording: path, error.reason, advice: error.advice)
        }
        append(recorder.beginning(ofPart: 0, at: .zero))
        guard file != nil else {
            throw ProgramError(.inputOutput, "cannot write the recording \(path)", advice: "make room on that disk")
        }
    }

    func write(_ frames: [UInt8], upTo time: Duration, of recorder: FlightRecorder) {
        guard let file else { return }
        if file.size > 0, file.size + frames.count > limit / Self.partCount { beginPart(of: recorder) }
        append(frames)
        lastTime = time
    }

    private func beginPart(of recorder: FlightRecorder) {
        part += 1
        file?.end()
        do throws(PrivateFileError) {
            file = try GrowingFile(Self.name(of: path, part: part))
        } catch {
            return end(because: "\(error)")
        }
        append(recorder.beginning(ofPart: part, at: lastTime))
        guard part - oldest >= Self.partCount else { return }
        unlink(Self.name(of: path, part: oldest))
        if oldest == 0 {
            log.warning(
                "the recording \(path) has grown to its limit and loses its beginning: cairn replay can show it, and not run it"
            )
        }
        oldest += 1
    }

    private func append(_ bytes: [UInt8]) {
        guard let file else { return }
        do throws(GrowingFileError) {
            try file.append(bytes)
        } catch {
            end(because: "\(error)")
        }
    }

    /// The process ends in order.
    func end() { file?.end() }

    private func end(because reason: String) {
        file?.end()
        file = nil
        log.error("the recording \(path) ends here: \(reason); the watch goes on")
    }

    // MARK: The recording before

    /// Gives a recording that is there another name, with all its parts: a service that is started again after a crash must not
    /// wipe out what led to it.
    private static func keepPredecessor(of path: String) {
        let parts = laterParts(of: path)
        guard !parts.isEmpty || isRecording(path) else { return }
        let before = path + ".before"
        unlink(before)
        for number in laterParts(of: before) { unlink(name(of: before, part: number)) }
        for number in [0] + parts { rename(name(of: path, part: number), name(of: before, part: number)) }
    }

    /// Whether a file begins as recordings do.
    private static func isRecording(_ path: String) -> Bool {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOFOLLOW)
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { return false }
        var beginning = [UInt8](repeating: 0, count: Recording.magic.count)
        let count = beginning.withUnsafeMutableBytes { read(descriptor, $0.baseAddress, $0.count) }
        return count == beginning.count && beginning == Recording.magic
    }

    // MARK: Names

    static func name(of path: String, part: Int) -> String { part == 0 ? path : "\(path).\(part)" }

    /// The numbers of the later parts that are there, in their order.
    static func laterParts(of path: String) -> [Int] {
        let slash = path.lastIndex(of: "/")
        let folder = slash.map { String(path[...$0]) } ?? "."
        let prefix = (slash.map { String(path[path.index(after: $0)...]) } ?? path) + "."
        guard let stream = opendir(folder) else { return [] }
        defer { closedir(stream) }
        var numbers: [Int] = []
        while let entry = readdir(stream) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard name.hasPrefix(prefix), let number = Int(name.dropFirst(prefix.count)), number > 0,
                name == prefix + "\(number)"
            else { continue }
            numbers.append(number)
        }
        return numbers.sorted()
    }
}
