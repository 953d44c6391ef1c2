import ByteCoding

/// Endpoint 0xABCD, phone to watch: the launcher's order. Layout: `01`, count, UUIDs.
package struct AppOrderRequest: EndpointMessage {
    /// First to last; at most 255 are sent.
    package var applications: [PebbleUUID]

    /// An order.
    package init(applications: [PebbleUUID]) { self.applications = applications }

    private static let command: UInt8 = 0x01

    package static var endpoint: Endpoint { .appOrder }

    /// What is wrong with an order, and how the firmware takes it.
    package enum Problem: Equatable, Sendable {
        /// The count is not the number of UUIDs: answered with `AppOrderResponse.invalid`, and then done as far as it goes.
        case wrongCount
    }

    /// Nil for an order whose count is right.
    package private(set) var problem: Problem?

    /// A length that leaves a part of a UUID is an error, answered with `AppOrderResponse.invalid`; so is another command,
    /// answered with ``AppOrderResponse/failure``.
    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        let command = try reader.readUInt8("app_order.command")
        let count = Int(try reader.readUInt8("app_order.count"))
        guard reader.count.isMultiple(of: PebbleUUID.encodedLength) else {
            throw ByteDecodingError("app_order.uuids", .invalidLength(reader.count))
        }
        guard command == Self.command else {
            throw ByteDecodingError(Self.commandField, .invalidValue(UInt64(command)))
        }
        let present = reader.count / PebbleUUID.encodedLength
        applications = []
        for _ in 0..<min(count, present) { applications.append(try PebbleUUID(reading: &reader, "app_order.uuid")) }
        if count != present { problem = .wrongCount }
    }

    /// The field of the error that another command makes.
    package static let commandField = "app_order.command"

    package func encodePayload(to payload: inout [UInt8]) {
        let fitting = applications.prefix(Int(UInt8.max))
        payload += [Self.command, UInt8(truncatingIfNeeded: fitting.count)]
        for application in fitting { application.encode(to: &payload) }
    }
}

/// Endpoint 0xABCD, watch to phone: one byte. libpebble3 does not wait for it.
package enum AppOrderResponse: UInt8, EndpointMessage {
    /// `01`: the order is stored.
    case success = 0x01
    /// `02`: the command does not exist, or the order could not be stored.
    case failure = 0x02
    /// `03`: the length leaves a part of a UUID, or the count is not the number of UUIDs.
    case invalid = 0x03
    /// `04`: too many orders wait to be stored; the phone may send this one again.
    case retryLater = 0x04

    package static var endpoint: Endpoint { .appOrder }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        let status = try reader.readUInt8("app_order.status")
        guard let response = AppOrderResponse(rawValue: status) else {
            throw ByteDecodingError("app_order.status", .invalidValue(UInt64(status)))
        }
        self = response
    }

    package func encodePayload(to payload: inout [UInt8]) { payload.append(rawValue) }
}
