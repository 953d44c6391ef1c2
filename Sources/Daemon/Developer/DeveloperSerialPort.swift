import Glibc
import HCIRuntime
import LinuxBluetooth
import Logging
import PebbleWatch
import PrivateFiles

/// A serial port that is none: a pseudoterminal with a name of the person's choice, for `pebble --serial`.
///
/// A tool is there as long as it has the port open. The kernel says so only when asked, and so it is asked every now and then.
final class DeveloperSerialPort: LoopMember {
    private static let outboundLimit = 64 * 1024
    /// How often the port is looked at while no tool has it open.
    private static let lookInterval: Duration = .milliseconds(100)

    private let path: String
    /// What the path leads to.
    private let device: String
    private let stream: ByteStream
    private let watch: HostRunner<WatchHost>
    private let log: Logger
    private var connection: DeveloperConnectionID?
    private var token: PollSet.Token?
    private var nextLook: Duration?
    private var hasLink = true

    /// Makes the port.
    init(path: String, watch: HostRunner<WatchHost>, log: Logger) throws(ProgramError) {
        do throws(PrivateFileError) {
            try PrivateDirectory.checkPlace(of: path)
        } catch {
            if let advice = error.advice {
                throw ProgramError(
                    .cannotCreate,
                    "cannot make the serial port \(path), since somebody else could put another one there: \(error)",
                    advice: "\(advice), or name another path"
                )
            }
        }
        do throws(SystemError) {
            let terminal = try PseudoTerminal()
            device = terminal.path
            guard symlink(terminal.path, path) == 0 else { throw .last }
            log.notice("the serial port is \(path): pebble ping --serial \(path)")
            stream = ByteStream(owning: terminal.takeDescriptor(), kind: .device, outboundLimit: Self.outboundLimit)
        } catch {
            throw ProgramError(
                error.code == EACCES ? .notPermitted : .cannotCreate,
                "cannot make the serial port \(path): \(error)",
                advice: "name a path that is free, in a folder where you may create files"
            )
        }
        self.path = path
        self.watch = watch
        self.log = log
    }

    deinit { removeLink() }

    func start(at now: Duration) { nextLook = now }

    func addPollRequests(to set: inout PollSet) {
        token = connection == nil ? nil : set.add(stream.descriptor, reading: true, writing: stream.wantsToWrite)
    }

    func takeInput(_ set: borrowing PollSet, at now: Duration) {
        guard let connection, let token, set.isReadable(token) else { return }
        do {
            try stream.receive { bytes in
                watch.receive(bytes, from: connection, at: now)
            }
        } catch {
            end(connection, at: now)
        }
    }

    func moveOutput(at now: Duration) -> Bool {
        guard let connection else { return false }
        do {
            try stream.send(of: connection, watch, at: now)
        } catch {
            end(connection, at: now)
        }
        return false
    }

    func advance(to now: Duration) {
        guard let look = nextLook, look <= now else { return }
        guard PseudoTerminal.isOpenedByPeer(stream.descriptor) else {
            nextLook = now + Self.lookInterval
            return
        }
        nextLook = nil
        connection = watch.connectTool(.serial, at: now)
        log.info("a tool has opened the serial port")
    }

    var nextDeadline: Duration? { nextLook }

    func beginStop(at now: Duration) {
        if let connection { end(connection, at: now) }
        nextLook = nil
        removeLink()
    }

    var isStopped: Bool { true }

    private func end(_ ended: DeveloperConnectionID, at now: Duration) {
        connection = nil
        nextLook = now + Self.lookInterval
        // What the tool did not read is not for the next one.
        stream.discardOutbound()
        watch.toolLeft(ended, reason: "the tool closed the port", at: now)
        log.info("the tool has closed the serial port")
    }

    private func removeLink() {
        guard hasLink else { return }
        hasLink = false
        var target = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(path, &target, target.count)
        // What stands there by now may be another watch's.
        guard count >= 0, target.prefix(count).elementsEqual(device.utf8.map(CChar.init(bitPattern:))) else { return }
        unlink(path)
    }
}
