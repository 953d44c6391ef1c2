import Glibc
import HCIRuntime
import LinuxBluetooth
import Logging

/// The port where emulators take this process for netsim. The program `cairn-netsim` answers there, and each of its streams becomes a
/// guest of the virtual air; when the program ends, it is started again.
final class NetsimPort: LoopMember {
    /// The first wait before the program is started again; it doubles with every failure...
    private static let firstBackOff: Duration = .milliseconds(500)
    /// ...up to this.
    private static let longestBackOff: Duration = .seconds(30)
    /// A program that ran for so long was well.
    private static let recovery: Duration = .seconds(10)

    /// The longest path of the air's socket, in bytes, that the program's library takes.
    private static let longestPath = 103

    private let listener: StreamListener
    private let airPath: String
    private let log: Logger
    private var helper: NetsimHelper?
    private var startedAt: Duration = .zero
    private var startsAgainAt: Duration?
    private var backOff = firstBackOff
    private var announcement: NetsimFile?
    private var pollToken: PollSet.Token?

    /// Opens the port and starts the program, so that an error shows at once.
    /// - Parameters:
    ///   - port: a port of 127.0.0.1; 0 lets the kernel choose one.
    ///   - instance: which `netsim.ini` announces the port; nil for none.
    ///   - airPath: the Unix socket where the air gives controllers.
    init(port: UInt16, announcedAs instance: UInt8?, airPath: String, log: Logger) throws(ProgramError) {
        guard airPath.utf8.count <= Self.longestPath else {
            throw ProgramError(
                .cannotCreate,
                "the socket \(airPath) is of no use to \(NetsimHelper.program): its path has more than \(Self.longestPath) bytes",
                advice: "name a shorter one with --socket, or none"
            )
        }
        do {
            listener = try StreamListener(loopbackPort: port)
        } catch {
            throw ProgramError(error.isPermission ? .notPermitted : .unavailable, "\(error)", advice: error.advice)
        }
        self.airPath = airPath
        self.log = log
        do {
            helper = try Self.start(listener, airPath)
        } catch {
            throw ProgramError(.unavailable, "cannot be a netsim: \(error)", advice: error.advice)
        }
        log.notice("netsim for emulators at 127.0.0.1:\(listener.port)")
        guard let instance else { return }
        do {
            let file = try NetsimFile.announce(port: listener.port, instance: instance)
            announcement = file
            log.notice("announced in \(file.path)")
        } catch {
            throw ProgramError(.cannotCreate, "cannot announce the netsim: \(error)", advice: error.advice)
        }
    }

    deinit { announcement?.remove() }

    /// The port that emulators are told.
    var port: UInt16 { listener.port }

    func start(at now: Duration) { startedAt = now }

    func addPollRequests(to set: inout PollSet) {
        pollToken = helper.map { set.add($0.descriptor, reading: true, writing: false) }
    }

    func takeInput(_ set: borrowing PollSet, at now: Duration) {
        guard let helper, let token = pollToken, set.isReadable(token) else { return }
        helper.readLines()
        guard let end = helper.end else { return }
        if now - startedAt >= Self.recovery { backOff = Self.firstBackOff }
        restartLater(because: end, at: now)
    }

    func moveOutput(at now: Duration) -> Bool { false }

    func advance(to now: Duration) {
        guard let time = startsAgainAt, time <= now else { return }
        startsAgainAt = nil
        startedAt = now
        do {
            helper = try Self.start(listener, airPath)
            log.notice("the netsim at port \(port) answers again")
        } catch {
            restartLater(because: error, at: now)
        }
    }

    var nextDeadline: Duration? { startsAgainAt }

    func beginStop(at now: Duration) {
        announcement?.remove()
        announcement = nil
        startsAgainAt = nil
        helper = nil
    }

    var isStopped: Bool { helper == nil }

    private func restartLater(because end: NetsimEnd, at now: Duration) {
        helper = nil
        startsAgainAt = now + backOff
        log.error("the netsim at port \(port) does not answer: \(end); trying again in \(backOff)")
        backOff = min(backOff * 2, Self.longestBackOff)
    }

    private static func start(
        _ listener: borrowing StreamListener,
        _ airPath: String
    ) throws(NetsimEnd) -> NetsimHelper {
        try NetsimHelper(
            ["serve", "--port", "\(listener.port)", "--air=\(airPath)"],
            listener: listener.descriptor
        )
    }
}

/// A directory that only this user may enter; it goes away with what is in it when this value does.
final class PassingDirectory {
    let path: String

    init() throws(ProgramError) {
        // A socket's path has to be short, whatever the variables say.
        var template = Array("/tmp/cairn-air-XXXXXX".utf8CString)
        guard let made = mkdtemp(&template) else {
            throw ProgramError(
                .cannotCreate,
                "cannot make a directory in /tmp: \(SystemError.last)",
                advice: "name a socket for the air yourself: --socket PATH"
            )
        }
        path = String(cString: made)
    }

    deinit { rmdir(path) }
}
