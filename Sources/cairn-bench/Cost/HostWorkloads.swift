import AirSimulator
import BluetoothCryptography
import BluetoothHCI
import BluetoothHost
import ByteCoding

/// A server host with one connected client, brought up by the simulator and then driven by hand.
enum ServerHost {
    /// The value that is read: short, so that finding it is what costs.
    static let shortValue: [UInt8] = [1, 2, 3, 4, 5, 6, 7, 8]
    /// As much as fits a link layer packet of 251 octets, headers taken off.
    static let longValueLength = 244
    /// What the client asks for.
    static let mtu = 247

    static let readName: AttributeName = "read"
    static let writeName: AttributeName = "write"
    static let notifyName: AttributeName = "notify"

    /// A database of exactly this many attributes, the interesting ones at its end.
    static func database(attributeCount: Int) throws -> GATTDatabase {
        // A service with a read, a written and a notified value has 8.
        let padding = attributeCount - 8
        return try GATTDatabase {
            for index in 0..<(padding / 8) {
                Service(.uuid16(UInt16(0xA000 + index))) {
                    Characteristic(.uuid16(0xB001), .read, value: .bytes(shortValue))
                    Characteristic(.uuid16(0xB002), .read, value: .bytes(shortValue))
                    Characteristic(.uuid16(0xB003), [.read, .notify], value: .bytes(shortValue))
                }
            }
            Service(.uuid16(0xFFF0)) {
                Characteristic(.uuid16(0xFFF1), .writeWithoutResponse, name: writeName, value: .askOwner)
                Characteristic(.uuid16(0xFFF2), [.notify], name: notifyName)
                Characteristic(.uuid16(0xFFF3), [.read, .write], name: readName, value: .bytes(shortValue))
            }
        }
    }

    /// Connects a client, has it subscribe, and takes the server out of the simulation.
    static func connected(_ database: GATTDatabase) throws -> HCIDriver<LEHost> {
        var simulation = Simulation(seed: 1)
        let address = DeviceAddress(0xC000_0000_0001)
        let server = simulation.add(host(address, database))
        let client = simulation.add(host(DeviceAddress(0xC000_0000_0002), try GATTDatabase([])))
        let advertising = AdvertisingSet(
            id: AdvertisingSetID(rawValue: 0),
            kind: .connectable,
            interval: .milliseconds(20),
            data: []
        )
        _ = simulation.withHost(server) { $0.startAdvertising(advertising, at: .zero) }
        _ = simulation.withHost(client) {
            $0.connect(
                to: .random(address),
                ConnectionParameters(
                    intervalMinimum: .milliseconds(30),
                    intervalMaximum: .milliseconds(30),
                    latency: 0,
                    supervisionTimeout: .milliseconds(5000)
                ),
                at: .zero
            )
        }
        // The host asks the peer's controller some questions of its own, which are to be over.
        simulation.run(for: .seconds(2))
        var taken: LEHost?
        _ = simulation.withHost(server) { taken = $0 }
        guard var taken, let connection = taken.connections.first else {
            throw WorkloadFailure("the client did not connect")
        }
        taken.discardEvents()
        var driver = HCIDriver(taken, connection: connection.handle, at: simulation.now)
        try exchangeMTU(&driver)
        try subscribe(&driver, database)
        return driver
    }

    /// Lets more phones connect, which say nothing.
    static func addConnections(_ count: UInt16, to driver: inout HCIDriver<LEHost>) throws(WorkloadFailure) {
        for number in 0..<count {
            guard let handle = ConnectionHandle(rawValue: 0x0801 + number) else { throw WorkloadFailure("no handle") }
            let connection = LENewConnection(
                handle: handle,
                role: .central,
                peer: .random(DeviceAddress(0xC000_0001_0001 + UInt64(number))),
                interval: .milliseconds(30),
                latency: 0,
                supervisionTimeout: .milliseconds(5000)
            )
            driver.host.receive(LEEnhancedConnectionComplete(.success(connection)).packet[...], at: driver.now)
        }
        driver.host.discardEvents()
    }

    private static func host(_ address: DeviceAddress, _ database: GATTDatabase) -> LEHost {
        LEHost(
            configuration: LEHost.Configuration(ownAddress: .random(address)),
            database: database,
            cryptography: .swiftCrypto,
            randomness: .system
        )
    }

    private static func exchangeMTU(_ driver: inout HCIDriver<LEHost>) throws(WorkloadFailure) {
        driver.deliver(length: 3) {
            $0.append(ATTNumber.exchangeMTURequest)
            $0.appendLittleEndian(UInt16(mtu))
        }
        try expectOne(ATTNumber.exchangeMTUResponse, &driver)
    }

    private static func subscribe(_ driver: inout HCIDriver<LEHost>, _ database: GATTDatabase) throws(WorkloadFailure) {
        guard let value = database.handle(of: notifyName), let descriptor = database.clientConfiguration(of: value)
        else { throw WorkloadFailure("there is nothing to subscribe to") }
        driver.deliver(length: 5) {
            $0.append(ATTNumber.writeRequest)
            $0.appendLittleEndian(descriptor.rawValue)
            $0.appendLittleEndian(Subscription.notifications.rawValue)
        }
        try expectOne(ATTNumber.writeResponse, &driver)
    }

    private static func expectOne(_ opcode: UInt8, _ driver: inout HCIDriver<LEHost>) throws(WorkloadFailure) {
        var seen: UInt8?
        let count = driver.takePackets { seen = $0.first }
        guard count == 1, seen == opcode else { throw WorkloadFailure("the server did not answer with \(opcode)") }
    }
}

/// Opcodes of the Attribute Protocol (Core 5.4, Vol 3, Part F, 3.4.8).
enum ATTNumber {
    static let exchangeMTURequest: UInt8 = 0x02
    static let exchangeMTUResponse: UInt8 = 0x03
    static let readRequest: UInt8 = 0x0A
    static let readResponse: UInt8 = 0x0B
    static let writeRequest: UInt8 = 0x12
    static let writeResponse: UInt8 = 0x13
    static let notification: UInt8 = 0x1B
    static let writeCommand: UInt8 = 0x52
}

/// A Read Request in, a Read Response out, and the buffer given back.
struct ReadWorkload: Workload {
    private var driver: HCIDriver<LEHost>
    private let packet: [UInt8]

    init(attributeCount: Int) throws {
        let database = try ServerHost.database(attributeCount: attributeCount)
        guard let handle = database.handle(of: ServerHost.readName) else { throw WorkloadFailure("no value to read") }
        guard Int(handle.rawValue) == attributeCount else { throw WorkloadFailure("\(handle) is not the last handle") }
        driver = try ServerHost.connected(database)
        packet = driver.packet(length: 3) {
            $0.append(ATTNumber.readRequest)
            $0.appendLittleEndian(handle.rawValue)
        }
    }

    mutating func run(_ count: Int) throws(WorkloadFailure) {
        var good = 0
        for _ in 0..<count {
            driver.deliver(packet)
            _ = driver.takePackets { pdu in
                if pdu.first == ATTNumber.readResponse, pdu.count == 1 + ServerHost.shortValue.count { good += 1 }
            }
        }
        guard good == count else { throw WorkloadFailure("\(good) of \(count) reads were answered") }
    }
}

/// A Write Command of 244 bytes in, and the event that tells the owner.
struct WriteCommandWorkload: Workload {
    private var driver: HCIDriver<LEHost>
    private let packet: [UInt8]

    init() throws {
        let database = try ServerHost.database(attributeCount: 40)
        guard let handle = database.handle(of: ServerHost.writeName) else { throw WorkloadFailure("nothing to write") }
        driver = try ServerHost.connected(database)
        let value = (0..<ServerHost.longValueLength).map { UInt8(truncatingIfNeeded: $0) }
        packet = driver.packet(length: 3 + value.count) {
            $0.append(ATTNumber.writeCommand)
            $0.appendLittleEndian(handle.rawValue)
            $0.append(contentsOf: value)
        }
    }

    mutating func run(_ count: Int) throws(WorkloadFailure) {
        for _ in 0..<count { driver.deliver(packet) }
    }
}

/// A notification of 244 bytes out, and the buffer given back.
struct NotificationWorkload: Workload {
    private var driver: HCIDriver<LEHost>
    private let connection: ConnectionHandle
    private let handle: AttributeHandle
    private let value: [UInt8]

    /// - Parameter idleConnections: how many connections the host has beside the one that it notifies on.
    init(idleConnections: UInt16 = 0) throws {
        let database = try ServerHost.database(attributeCount: 40)
        driver = try ServerHost.connected(database)
        guard let handle = database.handle(of: ServerHost.notifyName),
            let connection = driver.host.connections.first?.handle
        else { throw WorkloadFailure("nothing to notify") }
        try ServerHost.addConnections(idleConnections, to: &driver)
        _ = driver.takePackets { _ in }
        self.handle = handle
        self.connection = connection
        value = (0..<ServerHost.longValueLength).map { UInt8(truncatingIfNeeded: $0) }
    }

    mutating func run(_ count: Int) throws(WorkloadFailure) {
        var good = 0
        for _ in 0..<count {
            do {
                try driver.host.gatt.notify(value[...], of: handle, on: connection, at: driver.now)
            } catch {
                throw WorkloadFailure("\(error)")
            }
            _ = driver.takePackets { pdu in
                if pdu.first == ATTNumber.notification, pdu.count == 3 + ServerHost.longValueLength { good += 1 }
            }
        }
        guard good == count else { throw WorkloadFailure("\(good) of \(count) notifications were sent") }
    }
}
