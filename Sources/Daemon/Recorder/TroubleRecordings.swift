import FlightRecorder
import Glibc
import HCIRuntime
import Logging
import PebbleWatch

/// Saves what was recorded of the watch when something goes wrong, in its state directory: `trouble.cairnrec`, and those of the
/// troubles before as `trouble.1.cairnrec` to `trouble.3.cairnrec`.
final class TroubleRecordings {
    /// The shortest time between two: a controller that fails all the time has one story to tell.
    private static let pause: Duration = .seconds(60)
    /// How many are kept.
    private static let count = 4

    private let directory: String
    private let recorder: FlightRecorder
    private let log: Logger
    private var lastTime: Duration?

    init(in directory: String, of recorder: FlightRecorder, log: Logger) {
        self.directory = directory
        self.recorder = recorder
        self.log = log
    }

    /// Saves what there is, unless that has been done a moment ago.
    func save(because reason: String, at now: Duration) {
        if let lastTime, now - lastTime < Self.pause { return }
        lastTime = now
        recorder.note("saved at \(now): \(reason)")
        do throws(ProgramError) {
            try keep(recorder.recording())
            log.warning("\(reason): what led to it is recorded in \(path(0)); cairn replay shows it")
        } catch {
            log.warning("\(reason), and what led to it is not recorded: \(error.what)")
        }
    }

    /// Saves what the watch's process before this one had recorded when it ended without a word.
    func save(memory bytes: [UInt8]) {
        let reason = "the watch's process before this one has crashed or was killed"
        do throws(ProgramError) {
            let recording: [UInt8]
            do throws(RecordingError) {
                recording = try FlightRecorder.recording(ofMemory: bytes)
            } catch {
                log.warning("\(reason), and what it had recorded cannot be read: \(error)")
                return
            }
            try keep(recording)
            log.warning("\(reason): what led to it is recorded in \(path(0)); cairn replay shows it")
        } catch {
            log.warning("\(reason), and what led to it is not recorded: \(error.what)")
        }
    }

    private func keep(_ recording: [UInt8]) throws(ProgramError) {
        for number in (1..<Self.count).reversed() { rename(path(number - 1), path(number)) }
        try SavedRecording.write(recording, to: path(0))
    }

    private func path(_ number: Int) -> String {
        directory + (number == 0 ? "/trouble.cairnrec" : "/trouble.\(number).cairnrec")
    }
}

/// Looks whether the store has refused a change, which is trouble too.
final class RefusedChanges: LoopMember {
    private let watch: HostRunner<WatchHost>
    private let trouble: TroubleRecordings

    init(of watch: HostRunner<WatchHost>, trouble: TroubleRecordings) {
        self.watch = watch
        self.trouble = trouble
    }

    func start(at now: Duration) {}
    func addPollRequests(to set: inout PollSet) {}
    func takeInput(_ set: borrowing PollSet, at now: Duration) {}

    func moveOutput(at now: Duration) -> Bool { false }

    func advance(to now: Duration) {
        guard let refusal = watch.look({ $0.takeRefusedChange() }) else { return }
        trouble.save(because: "the store has refused a change: \(refusal)", at: now)
    }

    var nextDeadline: Duration? { nil }
    func beginStop(at now: Duration) {}
    var isStopped: Bool { true }
}

extension WatchEvent {
    /// What is wrong, if it is worth a recording.
    var trouble: String? {
        switch self {
        case .failed(let failure): "the watch has failed: \(failure)"
        case .recovery(.controllerRestarting(let reason)): "the controller is started again: \(reason)"
        case .recovery(.controllerLost): "the controller is lost"
        default: nil
        }
    }

    /// Whether a recording says what happened. It does not say what is for the log alone, nor faults of the radio and of the HCI
    /// boundary: those are not the watch's own, and it does not say them again in a replay.
    var isRecorded: Bool {
        switch self {
        case .diagnostic, .fault: false
        default: true
        }
    }

    /// What a replay compares: the same words as in a recording; nil for what a recording does not say.
    public func recordedText(withoutSecrets: Bool) -> String? {
        guard isRecorded else { return nil }
        var text: [UInt8] = []
        storyLine.appendRecordedText(to: &text, withoutSecrets: withoutSecrets)
        return String(decoding: text, as: UTF8.self)
    }
}

extension StoryLine {
    /// Appends what a recording says of an event, as UTF-8.
    func appendRecordedText(to text: inout [UInt8], withoutSecrets: Bool) {
        if withoutSecrets, case .secret(let discreet) = discretion {
            text.append(contentsOf: discreet.utf8)
        } else {
            appendText(to: &text)
        }
    }
}

extension ProgramError {
    /// A recording cannot be made.
    init(_ status: ExitStatus = .cannotCreate, recording path: String, _ what: String, advice: String?) {
        self.init(
            status,
            "cannot write the recording \(path): \(what)",
            advice: advice ?? "name a file in a folder that is there and that you may write to"
        )
    }
}
