import ByteCoding
import CZlib
import PebbleProtocol

/// Makes zip archives, valid ones and hostile ones.
struct ZipMaker {
    struct File {
        var name: String
        var bytes: [UInt8]
        var isDeflated = true
        /// What the directory says of the file, where it lies.
        var claimedByteCount: Int?
        var claimedCRC: UInt32?
        var claimedOffset: Int?
        var method: UInt16?
        var flags: UInt16 = 0
    }

    var files: [File] = []
    var comment: [UInt8] = []

    mutating func add(_ name: String, _ bytes: [UInt8]) { files.append(File(name: name, bytes: bytes)) }

    mutating func add(_ name: String, _ text: String) { add(name, Array(text.utf8)) }

    func archive() -> [UInt8] {
        var archive: [UInt8] = []
        var directory: [UInt8] = []
        for file in files {
            let packed = file.isDeflated ? Self.deflate(file.bytes) : file.bytes
            let crc =
                file.claimedCRC
                ?? file.bytes.withUnsafeBufferPointer { UInt32(crc32(0, $0.baseAddress, UInt32(file.bytes.count))) }
            let method = file.method ?? (file.isDeflated ? 8 : 0)
            let offset = archive.count
            var fields: [UInt8] = []
            fields.appendLittleEndian(file.flags)
            fields.appendLittleEndian(method)
            fields.appendLittleEndian(UInt32(0x5A21_0000))
            fields.appendLittleEndian(crc)
            fields.appendLittleEndian(UInt32(packed.count))
            fields.appendLittleEndian(UInt32(file.claimedByteCount ?? file.bytes.count))
            fields.appendLittleEndian(UInt16(file.name.utf8.count))
            fields.appendLittleEndian(UInt16(0))
            archive += [0x50, 0x4B, 3, 4, 20, 0] + fields + file.name.utf8 + packed
            directory += [0x50, 0x4B, 1, 2, 20, 3, 20, 0] + fields
            directory += [UInt8](repeating: 0, count: 10)
            directory.appendLittleEndian(UInt32(file.claimedOffset ?? offset))
            directory += file.name.utf8
        }
        let start = archive.count
        archive += directory + [0x50, 0x4B, 5, 6, 0, 0, 0, 0]
        archive.appendLittleEndian(UInt16(files.count))
        archive.appendLittleEndian(UInt16(files.count))
        archive.appendLittleEndian(UInt32(directory.count))
        archive.appendLittleEndian(UInt32(start))
        archive.appendLittleEndian(UInt16(comment.count))
        return archive + comment
    }

    static func deflate(_ bytes: [UInt8]) -> [UInt8] {
        var stream = z_stream()
        deflateInit2_(
            &stream,
            Z_BEST_COMPRESSION,
            Z_DEFLATED,
            -MAX_WBITS,
            9,
            Z_DEFAULT_STRATEGY,
            ZLIB_VERSION,
            CInt(MemoryLayout<z_stream>.size)
        )
        defer { deflateEnd(&stream) }
        var input = bytes
        var output = [UInt8](repeating: 0, count: bytes.count + bytes.count / 100 + 64)
        input.withUnsafeMutableBufferPointer { source in
            output.withUnsafeMutableBufferPointer { destination in
                stream.next_in = source.baseAddress
                stream.avail_in = UInt32(source.count)
                stream.next_out = destination.baseAddress
                stream.avail_out = UInt32(destination.count)
                _ = CZlib.deflate(&stream, Z_FINISH)
            }
        }
        return Array(output.prefix(Int(stream.total_out)))
    }
}

/// Makes app bundles as the SDK does.
struct AppMaker {
    var uuid = "6b1f5c2e-0f3a-4d0e-9b7a-1c2d3e4f5a6b"
    var name = "Spec Test"
    var sdkMinor: UInt8 = 0x6A
    var sdkMajor: UInt8 = 5
    var flags: UInt32 = 1 << 3
    var code: [UInt8] = (0..<400).map { UInt8(truncatingIfNeeded: $0 &* 7) }
    var relocations: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8]
    var headerCRC: UInt32?
    var resourceBytes: [UInt8] = Array("hello, resources".utf8)
    var hasResources = true
    var worker: [UInt8]?
    /// The folder in the bundle.
    var folder = "flint/"
    var type = "application"

    /// The executable: a header of 130 bytes, code, relocations.
    var binary: [UInt8] {
        var bytes = Array("PBLAPP".utf8) + [0, 0, 0x10, 0, sdkMajor, sdkMinor, 1, 2]
        let loadSize = UInt16(130 + code.count)
        bytes.appendLittleEndian(loadSize)
        bytes.appendLittleEndian(UInt32(130))
        bytes.appendLittleEndian(headerCRC ?? LegacyChecksum.checksum(of: code))
        bytes += padded(name, 32) + padded("Lab", 32)
        bytes.appendLittleEndian(UInt32(0))
        bytes.appendLittleEndian(UInt32(0))
        bytes.appendLittleEndian(flags)
        bytes.appendLittleEndian(UInt32(relocations.count / 4))
        PebbleUUID(uuid)?.encode(to: &bytes)
        bytes.appendLittleEndian(hasResources ? LegacyChecksum.checksum(of: resourceBytes) : 0)
        bytes.appendLittleEndian(UInt32(0))
        bytes.appendLittleEndian(loadSize + 100)
        return bytes + code + relocations
    }

    /// A resource pack of one resource.
    var resources: [UInt8] {
        let crc = LegacyChecksum.checksum(of: resourceBytes)
        var bytes: [UInt8] = []
        for number in [1, crc, 0, 1, 0, UInt32(resourceBytes.count), crc] { bytes.appendLittleEndian(number) }
        bytes += [UInt8](repeating: 0, count: 255 * 16)
        return bytes + resourceBytes
    }

    func manifest(binary: [UInt8], resources: [UInt8]?) -> String {
        func file(_ name: String, _ bytes: [UInt8]) -> String {
            "{\"name\": \"\(name)\", \"timestamp\": 0, \"size\": \(bytes.count), \"crc\": \(LegacyChecksum.checksum(of: bytes))}"
        }
        var members = ["\"manifestVersion\": 2", "\"type\": \"\(type)\""]
        members.append("\"application\": " + file("pebble-app.bin", binary))
        if let resources { members.append("\"resources\": " + file("app_resources.pbpack", resources)) }
        if let worker { members.append("\"worker\": " + file("pebble-worker.bin", worker)) }
        return "{" + members.joined(separator: ", ") + "}"
    }

    /// The files of the bundle.
    func zip(_ change: (inout ZipMaker) -> Void = { _ in }) -> [UInt8] {
        var zip = ZipMaker()
        zip.add("appinfo.json", "{\"uuid\": \"\(uuid)\", \"shortName\": \"\(name)\"}")
        let resources = hasResources ? self.resources : nil
        zip.add(folder + "manifest.json", manifest(binary: binary, resources: resources))
        zip.add(folder + "pebble-app.bin", binary)
        if let resources { zip.add(folder + "app_resources.pbpack", resources) }
        if let worker { zip.add(folder + "pebble-worker.bin", worker) }
        change(&zip)
        return zip.archive()
    }

    private func padded(_ text: String, _ width: Int) -> [UInt8] {
        let bytes = Array(text.utf8.prefix(width))
        return bytes + [UInt8](repeating: 0, count: width - bytes.count)
    }
}
