/// How the watch finds out what a phone offers, when a link to it is encrypted.
public enum PhoneDiscovery: Sendable, Hashable, CaseIterable {
    /// What is remembered of a phone is used as long as it is true; what is not known is looked for by its UUID.
    case remembering
    /// Everything is looked for by its UUID, after every connection.
    case afresh
    /// As the firmware of Pebbles does it, after every connection: all services, then all characteristics of each, then
    /// all descriptors of each. For seeing what that does to a phone, and what it costs.
    case everything
}
