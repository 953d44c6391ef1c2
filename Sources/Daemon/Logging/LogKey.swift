/// What log lines have beside their text, as metadata of swift-log.
enum LogKey: String, CaseIterable {
    /// The layer that logs: the raw value of a `Layer`, as the logger's label.
    case layer
    /// The connection that a line is about: its handle, such as `0x0040`.
    case connection
    /// The number of the session that a line is about.
    case session
}
