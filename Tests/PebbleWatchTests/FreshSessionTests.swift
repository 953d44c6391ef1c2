import PebbleProtocol
import Testing

@testable import PebbleWatch

/// A firmware whose console begins a fresh session between two phones.
@Suite struct FreshSessionTests {
    private static func rig() throws -> BridgeRig {
        var rig = try BridgeRig()
        _ = rig.system.take(.console(isThere: true), at: rig.now)
        return rig
    }

    private func wants(_ rig: BridgeRig) -> Bool { rig.system.firmwareStatus?.wantsFreshSession ?? false }

    @Test func aPhoneThatLeavesIsFollowedByAFreshSession() throws {
        var rig = try Self.rig()
        let id = rig.open()
        try rig.serve()
        #expect(!wants(rig))
        rig.system.closeSession(id, reason: "the link is lost", at: rig.now)
        #expect(!wants(rig), "what is on its way is read first")
        try rig.serve()
        #expect(wants(rig))
        _ = (rig.takeMessages(), rig.takeTold())
        // What the firmware still says was for that phone, half a message included.
        rig.sendBytes(framing: [0x00, 0x20, 0x00, 0x30, 1])
        let next = rig.open()
        try rig.send(PingMessage.ping(cookie: 5, isIdle: false), on: next)
        try rig.serve()
        #expect(rig.takeMessages().isEmpty, "the next phone waits for it")
        _ = rig.system.take(.sessionRenewed, at: rig.now)
        #expect(!wants(rig))
        try rig.serve()
        #expect(rig.takeTold().first == .bluetoothConnection(isConnected: true), "which begins the session")
        #expect(try rig.bridge.state == .ready)
        #expect(rig.takeMessages().contains(PebbleMessage(PingMessage.ping(cookie: 5, isIdle: false))))
        let heard = rig.heard(on: next)
        #expect(heard.map(\.endpoint) == [.phoneVersion, .ping], "and nothing that was for the phone before")
    }

    @Test func withoutAPhoneTheFirmwareIsToldSo() throws {
        var rig = try Self.rig()
        let id = rig.open()
        rig.system.closeSession(id, reason: "it left", at: rig.now)
        _ = rig.takeTold()
        _ = rig.system.take(.sessionRenewed, at: rig.now)
        try rig.serve()
        #expect(rig.takeTold().last == .bluetoothConnection(isConnected: false))
    }

    @Test(arguments: [true, false])
    func withoutTheConsoleAPingStandsBetweenTwoPhones(isGone: Bool) throws {
        var rig = try Self.rig()
        let id = rig.open()
        try rig.serve()
        rig.system.closeSession(id, reason: "it left", at: rig.now)
        if isGone {
            _ = rig.system.take(.console(isThere: false), at: rig.now)
        } else {
            try rig.wait(EmulatorBridge.renewalPatience)
        }
        #expect(!wants(rig))
        try rig.serve()
        #expect(try rig.bridge.state == .ready)
        #expect(rig.system.firmwareStatus?.hangCount == 0)
    }

    @Test func aSessionThatNobodyAskedForMeansNothing() throws {
        var rig = try Self.rig()
        let id = rig.open()
        try rig.serve()
        _ = rig.system.take(.sessionRenewed, at: rig.now)
        #expect(rig.system.sessions.isOpen(id))
        #expect(try rig.bridge.state == .ready)
    }

    @Test func aHangIsCounted() throws {
        var rig = try BridgeRig()
        #expect(
            rig.system.firmwareStatus
                == FirmwareStatus(isAnswering: true, hangCount: 0, wantsFreshSession: false)
        )
        rig.answers = false
        try rig.wait(EmulatorBridge.quiet + EmulatorBridge.patience + .seconds(1))
        #expect(rig.system.firmwareStatus?.hangCount == 1)
        _ = rig.system.take(.lost(reason: "it was ended"), at: rig.now)
        _ = rig.system.take(.connected, at: rig.now)
        #expect(rig.system.firmwareStatus?.isAnswering == false)
        // One that starts takes its time.
        try rig.wait(.seconds(120))
        #expect(rig.system.firmwareStatus?.hangCount == 1)
    }
}
