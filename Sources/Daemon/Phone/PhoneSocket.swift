import Bundles
import Control
import HCIRuntime
import LinuxBluetooth
import Logging
import PebblePhone
import PebbleProtocol
import PebbleWatch

/// The socket of a running phone: programs of this user connect, send commands, and get events.
///
/// A command is answered when it has ended; until then the program's next one waits, and other programs' do not. One whose
/// program is gone is given up.
final class PhoneSocket: LoopMember {
    /// The largest file that is uploaded, in bytes: what the watch has room for.
    static let fileLimit = 2 * 1024 * 1024

    private struct Dialogue {
        var conversation = PhoneConversation()
        /// The command that is under way, and the number of the last event before it.
        var waiting: (id: PhoneRequestID, sequence: UInt64)?
    }

    private let port: CommandPort<Dialogue>
    private let phone: HostRunner<PhoneHost>
    private let program: ControlProgram
    private var history = PhoneEventHistory()
    private var lastRequest: UInt64 = 0

    /// Listens from now on, so that an error of the path shows at once.
    init(
        path: String,
        phone: HostRunner<PhoneHost>,
        program: ControlProgram,
        log: Logger
    ) throws(ProgramError) {
        self.phone = phone
        self.program = program
        let refusal = "\(CommandPort<Dialogue>.clientLimit) programs are connected already; end one of them"
        port = try CommandPort(
            path: path,
            access: .user,
            for: .phoneCommands,
            log: log,
            refusal: ControlAnswer(phoneFailure: .busy, refusal).line
        ) { Dialogue() }
    }

    // MARK: What the phone tells

    /// Keeps what happened, and tells the programs that want to know.
    func deliver(_ event: PhoneEvent, text: String, at now: Duration) {
        guard let unnumbered = PhoneControlEvent(event, text: text, at: now) else { return }
        let event = history.record(unnumbered)
        for client in port.clients {
            if let line = client.state.conversation.line(for: event, hasRoom: client.stream.hasRoom, at: now) {
                client.stream.send(line)
            }
        }
    }

    /// Answers the program whose command has ended.
    func deliver(_ result: Result<PhoneCommandResult, PhoneCommandError>, of id: PhoneRequestID) {
        guard let client = port.clients.first(where: { $0.state.waiting?.id == id }),
            let sequence = client.state.waiting?.sequence
        else { return }
        client.state.waiting = nil
        switch result {
        case .success(let result): client.stream.send(ControlAnswer(result, after: sequence).line)
        case .failure(let error): client.stream.send(ControlAnswer(error).line)
        }
    }

    // MARK: What programs ask

    private func answer(_ client: CommandPort<Dialogue>.Client, at now: Duration) -> CommandPort<Dialogue>.Progress {
        guard client.state.waiting == nil else { return .waits }
        switch client.state.conversation.nextRequest() {
        case nil: return .reads
        case .failure(let invalid)?:
            client.stream.send(ControlAnswer(phoneFailure: .badRequest, invalid.description).line)
        case .success(.status)?:
            client.stream.send(ControlAnswer(phone.host.phone.status, of: program, history, at: now).line)
        case .success(.events(let sequence))?:
            client.stream.send(ControlAnswer.events(after: sequence, from: history, at: now))
        case .success(.perform(let command))?: begin(command, for: client, at: now)
        case .success(.upload(let path, let name))?:
            do throws(SystemError) {
                let bytes = try FileReading.bytes(of: path, limit: Self.fileLimit)
                begin(.upload(bytes, name: name), for: client, at: now)
            } catch {
                let message = "\(path) is not uploaded: \(error)"
                client.stream.send(ControlAnswer(phoneFailure: .badFile, message).line)
            }
        case .success(.install(let path))?: install(path, for: client, at: now)
        }
        return client.state.waiting == nil ? .answered : .waits
    }

    /// Which of the apps in a bundle is for the watch is only known in a session.
    private func install(_ path: String, for client: CommandPort<Dialogue>.Client, at now: Duration) {
        let host = phone.host.phone
        guard let platform = host.appPlatform else {
            let error = host.status.link == nil ? PhoneCommandError.notConnected : .noSession
            return client.stream.send(ControlAnswer(error).line)
        }
        do throws(BundleError) {
            let package = try AppBundle.package(atPath: path, for: platform)
            begin(.install(PhoneApp(package)), for: client, at: now)
        } catch {
            let message = "\(path) is not installed: \(error)"
            client.stream.send(ControlAnswer(phoneFailure: .badFile, message).line)
        }
    }

    /// The command's end may come before this returns.
    private func begin(_ command: PhoneCommand, for client: CommandPort<Dialogue>.Client, at now: Duration) {
        lastRequest += 1
        let id = PhoneRequestID(rawValue: lastRequest)
        client.state.waiting = (id, history.last)
        phone.update(at: now) { $0.begin(command, as: id, at: now) }
    }

    private func leave(_ client: CommandPort<Dialogue>.Client, at now: Duration) {
        guard let id = client.state.waiting?.id else { return }
        phone.update(at: now) { $0.cancel(id, at: now) }
    }

    // MARK: LoopMember

    func start(at now: Duration) {}

    func addPollRequests(to set: inout PollSet) { port.addPollRequests(to: &set) }

    func takeInput(_ set: borrowing PollSet, at now: Duration) {
        port.takeInput(set, at: now) { client, bytes in
            client.state.conversation.receive(bytes)
        } leave: { client in
            leave(client, at: now)
        }
    }

    func moveOutput(at now: Duration) -> Bool {
        port.moveOutput { client in
            answer(client, at: now)
        } leave: { client in
            leave(client, at: now)
        }
    }

    /// A controller that is not there lets no time pass for the phone, and the commands that wait have their time all the same.
    func advance(to now: Duration) {
        port.advance(to: now)
        if waitsForController { phone.update(at: now) { $0.advance(to: now) } }
    }

    var nextDeadline: Duration? {
        guard waitsForController, let deadline = phone.nextDeadline else { return port.nextDeadline }
        return min(port.nextDeadline ?? deadline, deadline)
    }

    private var waitsForController: Bool { !phone.isReady && port.clients.contains { $0.state.waiting != nil } }

    func beginStop(at now: Duration) { port.close() }

    /// What has ended because the phone does is told in the turn before.
    var isStopped: Bool { true }
}

extension PhoneApp {
    /// An app that was read from a bundle. What it does not have is not uploaded.
    init(_ package: AppPackage) {
        var parts: [(kind: PutBytesObject.Kind, bytes: [UInt8])] = [(.appBinary, package.binary)]
        if let resources = package.resources { parts.append((.appResources, resources)) }
        if let worker = package.worker { parts.append((.appWorker, worker)) }
        self.init(metadata: package.metadata, parts: parts)
    }
}
