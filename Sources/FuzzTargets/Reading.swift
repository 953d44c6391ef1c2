import BluetoothHCI
import BluetoothHost
import ByteCoding
import PebbleProtocol

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
    /// The numbers that are in what was read, whatever they are called: a decoder that takes bytes in the wrong order, and writes them
    /// in that order again, has other numbers than its judge.
    package let numbers: [Int64]

    /// - Parameter meaning: what was read.
    init(kind: String, result: Result, meaning: Any? = nil) {
        self.kind = kind
        self.result = result
        var numbers: [Int64] = []
        if let meaning { Self.collect(meaning, into: &numbers) }
        self.numbers = numbers
    }

    /// Goes through a value and all that is in it. Bytes are no numbers.
    private static func collect(_ value: Any, into numbers: inout [Int64]) {
        switch value {
        case let number as any FixedWidthInteger: numbers.append(Int64(truncatingIfNeeded: number))
        case is [UInt8], is ArraySlice<UInt8>, is String: break
        case let dictionary as AppMessageDictionary:
            for tuple in dictionary { numbers.append(Int64(tuple.key)) }
        case let number as any RawRepresentable:
            if let raw = number.rawValue as? any FixedWidthInteger {
                numbers.append(Int64(truncatingIfNeeded: raw))
            } else {
                for child in Mirror(reflecting: value).children { collect(child.value, into: &numbers) }
            }
        default: for child in Mirror(reflecting: value).children { collect(child.value, into: &numbers) }
        }
    }

    /// The decoders, by name.
    package static let decoders: [String: @Sendable (ArraySlice<UInt8>) -> Reading] = [
        "advertising": { Reading(kind: "AdvertisingData", result: .written(AdvertisingData(parsing: $0).bytes)) },
        "endpoints": { EndpointDecoders.reading($0) },
        "hci-events": { HCIDecoders.reading($0) },
        "signaling": { LinkDecoders.signalingReading($0) },
    ]
}
