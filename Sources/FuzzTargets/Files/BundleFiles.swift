import Bundles
import ByteCoding
import CZlib
import PebbleProtocol
import PebbleWatch

/// Files that people give to a watch: archives with apps or firmware in them, and scripts of app behaviour.
enum BundleFiles {
    /// What begins each entry of a directory.
    private static let entrySignature: [UInt8] = [0x50, 0x4B, 1, 2]

    /// Less than a watch takes, so that what an archive may claim is small beside an input's budget.
    private static let limits: ZipArchive.Limits = {
        var limits = ZipArchive.Limits()
        limits.fileByteCount = 64 * 1024
        limits.totalByteCount = 128 * 1024
        return limits
    }()

    /// An archive, what is in it, and what it is as an app of every platform and as a firmware. The first byte says whether the
    /// checksums of stored files are made right: a change in a file comes as far as the file's reader then.
    static func archive(_ input: ArraySlice<UInt8>) throws -> UInt64 {
        var bytes = Array(input.dropFirst())
        if input.first.map({ $0 & 1 == 1 }) == true { repairChecksums(&bytes) }
        var digest = FuzzDigest()
        let archive: ZipArchive
        do throws(BundleError) {
            archive = try ZipArchive(bytes, limits: limits)
        } catch {
            digest.add(error.description)
            return digest.value
        }
        var total = 0
        for name in archive.names {
            digest.add(name)
            try expect(!name.hasPrefix("/"), "\(name) is a path from the root")
            try expect(!name.split(separator: "/").contains(".."), "\(name) leads out of the archive")
            do {
                let contents = try archive.contents(of: name)
                digest.add(contents)
                total += contents.count
                try expect(contents.count <= limits.fileByteCount, "\(name) has \(contents.count) bytes")
            } catch let error as BundleError {
                digest.add(error.description)
            }
        }
        try expect(total <= limits.totalByteCount, "all files together have \(total) bytes")
        for platform in AppPlatform.allCases {
            do {
                let package = try AppBundle.package(in: archive, for: platform)
                digest.add(package.binary)
                // What is installed has to be what a watch starts.
                let header = try ProcessHeader(checking: package.binary[...])
                try expect(header.metadata == package.metadata, "the metadata are not those of the executable")
                if let resources = package.resources { _ = try ResourcePack(checking: resources[...]) }
            } catch let error as BundleError {
                digest.add(error.description)
            }
        }
        do throws(BundleError) {
            let firmware = try FirmwareBundle(in: archive)
            digest.add(firmware.image)
            digest.add(firmware.resources ?? [])
        } catch {
            digest.add(error.description)
        }
        return digest.value
    }

    /// A script: it is read, or an error says in which of its lines something is wrong.
    static func script(_ input: ArraySlice<UInt8>) throws -> UInt64 {
        var digest = FuzzDigest()
        let refusal: BundleError
        do throws(BundleError) {
            digest.add("\(try BehaviorFile.script(in: Array(input)))")
            return digest.value
        } catch {
            refusal = error
        }
        guard case .invalid(_, let reason) = refusal else { throw FuzzFinding("a script is refused: \(refusal)") }
        digest.add(reason)
        let line = reason.drop { !$0.isNumber }.prefix { $0.isNumber }
        let lineCount = input.count { $0 == 0x0A } + 1
        try expect(reason.hasPrefix("line ") && Int(line).map { 1...lineCount ~= $0 } == true, reason)
        return digest.value
    }

    /// Gives each stored file of an archive the checksum of its bytes, as far as the directory says where they are.
    private static func repairChecksums(_ bytes: inout [UInt8]) {
        func number(_ place: Int, _ width: Int) -> Int {
            guard place + width <= bytes.count else { return 0 }
            return (0..<width).reduce(0) { $0 | Int(bytes[place + $1]) << (8 * $1) }
        }
        var place = 0
        while place + 46 <= bytes.count {
            guard bytes[place..<(place + 4)].elementsEqual(entrySignature) else {
                place += 1
                continue
            }
            let header = number(place + 42, 4)
            let start = header + 30 + number(header + 26, 2) + number(header + 28, 2)
            let end = start + number(place + 20, 4)
            if number(place + 10, 2) == 0, end <= bytes.count {
                let sum = checksum(bytes[start..<end])
                for index in 0..<4 { bytes[place + 16 + index] = UInt8(truncatingIfNeeded: sum >> (8 * UInt32(index))) }
            }
            place += 46
        }
    }

    /// CRC-32 by zlib, which is not the one that recordings have.
    static func checksum(_ bytes: ArraySlice<UInt8>) -> UInt32 {
        bytes.withUnsafeBufferPointer { UInt32(truncatingIfNeeded: crc32(0, $0.baseAddress, UInt32($0.count))) }
    }
}
