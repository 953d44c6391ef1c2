import Glibc

/// The users whom this process trusts with its files and its ports.
public enum TrustedUsers {
    /// Root, the user that this process runs as, and the user who had root start it by sudo.
    public static func numbers() -> Set<uid_t> {
        var numbers: Set<uid_t> = [0, geteuid()]
        if geteuid() == 0, let text = getenv("SUDO_UID"), let user = uid_t(String(cString: text)) {
            numbers.insert(user)
        }
        return numbers
    }

    /// The files that a process makes are its user's alone, whatever it inherited. What others may use gets its mode by hand.
    public static func keepFilesPrivate() { umask(0o077) }
}
