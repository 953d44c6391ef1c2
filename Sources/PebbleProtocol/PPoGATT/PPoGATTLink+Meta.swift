import DequeModule
import ByteCoding

// What a watch does before its first reset with a phone that offers the service: it reads the meta value, which says whose
// session it will be, and subscribes.

extension PPoGATTLink {
    /// Has the meta value read, again or for the first time.
    mutating func readMeta() {
        metaReadCount += 1
        state = .readingMeta
        events.append(.metaReadRequested)
    }

    /// Watch, forward: sets the link going with the meta value of an earlier connection, which saves waiting for it.
    ///
    /// One that is not known to be the same still is asked for again, beside the rest; no session opens before it has
    /// come, and the link fails if it is another: ``PPoGATTFailure/metaChanged``.
    package mutating func start(at now: Duration, rememberedMeta: [UInt8], isConfirmed: Bool) {
        guard state == .idle else { return }
        state = .readingMeta
        receiveMeta(rememberedMeta[...], at: now)
        guard state == .subscribing, !isConfirmed else { return }
        unconfirmedMeta = rememberedMeta
        events.append(.metaReadRequested)
    }

    /// The meta characteristic's value.
    public mutating func receiveMeta(_ value: ArraySlice<UInt8>, at now: Duration) {
        if let remembered = unconfirmedMeta { return confirmMeta(remembered, by: value) }
        guard state == .readingMeta else { return }
        do {
            let meta = try PPoGATTMeta(value, inRecoveryFirmware: configuration.isRecoveryFirmware)
            version = meta.version
            destination = meta.destination
            state = .subscribing
            events.append(.subscriptionRequested)
        } catch {
            end(.failed(.metaRejected(error)))
        }
    }

    private mutating func confirmMeta(_ remembered: [UInt8], by value: ArraySlice<UInt8>) {
        unconfirmedMeta = nil
        guard PPoGATTMeta.isSame(value, remembered[...]) else {
            heldReset = nil
            return end(.failed(.metaChanged))
        }
        if case .complete(let windows)? = heldReset.take() { receiveResetComplete(windows) }
    }

    /// The meta characteristic could not be read, or the subscription could not be started: tried again later, a few
    /// times, because the phone's app may not be ready yet.
    public mutating func metaReadFailed(at now: Duration) {
        if unconfirmedMeta != nil {
            unconfirmedMeta = nil
            heldReset = nil
            return end(.failed(.metaUnreadable))
        }
        guard state == .readingMeta || state == .subscribing else { return }
        if metaReadCount < rules.metaReadLimit {
            state = .awaitingMetaRetry
            timeout = now + rules.metaReadRetryDelay
        } else {
            end(.failed(.metaUnreadable))
        }
    }

    /// The data characteristic's CCCD was written.
    public mutating func subscribed(at now: Duration) {
        // A phone whose Reset Request came before its response has begun already.
        guard state == .subscribing else { return }
        beginReset(.localReset, at: now)
    }

    /// The data characteristic's CCCD could not be written.
    public mutating func subscriptionRefused() {
        guard state == .subscribing else { return }
        end(.failed(.subscriptionRefused))
    }
}
