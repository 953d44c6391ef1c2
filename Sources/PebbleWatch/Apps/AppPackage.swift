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

extension AppPackage {
    /// The uploads that make it, in the order in which phones bring them.
    var uploads: [(kind: AppPart.Kind, bytes: [UInt8])] {
        var uploads: [(kind: AppPart.Kind, bytes: [UInt8])] = [(.binary, binary)]
        if let resources { uploads.append((.resources, resources)) }
        if let worker { uploads.append((.worker, worker)) }
        return uploads
    }

    /// Whether the watch takes uploads as large as these.
    var fits: Bool { uploads.allSatisfy { $0.bytes.count <= $0.kind.object.sizeLimit } }
}

extension AppPart.Kind {
    /// The kind of object that is uploaded for it.
    var object: PutBytesObject.Kind {
        switch self {
        case .resources: .appResources
        case .binary: .appBinary
        case .worker: .appWorker
        }
    }
}
