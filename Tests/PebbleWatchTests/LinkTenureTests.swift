import BluetoothHCI
import Testing

@testable import PebbleWatch

/// How long a link without a purpose may stay, and beside which links the bonded phone is waited for.
@Suite struct LinkTenureTests {
    private static let quiet = LinkTenure.Conduct(lastProgress: nil, isPairing: false)
    private static let owner = address(0xFF)

    private static func address(_ number: UInt64) -> LEAddress { .random(DeviceAddress(staticRandomFrom: number)) }

    private static func handle(_ number: UInt16) throws -> ConnectionHandle {
        try #require(ConnectionHandle(rawValue: number))
    }

    private static func tenure(_ rules: TenureRules, waitsBeside: Bool = true) -> LinkTenure {
        var tenure = LinkTenure()
        tenure.controllerReady(canWaitBeside: waitsBeside)
        tenure.rules = rules
        return tenure
    }

    /// Lets time pass from deadline to deadline.
    /// - Returns: which links are to be ended, when, and why.
    private static func run(
        _ tenure: inout LinkTenure,
        until end: Duration,
        conduct: (ConnectionHandle, Duration) -> LinkTenure.Conduct = { _, _ in quiet }
    ) -> [(handle: ConnectionHandle, end: TenureEnd, time: Duration)] {
        var ends: [(ConnectionHandle, TenureEnd, Duration)] = []
        while let deadline = tenure.nextDeadline, deadline <= end {
            tenure.advance(to: deadline) { conduct($0, deadline) }
            while let (handle, cause) = tenure.nextEnd() { ends.append((handle, cause, deadline)) }
        }
        return ends
    }

    // MARK: How long links may stay

    @Test func aStrangersLinkOfAnOwnedWatchEndsAfter30Seconds() throws {
        var tenure = Self.tenure(.owned)
        _ = tenure.connected(try Self.handle(1), Self.address(1), isKnown: false, at: .seconds(5))
        let ends = Self.run(&tenure, until: .seconds(120)) { _, now in
            LinkTenure.Conduct(lastProgress: now, isPairing: false)
        }
        try #require(ends.count == 1)
        #expect(ends[0].time == .seconds(35))
        #expect(ends[0].end == .notEncrypted(after: .seconds(30)))
    }

    @Test func aPairingThatGoesOnIsWaitedForAndNotForEver() throws {
        var tenure = Self.tenure(.owned)
        _ = tenure.connected(try Self.handle(1), Self.address(1), isKnown: false, at: .zero)
        let ends = Self.run(&tenure, until: .seconds(120)) { _, _ in
            LinkTenure.Conduct(lastProgress: nil, isPairing: true)
        }
        #expect(ends.map(\.time) == [.seconds(90)])
        #expect(ends.map(\.end) == [.unencryptedFor(.seconds(90))])
    }

    @Test func progressKeepsALinkOfAWatchThatIsNobodysFor600Seconds() throws {
        var tenure = Self.tenure(.welcoming)
        _ = tenure.connected(try Self.handle(1), Self.address(1), isKnown: false, at: .zero)
        let ends = Self.run(&tenure, until: .seconds(1000)) { _, now in
            LinkTenure.Conduct(lastProgress: now, isPairing: false)
        }
        #expect(ends.map(\.time) == [.seconds(600)])

        _ = tenure.connected(try Self.handle(2), Self.address(2), isKnown: false, at: .seconds(1000))
        let idle = Self.run(&tenure, until: .seconds(2000))
        #expect(idle.map(\.time) == [.seconds(1060)])
        #expect(idle.map(\.end) == [.noProgress(for: .seconds(60))])
    }

    @Test func aBenchWaits600SecondsWhetherOrNotAPhoneIsBonded() throws {
        for isOwnerAwaited in [false, true] {
            var tenure = Self.tenure(.bench(isOwnerAwaited: isOwnerAwaited))
            for number: UInt16 in 1...4 {
                let start = Duration.seconds(10_000) * Int(number)
                _ = tenure.connected(try Self.handle(number), Self.address(1), isKnown: false, at: start)
                let ends = Self.run(&tenure, until: start + .seconds(9_000))
                #expect(ends.map(\.time) == [start + .seconds(600)], "the limit stays as it is")
                tenure.disconnected(try Self.handle(number), at: start + .seconds(9_000))
            }
        }
    }

    @Test func aBenchLetsTheBondedPhoneInBesideAStranger() throws {
        var tenure = Self.tenure(.bench(isOwnerAwaited: true))
        _ = tenure.connected(try Self.handle(1), Self.address(1), isKnown: false, at: .zero)
        #expect(!tenure.isHeld(at: .zero))
        _ = tenure.connected(try Self.handle(2), Self.owner, isKnown: true, at: .seconds(1))
        tenure.encrypted(try Self.handle(2), isOwner: true)
        let next = tenure.nextEnd()
        let end = try #require(next)
        #expect(end.handle == (try Self.handle(1)))
        #expect(end.end == .ownerIsHere)
    }

    @Test func anEncryptedLinkStays() throws {
        for rules in [TenureRules.owned, .welcoming, .bench(isOwnerAwaited: true)] {
            var tenure = Self.tenure(rules)
            _ = tenure.connected(try Self.handle(1), Self.address(1), isKnown: false, at: .zero)
            tenure.encrypted(try Self.handle(1), isOwner: false)
            #expect(Self.run(&tenure, until: .seconds(10_000)).isEmpty)
            #expect(tenure.isHeld(at: .seconds(10_000)))
        }
    }

    @Test func whoeverComesAgainAndAgainIsGivenLessTimeWithinBounds() throws {
        var tenure = Self.tenure(.owned)
        var now: Duration = .zero
        var stays: [Duration] = []
        for number: UInt16 in 1...12 {
            let handle = try Self.handle(number)
            _ = tenure.connected(handle, Self.address(UInt64(number)), isKnown: false, at: now)
            let ends = Self.run(&tenure, until: now + .seconds(60))
            let end = try #require(ends.first).time
            stays.append(end - now)
            tenure.disconnected(handle, at: end)
            now = end
        }
        #expect(stays[0] == .seconds(30))
        #expect(stays[1] == .seconds(30))
        #expect(zip(stays, stays.dropFirst()).allSatisfy { $0 >= $1 }, "\(stays)")
        #expect(stays.last == .seconds(1))
    }

    // MARK: Links beside which the bonded phone is waited for

    @Test func theThirdStrangerIsTurnedAway() throws {
        var tenure = Self.tenure(.owned)
        var verdicts: [Bool] = []
        for number: UInt16 in 1...4 {
            let verdict = tenure.connected(
                try Self.handle(number),
                Self.address(UInt64(number)),
                isKnown: false,
                at: .zero
            )
            if case .admitted = verdict { verdicts.append(true) } else { verdicts.append(false) }
        }
        #expect(verdicts == [true, true, false, false])
        #expect(tenure.turnedAwayCount == 2)
        let events = [tenure.nextEvent(), tenure.nextEvent()]
        #expect(events == [.strangersTurnedAway, nil], "one event, however many")
        #expect(!tenure.isHeld(at: .zero))
    }

    @Test func aPhoneWithTheOwnersAddressHoldsTheWatchFor3Seconds() throws {
        var tenure = Self.tenure(.owned)
        _ = tenure.connected(try Self.handle(1), Self.owner, isKnown: true, at: .zero)
        #expect(tenure.isHeld(at: .milliseconds(2_999)))
        #expect(!tenure.isHeld(at: .seconds(3)))
    }

    @Test func aControllerThatCannotWaitBesideALinkIsHeldByIt() throws {
        var tenure = Self.tenure(.owned, waitsBeside: false)
        _ = tenure.connected(try Self.handle(1), Self.address(1), isKnown: false, at: .zero)
        #expect(tenure.isHeld(at: .zero))
    }

    @Test func aRefusalToWaitBesideSomeLinksIsNotOneToWaitBesideFewer() throws {
        var tenure = Self.tenure(.owned)
        for number: UInt16 in 1...2 {
            _ = tenure.connected(try Self.handle(number), Self.address(UInt64(number)), isKnown: false, at: .zero)
        }
        tenure.controllerRefusedToWait()
        #expect(tenure.isHeld(at: .zero))
        tenure.disconnected(try Self.handle(1), at: .seconds(1))
        #expect(!tenure.isHeld(at: .seconds(1)))
    }

    @Test func onlyLinksThatWereToldToEndAreGhosts() throws {
        var tenure = Self.tenure(.owned)
        for number: UInt16 in 1...3 {
            #expect(!tenure.holdsGhosts)
            _ = tenure.connected(try Self.handle(number), Self.address(UInt64(number)), isKnown: false, at: .zero)
        }
        #expect(tenure.holdsGhosts, "the third was turned away")
        _ = tenure.connected(try Self.handle(4), Self.owner, isKnown: true, at: .seconds(1))
        #expect(!tenure.holdsGhosts, "a reset would end the owner's link")
        tenure.disconnected(try Self.handle(4), at: .seconds(2))
        #expect(tenure.holdsGhosts)
        tenure.encrypted(try Self.handle(1), isOwner: false)
        #expect(!tenure.holdsGhosts, "a reset would end a link that is used")
    }

    @Test func theOwnerEndsTheLinksOfStrangers() throws {
        var tenure = Self.tenure(.owned)
        for number: UInt16 in 1...2 {
            _ = tenure.connected(try Self.handle(number), Self.address(UInt64(number)), isKnown: false, at: .zero)
        }
        _ = tenure.connected(try Self.handle(3), Self.owner, isKnown: true, at: .seconds(1))
        let unproven = tenure.nextEnd()
        #expect(unproven == nil, "an address is no proof")
        tenure.encrypted(try Self.handle(3), isOwner: true)
        var ended: [ConnectionHandle] = []
        while let (handle, end) = tenure.nextEnd() {
            ended.append(handle)
            #expect(end == .ownerIsHere)
        }
        #expect(ended == [try Self.handle(1), try Self.handle(2)])
    }

    // MARK: What is remembered of strangers

    @Test func patienceWithStrangersComesBack() {
        var record = StrangerRecord()
        for number: UInt64 in 1...20 { record.failed(Self.address(number), at: .zero) }
        let newcomer = Self.address(99)
        #expect(record.halvings(of: newcomer, at: .zero) == StrangerRecord.highestCount - 2)
        #expect(record.halvings(of: newcomer, at: StrangerRecord.recovery * 3) == StrangerRecord.highestCount - 5)
        #expect(record.halvings(of: newcomer, at: StrangerRecord.recovery * 8) == 0)
    }

    @Test func anAddressIsRememberedLongerThanAllStrangers() {
        var record = StrangerRecord()
        for _ in 1...4 { record.failed(Self.address(1), at: .zero) }
        let later = StrangerRecord.recovery * 4
        #expect(record.halvings(of: Self.address(2), at: later) == 0)
        #expect(record.halvings(of: Self.address(1), at: later) == 4)
        // A stranger that changes its address loses the count of the first address, and counts in the total.
        for number: UInt64 in 2...17 { record.failed(Self.address(number), at: later) }
        #expect(record.halvings(of: Self.address(1), at: later) == StrangerRecord.highestCount - 2)
        #expect(record.halvings(of: Self.address(1), at: later + StrangerRecord.recovery * 8) == 0)
    }

    @Test func tenStrangersAreLetInWithin10Seconds() {
        var record = StrangerRecord()
        let times =
            (0..<10).map { Duration.milliseconds(100 * $0) } + [.milliseconds(9_999), .seconds(10), .seconds(10)]
        let verdicts = times.map { record.admits(at: $0) }
        // The second of the ten came 100 ms after the first, and counts for as long.
        #expect(verdicts == Array(repeating: true, count: 10) + [false, true, false])
    }
}
