import BluetoothHost
import ByteCoding
import Foundation
import SeededRandomness
import Testing

@testable import PebbleWatch

/// Phones that send anything at any time: no trap, no growth, no request that is pending twice, and a client that works
/// with the next honest phone.
///
/// Values that mean something are bent, cut and joined; procedures succeed, are refused, or end much later; the service
/// vanishes and comes back; time passes in small and in huge steps.
@Suite struct PhoneServiceMutationTests {
    private static let count = ProcessInfo.processInfo.environment["CAIRN_MUTATIONS"].flatMap(Int.init) ?? 100_000
    private static let seed = ProcessInfo.processInfo.environment["CAIRN_SEED"].flatMap(UInt64.init) ?? 0xA9C5

    /// What a phone does with one client.
    private struct Hostile<Client: PhoneServiceClient> {
        var client: Client
        var random: SplitMix64
        var now: Duration = .zero
        /// What was asked and is not answered.
        var asked: GATTProcedure?
        var eventCount = 0
        let places: [Client.Handles]
        let values: [(AttributeHandle, [UInt8])]
        /// What the client can be asked by the watch itself.
        let command: (inout Client, inout SplitMix64) -> Void

        mutating func play(_ count: Int) throws {
            for round in 0..<count {
                step()
                // One step has one value, and few events follow from it.
                var events = 0
                while client.nextEvent() != nil { events += 1 }
                eventCount += events
                try #require(events <= 40, "round \(round): \(events) events at once")
                if asked == nil {
                    asked = client.nextProcedure(at: now)
                } else {
                    try #require(client.nextProcedure(at: now) == nil, "round \(round): two procedures at once")
                }
                if let deadline = client.nextDeadline {
                    try #require(deadline <= now + .seconds(6 * 3600), "round \(round): no such time is known")
                }
            }
        }

        /// This phone leaves the client as it is now, and the rig's takes its place.
        func followedByAnHonestOne() -> PhoneServiceRig<Client> {
            var rig = PhoneServiceRig(client)
            rig.now = now
            rig.client.serviceGone(at: now)
            if asked != nil { rig.client.finish(.failure(.disconnected), at: now) }
            _ = rig.takeEvents()
            return rig
        }

        private mutating func step() {
            switch Int.random(in: 0..<100, using: &random) {
            case 0..<50:
                let (handle, value) = values[Int.random(in: 0..<values.count, using: &random)]
                _ = client.receive(bent(value), of: handle, at: now)
            case 50..<80:
                guard asked != nil else { return }
                asked = nil
                client.finish(answer(), at: now)
            case 80..<90:
                now += .milliseconds(Int.random(in: 0...12_000, using: &random))
                client.advance(to: now)
            case 90..<92:
                now += .seconds(Int.random(in: 0...7 * 3600, using: &random))
                client.advance(to: now)
            case 92..<95: command(&client, &random)
            case 95..<97: client.serviceGone(at: now)
            default: client.serviceFound(places[Int.random(in: 0..<places.count, using: &random)], at: now)
            }
        }

        private mutating func answer() -> Result<GATTResponse, GATTProcedureError> {
            let value = bent(values[Int.random(in: 0..<values.count, using: &random)].1)
            switch Int.random(in: 0..<10, using: &random) {
            case 0...5: return .success(.written)
            case 6: return .success(.value(value))
            case 7: return .refused(ATTError(rawValue: UInt8.random(in: 0...255, using: &random)))
            case 8:
                return .success([.services([]), .descriptors([]), .mtu(23)].randomElement(using: &random) ?? .written)
            default:
                return .failure(
                    [.timedOut, .disconnected, .valueExceedsMTU].randomElement(using: &random) ?? .timedOut
                )
            }
        }

        private mutating func bent(_ value: [UInt8]) -> ArraySlice<UInt8> {
            var value = value
            switch Int.random(in: 0..<8, using: &random) {
            case 0...2: break
            case 3, 4:
                guard !value.isEmpty else { break }
                value[Int.random(in: 0..<value.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            case 5: value = Array(value.prefix(Int.random(in: 0...value.count, using: &random)))
            case 6: value += values[Int.random(in: 0..<values.count, using: &random)].1
            default:
                value = (0..<Int.random(in: 0...512, using: &random)).map { _ in
                    UInt8.random(in: 0...255, using: &random)
                }
            }
            return value[...]
        }
    }

    private static func place(_ first: UInt16) -> ANCSClient.Handles {
        ANCSClient.Handles(
            notificationSource: NotifyingValue(value: handle(first), configuration: handle(first + 1)),
            dataSource: NotifyingValue(value: handle(first + 2), configuration: handle(first + 3)),
            controlPoint: handle(first + 4)
        )
    }

    @Test func notifications() throws {
        let whole: [UInt8] =
            [0, 1, 0, 0, 0] + .ancs(6, "Yes") + .ancs(7, "No") + .ancs(0, "app") + .ancs(1, "Title") + .ancs(2, "")
            + .ancs(3, "Text") + .ancs(5, "20250101T120000")
        var values: [(AttributeHandle, [UInt8])] = []
        for first: UInt16 in [0x10, 0x20] {
            for kind: UInt8 in 0...2 { values.append((handle(first), [kind, 0x18, 4, 1, 1, 0, 0, 0])) }
            values.append((handle(first), [0, 0x18, 1, 1, 2, 0, 0, 0]))
            values.append((handle(first + 2), whole))
            values += whole.parts(of: 20).map { (handle(first + 2), $0) }
            values.append((handle(first + 2), [1] + Array("app".utf8) + [0] + .ancs(0, "App")))
        }
        var phone = Hostile(
            client: ANCSClient(),
            random: SplitMix64(seed: Self.seed),
            places: [Self.place(0x10), Self.place(0x20)],
            values: values
        ) { client, random in
            client.perform(Bool.random(using: &random) ? .positive : .negative, of: .init(rawValue: 1))
            client.believesRemovals.toggle()
        }
        try phone.play(Self.count)
        #expect(phone.eventCount > Self.count / 100, "it has to say something")

        var rig = phone.followedByAnHonestOne()
        rig.client.serviceFound(Self.place(0x30), at: rig.now)
        rig.run()
        rig.notifications = { procedure in
            guard case .write(_, let value) = procedure else { return [] }
            let name: [UInt8] = [1] + Array("app".utf8) + [0] + .ancs(0, "App")
            return [(handle(0x32), value.first == 0 ? whole : name)]
        }
        rig.notify(handle(0x30), [0, 0x18, 4, 1, 1, 0, 0, 0])
        let titles = rig.takeEvents().compactMap { event in
            if case .notified(let notification) = event { notification.title } else { nil }
        }
        #expect(titles == ["Title"], "seed \(Self.seed)")
    }

    @Test func media() throws {
        var values: [(AttributeHandle, [UInt8])] = []
        for attribute in AMSAttribute.allCases {
            for text in ["", "1", "0.5", "1,1.0,12.5", "Title", "-99999999999.99999"] {
                for flags: UInt8 in 0...1 {
                    values.append((handle(0x12), attribute.selection + [flags] + Array(text.utf8)))
                }
            }
        }
        let places = [0x10, 0x20].map { (first: UInt16) in
            AMSClient.Handles(
                remoteCommand: handle(first),
                entityUpdate: NotifyingValue(value: handle(first + 2), configuration: handle(first + 3)),
                entityAttribute: handle(first + 4)
            )
        }
        var phone = Hostile(
            client: AMSClient(),
            random: SplitMix64(seed: Self.seed),
            places: places,
            values: values
        ) { client, random in
            client.send(.play)
            client.holdBack(Int.random(in: 0..<8, using: &random) == 0)
        }
        try phone.play(Self.count)
        #expect(phone.eventCount > Self.count / 100, "it has to say something")

        phone.client.holdBack(false)
        var rig = phone.followedByAnHonestOne()
        rig.client.serviceFound(places[0], at: rig.now)
        rig.run()
        rig.notify(handle(0x12), [2, 2, 0, 0x41])
        #expect(rig.takeEvents() == [.registered, .changed(.title("A"))], "seed \(Self.seed)")
    }

    @Test func time() throws {
        let places = [nil, handle(0x14)].map { zone in
            CurrentTimeClient.Handles(
                currentTime: handle(0x11),
                configuration: handle(0x12),
                localTimeInformation: zone
            )
        }
        let time: [UInt8] = [0xE9, 0x07, 3, 1, 12, 34, 56, 6, 128, 0]
        var phone = Hostile(
            client: CurrentTimeClient(),
            random: SplitMix64(seed: Self.seed),
            places: places,
            values: [(handle(0x11), time), (handle(0x11), time.dropLast() + [0x0C]), (handle(0x11), [4, 4])]
        ) { _, _ in }
        try phone.play(Self.count)
        #expect(phone.eventCount > Self.count / 100, "it has to say something")

        var rig = phone.followedByAnHonestOne()
        rig.answer = { $0 == .read(handle(0x11)) ? .success(.value(time[...])) : .success(.written) }
        rig.client.serviceFound(places[0], at: rig.now)
        rig.run()
        #expect(rig.takeEvents().count == 1, "seed \(Self.seed)")
    }
}
