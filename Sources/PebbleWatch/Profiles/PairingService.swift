import BluetoothHCI
import BluetoothHost
import BluetoothPeripheral
import ByteCoding
import DequeModule
import PebbleProtocol

/// The Pebble Pairing Service: what phones read of their link, and what they ask for by writing.
///
/// The watch tells it how each link is (`describe`), and carries out what phones ask for (`nextRequest`).
struct PairingService: GATTService {
    enum Value: String, CaseIterable {
        case connectivity
        case trigger = "trigger pairing"
        case mtu = "GATT MTU"
        case connectionParameters = "connection parameters"
    }

    /// What a phone can read of its link.
    struct Link: Sendable {
        let connectivity: ConnectivityStatus
        let mtu: Int
        let parameters: ConnectionParametersStatus?
    }

    /// What a phone asks for.
    enum Request: Sendable {
        /// To be asked to encrypt or to pair. The token is accepted afterwards.
        case security(ConnectionHandle, ReplyToken)
        /// To be asked for its MTU. The token is accepted afterwards.
        case exchangeMTU(ConnectionHandle, ReplyToken)
        /// To manage the link's parameters, or to have it fast. The token is accepted or refused.
        case parameters(ConnectionParametersCommand, ConnectionHandle, ReplyToken)
        /// The same, in bytes that make no sense; it is refused already.
        case badParameters(ConnectionParametersCommand.Refusal, ConnectionHandle)
        /// An app on the phone has subscribed to Connectivity, or does not want it any more.
        case app(isThere: Bool, ConnectionHandle)
    }

    /// A value to be sent.
    private struct Notice: Sendable {
        let value: Value
        let connection: ConnectionHandle
        let isForced: Bool
    }

    private struct Subscriber: Hashable, Sendable {
        let value: Value
        let connection: ConnectionHandle
    }

    let declaration: Service
    let values: [Value]
    private var links: [ConnectionHandle: Link] = [:]
    private var subscribers: Set<Subscriber> = []
    private var notices: Deque<Notice> = []
    private var requests: Deque<Request> = []

    init(_ configuration: WatchConfiguration) {
        let personality = configuration.personality
        var values: [Value] = [.connectivity, .trigger]
        if personality.hasPairingMTU { values.append(.mtu) }
        if configuration.offersConnectionParameters { values.append(.connectionParameters) }
        self.values = values
        // Nothing in it needs encryption, because a phone must be able to use it before it pairs.
        declaration = Service(.uuid16(PebbleAttribute.pairingService)) {
            Characteristic(
                .uuid128(PebbleAttribute.connectivityStatus),
                [.read, .notify],
                of: Value.connectivity,
                answersSubscriptions: personality.notifiesSubscribers
            )
            Characteristic(.uuid128(PebbleAttribute.triggerPairing), [.read, .write], of: Value.trigger)
            if values.contains(.mtu) {
                Characteristic(
                    .uuid128(PebbleAttribute.pairingMTU),
                    [.read, .write, .notify],
                    of: Value.mtu,
                    answersSubscriptions: true
                )
            }
            if values.contains(.connectionParameters) {
                Characteristic(
                    .uuid128(PebbleAttribute.connectionParameters),
                    [.read, .write, .notify],
                    of: Value.connectionParameters,
                    answersSubscriptions: true
                )
            }
        }
    }

    // MARK: For the watch

    /// Says how a link is.
    mutating func describe(_ connection: ConnectionHandle, _ link: Link) { links[connection] = link }

    /// A value has changed: the phone is told if it has subscribed.
    /// - Parameter evenIfNotSubscribed: as the real watch does with Connectivity when a link becomes encrypted, since phones wait
    ///   for it whether or not they have come to subscribing. The same when the bond is stored: an iPhone waits for both.
    mutating func changed(_ value: Value, on connection: ConnectionHandle, evenIfNotSubscribed: Bool = false) {
        notices.append(Notice(value: value, connection: connection, isForced: evenIfNotSubscribed))
    }

    /// The next thing that a phone asks for.
    mutating func nextRequest() -> Request? { requests.popFirst() }

    // MARK: For phones

    mutating func read(_ value: Value, by peer: Peer, _ output: inout Output) -> ReadReply {
        switch value {
        case .connectivity, .mtu, .connectionParameters:
            return .value(bytes(of: value, on: peer.connection))
        case .trigger:
            // Old companions read it to have a Security Request sent; there is nothing to read.
            guard !peer.security.isEncrypted else { return .refused(.unlikelyError) }
            let token = output.later()
            requests.append(.security(peer.connection, token))
            return .later(token)
        }
    }

    mutating func write(
        _ bytes: ArraySlice<UInt8>,
        to value: Value,
        by peer: Peer,
        _ output: inout Output
    ) -> WriteReply {
        switch value {
        case .connectivity: return .refused(.writeNotPermitted)
        case .trigger:
            let trigger = PairingTrigger(rawValue: bytes.first ?? 0)
            guard trigger.wantsSecurityRequest(isEncrypted: peer.security.isEncrypted) else { return .done }
            let token = output.later()
            requests.append(.security(peer.connection, token))
            return .later(token)
        case .mtu:
            // Any value: the watch is to ask for its largest.
            guard bytes.count == 2 else { return .refused(.invalidAttributeValueLength) }
            let token = output.later()
            requests.append(.exchangeMTU(peer.connection, token))
            return .later(token)
        case .connectionParameters:
            do throws(ConnectionParametersCommand.Refusal) {
                let command = try ConnectionParametersCommand(bytes)
                let token = output.later()
                requests.append(.parameters(command, peer.connection, token))
                return .later(token)
            } catch {
                requests.append(.badParameters(error, peer.connection))
                return .refused(ATTError(rawValue: error.rawValue))
            }
        }
    }

    mutating func subscriptionChanged(
        of value: Value,
        to subscription: Subscription,
        _ cause: SubscriptionChange.Cause,
        by peer: Peer,
        _ output: inout Output
    ) {
        let subscriber = Subscriber(value: value, connection: peer.connection)
        if subscription.isEmpty { subscribers.remove(subscriber) } else { subscribers.insert(subscriber) }
        switch value {
        case .connectivity:
            if cause != .restored { requests.append(.app(isThere: !subscription.isEmpty, peer.connection)) }
            if cause == .requested { tell(value, on: peer.connection, &output) }
        case .mtu:
            if cause == .requested { tell(value, on: peer.connection, &output) }
        case .connectionParameters: tell(value, on: peer.connection, &output)
        case .trigger: break
        }
    }

    mutating func disconnected(_ peer: Peer, _ output: inout Output) {
        links[peer.connection] = nil
        for value in Value.allCases { subscribers.remove(Subscriber(value: value, connection: peer.connection)) }
    }

    mutating func advance(_ output: inout Output) {
        while let notice = notices.popFirst() {
            tell(notice.value, on: notice.connection, isForced: notice.isForced, &output)
        }
    }

    private func tell(
        _ value: Value,
        on connection: ConnectionHandle,
        isForced: Bool = false,
        _ output: inout Output
    ) {
        guard values.contains(value), links[connection] != nil,
            isForced || subscribers.contains(Subscriber(value: value, connection: connection))
        else { return }
        output.notify(value, bytes(of: value, on: connection), to: connection, evenIfNotSubscribed: isForced)
    }

    private func bytes(of value: Value, on connection: ConnectionHandle) -> [UInt8] {
        guard let link = links[connection] else { return [] }
        switch value {
        case .connectivity: return link.connectivity.encoded
        case .trigger: return []
        case .mtu:
            var bytes: [UInt8] = []
            bytes.appendLittleEndian(UInt16(clamping: link.mtu))
            return bytes
        case .connectionParameters: return link.parameters?.encoded ?? []
        }
    }
}
