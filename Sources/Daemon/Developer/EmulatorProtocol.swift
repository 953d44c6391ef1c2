import HCIRuntime
import PebbleProtocol

extension PortProtocol {
    /// The emulator's, for the SDK's tools: frames with a signature.
    static let emulator = PortProtocol { bytes in
        bytes.starts(with: QEMUFrame.signature)
            && QEMUProtocol(rawValue: UInt16(bytes[2]) << 8 | UInt16(bytes[3])).isKnown
    }
}
