import ByteCoding

/// A firmware image, as it is uploaded and started: code, and at its very end its metadata.
///
/// The metadata has the 47 bytes of ``FirmwareMetadata``, but in the watch's own byte order: the timestamp is
/// little-endian here.
package enum FirmwareImage {
    /// What an image says of itself; nil if it ends with anything but metadata of the one known version.
    package static func metadata(of image: [UInt8]) -> FirmwareMetadata? {
        var reader = ByteReader(image.suffix(FirmwareMetadata.encodedLength))
        guard let metadata = try? FirmwareMetadata(reading: &reader),
            metadata.metadataVersion == FirmwareMetadata.currentMetadataVersion
        else { return nil }
        return swapped(metadata)
    }

    /// Appends metadata as it stands at the end of an image.
    package static func append(_ metadata: FirmwareMetadata, to image: inout [UInt8]) {
        swapped(metadata).encode(to: &image)
    }

    private static func swapped(_ metadata: FirmwareMetadata) -> FirmwareMetadata {
        var metadata = metadata
        metadata.timestamp = metadata.timestamp.byteSwapped
        return metadata
    }
}
