/// Who may give a watch commands.
public enum ControlAccess: String, CaseIterable, Sendable {
    /// The user who started it.
    case user
    /// Also the users in that user's group.
    case group
}
