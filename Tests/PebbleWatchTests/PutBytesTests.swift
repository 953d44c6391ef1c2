import ByteCoding
import PebbleProtocol
import Testing

@testable import PebbleWatch

/// Uploads, request by request.
@Suite struct PutBytesTests {
    private static let languagePack = PutBytesObject(size: 10, kind: .file, target: .bank(0, fileName: "lang"))

    /// Of ten bytes, `00 01 … 09`.
    private static let bytes = [UInt8](0..<10)
    private static let crc = LegacyChecksum.checksum(of: bytes)

    private func answer(_ rig: inout ServiceRig, _ request: PutBytesRequest) throws -> PutBytesResponse {
        let answers = try rig.send(request).decoded(PutBytesResponse.self)
        return try #require(answers.count == 1 ? answers.first : nil, "every request has one answer: \(answers)")
    }

    private func begin(_ rig: inout ServiceRig, _ object: PutBytesObject = languagePack) throws -> PutBytesToken {
        guard case .acknowledgement(let token) = try answer(&rig, .begin(object)) else {
            Issue.record("the upload was refused")
            return .none
        }
        return token
    }

    private func put(
        _ rig: inout ServiceRig,
        _ token: PutBytesToken,
        _ bytes: some Sequence<UInt8>
    ) throws
        -> PutBytesResponse
    {
        try answer(&rig, .put(PutBytesPiece(token: token, data: Array(bytes)[...])))
    }

    @Test func aWholeUploadByTheBytes() throws {
        var rig = ServiceRig()
        // Size 10, type 6, bank 0, "lang" with NUL.
        let began = rig.send([0x00, 0x0C, 0xBE, 0xEF, 0x01, 0, 0, 0, 10, 6, 0, 0x6C, 0x61, 0x6E, 0x67, 0])
        let payload = try #require(began.first?.payload)
        #expect(payload.count == 5)
        #expect(payload.first == 0x01)
        let token = Array(payload[1...])
        #expect(token != [0, 0, 0, 0])
        #expect(token != [0xFF, 0xFF, 0xFF, 0xFF])
        let put = rig.send([0x00, 0x13, 0xBE, 0xEF, 0x02] + token + [0, 0, 0, 10] + Self.bytes)
        #expect(put.map(\.payload) == [[0x01] + token])
        var commit: [UInt8] = [0x00, 0x09, 0xBE, 0xEF, 0x03] + token
        commit.appendBigEndian(Self.crc)
        #expect(rig.send(commit).map(\.payload) == [[0x01] + token])
        #expect(rig.changes == [.file(name: "lang", Self.bytes)])
        // The firmware answers with no token here.
        #expect(rig.send([0x00, 0x05, 0xBE, 0xEF, 0x05] + token).map(\.payload) == [[0x01, 0, 0, 0, 0]])
        // And then knows nothing of it.
        #expect(rig.send([0x00, 0x05, 0xBE, 0xEF, 0x05] + token).map(\.payload) == [[0x02, 0, 0, 0, 0]])
        #expect(
            rig.takeServiceEvents() == [
                .uploadBegan(.file, byteCount: 10), .uploaded(.file, byteCount: 10), .uploadInstalled(.file),
            ]
        )
    }

    @Test func aWrongChecksumIsRefused() throws {
        var rig = ServiceRig()
        let token = try begin(&rig)
        _ = try put(&rig, token, Self.bytes)
        #expect(try answer(&rig, .commit(token, crc: Self.crc ^ 1)) == .negativeAcknowledgement(token))
        #expect(rig.changes.isEmpty)
        // The next upload is possible.
        _ = try begin(&rig)
    }

    @Test func aCommitIsAnsweredWhenTheStoreHasIt() throws {
        var rig = ServiceRig()
        let token = try begin(&rig)
        _ = try put(&rig, token, Self.bytes)
        rig.storeAnswers = false
        #expect(try rig.send(PutBytesRequest.commit(token, crc: Self.crc)).isEmpty)
        rig.storeAnswers = true
        #expect(try rig.drain().decoded(PutBytesResponse.self) == [.acknowledgement(token)])
    }

    @Test func aCommitThatTheStoreCannotTakeIsRefused() throws {
        var rig = ServiceRig()
        let token = try begin(&rig)
        _ = try put(&rig, token, Self.bytes)
        rig.storeWorks = false
        #expect(try answer(&rig, .commit(token, crc: Self.crc)) == .negativeAcknowledgement(token))
        #expect(try answer(&rig, .install(token)) == .negativeAcknowledgement(.none))
    }

    /// Refused with its own token, and the upload is gone.
    @Test func whatDoesNotFitEndsTheUpload() throws {
        let other = PutBytesToken(rawValue: 0x0102_0304)
        func offends(
            _ request: (PutBytesToken) -> PutBytesRequest,
            isAnsweredWith named: ((PutBytesToken) -> PutBytesToken)? = nil,
            afterPut: Bool = true
        ) throws {
            var rig = ServiceRig()
            let token = try begin(&rig)
            if afterPut { _ = try put(&rig, token, Self.bytes.prefix(4)) }
            let named = named?(token) ?? token
            #expect(try answer(&rig, request(token)) == .negativeAcknowledgement(named), "\(request(token))")
            #expect(try put(&rig, token, Self.bytes.suffix(6)) == .negativeAcknowledgement(.none))
            _ = try begin(&rig)
        }
        try offends({ .commit($0, crc: 0xFFFF_FFFF) }, afterPut: false)
        try offends({ _ in .begin(Self.languagePack) }, isAnsweredWith: { _ in .none })
        try offends({ _ in .commit(other, crc: Self.crc) }, isAnsweredWith: { _ in other })
        try offends { .install($0) }
        try offends({ _ in .abort(other) }, isAnsweredWith: { _ in other })
    }

    /// Refused without a token, and the upload goes on.
    @Test func aPieceThatIsNoGoodIsRefusedAndTheUploadGoesOn() throws {
        var rig = ServiceRig()
        let token = try begin(&rig)
        let tokenBytes = (0..<4).reversed().map { UInt8(truncatingIfNeeded: token.rawValue >> (8 * $0)) }
        let tooLong = [UInt8](repeating: 0, count: 2045)
        for payload: [UInt8] in [
            [0x02] + tokenBytes, [0x02] + tokenBytes + [0, 0, 0],
            // Of another upload; longer than its data; and longer than the firmware's buffer.
            [0x02, 1, 2, 3, 4, 0, 0, 0, 1, 9], [0x02] + tokenBytes + [0, 0, 0, 3, 1, 2],
            [0x02] + tokenBytes + [0, 0, 0x07, 0xFD] + tooLong,
            // Nothing at all.
            [],
        ] {
            let length = [UInt8(payload.count >> 8), UInt8(payload.count & 0xFF)]
            #expect(
                rig.send(length + [0xBE, 0xEF] + payload).map(\.payload) == [[0x02, 0, 0, 0, 0]],
                "\(payload.prefix(12))"
            )
        }
        #expect(try put(&rig, token, Self.bytes) == .acknowledgement(token))
        #expect(try answer(&rig, .commit(token, crc: Self.crc)) == .acknowledgement(token))
    }

    /// The firmware acknowledges a piece before it looks at what it holds.
    @Test func aPieceThatIsLongerThanWhatIsLeftIsAcknowledgedAndThenRefused() throws {
        var rig = ServiceRig()
        let token = try begin(&rig)
        let answers = try rig.send(PutBytesRequest.put(PutBytesPiece(token: token, data: (Self.bytes + [10])[...])))
        #expect(
            try answers.decoded(PutBytesResponse.self) == [.acknowledgement(token), .negativeAcknowledgement(token)]
        )
        #expect(try put(&rig, token, Self.bytes) == .negativeAcknowledgement(.none))
    }

    @Test func ofAPieceThatDeclaresLessTheDeclaredPartCounts() throws {
        var rig = ServiceRig()
        let token = try begin(&rig)
        let piece = PutBytesPiece(token: token, declaredLength: 10, data: (Self.bytes + [0xFF, 0xFF])[...])
        #expect(try answer(&rig, .put(piece)) == .acknowledgement(token))
        #expect(try answer(&rig, .commit(token, crc: Self.crc)) == .acknowledgement(token))
        #expect(rig.changes == [.file(name: "lang", Self.bytes)])
    }

    @Test func whatNobodyAskedForIsTakenAndForgotten() throws {
        for object in [
            PutBytesObject(size: 10, kind: .appBinary, target: .app(AppID(rawValue: 77))),
            PutBytesObject(size: 10, kind: .appResources, target: .bank(0, fileName: nil)),
        ] {
            var rig = ServiceRig()
            let token = try begin(&rig, object)
            #expect(try put(&rig, token, Self.bytes) == .acknowledgement(token))
            #expect(try answer(&rig, .commit(token, crc: Self.crc)) == .acknowledgement(token))
            #expect(try answer(&rig, .install(token)) == .acknowledgement(.none))
            #expect(rig.system.services.store.apps.all.isEmpty && rig.system.services.store.files.isEmpty)
        }
    }

    @Test func filesAreTakenUntilThereAreTooMany() throws {
        var rig = ServiceRig()
        func upload(_ name: String) throws -> PutBytesResponse {
            let object = PutBytesObject(size: 10, kind: .file, target: .bank(0, fileName: name))
            let began = try answer(&rig, .begin(object))
            guard case .acknowledgement(let token) = began else { return began }
            _ = try put(&rig, token, Self.bytes)
            return try answer(&rig, .commit(token, crc: Self.crc))
        }
        for number in 0..<FileStorage.fileLimit {
            #expect(try upload("file \(number)") != .negativeAcknowledgement(.none))
        }
        #expect(try upload("one more") == .negativeAcknowledgement(.none))
        #expect(try upload("file 3") != .negativeAcknowledgement(.none), "what is there can be replaced")
        #expect(rig.system.services.store.files.count == FileStorage.fileLimit)
    }

    /// `06` and `00` are no requests; a commit can be cut. A request names its upload all the same.
    @Test func aRequestThatCannotBeReadIsRefusedByItsToken() throws {
        var rig = ServiceRig()
        for (payload, named): ([UInt8], [UInt8]) in [
            ([0x06, 0x12, 0x34, 0x56, 0x78], [0x12, 0x34, 0x56, 0x78]), ([0x00, 1, 2, 3, 4], [1, 2, 3, 4]),
            ([0x03, 1, 2, 3, 4, 5], [1, 2, 3, 4]), ([0x04, 1, 2], [1, 2, 0, 0]), ([0x01], [0, 0, 0, 0]),
        ] {
            let said = rig.send([0x00, UInt8(payload.count), 0xBE, 0xEF] + payload)
            #expect(said.map(\.payload) == [[0x02] + named], "\(payload)")
        }
    }

    @Test func anAbortIsAcknowledged() throws {
        var rig = ServiceRig()
        let token = try begin(&rig)
        #expect(try answer(&rig, .abort(token)) == .acknowledgement(token))
        #expect(try answer(&rig, .abort(token)) == .negativeAcknowledgement(token))
    }

    @Test func thirtySecondsWithoutARequestEndTheUpload() throws {
        var rig = ServiceRig()
        let token = try begin(&rig)
        rig.wait(.milliseconds(29_999))
        #expect(try put(&rig, token, Self.bytes.prefix(1)) == .acknowledgement(token))
        #expect(rig.wait(.seconds(30)).isEmpty, "without a word")
        #expect(try put(&rig, token, Self.bytes.suffix(1)) == .negativeAcknowledgement(.none))
    }

    @Test func aSessionTakesItsUploadWithIt() throws {
        var rig = ServiceRig()
        let token = try begin(&rig)
        rig.reopen()
        #expect(try put(&rig, token, Self.bytes) == .negativeAcknowledgement(.none))
        _ = try begin(&rig)
    }

    @Test func whatTheWatchHasNoPlaceForIsRefused() throws {
        for object in [
            PutBytesObject(size: 10, kind: .firmware, target: .bank(0, fileName: nil)),
            PutBytesObject(size: 10, kind: .systemResources, target: .app(AppID(rawValue: 0))),
            PutBytesObject(size: 10, kind: .appBinary, target: .bank(9, fileName: nil)),
            PutBytesObject(size: 10, kind: .file, target: .bank(0, fileName: "")),
            PutBytesObject(size: 10, kind: .file, target: .bank(0, fileName: nil)),
            PutBytesObject(size: 10, kind: .file, target: .bank(0, fileName: String(repeating: "x", count: 65))),
            PutBytesObject(size: 10, kind: .file, target: .bank(0, fileName: "lang"), resumeOffset: 4),
            PutBytesObject(size: .max, kind: .file, target: .bank(0, fileName: "lang")),
        ] {
            var rig = ServiceRig()
            guard case .negativeAcknowledgement = try answer(&rig, .begin(object)) else {
                Issue.record("\(object) was accepted")
                continue
            }
        }
    }

    @Test func tokensDiffer() throws {
        var rig = ServiceRig()
        var seen: Set<PutBytesToken> = []
        for _ in 0..<100 {
            let token = try begin(&rig)
            #expect(seen.insert(token).inserted)
            _ = try answer(&rig, .abort(token))
        }
    }
}
