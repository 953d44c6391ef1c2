import FlightRecorder

/// What is recorded of a watch beside the last part in memory, and what a replay has to know.
public struct RecordingPlan: Sendable {
    /// The file; nil for memory alone.
    public var path: String?
    /// How many megabytes (of 1,000,000 bytes) the file and its parts have at most.
    public var limit = 256
    /// How many megabytes (of 1,000,000 bytes) of the recording are kept in memory at most; a little is kept in any case.
    public var memory = 4
    /// Whether bonds, keys and random numbers are left out, in memory as well.
    public var leavesOutSecrets = false
    /// What the watch was configured with.
    public var settings: [RecordingHeader.Setting] = []
    /// The files that the settings name and that are no apps.
    public var files: [RecordingHeader.File] = []

    /// Nothing but memory.
    public init() {}
}
