import BluetoothHCI
import BluetoothHost
import ByteCoding
import PebbleProtocol
import PebbleWatch
import SeededRandomness
import Testing

@testable import Control

/// What programs ask, as it is written.
@Suite struct ControlRequestTests {
    @Test(arguments: [
        (#"{"command":"status"}"#, ControlRequest.status),
        (#"{"command":"events"}"#, .events()),
        (#"{"command":"events","since":17}"#, .events(after: 17)),
        (#"{"command":"press","button":"up"}"#, .perform(.press(.up, .short))),
        (#"{"command":"press","button":"back","long":true}"#, .perform(.press(.back, .long))),
        (#"{"command":"hold","buttons":["up","down"]}"#, .perform(.hold([.up, .down]))),
        (#"{"command":"hold","buttons":[]}"#, .perform(.hold([]))),
        (#"{"command":"tap"}"#, .perform(.sense(.tap(.x, direction: 1)))),
        (#"{"command":"tap","axis":"z","direction":-1}"#, .perform(.sense(.tap(.z, direction: -1)))),
        (
            #"{"command":"battery","percent":42,"charging":true}"#,
            .perform(.sense(.battery(percent: 42, isCharging: true)))
        ),
        (#"{"command":"compass","degrees":90}"#, .perform(.sense(.compass(heading: 0x4000, .calibrated)))),
        (#"{"command":"compass","degrees":360}"#, .perform(.sense(.compass(heading: 0, .calibrated)))),
        (
            #"{"command":"accelerometer","x":0,"y":-32768,"z":1000}"#,
            .perform(.sense(.accelerometer([.init(x: 0, y: -32768, z: 1000)])))
        ),
        (#"{"command":"time-format","is24Hour":true}"#, .perform(.sense(.timeFormat(is24Hour: true)))),
        (
            #"{"command":"launch","app":"2c1d6f5e-8f3a-4c57-9d0e-ec0ec0ec0ec0"}"#,
            .perform(.launchApp(PebbleUUID("2c1d6f5e-8f3a-4c57-9d0e-ec0ec0ec0ec0") ?? .invalid))
        ), (#"{"command":"stop"}"#, .perform(.stopApp)),
        (
            #"{"command":"send","entries":[{"key":1,"type":"uint8","number":255},{"key":7,"type":"bytes","bytes":"00FF"}]}"#,
            .perform(
                .sendAppMessage(
                    AppMessageDictionary(encoded: [
                        2, 1, 0, 0, 0, 2, 1, 0, 0xFF, 7, 0, 0, 0, 0, 2, 0, 0x00, 0xFF,
                    ])
                )
            )
        ),
        (#"{"command":"open-pairing"}"#, .perform(.openPairing(for: .seconds(300)))),
        (#"{"command":"open-pairing","seconds":7.5}"#, .perform(.openPairing(for: .milliseconds(7500)))),
        (#"{"command":"close-pairing"}"#, .perform(.closePairing)),
        (#"{"command":"confirm"}"#, .perform(.confirmPairing)),
        (#"{"command":"refuse"}"#, .perform(.refusePairing)),
        (#"{"command":"oob"}"#, .perform(.makeOutOfBandData)),
        (
            #"{"command":"forget","phone":"e2:00:00:00:00:02"}"#,
            .perform(.forget(DeviceAddress(0xE200_0000_0002)))
        ),
        (#"{"command":"screenshot"}"#, .screenshot(.png)),
        (#"{"command":"screenshot","format":"raw"}"#, .screenshot(.raw)),
        (#"{"command":"apps"}"#, .look(.apps)),
        (#"{"command":"notifications"}"#, .look(.notifications)),
        (#"{"command":"settings"}"#, .look(.settings)),
        (#"{"command":"time"}"#, .look(.time)),
        (#"{"command":"links"}"#, .look(.links)),
        (#"{"command":"inbox"}"#, .messages(.received, app: nil, after: nil)),
        (
            #"{"command":"outbox","app":"2c1d6f5e-8f3a-4c57-9d0e-ec0ec0ec0ec0","since":7}"#,
            .messages(.sent, app: PebbleUUID("2c1d6f5e-8f3a-4c57-9d0e-ec0ec0ec0ec0") ?? .invalid, after: 7)
        ),
        (#"{"command":"install-part","data":"00ff"}"#, .installPart([0, 0xFF])),
        (#"{"command":"install"}"#, .install(launches: false)),
        (#"{"command":"install","launch":true}"#, .install(launches: true)),
        (
            #"{"command":"remove","app":"2c1d6f5e-8f3a-4c57-9d0e-ec0ec0ec0ec0"}"#,
            .perform(.removeApp(PebbleUUID("2c1d6f5e-8f3a-4c57-9d0e-ec0ec0ec0ec0") ?? .invalid))
        ),
        (
            #"{"command":"set-time","seconds":1700000000,"offsetMinutes":-210}"#,
            .perform(.setTime(seconds: 1_700_000_000, offsetMinutes: -210, zone: nil))
        ),
        (#"{"command":"wait","for":"ready"}"#, .wait(ControlWait(goal: .condition(.ready), duration: .seconds(30)))),
        (
            #"{"command":"wait","for":"paired","since":3,"seconds":0.5}"#,
            .wait(ControlWait(goal: .event(.paired, after: 3), duration: .milliseconds(500)))
        ),
        (
            #"{"command":"wait","for":"button"}"#,
            .wait(ControlWait(goal: .event(.button, after: 0), duration: .seconds(30)))
        ),
        (#"{"command":"capture-start","path":"/tmp/a"}"#, .startCapture(path: "/tmp/a")),
        (#"{"command":"recorder-save","path":"/tmp/a"}"#, .saveRecording(path: "/tmp/a")),
        (#"{"command":"capture-stop"}"#, .stopCapture),
        (#"{"command":"packets"}"#, .packets),
        (#"{"command":"log-level","levels":"info,att=debug"}"#, .setLogLevels("info,att=debug")),
        (#"{"command":"reset"}"#, .perform(.service(.restart(.factoryReset)))),
        (#"{"command":"forget-all"}"#, .perform(.forgetAll)),
        (#"{"command":"disconnect"}"#, .perform(.disconnect)),
        (#"{"command":"offer-battery","offered":false}"#, .perform(.offerBattery(false))),
        (#"{"command":"publish","stream":"pebble"}"#, .perform(.publish(.pebble, true))),
        (#"{"command":"withdraw","stream":"pebble"}"#, .perform(.publish(.pebble, false))),
    ])
    func isRead(line: String, expected: ControlRequest) throws {
        #expect(try ControlRequest(parsing: line.utf8) == expected)
    }

    @Test func aPasskeyIsReadWithItsZeros() throws {
        let passkey = try #require(Passkey(7))
        let request = try ControlRequest(parsing: #"{"command":"passkey","passkey":"000007"}"#.utf8)
        #expect(request == .perform(.enterPasskey(passkey)))
    }

    /// Octets as the Core Specification Supplement orders them, written by hand.
    @Test func anOutOfBandBlockIsRead() throws {
        let block =
            "081b0200000000e201" + "021c01" + "112200112233445566778899aabbccddeeff" + "1123"
            + "0100000000000000000000000000000f"
        let request = try ControlRequest(parsing: #"{"command":"take-oob","data":"\#(block)"}"#.utf8)
        let expected = OutOfBandBlock(
            device: .random(DeviceAddress(0xE200_0000_0002)),
            data: PeerOutOfBandData(
                secureConnections: OutOfBandData(
                    confirm: 0xFFEE_DDCC_BBAA_9988_7766_5544_3322_1100,
                    random: 0x0F00_0000_0000_0000_0000_0000_0000_0001
                )
            )
        )
        #expect(request == .perform(.takeOutOfBandData(expected)))
    }

    @Test(arguments: [
        ("", "this is no JSON"),
        ("press up", "this is no JSON"),
        ("[1,2]", "a request is a JSON object"),
        ("{}", "“command” is missing"),
        (#"{"command":7}"#, "“command” has the wrong type"),
        (#"{"command":"fly"}"#, "“fly” is no command; there are status, events, press,"),
        (#"{"command":"press"}"#, "“button” is missing"),
        (#"{"command":"press","button":"left"}"#, "“left” is no button; there are back, up, select, down"),
        (#"{"command":"press","button":"up","long":"yes"}"#, "“long” has the wrong type"),
        (#"{"command":"launch","app":"watch"}"#, "“app” is a UUID, such as"),
        (#"{"command":"send"}"#, "“entries” is missing"),
        (#"{"command":"send","entries":[{"key":1,"type":"uint8","number":256}]}"#, "the entry 1 is none"),
        (#"{"command":"send","entries":[{"key":1,"type":"text","string":"a"}]}"#, "the entry 1 is none"),
        (#"{"command":"hold"}"#, "“buttons” is missing"),
        (#"{"command":"screenshot","format":"gif"}"#, "“format” is one of png, raw"),
        (#"{"command":"wait","for":"tea"}"#, "“for” is one of"),
        (#"{"command":"wait","for":"ready","since":1}"#, "“since” goes with events; ready holds now or does not"),
        (#"{"command":"wait","for":"button","seconds":86401}"#, "“seconds” is a number from 0 to 86400"),
        (#"{"command":"capture-start","path":"here"}"#, "“path” is a whole path: it begins with /"),
        (#"{"command":"capture-start","path":"/a\u0000b"}"#, "“path” is a whole path: it begins with /"),
        (#"{"command":"set-time","seconds":-1}"#, "“seconds” is a number from 0 to 4294967295"),
        (#"{"command":"tap","axis":"w"}"#, "“axis” is x, y or z"),
        (#"{"command":"tap","direction":9999}"#, "“direction” is a number from -128 to 127"),
        (#"{"command":"battery","percent":-1}"#, "“percent” is a number from 0 to 255"),
        (#"{"command":"battery","percent":1e300}"#, "a number is negative, too large or not a whole one"),
        (#"{"command":"battery","percent":1.5}"#, "a number is negative, too large or not a whole one"),
        (#"{"command":"events","since":-1}"#, "a number is negative, too large or not a whole one"),
        (#"{"command":"compass","degrees":361}"#, "“degrees” is a number from 0 to 360"),
        (#"{"command":"open-pairing","seconds":0}"#, "“seconds” is a number from 1 to 3600"),
        (#"{"command":"open-pairing","seconds":1e9}"#, "“seconds” is a number from 1 to 3600"),
        (#"{"command":"passkey","passkey":"1234567"}"#, "“passkey” is a string of up to six digits"),
        (#"{"command":"passkey","passkey":123456}"#, "“passkey” has the wrong type"),
        (#"{"command":"take-oob","data":"xyz"}"#, "“data” is a string of hexadecimal digits"),
        (#"{"command":"take-oob","data":"021c00"}"#, "“data” is no out of band block: oob.address"),
        (#"{"command":"take-oob","data":"081b0200000000e201"}"#, "“data” is no out of band block: oob.confirm"),
        (#"{"command":"take-oob","data":"ff"}"#, "“data” is no out of band block: oob: 1 unexpected bytes"),
        (#"{"command":"forget","phone":"nobody"}"#, "“nobody” is no address"),
    ])
    func isRefusedWithWhatIsWrong(line: String, beginning: String) throws {
        let error = try #require(throws: ControlRequest.Invalid.self) { try ControlRequest(parsing: line.utf8) }
        #expect(error.description.hasPrefix(beginning), "\(error.description)")
    }

    @Test func anAbyssOfBracketsIsRefused() throws {
        let abyss = String(repeating: "[", count: 60_000)
        #expect(throws: ControlRequest.Invalid.self) { try ControlRequest(parsing: abyss.utf8) }
    }

    /// Any line becomes a request or a refusal, and none traps.
    @Test func bentLinesNeverTrap() {
        let seed: UInt64 = 0xC0_47_01
        var random = SplitMix64(seed: seed)
        let lines = [
            #"{"command":"press","button":"up","long":true}"#, #"{"command":"battery","percent":42,"charging":true}"#,
            #"{"command":"take-oob","data":"081b0200000000e201112200112233445566778899aabbccddeeff"}"#,
            #"{"command":"compass","degrees":90.25}"#, #"{"command":"open-pairing","seconds":12e1}"#,
        ]
        for _ in 0..<20_000 {
            var line = Array(lines[Int.random(in: lines.indices, using: &random)].utf8)
            for _ in 0..<Int.random(in: 1...4, using: &random) where !line.isEmpty {
                let place = Int.random(in: line.indices, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: line[place] = UInt8.random(in: 0...255, using: &random)
                case 1: line.remove(at: place)
                default: line.insert(contentsOf: Array("99999999999".utf8), at: place)
                }
            }
            _ = try? ControlRequest(parsing: line)
        }
    }
}
