import Glibc

/// A speed that Linux serial ports know by name.
public struct BaudRate: Hashable, Sendable, CustomStringConvertible {
    /// Bits per second.
    public let bitsPerSecond: Int
    /// The constant that `termios` has for it.
    let constant: speed_t

    /// Looks a speed up; nil if `termios` has no constant for it.
    public init?(_ bitsPerSecond: Int) {
        guard let entry = Self.constants.first(where: { $0.bitsPerSecond == bitsPerSecond }) else { return nil }
        self.bitsPerSecond = bitsPerSecond
        constant = speed_t(entry.constant)
    }

    public var description: String { String(bitsPerSecond) }

    /// Every speed there is, slowest first.
    public static var all: [BaudRate] { constants.compactMap { BaudRate($0.bitsPerSecond) } }

    /// Source: termios(3) and `asm-generic/termbits.h`, from the slowest that a controller could use.
    private static let constants: [(bitsPerSecond: Int, constant: Int32)] = [
        (1_200, B1200), (1_800, B1800), (2_400, B2400), (4_800, B4800), (9_600, B9600), (19_200, B19200),
        (38_400, B38400), (57_600, B57600), (115_200, B115200), (230_400, B230400), (460_800, B460800),
        (500_000, B500000), (576_000, B576000), (921_600, B921600), (1_000_000, B1000000), (1_152_000, B1152000),
        (1_500_000, B1500000), (2_000_000, B2000000), (2_500_000, B2500000), (3_000_000, B3000000),
        (3_500_000, B3500000), (4_000_000, B4000000),
    ]
}
