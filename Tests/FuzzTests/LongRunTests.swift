import AirSimulator
import BluetoothHCI
import Faults
import Foundation
import PebblePhone
import PebbleProtocol
import PebbleWatch
import SeededRandomness
import Testing

@testable import FuzzTargets

/// Days of one watch with five phones in virtual time: restarts, power cuts, loss, full disks, and every fault at random.
///
/// Nothing that was acknowledged may be lost, nothing may grow, and the clock may not drift.
@Suite("A long run") struct LongRunTests {
    /// Three days, unless `CAIRN_LONG_RUN_DAYS` says otherwise; a month is 30.
    private static let days = ProcessInfo.processInfo.environment["CAIRN_LONG_RUN_DAYS"].flatMap(Int.init) ?? 3
    /// The seed, unless `CAIRN_SEED` sets it.
    private static let seed = ProcessInfo.processInfo.environment["CAIRN_SEED"].flatMap(UInt64.init) ?? 0x30DA

    @Test func nothingIsLostAndNothingGrows() throws {
        var run = try LongRun(seed: Self.seed)
        defer { run.removeStore() }
        for day in 1...Self.days {
            try run.liveADay()
            let state = "CAIRN_SEED=\(Self.seed), day \(day): \(run.counts)"
            try run.expectWell(state)
        }
        print("\(Self.days) days: \(run.counts)")
        #expect(run.counts.uploads > Self.days, "\(run.counts)")
        #expect(run.counts.powerCuts > 0 && run.counts.faults > 0, "\(run.counts)")
    }
}

/// One run.
private struct LongRun {
    struct Counts {
        var uploads = 0
        var pings = 0
        var messages = 0
        var notifications = 0
        var powerCuts = 0
        var faults = 0
        var failures = 0
    }

    private struct Upload {
        let name: String
        let size: Int
        let phone: Int
        let request: UInt64
    }

    private static let startTime: UInt32 = 1_735_689_600
    private static let faults = FaultDefinition.all.filter { definition in
        switch definition.kind {
        case .ppogatt, .message, .watch: true
        case .radio, .hci: false
        }
    }
    .map(\.name)
    private static let hour = Duration.seconds(3600)

    private(set) var counts = Counts()
    private var simulation: Simulation
    private let watch: Simulation.HostID<StoredWatch>
    private var phones: [Simulation.HostID<FuzzedPhone>] = []
    private var random: SplitMix64
    private let directory: String
    /// What was acknowledged, by name: the sizes that the file may have, since a later upload may have arrived and its
    /// acknowledgement not.
    private var sizes: [String: Set<Int>] = [:]
    private var uploads: [Upload] = []
    private var weight: Int?
    /// What the last command came to that was waited for.
    private var last = ""

    init(seed: UInt64) throws {
        random = SplitMix64(seed: seed)
        simulation = Simulation(seed: seed)
        directory = NSTemporaryDirectory() + "cairn-long-run-\(UUID().uuidString)"
        watch = simulation.add(try StoredWatch(directory: directory, startTime: Self.startTime, seed: seed))
        let transports: [PhoneTransport] = [.forward, .reversed, .stream]
        for number in 0..<StoredWatch.phoneLimit {
            phones.append(simulation.add(try FuzzedPhone(transports[number % 3], number: UInt64(number + 2))))
        }
        simulation.run(for: .seconds(1))
    }

    func removeStore() { try? FileManager.default.removeItem(atPath: directory) }

    // MARK: A day

    mutating func liveADay() throws {
        for _ in 0..<24 {
            let end = simulation.now + Self.hour
            try liveWith(Int.random(in: phones.indices, using: &random))
            if random.chance(1, in: 6) { try setBack() }
            simulation.run(until: end)
        }
    }

    /// One phone comes, does a few things while something goes wrong, and leaves.
    private mutating func liveWith(_ phone: Int) throws {
        guard meet(phone) else { return }
        for _ in 0..<Int.random(in: 1...6, using: &random) {
            act(phone)
            if random.chance(1, in: 2) { goWrong(phone) }
            run(for: .seconds(Int.random(in: 1...60, using: &random)))
        }
        run(for: .seconds(60))
        give(.command(.clearFaults()))
        setQuality(.perfect, phone)
        tell(phone, random.chance(1, in: 3) ? .drop : .disconnect)
        run(for: .seconds(30))
        setFull(false)
    }

    private mutating func act(_ phone: Int) {
        switch Int.random(in: 0..<6, using: &random) {
        case 0:
            counts.pings += 1
            tell(phone, .ping)
        case 1:
            counts.notifications += 1
            tell(phone, .notify(title: "Dinner", body: String(repeating: "soon ", count: Int(random.next() % 40))))
        case 2:
            counts.messages += 1
            tell(phone, .push(.empty, to: EchoApp.identifier))
        case 3: tell(phone, .launch(EchoApp.identifier, within: .seconds(20)))
        default:
            let name = "file-\(Int.random(in: 0..<4, using: &random))"
            let size = Int.random(in: 1...6000, using: &random)
            let request = tell(phone, .upload([UInt8](repeating: UInt8(size & 0xFF), count: size), name: name))
            uploads.append(Upload(name: name, size: size, phone: phone, request: request))
        }
    }

    private mutating func goWrong(_ phone: Int) {
        switch Int.random(in: 0..<5, using: &random) {
        case 0: setQuality(LinkQuality(loss: .uniform(probability: 0.2)), phone)
        case 1: setQuality(.outOfRange, phone)
        case 2: setFull(true)
        case 3:
            give(.controllerLost)
            give(.start)
        default:
            let name = Self.faults.randomElement(using: &random) ?? ""
            guard let fault = try? Fault(parsing: name + " for=60s") else { return }
            counts.faults += 1
            give(.command(.addFault(fault, FaultID(rawValue: counts.faults))))
        }
    }

    /// The power goes, while nobody is there or in the middle of something.
    private mutating func setBack() throws {
        counts.powerCuts += 1
        let now = simulation.now
        try simulation.withHost(watch) { try $0.losePower(at: now) }
        run(for: .seconds(60))
    }

    // MARK: What must hold

    mutating func expectWell(_ state: String) throws {
        try takeUploads()
        let memory = try simulation.withHost(watch) { try $0.stored() }
        let files = memory?.services.files ?? [:]
        for (name, sizes) in sizes {
            let size = files[name]?.size
            #expect(size.map { sizes.contains($0) } == true, "\(name) has \(size ?? -1) bytes, not \(sizes): \(state)")
        }
        try expectPhoneIsServed(state)
        // The watch without its phones, as text: what is remembered grows in the first days, and then no more.
        var text = ""
        let value = simulation.withHost(watch) { $0.watch }
        if let value { dump(value, to: &text) }
        if let weight {
            #expect(text.utf8.count < weight * 2, "\(text.utf8.count) bytes of state, once \(weight): \(state)")
        }
        weight = max(weight ?? 0, text.utf8.count)
        let path = directory + "/watch.sqlite"
        let file = try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
        #expect(file < 4 * 1024 * 1024, "the store has \(file) bytes: \(state)")
    }

    private mutating func takeUploads() throws {
        for upload in uploads {
            let result = simulation.withHost(phones[upload.phone]) { $0.results[upload.request] } ?? nil
            if case .success? = result {
                counts.uploads += 1
                sizes[upload.name] = [upload.size]
            } else if result != nil {
                counts.failures += 1
                // It may have arrived, and only its acknowledgement been lost.
                sizes[upload.name]?.insert(upload.size)
            }
        }
        uploads = []
    }

    /// On good air any phone is served, and the watch's clock is right.
    private mutating func expectPhoneIsServed(_ state: String) throws {
        let phone = Int.random(in: phones.indices, using: &random)
        tell(phone, .forget(nil))
        #expect(meet(phone), "phone \(phone) cannot meet the watch: \(last): \(state)")
        let ping = tell(phone, .ping)
        let time = tell(phone, .setTime)
        run(for: .seconds(20))
        let results = simulation.withHost(phones[phone]) { $0.results } ?? [:]
        guard case .success? = results[ping] else {
            Issue.record("phone \(phone) is not answered: \(String(describing: results[ping])): \(state)")
            return
        }
        if case .success(.time(let watch, let phone))? = results[time] {
            #expect(max(watch, phone) - min(watch, phone) <= 1, "the watch shows \(watch) at \(phone): \(state)")
        } else {
            Issue.record("the clock cannot be set: \(String(describing: results[time])): \(state)")
        }
        tell(phone, .disconnect)
        run(for: .seconds(10))
    }

    // MARK: Using the hosts

    /// Connects, and pairs: one that the watch knows is answered at once. The wearer helps, as one has to who wants a second
    /// phone to find the watch.
    private mutating func meet(_ phone: Int) -> Bool {
        give(.command(.openPairing(for: .seconds(300))))
        give(.command(.advertise))
        guard carryOut(phone, .connect(.selected(.any), within: .seconds(120))) else { return false }
        guard carryOut(phone, .pair(.yes, within: .seconds(60))) else { return false }
        run(for: .seconds(15))
        return true
    }

    /// Tells a phone something, and waits for its end.
    private mutating func carryOut(_ phone: Int, _ command: PhoneCommand) -> Bool {
        let request = tell(phone, command)
        let host = phones[phone]
        _ = simulation.run(until: simulation.now + .seconds(200)) { simulation in
            simulation.withHost(host) { $0.results[request] != nil } == true
        }
        let result = simulation.withHost(host) { $0.results[request] } ?? nil
        last = "\(command): \(String(describing: result))"
        if case .success? = result { return true }
        return false
    }

    private mutating func run(for span: Duration) { simulation.run(for: span) }

    @discardableResult
    private mutating func tell(_ phone: Int, _ command: PhoneCommand) -> UInt64 {
        let now = simulation.now
        return simulation.withHost(phones[phone]) { $0.begin(command, at: now) } ?? 0
    }

    private mutating func give(_ input: WatchInput) {
        let now = simulation.now
        _ = simulation.withHost(watch) { $0.take(input, at: now) }
    }

    private mutating func setFull(_ isFull: Bool) { _ = simulation.withHost(watch) { $0.isFull = isFull } }

    private mutating func setQuality(_ quality: LinkQuality, _ phone: Int) {
        simulation.air.setLinkQuality(quality, between: watch.controller, and: phones[phone].controller)
    }
}
