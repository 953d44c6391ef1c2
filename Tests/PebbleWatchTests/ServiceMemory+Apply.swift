import PebbleProtocol
import PebbleWatch

extension ServiceMemory {
    /// What a store does with a change.
    mutating func apply(_ change: ServiceChange) {
        switch change {
        case .several(let changes):
            for change in changes { apply(change) }
        case .appPart(let part, let bytes):
            appParts[part] = StoredObject(bytes)
        case .appPartsRemoved(let application):
            appParts = appParts.filter { $0.key.application != application }
        case .file(let name, let bytes):
            files[name] = StoredObject(bytes)
        case .updateBytes(let part, let offset, let bytes):
            let before = update[part] ?? StoredFirmwareImage(bytes: [])
            update[part] = StoredFirmwareImage(bytes: before.bytes.prefix(offset) + bytes, progress: before.progress)
        case .updateProgress(let part, let progress):
            update[part]?.progress = progress
        case .updateDiscarded(let part):
            update[part] = nil
        case .firmware(let metadata):
            firmware = metadata
        case .recoveryFirmware(let metadata):
            recoveryFirmware = metadata
        }
    }
}
