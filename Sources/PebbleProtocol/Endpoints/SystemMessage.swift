import ByteCoding

/// Endpoint 0x0012: firmware update control. Layout: `00`, type, fields of the type.
package enum SystemMessage: EndpointMessage {
    /// Phone to watch; ignored.
    case firmwareAvailable
    /// Phone to watch. Sizes are there if the phone announced ``Capabilities/smoothFirmwareInstallProgress``.
    case firmwareUpdateStart(FirmwareTransferSizes?)
    /// Phone to watch; the watch reboots soon after.
    case firmwareUpdateComplete
    /// Phone to watch.
    case firmwareUpdateFailed
    /// Phone to watch.
    case firmwareUpToDate
    /// Watch to phone, historic.
    case stopReconnecting
    /// Watch to phone, historic.
    case startReconnecting
    /// 08, watch to phone, historic: MAP retry. MAP is the Message Access Profile, which the firmware no longer uses. The name
    /// here is libpebble2's.
    case mapDisabled
    /// 09, watch to phone, historic: MAP connected. The name here is libpebble2's.
    case mapEnabled
    /// Watch to phone; libpebble3 waits for it without limit.
    case firmwareUpdateStartResponse(FirmwareUpdateStatus)
    /// Phone to watch.
    case firmwareStatusRequest
    /// Watch to phone.
    case firmwareStatusResponse(StoredFirmware)

    /// How far an upload already is. UInt32 little-endian each.
    package struct FirmwareTransferSizes: Equatable, Sendable {
        /// What the watch has.
        package var alreadyTransferredByteCount: UInt32
        /// What will come.
        package var toTransferByteCount: UInt32

        /// Sizes in bytes.
        package init(alreadyTransferredByteCount: UInt32, toTransferByteCount: UInt32) {
            self.alreadyTransferredByteCount = alreadyTransferredByteCount
            self.toTransferByteCount = toTransferByteCount
        }
    }

    /// The watch's answer to the start of an update.
    package enum FirmwareUpdateStatus: UInt8, Sendable {
        /// No update is under way.
        case stopped = 0
        /// Accepted.
        case running = 1
        /// The update was broken off.
        case cancelled = 2
        /// The update failed.
        case failed = 3
    }

    /// What of an interrupted update is stored: CRCs are of the prefix that is there. Two reserved bytes, then UInt32
    /// little-endian each.
    package struct StoredFirmware: Equatable, Sendable {
        /// Of the system resources.
        package var resourceByteCount: UInt32
        /// Of so many bytes of the system resources.
        package var resourceCRC: UInt32
        /// Of the firmware.
        package var firmwareByteCount: UInt32
        /// Of so many bytes of the firmware.
        package var firmwareCRC: UInt32

        /// What is stored; zeros for nothing.
        package init(resourceByteCount: UInt32, resourceCRC: UInt32, firmwareByteCount: UInt32, firmwareCRC: UInt32) {
            self.resourceByteCount = resourceByteCount
            self.resourceCRC = resourceCRC
            self.firmwareByteCount = firmwareByteCount
            self.firmwareCRC = firmwareCRC
        }
    }

    private enum Kind: UInt8 {
        case firmwareAvailable = 0x00
        case firmwareUpdateStart = 0x01
        case firmwareUpdateComplete = 0x02
        case firmwareUpdateFailed = 0x03
        case firmwareUpToDate = 0x04
        case stopReconnecting = 0x06
        case startReconnecting = 0x07
        case mapDisabled = 0x08
        case mapEnabled = 0x09
        case firmwareUpdateStartResponse = 0x0A
        case firmwareStatusRequest = 0x0B
        case firmwareStatusResponse = 0x0C
    }

    /// The first byte of every message. The firmware does not look at it.
    private static let command: UInt8 = 0x00

    package static var endpoint: Endpoint { .systemMessage }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        _ = try reader.readUInt8("system_message.command")
        let type = try reader.readUInt8("system_message.type")
        guard let kind = Kind(rawValue: type) else {
            throw ByteDecodingError("system_message.type", .invalidValue(UInt64(type)))
        }
        switch kind {
        case .firmwareAvailable: self = .firmwareAvailable
        case .firmwareUpdateStart: self = .firmwareUpdateStart(try? Self.readTransferSizes(&reader))
        case .firmwareUpdateComplete: self = .firmwareUpdateComplete
        case .firmwareUpdateFailed: self = .firmwareUpdateFailed
        case .firmwareUpToDate: self = .firmwareUpToDate
        case .stopReconnecting: self = .stopReconnecting
        case .startReconnecting: self = .startReconnecting
        case .mapDisabled: self = .mapDisabled
        case .mapEnabled: self = .mapEnabled
        case .firmwareUpdateStartResponse:
            let code = try reader.readUInt8("system_message.status")
            guard let status = FirmwareUpdateStatus(rawValue: code) else {
                throw ByteDecodingError("system_message.status", .invalidValue(UInt64(code)))
            }
            self = .firmwareUpdateStartResponse(status)
        case .firmwareStatusRequest: self = .firmwareStatusRequest
        case .firmwareStatusResponse: self = .firmwareStatusResponse(try Self.readStoredFirmware(&reader))
        }
    }

    private static func readTransferSizes(
        _ reader: inout ByteReader
    ) throws(ByteDecodingError) -> FirmwareTransferSizes {
        FirmwareTransferSizes(
            alreadyTransferredByteCount: try reader.readLittleEndian("system_message.bytes_already_transferred"),
            toTransferByteCount: try reader.readLittleEndian("system_message.bytes_to_transfer")
        )
    }

    private static func readStoredFirmware(_ reader: inout ByteReader) throws(ByteDecodingError) -> StoredFirmware {
        _ = try reader.readBytes(2, "system_message.reserved")
        return StoredFirmware(
            resourceByteCount: try reader.readLittleEndian("system_message.resource_bytes"),
            resourceCRC: try reader.readLittleEndian("system_message.resource_crc"),
            firmwareByteCount: try reader.readLittleEndian("system_message.firmware_bytes"),
            firmwareCRC: try reader.readLittleEndian("system_message.firmware_crc")
        )
    }

    private var kind: Kind {
        switch self {
        case .firmwareAvailable: .firmwareAvailable
        case .firmwareUpdateStart: .firmwareUpdateStart
        case .firmwareUpdateComplete: .firmwareUpdateComplete
        case .firmwareUpdateFailed: .firmwareUpdateFailed
        case .firmwareUpToDate: .firmwareUpToDate
        case .stopReconnecting: .stopReconnecting
        case .startReconnecting: .startReconnecting
        case .mapDisabled: .mapDisabled
        case .mapEnabled: .mapEnabled
        case .firmwareUpdateStartResponse: .firmwareUpdateStartResponse
        case .firmwareStatusRequest: .firmwareStatusRequest
        case .firmwareStatusResponse: .firmwareStatusResponse
        }
    }

    package func encodePayload(to payload: inout [UInt8]) {
        payload += [Self.command, kind.rawValue]
        switch self {
        case .firmwareUpdateStart(let sizes?):
            payload.appendLittleEndian(sizes.alreadyTransferredByteCount)
            payload.appendLittleEndian(sizes.toTransferByteCount)
        case .firmwareUpdateStartResponse(let status):
            payload.append(status.rawValue)
        case .firmwareStatusResponse(let stored):
            payload += [0, 0]
            payload.appendLittleEndian(stored.resourceByteCount)
            payload.appendLittleEndian(stored.resourceCRC)
            payload.appendLittleEndian(stored.firmwareByteCount)
            payload.appendLittleEndian(stored.firmwareCRC)
        case .firmwareAvailable, .firmwareUpdateStart(nil), .firmwareUpdateComplete, .firmwareUpdateFailed,
            .firmwareUpToDate,
            .stopReconnecting, .startReconnecting, .mapDisabled, .mapEnabled, .firmwareStatusRequest:
            break
        }
    }
}
