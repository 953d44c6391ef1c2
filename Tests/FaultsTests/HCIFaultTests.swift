import AirSimulator
import BluetoothHCI
import BluetoothHost
import PebbleWatch
import Testing

@testable import Faults

/// Each fault of the HCI boundary, as the phone sees it.
@Suite struct HCIFaultTests {
    @Test(arguments: HCIFault.allCases) func isWhatItClaims(_ fault: HCIFault) throws {
        switch fault {
        case .linkLost: try linkLost()
        case .linkDropped: try linkDropped()
        case .linkMute: try linkMute()
        case .controllerHangs: try controllerHangs()
        case .controllerResets: try controllerResets()
        case .hardwareError: try hardwareError()
        case .eventLost: try eventLost()
        case .eventLate: try eventLate()
        case .commandRefused: try commandRefused()
        case .noBuffers: try noBuffers()
        case .setsLost: try setsLost()
        case .attError: try attError()
        case .attLate: try attLate()
        case .attNever: try attNever()
        case .attTwice: try attTwice()
        case .mtuRefused: try mtuRefused()
        case .confirmationNotAwaited: try confirmationNotAwaited()
        case .serviceChangedLost: try serviceChangedLost()
        case .wrongHash: try wrongHash()
        case .creditsWithheld: try creditsWithheld()
        case .psmRefused: try psmRefused()
        case .channelDropped: try channelDropped()
        case .tinyMPS: try tinyMPS()
        case .parametersRefused: try parametersRefused()
        case .pairingRefused: try pairingRefused()
        case .pairingStalled: try pairingStalled()
        case .wrongConfirm: try wrongConfirm()
        case .wrongDHKeyCheck: try wrongDHKeyCheck()
        case .otherModel: try otherModel()
        case .keyCorrupted: try keyCorrupted()
        case .encryptionRefused: try encryptionRefused()
        }
    }

    // MARK: Links and the controller

    private func linkLost() throws {
        let rig = try FaultRig.connected()
        try rig.add("link.lost packets=2 length=3s")
        #expect(try rig.readsName())
        let actions = rig.watch { $0.host.actions }
        guard case .silence(_, let length)? = actions.first else {
            Issue.record("the radio is not asked to be silent")
            return
        }
        #expect(length == .seconds(3) && rig.firings("link.lost") == 1)
        rig.air.setQuality(.outOfRange)
        // Longer than the longest supervision timeout that is usual.
        rig.run(10)
        #expect(rig.phone { $0.reasons } == [.connectionTimeout])
    }

    private func linkDropped() throws {
        let rig = try FaultRig.connected()
        try rig.add("link.dropped reason=0x15")
        rig.run(2)
        #expect(rig.phone { $0.reasons.map(\.rawValue) } == [0x15])
        #expect(rig.firings("link.dropped") == 1)
        // It happened once.
        #expect(rig.connect())
    }

    private func linkMute() throws {
        let rig = try FaultRig.connected()
        try rig.add("link.mute direction=to-phone")
        #expect(try rig.perform(FaultRig.deviceName) == nil)
        try rig.clear()
        rig.run(1)
        #expect(rig.phone { $0.responses.count } == 1)
        #expect(rig.phone { $0.connection } != nil)
        #expect(rig.watch { $0.host.line == nil }, "nothing stands there any more")
    }

    private func controllerHangs() throws {
        let rig = try FaultRig.connected()
        try rig.add("controller.hang for=1s")
        try rig.begin(FaultRig.deviceName)
        rig.air.run(for: .milliseconds(900))
        #expect(rig.phone { $0.responses.isEmpty })
        rig.run(1)
        #expect(rig.phone { $0.responses.count } == 1)
        #expect(rig.firings("controller.hang") == 1)
    }

    private func controllerResets() throws {
        let rig = try FaultRig.connected()
        try rig.add("controller.reset")
        rig.run(5)
        #expect(rig.phone { $0.reasons } == [.connectionTimeout], "the phone hears nothing, and gives up")
        #expect(rig.connect(), "the watch starts its controller again")
        #expect(try rig.readsName())
    }

    private func hardwareError() throws {
        let rig = try FaultRig.connected()
        try rig.add("controller.hardware-error code=0x17")
        rig.run(5)
        let restarts = rig.watch { watch in
            watch.events.count { event in
                if case .recovery(.controllerRestarting) = event { true } else { false }
            }
        }
        #expect(restarts == 1)
        #expect(rig.connect())
    }

    private func eventLost() throws {
        let rig = try FaultRig.connected()
        try rig.add("controller.event-lost event=0x05 count=1")
        rig.air.onPhone { phone, now in phone.connection.map { phone.host.disconnect($0, at: now) } }
        rig.run(2)
        #expect(rig.phone { $0.connection } == nil)
        #expect(rig.watch { $0.host.watch.status.links.count } == 1, "the watch does not know")
        #expect(rig.firings("controller.event-lost") == 1)
    }

    private func eventLate() throws {
        let rig = try FaultRig.connected()
        try rig.add("controller.event-late event=0x05 delay=4s count=1")
        rig.air.onPhone { phone, now in phone.connection.map { phone.host.disconnect($0, at: now) } }
        rig.run(2)
        #expect(rig.watch { $0.host.watch.status.links.count } == 1)
        rig.run(3)
        #expect(rig.watch { $0.host.watch.status.links.isEmpty })
    }

    private func commandRefused() throws {
        let rig = try FaultRig.connected()
        try rig.add("controller.command-refused opcode=0x0406")
        try rig.air.onWatch { owner, now in _ = try owner.host.watch.perform(.disconnect, at: now) }
        rig.run(3)
        #expect(rig.phone { $0.connection } != nil, "the controller did not end the link")
        #expect(rig.firings("controller.command-refused") >= 1)
    }

    private func noBuffers() throws {
        let rig = try FaultRig.connected()
        try rig.add("controller.no-buffers")
        var answers = 0
        while answers < 100, try rig.readsName() { answers += 1 }
        #expect(answers < 100, "the host goes on although no packet was completed")
        let before = rig.phone { $0.responses.count }
        try rig.clear()
        rig.run(1)
        #expect(rig.phone { $0.responses.count } == before + 1)
    }

    private func setsLost() throws {
        let rig = try FaultRig()
        try rig.add("controller.sets-lost")
        rig.air.run(for: .milliseconds(100))
        #expect(!rig.connect(within: .seconds(3)), "the watch is still on the air")
        #expect(rig.firings("controller.sets-lost") == 1)
    }

    // MARK: ATT and GATT

    private func attError() throws {
        let rig = try FaultRig.connected()
        try rig.add("att.error opcode=0x08 error=0x11 skip=1 count=1")
        #expect(try rig.readsName())
        guard case .failure(.refused(let refusal))? = try rig.perform(FaultRig.deviceName) else {
            Issue.record("no error came")
            return
        }
        #expect(refusal.error == .insufficientResources && refusal.requestOpcode == 0x08)
        #expect(try rig.readsName(), "it fires once")
        #expect(rig.firings("att.error") == 1)
    }

    private func attLate() throws {
        let rig = try FaultRig.connected()
        try rig.add("att.late delay=5s count=1")
        #expect(try rig.perform(FaultRig.deviceName, for: 4) == nil)
        rig.run(2)
        #expect(rig.phone { $0.responses.count } == 1)
    }

    private func attNever() throws {
        let rig = try FaultRig.connected()
        try rig.add("att.never")
        guard case .failure(.timedOut)? = try rig.perform(FaultRig.deviceName, for: 31) else {
            Issue.record("the phone did not give up")
            return
        }
    }

    private func attTwice() throws {
        let rig = try FaultRig.connected()
        let before = rig.tap.heard(.attribute, ATTOpcode.readByTypeResponse.rawValue).count
        try rig.add("att.twice opcode=8 count=1")
        _ = try rig.perform(FaultRig.deviceName)
        #expect(rig.tap.heard(.attribute, ATTOpcode.readByTypeResponse.rawValue).count - before >= 2)
    }

    private func mtuRefused() throws {
        let rig = try FaultRig.connected()
        try rig.add("att.mtu-refused")
        guard case .failure(.refused(let refusal))? = try rig.perform(.exchangeMTU) else {
            Issue.record("the exchange was not refused")
            return
        }
        #expect(refusal.error == .requestNotSupported)
    }

    /// Subscribes to Service Changed, and has the database change.
    private func changeDatabase(_ rig: FaultRig, _ isOffered: Bool) throws {
        try rig.air.onWatch { owner, now in _ = try owner.host.watch.perform(.offerBattery(isOffered), at: now) }
        rig.run(3)
    }

    private func subscribe(_ rig: FaultRig) throws {
        guard case .success(.values(let values))? = try rig.perform(.readByUUID(.uuid16(0x2803))) else {
            Issue.record("no characteristics")
            return
        }
        let declaration = values.first { Array($0.value).suffix(2) == [0x05, 0x2A] }
        let value = try #require(declaration).value
        let bytes = Array(value)
        let handle = UInt16(bytes[1]) | UInt16(bytes[2]) << 8
        let configuration = AttributeHandle(rawValue: handle + 1)
        _ = try rig.perform(.subscribe(clientConfiguration: configuration, .indications))
    }

    private func confirmationNotAwaited() throws {
        let rig = try FaultRig.connected()
        try subscribe(rig)
        try rig.add("att.confirmation-not-awaited")
        try rig.add("link.mute direction=from-phone")
        try changeDatabase(rig, false)
        try changeDatabase(rig, true)
        #expect(rig.tap.heard(.attribute, ATTOpcode.handleValueIndication.rawValue).count == 2)
    }

    private func serviceChangedLost() throws {
        let rig = try FaultRig.connected()
        try subscribe(rig)
        try rig.add("gatt.service-changed-lost")
        try changeDatabase(rig, false)
        #expect(rig.tap.heard(.attribute, ATTOpcode.handleValueIndication.rawValue).isEmpty)
        #expect(rig.firings("gatt.service-changed-lost") == 1)
    }

    private func wrongHash() throws {
        let rig = try FaultRig.connected()
        let hash = { (rig: FaultRig) throws -> [UInt8]? in
            guard case .success(.values(let values))? = try rig.perform(.readOneByUUID(.databaseHash)) else {
                return nil
            }
            return values.first.map { Array($0.value) }
        }
        let right = try #require(try hash(rig))
        try rig.add("gatt.wrong-hash count=1")
        let wrong = try #require(try hash(rig))
        #expect(wrong.count == right.count && wrong != right)
    }

    // MARK: L2CAP

    private func open() throws -> FaultRig { try .connected { $0.linkSecurity = .insecureTestLink } }

    private func write(_ count: Int, _ channel: Channel.ID, _ rig: FaultRig) -> Int {
        rig.air.onPhone { phone, now in
            phone.host.advance(to: now)
            return phone.host.channels.write([UInt8](repeating: 0, count: count)[...], to: channel, at: now)
        }
    }

    private func creditsWithheld() throws {
        // Of the Pebble app on a phone, so that the watch reads on: PPoGATT 0 to 1, the system's UUID, hybrid; then pings.
        let introduction = [0, 1] + [UInt8](repeating: 0, count: 16) + [1]
        let ping: [UInt8] = [0x00, 0x05, 0x07, 0xD1, 0x00, 0xCA, 0xFE, 0xBA, 0xBE]
        for isFaulty in [false, true] {
            let rig = try open()
            if isFaulty { try rig.add("l2cap.credits-withheld") }
            let channel = try #require(try rig.openChannel())
            for part in [introduction] + [[UInt8]](repeating: ping, count: 400) {
                rig.air.onPhone { phone, now in
                    phone.host.advance(to: now)
                    _ = phone.host.channels.write(part[...], to: channel, at: now)
                }
                rig.air.run(for: .milliseconds(100))
            }
            let credits = rig.tap.heard(.signaling, CreditBasedCode.flowControlCredit.rawValue).count
            #expect(isFaulty ? credits == 0 : credits > 0)
        }
    }

    private func psmRefused() throws {
        let rig = try open()
        try rig.add("l2cap.psm-refused result=4 count=1")
        #expect(try rig.openChannel() == nil)
        #expect(rig.phone { $0.closures } == [.refused(.noResources)])
        #expect(try rig.openChannel() != nil)
    }

    private func channelDropped() throws {
        let rig = try open()
        try rig.add("l2cap.channel-dropped bytes=10 count=1")
        let channel = try #require(try rig.openChannel())
        #expect(write(8, channel, rig) == 8)
        rig.run(1)
        #expect(rig.phone { $0.channels.count } == 1, "8 bytes and the SDU's length are not more than 10")
        _ = write(19, channel, rig)
        rig.run(1)
        #expect(rig.phone { $0.channels.isEmpty } && rig.phone { $0.closures.count } == 1)
        #expect(rig.phone { $0.connection } != nil)
        #expect(rig.firings("l2cap.channel-dropped") == 1)
    }

    private func tinyMPS() throws {
        let rig = try open()
        try rig.add("l2cap.tiny-mps mps=30")
        _ = try rig.openChannel()
        let response = try #require(rig.tap.heard(.signaling, CreditBasedCode.connectionResponse.rawValue).first)
        #expect(response.word(at: 8) == 30)
    }

    private func parametersRefused() throws {
        let rig = try FaultRig()
        try rig.add("l2cap.parameters-refused")
        try #require(rig.connect())
        rig.pair()
        rig.run(60)
        #expect(rig.firings("l2cap.parameters-refused") >= 1)
        let connection = rig.phone { phone in phone.connection.flatMap { phone.host.connection($0) } }
        #expect(connection?.interval == .milliseconds(30), "the phone was asked all the same")
    }

    // MARK: Security

    private func pairingRefused() throws {
        let rig = try FaultRig.connected()
        try rig.add("smp.pairing-refused reason=8")
        rig.pair()
        #expect(rig.phone { $0.pairingFailures } == [.refusedByPeer(.unspecifiedReason)])
    }

    private func pairingStalled() throws {
        for step in ["response", "public-key", "random", "dhkey-check"] {
            let rig = try FaultRig.connected()
            try rig.add("smp.stalled step=\(step)")
            rig.pair(for: 31)
            // The one that loses patience first: the phone, or the watch with a link that earns no place.
            let failures = rig.phone { $0.pairingFailures }
            #expect(failures == [.timedOut] || failures == [.disconnected], "\(step): \(failures)")
        }
    }

    private func wrongConfirm() throws {
        let rig = try FaultRig.connected()
        try rig.add("smp.wrong-confirm")
        rig.pair()
        #expect(rig.phone { $0.pairingFailures } == [.refused(.confirmValueFailed)])
    }

    private func wrongDHKeyCheck() throws {
        let rig = try FaultRig.connected()
        try rig.add("smp.wrong-dhkey-check")
        rig.pair()
        #expect(rig.phone { $0.pairingFailures } == [.refused(.dhKeyCheckFailed)])
    }

    private func otherModel() throws {
        let rig = try FaultRig.connected()
        try rig.add("smp.other-model to=just-works")
        rig.pair()
        let response = try #require(rig.tap.heard(.securityManager, SMPCode.pairingResponse.rawValue).first)
        #expect(response[1] == 0x03, "NoInputNoOutput")
        #expect((response[3] ?? 0) & 0b100 == 0)
    }

    private func keyCorrupted() throws {
        let rig = try FaultRig.paired()
        try rig.add("encryption.key-corrupted")
        try rig.encryptAgain()
        #expect(rig.phone { !$0.security.isEncrypted || $0.connection == nil })
        #expect(rig.firings("encryption.key-corrupted") == 1)
    }

    private func encryptionRefused() throws {
        let rig = try FaultRig.paired()
        try rig.add("encryption.refused count=1")
        try rig.encryptAgain()
        #expect(rig.phone { !$0.security.isEncrypted })
        #expect(rig.firings("encryption.refused") == 1)
        try rig.encryptAgain()
        #expect(rig.phone { $0.security.isEncrypted }, "the key is there still")
    }
}
