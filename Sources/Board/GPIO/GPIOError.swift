import LinuxBluetooth

/// Why lines of a GPIO chip cannot be used: what, where, and what to do.
public struct GPIOError: Error, Sendable, Equatable, CustomStringConvertible {
    public let description: String
    /// What a person can do about it.
    public let advice: String
    /// Whether the reason is that this user is not allowed to.
    public let isPermission: Bool

    init(_ description: String, advice: String, isPermission: Bool = false) {
        self.description = description
        self.advice = advice
        self.isPermission = isPermission
    }

    static func cannotOpen(_ path: String, _ error: SystemError) -> GPIOError {
        let isPermission = error.isPermission
        return GPIOError(
            "cannot use the GPIO chip \(path): \(error)",
            advice: isPermission
                ? "be in the group that owns it, which is usually gpio, or be root"
                : "gpiodetect, of Debian's package gpiod, lists the chips that are there",
            isPermission: isPermission
        )
    }
}
