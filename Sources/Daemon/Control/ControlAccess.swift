/// Who may give a watch commands.
public enum ControlAccess: String, CaseIterable, Sendable {
    /// The user who started it.
    case user
    /// Also whoever is in that user's group.
    case group
}
