import BluetoothHost
import ByteCoding

/// What a notification says, by Apple's numbers.
struct ANCSAttributeID: RawRepresentable, Hashable, Sendable {
    let rawValue: UInt8

    static let appIdentifier = ANCSAttributeID(rawValue: 0)
    static let title = ANCSAttributeID(rawValue: 1)
    static let subtitle = ANCSAttributeID(rawValue: 2)
    static let message = ANCSAttributeID(rawValue: 3)
    static let messageSize = ANCSAttributeID(rawValue: 4)
    static let date = ANCSAttributeID(rawValue: 5)
    static let positiveActionLabel = ANCSAttributeID(rawValue: 6)
    static let negativeActionLabel = ANCSAttributeID(rawValue: 7)
}

/// What the watch writes to the Control Point.
enum ANCSCommand: Hashable, Sendable {
    /// Get Notification Attributes: `00`, UID, attributes, those that can be long with the most bytes wanted.
    case getNotificationAttributes(ANCSNotificationUID, titleLimit: Int = longestTitle)
    /// Get App Attributes: `01`, the app's identifier, NUL, the display name's number.
    case getAppName(String)
    /// Perform Notification Action: `02`, UID, action.
    case perform(ANCSAction, ANCSNotificationUID)
    /// Get Notification Attributes of a notification that there is not: a service that is alive refuses it.
    case probe

    /// The most bytes of each text that a watch asks for; of titles, some ask for less.
    static let longestTitle = 128
    static let subtitleLimit = 40
    static let messageLimit = 200

    /// The first byte of a command, and of its response.
    enum ID {
        static let getNotificationAttributes: UInt8 = 0
        static let getAppAttributes: UInt8 = 1
        static let performNotificationAction: UInt8 = 2
    }

    /// The number of an app's display name, its only attribute.
    static let displayName: UInt8 = 0

    var encoded: [UInt8] {
        var bytes: [UInt8] = []
        switch self {
        case .getNotificationAttributes(let uid, let titleLimit):
            bytes.append(ID.getNotificationAttributes)
            bytes.appendLittleEndian(uid.rawValue)
            bytes += [ANCSAttributeID.positiveActionLabel, .negativeActionLabel, .appIdentifier].map(\.rawValue)
            let limits: [(ANCSAttributeID, Int)] = [
                (.title, titleLimit), (.subtitle, Self.subtitleLimit), (.message, Self.messageLimit),
            ]
            for (id, limit) in limits {
                bytes.append(id.rawValue)
                bytes.appendLittleEndian(UInt16(clamping: limit))
            }
            // Last, because its length is known: that marks the end of the response.
            bytes.append(ANCSAttributeID.date.rawValue)
        case .getAppName(let app):
            bytes.append(ID.getAppAttributes)
            bytes += app.utf8
            bytes += [0, Self.displayName]
        case .perform(let action, let uid):
            bytes.append(ID.performNotificationAction)
            bytes.appendLittleEndian(uid.rawValue)
            bytes.append(action.rawValue)
        case .probe:
            bytes.append(ID.getNotificationAttributes)
            bytes.appendLittleEndian(ANCSNotificationUID.none.rawValue)
        }
        return bytes
    }
}

/// Why the phone refuses a command, beyond ATT's own reasons.
extension ATTError {
    /// The phone does not know the command.
    static let ancsUnknownCommand = ATTError(rawValue: 0xA0)
    /// The command is malformed.
    static let ancsInvalidCommand = ATTError(rawValue: 0xA1)
    /// What the command names is not there.
    static let ancsInvalidParameter = ATTError(rawValue: 0xA2)
    /// The action could not be performed.
    static let ancsActionFailed = ATTError(rawValue: 0xA3)
}

extension GATTProcedureError {
    /// Whether asking once more would come to the same: the service itself refuses, or the question is too long for the link.
    var isFinalToANCS: Bool {
        switch self {
        case .refused(let refusal):
            let codes = ATTError.ancsUnknownCommand.rawValue...ATTError.ancsActionFailed.rawValue
            return codes.contains(refusal.error.rawValue)
        case .valueExceedsMTU: return true
        case .timedOut, .disconnected, .unexpectedResponse, .malformedResponse, .handleOutOfRange, .tooManyResults,
            .valueTooLong, .writeNotEchoed:
            return false
        }
    }

    /// Whether the phone has no such notification, or no such app.
    var isNothingToANCS: Bool {
        guard case .refused(let refusal) = self else { return false }
        return refusal.error == .ancsInvalidParameter
    }
}
