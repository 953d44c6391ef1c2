import ByteCoding

/// Endpoint 0x2CB0: what the user did with a notification or a pin, and the result. Layout: command, item (16
/// bytes), action or response, attribute count, attributes; little-endian.
public enum TimelineActionMessage: EndpointMessage {
    /// `02`, watch to phone.
    case invoke(Invocation)
    /// `03`, watch to phone: the same for an item that came through ANCS.
    case invokeANCS(Invocation)
    /// `11`, phone to watch.
    case response(Response)
    /// `12`, phone to watch: with actions to choose from.
    case responseWithActions(Response, [TimelineItemAction])

    /// What was done.
    public struct Invocation: Equatable, Sendable {
        /// The notification or pin.
        public var item: PebbleUUID
        /// One of the item's.
        public var actionID: UInt8
        /// A typed reply is a title.
        public var attributes: [TimelineAttribute]

        /// An invocation.
        public init(item: PebbleUUID, actionID: UInt8, attributes: [TimelineAttribute]) {
            self.item = item
            self.actionID = actionID
            self.attributes = attributes
        }
    }

    /// The phone's answer: the result of the action.
    public struct Response: Equatable, Sendable {
        /// The notification or pin.
        public var item: PebbleUUID
        /// How it went.
        public var code: Code
        /// Subtitle and icon are shown.
        public var attributes: [TimelineAttribute]

        /// How an action went.
        public struct Code: RawRepresentable, Hashable, Sendable {
            public let rawValue: UInt8

            /// From 0x0F on, codes open follow-ups.
            public init(rawValue: UInt8) { self.rawValue = rawValue }

            /// The action succeeded.
            public static let acknowledgement = Code(rawValue: 0)
            /// The action failed.
            public static let negativeAcknowledgement = Code(rawValue: 1)
        }

        /// A response.
        public init(item: PebbleUUID, code: Code, attributes: [TimelineAttribute]) {
            self.item = item
            self.code = code
            self.attributes = attributes
        }
    }

    private enum Command {
        static let invoke: UInt8 = 0x02
        static let invokeANCS: UInt8 = 0x03
        static let response: UInt8 = 0x11
        static let responseWithActions: UInt8 = 0x12
    }

    public static var endpoint: Endpoint { .timelineAction }

    public init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        let command = try reader.readUInt8("timeline_action.command")
        switch command {
        case Command.invoke, Command.invokeANCS:
            let item = try PebbleUUID(reading: &reader, "timeline_action.item")
            let actionID = try reader.readUInt8("timeline_action.action_id")
            let count = try reader.readUInt8("timeline_action.attribute_count")
            let attributes = try TimelineAttribute.readList(&reader, count: count)
            let invocation = Invocation(item: item, actionID: actionID, attributes: attributes)
            self = command == Command.invoke ? .invoke(invocation) : .invokeANCS(invocation)
        case Command.response:
            let item = try PebbleUUID(reading: &reader, "timeline_action.item")
            let code = Response.Code(rawValue: try reader.readUInt8("timeline_action.response"))
            let count = try reader.readUInt8("timeline_action.attribute_count")
            let attributes = try TimelineAttribute.readList(&reader, count: count)
            self = .response(Response(item: item, code: code, attributes: attributes))
        case Command.responseWithActions:
            let item = try PebbleUUID(reading: &reader, "timeline_action.item")
            let code = Response.Code(rawValue: try reader.readUInt8("timeline_action.response"))
            let attributeCount = try reader.readUInt8("timeline_action.attribute_count")
            let actionCount = try reader.readUInt8("timeline_action.action_count")
            let attributes = try TimelineAttribute.readList(&reader, count: attributeCount)
            var actions: [TimelineItemAction] = []
            for _ in 0..<actionCount { actions.append(try TimelineItemAction(reading: &reader)) }
            self = .responseWithActions(Response(item: item, code: code, attributes: attributes), actions)
        default: throw ByteDecodingError("timeline_action.command", .invalidValue(UInt64(command)))
        }
    }

    public func encodePayload(to payload: inout [UInt8]) {
        switch self {
        case .invoke(let invocation):
            Self.encode(Command.invoke, invocation.item, invocation.actionID, to: &payload)
            TimelineAttribute.encodeCounted(invocation.attributes, to: &payload)
        case .invokeANCS(let invocation):
            Self.encode(Command.invokeANCS, invocation.item, invocation.actionID, to: &payload)
            TimelineAttribute.encodeCounted(invocation.attributes, to: &payload)
        case .response(let response):
            Self.encode(Command.response, response.item, response.code.rawValue, to: &payload)
            TimelineAttribute.encodeCounted(response.attributes, to: &payload)
        case .responseWithActions(let response, let actions):
            Self.encode(Command.responseWithActions, response.item, response.code.rawValue, to: &payload)
            let attributes = response.attributes.prefix(Int(UInt8.max))
            let actions = actions.prefix(Int(UInt8.max))
            payload += [UInt8(truncatingIfNeeded: attributes.count), UInt8(truncatingIfNeeded: actions.count)]
            for attribute in attributes { attribute.encode(to: &payload) }
            for action in actions { action.encode(to: &payload) }
        }
    }

    private static func encode(_ command: UInt8, _ item: PebbleUUID, _ detail: UInt8, to payload: inout [UInt8]) {
        payload.append(command)
        item.encode(to: &payload)
        payload.append(detail)
    }
}
