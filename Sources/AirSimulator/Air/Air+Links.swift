import BluetoothHCI

/// Connections: how they begin and end, and what they tell the hosts at both ends.
extension Air {
    /// What the two controllers of a new connection know of each other.
    struct NewLink {
        /// The controllers. One of them may be nil: the other one does not know yet that the packet that would have
        /// made it part of the connection was lost.
        var central: Int?
        var peripheral: Int?
        var parameters: ConnectionParameters
        var phy: PHY
        /// The addresses that each was heard with.
        var centralAddress: LEAddress
        var peripheralAddress: LEAddress
        var centralResolvableAddress = DeviceAddress.zero
        var peripheralResolvableAddress = DeviceAddress.zero
        /// The end of the packet that made the connection, and how long after it the transmit window begins.
        var created: Microseconds
        var transmitWindowDelay: Microseconds
    }

    /// Begins a connection at both ends.
    /// - Returns: The handle at the peripheral's end.
    @discardableResult
    mutating func makeLink(_ new: NewLink) -> ConnectionHandle? {
        let known = [new.central, new.peripheral].map { slot in slot.flatMap { controllers[$0].linkCapabilities } }
        guard let central = known[0] ?? known[1], let peripheral = known[1] ?? known[0] else { return nil }
        linkCount += 1
        var quality = LinkQuality.outOfRange
        var since = now
        if let one = new.central, let other = new.peripheral {
            quality = self.quality(one, other)
            since = qualitySince(one, other)
        }
        var machine = LinkLayerConnection(
            parameters: LinkParameters(
                interval: new.parameters.intervalMaximum,
                latency: new.parameters.latency,
                supervisionTimeout: new.parameters.supervisionTimeout
            ),
            phy: new.phy,
            central: central,
            peripheral: peripheral,
            created: new.created,
            firstAnchor: firstAnchor(of: new),
            loss: LossProcess(quality.loss, since: since, random: SeededRandom(seed: seed, .link, linkCount)),
            hopping: hopping(from: central, and: peripheral),
            isRecording: recordsPackets
        )
        machine.clocks.setError(new.central.map { controllers[$0].clockError } ?? 0, of: .central)
        machine.clocks.setError(new.peripheral.map { controllers[$0].clockError } ?? 0, of: .peripheral)
        let index = vacantLinks.next(from: 0) ?? links.count
        vacantLinks.remove(index)
        let link = Link(
            number: linkCount,
            machine: machine,
            ends: PerRole(central: new.central, peripheral: new.peripheral),
            actor: makeActor(.link(index))
        )
        if index == links.count { links.append(link) } else { links[index] = link }
        let handles = LinkRole.allCases.map { role in
            let handle = addConnection(new, link: index, role)
            if handle == nil { links[index].machine.vanish(role, at: now) }
            return handle
        }
        finishLinkChange(index)
        return handles[1]
    }

    /// How a new connection hops: as both link layers can, and over the channels that the central's host has not called bad.
    private func hopping(from central: LinkCapabilities, and peripheral: LinkCapabilities) -> ChannelHopping {
        var random = SeededRandom(seed: seed, .hopping, linkCount)
        let both = central.features.intersection(peripheral.features)
        let address = UInt32(truncatingIfNeeded: random.next())
        return ChannelHopping(
            algorithm: both.contains(.channelSelectionAlgorithm2)
                ? .pseudoRandom(accessAddress: address) : .increment(5 + Int(address % 12)),
            channels: central.goodChannels
        )
    }

    /// The central's choice within its transmit window offset: away from the anchors of its other connections.
    private func firstAnchor(of new: NewLink) -> Microseconds {
        let window = new.created + new.transmitWindowDelay
        let spacing = Microseconds(3750)
        let connections = new.central.map { controllers[$0].connections } ?? []
        let others = connections.map { links[$0.link].machine }
        for offset in 0..<Int64(new.parameters.intervalMaximum.rawValue) {
            let candidate = window + Microseconds(1250) * offset
            if others.allSatisfy({ $0.anchor(after: candidate - spacing) >= candidate + spacing }) { return candidate }
        }
        return window
    }

    @discardableResult
    private mutating func addConnection(_ new: NewLink, link: Int, _ role: LinkRole) -> ConnectionHandle? {
        guard let slot = role == .central ? new.central : new.peripheral else { return nil }
        guard let handle = controllers[slot].makeHandle() else { return nil }
        let sender = role == .central ? new.peripheralAddress : new.centralAddress
        let identity = controllers[slot].resolvingList.identity(of: sender)
        let peer = identity ?? sender
        controllers[slot].connections.append(.init(handle: handle, link: link, role: role, peer: peer))
        let own = role == .central ? new.centralResolvableAddress : new.peripheralResolvableAddress
        var connection = LENewConnection(
            handle: handle,
            role: role == .central ? .central : .peripheral,
            peer: peer,
            localResolvableAddress: own,
            peerResolvableAddress: identity == nil ? .zero : sender.address,
            interval: new.parameters.intervalMaximum,
            latency: new.parameters.latency,
            supervisionTimeout: new.parameters.supervisionTimeout
        )
        if controllers[slot].wants(LEEnhancedConnectionComplete.self) {
            controllers[slot].send(LEEnhancedConnectionComplete(.success(connection)))
        } else {
            connection.peer.type = peer.type.withoutIdentity
            controllers[slot].send(LEConnectionComplete(.success(connection)))
        }
        let both = [new.central, new.peripheral].compactMap { $0 }
            .allSatisfy { controllers[$0].configuration.features.contains(.channelSelectionAlgorithm2) }
        controllers[slot]
            .send(LEChannelSelectionAlgorithm(handle: handle, algorithm: both ? .algorithm2 : .algorithm1))
        return handle
    }

    // MARK: Running

    /// Runs what is due at one link.
    mutating func stepLink(_ index: Int) {
        let context = eventContext(of: index)
        links[index].machine.step(at: now, context: context)
        finishLinkChange(index)
    }

    /// What the other connections of the two controllers leave of the air to an event that begins now.
    private func eventContext(of index: Int) -> LinkLayerConnection.EventContext {
        var context = LinkLayerConnection.EventContext()
        guard linkCompetes(index), links[index].machine.isBetweenEvents else { return context }
        for role in LinkRole.allCases {
            guard let slot = links[index].ends[role] else { continue }
            var isFree = true
            for connection in controllers[slot].connections where connection.link != index {
                let other = connection.link
                let next = links[other].machine.anchor(after: now - Microseconds(1))
                context.latestEnd = min(context.latestEnd, next)
                let busyUntil = links[other].machine.radioBusyUntil(connection.role)
                if !links[other].machine.isBetweenEvents, busyUntil > now { isFree = false }
                // The link that has been pushed aside more often goes first.
                let losses = links[index].machine.sides[role].eventsLostToRadio
                let isPushedAside = links[other].machine.sides[connection.role].eventsLostToRadio > losses
                if next < now + LinkLayerConnection.shortestExchange, isPushedAside { isFree = false }
            }
            if role == .central { context.isCentralFree = isFree } else { context.isPeripheralFree = isFree }
        }
        return context
    }

    /// Whether either end of a link has another connection.
    private func linkCompetes(_ index: Int) -> Bool {
        LinkRole.allCases.contains { role in
            links[index].ends[role].map { controllers[$0].connections.count > 1 } ?? false
        }
    }

    /// Tells the hosts what has become of a link, and notes when it is due next. Called after every change to one.
    mutating func finishLinkChange(_ index: Int) {
        while let (role, event) = links[index].machine.events.popFirst() {
            guard let slot = links[index].ends[role] else { continue }
            tell(slot, link: index, role, event)
        }
        recordPackets(of: index)
        guard links[index].isInUse else { return }
        if links[index].machine.isOver {
            removeActor(links[index].actor)
            links[index].isInUse = false
            vacantLinks.insert(index)
        } else {
            deadlines.set(links[index].machine.nextDeadline, for: links[index].actor)
        }
    }

    private mutating func recordPackets(of index: Int) {
        while let sent = links[index].machine.sentPackets.popFirst() {
            record(
                .connection(sent.header(of: links[index].number)),
                from: links[index].ends[sent.role],
                sent.phy,
                payloadLength: sent.length,
                start: sent.start,
                isReceived: sent.isReceived
            )
        }
    }

    private mutating func tell(_ slot: Int, link: Int, _ role: LinkRole, _ event: LinkEvent) {
        guard let index = controllers[slot].connectionIndex(link: link, role: role) else { return }
        let handle = controllers[slot].connections[index].handle
        switch event {
        case .data(let isStart, let bytes):
            controllers[slot].send(data: bytes, isStart: isStart, of: handle)
            controllers[slot].connections[index].unreturnedPackets += 1
            updateAcceptance(slot)
        case .packetCompleted:
            controllers[slot].connections[index].usedBuffers -= 1
            let packets = CompletedPacketsList([.init(handle: handle, count: 1)])
            controllers[slot].send(unmasked: NumberOfCompletedPackets(packets: packets))
        case .disconnected(let reason):
            endConnection(slot, at: index, link: link, role)
            let event = DisconnectionComplete(status: .success, handle: handle, reason: reason)
            controllers[slot].send(event, if: .disconnectionComplete)
        default: tellOfProcedure(slot, handle, link: link, role, event)
        }
    }

    private mutating func tellOfProcedure(
        _ slot: Int,
        _ handle: ConnectionHandle,
        link: Int,
        _ role: LinkRole,
        _ event: LinkEvent
    ) {
        switch event {
        case .parametersUpdated(let status, let parameters):
            let event = LEConnectionUpdateComplete(
                status: status,
                handle: handle,
                interval: parameters.interval,
                latency: parameters.latency,
                supervisionTimeout: parameters.supervisionTimeout
            )
            controllers[slot].send(event)
        case .parametersRequested(let wanted):
            if controllers[slot].wants(LERemoteConnectionParameterRequest.self) {
                let event = LERemoteConnectionParameterRequest(
                    handle: handle,
                    intervalMinimum: wanted.intervalMinimum,
                    intervalMaximum: wanted.intervalMaximum,
                    latency: wanted.latency,
                    supervisionTimeout: wanted.supervisionTimeout
                )
                controllers[slot].send(event)
            } else {
                // A host that does not want the event cannot be asked (Core 5.4, Vol 6, Part B, 5.1.7.2).
                _ = links[link].machine
                    .answerParameterRequest(.failure(.unsupportedRemoteFeature), by: role, at: now)
            }
        case .subrateChanged(let status, let parameters):
            let event = LESubrateChange(
                status: status,
                handle: handle,
                factor: parameters.subrateFactor,
                latency: parameters.latency,
                continuationNumber: parameters.continuationNumber,
                supervisionTimeout: parameters.supervisionTimeout
            )
            controllers[slot].send(event)
        case .dataLengthChanged(let limits):
            let event = LEDataLengthChange(handle: handle, transmit: limits.transmit, receive: limits.receive)
            controllers[slot].send(event)
        case .phyUpdated(let outcome):
            controllers[slot].send(LEPHYUpdateComplete(handle: handle, outcome: outcome))
        case .remoteFeatures(let status, let features):
            let event = LEReadRemoteFeaturesComplete(status: status, handle: handle, features: features)
            controllers[slot].send(event)
        case .remoteVersion(let status, let version):
            let event = ReadRemoteVersionInformationComplete(
                status: status,
                handle: handle,
                version: version.version,
                company: version.company,
                subversion: version.subversion
            )
            controllers[slot].send(event, if: .readRemoteVersionInformationComplete)
        case .keyRequested(let random, let diversifier):
            if controllers[slot].wants(LELongTermKeyRequest.self) {
                let event = LELongTermKeyRequest(
                    handle: handle,
                    randomNumber: random,
                    encryptedDiversifier: diversifier
                )
                controllers[slot].send(event)
            } else {
                _ = links[link].machine.answerKeyRequest(nil, at: now)
            }
        case .encryptionChanged(let status, let isEncrypted):
            tellOfEncryption(slot, handle, status, isEncrypted)
        case .keyRefreshed(let status):
            let event = EncryptionKeyRefreshComplete(status: status, handle: handle)
            controllers[slot].send(event, if: .encryptionKeyRefreshComplete)
        case .data, .packetCompleted, .disconnected: break
        }
    }

    private mutating func tellOfEncryption(
        _ slot: Int,
        _ handle: ConnectionHandle,
        _ status: HCIStatus,
        _ isEncrypted: Bool
    ) {
        if controllers[slot].eventMaskPage2.contains(.encryptionChangeV2) {
            let event = EncryptionChangeV2(status: status, handle: handle, isEncrypted: isEncrypted, keySize: 16)
            controllers[slot].send(unmasked: event)
        } else {
            let event = EncryptionChange(status: status, handle: handle, isEncrypted: isEncrypted)
            controllers[slot].send(event, if: .encryptionChange)
        }
    }

    // MARK: Data

    /// A data packet from a host.
    mutating func receiveData(_ body: ArraySlice<UInt8>, _ slot: Int) {
        do {
            let packet = try ACLPacket(body: body)
            guard let index = controllers[slot].connections.firstIndex(where: { $0.handle == packet.handle }) else {
                return drop("data for connection \(packet.handle), which does not exist", slot)
            }
            guard packet.broadcast == 0, packet.boundary != .complete else {
                return drop("data with flags that LE does not have", slot)
            }
            guard packet.data.count <= Int(controllers[slot].configuration.dataBuffers.length) else {
                return drop("\(packet.data.count) octets of data, longer than a buffer", slot)
            }
            guard controllers[slot].freeBuffers > 0 else {
                drop("data while all buffers are full", slot)
                controllers[slot].send(DataBufferOverflow(linkType: 1), if: .dataBufferOverflow)
                return
            }
            let connection = controllers[slot].connections[index]
            controllers[slot].connections[index].usedBuffers += 1
            let isStart = packet.boundary != .continuing
            links[connection.link].machine.send(packet.data, isStart: isStart, from: connection.role, at: now)
            finishLinkChange(connection.link)
        } catch {
            drop("\(error)", slot)
        }
    }

    /// Lets peers know, through their link layers, whether a host takes data.
    mutating func updateAcceptance(_ slot: Int) {
        let accepts = controllers[slot].acceptsData
        for connection in controllers[slot].connections {
            links[connection.link].machine.sides[connection.role].acceptsData = accepts
        }
    }

    // MARK: Ends

    private mutating func endConnection(_ slot: Int, at index: Int, link: Int, _ role: LinkRole) {
        controllers[slot].connections.remove(at: index)
        controllers[slot].radio.connections += links[link].machine.sides[role].radio
        links[link].ends[role] = nil
        updateAcceptance(slot)
    }

    /// Lets a controller forget its connections, without events or packets.
    mutating func abandonConnections(_ slot: Int) {
        for connection in controllers[slot].connections {
            links[connection.link].machine.vanish(connection.role, at: now)
            controllers[slot].radio.connections += links[connection.link].machine.sides[connection.role].radio
            links[connection.link].ends[connection.role] = nil
            finishLinkChange(connection.link)
        }
        controllers[slot].connections.removeAll()
    }
}
