import Control

/// What the control socket keeps of a program that is connected to it.
struct ControlDialogue {
    /// Something that it waits for, and that was not so yet.
    struct Wait {
        let wait: ControlWait
        /// The number of the last event before it began.
        let sequence: UInt64
        /// When the time is over.
        let end: Duration
        /// The number of the last event that was looked at: without another one, nothing has changed.
        var lookedAt: UInt64
    }

    var conversation = ControlConversation()
    /// What it waits for; what it has asked after that waits as well.
    var wait: Wait?
    /// The copy of the watch's state that it reads.
    var backup: BackupSnapshot?
    /// What it has brought of an app's package.
    var package: [UInt8] = []
}
