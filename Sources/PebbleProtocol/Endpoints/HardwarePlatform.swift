/// The kind of watch that an app binary is built for.
package enum AppPlatform: String, Hashable, Sendable, CaseIterable {
    /// The kinds of watches by the SDK's names: aplite is Pebble and Pebble Steel, basalt Pebble Time and Time Steel, chalk
    /// Pebble Time Round, diorite Pebble 2, emery Pebble Time 2, flint Pebble 2 Duo, gabbro Pebble Round 2. The raw value is
    /// also the name of the folder in a `.pbw` bundle that holds the kind's binary.
    case aplite, basalt, chalk, diorite, emery, flint, gabbro
}

/// Which board a watch is, as its firmware metadata and its advertisement say: one byte.
public struct HardwarePlatform: RawRepresentable, Hashable, Sendable {
    /// The number on the wire; those from 0xF2 are boards of developers and emulators.
    public let rawValue: UInt8

    public init(rawValue: UInt8) { self.rawValue = rawValue }

    private init(_ rawValue: UInt8) { self.rawValue = rawValue }

    /// The board is not known.
    package static let unknown = HardwarePlatform(0)
    /// Pebble.
    package static let tintinV15 = HardwarePlatform(5)
    /// Pebble Steel.
    package static let bianca = HardwarePlatform(6)
    /// Pebble Time before production.
    package static let snowyDVT = HardwarePlatform(8)
    /// Pebble Time, Time Steel.
    package static let snowyS3 = HardwarePlatform(10)
    /// Pebble Time Round.
    package static let spalding = HardwarePlatform(11)
    /// Pebble Time 2 of 2016.
    package static let robert = HardwarePlatform(13)
    /// Pebble 2.
    package static let silk = HardwarePlatform(14)
    /// Pebble 2 Duo.
    package static let asterix = HardwarePlatform(15)
    /// Pebble Time 2 before production.
    package static let obelixDVT = HardwarePlatform(17)
    /// Pebble Time 2.
    package static let obelixPVT = HardwarePlatform(18)
    /// Pebble Round 2.
    package static let getafixDVT = HardwarePlatform(20)

    /// The kind of app that it runs; nil if the number has no meaning.
    package var appPlatform: AppPlatform? {
        switch rawValue {
        case 1...6, 0xFE, 0xFF: .aplite
        case 7, 8, 10, 0xFC, 0xFD: .basalt
        case 9, 11, 0xFB: .chalk
        case 12, 14, 0xF8, 0xFA: .diorite
        case 13, 16...18, 0xF3...0xF5, 0xF7, 0xF9: .emery
        case 15, 0xF6: .flint
        case 19...21, 0xF2: .gabbro
        default: nil
        }
    }
}
