import PebbleProtocol
import Testing

@testable import PebbleWatch

@Suite("What the comparison with the firmware makes of answers that come late, twice, or not at all")
struct MirrorJudgementTests {
    /// Of a database that there is not: the number is the name that the answer repeats.
    private func clear(_ number: UInt8) -> PebbleMessage {
        PebbleMessage(endpoint: .blobDB, payload: [0x05, number, 0x0E, 0x0D])
    }

    private func cleared(_ number: UInt8, _ status: UInt8 = 0x04) -> PebbleMessage {
        PebbleMessage(endpoint: .blobDB, payload: [number, 0x0E, status])
    }

    // MARK: Late, twice, otherwise

    @Test("Another answer that comes late is a difference as soon as it comes")
    func lateAndOtherwise() throws {
        var rig = try MirrorRig()
        try rig.send(clear(1))
        try rig.wait(.seconds(2))
        #expect(rig.differences.isEmpty)
        try rig.say(cleared(1, 0x05))
        try rig.serve()
        #expect(rig.differences.map(\.kind) == [.answer])
        #expect(rig.differences.first?.delay == nil)
        #expect(rig.tally.different == [.answer: 1] && rig.tally.waiting == 0)
    }

    @Test("A second answer of the firmware's alone takes the agreement back")
    func twice() throws {
        var rig = try MirrorRig()
        try rig.send(clear(1))
        try rig.say(cleared(1))
        try rig.serve()
        #expect(rig.tally.same == 1)
        try rig.say(cleared(1))
        try rig.serve()
        #expect(rig.tally.same == 0 && rig.tally.compared == 0 && rig.tally.waiting == 1)
        #expect(rig.differences.isEmpty, "the watch may say it too")
        try rig.wait(FirmwareMirror.settling)
        #expect(rig.differences.map(\.kind) == [.extra])
        #expect(rig.differences.first?.firmware.count == 2)
        #expect(rig.tally.compared == 1)
    }

    @Test("An answer without a payload is another answer")
    func empty() throws {
        var rig = try MirrorRig()
        try rig.send(PebbleMessage(endpoint: .time, payload: [0x00]))
        try rig.say(PebbleMessage(endpoint: .time, payload: []))
        try rig.wait(.seconds(1))
        #expect(rig.differences.map(\.kind) == [.answer])
        #expect(rig.differences.first?.firmware.map(\.bytes) == [[]])
    }

    @Test("An answer to what neither had answered takes the agreement back")
    func unanswered() throws {
        var rig = try MirrorRig()
        try rig.send(PebbleMessage(TimeMessage.setUTC(.init(seconds: 1_800_000_000, offsetMinutes: 60, zoneName: ""))))
        #expect(rig.tally.same == 1 && rig.tally.unanswered == 1)
        try rig.say(PebbleMessage(endpoint: .time, payload: [0x01, 1, 2, 3, 4]))
        try rig.serve()
        #expect(rig.tally.same == 0 && rig.tally.unanswered == 0)
        try rig.wait(FirmwareMirror.settling)
        #expect(rig.differences.map(\.kind) == [.extra])
        #expect(rig.tally.unansweredByWatch == 1 && rig.tally.unansweredByFirmware == 0)
    }

    @Test("When more was asked than is remembered, the oldest answer that is not there is missing at once")
    func oldest() throws {
        var rig = try MirrorRig()
        try rig.send(clear(0))
        try rig.wait(.seconds(1))
        for number: UInt8 in 1...31 {
            try rig.send(clear(number))
            try rig.say(cleared(number))
            try rig.serve()
        }
        #expect(rig.differences.isEmpty && rig.tally.same == 31)
        try rig.send(clear(32))
        try rig.say(cleared(32))
        try rig.serve()
        #expect(rig.differences.map(\.kind) == [.missing])
        #expect(rig.differences.first?.question.bytes == clear(0).payload)
        #expect(rig.tally.same == 32 && rig.tally.compared == 33)
    }

    @Test("The order of answers says something only within one endpoint")
    func order() {
        let now = Duration.seconds(1)
        let first = PebbleMessage(MetaMessage.unhandled(.time))
        let second = PebbleMessage(endpoint: .time, payload: [0x05, 1])
        let third = PebbleMessage(endpoint: .ping, payload: [0x01, 1, 2, 3, 4])
        func difference(_ watch: [PebbleMessage], _ firmware: [PebbleMessage]) -> MirrorDifference.Kind? {
            var exchange = MirrorExchange(
                PebbleMessage(endpoint: .time, payload: [0x00]),
                number: 1,
                on: SessionID(number: 1),
                runningApp: .system,
                at: now
            )
            let names = MirrorNames()
            for message in watch { exchange.take(message, from: .watch, names) }
            for message in firmware { exchange.take(message, from: .firmware, names) }
            return exchange.difference
        }
        #expect(difference([first, second], [second, first]) == nil)
        #expect(difference([first, third], [third, first]) == nil)
        let other = PebbleMessage(MetaMessage.disallowed(.time))
        #expect(difference([first, other, second], [other, second, first]) == .order)
        // More than 64 answers are not kept.
        let many = [PebbleMessage](repeating: first, count: 64)
        #expect(difference(many + [second], many + [other]) == nil)
        #expect(difference(many.dropLast() + [second], many.dropLast() + [other]) == .answer)
    }

    @Test("A picture in several messages is one answer")
    func picture() throws {
        var rig = try MirrorRig()
        try rig.send(PebbleMessage(ScreenshotRequest()))
        // 8 pixels of 1 bit in 3 rows are 3 bytes: the first message brings one of them.
        let header: [UInt8] = [0, 0, 0, 0, 1, 0, 0, 0, 8, 0, 0, 0, 3, 0xAA]
        try rig.say(PebbleMessage(endpoint: .screenshot, payload: header))
        try rig.say(PebbleMessage(endpoint: .screenshot, payload: [0xBB]))
        try rig.say(PebbleMessage(endpoint: .screenshot, payload: [0xCC]))
        try rig.wait(.seconds(30))
        #expect(rig.tally.same == 1 && rig.tally.compared == 1 && rig.differences.isEmpty)
        #expect(rig.tally.unasked == 0, "the rest belongs to the picture")
        // The picture is whole: what comes now is no part of it.
        try rig.say(PebbleMessage(endpoint: .screenshot, payload: [0xDD]))
        try rig.serve()
        #expect(rig.tally.unasked == 1)
    }

    // MARK: A firmware that does not go on

    /// Time passes in which the firmware says things, so that it is not taken for one that hangs.
    private func wait(_ seconds: Int, in rig: inout MirrorRig) throws {
        for _ in 0..<seconds / 20 {
            try rig.wait(.seconds(20))
            try rig.say(PebbleMessage(endpoint: .appLog, payload: [0]))
            try rig.serve()
        }
    }

    @Test("What the firmware does not go on from is given up after a minute, and the next is asked")
    func doesNotGoOn() throws {
        var rig = try MirrorRig()
        rig.goesOn = false
        try rig.send(clear(1))
        try rig.send(clear(2))
        try wait(40, in: &rig)
        #expect(rig.asked == [clear(1)] && rig.tally.lost == 0)
        try wait(20, in: &rig)
        #expect(rig.asked == [clear(1), clear(2)])
        #expect(rig.tally.lost == 1 && rig.tally.compared == 0 && rig.differences.isEmpty)
        // Its answer belongs to it all the same.
        try rig.say(cleared(1, 0x05))
        try rig.say(cleared(2))
        rig.goesOn = true
        try rig.goOn()
        #expect(rig.tally.same == 1 && rig.differences.isEmpty)
    }

    @Test("A question of the mirror's own is given up after a minute as well")
    func ownQuestion() throws {
        var rig = try MirrorRig()
        rig.goesOn = false
        let id = rig.system.openSession(.reversedV2, over: .reversedPPoGATT, at: rig.now)
        try rig.serve()
        let whatRuns = PebbleMessage(AppRunStateMessage.request)
        // Which app runs decides what an AppMessage is answered with.
        while !rig.asked.contains(whatRuns) {
            // The bridge's own questions are answered.
            try rig.goOn()
            try rig.wait(.seconds(1))
            try #require(rig.now < .seconds(20))
        }
        var bytes: [UInt8] = []
        try MessageFramer.append(clear(1), to: &bytes)
        rig.system.receive(bytes[...], on: id, at: rig.now)
        try wait(40, in: &rig)
        #expect(!rig.asked.contains(clear(1)))
        try wait(40, in: &rig)
        #expect(rig.asked.contains(clear(1)))
    }

    // MARK: Ends

    @Test("When the comparison ends, what has not come is missing, and what was not asked is not compared")
    func ends() throws {
        var rig = try MirrorRig()
        try rig.send(clear(1))
        try rig.wait(.seconds(1))
        try rig.send(clear(2))
        try rig.send(clear(3))
        #expect(rig.asked == [clear(1), clear(2)] && rig.differences.isEmpty)
        rig.system.finishMirror(at: rig.now)
        try rig.serve()
        #expect(rig.differences.map(\.kind) == [.missing, .missing])
        #expect(rig.differences.map(\.number) == [1, 2])
        #expect(rig.tally.lost == 1 && rig.tally.waiting == 0)
    }

    @Test("When the comparison ends, what the firmware has not gone on from is not compared")
    func endsWhileAsked() throws {
        var rig = try MirrorRig()
        rig.goesOn = false
        try rig.send(clear(1))
        rig.system.finishMirror(at: rig.now)
        try rig.serve()
        #expect(rig.differences.isEmpty && rig.tally.lost == 1 && rig.tally.waiting == 0)
        #expect(rig.tally.compared == 0)
    }

    @Test("What a phone that has left asked of a firmware that is gone is not asked of the next firmware")
    func otherSession() throws {
        var rig = try MirrorRig()
        rig.goesOn = false
        try rig.send(clear(1))
        try rig.send(clear(2))
        rig.system.closeSession(rig.id, reason: "it left", at: rig.now)
        _ = rig.system.openSession(.reversedV2, over: .reversedPPoGATT, at: rig.now)
        _ = rig.system.take(.lost(reason: "it ended"), at: rig.now)
        #expect(rig.tally.lost == 1)
        rig.goesOn = true
        _ = rig.system.take(.connected, at: rig.now)
        try rig.say(PebbleMessage(PhoneVersionMessage.request))
        try rig.serve()
        try rig.wait(.seconds(30))
        #expect(!rig.asked.contains(clear(2)))
        #expect(rig.tally.lost == 2 && rig.tally.waiting == 0 && rig.differences.isEmpty)
    }

    @Test("The second session of two is not compared, and that is said", arguments: [true, false])
    func secondSession(isTool: Bool) throws {
        var rig = try MirrorRig()
        let transport = isTool ? SessionTransport.qemu : .reversedPPoGATT
        let destination = isTool ? PPoGATTDestination.reversedV2 : PPoGATTDestination(kind: .app, application: .system)
        let id = rig.system.openSession(destination, over: transport, at: rig.now)
        var said: [String] = []
        while let event = rig.system.nextEvent() {
            if case .diagnostic(let diagnostic) = event { said.append(diagnostic.message) }
        }
        #expect(said == ["\(id) is not compared with the firmware, which has one session"])
        var bytes: [UInt8] = []
        try MessageFramer.append(clear(1), to: &bytes)
        rig.system.receive(bytes[...], on: id, at: rig.now)
        try rig.serve()
        #expect(rig.asked == [])
    }

    @Test("What the watch answers to a message that is not compared is no second answer to an older one")
    func whatIsNotComparedMakesNoDifference() throws {
        var rig = try MirrorRig()
        // Both answer this alike.
        try rig.send(PebbleMessage(endpoint: .blobDB, payload: [0x05, 0x10, 0x0E, 0x0D]))
        try rig.say(PebbleMessage(endpoint: .blobDB, payload: [0x10, 0x0E, 0x04]))
        try rig.serve()
        #expect(rig.tally.same == 1)
        // The firmware is too slow: what comes now is lost.
        rig.goesOn = false
        let long = PebbleMessage(endpoint: .ping, payload: [UInt8](repeating: 0, count: 60_000))
        for _ in 0..<6 { try rig.send(long) }
        #expect(rig.tally.lost >= 1)
        try rig.send(PebbleMessage(endpoint: .blobDB, payload: [0x05, 0x77, 0x77, 0x0D]))
        try rig.wait(.seconds(1))
        #expect(rig.differences.isEmpty, "\(rig.differences)")
        #expect(rig.tally.same == 1)
    }
}
