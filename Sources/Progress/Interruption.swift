import Glibc
import Synchronization

/// Whether a person wants a long command to end: it then prints what it has. A second Ctrl-C ends it at once.
package enum Interruption {
    private static let flag = Atomic(false)

    /// How a command ends that was interrupted. The shell's number for SIGINT.
    package static let exitStatus: Int32 = 130

    /// Whether Ctrl-C was pressed.
    package static var isRequested: Bool { flag.load(ordering: .relaxed) }

    /// Takes Ctrl-C from now on.
    package static func take() {
        // Before the handler is there: what is made when it is first used must not be made in a signal.
        flag.store(false, ordering: .relaxed)
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { _ in Interruption.flag.store(true, ordering: .relaxed) }
        action.sa_flags = Int32(bitPattern: UInt32(SA_RESETHAND)) | SA_RESTART
        sigaction(SIGINT, &action, nil)
    }
}
