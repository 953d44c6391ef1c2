import BluetoothHCI
import BluetoothHost
import ByteCoding
import Faults
import PebblePhone
import PebbleProtocol
import PebbleWatch

/// A dictionary that goes to the watch and comes back, through the watch alone: HCI packets in, HCI packets out, the
/// acknowledgements of PPoGATT and AppMessage included. The phone's part is played by hand, without allocating.
struct EchoWorkload<Host: DrivableHost>: Workload {
    private var driver: HCIDriver<Host>
    private var phone: HandmadePhone

    /// - Parameters:
    ///   - hadFaults: whether the watch has had a fault of each of its seams, which are cleared: nothing is left.
    ///   - wrap: puts around the watch what is to be measured with it.
    init(hadFaults: Bool = false, _ wrap: (Watch) -> Host) throws {
        var pair = try WatchAndPhone(.reversed)
        guard
            let write = pair.discovered.characteristic(.uuid128(PebbleAttribute.reversedDataWrite)),
            let connection = ConnectionHandle(rawValue: firstConnection)
        else { throw WorkloadFailure("the watch hosts no transport") }
        var taken = try pair.takeWatch()
        if hadFaults {
            for (number, name) in ["ppogatt.data-lost", "message.lost", "storage.full"].enumerated() {
                let fault = try Fault(parsing: name + " after=60min")
                try taken.watch.perform(.addFault(fault, FaultID(rawValue: number + 1)), at: taken.now)
            }
            try taken.watch.perform(.clearFaults(), at: taken.now)
        }
        driver = HCIDriver(wrap(taken.watch), connection: connection, at: taken.now)
        phone = HandmadePhone(
            writeHandle: write.value,
            dictionary: try AppMessageDictionary(try SampleDictionary.small())
        )
        // Both sides' sequence numbers begin at zero again.
        phone.reset(&driver)
        guard phone.isOpen else { throw WorkloadFailure("the transport was not reset") }
    }

    mutating func run(_ count: Int) throws(WorkloadFailure) {
        let before = phone.echoCount
        for _ in 0..<count { phone.exchange(&driver) }
        guard phone.echoCount - before == count else {
            throw WorkloadFailure("\(phone.echoCount - before) of \(count) echoes came")
        }
    }
}

extension EchoWorkload<Watch> {
    /// The watch alone.
    init(hadFaults: Bool = false) throws { try self.init(hadFaults: hadFaults) { $0 } }
}

/// What simulated controllers call their first connection.
private let firstConnection: UInt16 = 0x0040

/// The least that a phone must do to keep a watch talking.
private struct HandmadePhone {
    private let writeHandle: AttributeHandle
    /// A push of the dictionary, whole but for its transaction.
    private var push: [UInt8]
    private let dictionary: [UInt8]
    private var nextOutbound: UInt8 = 0
    private var transaction: UInt8 = 0
    /// The watch's stream, as far as it has not been read.
    private var stream: [UInt8] = []
    private(set) var isOpen = false
    private(set) var echoCount = 0

    /// Where in a push with its header the transaction stands.
    private static let transactionIndex = PebbleMessage.headerLength + 1

    init(writeHandle: AttributeHandle, dictionary: AppMessageDictionary) {
        self.writeHandle = writeHandle
        self.dictionary = Array(dictionary.encoded)
        push = []
        let message = AppMessage.push(
            AppMessagePush(transaction: 0, application: DemonstrationScript.echo, dictionary: dictionary)
        )
        try? MessageFramer.append(message, to: &push)
    }

    /// Begins a session: Reset Request and Reset Complete, then the answer to the watch's question.
    mutating func reset(_ driver: inout HCIDriver<some DrivableHost>) {
        send([0x02, 0x01], &driver)
        var isReset = false
        _ = driver.takePackets { if $0.dropFirst(3).first == 0x03 { isReset = true } }
        guard isReset else { return }
        send([0x03, 25, 25], &driver)
        isOpen = true
        answer(&driver)
        var version: [UInt8] = []
        try? MessageFramer.append(PhoneVersionMessage.response(PhoneConfiguration.usualVersion), to: &version)
        sendData(version, &driver)
        answer(&driver)
    }

    /// Sends the dictionary, and does what must be done until the watch has nothing more to say.
    mutating func exchange(_ driver: inout HCIDriver<some DrivableHost>) {
        transaction &+= 1
        push[Self.transactionIndex] = transaction
        sendData(push, &driver)
        answer(&driver)
    }

    private mutating func answer(_ driver: inout HCIDriver<some DrivableHost>) {
        while true {
            var newest: UInt8?
            _ = driver.takePackets { pdu in
                // Behind opcode and handle: data have type 0.
                guard let header = pdu.dropFirst(3).first, header & 0x7 == 0 else { return }
                newest = header
                stream += pdu.dropFirst(4)
            }
            guard let newest else { return }
            acknowledge(newest, &driver)
            readStream(&driver)
        }
    }

    /// Acknowledges every push in the stream.
    private mutating func readStream(_ driver: inout HCIDriver<some DrivableHost>) {
        var start = 0
        while stream.count - start >= PebbleMessage.headerLength {
            let length = Int(stream[start]) << 8 | Int(stream[start + 1])
            let payload = start + PebbleMessage.headerLength
            guard stream.count - payload >= length else { break }
            let isAppMessage = stream[start + 2] == 0 && stream[start + 3] == 0x30
            if isAppMessage, length > AppMessageLimits.pushHeaderLength, stream[payload] == 0x01 {
                let echo = stream[(payload + AppMessageLimits.pushHeaderLength)..<(payload + length)]
                if echo.elementsEqual(dictionary) { echoCount += 1 }
                sendAcknowledgement(of: stream[payload + 1], &driver)
            }
            start = payload + length
        }
        stream.removeSubrange(..<start)
    }

    private mutating func sendAcknowledgement(of transaction: UInt8, _ driver: inout HCIDriver<some DrivableHost>) {
        let header = takeDataHeader()
        driver.deliver(length: 3 + 1 + 6) {
            appendWriteCommand(to: &$0)
            $0.append(header)
            $0.appendBigEndian(UInt16(2))
            $0.appendBigEndian(Endpoint.appMessage.rawValue)
            $0.append(0xFF)
            $0.append(transaction)
        }
    }

    private mutating func sendData(_ payload: [UInt8], _ driver: inout HCIDriver<some DrivableHost>) {
        let header = takeDataHeader()
        driver.deliver(length: 3 + 1 + payload.count) {
            appendWriteCommand(to: &$0)
            $0.append(header)
            $0 += payload
        }
    }

    private mutating func takeDataHeader() -> UInt8 {
        defer { nextOutbound = (nextOutbound + 1) & 0x1F }
        return nextOutbound << 3
    }

    /// Acknowledges everything up to a data packet, whose header this is.
    private func acknowledge(_ header: UInt8, _ driver: inout HCIDriver<some DrivableHost>) {
        driver.deliver(length: 3 + 1) {
            appendWriteCommand(to: &$0)
            $0.append(header | 0x1)
        }
    }

    private func send(_ packet: [UInt8], _ driver: inout HCIDriver<some DrivableHost>) {
        driver.deliver(length: 3 + packet.count) {
            appendWriteCommand(to: &$0)
            $0 += packet
        }
    }

    private func appendWriteCommand(to buffer: inout [UInt8]) {
        buffer.append(ATTNumber.writeCommand)
        buffer.appendLittleEndian(writeHandle.rawValue)
    }
}
