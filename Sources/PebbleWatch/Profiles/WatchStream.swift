import BluetoothHost
import PebbleProtocol

/// Something on the watch that phones can open L2CAP channels to.
///
/// Each has a service of its own, and in it a characteristic that says which PSM it has now: the way in which
/// CoreBluetooth looks for one. The number is another one after each start and each publication.
public enum WatchStream: String, Sendable, CaseIterable, CustomStringConvertible {
    /// The Pebble Protocol: see `SessionStream`.
    case pebble
    /// Sends every byte back: to try channels with, and to measure them.
    case loopback
    /// As `loopback`, for tests with more than one service.
    case secondLoopback = "second-loopback"

    /// Those that send every byte back.
    public static let loopbacks: [WatchStream] = [.loopback, .secondLoopback]

    public var description: String { "the \(rawValue) stream" }

    /// The service that says where the stream is.
    var service: BluetoothUUID {
        switch self {
        case .pebble: .uuid128(PebbleAttribute.streamService)
        case .loopback, .secondLoopback: .uuid128(PebbleAttribute.loopbackService)
        }
    }

    /// What its channels offer.
    var parameters: ChannelParameters {
        switch self {
        case .pebble, .loopback, .secondLoopback: ChannelParameters(face: .bytes)
        }
    }

    /// The value of the PSM characteristic: two bytes, least significant first; 0 while there is none.
    static func value(of spsm: SPSM?) -> [UInt8] {
        let number = spsm?.rawValue ?? 0
        return [UInt8(truncatingIfNeeded: number), UInt8(number >> 8)]
    }
}
