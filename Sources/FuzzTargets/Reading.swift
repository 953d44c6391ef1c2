import BluetoothHCI
import BluetoothHost
import ByteCoding

/// What a decoder makes of bytes, for a judge who reads the same bytes with a decoder that is not ours.
package struct Reading: Sendable {
    /// What became of the bytes.
    package enum Result: Sendable, Equatable {
        /// They were read; what was read, written again, leaves out what means nothing.
        case written([UInt8])
        /// They were refused: why, with the field.
        case refused(String)
    }

    /// What they were read as, such as `TimeMessage`.
    package let kind: String
    /// What became of them.
    package let result: Result

    /// The decoders, by name.
    package static let decoders: [String: @Sendable (ArraySlice<UInt8>) -> Reading] = [
        "advertising": { Reading(kind: "AdvertisingData", result: .written(AdvertisingData(parsing: $0).bytes)) },
        "endpoints": { EndpointDecoders.reading($0) },
        "hci-events": { HCIDecoders.reading($0) },
        "signaling": { LinkDecoders.signalingReading($0) },
    ]
}
