import BluetoothCryptography
import BluetoothHCI
import ByteCoding
import PebbleProtocol
import SeededRandomness
import Testing

import BluetoothPeripheral
@testable import BluetoothHost
@testable import PebbleWatch

/// A watch whose brain is a firmware is the watch that the firmware says it is.
@Suite struct FollowedFirmwareTests {
    /// A firmware that says who it is, and a watch in front of it.
    private struct Rig {
        var watch: Watch
        var payload: [UInt8]
        /// The answer of the factory's registry.
        var registry: [UInt8] = [0x01, 0x04, 0x00, 0x00, 0x00, 0x24]
        private var deframer = QEMUDeframer()
        private var stream = MessageDeframer()

        init(_ personality: Personality = .universal) throws {
            let identity = WatchIdentity(address: .random(DeviceAddress(0xC0DE_0000_1234)), personality: personality)
            var configuration = WatchConfiguration(identity: identity, personality: personality)
            configuration.brain = .emulator
            watch = try Watch(
                configuration,
                cryptography: .swiftCrypto,
                randomness: RandomSource(state: 1, SplitMix64.draw)
            )
            payload = try FirmwareAnswers.watchVersion()
            watch.start(at: .zero)
        }

        var identity: WatchIdentity { watch.configuration.identity }

        /// The firmware is there, and answers until it has no more questions.
        mutating func connect() throws {
            _ = watch.take(.connected, at: .zero)
            // It has just started.
            try say(PebbleMessage(PhoneVersionMessage.request))
            while true {
                let bytes = watch.nextFirmwareBytes(at: .zero)
                guard !bytes.isEmpty else { return }
                deframer.receive(bytes[...])
                while let frame = deframer.nextFrame(at: .zero) {
                    if frame.protocolID == .accelerometer { send(QEMUMessage.accelerometerSpace(256).frame) }
                    guard frame.protocolID == .spp else { continue }
                    var rest = frame.data[...]
                    while case .message(let message)? = stream.next(from: &rest) { try answer(message) }
                }
            }
        }

        private mutating func answer(_ message: PebbleMessage) throws {
            switch message.endpoint {
            case .blobDB: if let answer = message.answerToMark { try say(answer) }
            case .watchVersion: try say(PebbleMessage(endpoint: .watchVersion, payload: payload))
            case .factoryRegistry: try say(PebbleMessage(endpoint: .factoryRegistry, payload: registry))
            default: break
            }
        }

        private mutating func say(_ message: PebbleMessage) throws {
            var bytes: [UInt8] = []
            try MessageFramer.append(message, to: &bytes)
            send(QEMUFrame(.spp, data: bytes))
        }

        private mutating func send(_ frame: QEMUFrame) {
            var framed: [UInt8] = []
            QEMUFrame.append(frame.data[...], as: frame.protocolID, to: &framed)
            _ = watch.take(.bytes(framed[...]), at: .zero)
        }

        /// What is said on the air when a phone looks for a watch.
        var scanResponse: [UInt8] {
            Advertisement(for: .discovery, of: identity, by: watch.configuration.advertising).scanResponse.bytes
        }
    }

    @Test func theWatchIsTheFirmwares() throws {
        var rig = try Rig()
        let before = rig.identity
        try rig.connect()
        #expect(rig.identity.hardware == .obelixPVT && rig.identity.boardName == "obelix")
        #expect(rig.identity.color == .time2BlackGray)
        #expect(rig.identity.firmware.description == "v4.35.0")
        // Section 1.3: hardware, colour, version and flags end the scan response.
        #expect(rig.scanResponse.suffix(6) == [18, 36, 4, 35, 0, 0])
        // Phones know it by these.
        #expect(rig.identity.name == before.name && rig.identity.serialNumber == before.serialNumber)
        #expect(rig.identity.address == before.address)
        // Before the first picture.
        #expect(rig.watch.frame.display == Display(of: AppPlatform.emery))
        #expect(rig.watch.model.firmware.description == "v4.35.0")
    }

    @Test(arguments: [
        (0xF2 as UInt8, HardwarePlatform.getafixDVT, WatchColor.round2Black20, 0x0EEA as UInt16),
        (0xF5, .obelixPVT, .time2BlackGray, 0x0EEA), (0xF6, .asterix, .duo2Black, 0x0EEA),
        (0xF8, .silk, .pebble2HRBlack, 0x0154), (0xFB, .spalding, .timeRoundBlack20, 0x0154),
        (0xFC, .snowyS3, .timeBlack, 0x0154), (0xFE, .tintinV15, .pebbleBlack, 0x0154),
    ])
    func eachKindOfFirmware(number: UInt8, board: HardwarePlatform, color: WatchColor, company: UInt16) throws {
        var rig = try Rig()
        // The running firmware's board is byte 45 of its block, which begins at 1.
        rig.payload[46] = number
        rig.registry = [0xFF]
        try rig.connect()
        #expect(rig.identity.hardware == board && rig.identity.color == color)
        #expect(rig.identity.company.identifier.rawValue == company)
        #expect(rig.watch.frame.display == Display(of: board))
        #expect(throws: Never.self) { try rig.identity.validate() }
    }

    @Test func whatTheFirmwareDoesNotSayIsTheModels() throws {
        var rig = try Rig(.emery)
        let before = rig.identity
        rig.registry = [0x01, 0x04, 0xFF, 0xFF, 0xFF, 0xFF]
        // A version that companions do not understand.
        rig.payload.replaceSubrange(5..<37, with: Array("wild".utf8) + [UInt8](repeating: 0, count: 28))
        try rig.connect()
        #expect(rig.identity.color == before.color && rig.identity.firmware == before.firmware)
        #expect(rig.identity.hardware == before.hardware && rig.identity.boardName == before.boardName)
    }

    @Test func aRestartOfTheWatchForgetsNothingOfIt() throws {
        var rig = try Rig()
        try rig.connect()
        let before = rig.identity
        rig.watch.beginRestart(.reboot, at: .zero)
        rig.watch.advance(to: .seconds(3))
        #expect(rig.identity == before)
    }

    @Test func theDatabaseStaysAsPhonesKnowIt() throws {
        var rig = try Rig()
        let before = rig.watch.database.hash
        try rig.connect()
        #expect(rig.watch.database.hash == before)
        #expect(rig.watch.database.changes.nextDeadline == nil)
    }
}
