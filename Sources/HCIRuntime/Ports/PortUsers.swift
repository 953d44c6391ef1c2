import Glibc
import PrivateFiles

/// Which users of this machine may use a TCP port of this process.
///
/// A port has no owner and no mode, as a file has. So the kernel is asked whose socket is at the other end.
package struct PortUsers: Sendable {
    /// The users by their numbers.
    private let numbers: Set<uid_t>

    private init(_ numbers: Set<uid_t>) { self.numbers = numbers }

    /// Root, the user that this process runs as, and the user who had root start it by sudo.
    package static func own() -> PortUsers { PortUsers(TrustedUsers.numbers()) }

    /// Those whom the control socket lets in too: with group access also the members of the process's group, as they are now.
    package static func ofControl(_ access: ControlAccess) -> PortUsers {
        switch access {
        case .user: own()
        case .group: PortUsers(own().numbers.union(members(of: getegid())))
        }
    }

    /// Whether a user is one of them.
    package func contains(_ user: uid_t) -> Bool { numbers.contains(user) }

    private static func members(of group: gid_t) -> Set<uid_t> {
        guard var name = getgrgid(group)?.pointee.gr_mem else { return [] }
        var names: [String] = []
        while let member = name.pointee {
            names.append(String(cString: member))
            name += 1
        }
        return Set(names.compactMap { getpwnam($0)?.pointee.pw_uid })
    }
}
