import BluetoothCryptography
import BluetoothHCI
import BluetoothHost
import Foundation
import PebbleWatch
import SeededRandomness
import Testing

@testable import Control

/// Lines in, lines out, and bounded memory.
@Suite struct ControlConversationTests {
    /// A watch and one program's conversation with it.
    private struct Desk {
        var firmware: Watch
        var conversation = ControlConversation()
        var history = EventHistory()
        var now = Duration.seconds(10)

        init() throws {
            let address = LEAddress.random(DeviceAddress(0xC0DE_0000_1234))
            var configuration = WatchConfiguration(identity: WatchIdentity(address: address))
            configuration.batteryLevel = 80
            firmware = try Watch(
                configuration,
                cryptography: .swiftCrypto,
                randomness: RandomSource(state: 1, SplitMix64.draw)
            )
        }

        /// What is answered to bytes, line by line.
        mutating func say(_ text: String) -> [ControlAnswer] {
            conversation.receive(Array(text.utf8)[...])
            var answers: [ControlAnswer] = []
            while let item = conversation.nextItem() {
                switch item {
                case .answered(let answer): answers.append(answer)
                case .asked(let request): answers += self.answers(to: request)
                }
            }
            return answers
        }

        private mutating func answers(to request: ControlRequest) -> [ControlAnswer] {
            switch request {
            case .status: return [ControlAnswer(firmware.status, at: now)]
            case .look(let look): return [ControlAnswer(look, of: firmware, after: history.last, at: now)]
            case .screenshot(let format): return [ControlAnswer(firmware.frame, as: format, after: history.last)]
            case .messages(let direction, let app, let sequence):
                return [ControlAnswer(direction, app: app, after: sequence, from: history)]
            case .backup: return [ControlAnswer(failure: .nothingIsKept, "there is no store here")]
            case .backupPart(let offset): return [ControlAnswer(backupPart: [UInt8(clamping: offset)])]
            case .events(let sequence):
                let line = ControlAnswer.events(after: sequence, from: history.events, at: now)
                return ControlAnswer(parsing: line.split(separator: UInt8(ascii: "\n"))[0]).map { [$0] } ?? []
            case .packets:
                conversation.sendPackets()
                return [ControlAnswer(ControlAnswers.PacketStream(startedAt: 1_700_000_000))]
            case .perform(let command):
                do throws(WatchCommandError) {
                    return [ControlAnswer(try firmware.perform(command, at: now), after: history.last, at: now)]
                } catch {
                    return [ControlAnswer(error)]
                }
            case .wait, .installPart, .install, .startCapture, .stopCapture, .saveRecording, .setLogLevels, .addFault,
                .faults, .faultNames, .clearFaults:
                return [ControlAnswer(failure: .notPermitted, "the process that runs the watch does that")]
            }
        }
    }

    @Test func aBackupIsAskedForPieceByPiece() throws {
        var desk = try Desk()
        let answers = desk.say(
            """
            {"command":"backup"}
            {"command":"backup-part","offset":17}
            {"command":"backup-part","offset":-1}
            {"command":"backup-part"}

            """
        )
        #expect(answers.map { $0.error?.code } == ["nothing-is-kept", nil, "bad-request", "bad-request"])
        #expect(try answers[1].content(ControlAnswers.BackupPart.self).data == [0x11])
    }

    @Test func everyLineHasItsAnswer() throws {
        var desk = try Desk()
        let answers = desk.say(
            """
            {"command":"battery","percent":42}
            nonsense
            \t \r
            {"command":"confirm"}
            {"command":"open-pairing","seconds":60}

            """
        )
        #expect(answers.map(\.ok) == [true, false, false, true])
        #expect(answers.compactMap(\.error?.code) == ["bad-request", "nothing-waits"])
        #expect(try answers.last?.content(ControlAnswers.PairingOpen.self).pairingSeconds == 60)
        let answer = try #require(desk.say("{\"command\":\"status\"}\n").first)
        let status = try answer.content(ControlAnswers.Status.self).status
        #expect(status.battery == .init(percent: 42, isCharging: false))
        #expect(status.pairing.windowSeconds == 60)
        #expect(status.pairing.isOpen)
        #expect(status.name == "Pebble 1234")
        #expect(status.phones.isEmpty)
    }

    @Test func aLineMayComeInAnyPieces() throws {
        var desk = try Desk()
        var answers: [ControlAnswer] = []
        for character in "{\"command\":\"tap\"}\n{\"command\":\"forget-all\"}\n" {
            answers += desk.say(String(character))
        }
        #expect(answers.map(\.ok) == [true, false])
        #expect(desk.firmware.status.sensors.tapCount == 1)
        #expect(desk.conversation.waitingByteCount == 0)
    }

    @Test(arguments: [1, 1000, 1 << 20])
    func aLineThatIsTooLongIsPassedOverOnceAndKeptNever(chunk: Int) throws {
        var desk = try Desk()
        var answers: [ControlAnswer] = []
        var left = 3 * ControlConversation.lineLimit
        while left > 0 {
            answers += desk.say(String(repeating: "x", count: min(chunk, left)))
            left -= chunk
            #expect(desk.conversation.waitingByteCount <= ControlConversation.lineLimit)
        }
        answers += desk.say("\n{\"command\":\"tap\"}\n")
        #expect(answers.map(\.ok) == [false, true])
    }

    @Test func eventsComeWhenAskedForAndTheirLossIsTold() throws {
        var desk = try Desk()
        let event = try #require(ControlEvent(.pairable(true), text: "a new phone may pair", at: .milliseconds(1500)))
        #expect(desk.conversation.line(for: event, hasRoom: true, at: .zero) == nil)
        #expect(desk.say("{\"command\":\"events\"}\n").map(\.ok) == [true])
        let first = desk.conversation.line(for: event, hasRoom: true, at: .zero)
        let line = try #require(first)
        #expect(
            String(decoding: line, as: UTF8.self)
                == #"{"at":1.5,"event":"pairable","isOpen":true,"text":"a new phone may pair"}"# + "\n"
        )
        for _ in 0..<3 { #expect(desk.conversation.line(for: event, hasRoom: false, at: .zero) == nil) }
        let second = desk.conversation.line(for: event, hasRoom: true, at: .seconds(2))
        let late = try #require(second)
        let lines = String(decoding: late, as: UTF8.self).split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines.first?.contains("3 events were lost") == true)
        #expect(desk.conversation.line(for: event, hasRoom: true, at: .zero) == line, "told once")
    }

    @Test func aPressOfAButtonIsAnEvent() throws {
        var desk = try Desk()
        #expect(desk.say("{\"command\":\"press\",\"button\":\"up\"}\n").map(\.ok) == [true])
        var buttons: [[String: ControlValue]] = []
        while let event = desk.firmware.nextEvent() {
            guard let line = ControlEvent(event, text: "", at: .zero), line.name == .button else { continue }
            buttons.append(line.fields)
        }
        #expect(buttons == [["button": .text("up"), "isLong": .flag(false)]])
    }

    @Test func packetsComeWhenTheyMayAndTheirLossIsTold() throws {
        var desk = try Desk()
        let packet = ControlPacket([0x01, 0x03, 0x0C, 0x00], .sent, at: .microseconds(1_500_001))
        #expect(desk.conversation.line(for: packet, hasRoom: true) == nil)
        #expect(desk.say("{\"command\":\"packets\"}\n").map(\.ok) == [true])
        let first = desk.conversation.line(for: packet, hasRoom: true)
        let line = try #require(first)
        #expect(
            String(decoding: line, as: UTF8.self)
                == #"{"packet":{"at":1.500001,"data":"01030c00","direction":"sent"}}"# + "\n"
        )
        #expect(ControlPacketLine(parsing: line) == .packet(packet))
        for _ in 0..<3 { #expect(desk.conversation.line(for: packet, hasRoom: false) == nil) }
        let second = desk.conversation.line(for: packet, hasRoom: true)
        let lines = try #require(second).split(separator: UInt8(ascii: "\n"))
        #expect(lines.count == 2)
        #expect(ControlPacketLine(parsing: lines[0]) == .lost(ControlLostPackets(at: 1.500001, lost: 3)))
        #expect(desk.conversation.line(for: packet, hasRoom: true) == line, "told once")
        #expect(ControlAnswer(parsing: line) == nil && ControlEventLine(parsing: line) == nil)
    }

    @Test func aLookChangesNothingAndCausesNoEvent() throws {
        var desk = try Desk()
        while desk.firmware.nextEvent() != nil {}
        let answers = desk.say(
            """
            {"command":"apps"}
            {"command":"notifications"}
            {"command":"settings"}
            {"command":"time"}
            {"command":"links"}
            {"command":"screenshot"}
            {"command":"screenshot","format":"raw"}

            """
        )
        #expect(answers.allSatisfy(\.ok) && answers.count == 7)
        let apps = try answers[0].content(ControlAnswers.Apps.self).apps
        #expect(apps.filter(\.isRunning).count == 1 && apps.allSatisfy(\.isBuiltIn))
        #expect(try answers[1].content(ControlAnswers.Notifications.self).notifications.isEmpty)
        #expect(try answers[2].content(ControlAnswers.Settings.self).settings.isEmpty)
        #expect(try !answers[3].content(ControlAnswers.Time.self).time.isSet)
        #expect(try answers[4].content(ControlAnswers.Links.self).links.isEmpty)
        let raw = try answers[6].content(ControlAnswers.Screen.self).screen
        #expect(raw.data.count == raw.width * raw.height && raw.format == .raw)
        #expect(try answers[5].content(ControlAnswers.Screen.self).screen.format == .png)
        let event = desk.firmware.nextEvent()
        #expect(event == nil)
    }

    @Test func theClockAndSettingsAreSetAndSeen() throws {
        var desk = try Desk()
        let answers = desk.say(
            """
            {"command":"set-time","seconds":1700000000,"zone":"Europe/Paris","offsetMinutes":60}
            {"command":"time"}
            {"command":"set","key":"unitsDistance","data":"01"}
            {"command":"settings"}

            """
        )
        #expect(answers.map(\.ok) == [true, true, true, true])
        let time = try answers[1].content(ControlAnswers.Time.self).time
        #expect(
            time.clock == ControlEvents.ClockSet(seconds: 1_700_000_000, zone: "Europe/Paris", offsetMinutes: 60)
                && time.isSet
        )
        #expect(
            try answers[3].content(ControlAnswers.Settings.self).settings
                == [ControlSetting(key: "unitsDistance", data: [1])]
        )
    }

    @Test func anAnswerIsReadBackAsItWasWritten() throws {
        var desk = try Desk()
        for text in [
            #"{"command":"status"}"#, #"{"command":"oob"}"#, #"{"command":"disconnect"}"#, #"{"command":"apps"}"#,
            #"{"command":"time"}"#, #"{"command":"screenshot"}"#,
        ] {
            let answer = try #require(desk.say(text + "\n").first)
            #expect(ControlAnswer(parsing: answer.line) == answer)
            #expect(answer.line.filter { $0 == UInt8(ascii: "\n") }.count == 1)
        }
        #expect(ControlAnswer(parsing: #"{"event":"lost","at":1,"text":""}"#.utf8) == nil)
    }
}
