import AirSimulator
import BluetoothHCI
import BluetoothHost
import PebbleProtocol
import PebbleWatch
import SeededRandomness
import Testing

@testable import PebblePhone

/// The owner of a phone that behaves as a companion app: it gives a command, and keeps what the phone has told.
private struct CompanionOwner: HostOwner {
    var host: CommandedPhone
    private(set) var results: [PhoneRequestID: Result<PhoneCommandResult, PhoneCommandError>] = [:]
    private(set) var story: [PhoneEvent] = []

    init(_ defects: Set<PhoneDefect>, isCompanion: Bool) throws {
        var configuration = PhoneConfiguration(address: PhoneOwner.address, clock: Rig.clock)
        configuration.transport = .reversed
        configuration.isCompanion = isCompanion
        configuration.defects = defects
        host = try CommandedPhone(configuration, randomness: RandomSource(state: 3, SplitMix64.draw))
    }

    mutating func settle(at now: Duration) {
        while let event = host.nextEvent() {
            story.append(event)
            if case .bonded(let bond) = event { host.bondStored(bond.identity, at: now) }
        }
        while let (id, result) = host.nextResult() { results[id] = result }
    }

    /// How many sessions there were.
    var sessionCount: Int { story.count { if case .negotiated = $0 { true } else { false } } }
}

private typealias CompanionAir = SimulatedPair<FaultyWatch, CompanionOwner>

/// What a phone with ``CompanionHabits`` does by itself, and what each defect takes away.
@Suite struct CompanionHabitsTests {
    /// A phone that has set a watch up.
    private static func air(_ defects: Set<PhoneDefect> = [], isCompanion: Bool = true) throws -> CompanionAir {
        var watch = WatchConfiguration(identity: WatchIdentity(address: .random(FaultyWatch.address)))
        watch.defaultApp = EchoApp()
        watch.builtInApps = []
        var air = CompanionAir(
            seed: 1,
            watch: try FaultyWatch(watch, seed: 2),
            phone: try CompanionOwner(defects, isCompanion: isCompanion)
        )
        begin(.connect(.known, within: .seconds(30)), 1, &air)
        guard isCompanion else { return air }
        let time = air.runUntilPhone(within: .seconds(60)) { $0.sessionCount == 1 }
        try #require(time != nil, "no session")
        return air
    }

    private static func begin(_ command: PhoneCommand, _ number: UInt64, _ air: inout CompanionAir) {
        air.onPhone { phone, now in phone.host.begin(command, as: PhoneRequestID(rawValue: number), at: now) }
    }

    private static func result(
        _ number: UInt64,
        _ air: inout CompanionAir
    ) -> Result<PhoneCommandResult, PhoneCommandError>? {
        air.onPhone { phone, _ in phone.results[PhoneRequestID(rawValue: number)] }
    }

    private static func disconnect(_ air: inout CompanionAir) throws {
        _ = try air.onWatch { watch, now in try watch.host.perform(.disconnect, at: now) }
    }

    @Test func aPhoneWithoutHabitsDoesNotPair() throws {
        var air = try Self.air(isCompanion: false)
        air.run(for: .seconds(60))
        let (sessions, bonds) = air.onPhone { phone, _ in (phone.sessionCount, phone.host.bonds.count) }
        #expect(sessions == 0 && bonds == 0)
    }

    /// The names of commands that the phone gives itself are not its owner's.
    @Test func theOwnerHearsOfItsOwnCommandsOnly() throws {
        var air = try Self.air()
        try Self.disconnect(&air)
        air.runUntilPhone(within: .seconds(60)) { $0.sessionCount == 2 }
        let names = air.onPhone { phone, _ in phone.results.keys.map(\.rawValue) }
        #expect(names == [1])
    }

    @Test(arguments: [Set<PhoneDefect>(), [.staysAway], [.subscribesOnce]])
    func itComesBack(_ defects: Set<PhoneDefect>) throws {
        var air = try Self.air(defects)
        try Self.disconnect(&air)
        let time = air.runUntilPhone(within: .seconds(60)) { $0.sessionCount == 2 }
        #expect((time != nil) == defects.isEmpty)
    }

    @Test(arguments: [Set<PhoneDefect>(), [.staysOff]])
    func itComesBackWhenItsRadioDoes(_ defects: Set<PhoneDefect>) throws {
        var air = try Self.air(defects)
        Self.begin(.drop, 2, &air)
        let time = air.runUntilPhone(within: .seconds(60)) { $0.sessionCount == 2 }
        #expect((time != nil) == defects.isEmpty)
    }

    @Test func anOwnerThatDisconnectsIsObeyed() throws {
        var air = try Self.air()
        Self.begin(.disconnect, 2, &air)
        air.run(for: .seconds(120))
        let link = air.onPhone { phone, _ in phone.host.status.link }
        #expect(link == nil)
    }

    @Test(arguments: [Set<PhoneDefect>(), [.keepsLostBond]])
    func itPairsAgainWithAWatchThatHasForgottenIt(_ defects: Set<PhoneDefect>) throws {
        var air = try Self.air(defects)
        _ = try air.onWatch { watch, now in try watch.host.perform(.forgetAll, at: now) }
        let time = air.runUntilPhone(within: .seconds(90)) { $0.sessionCount == 2 }
        #expect((time != nil) == defects.isEmpty)
    }

    @Test(arguments: [Set<PhoneDefect>(), [.dropsNotifications]])
    func aNotificationWaitsForTheSession(_ defects: Set<PhoneDefect>) throws {
        var air = try Self.air(defects)
        try Self.disconnect(&air)
        air.runUntilPhone(within: .seconds(10)) { $0.host.status.link == nil }
        Self.begin(.notify(title: "Title", body: "Body"), 2, &air)
        air.runUntilPhone(within: .seconds(90)) { $0.results[PhoneRequestID(rawValue: 2)] != nil }
        let shown = air.onWatch { watch, _ in watch.host.status.services.notifications.count }
        #expect(shown == (defects.isEmpty ? 1 : 0))
        switch Self.result(2, &air) {
        case .success(.notified)?: #expect(defects.isEmpty)
        case .failure(.noSession)?: #expect(!defects.isEmpty)
        case let other: Issue.record("\(String(describing: other))")
        }
    }

    @Test func anUploadBeginsAgain() throws {
        for defects in [Set<PhoneDefect>(), [.oneUploadAttempt], [.wrongChecksum]] {
            var air = try Self.air(defects)
            Self.begin(.upload([UInt8](repeating: 7, count: 30_000), name: "lang"), 2, &air)
            air.run(for: .milliseconds(100))
            try Self.disconnect(&air)
            air.runUntilPhone(within: .seconds(300)) { $0.results[PhoneRequestID(rawValue: 2)] != nil }
            let isUploaded = if case .success(.uploaded)? = Self.result(2, &air) { true } else { false }
            #expect(isUploaded == defects.isEmpty, "\(defects)")
        }
    }
}
