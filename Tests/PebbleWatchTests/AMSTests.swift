import BluetoothHost
import ByteCoding
import PebbleProtocol
import Testing

@testable import PebbleWatch

/// AMS to the byte, and its client before a scripted phone, in virtual time.
@Suite struct AMSTests {
    private static let handles = AMSClient.Handles(
        remoteCommand: handle(0x30),
        entityUpdate: NotifyingValue(value: handle(0x33), configuration: handle(0x34)),
        entityAttribute: handle(0x36)
    )
    private static let update = handle(0x33)

    private static func vector(_ name: String) throws -> [UInt8] {
        try #require(PeripheralVectorTests.vectors[name], "\(name)")
    }

    private static func subscribe(_ subscription: Subscription = .notifications) -> GATTProcedure {
        .subscribe(clientConfiguration: handle(0x34), subscription)
    }

    private func registered() -> PhoneServiceRig<AMSClient> {
        var rig = PhoneServiceRig(AMSClient())
        rig.client.serviceFound(Self.handles, at: rig.now)
        rig.run()
        _ = rig.takeAsked()
        _ = rig.takeEvents()
        return rig
    }

    private func changes(_ events: [AMSClient.Event]) -> [AMSChange] {
        events.compactMap { if case .changed(let change) = $0 { change } else { nil } }
    }

    // MARK: Bytes

    @Test func registrationsAreTheGoldenOnes() throws {
        #expect(AMSAttribute.Entity.player.registration == (try Self.vector("ams_register_player")))
        #expect(AMSAttribute.Entity.queue.registration == (try Self.vector("ams_register_queue")))
        #expect(AMSAttribute.Entity.track.registration == (try Self.vector("ams_register_track")))
    }

    @Test func updatesAreReadFromTheGoldenOnes() throws {
        func change(_ name: String) throws -> AMSChange {
            let update = try AMSEntityUpdate(try Self.vector(name)[...])
            #expect(!update.isTruncated)
            return try AMSChange(update.attribute, update.text)
        }
        #expect(
            try change("ams_update_playback")
                == .playback(.init(state: .playing, ratePercent: 200, positionMilliseconds: 184_755))
        )
        #expect(
            try change("ams_update_playback_nulls")
                == .playback(.init(state: .paused, ratePercent: 0, positionMilliseconds: 0))
        )
        #expect(try change("ams_update_duration") == .duration(milliseconds: 319_507))
        #expect(try change("ams_update_volume") == .volume(60))
    }

    @Test func everyAttributeHasItsNumber() throws {
        for attribute in AMSAttribute.allCases {
            let bytes = attribute.selection + [0x01, 0x41]
            let update = try AMSEntityUpdate(bytes[...])
            #expect(update.attribute == attribute)
            #expect(update.isTruncated)
            #expect(update.text == [0x41])
        }
        #expect(throws: ByteDecodingError.self) { try AMSEntityUpdate([3, 0, 0]) }
        #expect(throws: ByteDecodingError.self) { try AMSEntityUpdate([0, 3, 0]) }
        #expect(throws: ByteDecodingError.self) { try AMSEntityUpdate([0, 1]) }
    }

    @Test func numbers() throws {
        func parse(_ text: String, _ factor: Int64 = 1000) -> Int64? {
            try? AMSNumber.parse(Array(text.utf8)[...], times: factor, "number")
        }
        let known: [(String, Int64, Int64)] = [
            ("0", 1000, 0), ("1", 1, 1), ("1.9", 1, 1), ("0.604925", 100, 60), ("-1", 1, -1), ("-0.5", 1000, -500),
            (".5", 1000, 500), ("5.", 1000, 5000), ("184.7555555555", 1000, 184_755), ("1.05", 1000, 1050),
            ("999999999999", 1000, 999_999_999_999_000),
        ]
        for (text, factor, expected) in known { #expect(parse(text, factor) == expected, "\(text)") }
        for text in ["", "-", ".", "1,0", "1.0.0", "0x10", " 1", "1e3", "nan", "9999999999999999", "--1"] {
            #expect(parse(text) == nil, "\(text)")
        }
    }

    @Test func whatSaysNothing() {
        for text in ["", "1", "1,2", "1,1,0,0", "1,00,1,00,0,0", "a,b,c"] {
            #expect(throws: ByteDecodingError.self) { try AMSChange(.playbackInfo, Array(text.utf8)[...]) }
        }
        #expect(throws: ByteDecodingError.self) { try AMSChange(.volume, [0x78]) }
        #expect((try? AMSChange(.volume, Array("7.5".utf8)[...])) == .volume(100))
        #expect((try? AMSChange(.volume, Array("-1".utf8)[...])) == .volume(0))
        #expect((try? AMSChange(.playbackInfo, Array(",,".utf8)[...])) != nil)
    }

    @Test func keys() {
        let keys: [(MusicMessage.Command, UInt8)] = [
            (.play, 0), (.pause, 1), (.playOrPause, 2), (.next, 3), (.previous, 4), (.volumeUp, 5), (.volumeDown, 6),
        ]
        for (key, byte) in keys { #expect(AMSRemoteCommand(key)?.rawValue == byte) }
        #expect(AMSRemoteCommand(.getAll) == nil)
        #expect(AMSRemoteCommand.allCases.map(\.rawValue) == Array(0...0x0D))
    }

    // MARK: The client

    @Test func registersOneEntityAfterAnother() throws {
        var rig = PhoneServiceRig(AMSClient())
        rig.client.serviceFound(Self.handles, at: rig.now)
        rig.run()
        let registrations = try ["player", "queue", "track"].map { name in
            GATTProcedure.write(Self.update, try Self.vector("ams_register_\(name)")[...])
        }
        #expect(rig.takeAsked() == [Self.subscribe()] + registrations)
        #expect(rig.takeEvents() == [.registered])
    }

    @Test func whatPlaysAndKeys() {
        var rig = registered()
        rig.notify(Self.update, [2, 2, 0] + Array("Title".utf8))
        #expect(changes(rig.takeEvents()) == [.title("Title")])
        rig.client.send(.nextTrack)
        rig.run()
        #expect(rig.takeAsked() == [.write(handle(0x30), [3])])
        rig.answer = { _ in .refused(.amsInvalidCommand) }
        rig.client.send(.likeTrack)
        rig.run()
        #expect(rig.takeEvents() == [.problem(.commandRefused(PhoneServiceRig<AMSClient>.refusal(.amsInvalidCommand)))])
        rig.wait(.seconds(60))
        #expect(rig.takeAsked().count == 1, "a key is not pressed twice")
    }

    @Test func aTruncatedTextIsReadAsAWhole() {
        var rig = registered()
        let whole = Array("A title that is longer than a notification".utf8)
        rig.answer = { $0 == .readLong(handle(0x36)) ? .success(.value(whole[...])) : .success(.written) }
        rig.notify(Self.update, [2, 2, 1] + whole.prefix(10))
        #expect(rig.takeAsked() == [.write(handle(0x36), [2, 2]), .readLong(handle(0x36))])
        let texts = [whole.prefix(10), whole[...]].map { AMSChange.title(String(decoding: $0, as: UTF8.self)) }
        #expect(changes(rig.takeEvents()) == texts)
        // A read of an attribute that is gone by then is no failure; any other error is one.
        rig.answer = { _ in .refused(ATTError(rawValue: 0xA2)) }
        rig.notify(Self.update, [2, 2, 1, 0x41])
        #expect(rig.takeEvents() == [.changed(.title("A"))])
        rig.answer = { _ in .refused(.unlikelyError) }
        rig.notify(Self.update, [2, 2, 1, 0x41])
        #expect(rig.takeEvents().count == 2)
    }

    @Test func theNextTextComesWhileTheLastIsRead() {
        var rig = registered()
        rig.answer = { _ in nil }
        rig.notify(Self.update, [2, 2, 1, 0x41])
        rig.notify(Self.update, [2, 2, 1, 0x42])
        rig.answer = { $0 == .readLong(handle(0x36)) ? .success(.value([0x42, 0x43])) : .success(.written) }
        rig.finish(.success(.written))
        #expect(changes(rig.takeEvents()).last == .title("BC"))
        #expect(rig.takeAsked().count == 4, "selected and read twice: the first may have been the old text")
    }

    @Test func aRefusedRegistrationIsTriedOnceMore() {
        var rig = PhoneServiceRig(AMSClient())
        rig.answer = { $0 == Self.subscribe() ? .success(.written) : .refused(.insufficientAuthentication) }
        rig.client.serviceFound(Self.handles, at: rig.now)
        rig.run()
        rig.wait(.seconds(60))
        #expect(rig.times == [.zero, .zero, .seconds(5)])
        let refusal = PhoneServiceRig<AMSClient>.refusal(.insufficientAuthentication)
        #expect(rig.takeEvents() == [.problem(.notRegistered(refusal))])
        #expect(rig.client.nextDeadline == nil)
    }

    @Test func anUnansweredStepIsGivenUpAfterTenSeconds() {
        var rig = registered()
        rig.answer = { _ in nil }
        rig.client.send(.play)
        rig.client.send(.pause)
        rig.run()
        rig.wait(.milliseconds(9_999))
        #expect(rig.takeEvents().isEmpty)
        rig.wait(.milliseconds(1))
        #expect(rig.takeEvents() == [.problem(.timedOut)])
        rig.answer = { _ in .success(.written) }
        rig.finish(.failure(.timedOut))
        #expect(rig.takeAsked() == [.write(handle(0x30), [0]), .write(handle(0x30), [1])])
        #expect(rig.takeEvents().isEmpty)
    }

    @Test func keepsOutOfTheWayOfAnotherPlayer() {
        var rig = PhoneServiceRig(AMSClient())
        rig.client.holdBack(true)
        rig.client.serviceFound(Self.handles, at: rig.now)
        rig.run()
        #expect(rig.takeAsked().isEmpty)
        rig.client.holdBack(false)
        rig.run()
        #expect(rig.takeEvents() == [.registered])
        _ = rig.takeAsked()
        rig.client.holdBack(true)
        rig.run()
        #expect(rig.takeEvents() == [.unregistered])
        #expect(rig.takeAsked() == [Self.subscribe([])])
        rig.notify(Self.update, [2, 2, 0, 0x41])
        #expect(rig.takeEvents().isEmpty)
        rig.client.send(.play)
        rig.run()
        #expect(rig.takeAsked().isEmpty)
    }

    @Test func keysAndTextsThatWaitAreBounded() {
        var rig = registered()
        rig.answer = { _ in nil }
        for _ in 0...AMSClient.queueLimit { rig.client.send(.volumeUp) }
        #expect(rig.takeEvents() == [.problem(.tooManyCommands)])
        for _ in 0..<100 {
            for attribute in AMSAttribute.allCases { rig.notify(Self.update, attribute.selection + [1]) }
        }
        rig.answer = { $0 == .readLong(handle(0x36)) ? .success(.value([])) : .success(.written) }
        _ = rig.takeAsked()
        rig.run()
        let selections = rig.takeAsked().filter { if case .write(handle(0x36), _) = $0 { true } else { false } }
        #expect(selections.count <= AMSAttribute.allCases.count)
    }

    @Test func theServiceVanishesInTheMiddle() {
        var rig = registered()
        rig.answer = { _ in nil }
        rig.client.send(.play)
        rig.run()
        rig.client.serviceGone(at: rig.now)
        #expect(rig.takeEvents() == [.unregistered])
        #expect(rig.client.nextDeadline == nil)
        rig.client.serviceFound(Self.handles, at: rig.now)
        rig.answer = { _ in .success(.written) }
        rig.finish(.refused(.invalidHandle))
        #expect(rig.takeEvents() == [.registered])
    }
}
