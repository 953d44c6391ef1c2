import BluetoothHost
import PebbleProtocol
import Testing

@testable import PebbleWatch

extension MirrorRig {
    /// A phone's message, and what the watch answers; the firmware has been asked when this returns, and has not answered.
    @discardableResult
    mutating func hear(_ message: some EndpointMessage) throws -> [PebbleMessage] {
        _ = hearMore()
        var bytes: [UInt8] = []
        try MessageFramer.append(message, to: &bytes)
        system.receive(bytes[...], on: id, at: now)
        try serve()
        return hearMore()
    }

    /// What the watch says to the phone and has not been asked for yet.
    mutating func hearMore() -> [PebbleMessage] {
        var deframer = MessageDeframer()
        var said: [PebbleMessage] = []
        while true {
            var bytes = system.takeOutbound(of: id, atMost: 1000, at: now)
            guard !bytes.isEmpty else { return said }
            while case .message(let message)? = deframer.next(from: &bytes) { said.append(message) }
        }
    }

    /// The firmware says something, and goes on.
    mutating func answer(_ message: some EndpointMessage) throws {
        try say(PebbleMessage(message))
        try serve()
    }
}

@Suite("What the watch and the firmware in its shadow call the same things")
struct MirrorNamesTests {
    private static let own = PutBytesToken(rawValue: 0x0A0B_0C0D)
    private static let file = PutBytesObject(size: 4, kind: .file, target: .bank(0, fileName: "lang"))
    private static let app = PebbleUUID(upperHalf: 0x1234, lowerHalf: 0x5678)

    /// The name that the watch gives an upload.
    private func name(of upload: PutBytesObject, in rig: inout MirrorRig) throws -> PutBytesToken {
        let said = try rig.hear(PutBytesRequest.begin(upload)).decoded(PutBytesResponse.self)
        guard case .acknowledgement(let token)? = said.first else {
            throw NoName(said: said)
        }
        return token
    }

    private struct NoName: Error { let said: [PutBytesResponse] }

    // MARK: Uploads

    @Test(
        "A piece of an upload reaches the firmware under the firmware's own name, and the answers are the same in meaning"
    )
    func pieces() throws {
        var rig = try MirrorRig()
        let token = try name(of: Self.file, in: &rig)
        try rig.answer(PutBytesResponse.acknowledgement(Self.own))
        #expect(rig.takeAsked() == [PebbleMessage(PutBytesRequest.begin(Self.file))])
        let bytes: [UInt8] = [1, 2, 3, 4]
        let said = try rig.hear(PutBytesRequest.put(PutBytesPiece(token: token, data: bytes[...])))
        #expect(said == [PebbleMessage(PutBytesResponse.acknowledgement(token))])
        let put = PebbleMessage(
            endpoint: .putBytes,
            payload: [0x02, 0x0A, 0x0B, 0x0C, 0x0D, 0, 0, 0, 4, 1, 2, 3, 4]
        )
        #expect(rig.takeAsked() == [put])
        try rig.answer(PutBytesResponse.acknowledgement(Self.own))
        #expect(rig.tally.same == 2 && rig.differences.isEmpty)
    }

    @Test("An upload that the firmware alone has refused is a difference, and goes no further there")
    func refusedByTheFirmware() throws {
        var rig = try MirrorRig()
        let token = try name(of: Self.file, in: &rig)
        try rig.answer(PutBytesResponse.negativeAcknowledgement(.none))
        try rig.wait(.seconds(1))
        #expect(rig.differences.map(\.kind) == [.answer])
        _ = rig.takeAsked()
        try rig.hear(PutBytesRequest.put(PutBytesPiece(token: token, data: [1, 2, 3, 4])))
        #expect(rig.takeAsked() == [])
        #expect(rig.tally.withheld == [.upload: 1])
    }

    @Test("An upload that the firmware alone has begun is given up there")
    func begunByTheFirmware() throws {
        var rig = try MirrorRig()
        // No watch has so much room.
        let huge = PutBytesObject(size: .max, kind: .file, target: .bank(0, fileName: "lang"))
        #expect(
            try rig.hear(PutBytesRequest.begin(huge)) == [
                PebbleMessage(PutBytesResponse.negativeAcknowledgement(.none))
            ]
        )
        try rig.answer(PutBytesResponse.acknowledgement(Self.own))
        _ = rig.takeAsked()
        try rig.wait(.seconds(1))
        #expect(rig.differences.map(\.kind) == [.answer])
        let abort = PebbleMessage(endpoint: .putBytes, payload: [0x04, 0x0A, 0x0B, 0x0C, 0x0D])
        #expect(rig.takeAsked() == [abort])
    }

    @Test("An upload of which a firmware that starts again knows nothing goes no further there")
    func forgotten() throws {
        var rig = try MirrorRig()
        let token = try name(of: Self.file, in: &rig)
        try rig.answer(PutBytesResponse.acknowledgement(Self.own))
        _ = rig.system.take(.lost(reason: "it ended"), at: rig.now)
        _ = rig.system.take(.connected, at: rig.now)
        try rig.answer(PhoneVersionMessage.request)
        try rig.wait(EmulatorBridge.notePatience + EmulatorBridge.notePatience)
        _ = rig.takeAsked()
        try rig.hear(PutBytesRequest.put(PutBytesPiece(token: token, data: [1, 2, 3, 4])))
        #expect(!rig.takeAsked().contains { $0.endpoint == .putBytes })
        #expect(rig.tally.withheld == [.upload: 1])
    }

    @Test("A firmware that is too slow gives up the upload, and hears nothing of one that begins meanwhile")
    func tooSlow() throws {
        var rig = try MirrorRig()
        let first = try name(of: Self.file, in: &rig)
        try rig.answer(PutBytesResponse.acknowledgement(Self.own))
        // What the watch says to an upload is not taken for a late answer to the first any more.
        try rig.wait(FirmwareMirror.patience)
        _ = rig.takeAsked()
        rig.goesOn = false
        let long = PebbleMessage(endpoint: .ping, payload: [UInt8](repeating: 0, count: 60_000))
        for _ in 0..<6 { try rig.send(long) }
        let lost = rig.tally.lost
        #expect(lost >= 1)
        try rig.hear(PutBytesRequest.abort(first))
        let token = try name(of: Self.file, in: &rig)
        #expect(rig.tally.lost == lost + 2)
        rig.goesOn = true
        try rig.goOn()
        try rig.wait(.seconds(30))
        let asked = rig.takeAsked()
        #expect(asked.filter { $0.endpoint == .putBytes }.map(\.payload) == [[0x04, 0x0A, 0x0B, 0x0C, 0x0D]])
        try rig.hear(PutBytesRequest.put(PutBytesPiece(token: token, data: [1, 2, 3, 4])))
        #expect(rig.takeAsked() == [])
        #expect(rig.tally.withheld == [.upload: 1])
    }

    @Test("An upload that was begun long ago has no name any more: 32 are remembered", arguments: [32, 33])
    func manyUploads(count: Int) throws {
        var rig = try MirrorRig()
        var tokens: [PutBytesToken] = []
        for number in 1...count {
            let token = try name(of: Self.file, in: &rig)
            tokens.append(token)
            let own = PutBytesToken(rawValue: 0x0A0B_0C00 + UInt32(number))
            try rig.answer(PutBytesResponse.acknowledgement(own))
            try rig.hear(PutBytesRequest.abort(token))
            try rig.answer(PutBytesResponse.acknowledgement(own))
        }
        #expect(rig.tally.same == UInt64(2 * count))
        _ = rig.takeAsked()
        try rig.hear(PutBytesRequest.abort(tokens[0]))
        let asked = PebbleMessage(endpoint: .putBytes, payload: [0x04, 0x0A, 0x0B, 0x0C, 0x01])
        let untranslated = PebbleMessage(PutBytesRequest.abort(tokens[0]))
        #expect(rig.takeAsked() == [count == 32 ? asked : untranslated])
    }

    @Test(
        "An update of the emulator's own firmware is not begun",
        arguments: [PutBytesObject.Kind.firmware, .recoveryFirmware, .systemResources]
    )
    func update(kind: PutBytesObject.Kind) throws {
        var rig = try MirrorRig()
        try rig.hear(PutBytesRequest.begin(PutBytesObject(size: 4, kind: kind, target: .bank(0, fileName: nil))))
        #expect(rig.asked == [] && rig.tally.withheld == [.update: 1])
    }

    // MARK: Apps

    /// A watch that has asked for an app, and its name for it.
    private func fetching(_ rig: inout MirrorRig) throws -> AppID {
        let metadata = AppMetadata(
            uuid: Self.app,
            flags: [],
            majorVersion: 1,
            minorVersion: 0,
            sdk: .current,
            name: "Rig"
        )
        var value: [UInt8] = []
        metadata.encode(to: &value)
        let record = BlobDBRecord(key: Self.app.key[...], value: value[...])
        let token = BlobDBToken(rawValue: 9)
        try rig.hear(BlobDBRequest(token: token, command: .insert(.apps, record, timestamp: nil)))
        try rig.answer(BlobDBResponse(token: token, status: .success))
        let said = try rig.hear(AppRunStateMessage.start(Self.app))
        return try #require(try said.decoded(AppFetchRequest.self).first).appID
    }

    @Test("An app's part is for the app that the firmware has asked for, by the firmware's number", arguments: [0, 41])
    func parts(distance: Int32) throws {
        var rig = try MirrorRig()
        let id = try fetching(&rig)
        let own = AppID(rawValue: id.rawValue + distance)
        try rig.answer(AppFetchRequest(application: Self.app, appID: own))
        _ = rig.takeAsked()
        try rig.hear(AppFetchResponse.starting)
        #expect(rig.takeAsked() == [PebbleMessage(endpoint: .appFetch, payload: [0x01, 0x01])])
        let part = PutBytesObject(size: 4, kind: .appBinary, target: .app(id))
        _ = try name(of: part, in: &rig)
        let number = UInt8(own.rawValue)
        #expect(
            rig.takeAsked() == [PebbleMessage(endpoint: .putBytes, payload: [0x01, 0, 0, 0, 4, 0x85, 0, 0, 0, number])]
        )
    }

    @Test("A firmware that has asked for no app gets none, nor does one that starts again", arguments: [true, false])
    func noApp(startsAgain: Bool) throws {
        var rig = try MirrorRig()
        let id = try fetching(&rig)
        if startsAgain {
            try rig.answer(AppFetchRequest(application: Self.app, appID: id))
            _ = rig.system.take(.lost(reason: "it ended"), at: rig.now)
            _ = rig.system.take(.connected, at: rig.now)
            try rig.answer(PhoneVersionMessage.request)
            try rig.wait(EmulatorBridge.notePatience + EmulatorBridge.notePatience)
        }
        _ = rig.takeAsked()
        try rig.hear(AppFetchResponse.starting)
        #expect(rig.takeAsked() == [] && rig.tally.withheld == [.answer: 1])
        let token = try name(of: PutBytesObject(size: 4, kind: .appBinary, target: .app(id)), in: &rig)
        try rig.hear(PutBytesRequest.put(PutBytesPiece(token: token, data: [1, 2, 3, 4])))
        #expect(rig.takeAsked() == [])
        #expect(rig.tally.withheld == [.answer: 1, .upload: 2])
    }

    @Test("What is said to an app is compared only where both run it, or neither", arguments: [true, false])
    func appMessages(isSameApp: Bool) throws {
        var rig = try MirrorRig()
        let app = rig.system.apps.runningUUID
        if isSameApp { try rig.answer(AppRunStateMessage.start(app)) }
        let push = AppMessagePush(
            transaction: AppMessageTransactionID(rawValue: 5),
            application: app,
            dictionary: .empty
        )
        let said = try rig.hear(AppMessage.push(push)).filter { $0.endpoint == .appMessage }
        try #require(said.count == 1)
        // The firmware says the opposite: an acknowledgement is FF, a refusal 7F.
        let isTaken = said[0].payload == [0xFF, 0x05]
        try rig.say(PebbleMessage(endpoint: .appMessage, payload: [isTaken ? 0x7F : 0xFF, 0x05]))
        try rig.wait(.seconds(30))
        #expect(rig.differences.map(\.kind) == (isSameApp ? [.answer] : []))
        #expect(rig.tally.compared == 1)
    }

    // MARK: Files

    @Test("Which files there are is each watch's own, and not whether a request is understood", arguments: [0, 1, 3])
    func files(status: UInt8) throws {
        var rig = try MirrorRig()
        let said = try rig.hear(GetBytesMessage(transaction: 7, .file(name: "lang")))
        #expect(said == [PebbleMessage(endpoint: .getBytes, payload: [0x01, 7, 3, 0, 0, 0, 0])])
        try rig.say(PebbleMessage(endpoint: .getBytes, payload: [0x01, 7, status, 0, 0, 0, status == 0 ? 9 : 0]))
        try rig.wait(.seconds(30))
        #expect(rig.differences.map(\.kind) == (status == 1 ? [.answer] : []))
        #expect(rig.tally.compared == 1)
    }
}
