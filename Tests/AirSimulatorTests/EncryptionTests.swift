import AirSimulator
import Testing

/// Encryption: the hosts' keys have to match.
@Suite struct EncryptionTests {
    private let otherKey = "10 11 22 33 44 55 66 77 88 99 aa bb cc dd ee ff"

    private func enable(_ link: ConnectedRig, key: String = ConnectedRig.key) -> String {
        "01 19 20 1c \(link.centralHandle) 00 00 00 00 00 00 00 00 00 00 \(key)"
    }

    @Test func matchingKeysEncryptAndDataGoesOn() throws {
        var link = try #require(ConnectedRig(interval: 24))
        try link.encrypt()
        link.sendData([1, 2, 3], from: link.central)
        link.sendData([4, 5, 6], from: link.peripheral)
        link.rig.run(for: .seconds(1))
        #expect(link.receivedData(link.peripheral) == [1, 2, 3])
        #expect(link.receivedData(link.central) == [4, 5, 6])
    }

    @Test func dataWaitsUntilTheKeyIsThere() throws {
        var link = try #require(ConnectedRig(interval: 24))
        link.rig.send(enable(link), link.central)
        link.sendData([1], from: link.central)
        _ = try link.rig.wait(for: "04 3e 0d 05", from: link.peripheral)
        link.sendData([2], from: link.peripheral)
        link.rig.run(for: .seconds(1))
        #expect(link.rig.take(link.central, "02").isEmpty)
        #expect(link.rig.take(link.peripheral, "02").isEmpty)
        link.rig.send("01 1a 20 12 \(link.peripheralHandle) \(ConnectedRig.key)", link.peripheral)
        link.rig.run(for: .seconds(1))
        #expect(
            link.rig.take(link.central).map(\.hex)
                == ["04 08 04 00 \(link.centralHandle) 01", "04 13 05 01 50 00 01 00", "02 50 20 01 00 02"]
        )
        #expect(link.receivedData(link.peripheral) == [1])
    }

    @Test func differentKeysFailTheIntegrityCheck() throws {
        var link = try #require(ConnectedRig(interval: 24, timeout: 100))
        link.rig.send(enable(link), link.central)
        _ = try link.rig.wait(for: "04 3e 0d 05", from: link.peripheral)
        link.rig.send("01 1a 20 12 \(link.peripheralHandle) \(otherKey)", link.peripheral)
        _ = link.rig.take(link.peripheral)
        let start = link.rig.now
        link.rig.run(for: .seconds(5))
        // The peripheral sees the failure at once; the central, which is not told, when it hears nothing any more.
        let atPeripheral = try link.rig.first(link.peripheral, "04")
        #expect(atPeripheral.hex == "04 05 04 00 \(link.peripheralHandle) 3d")
        #expect(atPeripheral.time - start < .milliseconds(120))
        let atCentral = try link.rig.first(link.central, "04 05")
        #expect(atCentral.hex == "04 05 04 00 \(link.centralHandle) 08")
        #expect(atCentral.time - atPeripheral.time > .milliseconds(900))
    }

    @Test func withoutAKeyTheLinkStaysAsItIs() throws {
        var link = try #require(ConnectedRig(interval: 24))
        link.rig.send(enable(link), link.central)
        _ = try link.rig.wait(for: "04 3e 0d 05", from: link.peripheral)
        #expect(
            link.rig.ask("01 1b 20 02 \(link.peripheralHandle)", link.peripheral)
                == ["04 0e 06 01 1b 20 00 \(link.peripheralHandle)"]
        )
        // Encryption Change: PIN or Key Missing, still off.
        let change = try link.rig.wait(for: "04 08", from: link.central)
        #expect(change.hex == "04 08 04 06 \(link.centralHandle) 00")
        link.sendData([1], from: link.central)
        link.sendData([2], from: link.peripheral)
        link.rig.run(for: .seconds(1))
        #expect(link.receivedData(link.peripheral) == [1])
        #expect(link.receivedData(link.central) == [2])
        // Once more, with the key now.
        try link.encrypt()
    }

    @Test func aHostThatIsNotAskedHasNoKey() throws {
        var link = try #require(ConnectedRig(interval: 24))
        link.rig.send("01 01 20 08 ef ff ff ff ff ff ff 7f", link.peripheral)
        link.rig.send(enable(link), link.central)
        let change = try link.rig.wait(for: "04 08", from: link.central)
        #expect(change.hex == "04 08 04 06 \(link.centralHandle) 00")
    }

    @Test func theKeyCanBeRenewed() throws {
        var link = try #require(ConnectedRig(interval: 24))
        try link.encrypt()
        link.rig.send(enable(link, key: otherKey), link.central)
        _ = try link.rig.wait(for: "04 3e 0d 05", from: link.peripheral)
        link.rig.send("01 1a 20 12 \(link.peripheralHandle) \(otherKey)", link.peripheral)
        // Encryption Key Refresh Complete at both ends.
        let atPeripheral = try link.rig.wait(for: "04 30", from: link.peripheral)
        #expect(atPeripheral.hex == "04 30 03 00 \(link.peripheralHandle)")
        let atCentral = try link.rig.wait(for: "04 30", from: link.central)
        #expect(atCentral.hex == "04 30 03 00 \(link.centralHandle)")
    }

    @Test func aRenewalWithoutKeyEndsTheConnection() throws {
        var link = try #require(ConnectedRig(interval: 24))
        try link.encrypt()
        link.rig.send(enable(link), link.central)
        _ = try link.rig.wait(for: "04 3e 0d 05", from: link.peripheral)
        link.rig.send("01 1b 20 02 \(link.peripheralHandle)", link.peripheral)
        let atCentral = try link.rig.wait(for: "04 05", from: link.central)
        #expect(atCentral.hex == "04 05 04 00 \(link.centralHandle) 06")
        let atPeripheral = try link.rig.wait(for: "04 05", from: link.peripheral)
        #expect(atPeripheral.hex == "04 05 04 00 \(link.peripheralHandle) 06")
    }

    @Test func aHostThatNeverAnswersEndsTheConnection() throws {
        var link = try #require(ConnectedRig(interval: 24))
        link.rig.send(enable(link), link.central)
        let asked = try link.rig.wait(for: "04 3e 0d 05", from: link.peripheral).time
        link.rig.run(for: .seconds(100))
        // LL Response Timeout after 40 s, counted from the last message of the peripheral's link layer.
        let ended = try link.rig.first(link.central, "04 05")
        #expect(ended.hex == "04 05 04 00 \(link.centralHandle) 22")
        #expect(abs((ended.time - asked) / .seconds(1) - 40) < 0.1)
        #expect(link.rig.take(link.peripheral, "04 05").map { $0.bytes.last } == [0x08])
    }

    /// What a peripheral may ask for at any time, and what both ends hear of it when the central agrees.
    private static let requests = [
        // LE Set PHY: 2M. LE PHY Update Complete.
        ("01 32 20 07 40 00 00 02 02 00 00", "04 3e 06 0c 00 40 00 02 02"),
        // LE Connection Update: 15 ms. LE Connection Update Complete.
        ("01 13 20 0e 40 00 0c 00 0c 00 00 00 c8 00 00 00 00 00", "04 3e 0a 03 00 40 00 0c 00 00 00 c8 00"),
        // LE Subrate Request: every second event. LE Subrate Change.
        ("01 7e 20 0c 40 00 02 00 02 00 00 00 00 00 c8 00", "04 3e 0c 23 00 40 00 02 00 00 00 00 00 c8 00"),
    ]

    @Test(
        "what the peripheral asks for as an encryption begins happens after it, however late its host finds the key",
        arguments: requests
    )
    func aChangeWaitsForTheEncryption(request: String, outcome: String) throws {
        // The encryption begins anywhere from before the request to after its announcement, which comes within two events.
        for eighths in 0..<40 {
            var link = try #require(
                ConnectedRig(interval: 24, timeout: 200) { rig, central, peripheral in
                    // LE Set Host Feature: subrating. LE Set Event Mask: all.
                    for each in [central, peripheral] {
                        _ = rig.ask("01 74 20 02 26 01", each)
                        _ = rig.ask("01 01 20 08 ff ff ff ff ff ff ff ff", each)
                    }
                    _ = rig.ask("01 7d 20 0a 01 00 04 00 00 00 00 00 c8 00", central)
                }
            )
            link.rig.run(for: .milliseconds(200))
            #expect(link.peripheralHandle == "40 00")
            link.rig.send(request, link.peripheral)
            link.rig.run(for: .microseconds(3750 * eighths))
            link.rig.send(enable(link), link.central)
            link.rig.run(for: .milliseconds(500))
            // The central's host agrees to the timing in the middle of the encryption, or is asked after it.
            let agreement = "01 20 20 0e \(link.centralHandle) 0c 00 0c 00 00 00 c8 00 00 00 00 00"
            link.rig.send(agreement, link.central)
            link.rig.run(for: .milliseconds(500))
            link.rig.send("01 1a 20 12 \(link.peripheralHandle) \(ConnectedRig.key)", link.peripheral)
            link.rig.run(for: .milliseconds(500))
            link.rig.send(agreement, link.central)
            link.rig.run(for: .seconds(4))
            for end in [link.peripheral, link.central] {
                let said = link.rig.take(end).map(\.hex)
                let handle = end == link.central ? link.centralHandle : link.peripheralHandle
                #expect(said.contains("04 08 04 00 \(handle) 01"), "encrypted; \(eighths) eighths: \(said)")
                #expect(said.contains(outcome.replacing("40 00", with: handle)), "changed; \(eighths) eighths: \(said)")
                #expect(!said.contains { $0.hasPrefix("04 05") }, "disconnected; \(eighths) eighths: \(said)")
            }
        }
    }

    @Test func onlyTheCentralEncryptsAndOnlyAQuestionIsAnswered() throws {
        var link = try #require(ConnectedRig(interval: 24))
        let key = ConnectedRig.key
        #expect(
            link.rig.ask("01 19 20 1c \(link.peripheralHandle) 00 00 00 00 00 00 00 00 00 00 \(key)", link.peripheral)
                == ["04 0f 04 0c 01 19 20"]
        )
        #expect(
            link.rig.ask("01 1a 20 12 \(link.peripheralHandle) \(key)", link.peripheral) == [
                "04 0e 06 01 1a 20 0c 00 00"
            ]
        )
        #expect(link.rig.ask("01 1a 20 12 77 00 \(key)", link.peripheral) == ["04 0e 06 01 1a 20 02 00 00"])
    }

    @Test func theKeySizeIsToldWhereItIsWanted() throws {
        var link = try #require(ConnectedRig(interval: 24))
        // Set Event Mask Page 2: Encryption Change version 2.
        #expect(link.rig.ask("01 63 0c 08 00 00 00 02 00 00 00 00", link.central) == ["04 0e 04 01 63 0c 00"])
        link.rig.send(enable(link), link.central)
        _ = try link.rig.wait(for: "04 3e 0d 05", from: link.peripheral)
        link.rig.send("01 1a 20 12 \(link.peripheralHandle) \(ConnectedRig.key)", link.peripheral)
        let change = try link.rig.wait(for: "04 59", from: link.central)
        #expect(change.hex == "04 59 05 00 \(link.centralHandle) 01 10")
    }
}
