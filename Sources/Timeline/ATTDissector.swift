import BluetoothHost
import ByteCoding
import PebbleProtocol

/// Follows the ATT of one link: what the attributes are, which request a response answers, and what PPoGATT carries on them.
struct ATTDissector: Sendable {
    /// The types of the host's own attributes, as far as the peer has asked for them.
    var own: [AttributeHandle: BluetoothUUID] = [:]
    /// The types of the peer's.
    var peers: [AttributeHandle: BluetoothUUID] = [:]
    /// The requests that wait for an answer on a bearer: the host's, and the peer's.
    private struct Pending: Sendable {
        var host: DissectedATT?
        var peer: DissectedATT?
    }

    /// By bearer: 0 is the fixed channel.
    private var pending: [Int: Pending] = [:]
    private var streams: [StreamName: PPoGATTStream] = [:]

    private struct StreamName: Hashable {
        let handle: AttributeHandle
        let isOwn: Bool
        let isFromHost: Bool
    }

    /// How many attributes and streams of one side are kept: more than any database of a watch or a phone has.
    private static let limit = 2048
    private static let bearerLimit = 64

    /// Takes the next PDU.
    mutating func take(_ pdu: DissectedATT, size: Int, bearer: Int, isFromHost: Bool) -> [LinkFinding] {
        let name = Details.words("\(pdu.opcode)")
        let isFromServer = isFromServer(pdu.opcode)
        /// Whether the attributes are the host's.
        let isOwn = isFromServer == isFromHost
        let isAnswer = isFromServer && pdu.opcode != .handleValueNotification
        let request = isAnswer ? takePending(ofHost: !isFromHost, on: bearer, pdu) : nil
        if !isFromServer, pdu.opcode.isRequest { setPending(pdu, ofHost: isFromHost, on: bearer) }
        learn(pdu, answering: request, isOwn: isOwn)
        var details = ["ATT: \(name), \(size) bytes\(bearer == 0 ? "" : ", on enhanced bearer \(bearer)")"]
        let handle = pdu.handle ?? request?.handle
        let attribute = handle.flatMap { title(of: $0, isOwn: isOwn) }
        if let handle { details.append("handle \(handle)\(attribute.map { ", \($0)" } ?? "")") }
        if let last = pdu.lastHandle { details.append("up to handle \(last)") }
        if let type = pdu.type { details.append("type \(AttributeNames.name(of: type))") }
        if let offset = pdu.offset { details.append("from byte \(offset) on") }
        if let mtu = pdu.mtu { details.append("MTU \(mtu) bytes") }
        if let error = pdu.error { details.append("\(error)") }
        for descriptor in pdu.types.prefix(12) {
            details.append("\(descriptor.handle): \(AttributeNames.name(of: descriptor.uuid))")
        }
        for each in pdu.values.prefix(12) { details.append("\(each.handle): \(Details.octets(each.value))") }
        if let value = pdu.value { details.append("value \(Details.octets(value))") }
        let short = Self.shortName(pdu.opcode, name)
        let label = attribute.map { "\(short) \($0)" } ?? pdu.mtu.map { "\(short) \($0)" } ?? short
        var findings = [LinkFinding(lane: .att, size: size, kind: name, label: label, details: details)]
        if let handle = pdu.handle, let value = pdu.value, Self.carriesPackets(pdu.opcode) {
            findings += packet(value, on: handle, isOwn: isOwn, isFromHost: isFromHost)
        }
        return findings
    }

    // MARK: - PPoGATT

    private static func carriesPackets(_ opcode: ATTOpcode) -> Bool {
        opcode == .writeCommand || opcode == .handleValueNotification
    }

    private mutating func packet(
        _ value: ArraySlice<UInt8>,
        on handle: AttributeHandle,
        isOwn: Bool,
        isFromHost: Bool
    ) -> [LinkFinding] {
        let type = (isOwn ? own : peers)[handle]
        guard type.map(AttributeNames.isPPoGATT) ?? Self.looksLikeReset(value) else { return [] }
        // Only a watch says a serial number in its request: from then on the handle is known.
        if type == nil { remember(.uuid128(PebbleAttribute.ppogattData), at: handle, isOwn: isOwn) }
        let name = StreamName(handle: handle, isOwn: isOwn, isFromHost: isFromHost)
        let packet: PPoGATTPacket
        do throws(ByteDecodingError) {
            packet = try PPoGATTPacket(value)
        } catch {
            let details = ["PPoGATT: cannot be decoded: \(error)", Details.octets(value)]
            return [
                LinkFinding(
                    lane: .ppogatt,
                    size: value.count,
                    kind: "problem",
                    label: "malformed",
                    details: details,
                    isProblem: true
                )
            ]
        }
        if packet.resets {
            // The reversed forms have an attribute for each direction, and the other form one for both.
            let isReversed = type.map(AttributeNames.isReversed) ?? false
            if isReversed {
                for key in streams.keys where key.isOwn == isOwn { streams[key] = PPoGATTStream(isWhole: true) }
            }
            for direction in isReversed ? [isFromHost] : [true, false] where streams.count < Self.limit {
                let name = StreamName(handle: handle, isOwn: isOwn, isFromHost: direction)
                streams[name] = PPoGATTStream(isWhole: true)
            }
        }
        // The watch is the client of PPoGATT, or the server of a reversed form: the side that a serial number would come from.
        let isFromWatch = type.map(AttributeNames.isReversed) ?? false ? isFromHost == isOwn : isFromHost != isOwn
        return streams[name, default: PPoGATTStream(isWhole: false)]
            .take(packet, size: value.count, isFromWatch: isFromWatch)
    }

    /// A watch's Reset Request: nothing else that is written without response to an attribute of this length begins so.
    private static func looksLikeReset(_ value: ArraySlice<UInt8>) -> Bool {
        guard value.count == PPoGATTPacket.headerLength + 1 + PPoGATTResetRequest.serialNumberLength,
            case .resetRequest(let request)? = try? PPoGATTPacket(value), request.version != nil,
            let serial = request.serialNumber
        else { return false }
        return !serial.isEmpty && serial.utf8.allSatisfy { (0x20..<0x7F).contains($0) }
    }

    // MARK: - What the attributes are

    private func isFromServer(_ opcode: ATTOpcode) -> Bool {
        switch opcode {
        case .errorResponse, .exchangeMTUResponse, .findInformationResponse, .findByTypeValueResponse,
            .readByTypeResponse, .readResponse, .readBlobResponse, .readMultipleResponse, .readByGroupTypeResponse,
            .writeResponse, .prepareWriteResponse, .executeWriteResponse, .readMultipleVariableResponse,
            .handleValueNotification, .handleValueIndication, .multipleHandleValueNotification:
            true
        case .exchangeMTURequest, .findInformationRequest, .findByTypeValueRequest, .readByTypeRequest, .readRequest,
            .readBlobRequest, .readMultipleRequest, .readByGroupTypeRequest, .writeRequest, .prepareWriteRequest,
            .executeWriteRequest, .readMultipleVariableRequest, .writeCommand, .signedWriteCommand,
            .handleValueConfirmation:
            false
        }
    }

    private mutating func takePending(ofHost: Bool, on bearer: Int, _ pdu: DissectedATT) -> DissectedATT? {
        guard pdu.opcode != .handleValueIndication, pdu.opcode != .multipleHandleValueNotification else { return nil }
        defer { setPending(nil, ofHost: ofHost, on: bearer) }
        return ofHost ? pending[bearer]?.host : pending[bearer]?.peer
    }

    private mutating func setPending(_ pdu: DissectedATT?, ofHost: Bool, on bearer: Int) {
        // Bearers that are gone are forgotten with all others: a capture can have any number of them.
        if pending.count > Self.bearerLimit { pending.removeAll() }
        if ofHost {
            pending[bearer, default: Pending()].host = pdu
        } else {
            pending[bearer, default: Pending()].peer = pdu
        }
    }

    private mutating func learn(_ pdu: DissectedATT, answering request: DissectedATT?, isOwn: Bool) {
        for descriptor in pdu.types { remember(descriptor.uuid, at: descriptor.handle, isOwn: isOwn) }
        switch pdu.opcode {
        case .readByTypeResponse where request?.type == .characteristic:
            // Properties (1), handle (2), UUID (2 or 16): Core 5.4, Vol 3, Part G, 3.3.1.
            for each in pdu.values {
                remember(.characteristic, at: each.handle, isOwn: isOwn)
                var reader = ByteReader(each.value.dropFirst())
                guard let handle = try? reader.readLittleEndian("handle", as: UInt16.self) else { continue }
                let uuid: BluetoothUUID? =
                    reader.count == 2
                    ? (try? reader.readLittleEndian("uuid", as: UInt16.self)).map(BluetoothUUID.uuid16)
                    : (try? reader.readLittleEndian("uuid", as: UInt128.self)).map(BluetoothUUID.uuid128)
                if let uuid { remember(uuid, at: AttributeHandle(rawValue: handle), isOwn: isOwn) }
            }
        case .readByTypeResponse, .readByGroupTypeResponse:
            if let type = request?.type {
                for each in pdu.values { remember(type, at: each.handle, isOwn: isOwn) }
            }
        case .findByTypeValueResponse:
            for each in pdu.values { remember(.primaryService, at: each.handle, isOwn: isOwn) }
        default: break
        }
    }

    private mutating func remember(_ type: BluetoothUUID, at handle: AttributeHandle, isOwn: Bool) {
        if isOwn, own.count < Self.limit { own[handle] = type }
        if !isOwn, peers.count < Self.limit { peers[handle] = type }
    }

    private func title(of handle: AttributeHandle, isOwn: Bool) -> String? {
        (isOwn ? own : peers)[handle].map(AttributeNames.name)
    }

    private static func shortName(_ opcode: ATTOpcode, _ name: String) -> String {
        switch opcode {
        case .writeCommand: "Write"
        case .handleValueNotification: "Notify"
        case .handleValueIndication: "Indicate"
        case .handleValueConfirmation: "Confirm"
        default: name.replacing(" Request", with: "?")
        }
    }
}

extension ATTOpcode {
    /// Whether a response follows.
    fileprivate var isRequest: Bool {
        switch self {
        case .exchangeMTURequest, .findInformationRequest, .findByTypeValueRequest, .readByTypeRequest, .readRequest,
            .readBlobRequest, .readMultipleRequest, .readByGroupTypeRequest, .writeRequest, .prepareWriteRequest,
            .executeWriteRequest, .readMultipleVariableRequest:
            true
        case .errorResponse, .exchangeMTUResponse, .findInformationResponse, .findByTypeValueResponse,
            .readByTypeResponse, .readResponse, .readBlobResponse, .readMultipleResponse, .readByGroupTypeResponse,
            .writeResponse, .prepareWriteResponse, .executeWriteResponse, .readMultipleVariableResponse,
            .handleValueNotification, .handleValueIndication, .multipleHandleValueNotification, .writeCommand,
            .signedWriteCommand, .handleValueConfirmation:
            false
        }
    }
}

extension PPoGATTPacket {
    /// Whether both sides begin again with it.
    fileprivate var resets: Bool {
        switch self {
        case .resetRequest, .resetComplete: true
        case .data, .acknowledgement: false
        }
    }
}
