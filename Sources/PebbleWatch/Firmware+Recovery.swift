import BluetoothHCI
import BluetoothHost
import PebbleProtocol

// Links that end: why, what the watch does about it, and whether it helped.

extension Firmware {
    /// Ends a link. The cause is kept, for those who ask for it.
    mutating func end(
        _ connection: ConnectionHandle,
        because cause: Disconnection.Cause,
        reason: HCIStatus = .remoteUserTerminatedConnection,
        at now: Duration
    ) {
        // The first cause counts.
        if links[connection]?.endCause == nil { links[connection]?.endCause = cause }
        host.disconnect(connection, reason: reason, at: now)
    }

    /// A link is gone.
    mutating func noteEnd(of link: PhoneLink, isStranger: Bool, _ reason: HCIStatus, at now: Duration) {
        // What ends for other reasons than a transport's failure may work again next time (PPoGATT gives up only after
        // failures in a row).
        if case .transport = link.endCause {} else { disconnectHistory.linkLostByOtherSide() }
        let disconnection = Disconnection(
            phone: link.identity,
            reason: reason,
            cause: link.endCause,
            time: now,
            linkDuration: now - link.start
        )
        endedLinks.append((disconnection, isStranger))
    }

    /// A phone is here, as far as is known.
    mutating func noteReturn(of phone: LEAddress, at now: Duration) {
        guard let last = lastDisconnection, last.phone == phone, last.absence == nil else { return }
        let absence = now - last.time
        lastDisconnection?.absence = absence
        emit(.recovery(.phoneIsBack(phone, after: absence)))
    }

    /// Tells of the links that have ended, now that the advertising policy has decided.
    mutating func reportEndedLinks() {
        for index in endedLinks.indices {
            endedLinks[index].disconnection.remedy = remedy
            let (last, isStranger) = endedLinks[index]
            emit(.recovery(.linkEnded(last)))
            if isStranger { lastStranger = last } else { lastDisconnection = last }
        }
        endedLinks.removeAll(keepingCapacity: true)
        guard advertiser.policy.isChurning != wasChurning else { return }
        wasChurning.toggle()
        emit(.recovery(.churning(wasChurning)))
    }

    private var remedy: Disconnection.Remedy {
        if restart != nil || isSwitchedOff { return .none }
        guard isReady else { return .awaitsController }
        guard links.isEmpty, let entry = advertiser.onAir.connectable else { return .keepsOtherLinks }
        return .advertises(entry.role, every: entry.interval)
    }

    /// The controller is out of reach, and every link with it. `start(at:)` begins again.
    public mutating func controllerLost(at now: Duration) {
        host.controllerLost(at: now)
        settle(at: now)
    }
}
