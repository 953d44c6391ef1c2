import ByteCoding
import PebbleProtocol
import Testing

@testable import PebbleWatch

@Suite("Apps that a phone installs: the watch asks for their parts, and starts complete apps")
struct AppFetchTests {
    private static let app = PebbleUUID(upperHalf: 0x1234, lowerHalf: 0x5678)
    private static let missing =
        "the app is refused: its resources are missing, and the watch starts no app without them"

    /// A watch that has asked for an app.
    private func fetching(_ flags: AppFlags = []) throws -> (ServiceRig, AppID) {
        var rig = ServiceRig()
        let metadata = AppMetadata(
            uuid: Self.app,
            flags: flags,
            majorVersion: 1,
            minorVersion: 0,
            sdk: .current,
            name: "Rig"
        )
        var value: [UInt8] = []
        metadata.encode(to: &value)
        let record = BlobDBRecord(key: Self.app.key[...], value: value[...])
        try rig.send(BlobDBRequest(token: BlobDBToken(rawValue: 1), command: .insert(.apps, record, timestamp: nil)))
        let said = try rig.send(AppRunStateMessage.start(Self.app))
        let request = try #require(try said.decoded(AppFetchRequest.self).first)
        _ = rig.takeServiceEvents()
        return (rig, request.appID)
    }

    private func upload(_ kind: PutBytesObject.Kind, for app: AppID, to rig: inout ServiceRig) throws {
        let bytes: [UInt8] = [1, 2, 3, 4]
        let object = PutBytesObject(size: 4, kind: kind, target: .app(app))
        guard
            case .acknowledgement(let token)? = try rig.send(PutBytesRequest.begin(object))
                .decoded(PutBytesResponse.self).first
        else {
            Issue.record("\(kind) is refused")
            return
        }
        try rig.send(PutBytesRequest.put(PutBytesPiece(token: token, data: bytes[...])))
        let crc = LegacyChecksum.checksum(of: bytes)
        let answers = try rig.send(PutBytesRequest.commit(token, crc: crc)).decoded(PutBytesResponse.self)
        #expect(answers == [.acknowledgement(token)])
    }

    private func failures(_ rig: inout ServiceRig) -> [String] {
        rig.takeServiceEvents().compactMap {
            if case .appFetchFailed(Self.app, let reason) = $0 { reason } else { nil }
        }
    }

    @Test(
        "With its last part an app starts",
        arguments: [[PutBytesObject.Kind.appBinary, .appResources], [.appResources, .appBinary]]
    )
    func whole(order: [PutBytesObject.Kind]) throws {
        var (rig, id) = try fetching()
        try upload(order[0], for: id, to: &rig)
        #expect(rig.system.apps.runningUUID != Self.app)
        try upload(order[1], for: id, to: &rig)
        #expect(rig.system.apps.runningUUID == Self.app)
        #expect(failures(&rig) == [])
    }

    @Test("An app that arrives without resources is refused when the phone sends no more, and no part of it is kept")
    func quiet() throws {
        var (rig, id) = try fetching()
        try upload(.appBinary, for: id, to: &rig)
        rig.wait(.seconds(14))
        #expect(failures(&rig) == [])
        rig.wait(.seconds(1))
        #expect(failures(&rig) == ["nothing more came for 15.0 seconds; " + Self.missing])
        #expect(rig.system.apps.runningUUID != Self.app)
        #expect(rig.changes.last == .appPartsRemoved(of: Self.app))
        // It is asked for again, from the beginning.
        #expect(try rig.send(AppRunStateMessage.start(Self.app)).decoded(AppFetchRequest.self).count == 1)
    }

    @Test("It is also refused when its sender disconnects, as the SDK's installer does")
    func left() throws {
        var (rig, id) = try fetching()
        try upload(.appBinary, for: id, to: &rig)
        rig.closeSession()
        #expect(failures(&rig) == ["the session closed; " + Self.missing])
        rig.reopen()
        #expect(rig.system.apps.runningUUID != Self.app)
    }

    @Test("A worker that was announced but not sent makes the app incomplete")
    func worker() throws {
        var (rig, id) = try fetching(.hasWorker)
        try upload(.appBinary, for: id, to: &rig)
        try upload(.appResources, for: id, to: &rig)
        rig.wait(.seconds(15))
        #expect(failures(&rig).first?.contains("its background worker is missing") == true)
    }
}
