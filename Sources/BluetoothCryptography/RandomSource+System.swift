import BluetoothHost

extension RandomSource {
    /// The operating system's cryptographically secure generator: for every host on a real radio. Copies share it, and no
    /// number is drawn twice.
    public static let system = RandomSource { _ in
        var generator = SystemRandomNumberGenerator()
        return generator.next()
    }
}
