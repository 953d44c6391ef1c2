import BluetoothHCI
import BluetoothHost
import ByteCoding
import PebbleProtocol
import PebbleWatch

// What the watch remembered when it started, and what it wanted remembered: as a recording has it.

extension WatchMemory: RecordedValue {
    func encode(into bytes: inout [UInt8]) {
        bytes.appendOptional(identity) { $0.encode(into: &$1) }
        bytes.appendList(phones) { $0.encode(into: &$1) }
        services.encode(into: &bytes)
    }

    init(recorded reader: inout ByteReader) throws(ByteDecodingError) {
        let identity = try reader.readOptional("memory.identity") { reader throws(ByteDecodingError) in
            try LocalIdentity(recorded: &reader)
        }
        let phones = try reader.readList("memory.phones") { reader throws(ByteDecodingError) in
            try RememberedPhone(recorded: &reader)
        }
        self.init(identity: identity, phones: phones, services: try ServiceMemory(recorded: &reader))
    }
}

extension LocalIdentity: RecordedValue {
    func encode(into bytes: inout [UInt8]) {
        address.encode(to: &bytes)
        identityResolvingKey.encode(to: &bytes)
    }

    init(recorded reader: inout ByteReader) throws(ByteDecodingError) {
        let address = try LEAddress(reading: &reader, "identity.address")
        self.init(
            address: address,
            identityResolvingKey: try IdentityResolvingKey(reading: &reader, "identity.identity_resolving_key")
        )
    }
}

extension RememberedPhone: RecordedValue {
    func encode(into bytes: inout [UInt8]) {
        bond.encode(to: &bytes)
        client.encode(into: &bytes)
        bytes.appendOptional(seenDatabaseHash) { $1.appendCounted($0) }
        bytes.appendOptional(services) { services, bytes in
            var stored: [UInt8] = []
            services.encode(to: &stored)
            bytes.appendCounted(stored)
        }
    }

    init(recorded reader: inout ByteReader) throws(ByteDecodingError) {
        let bond = try Bond(reading: &reader)
        let client = try GATTClientState(recorded: &reader)
        let hash = try reader.readOptional("phone.database_hash") { reader throws(ByteDecodingError) in
            Array(try reader.readCounted("phone.database_hash"))
        }
        let services = try reader.readOptional("phone.services") { reader throws(ByteDecodingError) in
            var stored = ByteReader(try reader.readCounted("phone.services"))
            return try PhoneServiceCache(reading: &stored)
        }
        self.init(bond: bond, client: client, seenDatabaseHash: hash, services: services)
    }
}

extension GATTClientState: RecordedValue {
    func encode(into bytes: inout [UInt8]) {
        bytes.appendList(subscriptions.sorted { $0.key < $1.key }) { entry, bytes in
            bytes.appendLittleEndian(entry.key.rawValue)
            bytes.appendLittleEndian(entry.value.rawValue)
        }
        bytes.append(supportedFeatures)
        bytes.appendFlag(isChangeAware)
    }

    init(recorded reader: inout ByteReader) throws(ByteDecodingError) {
        let pairs = try reader.readList("client.subscriptions") { reader throws(ByteDecodingError) in
            let handle = AttributeHandle(rawValue: try reader.readLittleEndian("client.handle"))
            return (handle, Subscription(rawValue: try reader.readLittleEndian("client.value")))
        }
        let features = try reader.readUInt8("client.features")
        self.init(
            subscriptions: Dictionary(pairs) { $1 },
            supportedFeatures: features,
            isChangeAware: try reader.readFlag("client.is_change_aware")
        )
    }
}

extension ServiceMemory: RecordedValue {
    func encode(into bytes: inout [UInt8]) {
        for metadata in [firmware, recoveryFirmware] { bytes.appendOptional(metadata) { $0.encode(into: &$1) } }
        bytes.appendList(update.sorted { $0.key.rawValue < $1.key.rawValue }) { entry, bytes in
            bytes.append(entry.key.rawValue)
            bytes.append(entry.value.progress.rawValue)
            bytes.appendCounted(entry.value.bytes)
        }
        let parts = appParts.sorted {
            ("\($0.key.application)", $0.key.kind.rawValue) < ("\($1.key.application)", $1.key.kind.rawValue)
        }
        bytes.appendList(parts) { entry, bytes in
            entry.key.encode(into: &bytes)
            entry.value.encode(into: &bytes)
        }
        bytes.appendList(files.sorted { $0.key < $1.key }) { entry, bytes in
            bytes.appendText(entry.key)
            entry.value.encode(into: &bytes)
        }
        bytes.appendList(records) { $0.encode(into: &$1) }
        bytes.appendFlag(isFaithful)
        bytes.appendList(appOrder) { $0.encode(to: &$1) }
        bytes.appendList(logging.sorted { $0.key < $1.key }) { entry, bytes in
            bytes.appendLittleEndian(entry.key.rawValue)
            entry.value.session.encode(into: &bytes)
            bytes.appendCounted(entry.value.bytes)
            bytes.appendCount(entry.value.start)
            bytes.appendFlag(entry.value.isFinished)
        }
        bytes.appendFlag(isDataLoggingEnabled)
        bytes.appendOptional(coreDump) { dump, bytes in
            bytes.appendCounted(dump.bytes)
            bytes.appendFlag(dump.isRead)
        }
    }

    init(recorded reader: inout ByteReader) throws(ByteDecodingError) {
        self.init()
        firmware = try reader.readOptional("memory.firmware") { reader throws(ByteDecodingError) in
            try FirmwareMetadata(recorded: &reader)
        }
        recoveryFirmware = try reader.readOptional("memory.recovery_firmware") { reader throws(ByteDecodingError) in
            try FirmwareMetadata(recorded: &reader)
        }
        let images = try reader.readList("memory.update") { reader throws(ByteDecodingError) in
            let part = try reader.readRaw("update.part", as: FirmwarePart.self)
            let progress = try reader.readRaw("update.progress", as: StoredFirmwareImage.Progress.self)
            return (part, StoredFirmwareImage(bytes: Array(try reader.readCounted("update.bytes")), progress: progress))
        }
        update = Dictionary(images) { $1 }
        let parts = try reader.readList("memory.app_parts") { reader throws(ByteDecodingError) in
            (try AppPart(recorded: &reader), try StoredObject(recorded: &reader))
        }
        appParts = Dictionary(parts) { $1 }
        let named = try reader.readList("memory.files") { reader throws(ByteDecodingError) in
            (try reader.readText("file.name"), try StoredObject(recorded: &reader))
        }
        files = Dictionary(named) { $1 }
        records = try reader.readList("memory.records") { reader throws(ByteDecodingError) in
            try StoredRecord(recorded: &reader)
        }
        isFaithful = try reader.readFlag("memory.is_faithful")
        appOrder = try reader.readList("memory.app_order") { reader throws(ByteDecodingError) in
            try PebbleUUID(reading: &reader, "memory.app_order")
        }
        let spools = try reader.readList("memory.logging") { reader throws(ByteDecodingError) in
            let id = LoggingSessionID(rawValue: try reader.readLittleEndian("spool.id"))
            let session = try DataLoggingMessage.Session(recorded: &reader)
            let bytes = Array(try reader.readCounted("spool.bytes"))
            let start = try reader.readInt("spool.start")
            // The watch adds to it what is logged.
            guard start <= 1 << 48 else { throw ByteDecodingError("spool.start", .invalidValue(UInt64(start))) }
            let isFinished = try reader.readFlag("spool.is_finished")
            return (id, LoggingSpool(session: session, bytes: bytes, start: start, isFinished: isFinished))
        }
        logging = Dictionary(spools) { $1 }
        isDataLoggingEnabled = try reader.readFlag("memory.is_data_logging_enabled")
        coreDump = try reader.readOptional("memory.core_dump") { reader throws(ByteDecodingError) in
            let bytes = Array(try reader.readCounted("core_dump.bytes"))
            return CoreDump(bytes: bytes, isRead: try reader.readFlag("core_dump.is_read"))
        }
    }
}

extension FirmwareMetadata: RecordedValue {
    func encode(into bytes: inout [UInt8]) {
        var image: [UInt8] = []
        FirmwareImage.append(self, to: &image)
        bytes.appendCounted(image)
    }

    init(recorded reader: inout ByteReader) throws(ByteDecodingError) {
        let image = Array(try reader.readCounted("firmware"))
        guard let metadata = FirmwareImage.metadata(of: image) else {
            throw ByteDecodingError("firmware", .invalidLength(image.count))
        }
        self = metadata
    }
}

extension AppPart: RecordedValue {
    func encode(into bytes: inout [UInt8]) {
        application.encode(to: &bytes)
        bytes.append(kind.rawValue)
    }

    init(recorded reader: inout ByteReader) throws(ByteDecodingError) {
        let application = try PebbleUUID(reading: &reader, "app_part.application")
        self.init(of: application, try reader.readRaw("app_part.kind"))
    }
}

extension StoredObject: RecordedValue {
    func encode(into bytes: inout [UInt8]) {
        bytes.appendCount(size)
        bytes.appendCounted(head)
    }

    init(recorded reader: inout ByteReader) throws(ByteDecodingError) {
        let size = try reader.readInt("object.size")
        guard size <= 1 << 40 else { throw ByteDecodingError("object.size", .invalidValue(UInt64(size))) }
        self.init(size: size, head: Array(try reader.readCounted("object.head")))
    }
}

extension StoredRecord: RecordedValue {
    func encode(into bytes: inout [UInt8]) {
        bytes.append(database.rawValue)
        bytes.appendCounted(key)
        bytes.appendCounted(record.value)
        bytes.appendLittleEndian(record.timestamp)
        bytes.appendFlag(record.isDirty)
    }

    init(recorded reader: inout ByteReader) throws(ByteDecodingError) {
        let database = BlobDBDatabase(rawValue: try reader.readUInt8("record.database"))
        let key = Array(try reader.readCounted("record.key"))
        let value = Array(try reader.readCounted("record.value"))
        let timestamp: UInt32 = try reader.readLittleEndian("record.timestamp")
        let isDirty = try reader.readFlag("record.is_dirty")
        let record = BlobDatabases.Record(value: value, timestamp: timestamp, isDirty: isDirty)
        self.init(database: database, key: key, record: record)
    }
}

// MARK: - Changes

/// A change of the memory, as far as a recording has it: what it was, and a checksum of all of it. The change itself follows
/// from the inputs, and may hold keys or a whole app.
struct RecordedChange: Equatable, Sendable, CustomStringConvertible {
    /// What was to change.
    let name: String
    /// How many bytes the change has, and their CRC-32. Both are zero where secrets are left out.
    var size: Int
    var checksum: UInt32

    init(_ change: MemoryChange) {
        var bytes: [UInt8] = []
        switch change {
        case .identity(let identity):
            name = "identity"
            identity.encode(into: &bytes)
        case .bond(let bond, let replacesOthers, let keepsClient):
            name = "bond"
            bond.encode(to: &bytes)
            bytes.appendFlag(replacesOthers)
            bytes.appendFlag(keepsClient)
        case .forget(let phone):
            name = "forget"
            phone.encode(to: &bytes)
        case .client(let phone, let client, let hash):
            name = "client"
            phone.encode(to: &bytes)
            client.encode(into: &bytes)
            bytes.appendOptional(hash) { $1.appendCounted($0) }
        case .phoneServices(let phone, let services):
            name = "phone services"
            phone.encode(to: &bytes)
            services.encode(to: &bytes)
        case .service(let change): name = change.encode(into: &bytes)
        }
        size = bytes.count
        checksum = CRC32.checksum(of: bytes)
    }

    init(recorded reader: inout ByteReader) throws(ByteDecodingError) {
        name = try reader.readText("change.name")
        size = try reader.readInt("change.size")
        checksum = try reader.readLittleEndian("change.checksum")
    }

    func encode(into bytes: inout [UInt8]) {
        bytes.appendText(name)
        bytes.appendCount(size)
        bytes.appendLittleEndian(checksum)
    }

    var description: String { "\(name), \(size) bytes with the checksum \(String(checksum, radix: 16))" }
}

extension ServiceChange {
    /// Appends all of it.
    /// - Returns: what it is called.
    fileprivate func encode(into bytes: inout [UInt8]) -> String {
        switch self {
        case .appPart(let part, let content):
            part.encode(into: &bytes)
            bytes.appendCounted(content)
            return "app part"
        case .appPartsRemoved(let app):
            app.encode(to: &bytes)
            return "app parts removed"
        case .allAppPartsRemoved: return "all app parts removed"
        case .file(let name, let content):
            bytes.appendText(name)
            bytes.appendCounted(content)
            return "file"
        case .updateBytes(let part, let offset, let content):
            bytes.append(part.rawValue)
            bytes.appendCount(offset)
            bytes.appendCounted(content)
            return "update bytes"
        case .updateProgress(let part, let progress):
            bytes += [part.rawValue, progress.rawValue]
            return "update progress"
        case .updateDiscarded(let part):
            bytes.append(part.rawValue)
            return "update discarded"
        case .firmware(let metadata):
            metadata.encode(into: &bytes)
            return "firmware"
        case .recoveryFirmware(let metadata):
            metadata.encode(into: &bytes)
            return "recovery firmware"
        case .record(let record):
            record.encode(into: &bytes)
            return "record"
        case .recordRemoved(let database, let key):
            bytes.append(database.rawValue)
            bytes.appendCounted(key)
            return "record removed"
        case .databaseCleared(let database):
            bytes.append(database.rawValue)
            return "database cleared"
        case .allRecordsDirty(let database):
            bytes.append(database.rawValue)
            return "all records dirty"
        case .isFaithful(let isFaithful):
            bytes.appendFlag(isFaithful)
            return "is faithful"
        case .appOrder(let order):
            bytes.appendList(order) { $0.encode(to: &$1) }
            return "app order"
        case .loggingSession(let id, let session):
            bytes.appendLittleEndian(id.rawValue)
            session.encode(into: &bytes)
            return "logging session"
        case .loggingData(let id, let offset, let items):
            bytes.appendLittleEndian(id.rawValue)
            bytes.appendCount(offset)
            bytes.appendCounted(items)
            return "logging data"
        case .loggingConsumed(let id, let end):
            bytes.appendLittleEndian(id.rawValue)
            bytes.appendCount(end)
            return "logging consumed"
        case .loggingFinished(let id):
            bytes.appendLittleEndian(id.rawValue)
            return "logging finished"
        case .loggingEnded(let id):
            bytes.appendLittleEndian(id.rawValue)
            return "logging ended"
        case .isDataLoggingEnabled(let isEnabled):
            bytes.appendFlag(isEnabled)
            return "data logging enabled"
        case .coreDump(let dump):
            bytes.appendCounted(dump)
            return "core dump"
        case .coreDumpRead: return "core dump read"
        case .factoryReset: return "factory reset"
        case .several(let changes):
            var names: [String] = []
            for change in changes { names.append(change.encode(into: &bytes)) }
            return names.joined(separator: " and ")
        }
    }
}

extension WatchStoreError: RecordedValue {
    func encode(into bytes: inout [UInt8]) {
        switch self {
        case .unusable(let path, let reason):
            bytes.append(1)
            for text in [path, reason] { bytes.appendText(text) }
        case .refused(let path, let reason, let advice):
            bytes.append(2)
            for text in [path, reason, advice] { bytes.appendText(text) }
        case .full(let path):
            bytes.append(3)
            bytes.appendText(path)
        case .readOnly(let path):
            bytes.append(4)
            bytes.appendText(path)
        case .corrupt(let path, let reason):
            bytes.append(5)
            for text in [path, reason] { bytes.appendText(text) }
        case .newer(let path, let found, let known):
            bytes.append(6)
            bytes.appendText(path)
            for number in [found, known] { bytes.appendCount(number) }
        case .foreign(let path):
            bytes.append(7)
            bytes.appendText(path)
        }
    }

    init(recorded reader: inout ByteReader) throws(ByteDecodingError) {
        let kind = try reader.readUInt8("store_error")
        let path = try reader.readText("store_error.path")
        switch kind {
        case 1: self = .unusable(path: path, reason: try reader.readText("store_error.reason"))
        case 2:
            let reason = try reader.readText("store_error.reason")
            self = .refused(path: path, reason: reason, advice: try reader.readText("store_error.advice"))
        case 3: self = .full(path: path)
        case 4: self = .readOnly(path: path)
        case 5: self = .corrupt(path: path, reason: try reader.readText("store_error.reason"))
        case 6:
            let found = try reader.readInt("store_error.found")
            self = .newer(path: path, found: found, known: try reader.readInt("store_error.known"))
        case 7: self = .foreign(path: path)
        default: throw ByteDecodingError("store_error", .invalidValue(UInt64(kind)))
        }
    }
}
