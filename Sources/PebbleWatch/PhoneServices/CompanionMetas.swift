import BluetoothHost
import PebbleProtocol

/// The meta values of the phone's PPoGATT services, each of which says whose its service is.
struct CompanionMetas: Sendable {
    private var values: [AttributeHandle: [UInt8]] = [:]
    /// Those that were read on this link.
    private var fresh: Set<AttributeHandle> = []

    /// The value that a service's owner gave last, and whether that was on this link; nil if it is not known.
    subscript(transport: PPoGATTService) -> (value: [UInt8], isFresh: Bool)? {
        values[transport.meta].map { ($0, fresh.contains(transport.meta)) }
    }

    /// A PPoGATT service whose meta value was read on this link is one, whatever else is not as it was.
    func areFresh(of service: PhoneService) -> Bool {
        PPoGATTService(service).map { fresh.contains($0.meta) } ?? false
    }

    /// A service's meta value was read.
    mutating func read(_ value: ArraySlice<UInt8>, of transport: PPoGATTService) {
        values[transport.meta] = Array(value.prefix(PPoGATTMeta.encodedLength))
        fresh.insert(transport.meta)
    }

    /// A service's meta value is what is remembered.
    mutating func recall(_ service: PhoneService, from memory: PhoneServiceCache) {
        if let meta = PPoGATTService(service)?.meta { values[meta] = memory.metas[meta] }
    }

    /// A service is there no more.
    mutating func remove(_ service: PhoneService) {
        guard let meta = PPoGATTService(service)?.meta else { return }
        values[meta] = nil
        fresh.remove(meta)
    }

    /// Forgets what was not read on this link.
    mutating func removeRecalled() { values = values.filter { fresh.contains($0.key) } }

    /// Puts the meta values of a memory's services into it.
    func save(in memory: inout PhoneServiceCache) {
        for service in memory.services {
            guard let meta = PPoGATTService(service)?.meta else { continue }
            memory.metas[meta] = values[meta]
        }
    }
}
