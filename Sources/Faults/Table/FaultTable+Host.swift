// Faults of what the host says: ATT, GATT, L2CAP, pairing, encryption.

extension FaultDefinition {
    // MARK: ATT and GATT

    static let requestFilter: [FaultParameter] = [
        .number(.opcode, 0x02...0x20, "the opcode of the request"),
        .number(.handle, 0x0001...0xFFFF, "the handle that the request names, or begins at"),
    ]

    static let att = [
        FaultDefinition(
            .hci(.attError),
            "The watch answers a request of the phone's with an error.",
            .each,
            requestFilter + [.number(.error, 0x01...0xFF, default: 0x0E, "the error code; 0x0E is Unlikely Error")]
        ),
        FaultDefinition(
            .hci(.attLate),
            "The watch answers a request of the phone's late.",
            .each,
            requestFilter + [.time(.delay, .milliseconds(1)...(.seconds(120)), default: .seconds(5), "how late")]
        ),
        FaultDefinition(.hci(.attNever), "The watch never answers a request of the phone's.", .each, requestFilter),
        FaultDefinition(.hci(.attTwice), "The watch answers a request of the phone's twice.", .each, requestFilter),
        FaultDefinition(
            .hci(.mtuRefused),
            "The watch does not support the exchange of MTUs: 23 octets is what there is.",
            .each
        ),
        FaultDefinition(
            .hci(.confirmationNotAwaited),
            "The watch sends its next indication without waiting for the confirmation of the last.",
            .each
        ),
        FaultDefinition(
            .watch(.databaseChanged),
            "The watch's database changes under a phone that may have cached it.",
            .once,
            [
                .word(
                    .told,
                    ["yes", "no"],
                    default: "yes",
                    "whether the phone is told: by Service Changed, and by an error if it is not aware"
                )
            ]
        ),
        FaultDefinition(
            .hci(.serviceChangedLost),
            "Service Changed does not reach the phone, though the watch counts it as confirmed.",
            .each
        ),
        FaultDefinition(.hci(.wrongHash), "The Database Hash that the phone reads is another one.", .each),
    ]

    // MARK: L2CAP

    static let channels = [
        FaultDefinition(
            .hci(.creditsWithheld),
            "The watch gives the phone no more credits on its channels.",
            .each,
            [.number(.channel, 0x0040...0x007F, "the watch's end of the channel; without it, every one")]
        ),
        FaultDefinition(
            .hci(.psmRefused),
            "The watch refuses a channel to a PSM.",
            .each,
            [
                .number(.psm, 0x0001...0x00FF, "the PSM; without it, every one"),
                .number(.result, 0x0002...0x000C, default: 0x0002, "the result; 0x0002 is SPSM not supported"),
            ]
        ),
        FaultDefinition(
            .hci(.channelDropped),
            "The watch closes a channel when a number of bytes has passed.",
            .each,
            [.number(.bytes, 0...1_000_000_000, unit: "bytes", default: 0, "what passes before, of both directions")]
        ),
        FaultDefinition(
            .hci(.tinyMPS),
            "The watch takes channels with tiny frames only.",
            .each,
            [.number(.mps, 23...64, unit: "bytes", default: 23, "the MPS that the phone is told")]
        ),
        FaultDefinition(
            .hci(.parametersRefused),
            "A request for other connection parameters is refused.",
            .each,
            [.word(.direction, pduDirections, default: "both", "whose requests: from-phone or to-phone")]
        ),
    ]

    // MARK: Security

    static let security = [
        FaultDefinition(
            .hci(.pairingRefused),
            "The watch refuses to pair, for a reason.",
            .each,
            [.number(.reason, 0x01...0x0F, default: 0x05, "the reason; 0x05 is Pairing Not Supported")]
        ),
        FaultDefinition(
            .hci(.pairingStalled),
            "A pairing stalls: from a step on the phone hears nothing of it from the watch.",
            .each,
            [
                .word(
                    .step,
                    ["response", "public-key", "confirm", "random", "dhkey-check", "keys"],
                    default: "confirm",
                    "the first PDU of the watch's that the phone does not get"
                )
            ]
        ),
        FaultDefinition(.hci(.wrongConfirm), "The watch's Pairing Confirm does not fit its random value.", .each),
        FaultDefinition(.hci(.wrongDHKeyCheck), "The watch's Pairing DHKey Check is wrong.", .each),
        FaultDefinition(
            .hci(.otherModel),
            "The watch pairs by another model than its abilities allow.",
            .each,
            [
                .word(
                    .to,
                    ["just-works", "numeric", "passkey"],
                    default: "just-works",
                    "the model that the watch's Pairing Response asks for"
                )
            ]
        ),
        FaultDefinition(
            .watch(.bondForgotten),
            "The watch forgets the bond, and says nothing: the link stays, and the next one fails.",
            .once
        ),
        FaultDefinition(
            .hci(.keyCorrupted),
            "The watch encrypts with a key that is one bit off: the first packet fails its check.",
            .each
        ),
        FaultDefinition(.hci(.encryptionRefused), "The watch says that it has no key for the phone.", .each),
    ]
}
