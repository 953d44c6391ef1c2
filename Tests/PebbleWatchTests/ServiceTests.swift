import ByteCoding
import PebbleProtocol
import Testing

@testable import PebbleWatch

/// The small services, and those that transfer data in parts.
@Suite struct ServiceTests {
    /// Endpoint and payload as a message.
    private func message(_ endpoint: Endpoint, _ payload: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.appendBigEndian(UInt16(payload.count))
        bytes.appendBigEndian(endpoint.rawValue)
        return bytes + payload
    }

    @Test func theClockIsReadAndSet() throws {
        var rig = ServiceRig()
        func get() -> [[UInt8]] { rig.send(message(.time, [0x00])).map(\.payload) }
        rig.wait(.seconds(5))
        var time: [UInt8] = [0x01]
        time.appendBigEndian(ServiceRig.startTime + 5)
        #expect(get() == [time])
        // UTC 0x65000000, 60 minutes east, "CET".
        #expect(rig.send(message(.time, [0x03, 0x65, 0, 0, 0, 0, 60, 3, 0x43, 0x45, 0x54])).isEmpty)
        #expect(get() == [[0x01, 0x65, 0, 0, 0]])
        #expect(rig.system.clock.zone == WatchClock.Zone(offsetMinutes: 60, name: "CET"))
        // The name's length contradicts the message's: ignored.
        #expect(rig.send(message(.time, [0x03, 0x66, 0, 0, 0, 0, 60, 2, 0x43, 0x45, 0x54])).isEmpty)
        #expect(get() == [[0x01, 0x65, 0, 0, 0]])
        #expect(rig.send(message(.time, [0x02, 0x67, 0, 0, 0])).isEmpty)
        #expect(get() == [[0x01, 0x67, 0, 0, 0]])
    }

    @Test func pingsOfBothLengthsAreAnswered() {
        var rig = ServiceRig()
        #expect(rig.send(message(.ping, [0, 1, 2, 3, 4])).map(\.payload) == [[1, 1, 2, 3, 4]])
        #expect(rig.send(message(.ping, [0, 1, 2, 3, 4, 1])).map(\.payload) == [[1, 1, 2, 3, 4]])
        #expect(rig.send(message(.ping, [1, 1, 2, 3, 4])).isEmpty)
    }

    @Test func theVersionHasItsLengthAndSaysWhatTheWatchCanDo() throws {
        var rig = ServiceRig()
        let said = rig.send(message(.watchVersion, [0x00]))
        #expect(said.first?.payload.count == 155)
        // Bits 0, 1, 2, 3, 5, 10, 14, 21, 22, and no others.
        let capabilities = said.first.map { Array($0.payload[142..<150]) }
        #expect(capabilities == [0x2F, 0x44, 0x60, 0, 0, 0, 0, 0])
    }

    @Test func unknownEndpointsAreRefusedAndInertOnesAreNot() {
        var rig = ServiceRig()
        #expect(rig.send(message(.init(rawValue: 0x7777), [1])).map(\.payload) == [[0xDC, 0x77, 0x77]])
        for endpoint: Endpoint in [.voiceControl, .audioStream, .bleControl, .pollRemote, .imaging, .xsbug] {
            #expect(rig.send(message(endpoint, [1, 2, 3])).isEmpty, "\(endpoint)")
        }
        rig.reopen(PPoGATTDestination(kind: .app, application: PebbleUUID(upperHalf: 1, lowerHalf: 1)))
        #expect(rig.send(message(.putBytes, [1])).map(\.payload) == [[0xDD, 0xBE, 0xEF]])
        #expect(rig.send(message(.ping, [0, 1, 2, 3, 4])).count == 1)
    }

    @Test func theLauncherIsOrdered() throws {
        var rig = ServiceRig()
        let order = (1...3).map { PebbleUUID(upperHalf: $0, lowerHalf: 0) }
        let request: [UInt8] = [1, 3] + order.flatMap(\.key)
        #expect(rig.send(message(.appOrder, request)).map(\.payload) == [[1]])
        #expect(rig.system.services.store.appOrder == order)
        #expect(rig.send(message(.appOrder, [1, 1, 7])).map(\.payload) == [[3]], "a part of a UUID")
        #expect(rig.send(message(.appOrder, [2, 0])).map(\.payload) == [[2]], "another command")
        #expect(rig.system.services.store.appOrder == order)
        // A wrong count is logged, and the entries that are there are used all the same.
        #expect(rig.send(message(.appOrder, [1, 2] + order[0].key)).map(\.payload) == [[3], [1]])
        #expect(rig.system.services.store.appOrder == [order[0]])
        #expect(rig.send(message(.appOrder, request)).map(\.payload) == [[1]])
        rig.storeWorks = false
        #expect(rig.send(message(.appOrder, [1, 0])).map(\.payload) == [[2]])
        #expect(rig.system.services.store.appOrder == order)
    }

    @Test func musicIsShownAndControlled() throws {
        var rig = ServiceRig()
        rig.send(message(.music, [0x10, 1, 0x41, 1, 0x42, 1, 0x43, 0x10, 0x27, 0, 0, 2, 0, 1, 0]))
        rig.send(message(.music, [0x11, 1, 0xE8, 3, 0, 0, 100, 0, 0, 0, 1, 1]))
        rig.send(message(.music, [0x12, 55]))
        rig.wait(.seconds(2))
        let music = rig.system.services.music
        #expect(music.track?.artist == "A" && music.track?.album == "B" && music.track?.title == "C")
        #expect(music.position(at: rig.now) == 3000)
        #expect(music.volume == 55)
        #expect(rig.system.withServices(at: rig.now) { $0.send(.next, in: &$1) } == true)
        #expect(rig.drain().map(\.payload) == [[0x04]])
        rig.closeSession()
        #expect(rig.system.services.music.track == nil)
        #expect(rig.system.withServices(at: rig.now) { $0.send(.next, in: &$1) } == false)
    }

    @Test func androidsAreAskedForTheirMusic() throws {
        var rig = ServiceRig()
        let android = PhoneVersion(platform: PhonePlatform(.android), appVersion: .init(major: 4, minor: 0, bugfix: 0))
        #expect(
            try rig.send(PhoneVersionMessage.response(android)).contains(PebbleMessage(MusicMessage.command(.getAll)))
        )
        let again = try rig.send(PhoneVersionMessage.response(android))
        #expect(again.isEmpty, "once a session")
        rig.reopen()
        let iPhone = PhoneVersion(platform: PhonePlatform(.iOS), appVersion: .init(major: 4, minor: 0, bugfix: 0))
        #expect(try !rig.send(PhoneVersionMessage.response(iPhone)).contains { $0.endpoint == .music })
    }

    @Test func callsRingAreTakenAndEnd() throws {
        var rig = ServiceRig()
        rig.send(message(.phoneControl, [0x04, 0, 0, 0, 9, 2, 0x31, 0x32, 3, 0x4D, 0x75, 0x6D]))
        #expect(rig.system.services.phoneControl.calls.first?.caller?.name == "Mum")
        #expect(rig.system.withServices(at: rig.now) { $0.answerCall(true, in: &$1) } == true)
        #expect(rig.drain().map(\.payload) == [[0x01, 0, 0, 0, 9]])
        rig.send(message(.phoneControl, [0x08, 0, 0, 0, 9]))
        #expect(rig.system.services.phoneControl.calls.first?.state == .active)
        #expect(rig.system.withServices(at: rig.now) { $0.answerCall(false, in: &$1) } == true)
        #expect(rig.drain().map(\.payload) == [[0x02, 0, 0, 0, 9]])
        rig.send(message(.phoneControl, [0x09, 0, 0, 0, 9]))
        rig.send(message(.phoneControl, [0x06, 0, 0, 0, 10, 1, 0x33, 0]))
        #expect(rig.system.services.phoneControl.calls.isEmpty)
        #expect(rig.system.services.phoneControl.missed.map(\.number) == ["3"])
        // A list of calls within a list of calls has no end; it is not followed.
        rig.send(message(.phoneControl, [0x83, 3, 0x83, 1, 0x83, 5, 0x05, 0, 0, 0, 1]))
        #expect(rig.system.services.phoneControl.calls.map(\.state) == [.outgoing])
    }

    @Test func screenshotsHaveExactlyTheirPixels() throws {
        for hardware: HardwarePlatform in [.asterix, .snowyS3, .spalding, .obelixPVT, .getafixDVT] {
            var identity = WatchIdentity(address: .random(ServiceRig.address))
            identity.hardware = hardware
            var rig = ServiceRig(identity: identity)
            let frame = rig.system.apps.frame
            let said = rig.send(message(.screenshot, [0x00]))
            let header = try ScreenshotHeader(payload: try #require(said.first).payload)
            #expect(header.status == .ok)
            #expect(header.width == UInt32(frame.display.width) && header.height == UInt32(frame.display.height))
            #expect(header.format == (frame.display.hasColor ? .eightBits : .oneBit))
            let pixels = Array(header.pixels) + said.dropFirst().flatMap(\.payload)
            #expect(pixels == frame.pixels)
            #expect(said.allSatisfy { $0.payload.count <= 1024 && !$0.payload.isEmpty })
            #expect(Set(frame.pixels).count > 1, "there is something on the screen")
        }
    }

    @Test func aScreenshotWaitsForTheTransport() throws {
        var identity = WatchIdentity(address: .random(ServiceRig.address))
        identity.hardware = .getafixDVT
        var rig = ServiceRig(identity: identity)
        rig.system.receive(message(.screenshot, [0x00])[...], on: rig.session, at: rig.now)
        #expect(rig.system.outboundByteCount(of: rig.session) < 8192)
        // A second one is refused while the first is under way.
        rig.system.receive(message(.screenshot, [0x00])[...], on: rig.session, at: rig.now)
        let said = rig.drain()
        #expect(said.filter { $0.payload == [3, 0, 0, 0, 1] + [UInt8](repeating: 0, count: 8) }.count == 1)
        #expect(said.reduce(0) { $0 + $1.payload.count } == 13 + 260 * 260 + 13)
        #expect(rig.send(message(.screenshot, [0x07])).map(\.payload.first) == [1])
    }

    @Test func theLogIsDumpedByGeneration() throws {
        var rig = ServiceRig()
        let lines = rig.system.services.log.generations[0]
        #expect(!lines.isEmpty)
        let said = try rig.send(message(.logDump, [0x10, 0, 1, 2, 3, 4])).decoded(LogDumpMessage.self)
        #expect(said == lines.map { .line(cookie: 0x0102_0304, $0.cut) } + [.done(cookie: 0x0102_0304)])
        // A phone that knows of no more than four generations, and one that does.
        #expect(rig.send(message(.logDump, [0x10, 6, 1, 2, 3, 4])).map(\.payload) == [[0x81, 1, 2, 3, 4]])
        // As at PebbleOS 4.35: what has another length is not answered.
        for wrong: [UInt8] in [[0x10, 6, 1, 2, 3], [0x10, 6, 1, 2, 3, 4, 5], [0, 1, 2, 3, 4, 5]] {
            #expect(rig.send(message(.logDump, wrong)).isEmpty)
        }
        try rig.send(
            PhoneVersionMessage.response(
                PhoneVersion(
                    platform: PhonePlatform(.iOS),
                    appVersion: .init(major: 4, minor: 0, bugfix: 0),
                    capabilities: .infiniteLogDump
                )
            )
        )
        #expect(rig.send(message(.logDump, [0x10, 6, 1, 2, 3, 4])).map(\.payload) == [[0x82, 1, 2, 3, 4]])
        #expect(rig.send(message(.logDump, [0x00, 1, 2, 3, 4])).last?.payload == [0x81, 1, 2, 3, 4])
    }

    @Test func appLogsGoToThoseWhoAsked() throws {
        var rig = ServiceRig()
        let line = LogLine(timestamp: 1, level: .info, line: 7, file: "main.c", message: "hello")
        let record = AppLogRecord(application: .system, line: line)
        func log() -> [PebbleMessage] {
            _ = rig.system.withApps(at: rig.now) { _, context in context.events.append(.appLogged(record)) }
            return rig.drain()
        }
        #expect(log().isEmpty)
        rig.send(message(.appLog, [1]))
        #expect(log() == [PebbleMessage(record)])
        rig.send(message(.appLog, [0]))
        #expect(log().isEmpty)
        rig.send(message(.appLog, [1]))
        rig.reopen()
        #expect(log().isEmpty, "the wish ends with the session")
    }

    @Test func aCoreDumpIsHandedOverOnceAsUnread() throws {
        let bytes = (0..<3000).map { UInt8(truncatingIfNeeded: $0) }
        var rig = ServiceRig(memory: ServiceMemory(coreDump: CoreDump(bytes: bytes)))
        let said = try rig.send(message(.getBytes, [0x05, 0x42])).decoded(GetBytesMessage.self)
        #expect(said.first == GetBytesMessage(transaction: 0x42, .info(.ok, size: 3000)))
        var received: [UInt8] = []
        for piece in said.dropFirst() {
            guard case .data(let offset, let data) = piece.body else { continue }
            #expect(Int(offset) == received.count && piece.transaction == 0x42)
            received += data
        }
        #expect(received == bytes)
        #expect(rig.send(message(.getBytes, [0x05, 0x43])).map(\.payload) == [[1, 0x43, 3, 0, 0, 0, 0]])
        #expect(rig.send(message(.getBytes, [0x00, 0x44])).count == 4)
        #expect(rig.send(message(.getBytes, [0x03, 0x45, 1, 0x61, 0])).map(\.payload) == [[1, 0x45, 3, 0, 0, 0, 0]])
        #expect(rig.send(message(.getBytes, [0x03, 0x47, 0])).map(\.payload) == [[1, 0x47, 1, 0, 0, 0, 0]], "no name")
        #expect(rig.send(message(.getBytes, [0x09, 0x46])).map(\.payload) == [[1, 0x46, 1, 0, 0, 0, 0]])
    }
}

extension LogLine {
    /// As it arrives: what does not fit is cut.
    fileprivate var cut: LogLine {
        var line = self
        line.file = String(file.suffix(15))
        line.message = String(decoding: Array(message.utf8.prefix(LogLine.maximumMessageLength)), as: UTF8.self)
        return line
    }
}
