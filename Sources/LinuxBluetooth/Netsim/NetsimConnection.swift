import BluetoothHCI

/// HCI packets to and from a controller of netsim's, which `cairn-netsim` carries.
final class NetsimConnection: HCIConnection {
    private let helper: NetsimHelper
    private let stream: H4Stream

    init(_ helper: NetsimHelper, input: consuming FileDescriptor) {
        self.helper = helper
        stream = H4Stream(owning: input, kind: .unixSocket, peer: .controller)
    }

    var descriptor: Int32 { stream.descriptor }

    var wantsToWrite: Bool { stream.wantsToWrite }

    var waitingBytes: Int { stream.waitingBytes }

    var hasRoom: Bool { stream.hasRoom }

    var hasMore: Bool { stream.hasMore }

    func receive(
        arrived: (ArraySlice<UInt8>) -> Void,
        _ handle: (ArraySlice<UInt8>) -> Void
    ) throws(ConnectionLoss) {
        do {
            try stream.receive(arrived: arrived, handle)
        } catch {
            throw explained(error)
        }
    }

    func takeGarbage() -> Garbage? {
        stream.takeGarbage() ?? helper.takeGarbage()
    }

    func send(_ packet: [UInt8]) { stream.send(packet) }

    func flush(acknowledging: Bool) throws(ConnectionLoss) {
        do {
            try stream.flush(acknowledging: acknowledging)
        } catch {
            throw explained(error)
        }
    }

    /// The helper says why before it closes its side.
    private func explained(_ loss: ConnectionLoss) -> ConnectionLoss {
        helper.readLines()
        return helper.end.map { .netsim($0) } ?? loss
    }
}
