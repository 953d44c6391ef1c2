import AirSimulator
import BluetoothHCI
import Foundation
import LinuxBluetooth
import PebblePhone
import PebbleWatch
import Testing

/// Whole sessions of a watch and a phone, as the capture files of their controllers show them.
@Suite struct CaptureTests {
    /// Writes the captures of a demonstration with loss, pairing, messages and all.
    /// - Returns: The files of the watch's and of the phone's controller.
    private func captures(seed: UInt64, in folder: URL) throws -> [Data] {
        var settings = Rig.Settings()
        settings.seed = seed
        settings.quality = LinkQuality(loss: .uniform(probability: 0.05))
        var rig = try Rig(settings)
        let paths = ["watch", "phone"].map { folder.appendingPathComponent("\($0)-\(UUID().uuidString).btsnoop").path }
        let writers = try paths.map { try BtsnoopWriter(path: $0) }
        let phone = rig.phone.controller
        rig.observe { packet in
            let writer = packet.controller == phone ? writers[1] : writers[0]
            try? writer.record(packet.bytes, packet.isFromHost ? .sent : .received, at: packet.time)
        }
        rig.runToTheEnd()
        for writer in writers { try writer.flush() }
        try #require(rig.summary != nil, "\(rig.transcript)")
        return try paths.map { try Data(contentsOf: URL(fileURLWithPath: $0)) }
    }

    @Test func theSameSeedWritesTheSameFiles() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("captures-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let first = try captures(seed: 7, in: folder)
        let again = try captures(seed: 7, in: folder)
        let other = try captures(seed: 8, in: folder)
        #expect(first.allSatisfy { $0.count > 10_000 })
        #expect(first == again)
        #expect(first[0] != other[0] && first[1] != other[1])
    }
}
