import Control
import Faults
import FlightRecorder
import PebbleWatch

/// Who hears what happens on the watch: the log first, then the recording, programs, the service manager, the board.
final class WatchAudience {
    private let loggers: Loggers
    private let recorder: FlightRecorder
    private let trouble: TroubleRecordings?
    private let memory: SessionMemory
    /// Those that are there only when the watch has been made.
    var control: ControlSocket?
    var service: ServiceReporter?
    var led: BoardLED?
    /// Notes in the captures what a fault has done.
    var note: (FaultFiring, Duration) -> Void = { _, _ in }

    init(_ loggers: Loggers, recorder: FlightRecorder, trouble: TroubleRecordings?, memory: SessionMemory) {
        self.loggers = loggers
        self.recorder = recorder
        self.trouble = trouble
        self.memory = memory
    }

    /// Tells everybody.
    func hear(_ event: WatchEvent, at now: Duration) {
        if let frequent = event.frequent { return hear(frequent, at: now) }
        if case .fault(let firing) = event { note(firing, now) }
        let line = event.storyLine
        loggers.log(line)
        if event.isRecorded {
            recorder.noteEvent { [isDiscreet = recorder.header.isWithoutSecrets] text in
                line.appendRecordedText(to: &text, withoutSecrets: isDiscreet)
            }
        }
        if let what = event.trouble { trouble?.save(because: what, at: now) }
        // Programs are not told what is only for the log: its words are made if they are logged.
        if !event.isForLogOnly { control?.deliver(event, text: line.text, at: now) }
        service?.deliver(event)
        memory.deliver(event, at: now)
        led?.deliver(event)
    }

    /// Tells those whom an event concerns of which there are many: it has no secrets and no trouble in it, and changes neither what the
    /// service manager is told nor what the board shows.
    private func hear(_ event: FrequentEvent, at now: Duration) {
        loggers.log(event)
        recorder.noteEvent { text in event.appendText(to: &text) }
        control?.deliver(event, at: now)
    }
}
