import BluetoothHCI

/// How well controllers hear each other.
extension Air {
    /// Two controllers, in the order of their places.
    struct PairKey: Hashable, Sendable {
        let first: Int
        let second: Int

        init(_ one: Int, _ other: Int) {
            first = min(one, other)
            second = max(one, other)
        }
    }

    /// What two controllers are to each other, apart from connections.
    struct Pair: Sendable {
        var quality: LinkQuality
        /// When the quality became what it is.
        var since: Microseconds
        var loss: LossProcess
    }

    /// Changes how well two controllers hear each other from now on: their connections, and each other's advertising.
    public mutating func setLinkQuality(_ quality: LinkQuality, between one: ControllerID, and other: ControllerID) {
        guard let first = slot(of: one), let second = slot(of: other), first != second else { return }
        let key = PairKey(first, second)
        pairs[key] = Pair(quality: quality, since: now, loss: makeLoss(quality.loss, since: now, key))
        for index in linksBetween(first, second) {
            links[index].machine.setLoss(quality.loss, at: now)
            finishLinkChange(index)
        }
        replanAdvertisers()
    }

    /// Takes two controllers out of each other's range; their connections end when their supervision timeouts are over.
    public mutating func cutLink(between one: ControllerID, and other: ControllerID) {
        setLinkQuality(.outOfRange, between: one, and: other)
    }

    /// What two controllers are to each other: how well they hear each other now.
    package func linkQuality(between one: ControllerID, and other: ControllerID) -> LinkQuality {
        guard let first = slot(of: one), let second = slot(of: other) else { return defaultQuality }
        return quality(first, second)
    }

    /// Makes one controller deaf to another on their connections, as they are now, or lets it hear again.
    package mutating func setDeafness(of deaf: ControllerID, to other: ControllerID, _ isDeaf: Bool) {
        guard let listener = slot(of: deaf), let speaker = slot(of: other), listener != speaker else { return }
        for index in linksBetween(listener, speaker) {
            let ends = links[index].ends
            for role in LinkRole.allCases where ends[role] == listener && ends[role.peer] == speaker {
                guard (links[index].machine.deafRole == role) != isDeaf else { continue }
                links[index].machine.setDeafRole(isDeaf ? role : nil, at: now)
                finishLinkChange(index)
            }
        }
    }

    /// Makes the clock fast that a controller wakes up by for its connections; it goes on claiming that it is wrong by 50 parts per
    /// million at most.
    /// - Parameter partsPerMillion: by how much; 0 for a clock that is right, less for one that is slow.
    package mutating func setClockError(of controller: ControllerID, partsPerMillion: Int) {
        let partsPerMillion = Int64(partsPerMillion)
        guard let slot = slot(of: controller), controllers[slot].clockError != partsPerMillion else { return }
        controllers[slot].clockError = partsPerMillion
        for index in links.indices where links[index].isInUse {
            for role in LinkRole.allCases where links[index].ends[role] == slot {
                links[index].machine.setClockError(partsPerMillion, of: role, at: now)
                finishLinkChange(index)
            }
        }
    }

    /// Where the connections between two controllers are, in their order.
    private func linksBetween(_ one: Int, _ other: Int) -> [Int] {
        controllers[one].connections.filter { links[$0.link].ends[$0.role.peer] == other }.map(\.link).sorted()
    }

    /// The controller at the other end of a connection; nil if there is no such connection, or no controller.
    package func peer(of controller: ControllerID, on handle: ConnectionHandle) -> ControllerID? {
        guard let slot = slot(of: controller),
            let connection = controllers[slot].connections.first(where: { $0.handle == handle }),
            let other = links[connection.link].ends[connection.role.peer]
        else { return nil }
        return controllers[other].id
    }

    /// What two controllers are to each other.
    func quality(_ one: Int, _ other: Int) -> LinkQuality { pairs[PairKey(one, other)]?.quality ?? defaultQuality }

    /// When two controllers became to each other what they are.
    func qualitySince(_ one: Int, _ other: Int) -> Microseconds { pairs[PairKey(one, other)]?.since ?? .zero }

    /// How strongly two controllers hear each other now, in dBm.
    func signalStrength(_ one: Int, _ other: Int) -> Int8 {
        let quality = quality(one, other)
        guard case .fading(let fade) = quality.loss else { return quality.rssi }
        let elapsed = (now - qualitySince(one, other)).duration
        return Int8(clamping: max(-127, Int(quality.rssi) - fade.attenuation(after: elapsed)))
    }

    func isInRange(_ one: Int, _ other: Int) -> Bool { !quality(one, other).loss.isTotal }

    /// Whether a packet between two controllers that are not connected is lost.
    mutating func losesPacket(between one: Int, and other: Int, at moment: Microseconds) -> Bool {
        let key = PairKey(one, other)
        if pairs[key] == nil {
            guard defaultQuality.loss.isPossible else { return false }
            let loss = makeLoss(defaultQuality.loss, since: .zero, key)
            pairs[key] = Pair(quality: defaultQuality, since: .zero, loss: loss)
        }
        return pairs[key]?.loss.losesPacket(at: moment) ?? false
    }

    private func makeLoss(_ model: LossModel, since: Microseconds, _ key: PairKey) -> LossProcess {
        LossProcess(model, since: since, random: pairRandom(key))
    }

    func pairRandom(_ key: PairKey) -> SeededRandom {
        SeededRandom(seed: seed, .pair, UInt64(key.first), UInt64(key.second))
    }

    mutating func forgetQuality(of slot: Int) {
        pairs = pairs.filter { $0.key.first != slot && $0.key.second != slot }
    }
}
