import BluetoothCentral
import BluetoothHCI
import BluetoothHost
import Testing

/// What becomes of requests when the controller or the peripheral does not do its part.
@Suite struct CentralFailureTests {
    private static let reset = HCIOpcode(rawValue: 0x0C03)

    // MARK: The controller

    @Test("a controller that refuses to be reset ends all requests, and those that come later")
    func aControllerThatCannotBeReset() {
        var rig = ScriptedCentral()
        let failure = StartUpFailure.commandFailed(Self.reset, .hardwareFailure)
        let early = [
            rig.request { $0.find(within: .seconds(9), at: $1) { _ in true } },
            rig.request { $0.scan(for: .seconds(9), at: $1) },
            rig.request { $0.connect(to: ScriptedCentral.peer, within: .seconds(9), at: $1) },
        ]
        rig.answers["030c"] = "03"
        #expect(rig.use { $0.start(at: $1) }.sent == ["01030c00"])
        #expect(rig.failures == [failure])
        for id in early { #expect(rig.ended[id] == .failure(.controllerFailed(failure))) }
        #expect(rig.central.isShutDown, "a connection that was never begun is still waited for")
        let (late, sent) = rig.use { $0.scan(for: .seconds(9), at: $1) }
        #expect(rig.ended[late] == .failure(.controllerFailed(failure)))
        #expect(sent.isEmpty)
        // It is tried again when the owner wants that, and what is asked for then is done.
        rig.answers["030c"] = "00"
        rig.use { $0.start(at: $1) }
        #expect(rig.readyCount == 1)
        let (again, scan) = rig.use { $0.scan(for: .seconds(9), at: $1) }
        #expect(scan.last == "010c20020100", "LE Set Scan Enable, duplicates and all")
        #expect(rig.ended[again] == nil)
    }

    @Test("a controller that fails while it connects ends that request, and the next one begins with the controller")
    func aFailureWhileConnecting() {
        var rig = ScriptedCentral.started()
        let first = rig.request { $0.connect(to: ScriptedCentral.peer, within: .seconds(30), at: $1) }
        let second = rig.request { $0.connect(to: .staticRandom(2), within: .seconds(30), at: $1) }
        let sent = rig.give(ScriptedCentral.hardwareError)
        #expect(rig.ended[first] == .failure(.connectionFailed(.hardwareFailure)))
        #expect(rig.ended[second] == nil)
        #expect(sent.first == "01030c00")
        let creations = sent.filter { $0.hasPrefix("010d20") }
        #expect(creations.count == 1)
        // Scan Interval, Scan Window, Filter Policy; then the peer: 0xC00000000002.
        #expect(creations.first?.dropFirst(18).prefix(14) == "010200000000c0")
        #expect(rig.readyCount == 2)
    }

    @Test("a controller that fails and is silent from then on ends connections, and is given up after three resets")
    func aFailureWhileConnected() throws {
        var rig = ScriptedCentral.started()
        let (peripheral, value) = try rig.connect()
        let read = rig.request { $0.read(value, of: peripheral.id, at: $1) }
        let search = rig.request { $0.find(within: .seconds(60), at: $1) { _ in false } }
        rig.answers["030c"] = .some(nil)
        #expect(rig.give(ScriptedCentral.hardwareError) == ["01030c00"])
        #expect(rig.ended[read] == .failure(.disconnected(.hardwareFailure)))
        #expect(rig.disconnections == [.hardwareFailure])
        #expect(rig.advance(by: .seconds(2)) == ["01030c00"])
        #expect(rig.advance(by: .seconds(2)) == ["01030c00"])
        #expect(rig.failures.isEmpty)
        #expect(rig.advance(by: .seconds(2)) == [])
        #expect(rig.failures == [.notAnswering(Self.reset)])
        #expect(rig.ended[search] == .failure(.controllerFailed(.notAnswering(Self.reset))))
        #expect(rig.central.isShutDown)
    }

    @Test("a controller that does not scan ends what needs scanning, and is asked again by the next request")
    func aRefusedScan() {
        var rig = ScriptedCentral.started()
        rig.answers["0c20"] = "0c"
        let find = rig.request { $0.find(within: .seconds(9), at: $1) { _ in true } }
        #expect(rig.ended[find] == .failure(.scanningFailed(HCIStatus(rawValue: 0x0C))))
        let scan = rig.request { $0.scan(for: .seconds(9), at: $1) }
        #expect(rig.ended[scan] == .failure(.scanningFailed(HCIStatus(rawValue: 0x0C))))
        rig.answers["0c20"] = "00"
        let (again, sent) = rig.use { $0.scan(for: .seconds(9), at: $1) }
        #expect(sent.map { $0.prefix(6) } == ["010b20", "010c20"])
        rig.advance(by: .seconds(9))
        #expect(rig.ended[again] == .success(.scanned([])))
    }

    @Test("scan parameters that are not valid are no reason to ask the controller")
    func invalidScanParameters() {
        // The window is longer than the interval (Core 5.4, Vol 4, Part E, 7.8.10).
        var configuration = CentralConfiguration()
        configuration.scanning.interval = .milliseconds(10)
        configuration.scanning.window = .milliseconds(20)
        var rig = ScriptedCentral.started(configuration)
        let (scan, sent) = rig.use { $0.scan(for: .seconds(9), at: $1) }
        #expect(rig.ended[scan] == .failure(.scanningFailed(.invalidHCICommandParameters)))
        #expect(sent.isEmpty)
    }

    // MARK: Connecting

    @Test("a connection that the controller refuses, or does not make, fails with its status")
    func aRefusedConnection() {
        var rig = ScriptedCentral.started()
        rig.answers["0d20"] = "0d"
        let refused = rig.request { $0.connect(to: ScriptedCentral.peer, within: .seconds(9), at: $1) }
        #expect(rig.ended[refused] == .failure(.connectionFailed(HCIStatus(rawValue: 0x0D))))
        rig.answers["0d20"] = "00"
        let failed = rig.request { $0.connect(to: ScriptedCentral.peer, within: .seconds(9), at: $1) }
        // Connection Failed to be Established.
        rig.give(ScriptedCentral.notConnected("3e"))
        #expect(rig.ended[failed] == .failure(.connectionFailed(HCIStatus(rawValue: 0x3E))))
        #expect(rig.central.isShutDown)
    }

    @Test(
        "a peripheral that connects in spite of the cancellation is disconnected, and the application never hears of it"
    )
    func aConnectionAgainstTheCancellation() {
        var rig = ScriptedCentral.started()
        let id = rig.request { $0.connect(to: ScriptedCentral.peer, within: .seconds(9), at: $1) }
        rig.answers["0e20"] = "0c"
        #expect(rig.use { $0.cancel(id, at: $1) }.sent == ["010e2000"])
        #expect(rig.ended[id] == .failure(.cancelled))
        let sent = rig.give(ScriptedCentral.connected)
        #expect(sent.contains("01060403400013"), "Disconnect: Remote User Terminated Connection")
        #expect(ScriptedCentral.payloads(sent, on: "0400").isEmpty, "nothing is discovered")
        #expect(!rig.central.isShutDown)
        rig.give(ScriptedCentral.disconnected("16"))
        #expect(rig.central.isShutDown)
        #expect(rig.disconnections.isEmpty)
    }

    @Test("a connection that waits for another one is cancelled without a word to the controller")
    func aWaitingConnectionThatIsCancelled() {
        var rig = ScriptedCentral.started()
        let first = rig.request { $0.connect(to: ScriptedCentral.peer, within: .seconds(9), at: $1) }
        let second = rig.request { $0.connect(to: .staticRandom(2), within: .seconds(9), at: $1) }
        #expect(rig.use { $0.cancel(second, at: $1) }.sent == [])
        #expect(rig.ended[second] == .failure(.cancelled))
        #expect(rig.ended[first] == nil)
        #expect(ScriptedCentral.payloads(rig.give(ScriptedCentral.connected), on: "0400") == ["020502"])
    }

    // MARK: Discovery

    @Test("a server that does not know Exchange MTU is discovered all the same, and one that shows no services is left")
    func aRefusedDiscovery() {
        var rig = ScriptedCentral.started()
        let id = rig.request { $0.connect(to: ScriptedCentral.peer, within: .seconds(60), at: $1) }
        rig.give(ScriptedCentral.connected)
        // Request Not Supported: the default MTU stays in force (Core 5.4, Vol 3, Part F, 3.4.2.2).
        #expect(rig.att("01 02 0000 06") == ["100100ffff0028"])
        let sent = rig.give(ScriptedCentral.frame("0400", "01 10 0100 08"))
        let refusal = ATTErrorResponse(
            requestOpcode: 0x10,
            handle: AttributeHandle(rawValue: 1),
            error: .insufficientAuthorization
        )
        #expect(rig.ended[id] == .failure(.procedure(.refused(refusal))))
        #expect(sent == ["01060403400013"])
        rig.give(ScriptedCentral.disconnected("16"))
        #expect(rig.disconnections.isEmpty)
        #expect(rig.central.isShutDown)
    }

    @Test("a server that answers nonsense is left")
    func aMalformedDiscovery() {
        var rig = ScriptedCentral.started()
        let id = rig.request { $0.connect(to: ScriptedCentral.peer, within: .seconds(60), at: $1) }
        rig.give(ScriptedCentral.connected)
        rig.att("03 1700")
        // A Read By Type Response to a Read By Group Type Request.
        #expect(rig.give(ScriptedCentral.frame("0400", "09 05 0100 aabbcc")) == ["01060403400013"])
        #expect(rig.ended[id] == .failure(.procedure(.unexpectedResponse(opcode: 0x09))))
    }

    @Test("a server that is silent is left after 30 seconds")
    func aSilentServer() {
        var rig = ScriptedCentral.started()
        let id = rig.request { $0.connect(to: ScriptedCentral.peer, within: .seconds(60), at: $1) }
        rig.give(ScriptedCentral.connected)
        #expect(rig.advance(by: .milliseconds(29_999)) == [])
        #expect(rig.ended[id] == nil)
        #expect(rig.advance(by: .milliseconds(1)).contains("01060403400013"))
        #expect(rig.ended[id] == .failure(.procedure(.timedOut)))
    }

    // MARK: Values

    @Test("a subscription is one to notifications if there are any, to indications otherwise, and to what is asked for")
    func subscriptions() throws {
        // Client Characteristic Configuration: bit 0 is notifications, bit 1 is indications (Core 5.4, Vol 3, Part G, 3.3.3.3).
        for (properties, bits) in [("12", "0100"), ("22", "0200"), ("32", "0100")] {
            var rig = ScriptedCentral.started()
            let (peripheral, value) = try rig.connect(properties: properties)
            let (id, sent) = rig.use { $0.subscribe(to: value, of: peripheral.id, at: $1) }
            #expect(ScriptedCentral.payloads(sent, on: "0400") == ["120400" + bits])
            rig.att("13")
            #expect(rig.ended[id] == .success(.written))
            let both: Subscription = [.notifications, .indications]
            let (more, also) = rig.use { $0.subscribe(to: value, of: peripheral.id, both, at: $1) }
            #expect(ScriptedCentral.payloads(also, on: "0400") == ["1204000300"])
            rig.att("01 12 0400 fd")
            let refusal = ATTErrorResponse(
                requestOpcode: 0x12,
                handle: AttributeHandle(rawValue: 4),
                error: ATTError(rawValue: 0xFD)
            )
            #expect(rig.ended[more] == .failure(.procedure(.refused(refusal))))
        }
    }

    @Test("a value that fits into the MTU less 3 is written at once, and a longer one in parts")
    func writesOfBothLengths() throws {
        var rig = ScriptedCentral.started()
        let (peripheral, value) = try rig.connect()
        let short = [UInt8](repeating: 0xAB, count: 20)
        let (first, request) = rig.use { $0.write(short, to: value, of: peripheral.id, at: $1) }
        #expect(ScriptedCentral.payloads(request, on: "0400") == ["120300" + hexadecimal(short)])
        rig.att("13")
        #expect(rig.ended[first] == .success(.written))
        // Prepare Write Requests at offsets 0 and 18, each of which the server repeats, and Execute Write Request.
        let (second, prepared) = rig.use { $0.write(short + [0xCD], to: value, of: peripheral.id, at: $1) }
        let part = "03000000" + hexadecimal([UInt8](repeating: 0xAB, count: 18))
        #expect(ScriptedCentral.payloads(prepared, on: "0400") == ["16" + part])
        #expect(rig.att("17" + part) == ["1603001200ababcd"])
        #expect(rig.att("1703001200ababcd") == ["1801"])
        #expect(rig.ended[second] == nil)
        rig.att("19")
        #expect(rig.ended[second] == .success(.written))
    }

    // MARK: Requests that cannot begin

    @Test("what is asked of a peripheral that is gone fails without a packet")
    func aPeripheralThatIsGone() throws {
        var rig = ScriptedCentral.started()
        let (peripheral, value) = try rig.connect()
        rig.give(ScriptedCentral.disconnected("13"))
        #expect(rig.disconnections == [.remoteUserTerminatedConnection])
        let requests: [(inout Central, Duration) -> CentralRequestID] = [
            { $0.read(value, of: peripheral.id, at: $1) },
            { $0.write([1], to: value, of: peripheral.id, at: $1) },
            { $0.writeWithoutResponse([1], to: value, of: peripheral.id, at: $1) },
            { $0.subscribe(to: value, of: peripheral.id, at: $1) },
            { $0.secure(peripheral.id, at: $1) },
        ]
        for request in requests {
            let (id, sent) = rig.use(request)
            #expect(rig.ended[id] == .failure(.disconnected(nil)))
            #expect(sent.isEmpty)
        }
    }

    @Test("of too many reads at once the one too many fails, and all others are answered")
    func tooManyReads() throws {
        var rig = ScriptedCentral.started()
        let (peripheral, value) = try rig.connect()
        // One is under way, and 32 wait.
        let reads = (0..<33).map { _ in rig.request { $0.read(value, of: peripheral.id, at: $1) } }
        let excess = rig.request { $0.read(value, of: peripheral.id, at: $1) }
        #expect(rig.ended[excess] == .failure(.notStarted(.queueFull)))
        for (index, read) in reads.enumerated() {
            #expect(rig.ended[read] == nil)
            rig.att("0b" + hexadecimal([UInt8(index)]))
            #expect(rig.ended[read] == .success(.value([UInt8(index)])))
        }
    }

    @Test("a value from the peer is told with its handle, and an indication is confirmed")
    func valuesOfThePeer() throws {
        var rig = ScriptedCentral.started()
        let (_, value) = try rig.connect()
        #expect(rig.att("1b 0300 aa").isEmpty)
        #expect(rig.att("1d 0300 bbcc") == ["1e"])
        #expect(rig.values.map(\.bytes) == [[0xAA], [0xBB, 0xCC]])
        #expect(rig.values.allSatisfy { $0.handle == value.handle })
    }

    // MARK: A controller that is found gone

    enum Request: CaseIterable {
        case read, write, writeWithoutResponse, secure
    }

    @Test(
        "a request in whose call the loss of the controller is noticed fails as one of a connection that is gone",
        arguments: Request.allCases
    )
    func aRequestThatNoticesTheLoss(request: Request) throws {
        var rig = ScriptedCentral.started()
        let (peripheral, value) = try rig.connect()
        rig.answers["0c20"] = .some(nil)
        _ = rig.request { $0.scan(for: .seconds(60), at: $1) }
        // The command has not been answered for 2 s, and the application asks before the loop lets time pass.
        let late = rig.now + .seconds(2)
        let id = rig.request { central, _ in
            switch request {
            case .read: central.read(value, of: peripheral.id, at: late)
            case .write: central.write([1], to: value, of: peripheral.id, at: late)
            case .writeWithoutResponse: central.writeWithoutResponse([1], to: value, of: peripheral.id, at: late)
            case .secure: central.secure(peripheral.id, at: late)
            }
        }
        #expect(rig.disconnections == [.hardwareFailure])
        guard case .failure(.disconnected)? = rig.ended[id] else {
            Issue.record("\(String(describing: rig.ended[id]))")
            return
        }
    }

    // MARK: Advertisers

    @Test("anonymous advertisers are not among the results, and a report without a strength keeps the last one")
    func advertisers() {
        var rig = ScriptedCentral.started()
        let scan = rig.request { $0.scan(for: .seconds(3), at: $1) }
        // LE Extended Advertising Report: without an address, type 0xFF.
        rig.give(Self.report("ff 000000000000", rssi: "c0", "02 01 06"))
        // Flags and a 128-bit service; -64 dBm.
        rig.give(
            Self.report("01 0504030201d0", rssi: "c0", "02 01 06 11 07 0100e0fe0f0c5e9a1d4bdec0010040ec")
        )
        // 127: the strength is not known.
        rig.give(
            Self.report("01 0504030201d0", rssi: "7f", "02 01 06 11 07 0100e0fe0f0c5e9a1d4bdec0010040ec")
        )
        rig.advance(by: .seconds(3))
        guard case .success(.scanned(let results))? = rig.ended[scan] else {
            Issue.record("no scan")
            return
        }
        #expect(results.map(\.address) == [ScriptedCentral.peer])
        #expect(results.map(\.services) == [[Lamp.plain]])
        #expect(results.map(\.rssiDBm) == [-64])
        #expect(results.map(\.name) == [nil])
    }

    private static func report(_ address: String, rssi: String, _ data: String) -> String {
        ScriptedCentral.event(
            "3e",
            "0d 01 0100" + address + "01 00 ff 7f" + rssi + "0000 00 000000000000"
                + hexadecimal([UInt8(hex(data).count)]) + data
        )
    }
}
