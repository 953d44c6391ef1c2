import AirSimulator
import BluetoothHCI
import BluetoothHost
import PebbleProtocol
import PebbleWatch
import SeededRandomness
import Testing

@testable import PebblePhone

/// The phone's owner: it stores bonds, and keeps what the phone has told.
struct PhoneOwner: HostOwner {
    static let address = DeviceAddress(0xC0FF_EE00_0002)

    var host: CommandedPhone
    private(set) var results: [PhoneRequestID: Result<PhoneCommandResult, PhoneCommandError>] = [:]
    private(set) var story: [PhoneEvent] = []
    private(set) var bonds: [Bond] = []

    init(_ transport: PhoneTransport, bonds: [Bond], pairing: PebblePhone.PairingPolicy, seed: UInt64) throws {
        var configuration = PhoneConfiguration(address: Self.address, clock: Rig.clock)
        configuration.transport = transport
        configuration.bonds = bonds
        configuration.pairing = pairing
        host = try CommandedPhone(configuration, randomness: RandomSource(state: seed, SplitMix64.draw))
    }

    mutating func settle(at now: Duration) {
        while let event = host.nextEvent() {
            story.append(event)
            guard case .bonded(let bond) = event else { continue }
            bonds.append(bond)
            host.bondStored(bond.identity, at: now)
        }
        while let (id, result) = host.nextResult() { results[id] = result }
    }
}

/// A watch and a phone that is told what to do.
typealias CommandAir = SimulatedPair<FaultyWatch, PhoneOwner>

extension CommandAir {
    init(
        _ transport: PhoneTransport = .forward,
        seed: UInt64 = 1,
        bonds: [Bond] = [],
        pairing: PebblePhone.PairingPolicy = .whenTold,
        configure: (inout WatchConfiguration) -> Void = { _ in }
    ) throws {
        var watch = WatchConfiguration(identity: WatchIdentity(address: .random(FaultyWatch.address)))
        watch.defaultApp = EchoApp()
        watch.builtInApps = []
        configure(&watch)
        self.init(
            seed: seed,
            watch: try FaultyWatch(watch, seed: seed &+ 1),
            phone: try PhoneOwner(transport, bonds: bonds, pairing: pairing, seed: seed &+ 2)
        )
    }

    /// Gives a command without waiting for its end.
    mutating func begin(_ command: PhoneCommand, _ number: UInt64) {
        onPhone { phone, now in phone.host.begin(command, as: PhoneRequestID(rawValue: number), at: now) }
    }

    /// How a command ended; nil if it has not.
    mutating func result(_ number: UInt64) -> Result<PhoneCommandResult, PhoneCommandError>? {
        onPhone { phone, _ in phone.results[PhoneRequestID(rawValue: number)] }
    }

    /// Gives a command, and waits for its end.
    mutating func tell(
        _ command: PhoneCommand,
        _ number: UInt64,
        within limit: Duration = .seconds(120)
    ) throws(PhoneCommandError) -> PhoneCommandResult {
        begin(command, number)
        runUntilPhone(within: limit) { $0.results[PhoneRequestID(rawValue: number)] != nil }
        guard let result = result(number) else { throw .timedOut("no end of the command", after: limit) }
        return try result.get()
    }

    /// Connects, pairs, and waits for the session.
    mutating func openSession() throws {
        _ = try tell(.connect(.known, within: .seconds(30)), 1001)
        _ = try tell(.pair(.yes, within: .seconds(30)), 1002)
        let time = runUntilPhone(within: .seconds(30)) { $0.host.status.link?.hasSession == true }
        try #require(time != nil)
    }
}

@Suite struct CommandedPhoneTests {
    private static func tuple(_ key: UInt32, _ value: AppMessageValue) -> AppMessageTuple {
        AppMessageTuple(key: key, value: value)
    }

    // MARK: By itself

    @Test func nothingHappensUntilItIsTold() throws {
        var air = try CommandAir()
        air.run(for: .seconds(60))
        let story = air.onPhone { phone, _ in phone.story }
        let others = story.filter {
            switch $0 {
            case .ready, .diagnostic: false
            default: true
            }
        }
        #expect(!story.isEmpty && others.isEmpty, "\(others)")
        let connections = air.onWatch { watch, _ in watch.connectionCount }
        #expect(connections == 0)
    }

    @Test func aScanListsTheWatchAndWhatItSaysOfItself() throws {
        var air = try CommandAir()
        let result = try air.tell(.scan(for: .seconds(5)), 1)
        guard case .watches(let watches) = result else {
            Issue.record("\(result)")
            return
        }
        #expect(watches.map(\.address) == [.random(FaultyWatch.address)])
        #expect(watches.first?.name?.hasPrefix("Pebble") == true)
        #expect(watches.first?.advertisement?.details != nil)
        #expect(air.now >= .seconds(5) && air.now < .seconds(6))
        let heard = air.onPhone { phone, _ in
            phone.story.count { if case .watchHeard = $0 { true } else { false } }
        }
        #expect(heard == 1)
    }

    // MARK: A session

    @Test(arguments: PhoneTransport.allCases)
    func aScriptHasBothEnds(transport: PhoneTransport) throws {
        var air = try CommandAir(transport)
        let connected = try air.tell(.connect(.selected(.address(FaultyWatch.address)), within: .seconds(30)), 1)
        guard case .connected(let link) = connected else {
            Issue.record("\(connected)")
            return
        }
        #expect(link.watch == .random(FaultyWatch.address) && link.isExplored && !link.security.isEncrypted)
        let paired = try air.tell(.pair(.yes, within: .seconds(30)), 2)
        guard case .pairing(let report) = paired else {
            Issue.record("\(paired)")
            return
        }
        #expect(report.summary?.bondedIdentity == .random(FaultyWatch.address) && !report.isOpen)
        guard case .numericComparison? = report.question else {
            Issue.record("\(report)")
            return
        }
        let time = air.runUntilPhone(within: .seconds(30)) { $0.host.status.link?.hasSession == true }
        try #require(time != nil)

        let pong = try air.tell(.ping, 3)
        guard case .pong(let delay) = pong else {
            Issue.record("\(pong)")
            return
        }
        #expect(delay > .zero && delay < .seconds(2))
        let clock = try air.tell(.setTime, 4)
        guard case .time(let watch, let phone) = clock else {
            Issue.record("\(clock)")
            return
        }
        #expect(abs(Int64(phone) - Int64(watch)) <= 2)
        // Echo sends back what it gets.
        let dictionary = try AppMessageDictionary([Self.tuple(1, .uint8(7)), Self.tuple(2, .string("hello"))])
        let delivered = try air.tell(.push(dictionary, to: nil), 5)
        guard case .delivered(let app, _) = delivered else {
            Issue.record("\(delivered)")
            return
        }
        let expected = try air.tell(.expect([Self.tuple(2, .string("hello"))], from: app, within: .seconds(10)), 6)
        guard case .received(let push) = expected else {
            Issue.record("\(expected)")
            return
        }
        #expect(push.dictionary == dictionary && push.application == app)
        let notified = try air.tell(.notify(title: "Title", body: "Body"), 7)
        guard case .notified(let item) = notified else {
            Issue.record("\(notified)")
            return
        }
        let shown = air.onWatch { watch, _ in watch.host.status.services.notifications }
        #expect(shown.map(\.id) == [item])
        _ = try air.tell(.disconnect, 8)
        let status = air.onPhone { phone, _ in phone.host.status }
        #expect(status.link == nil && status.runningApp == nil && status.bonds.count == 1)
    }

    /// Without security a watch has a session as soon as it is known.
    @Test(arguments: PhoneTransport.allCases)
    func aWatchThatInsistsOnNothingNeedsNoPairing(transport: PhoneTransport) throws {
        var air = try CommandAir(transport, pairing: .never) { $0.linkSecurity = .insecureTestLink }
        _ = try air.tell(.connect(.known, within: .seconds(30)), 1)
        let time = air.runUntilPhone(within: .seconds(30)) { $0.host.status.link?.hasSession == true }
        #expect(time != nil)
        #expect(throws: PhoneCommandError.cannotPair) { try air.tell(.pair(.yes, within: .seconds(5)), 2) }
    }

    // MARK: Pairing

    @Test func theOwnerComparesTheNumbers() throws {
        var air = try CommandAir()
        _ = try air.tell(.connect(.known, within: .seconds(30)), 1)
        let asked = try air.tell(.pair(.ask, within: .seconds(30)), 2)
        guard case .pairing(let report) = asked, case .numericComparison(let number)? = report.question else {
            Issue.record("\(asked)")
            return
        }
        #expect(report.isOpen && report.summary == nil && number.digits.count == 6)
        #expect(throws: PhoneCommandError.busy(.pairing)) { try air.tell(.pair(.yes, within: .seconds(5)), 3) }
        let refused = try air.tell(.confirm(false, within: .seconds(30)), 4)
        guard case .pairing(let outcome) = refused else {
            Issue.record("\(refused)")
            return
        }
        #expect(outcome.summary == nil && !outcome.isOpen)
        #expect(throws: PhoneCommandError.nothingAsked) { try air.tell(.confirm(true, within: .seconds(5)), 5) }
        // Both sides let a moment pass after a pairing that failed.
        air.run(for: .seconds(5))
        _ = try air.tell(.pair(.ask, within: .seconds(30)), 6)
        let confirmed = try air.tell(.confirm(true, within: .seconds(30)), 7)
        guard case .pairing(let done) = confirmed else {
            Issue.record("\(confirmed)")
            return
        }
        #expect(done.summary != nil)
    }

    @Test func noMeansNo() throws {
        var air = try CommandAir()
        _ = try air.tell(.connect(.known, within: .seconds(30)), 1)
        let answer = try air.tell(.pair(.no, within: .seconds(30)), 2)
        guard case .pairing(let report) = answer else {
            Issue.record("\(answer)")
            return
        }
        #expect(report.question != nil && report.summary == nil && !report.isOpen)
        let bonds = air.onPhone { phone, _ in phone.host.bonds }
        #expect(bonds.isEmpty)
    }

    @Test func keysFromAnEarlierRunEncryptTheLink() throws {
        var air = try CommandAir()
        try air.openSession()
        let bonds = air.onPhone { phone, _ in phone.bonds }
        try #require(bonds.count == 1)
        _ = try air.tell(.drop, 1)
        // The same phone after a restart, with what it has stored.
        let again = try PhoneOwner(.forward, bonds: bonds, pairing: .whenTold, seed: 77)
        air.onPhone { phone, now in
            phone = again
            phone.start(at: now)
        }
        air.run(for: .seconds(10))
        let connected = try air.tell(.connect(.known, within: .seconds(60)), 2)
        guard case .connected(let link) = connected else {
            Issue.record("\(connected)")
            return
        }
        #expect(link.security.isEncrypted && link.security.isBonded)
        _ = try air.tell(.forget(FaultyWatch.address), 3)
        #expect(throws: PhoneCommandError.unknownWatch(nil)) { try air.tell(.forget(nil), 4) }
    }

    // MARK: Losing the link

    /// The watch hears nothing more, and finds out by its supervision timeout; a proper end it is told at once.
    @Test func aLinkThatIsDroppedEndsWithoutAWord() throws {
        var air = try CommandAir()
        try air.openSession()
        let start = air.now
        _ = try air.tell(.drop, 1)
        #expect(throws: PhoneCommandError.notConnected) { try air.tell(.drop, 2) }
        let links = air.onWatch { watch, _ in watch.host.status.links.count }
        #expect(links == 1, "the watch knows nothing yet")
        let time = air.runUntilWatch(within: .seconds(30)) { $0.host.status.links.isEmpty }
        try #require(time != nil)
        #expect(air.now - start > .seconds(1))
        let dropped = air.onWatch { watch, _ in watch.host.status.lastDisconnection?.reason }
        #expect(dropped == .connectionTimeout)

        _ = try air.tell(.connect(.known, within: .seconds(60)), 3)
        _ = try air.tell(.disconnect, 4)
        air.run(for: .seconds(1))
        let ended = air.onWatch { watch, _ in watch.host.status.lastDisconnection?.reason }
        #expect(ended == .remoteUserTerminatedConnection)
    }

    @Test func whatWaitsForALinkEndsWithIt() throws {
        var air = try CommandAir()
        try air.openSession()
        air.setQuality(.outOfRange)
        air.begin(.ping, 1)
        air.begin(.expect([], from: nil, within: .seconds(300)), 2)
        air.run(for: .seconds(10))
        guard case .failure(.ended)? = air.result(1) else {
            Issue.record("\(String(describing: air.result(1)))")
            return
        }
        #expect(air.result(2) == nil, "a message may still come")
        air.onPhone { phone, now in phone.host.controllerLost(at: now) }
        guard case .failure(.ended)? = air.result(2) else {
            Issue.record("\(String(describing: air.result(2)))")
            return
        }
        let status = air.onPhone { phone, _ in phone.host.status }
        #expect(!status.isReady && status.link == nil)
    }

    // MARK: Files and apps

    @Test func aFileIsUploaded() throws {
        var air = try CommandAir()
        try air.openSession()
        let bytes = (0..<5001).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        air.begin(.upload(bytes, name: "lang"), 1)
        #expect(throws: PhoneCommandError.busy(.upload)) { try air.tell(.upload([1], name: "other"), 2) }
        air.runUntilPhone(within: .seconds(60)) { $0.results[PhoneRequestID(rawValue: 1)] != nil }
        guard case .success(.uploaded(5001, _))? = air.result(1) else {
            Issue.record("\(String(describing: air.result(1)))")
            return
        }
        let files = air.onWatch { watch, _ in watch.host.status.services.files.keys.sorted() }
        #expect(files == ["lang"])
        #expect(throws: PhoneCommandError.empty) { try air.tell(.upload([], name: "lang"), 3) }
        // The watch has room for 2 MiB.
        #expect(throws: PhoneCommandError.refused("the watch refused the upload at its step “begin”")) {
            try air.tell(.upload([UInt8](repeating: 0, count: 2 * 1024 * 1024 + 1), name: "large"), 4)
        }
    }

    @Test func anAppIsFetchedAndRuns() throws {
        var air = try CommandAir()
        try air.openSession()
        let uuid = PebbleUUID(upperHalf: 0x6B1F_5C2E_0F3A_4D0E, lowerHalf: 0x9B7A_1C2D_3E4F_5A6B)
        let metadata = AppMetadata(
            uuid: uuid,
            flags: [],
            majorVersion: 1,
            minorVersion: 0,
            sdk: SDKVersion(major: 5, minor: 0x6A),
            name: "Test"
        )
        let app = PhoneApp(
            metadata: metadata,
            parts: [
                (.appBinary, [UInt8](repeating: 1, count: 4000)), (.appResources, [UInt8](repeating: 2, count: 10)),
            ]
        )
        let installed = try air.tell(.install(app), 1)
        guard case .running(uuid?) = installed else {
            Issue.record("\(installed)")
            return
        }
        let known = air.onWatch { watch, _ in watch.host.status.services.apps[uuid]?.isCached }
        #expect(known == true)
        let stopped = try air.tell(.stop(within: .seconds(10)), 2)
        guard case .running(let next) = stopped else {
            Issue.record("\(stopped)")
            return
        }
        #expect(next != uuid)
        _ = try air.tell(.launch(uuid, within: .seconds(10)), 3)
        let running = air.onPhone { phone, _ in phone.host.status.runningApp }
        #expect(running == uuid)
        #expect(throws: PhoneCommandError.self) {
            try air.tell(.launch(PebbleUUID(upperHalf: 1, lowerHalf: 1), within: .seconds(2)), 4)
        }
    }

    // MARK: Refusals and times

    @Test func whatNeedsALinkIsRefusedWithoutOne() throws {
        var air = try CommandAir()
        air.run(for: .seconds(1))
        let commands: [PhoneCommand] = [
            .pair(.yes, within: .seconds(5)), .disconnect, .drop, .launch(.invalid, within: .seconds(5)),
            .stop(within: .seconds(5)), .push(.empty, to: nil), .upload([1], name: "lang"),
            .notify(title: "", body: ""), .ping, .setTime,
        ]
        for (index, command) in commands.enumerated() {
            air.begin(command, UInt64(index))
            guard case .failure(.notConnected)? = air.result(UInt64(index)) else {
                Issue.record("\(command): \(String(describing: air.result(UInt64(index))))")
                continue
            }
        }
    }

    @Test func withoutPairingThereIsNoSessionAndTheLinkStays() throws {
        var air = try CommandAir(.reversed)
        _ = try air.tell(.connect(.known, within: .seconds(30)), 1)
        air.run(for: .seconds(10))
        #expect(throws: PhoneCommandError.noSession) { try air.tell(.ping, 2) }
        #expect(throws: PhoneCommandError.connected(.random(FaultyWatch.address))) {
            try air.tell(.connect(.known, within: .seconds(5)), 3)
        }
        _ = try air.tell(.pair(.yes, within: .seconds(30)), 4)
        let time = air.runUntilPhone(within: .seconds(30)) { $0.host.status.link?.hasSession == true }
        #expect(time != nil)
    }

    @Test func eachCommandHasItsTime() throws {
        var air = try CommandAir()
        let start = air.now
        #expect(throws: PhoneCommandError.timedOut("no watch was heard and got to know", after: .seconds(3))) {
            try air.tell(.connect(.selected(.name("None of this name")), within: .seconds(3)), 1)
        }
        #expect(throws: PhoneCommandError.timedOut("no such message came", after: .seconds(2))) {
            try air.tell(.expect([Self.tuple(1, .uint8(1))], from: nil, within: .seconds(2)), 2)
        }
        #expect(air.now - start < .seconds(6))
        // A command that is given up leaves the phone free for the next.
        air.begin(.scan(for: .seconds(3600)), 3)
        #expect(throws: PhoneCommandError.busy(.scan)) { try air.tell(.connect(.known, within: .seconds(5)), 4) }
        air.onPhone { phone, now in phone.host.cancel(PhoneRequestID(rawValue: 3), at: now) }
        _ = try air.tell(.connect(.known, within: .seconds(30)), 5)
        #expect(air.result(3) == nil)
    }

    @Test func noMoreCommandsAreUnderWayThanThereIsRoomFor() throws {
        var air = try CommandAir()
        air.run(for: .seconds(1))
        let limit = UInt64(CommandedPhone.requestLimit)
        for number in 0..<limit { air.begin(.expect([], from: nil, within: .seconds(5)), number) }
        #expect(throws: PhoneCommandError.queueFull) {
            try air.tell(.expect([], from: nil, within: .seconds(5)), limit)
        }
        air.run(for: .seconds(6))
        #expect((0..<limit).allSatisfy { air.result($0) != nil })
    }
}

@Suite struct CommandedPhonePartTests {
    private static func push(_ tuples: [AppMessageTuple], _ number: UInt64 = 1) throws -> AppMessagePush {
        AppMessagePush(
            transaction: 1,
            application: PebbleUUID(upperHalf: 1, lowerHalf: number),
            dictionary: try AppMessageDictionary(tuples)
        )
    }

    @Test func numbersAreEqualWhateverTheirWidth() throws {
        let push = try Self.push([
            AppMessageTuple(key: 1, value: .int32(7)), AppMessageTuple(key: 2, value: .string("x")),
            AppMessageTuple(key: 3, value: .bytes([1, 2])),
        ])
        func has(_ key: UInt32, _ value: AppMessageValue) -> Bool {
            push.matches([AppMessageTuple(key: key, value: value)], from: nil)
        }
        #expect(has(1, .uint8(7)) && has(2, .string("x")) && has(3, .bytes([1, 2])))
        #expect(
            !has(1, .uint8(8)) && !has(2, .uint8(7)) && !has(2, .string("y")) && !has(3, .bytes([1]))
                && !has(4, .uint8(7))
        )
        #expect(push.matches([], from: push.application))
        #expect(!push.matches([], from: .invalid))
    }

    @Test func theInboxKeepsTheNewest() throws {
        var inbox = AppMessageInbox()
        for number in 0..<100 as Range<UInt64> { inbox.put(try Self.push([], number)) }
        #expect(inbox.count == AppMessageInbox.countLimit)
        let oldest = inbox.take { _ in true }
        #expect(oldest?.application.lowerHalf == 36)
        let large = try Self.push([AppMessageTuple(key: 1, value: .bytes([UInt8](repeating: 0, count: 60_000)))], 1000)
        for _ in 0..<10 { inbox.put(large) }
        #expect(inbox.count == 2)
        #expect(inbox.take { $0.application.lowerHalf == 1 } == nil)
    }

    @Test func anUploadGoesStepByStep() throws {
        let bytes = [UInt8](repeating: 9, count: PutBytesUpload.pieceLength + 1)
        var upload = PutBytesUpload(bytes, kind: .file, target: .bank(0, fileName: "lang"))
        let token = PutBytesToken(rawValue: 0x1234)
        let yes = PutBytesResponse.acknowledgement(token)
        #expect(
            upload.beginning
                == .begin(PutBytesObject(size: UInt32(bytes.count), kind: .file, target: .bank(0, fileName: "lang")))
        )
        #expect(
            upload.receive(yes) == .send(.put(PutBytesPiece(token: token, data: bytes[..<PutBytesUpload.pieceLength])))
        )
        #expect(
            upload.receive(yes) == .send(.put(PutBytesPiece(token: token, data: bytes[PutBytesUpload.pieceLength...])))
        )
        #expect(upload.receive(yes) == .send(.commit(token, crc: LegacyChecksum.checksum(of: bytes))))
        #expect(upload.receive(yes) == .send(.install(token)))
        #expect(upload.receive(.acknowledgement(.none)) == .done)
        var refused = PutBytesUpload(bytes, kind: .file, target: .bank(0, fileName: "lang"))
        #expect(refused.receive(.negativeAcknowledgement(.none)) == .refused(.begin))
    }
}
