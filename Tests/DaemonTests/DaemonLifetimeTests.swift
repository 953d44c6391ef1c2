import PebbleWatch
import SystemTestSupport
import Testing

@testable import Daemon
@testable import HCIRuntime

/// What a process held while it ran is freed when it has: a program may run many watches and phones, one after another.
@Suite struct DaemonLifetimeTests {
    /// Something that is seen to be freed.
    private final class Probe: Sendable {}

    /// A daemon with all that can be had without hardware has run, and nobody holds it.
    @Test func aDaemonThatHasRunIsFreed() throws {
        let folder = try TemporaryFolder()
        weak var listener: Probe?
        weak var maker: Probe?
        weak var guest: HostRunner<TinyHost>?
        do {
            let probes = (Probe(), Probe())
            listener = probes.0
            maker = probes.1
            var configuration = WatchDaemonConfiguration(controller: .virtual) { [made = probes.1] address in
                withExtendedLifetime(made) { WatchConfiguration(identity: .init(address: address)) }
            }
            configuration.stateDirectory = folder.path
            configuration.airPort = 0
            configuration.qemuPort = 0
            configuration.recording.path = folder.path + "/watch.cairnrec"
            configuration.capturePath = folder.path + "/watch.btsnoop"
            configuration.logLevels = LogLevels(.critical)
            let daemon = try WatchDaemon(configuration) { [told = probes.0] _, _ in withExtendedLifetime(told) {} }
            let runner = HostRunner(TinyHost(), log: daemon.loggers[.daemon]) { _, _ in }
            guest = runner
            daemon.attach(runner)
            let loop = daemon.loop
            loop.beforeWaiting = { [unowned loop] in loop.requestStop() }
            #expect(try daemon.run() == .stopped)
        }
        #expect(listener == nil, "the watch's host is still there")
        #expect(maker == nil, "its configuration is")
        #expect(guest == nil, "the air is")
    }

    /// The same of a phone.
    @Test func aPhoneThatHasRunIsFreed() throws {
        let folder = try TemporaryFolder()
        weak var phone: AnyObject?
        do {
            var configuration = PhoneDaemonConfiguration(controller: .virtual)
            configuration.stateDirectory = folder.path
            configuration.airPort = 0
            configuration.logLevels = LogLevels(.critical)
            let daemon = try PhoneDaemon(configuration)
            phone = daemon.phone
            let loop = daemon.loop
            loop.beforeWaiting = { [unowned loop] in loop.requestStop() }
            #expect(try daemon.run() == .stopped)
        }
        #expect(phone == nil, "the phone's host is still there")
    }
}
