import Foundation

/// A file on the disk, read whole.
enum BundleFile {
    /// Larger than every bundle there is.
    static let sizeLimit = 16 * 1024 * 1024

    static func read(_ path: String, limit: Int = sizeLimit) throws(BundleError) -> [UInt8] {
        do {
            let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
            defer { try? handle.close() }
            // One byte more than allowed shows that there is more, whatever the file says of its size.
            let data = try handle.read(upToCount: limit + 1) ?? Data()
            guard data.count <= limit else {
                throw BundleError.tooLarge(what: "the file", byteCount: UInt64(data.count), limit: limit)
            }
            return [UInt8](data)
        } catch let error as BundleError {
            throw error
        } catch {
            throw .unreadable(reason: "it cannot be read: \(error.localizedDescription)")
        }
    }
}
