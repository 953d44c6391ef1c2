// Faults above the host: PPoGATT, the Pebble Protocol, the watch.

extension FaultDefinition {
    // MARK: PPoGATT

    static let ppogatt = [
        FaultDefinition(
            .ppogatt(.ackLost),
            "An Ack is lost.",
            .each,
            [.word(.direction, pduDirections, default: "to-phone", "whose Acks: from-phone or to-phone")]
        ),
        FaultDefinition(
            .ppogatt(.ackLate),
            "An Ack is late.",
            .each,
            [
                .word(.direction, pduDirections, default: "to-phone", "whose Acks: from-phone or to-phone"),
                .time(.delay, .milliseconds(1)...(.seconds(60)), default: .seconds(1), "how late"),
            ]
        ),
        FaultDefinition(.ppogatt(.ackDoubled), "The watch sends an Ack twice.", .each),
        FaultDefinition(
            .ppogatt(.dataLost),
            "A Data packet is lost.",
            .each,
            [.word(.direction, pduDirections, default: "to-phone", "whose packets: from-phone or to-phone")]
        ),
        FaultDefinition(.ppogatt(.dataCorrupted), "A bit in a Data packet of the watch's is turned over.", .each),
        FaultDefinition(.ppogatt(.dataReordered), "Two Data packets of the watch's change places.", .each),
        FaultDefinition(.ppogatt(.dataRepeated), "The watch sends a Data packet twice.", .each),
        FaultDefinition(
            .ppogatt(.reset),
            "The watch resets the transport in the middle of it.",
            .each,
            [.number(.packets, 0...1_000_000, default: 0, "Data packets of both directions that still pass")]
        ),
        FaultDefinition(.ppogatt(.windowOfOne), "The watch opens the transport with windows of one packet.", .each),
        FaultDefinition(
            .ppogatt(.otherVersion),
            "The watch opens the transport with another version.",
            .each,
            [.number(.version, 0...255, default: 0, "the version that the phone hears")]
        ),
    ]

    // MARK: Pebble Protocol

    static let messageFilter: [FaultParameter] = [
        .word(.direction, pduDirections, default: "both", "whose messages: from-phone or to-phone"),
        .number(.endpoint, 0...0xFFFF, "the endpoint; without it, every one"),
    ]

    static let messages = [
        FaultDefinition(
            .message(.lost),
            "A message is lost between the session and the service.",
            .each,
            messageFilter
        ),
        FaultDefinition(
            .message(.cut),
            "A message arrives without its end.",
            .each,
            messageFilter + [.number(.length, 0...0xFFFF, unit: "bytes", default: 1, "what is left of the payload")]
        ),
        FaultDefinition(.message(.doubled), "A message arrives twice.", .each, messageFilter),
        FaultDefinition(
            .message(.late),
            "A message is late; those after it overtake it.",
            .each,
            messageFilter + [.time(.delay, .milliseconds(1)...(.seconds(120)), default: .seconds(5), "how late")]
        ),
    ]

    static let services = [
        FaultDefinition(.message(.pingUnanswered), "The watch does not answer a ping.", .each),
        FaultDefinition(
            .message(.versionOld),
            "The watch's version answer names old firmware.",
            .each,
            [.number(.version, 1...4, default: 2, "its major version")]
        ),
        FaultDefinition(
            .message(.versionRecovery),
            "The watch's version answer says that recovery firmware runs.",
            .each
        ),
        FaultDefinition(
            .message(.versionWithoutCapability),
            "The watch's version answer lacks a capability.",
            .each,
            [.number(.capability, 0...63, default: 0, "the number of its bit")]
        ),
        FaultDefinition(
            .message(.putBytesRefused),
            "The watch refuses an upload in the middle of it.",
            .each,
            [.number(.bytes, 0...1_000_000_000, unit: "bytes", default: 0, "what it takes before")]
        ),
        FaultDefinition(.message(.putBytesWrongCRC), "The watch finds another checksum than the phone.", .each),
        FaultDefinition(.message(.blobDBBusy), "The watch's databases are busy: Try Later.", .each),
        FaultDefinition(.message(.blobDBFull), "The watch's databases are full.", .each),
        FaultDefinition(.message(.blobDBStale), "The watch holds the phone's record for stale.", .each),
        FaultDefinition(.message(.appMessageRefused), "The watch refuses an AppMessage.", .each),
        FaultDefinition(.message(.appMessageSilent), "The watch does not answer an AppMessage.", .each),
        FaultDefinition(
            .message(.appMessageBusy),
            "The watchapp is busy: an AppMessage is refused, and the app never sees it.",
            .each
        ),
        FaultDefinition(
            .message(.appMessageInboxSmall),
            "The watchapp's inbox is small: a longer AppMessage is refused.",
            .each,
            [.number(.bytes, 0...8192, unit: "bytes", default: 32, "the longest dictionary that it takes")]
        ),
    ]

    // MARK: Watch

    static let watch = [
        FaultDefinition(.watch(.appCrashes), "The running watchapp crashes: the watchface comes back.", .once),
        FaultDefinition(
            .watch(.appSlow),
            "The watchapp takes its time before it sees an AppMessage.",
            .each,
            [.time(.delay, .milliseconds(1)...(.seconds(60)), default: .seconds(3), "how much")]
        ),
        FaultDefinition(
            .watch(.reboot),
            "The watch restarts by itself.",
            .once,
            [
                .word(
                    .during,
                    ["now", "upload", "outbox"],
                    default: "now",
                    "what must be under way: an upload, an AppMessage of the watch's that waits for its answer, or nothing"
                ),
                .number(.bytes, 0...1_000_000_000, unit: "bytes", default: 0, "what of the upload has come"),
            ]
        ),
        FaultDefinition(.watch(.factoryReset), "The watch restarts as it came from the factory.", .once),
        FaultDefinition(
            .watch(.battery),
            "The battery is discharged, or charged, percent by percent.",
            .standing,
            [
                .number(.from, 0...100, unit: "%", default: 100, "the level in the beginning"),
                .number(.to, 0...100, unit: "%", default: 0, "the level in the end"),
                .time(.over, .seconds(1)...(.seconds(86_400)), default: .seconds(60), "how long it takes"),
            ]
        ),
        FaultDefinition(
            .watch(.clockJump),
            "The watch's clock jumps.",
            .once,
            [
                .number(
                    .seconds,
                    -100_000_000...100_000_000,
                    unit: "s",
                    default: 3600,
                    "by how much, forwards or, with -, back"
                )
            ]
        ),
        FaultDefinition(
            .watch(.timeZone),
            "The watch is in another time zone.",
            .once,
            [.number(.minutes, -720...840, unit: "min", default: 0, "how much local time is ahead of UTC")]
        ),
        FaultDefinition(
            .watch(.memoryShort),
            "The watch is short of memory: uploads and messages above a size are refused.",
            .each,
            [.number(.bytes, 0...1_000_000, unit: "bytes", default: 512, "what there is room for")]
        ),
        FaultDefinition(
            .watch(.buttonStuck),
            "A button is stuck: it stays down while the fault is there.",
            .standing,
            [.word(.button, ["back", "up", "select", "down"], default: "select", "which one")]
        ),
        FaultDefinition(
            .watch(.addressRotates),
            "The watch takes another private address now.",
            .once
        ),
    ]

    static let storage = [
        FaultDefinition(.watch(.storageFull), "The store has no room for a change.", .each, needs: .store),
        FaultDefinition(
            .watch(.storageSlow),
            "The store takes its time for a change.",
            .each,
            needs: .store,
            [.time(.delay, .milliseconds(1)...(.seconds(60)), default: .seconds(2), "how much")]
        ),
        FaultDefinition(.watch(.storageReadOnly), "The store can be read, and not written.", .each, needs: .store),
        FaultDefinition(
            .watch(.storageCorrupt),
            "A row of the store is corrupt: the change of it fails.",
            .each,
            needs: .store
        ),
    ]
}
