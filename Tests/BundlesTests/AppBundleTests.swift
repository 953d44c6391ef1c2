import ByteCoding
import Foundation
import PebbleProtocol
import PebbleWatch
import Testing

@testable import Bundles

@Suite("App bundles")
struct AppBundleTests {
    private func package(_ bytes: [UInt8], for platform: AppPlatform = .flint) throws -> AppPackage {
        try AppBundle.package(in: ZipArchive(bytes), for: platform)
    }

    private func refusal(_ bytes: [UInt8], for platform: AppPlatform = .flint) -> String {
        do {
            _ = try package(bytes, for: platform)
            return "it is accepted"
        } catch {
            return "\(error)"
        }
    }

    @Test("A good bundle is taken apart")
    func good() throws {
        let maker = AppMaker()
        let package = try package(maker.zip())
        #expect(package.binary == maker.binary)
        #expect(package.resources == maker.resources)
        #expect(package.worker == nil)
        #expect(package.metadata.uuid == PebbleUUID(maker.uuid))
        #expect(package.metadata.name == "Spec Test")
        #expect(package.metadata.flags == .allowsJavaScript)
        #expect(package.metadata.sdk == SDKVersion(major: 5, minor: 0x6A))
        #expect(package.metadata.majorVersion == 1)
        #expect(package.metadata.minorVersion == 2)
    }

    @Test("A missing part is optional, or the error names it")
    func missing() throws {
        var maker = AppMaker()
        #expect(try package(maker.zip { $0.files.removeFirst() }).metadata.name == "Spec Test")
        #expect(refusal(maker.zip { $0.files.removeLast() }) == "it has no flint/app_resources.pbpack")
        #expect(refusal(maker.zip { $0.files.remove(at: 2) }) == "it has no flint/pebble-app.bin")
        #expect(refusal(maker.zip { $0.files.remove(at: 1) }) == "it has no manifest.json")
        maker.flags |= 1 << 4
        #expect(refusal(maker.zip()).contains("background worker"))
        maker.worker = AppMaker().binary
        #expect(try package(maker.zip()).worker == maker.worker)
    }

    @Test("An app without resources, which no watch starts, is refused, whether its header knows of any or not")
    func withoutResources() {
        var maker = AppMaker()
        maker.hasResources = false
        let reason = "it has no resources (flint/manifest.json names none), and the watch starts no app without them"
        #expect(refusal(maker.zip()) == reason)
        let complete = AppMaker()
        let named = maker.zip {
            $0.files[1].bytes = Array(maker.manifest(binary: complete.binary, resources: nil).utf8)
            $0.files[2].bytes = complete.binary
        }
        #expect(refusal(named) == reason)
    }

    @Test("Truncated anywhere, a bundle is refused")
    func truncated() {
        let bytes = AppMaker().zip()
        for length in stride(from: 0, to: bytes.count, by: 7) {
            #expect(refusal(Array(bytes.prefix(length))) != "it is accepted", "\(length) bytes")
        }
    }

    @Test("A bundle with one changed byte is refused, or has the same content")
    func bentBytes() throws {
        let bytes = AppMaker().zip()
        let good = try package(bytes)
        for index in bytes.indices {
            var bent = bytes
            bent[index] ^= 0x41
            guard let package = try? package(bent) else { continue }
            // Times and versions of the archive mean nothing.
            #expect(package == good, "byte \(index)")
        }
    }

    @Test("Wrong checksums: of the manifest, of the header, of the resources, of the archive")
    func checksums() {
        var maker = AppMaker()
        maker.headerCRC = 1
        #expect(refusal(maker.zip()) == "flint/pebble-app.bin: the checksum is wrong, so the file is damaged")
        maker = AppMaker()
        let changed = maker.zip { $0.files[2].bytes[200] ^= 1 }
        #expect(refusal(changed) == "flint/pebble-app.bin: the checksum is wrong, so the file is damaged")
        let shorter = maker.zip { $0.files[2].bytes.removeLast() }
        #expect(refusal(shorter).contains("but the manifest says"))
        let resources = maker.zip { $0.files[3].bytes[4200 % $0.files[3].bytes.count] ^= 1 }
        #expect(refusal(resources) == "flint/app_resources.pbpack: the checksum is wrong, so the file is damaged")
        let archive = maker.zip { $0.files[2].claimedCRC = 0x1234_5678 }
        #expect(refusal(archive) == "flint/pebble-app.bin: the checksum is wrong, so the file is damaged")
    }

    @Test("Resources of another app, a description of another app, a firmware")
    func otherThings() {
        var other = AppMaker()
        other.resourceBytes = Array("something else".utf8)
        let maker = AppMaker()
        let swapped = maker.zip {
            $0.files[1].bytes = Array(maker.manifest(binary: maker.binary, resources: other.resources).utf8)
            $0.files[3].bytes = other.resources
        }
        #expect(refusal(swapped).contains("not the resources that the app was built with"))
        let described = maker.zip {
            $0.files[0].bytes = Array("{\"uuid\": \"00000000-0000-0000-0000-000000000011\"}".utf8)
        }
        #expect(refusal(described).contains("it describes the app 00000000-0000-0000-0000-000000000011"))
        var firmware = AppMaker()
        firmware.type = "firmware"
        #expect(refusal(firmware.zip()) == "it is a bundle of type \"firmware\", not \"application\"")
    }

    @Test("SDKs that this watch does not run")
    func sdk() {
        var maker = AppMaker()
        maker.sdkMinor = 0x6B
        #expect(refusal(maker.zip()).contains("built with SDK 5.107"))
        maker.sdkMinor = 0x10
        maker.sdkMajor = 4
        #expect(refusal(maker.zip()).contains("built with SDK 4.16"))
    }

    @Test(
        "Which folder serves which watch",
        arguments: [
            ("flint/", UInt8(0x6A), [AppPlatform.flint]),
            ("diorite/", 0x6A, [.diorite, .flint]),
            ("aplite/", 0x6A, [.aplite]),
            ("aplite/", 0x4F, [.aplite, .diorite, .flint]),
            ("basalt/", 0x53, [.basalt, .emery]),
            ("basalt/", 0x54, [.basalt]),
            ("chalk/", 0x53, [.chalk, .gabbro]),
            ("chalk/", 0x54, [.chalk]),
            ("", 0x15, [.aplite, .basalt, .diorite, .emery, .flint]),
            ("", 0x16, [.aplite, .flint]),
        ]
    )
    func platforms(folder: String, sdkMinor: UInt8, platforms: [AppPlatform]) {
        var maker = AppMaker()
        maker.folder = folder
        maker.sdkMinor = sdkMinor
        let bytes = maker.zip()
        #expect(AppPlatform.allCases.filter { (try? package(bytes, for: $0)) != nil } == platforms)
    }

    @Test("A bundle without a build for this watch is refused, and the error names its builds")
    func wrongPlatform() {
        #expect(refusal(AppMaker().zip(), for: .chalk) == "it has nothing for chalk; it is for flint")
    }

    @Test("Invalid JSON, and JSON that lacks a required field")
    func json() {
        let maker = AppMaker()
        #expect(refusal(maker.zip { $0.files[1].bytes = Array("{".utf8) }).hasPrefix("flint/manifest.json: "))
        #expect(
            refusal(maker.zip { $0.files[1].bytes = Array("{}".utf8) }) == "flint/manifest.json: \"type\" is missing"
        )
        let noSize = "{\"type\": \"application\", \"application\": {\"name\": \"a\", \"crc\": 0}}"
        #expect(
            refusal(maker.zip { $0.files[1].bytes = Array(noSize.utf8) })
                == "flint/manifest.json: application: \"size\" is missing"
        )
        let deep = String(repeating: "[", count: 100_000)
        #expect(refusal(maker.zip { $0.files[1].bytes = Array(deep.utf8) }).hasPrefix("flint/manifest.json: "))
    }

    @Test("A missing file, a folder, and a file that is too large")
    func files() throws {
        #expect(throws: BundleError.self) { try AppBundle.package(atPath: "/nonexistent/a.pbw", for: .flint) }
        #expect(throws: BundleError.self) { try AppBundle.package(atPath: "/", for: .flint) }
        #expect(
            throws: BundleError.tooLarge(
                what: "the file",
                byteCount: UInt64(BundleFile.sizeLimit + 1),
                limit: BundleFile.sizeLimit
            )
        ) {
            try AppBundle.package(atPath: "/dev/zero", for: .flint)
        }
        let path = NSTemporaryDirectory() + "cairn-\(UInt64.random(in: 0 ... .max)).pbw"
        try Data(AppMaker().zip()).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        #expect(try AppBundle.package(atPath: path, for: .flint).metadata.name == "Spec Test")
    }

    @Test("A firmware bundle: its manifest is checked against its files, and an app bundle is refused")
    func firmware() throws {
        let image: [UInt8] = (0..<1000).map { UInt8(truncatingIfNeeded: $0) }
        var zip = ZipMaker()
        let crc = LegacyChecksum.checksum(of: image)
        zip.add(
            "manifest.json",
            """
            {"type": "firmware", "firmware": {"name": "tintin_fw.bin", "type": "normal", "timestamp": 7, "hwrev": "asterix",
            "size": 1000, "crc": \(crc), "versionTag": "v4.9.101"}}
            """
        )
        zip.add("tintin_fw.bin", image)
        let bundle = try FirmwareBundle(in: ZipArchive(zip.archive()))
        #expect(bundle.image == image)
        #expect(bundle.versionTag == "v4.9.101")
        #expect(bundle.kind == .normal)
        #expect(bundle.resources == nil)
        zip.files[1].bytes[5] ^= 1
        #expect(throws: BundleError.wrongChecksum(file: "tintin_fw.bin")) {
            try FirmwareBundle(in: ZipArchive(zip.archive()))
        }
        #expect(throws: BundleError.self) {
            var maker = AppMaker()
            maker.folder = ""
            return try FirmwareBundle(in: ZipArchive(maker.zip()))
        }
    }
}
