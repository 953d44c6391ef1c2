import PebbleProtocol
import Testing

@testable import PebbleWatch

/// Pictures of the firmware's screen, which take turns with those of phones.
@Suite struct EmulatorScreenTests {
    /// A picture of one colour, in messages as the firmware sends them.
    private static func picture(_ color: UInt8) -> [PebbleMessage] {
        let pixels = [UInt8](repeating: color, count: 200 * 228)
        let header = ScreenshotHeader(status: .ok, format: .eightBits, width: 200, height: 228, pixels: pixels[..<1000])
        var messages = [PebbleMessage(header)]
        for start in stride(from: 1000, to: pixels.count, by: 1024) {
            let part = pixels[start..<min(start + 1024, pixels.count)]
            messages.append(PebbleMessage(ScreenshotContinuation(pixels: part)))
        }
        return messages
    }

    private static func wishes(_ messages: [PebbleMessage]) -> Int {
        messages.filter { $0.endpoint == .screenshot }.count
    }

    @Test func theScreenIsTheFirmwares() throws {
        var rig = try BridgeRig()
        #expect(rig.system.frame.pixels.allSatisfy { $0 == 0 || $0 == 0xC0 }, "black before the first picture")
        try rig.wait(EmulatorScreen.settling)
        #expect(Self.wishes(rig.takeMessages()) == 1)
        for message in Self.picture(0xF0) { try rig.say(message) }
        #expect(rig.system.frame.display == Display(of: .emery))
        #expect(rig.system.frame.pixels.allSatisfy { $0 == 0xF0 })
        // Nobody does anything: nobody asks.
        try rig.wait(.seconds(3600))
        #expect(Self.wishes(rig.takeMessages()) == 0)
        let now = rig.now
        rig.system.withBridge(at: now) { $0.tell($0.buttons.press(.up, .short, at: now)) }
        try rig.wait(.seconds(5))
        #expect(Self.wishes(rig.takeMessages()) == 1)
    }

    @Test func whatGoesOnAndOnIsShownNowAndThen() throws {
        var rig = try BridgeRig()
        let id = rig.open()
        for _ in 0..<100 {
            try rig.send(PingMessage.ping(cookie: 1, isIdle: nil), on: id)
            try rig.wait(.milliseconds(100))
        }
        // The picture never comes, and so one is asked for when the time of the one before is over.
        #expect(Self.wishes(rig.takeMessages()) == 1)
    }

    @Test func aPhonesPictureWaitsForTheWatchs() throws {
        var rig = try BridgeRig()
        let id = rig.open()
        try rig.wait(EmulatorScreen.settling)
        #expect(Self.wishes(rig.takeMessages()) == 1)
        try rig.send(ScreenshotRequest(), on: id)
        try rig.serve()
        #expect(Self.wishes(rig.takeMessages()) == 0)
        _ = rig.heard(on: id)
        for message in Self.picture(0xC3) { try rig.say(message) }
        // The firmware refuses it for a moment.
        try rig.wait(EmulatorScreen.pause - .milliseconds(1))
        #expect(Self.wishes(rig.takeMessages()) == 0)
        try rig.wait(.milliseconds(1))
        #expect(Self.wishes(rig.takeMessages()) == 1 && rig.heard(on: id).isEmpty)
        let picture = Self.picture(0xC5)
        for message in picture { try rig.say(message) }
        #expect(rig.heard(on: id) == picture)
        #expect(rig.system.frame.pixels.first == 0xC3)
    }

    @Test func theWatchsPictureWaitsForAPhones() throws {
        var rig = try BridgeRig()
        let id = rig.open()
        try rig.send(ScreenshotRequest(), on: id)
        try rig.serve()
        #expect(Self.wishes(rig.takeMessages()) == 1)
        let picture = Self.picture(0xC5)
        for message in picture.dropLast() { try rig.say(message) }
        try rig.wait(.seconds(5))
        #expect(Self.wishes(rig.takeMessages()) == 0)
        try rig.say(try #require(picture.last))
        try rig.wait(.seconds(1))
        #expect(Self.wishes(rig.takeMessages()) == 1)
    }

    @Test(arguments: [0, 1, 12]) func aPictureOfNothingIsNone(length: Int) throws {
        var rig = try BridgeRig()
        try rig.wait(EmulatorScreen.settling)
        try rig.say(PebbleMessage(endpoint: .screenshot, payload: [UInt8](repeating: 0xFF, count: length)))
        #expect(try rig.bridge.screen.frame == nil && !rig.bridge.screen.isTaking)
    }

    /// A screen whose picture was refused would be that of before for good.
    @Test func aPictureThatIsRefusedIsAskedForAgain() throws {
        var rig = try BridgeRig()
        let refusal = ScreenshotHeader(status: .alreadyInProgress, format: .oneBit, width: 0, height: 0, pixels: [])
        for _ in 0..<3 {
            try rig.wait(.seconds(1))
            #expect(Self.wishes(rig.takeMessages()) == 1)
            try rig.say(PebbleMessage(refusal))
        }
        try rig.wait(.seconds(1))
        for message in Self.picture(0xC6) { try rig.say(message) }
        #expect(rig.system.frame.pixels.first == 0xC6)
        _ = rig.takeMessages()
        // A firmware that refuses all of them is not asked for ever.
        let now = rig.now
        rig.system.withBridge(at: now) { $0.tell($0.buttons.press(.up, .short, at: now)) }
        var wishes = 0
        for _ in 0..<20 {
            try rig.wait(.seconds(1))
            guard Self.wishes(rig.takeMessages()) > 0 else { continue }
            wishes += 1
            try rig.say(PebbleMessage(refusal))
        }
        #expect(wishes == 1 + EmulatorScreen.attempts)
    }

    // MARK: What a picture is in the way of

    private static let ping = PingMessage.ping(cookie: 1, isIdle: nil)
    private static let begin = PutBytesRequest.begin(
        PutBytesObject(size: 1000, kind: .file, target: .bank(0, fileName: "lang"))
    )
    private static let name = PutBytesToken(rawValue: 7)

    /// What is asked while a picture is on its way would not be answered.
    @Test(arguments: [true, false]) func nothingIsAskedWhileAPictureIsOnItsWay(isPhones: Bool) throws {
        var rig = try BridgeRig()
        let id = try rig.openForUploads()
        if isPhones {
            try rig.send(ScreenshotRequest(), on: id)
            try rig.serve()
        } else {
            try rig.wait(EmulatorScreen.settling)
        }
        #expect(Self.wishes(rig.takeMessages()) == 1)
        let picture = Self.picture(0xC5)
        for (number, message) in picture.enumerated() {
            if number == 1 {
                try rig.send(Self.ping, on: id)
                try rig.send(Self.begin, on: id)
            }
            try rig.serve()
            #expect(rig.takeMessages().isEmpty)
            try rig.say(message)
            try rig.wait(.milliseconds(20))
        }
        try rig.serve()
        #expect(rig.takeMessages() == [PebbleMessage(Self.ping), PebbleMessage(Self.begin)])
    }

    @Test func aPictureThatRestsIsInNobodysWay() throws {
        var rig = try BridgeRig()
        let id = rig.open()
        try rig.wait(EmulatorScreen.settling)
        try rig.say(Self.picture(0xC5)[0])
        try rig.send(Self.ping, on: id)
        try rig.wait(EmulatorScreen.rest - .milliseconds(1))
        #expect(Self.wishes(rig.takeMessages()) == 1)
        try rig.wait(.milliseconds(1))
        #expect(rig.takeMessages() == [PebbleMessage(Self.ping)])
    }

    @Test func noPictureIsTakenOfAnUpload() throws {
        var rig = try BridgeRig()
        let id = try rig.openForUploads()
        try rig.wait(EmulatorScreen.settling)
        for message in Self.picture(0xC5) { try rig.say(message) }
        _ = rig.takeMessages()
        try rig.send(Self.begin, on: id)
        try rig.say(PutBytesResponse.acknowledgement(Self.name))
        for _ in 0..<20 {
            try rig.wait(.milliseconds(500))
            try rig.send(PutBytesRequest.put(PutBytesPiece(token: Self.name, data: [1])), on: id)
            try rig.serve()
            try rig.say(PutBytesResponse.acknowledgement(Self.name))
        }
        #expect(Self.wishes(rig.takeMessages()) == 0)
        try rig.wait(EmulatorScreen.uploadRest)
        #expect(Self.wishes(rig.takeMessages()) == 1)
    }

    /// The firmware takes a while for the checksum of a large file.
    @Test func noPictureIsTakenWhileTheFirmwareOwesAnAnswerToAnUpload() throws {
        var rig = try BridgeRig()
        let id = try rig.openForUploads()
        try rig.send(Self.begin, on: id)
        try rig.serve()
        _ = rig.takeMessages()
        try rig.wait(EmulatorScreen.uploadPatience - .milliseconds(1))
        #expect(Self.wishes(rig.takeMessages()) == 0)
        try rig.wait(.milliseconds(1))
        #expect(Self.wishes(rig.takeMessages()) == 1)
    }

    /// A phone asks for a picture in its upload: the piece that comes next waits for it.
    @Test func aPieceWaitsForThePhonesPicture() throws {
        var rig = try BridgeRig()
        let id = try rig.openForUploads()
        try rig.send(Self.begin, on: id)
        try rig.serve()
        try rig.say(PutBytesResponse.acknowledgement(Self.name))
        let pieces = [1, 2].map { PutBytesRequest.put(PutBytesPiece(token: Self.name, data: [$0])) }
        try rig.send(pieces[0], on: id)
        try rig.send(pieces[1], on: id)
        try rig.send(ScreenshotRequest(), on: id)
        try rig.serve()
        _ = rig.takeMessages()
        try rig.say(PutBytesResponse.acknowledgement(Self.name))
        try rig.serve()
        #expect(rig.takeMessages().isEmpty)
        for message in Self.picture(0xC5) { try rig.say(message) }
        try rig.serve()
        #expect(rig.takeMessages() == [PebbleMessage(pieces[1])])
    }

    /// The question that stands between two phones would not be answered either.
    @Test func aSessionEndsWhenItsPictureIsWhole() throws {
        var rig = try BridgeRig()
        let first = rig.open()
        try rig.wait(EmulatorScreen.settling)
        _ = rig.takeMessages()
        rig.system.closeSession(first, reason: "the phone left", at: rig.now)
        let second = rig.open()
        try rig.send(Self.ping, on: second)
        try rig.serve()
        #expect(rig.takeMessages().isEmpty)
        for message in Self.picture(0xC5) { try rig.say(message) }
        try rig.serve()
        try rig.serve()
        let messages = rig.takeMessages()
        #expect(messages.first?.answerToMark != nil)
        #expect(messages.last == PebbleMessage(Self.ping))
        #expect(rig.heard(on: second).contains { $0.endpoint == .ping })
    }

    @Test func moreThanCanWaitDoesNot() throws {
        var rig = try BridgeRig()
        let id = rig.open()
        try rig.wait(EmulatorScreen.settling)
        _ = rig.takeMessages()
        let long = PebbleMessage(endpoint: .appLog, payload: [UInt8](repeating: 1, count: 30_000))
        for _ in 0..<4 { try rig.send(long, on: id) }
        try rig.serve()
        #expect(rig.takeMessages().count == 3, "those that waited, and the one that has no room")
        try rig.wait(EmulatorScreen.rest)
        #expect(rig.takeMessages() == [long])
    }
}
