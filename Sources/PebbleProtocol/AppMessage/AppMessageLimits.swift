/// How large AppMessages may be, all in bytes. A dictionary's size is that of its encoded form, tuple headers
/// included.
package enum AppMessageLimits {
    /// What precedes the dictionary in a push: command, transaction, UUID.
    package static let pushHeaderLength = 2 + PebbleUUID.encodedLength
    /// The shortest push: an empty dictionary is one byte.
    package static let minimumPushLength = pushHeaderLength + AppMessageDictionary.headerLength

    /// The largest inbox dictionary that an app may always count on (`APP_MESSAGE_INBOX_SIZE_MINIMUM`).
    package static let guaranteedInboxSize = 124
    /// The largest outbox dictionary that an app may always count on (`APP_MESSAGE_OUTBOX_SIZE_MINIMUM`).
    package static let guaranteedOutboxSize = 636
    /// Largest inbox dictionary of an app that runs no JavaScript, without 8K messages.
    package static let legacyInboxSize = 144 - pushHeaderLength
    /// Largest inbox dictionary of an app that runs JavaScript, without 8K messages.
    package static let legacyJavaScriptInboxSize = 2044 - pushHeaderLength
    /// Largest outbox dictionary without 8K messages.
    package static let legacyOutboxSize = 636 + pushHeaderLength
    /// Largest dictionary either way with 8K messages: one tuple of 8192 bytes fits exactly.
    package static let extendedSize = AppMessageDictionary.encodedLength(valueLengths: CollectionOfOne(8192))

    /// The first app SDK that may use 8K messages.
    package static let firstSDKWithExtendedSize = SDKVersion(major: 5, minor: 0x3F)

    /// Whether 8K messages are in force for an app.
    package static func isExtendedSizeAllowed(phone: Capabilities, sdk: SDKVersion) -> Bool {
        phone.contains(.appMessage8K) && sdk >= firstSDKWithExtendedSize
    }

    /// The largest inbox dictionary that an app may open.
    package static func maximumInboxSize(phone: Capabilities, sdk: SDKVersion, allowsJavaScript: Bool) -> Int {
        if isExtendedSizeAllowed(phone: phone, sdk: sdk) { return extendedSize }
        return allowsJavaScript ? legacyJavaScriptInboxSize : legacyInboxSize
    }

    /// The largest outbox dictionary that an app may open.
    package static func maximumOutboxSize(phone: Capabilities, sdk: SDKVersion) -> Int {
        isExtendedSizeAllowed(phone: phone, sdk: sdk) ? extendedSize : legacyOutboxSize
    }
}
