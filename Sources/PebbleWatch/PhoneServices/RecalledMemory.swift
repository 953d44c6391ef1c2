import BluetoothHost

/// What is remembered of the phone from earlier links, as far as this link relies on it.
struct RecalledMemory: Sendable {
    /// What was remembered, until it is known to be true or not.
    private(set) var unchecked: PhoneServiceCache?
    /// The services that are in use because they are remembered; a refusal shows that one is out of date.
    private(set) var services: [PhoneService] = []
    /// Whether the Database Hash shows that what was remembered is true.
    private(set) var isProved = false
    /// Whether what is found on this link is not to be remembered.
    private(set) var isDistrusted = false

    /// Begins to check what was remembered.
    mutating func check(_ memory: PhoneServiceCache) { unchecked = memory }

    /// The Database Hash is the one that is remembered.
    mutating func prove() { isProved = true }

    /// The check is over.
    mutating func endCheck() { unchecked = nil }

    /// A service is used because it is remembered.
    mutating func use(_ service: PhoneService) { services += [service] }

    /// A service is not relied on any more: it was used as it is meant to be, or is gone.
    /// - Returns: false if it was not relied on.
    mutating func release(_ service: PhoneService) -> Bool {
        guard let index = services.firstIndex(of: service) else { return false }
        services.remove(at: index)
        return true
    }

    /// A service could not be used, although nothing was refused. If memory is all that speaks for it, nothing of this link is
    /// to be remembered.
    /// - Returns: whether that is so.
    mutating func distrust(_ service: PhoneService) -> Bool {
        guard services.contains(service) else { return false }
        isDistrusted = true
        return true
    }

    /// The database changed somewhere. Of a memory without a hash only what is being checked is worth something, if it passes.
    mutating func doubt() {
        guard unchecked?.databaseHash == nil else { return }
        unchecked?.services = []
        unchecked?.searched = []
    }

    /// Memory is wrong somewhere.
    mutating func forget() {
        unchecked = nil
        services = []
        isProved = false
    }
}
