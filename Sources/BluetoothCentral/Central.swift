import BluetoothHCI
import BluetoothHost
import DequeModule

/// A Bluetooth LE central: it finds peripherals, connects to them, and reads, writes and subscribes to their values.
///
/// It does no I/O. Packets from the controller and the time come in; packets for the controller, events for the application and
/// the next deadline are asked for. `HCIRuntime.RunningCentral` runs it on a controller, `AirSimulator` in virtual time.
///
/// Each call that asks for something returns the name of a request, and each request ends with one `CentralEvent.ended`.
public struct Central: HCIHost, Sendable {
    struct Link: Sendable {
        let id: RemotePeripheral.ID
        var exploration = Exploration()
        /// The procedure that the exploration waits for.
        var step: GATTProcedureID?
        /// Whether the application knows of it.
        var isReported = false
    }

    let configuration: CentralConfiguration
    var host: LEHost
    var links: [ConnectionHandle: Link] = [:]
    /// In the order in which they were made.
    var requests: [CentralRequest] = []
    var lastNumber: UInt64 = 0
    /// The connection that is being made; its request is nil once that has been given up.
    var initiation: (peer: LEAddress, request: CentralRequestID?)?
    var isScanning = false
    var results = ScanResults()
    /// Why the controller cannot be used.
    var failure: StartUpFailure?
    private var isLeaving = false
    var events: Deque<CentralEvent> = []

    /// A central that has not been started.
    /// - Parameters:
    ///   - configuration: its address, how it scans, connects and pairs, and the bonds that the store has.
    ///   - cryptography: what pairing is made of. `RunningCentral` needs neither.
    ///   - randomness: where keys come from: a cryptographically secure generator, outside of tests.
    public init(
        _ configuration: CentralConfiguration = CentralConfiguration(),
        cryptography: LECryptography,
        randomness: RandomSource
    ) {
        self.configuration = configuration
        host = LEHost(
            configuration: LEHost.Configuration(ownAddress: configuration.address, security: configuration.security),
            database: GATTDatabase(),
            bonds: configuration.bonds,
            cryptography: cryptography,
            randomness: randomness
        )
    }

    // MARK: HCIHost

    public mutating func start(at now: Duration) {
        failure = nil
        host.start(at: now)
        settle(at: now)
    }

    /// The controller is out of reach: all connections are gone. `start(at:)` begins again once it is back; what is searched for
    /// is searched for then, within its time.
    public mutating func controllerLost(at now: Duration) {
        host.controllerLost(at: now)
        settle(at: now)
    }

    public mutating func receive(_ packet: ArraySlice<UInt8>, at now: Duration) {
        host.receive(packet, at: now)
        settle(at: now)
    }

    public mutating func advance(to now: Duration) {
        catchUp(to: now)
        for request in requests {
            if let deadline = request.deadline, deadline <= now { expire(request, at: now) }
        }
        settle(at: now)
    }

    public mutating func nextPacket(into buffer: inout [UInt8]) -> Bool { host.nextPacket(into: &buffer) }

    public var nextDeadline: Duration? {
        var earliest = host.nextDeadline
        for request in requests {
            if let deadline = request.deadline { earliest = min(earliest ?? deadline, deadline) }
        }
        return earliest
    }

    /// Takes the oldest event.
    public mutating func nextEvent() -> CentralEvent? { events.popFirst() }

    /// Whether the controller has been started.
    public var isReady: Bool { host.isReady }

    /// How many ACL packets the controller has and has not completed.
    public var outstandingPacketCount: Int { host.outstandingPacketCount }

    // MARK: Finding and connecting

    /// Scans until an advertiser is heard that is wanted. Ends with `found`, or fails with `notFound`.
    /// - Parameters:
    ///   - time: how long it scans at most, also while the controller is being started.
    ///   - now: the time, from which that counts.
    ///   - isWanted: is shown what is known of each advertiser whenever it is heard.
    public mutating func find(
        within time: Duration,
        at now: Duration,
        where isWanted: @escaping @Sendable (ScanResult) -> Bool
    ) -> CentralRequestID {
        begin(.find(isWanted), until: now + time, at: now)
    }

    /// Scans for a while. Ends with `scanned`.
    public mutating func scan(for time: Duration, at now: Duration) -> CentralRequestID {
        begin(.scan, until: now + time, at: now)
    }

    /// Connects to a peripheral and discovers its database. Ends with `connected`; fails with `timedOut` if both take longer
    /// than `time`, with `connectionFailed`, `procedure` or `disconnected`. Connections are made one after the other, and nothing
    /// is found meanwhile.
    public mutating func connect(to peer: LEAddress, within time: Duration, at now: Duration) -> CentralRequestID {
        begin(.connect(peer), until: now + time, at: now)
    }

    /// Ends a connection. Ends with `disconnected`, also if it was gone before.
    public mutating func disconnect(_ peripheral: RemotePeripheral.ID, at now: Duration) -> CentralRequestID {
        catchUp(to: now)
        guard let connection = connection(of: peripheral) else {
            let id = nextRequest()
            end(id, .success(.disconnected))
            return id
        }
        host.disconnect(connection, at: now)
        return begin(.disconnect(connection), at: now)
    }

    // MARK: Values

    /// Reads a value of any length. Ends with `value`.
    public mutating func read(
        _ characteristic: RemoteCharacteristic,
        of peripheral: RemotePeripheral.ID,
        at now: Duration
    ) -> CentralRequestID {
        begin(.readLong(characteristic.handle), on: peripheral, at: now)
    }

    /// Writes a value of any length, and waits for the peripheral to take it. Ends with `written`.
    public mutating func write(
        _ bytes: [UInt8],
        to characteristic: RemoteCharacteristic,
        of peripheral: RemotePeripheral.ID,
        at now: Duration
    ) -> CentralRequestID {
        let mtu = connection(of: peripheral).flatMap { host.gatt.mtu(of: $0) } ?? 0
        // A Write Request has three bytes in front of the value (Core 5.4, Vol 3, Part F, 3.4.5.1).
        let procedure: GATTProcedure =
            bytes.count + 3 <= mtu
            ? .write(characteristic.handle, bytes[...]) : .writeLong(characteristic.handle, bytes[...])
        return begin(procedure, on: peripheral, at: now)
    }

    /// Queues a Write Command, which gets no answer. Ends with `written` at once, or fails with `notStarted`: the value does not fit
    /// into the MTU, or too much waits to be sent.
    public mutating func writeWithoutResponse(
        _ bytes: [UInt8],
        to characteristic: RemoteCharacteristic,
        of peripheral: RemotePeripheral.ID,
        at now: Duration
    ) -> CentralRequestID {
        catchUp(to: now)
        let id = nextRequest()
        guard let connection = connection(of: peripheral) else {
            end(id, .failure(.disconnected(nil)))
            return id
        }
        do throws(GATTError) {
            try host.gatt.writeWithoutResponse(bytes[...], to: characteristic.handle, on: connection, at: now)
            end(id, .success(.written))
        } catch {
            end(id, .failure(.notStarted(error)))
        }
        settle(at: now)
        return id
    }

    /// Subscribes to a value, or unsubscribes with an empty `subscription`. Ends with `written`; `CentralEvent.valueReceived` has
    /// the values. Nil stands for notifications if the characteristic has them, and for indications otherwise.
    public mutating func subscribe(
        to characteristic: RemoteCharacteristic,
        of peripheral: RemotePeripheral.ID,
        _ subscription: Subscription? = nil,
        at now: Duration
    ) -> CentralRequestID {
        guard let descriptor = characteristic.clientConfiguration else {
            return begin(.fail(.cannotSubscribe(characteristic.uuid)), at: now)
        }
        let usual: Subscription = characteristic.properties.contains(.notify) ? .notifications : .indications
        return begin(.subscribe(clientConfiguration: descriptor, subscription ?? usual), on: peripheral, at: now)
    }

    // MARK: Security

    /// Encrypts a link: with the bond's key if there is one, by pairing otherwise. Ends with `secured`.
    public mutating func secure(_ peripheral: RemotePeripheral.ID, at now: Duration) -> CentralRequestID {
        catchUp(to: now)
        guard let connection = connection(of: peripheral) else { return begin(.fail(.disconnected(nil)), at: now) }
        if let security = host.connection(connection)?.security, security.isEncrypted {
            let id = nextRequest()
            end(id, .success(.secured(security)))
            return id
        }
        do throws(CentralError) {
            try encrypt(connection, at: now)
        } catch {
            // The peripheral asked first: the request waits for what has begun.
            guard error == .pairingNotStarted(.busy) else { return begin(.fail(error), at: now) }
        }
        return begin(.secure(connection), at: now)
    }

    /// Answers a prompt.
    /// - Returns: false if it stands no more.
    @discardableResult
    public mutating func answer(_ prompt: PairingPrompt.ID, with answer: PairingAnswer, at now: Duration) -> Bool {
        catchUp(to: now)
        let isTaken = host.security?.answer(prompt, with: answer, at: now) ?? false
        settle(at: now)
        return isTaken
    }

    /// A bond has been stored: it counts from now on.
    public mutating func bondStored(_ identity: LEAddress, at now: Duration) {
        catchUp(to: now)
        host.security?.bondStored(identity)
        settle(at: now)
    }

    // MARK: Ends

    /// Ends a request with `CentralError.cancelled`, if it has not ended. A connection that it was making is given up; a value that is
    /// being read or written is not, but its outcome is not reported.
    public mutating func cancel(_ id: CentralRequestID, at now: Duration) {
        catchUp(to: now)
        guard let request = requests.first(where: { $0.id == id }) else { return }
        giveUp(request, at: now)
        end(id, .failure(.cancelled))
        settle(at: now)
    }

    /// Ends every request, and disconnects every peripheral, before the process ends.
    public mutating func beginShutdown(at now: Duration) {
        catchUp(to: now)
        isLeaving = true
        for request in requests {
            giveUp(request, at: now)
            end(request.id, .failure(.cancelled))
        }
        for connection in links.keys { host.disconnect(connection, at: now) }
        settle(at: now)
    }

    /// Whether no peripheral is connected, and none is being connected to.
    public var isShutDown: Bool { links.isEmpty && initiation == nil }
}

// MARK: - Requests

extension Central {
    private mutating func nextRequest() -> CentralRequestID {
        lastNumber += 1
        return CentralRequestID(number: lastNumber)
    }

    /// Takes note of the time and of what has happened until then, before a request looks at the links: the controller may have failed
    /// just now.
    private mutating func catchUp(to now: Duration) {
        host.advance(to: now)
        settle(at: now)
    }

    private func connection(of peripheral: RemotePeripheral.ID) -> ConnectionHandle? {
        links.first { $0.value.id == peripheral }?.key
    }

    private mutating func begin(
        _ work: CentralRequest.Work,
        until deadline: Duration? = nil,
        at now: Duration
    ) -> CentralRequestID {
        catchUp(to: now)
        let id = nextRequest()
        requests.append(CentralRequest(id: id, work: work, deadline: deadline))
        if case .fail(let error) = work {
            end(id, .failure(error))
        } else if let failure {
            end(id, .failure(.controllerFailed(failure)))
        } else if isLeaving, deadline != nil {
            end(id, .failure(.cancelled))
        }
        settle(at: now)
        return id
    }

    private mutating func begin(
        _ procedure: GATTProcedure,
        on peripheral: RemotePeripheral.ID,
        at now: Duration
    ) -> CentralRequestID {
        catchUp(to: now)
        guard let connection = connection(of: peripheral) else { return begin(.fail(.disconnected(nil)), at: now) }
        do throws(GATTError) {
            return begin(.procedure(connection, try host.gatt.start(procedure, on: connection, at: now)), at: now)
        } catch {
            return begin(.fail(.notStarted(error)), at: now)
        }
    }

    mutating func end(_ id: CentralRequestID, _ result: Result<CentralResponse, CentralError>) {
        requests.removeAll { $0.id == id }
        events.append(.ended(id, result))
    }

    private mutating func expire(_ request: CentralRequest, at now: Duration) {
        giveUp(request, at: now)
        switch request.work {
        case .scan: end(request.id, .success(.scanned(results.all)))
        case .find: end(request.id, .failure(.notFound))
        case .connect, .explore, .procedure, .secure, .disconnect, .fail: end(request.id, .failure(.timedOut))
        }
    }

    /// Takes back what a request has begun.
    private mutating func giveUp(_ request: CentralRequest, at now: Duration) {
        switch request.work {
        case .connect:
            guard initiation?.request == request.id else { return }
            initiation?.request = nil
            host.cancelConnecting(at: now)
        case .explore(let connection): host.disconnect(connection, at: now)
        case .find, .scan, .procedure, .secure, .disconnect, .fail: break
        }
    }

    mutating func endAll(
        _ result: Result<CentralResponse, CentralError>,
        where isMeant: (CentralRequest.Work) -> Bool
    ) {
        for request in requests where isMeant(request.work) { end(request.id, result) }
    }
}
