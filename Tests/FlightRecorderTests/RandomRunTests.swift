import AirSimulator
import BluetoothHCI
import Faults
import Foundation
import PebblePhone
import PebbleProtocol
import PebbleWatch
import SeededRandomness
import Testing

@testable import FlightRecorder

/// Runs of a watch and a phone that leave everything to chance are recorded, and replayed to the same packets, events, changes
/// and results.
@Suite struct RandomRunTests {
    /// How many runs there are, unless `CAIRN_RECORDED_RUNS` sets the number.
    private static let count = ProcessInfo.processInfo.environment["CAIRN_RECORDED_RUNS"].flatMap(Int.init) ?? 50
    /// The first run's seed, unless `CAIRN_SEED` sets it.
    private static let seed = ProcessInfo.processInfo.environment["CAIRN_SEED"].flatMap(UInt64.init) ?? 0xF118

    @Test func aReplayIsTheSameAsTheRun() throws {
        for number in 0..<Self.count {
            let seed = Self.seed &+ UInt64(number)
            let replay = try Self.replayOfRun(seed)
            if let divergence = replay.divergence {
                Issue.record("CAIRN_RECORDED_RUNS=1 CAIRN_SEED=\(seed): \(divergence)")
                return
            }
        }
    }

    private static func replayOfRun(_ seed: UInt64) throws -> Replay {
        var chance = SplitMix64(seed: seed)
        let transports: [PhoneTransport] = [.forward, .reversed, .stream]
        let host = try RecordedHost(seed: seed, refusesChanges: chance.chance(1, in: 3))
        let transport = transports.randomElement(using: &chance) ?? .forward
        var air = try RecordedAir(host, transport: transport, seed: seed)
        if chance.chance(3, in: 4) { air.acquaint() }
        var tools: [DeveloperConnectionID] = []
        for _ in 0..<12 {
            act(&air, &chance, &tools)
            air.run(for: .milliseconds(Int.random(in: 0...5000, using: &chance)))
        }
        let recorded = air.recorded()
        let (bytes, watch) = try #require(recorded)
        let replay = try Replay.all(of: bytes)
        guard replay.divergence == nil else { return replay }
        #expect(replay.inputCount == replay.recording.inputCount, "seed \(seed)")
        #expect(replay.watch.nextDeadline == watch.nextDeadline, "seed \(seed)")
        #expect(replay.watch.bondedPhones == watch.bondedPhones, "seed \(seed)")
        #expect(replay.watch.runningApp == watch.runningApp, "seed \(seed)")
        #expect(replay.watch.frame == watch.frame, "seed \(seed)")
        return replay
    }

    /// Does one thing to the watch, the phone or the air.
    private static func act(
        _ air: inout RecordedAir,
        _ chance: inout SplitMix64,
        _ tools: inout [DeveloperConnectionID]
    ) {
        // Time passes in vain, too: the loop lets it pass whenever something else in the process was due.
        if chance.chance(1, in: 2) { for _ in 0..<3 { _ = air.give(.time) } }
        switch Int.random(in: 0..<14, using: &chance) {
        case 0: air.tell(.connect(.selected(.any), within: .seconds(10)))
        case 1: air.tell(.ping)
        case 2: air.tell(.notify(title: "Dinner", body: String(repeating: "soon ", count: Int(chance.next() % 40))))
        case 3: air.tell(.upload(chance.bytes(2000), name: "lang"))
        case 4: air.tell(chance.chance(1, in: 2) ? .disconnect : .drop)
        case 5: air.tell(.push(.empty, to: EchoApp.identifier))
        case 6:
            // Out of each other's reach for a while, which may be longer than the supervision timeout.
            air.simulation.air.setLinkQuality(.outOfRange, between: air.watch.controller, and: air.phone.controller)
            air.run(for: .milliseconds(Int.random(in: 100...8000, using: &chance)))
            air.simulation.air.setLinkQuality(.perfect, between: air.watch.controller, and: air.phone.controller)
        case 7:
            _ = air.give(.controllerLost)
            air.run(for: .seconds(1))
            _ = air.give(.start)
        case 8:
            if let id = tools.popLast() {
                _ = air.give(.toolBytes(ArraySlice(chance.bytes(40)), from: id))
                _ = air.give(.toolHasRoom(id))
                if chance.chance(1, in: 2) {
                    _ = air.give(.toolLeft(id, reason: "it is done"))
                } else {
                    tools.append(id)
                }
            } else if case .tool(let id)? = air.give(.toolConnected(chance.chance(1, in: 2) ? .qemu : .serial)) {
                tools.append(id)
            }
        case 9:
            // What faults of the radio and of the controller do is in what the watch is given; its own are commands.
            for name in faults.shuffled(using: &chance).prefix(3) {
                let number = FaultID(rawValue: Int(chance.next() % 1000) + 1)
                guard let fault = try? Fault(parsing: name + " for=20s") else { continue }
                _ = air.give(.command(.addFault(fault, number)))
            }
        case 10: _ = air.give(.command(.clearFaults()))
        default:
            if let command = commands.randomElement(using: &chance) { _ = air.give(.command(command)) }
        }
    }

    /// The names of the watch's own faults.
    private static let faults = FaultDefinition.all.filter { definition in
        switch definition.kind {
        case .ppogatt, .message, .watch: true
        case .radio, .hci: false
        }
    }
    .map(\.name)

    /// Some can be carried out only now and then: a refusal is recorded, too.
    private static let commands: [WatchCommand] = [
        .press(.select, .short), .press(.up, .short), .press(.select, .long), .hold([.down]), .hold([]),
        .sense(.battery(percent: 40, isCharging: true)), .sense(.tap(.x, direction: 1)), .sense(.contentSize(9)),
        .launchApp(EchoApp.identifier), .stopApp, .removeApp(EchoApp.identifier), .sendAppMessage(.empty),
        .openPairing(for: .seconds(30)), .closePairing, .confirmPairing, .makeOutOfBandData,
        .forgetAll, .disconnect, .advertise, .offerBattery(true), .offerBattery(false), .publish(.pebble, true),
        .publish(.pebble, false), .setTime(seconds: 1_735_689_600, offsetMinutes: 60, zone: "Europe/Paris"),
        .service(.music(.next)), .service(.set("lightTimeoutMs", to: [1, 2])), .service(.restart(.reboot)),
        .service(.restart(.factoryReset)),
    ]
}
