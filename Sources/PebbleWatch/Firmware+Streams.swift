import BluetoothHCI
import BluetoothHost
import PebbleProtocol

// Streams over L2CAP channels: publishing and withdrawing them, and the Pebble Protocol on its own.

// MARK: - Publishing

extension Firmware {
    /// Publishes what is there from the start, before any phone can have looked.
    mutating func publishConfiguredStreams() {
        for stream in WatchStream.allCases where configuration.streams.contains(stream) { listen(for: stream) }
    }

    mutating func publish(_ stream: WatchStream) {
        guard spsms[stream] == nil, listen(for: stream) else { return }
        showService(of: stream, true)
    }

    mutating func withdraw(_ stream: WatchStream, at now: Duration) {
        guard let spsm = spsms.removeValue(forKey: stream) else { return }
        host.stopListening(spsm, at: now)
        setPSM(nil, of: stream)
        showService(of: stream, false)
        emit(.streamPublished(stream, nil))
    }

    @discardableResult
    private mutating func listen(for stream: WatchStream) -> Bool {
        let isOpen = configuration.linkSecurity == .insecureTestLink
        let listener = ChannelListener(requirement: isOpen ? .open : .encrypted, parameters: stream.parameters)
        do {
            let spsm = try host.listen(listener)
            spsms[stream] = spsm
            setPSM(spsm, of: stream)
            emit(.streamPublished(stream, spsm))
            return true
        } catch {
            log(.error, .l2cap, "\(stream) cannot be published: \(error)")
            return false
        }
    }

    private mutating func setPSM(_ spsm: SPSM?, of stream: WatchStream) {
        guard let handle = host.gatt.database.handle(of: stream.psmName) else { return }
        do {
            try host.setValue(WatchStream.value(of: spsm), of: handle)
        } catch {
            log(.error, .gatt, "the PSM of \(stream) cannot be read: \(error)")
        }
    }

    /// A watch that does not bond has promised that its database stays: there, a PSM of 0 says that no service listens.
    private mutating func showService(of stream: WatchStream, _ isShown: Bool) {
        guard configuration.isBondable else { return }
        publish(stream.serviceName, isShown)
    }
}

// MARK: - Channels

extension Firmware {
    mutating func handle(_ event: ChannelEvent, at now: Duration) {
        switch event {
        case .opened(let channel):
            guard let stream = spsms.first(where: { $0.value == channel.spsm })?.key else { return }
            emit(.streamOpened(channel.id.connection, stream))
            switch stream {
            case .pebble: links[channel.id.connection]?.streams[channel.id] = SessionStream(at: now)
            case .loopback, .secondLoopback: links[channel.id.connection]?.loopbacks[channel.id] = stream
            }
        case .readable(let id):
            read(id, at: now)
        case .unsent(let id, let count):
            links[id.connection]?.streams[id]?.unsentCount = count
        case .closed(let id, let closure, var unread):
            var bytes: [UInt8] = []
            unread.read(into: &bytes)
            if !bytes.isEmpty { receive(bytes[...], on: id, at: now) }
            closed(id, closure, at: now)
        case .writable, .reconfigured:
            // Whatever waits is offered again each time that anything happens.
            break
        }
    }

    private mutating func read(_ id: Channel.ID, at now: Duration) {
        guard links[id.connection]?.streams[id] != nil else { return }
        links[id.connection]?.policy.need(.stream, at: now)
        var bytes: [UInt8] = []
        swap(&bytes, &streamBuffer)
        bytes.removeAll(keepingCapacity: true)
        host.read(from: id, into: &bytes, at: now)
        receive(bytes[...], on: id, at: now)
        swap(&bytes, &streamBuffer)
    }

    private mutating func receive(_ bytes: ArraySlice<UInt8>, on id: Channel.ID, at now: Duration) {
        guard let input = links[id.connection]?.streams[id]?.receive(bytes) else { return }
        switch input {
        case .incomplete:
            break
        case .introduced(let destination, let rest):
            let session = session(for: destination, over: .stream, on: id.connection, at: now)
            links[id.connection]?.streams[id]?.session = session
            abandonReplacedTransports(at: now)
            system.receive(rest, on: session, over: .stream, at: now)
        case .refused(let rejection):
            log(
                .warning,
                .session,
                "\(id.connection): a stream is closed, since its introduction is bad: \(rejection)"
            )
            host.close(id, at: now)
        case .bytes(let bytes):
            guard let session = links[id.connection]?.streams[id]?.session else { return }
            system.receive(bytes, on: session, over: .stream, at: now)
        }
    }

    private mutating func closed(_ id: Channel.ID, _ closure: ChannelClosure, at now: Duration) {
        if let stream = links[id.connection]?.loopbacks.removeValue(forKey: id) {
            return emit(.streamClosed(id.connection, stream, closure))
        }
        guard let stream = links[id.connection]?.streams.removeValue(forKey: id) else { return }
        emit(.streamClosed(id.connection, .pebble, closure))
        guard let session = stream.session else { return }
        companionLeaves(session, on: id.connection)
        system.leave(session, over: .stream, undelivered: stream.unsentCount, reason: "\(closure)", at: now)
    }

    /// The session of a companion whose transport has opened: the one that it has on this link over another transport, or a
    /// new one.
    mutating func session(
        for destination: PPoGATTDestination,
        over transport: SessionTransport,
        on connection: ConnectionHandle,
        at now: Duration
    ) -> SessionID {
        let there = links[connection]?.sessions.first { id in
            system.session(id, isFor: destination, over: transport)
        }
        guard let there else { return system.openSession(destination, over: transport, at: now) }
        system.join(there, over: transport)
        return there
    }
}

// MARK: - Pumping

extension Firmware {
    /// When a companion that opened a channel must have said who it is.
    var nextStreamDeadline: Duration? {
        links.keys.lazy.compactMap { links[$0]?.streamDeadline }.min()
    }

    mutating func advanceStreams(to now: Duration) {
        guard let deadline = nextStreamDeadline, deadline <= now else { return }
        for link in links.values {
            for (id, stream) in link.streams where stream.deadline.map({ $0 <= now }) ?? false {
                log(.warning, .session, "\(id.connection): a stream is closed, since nobody introduced himself on it")
                host.close(id, at: now)
            }
        }
    }

    /// Gives channels what their sessions have to say, a message or a part of one in each SDU.
    mutating func pumpStreams(of connection: ConnectionHandle, at now: Duration) {
        guard let ids = links[connection]?.streams.keys, !ids.isEmpty else { return }
        for id in ids {
            guard let session = links[connection]?.streams[id]?.session else { continue }
            // A newer session of the same companion has taken its place.
            guard system.isOpen(session) else {
                host.close(id, at: now)
                continue
            }
            pumpStream(id, of: session, at: now)
        }
    }

    private mutating func pumpStream(_ id: Channel.ID, of session: SessionID, at now: Duration) {
        while true {
            let bytes = system.takeOutbound(
                of: session,
                over: .stream,
                atMost: host.writableSDUCount(of: id),
                undelivered: host.unsentCount(of: id),
                at: now
            )
            guard !bytes.isEmpty else { return }
            links[id.connection]?.policy.need(.stream, at: now)
            do {
                try host.writeSDU(bytes, to: id, at: now)
            } catch {
                log(.error, .l2cap, "\(id.connection): a stream did not take what it had room for: \(error)")
                return host.close(id, at: now)
            }
        }
    }
}
