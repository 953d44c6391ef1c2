import BluetoothCryptography
import Daemon
import FlightRecorder
import Foundation
import HCIRuntime
import PebbleWatch
import Testing

@testable import cairn

/// Every recording of `Tests/Recordings` is replayed, with the configuration that its header says.
@Suite struct RecordedDefectTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../Recordings").standardizedFileURL

    private static let recordings: [String] =
        ((try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [])
        .filter { $0.hasSuffix(".cairnrec") }.sorted()

    @Test func thereAreRecordings() {
        #expect(!Self.recordings.isEmpty, "Tests/Recordings/make makes those that no defect has left")
    }

    @Test(arguments: recordings)
    func aRecordingReplays(_ name: String) throws {
        let recording = try RecordingInput.recording(at: Self.folder.appending(path: name).path)
        #expect(recording.inputCount > 0)
        let withoutSecrets = recording.header.isWithoutSecrets
        var replay = try Replay(
            recording,
            try RunPlan.watch(of: recording.header),
            cryptography: .swiftCrypto,
            describe: { $0.recordedText(withoutSecrets: withoutSecrets) }
        )
        replay.run()
        #expect(replay.divergence == nil, "\(name): \(String(describing: replay.divergence))")
        #expect(replay.inputCount == recording.inputCount)
    }

    @Test func aRecordingOfAnotherWatchParts() throws {
        let name = try #require(Self.recordings.first)
        let recording = try RecordingInput.recording(at: Self.folder.appending(path: name).path)
        var configuration = try RunPlan.watch(of: recording.header)
        configuration.identity.name = "Another"
        var replay = try Replay(recording, configuration, cryptography: .swiftCrypto) {
            $0.recordedText(withoutSecrets: false)
        }
        replay.run()
        #expect(replay.divergence != nil)
    }
}
