import PebbleProtocol

/// An app as a bundle brings it, checked: what the watch needs to know of it, and the uploads that make it.
public struct AppPackage: Sendable, Equatable {
    /// What the phone would write into the watch's app database.
    public var metadata: AppMetadata
    /// The executable with its header.
    public var binary: [UInt8]
    /// The resource pack; nil for none.
    public var resources: [UInt8]?
    /// The background worker; nil for none.
    public var worker: [UInt8]?

    /// A package by its parts.
    public init(metadata: AppMetadata, binary: [UInt8], resources: [UInt8]? = nil, worker: [UInt8]? = nil) {
        self.metadata = metadata
        self.binary = binary
        self.resources = resources
        self.worker = worker
    }
}
