import PebblePhone
import PebbleProtocol
import PebbleWatch
import Testing

@testable import Faults

/// Each fault of messages, as the phone sees it.
@Suite struct MessageFaultTests {
    @Test(arguments: MessageFault.allCases) func isWhatItClaims(_ fault: MessageFault) throws {
        switch fault {
        case .lost:
            let rig = try SessionRig()
            try rig.add("message.lost endpoint=0x07D1 count=1")
            #expect(!rig.succeeds(.ping))
            #expect(rig.succeeds(.ping))
        case .cut:
            let rig = try SessionRig()
            try rig.add("message.cut endpoint=0x07D1 direction=to-phone length=2 count=1")
            _ = rig.tell(.ping)
            #expect(rig.heard(.ping).last?.payload.count == 2)
        case .doubled:
            let rig = try SessionRig()
            try rig.add("message.doubled endpoint=0x07D1 direction=to-phone count=1")
            let before = rig.heard(.ping).count
            #expect(rig.succeeds(.ping))
            rig.run(1)
            #expect(rig.heard(.ping).count == before + 2)
        case .late:
            let rig = try SessionRig()
            try rig.add("message.late endpoint=0x07D1 direction=from-phone delay=2s count=1")
            let before = rig.heard(.ping).count
            _ = rig.begin(.ping)
            rig.run(1)
            #expect(rig.heard(.ping).count == before)
            rig.run(2)
            #expect(rig.heard(.ping).count == before + 1)
        case .pingUnanswered:
            let rig = try SessionRig()
            try rig.add("ping.unanswered count=1")
            #expect(!rig.succeeds(.ping))
            #expect(rig.succeeds(.ping))
        case .versionOld: #expect(try version(with: "version.old version=1").running.versionTag.hasPrefix("v1."))
        case .versionRecovery: #expect(try version(with: "version.recovery").running.flags.contains(.recovery))
        case .versionWithoutCapability:
            #expect(try version(with: "version.without-capability capability=0").capabilities.rawValue & 1 == 0)
        case .putBytesRefused:
            let rig = try SessionRig()
            try rig.add("putbytes.nack bytes=3000 count=1")
            let file = PhoneCommand.upload([UInt8](repeating: 1, count: 8000), name: "fault")
            #expect(!rig.succeeds(file))
            #expect(rig.firings("putbytes.nack") == 1)
            #expect(rig.succeeds(file))
        case .putBytesWrongCRC:
            let rig = try SessionRig()
            try rig.add("putbytes.wrong-crc")
            #expect(!rig.succeeds(.upload([UInt8](repeating: 1, count: 800), name: "fault")))
        case .blobDBBusy, .blobDBFull, .blobDBStale:
            let rig = try SessionRig()
            try rig.add(fault.rawValue)
            _ = rig.tell(.notify(title: "Fault", body: "body"))
            let status: BlobDBStatus =
                switch fault {
                case .blobDBBusy: .tryLater
                case .blobDBFull: .databaseFull
                default: .dataStale
                }
            #expect(rig.heard(.blobDB).contains { (try? BlobDBResponse(payload: $0.payload))?.status == status })
        case .appMessageRefused, .appMessageBusy:
            let rig = try SessionRig()
            try rig.add("\(fault.rawValue) count=1")
            #expect(!rig.succeeds(SessionRig.push))
            let seen = rig.watch { watch in
                watch.events.contains { event in
                    if case .appMessageReceived = event { true } else { false }
                }
            }
            #expect(
                seen == (fault == .appMessageRefused),
                "the app sees what it refuses, and not what came while it was busy"
            )
            #expect(rig.succeeds(SessionRig.push))
        case .appMessageSilent:
            let rig = try SessionRig()
            try rig.add("appmessage.silence count=1")
            guard case .failure(.timedOut)? = rig.tell(SessionRig.push) else {
                Issue.record("an answer came")
                return
            }
        case .appMessageInboxSmall:
            let rig = try SessionRig()
            try rig.add("appmessage.inbox-small bytes=8")
            #expect(!rig.succeeds(SessionRig.push))
        }
    }

    private func version(with fault: String) throws -> WatchVersion {
        let rig = try SessionRig(with: fault)
        let answers = rig.heard(.watchVersion).compactMap { message -> WatchVersion? in
            guard case .response(let version)? = try? WatchVersionMessage(payload: message.payload) else { return nil }
            return version
        }
        return try #require(answers.last)
    }
}
