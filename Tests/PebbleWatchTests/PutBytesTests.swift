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
        #expect(rig.send([0x00, 0x05, 0xBE, 0xEF, 0x05] + token).map(\.payload) == [[0x02] + token])
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
        // The next upload finds the way free.
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
        #expect(try answer(&rig, .install(token)) == .negativeAcknowledgement(token))
    }

    @Test func whatDoesNotFitEndsTheUpload() throws {
        let token = PutBytesToken(rawValue: 0)
        func offends(_ request: (PutBytesToken) -> PutBytesRequest, afterPut: Bool = true) throws {
            var rig = ServiceRig()
            let token = try begin(&rig)
            if afterPut { _ = try put(&rig, token, Self.bytes.prefix(4)) }
            let request = request(token)
            guard case .negativeAcknowledgement = try answer(&rig, request) else {
                Issue.record("\(request) was accepted")
                return
            }
            // The upload is gone with it.
            #expect(try put(&rig, token, Self.bytes.suffix(6)) == .negativeAcknowledgement(token))
            _ = try begin(&rig)
        }
        try offends({ .commit($0, crc: 0xFFFF_FFFF) }, afterPut: false)
        try offends { _ in .begin(Self.languagePack) }
        try offends { .put(PutBytesPiece(token: $0, data: Self.bytes[...])) }
        try offends { .put(PutBytesPiece(token: $0, declaredLength: 3, data: [1, 2])) }
        try offends { .put(PutBytesPiece(token: .init(rawValue: $0.rawValue ^ 1), data: [1])) }
        try offends { .commit(.init(rawValue: $0.rawValue ^ 1), crc: Self.crc) }
        try offends { .install($0) }
        try offends { _ in .abort(token) }
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
        #expect(try put(&rig, token, Self.bytes.suffix(1)) == .negativeAcknowledgement(token))
    }

    @Test func aSessionTakesItsUploadWithIt() throws {
        var rig = ServiceRig()
        let token = try begin(&rig)
        rig.reopen()
        #expect(try put(&rig, token, Self.bytes) == .negativeAcknowledgement(token))
        _ = try begin(&rig)
    }

    @Test func whatTheWatchHasNoPlaceForIsRefused() throws {
        for object in [
            PutBytesObject(size: 10, kind: .firmware, target: .bank(0, fileName: nil)),
            PutBytesObject(size: 10, kind: .systemResources, target: .app(AppID(rawValue: 0))),
            PutBytesObject(size: 10, kind: .appBinary, target: .app(AppID(rawValue: 77))),
            PutBytesObject(size: 10, kind: .file, target: .bank(0, fileName: "../watch.sqlite")),
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
