import AirSimulator
import Dispatch
import Foundation
import HCIRuntime
import Logging
import Synchronization

/// An air with controllers for hosts of this process, at a socket of its own.
final class RunningAir: Sendable {
    /// Ends the loop soon after it is told to.
    private final class Stopper: LoopMember {
        private let loop: EventLoop
        private let isWanted: Flag
        private var time = Duration.zero

        init(_ loop: EventLoop, _ isWanted: Flag) {
            self.loop = loop
            self.isWanted = isWanted
        }

        func start(at now: Duration) { time = now }
        func addPollRequests(to set: inout PollSet) {}
        func takeInput(_ set: borrowing PollSet, at now: Duration) {}
        func moveOutput(at now: Duration) -> Bool { false }
        func advance(to now: Duration) {
            time = now
            if isWanted.isSet { loop.requestStop() }
        }
        var nextDeadline: Duration? { time + .milliseconds(20) }
        func beginStop(at now: Duration) {}
        var isStopped: Bool { true }
    }

    private final class Flag: Sendable {
        private let value = Mutex(false)
        var isSet: Bool { value.withLock { $0 } }
        func set() { value.withLock { $0 = true } }
    }

    /// The loop, which only its queue touches once it runs.
    private struct Confined: @unchecked Sendable {
        let loop: EventLoop
    }

    /// Where hosts find a controller.
    let transport: String
    private let folder: URL
    private let isStopWanted = Flag()
    private let ending: Task<Void, Never>

    init() throws {
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("air-\(UInt32.random(in: 0 ... .max))")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let path = folder.appendingPathComponent("air").path
        transport = "unix:\(path)"
        let log = Logger(label: "air")
        let loop = EventLoop(clock: MonotonicClock(), signals: nil, log: log)
        let air = VirtualAir(Air(seed: 1, quality: .perfect), log: log)
        try air.listen(at: path)
        loop.add(air)
        loop.add(Stopper(loop, isStopWanted))
        let confined = Confined(loop: loop)
        let queue = DispatchQueue(label: "air")
        ending = Task {
            await withCheckedContinuation { end in
                queue.async {
                    _ = try? confined.loop.run()
                    end.resume()
                }
            }
        }
    }

    /// Ends the loop, and waits until it has ended.
    func stop() async {
        isStopWanted.set()
        await ending.value
        try? FileManager.default.removeItem(at: folder)
    }
}
