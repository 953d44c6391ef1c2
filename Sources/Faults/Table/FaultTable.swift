extension FaultDefinition {
    /// All faults, in the order in which they are listed.
    public static let all: [FaultDefinition] =
        radio + controller + att + channels + security + ppogatt + messages + services + watch + storage

    static let pduDirections = ["from-phone", "to-phone", "both"]

    // MARK: Radio and controller

    static let radio = [
        FaultDefinition(
            .radio(.loss),
            "Packets on the air are lost, each with the same probability.",
            .standing,
            needs: .virtualAir,
            [.number(.percent, 1...100, unit: "%", default: 30, "how many are lost")]
        ),
        FaultDefinition(
            .radio(.burst),
            "Packets on the air are lost in bursts: all of them for a while, and none in between.",
            .standing,
            needs: .virtualAir,
            [
                .time(
                    .length,
                    .milliseconds(1)...(.seconds(60)),
                    default: .milliseconds(500),
                    "the mean length of a burst"
                ),
                .time(.over, .milliseconds(1)...(.seconds(600)), default: .seconds(2), "the mean time between bursts"),
            ]
        ),
        FaultDefinition(
            .radio(.fade),
            "The phone is carried away: more and more packets are lost, and the signal gets weaker.",
            .standing,
            needs: .virtualAir,
            [
                .number(.from, 1...200, unit: "m", default: 1, "the distance in the beginning"),
                .number(.to, 1...200, unit: "m", default: 60, "the distance in the end"),
                .time(.over, .seconds(1)...(.seconds(3600)), default: .seconds(30), "how long the way takes"),
            ]
        ),
        FaultDefinition(
            .radio(.deaf),
            "One side hears nothing of the other, which still hears it.",
            .standing,
            needs: .virtualAir,
            [.word(.direction, ["watch", "phone"], default: "watch", "who hears nothing")]
        ),
        FaultDefinition(
            .radio(.clockDrift),
            "The watch's clock runs faster than it claims: it listens beside the phone's packets, after a long pause first.",
            .standing,
            needs: .virtualAir,
            [
                .number(
                    .ppm,
                    1...100_000,
                    unit: "ppm",
                    default: 5000,
                    "by how much, in parts per million; what the clocks claim is 100, both together"
                )
            ]
        ),
        FaultDefinition(
            .hci(.linkLost),
            "The link is lost silently: neither side hears the other until both supervision timeouts are over.",
            .once,
            needs: .virtualAir,
            [
                .number(.packets, 0...1_000_000, default: 0, "ACL packets of both directions that still pass"),
                .word(
                    .during,
                    ["now", "encryption", "parameter-update"],
                    default: "now",
                    "what must have begun: the link's encryption, an update of its parameters, or nothing"
                ),
                .time(
                    .length,
                    .milliseconds(100)...(.seconds(3600)),
                    default: .seconds(10),
                    "how long neither side hears the other"
                ),
            ]
        ),
        FaultDefinition(
            .hci(.linkDropped),
            "The watch's controller ends the link, and its host did not ask for that.",
            .once,
            [
                .number(.packets, 0...1_000_000, default: 0, "ACL packets of both directions that still pass"),
                .number(
                    .reason,
                    0x05...0x3B,
                    default: 0x13,
                    "the reason that the phone is told; 0x05, 0x13 to 0x15, 0x1A, 0x29 or 0x3B"
                ),
            ]
        ),
        FaultDefinition(
            .hci(.linkMute),
            "The link stays, and no data passes: ACL packets are held, and pass when the fault ends.",
            .standing,
            [.word(.direction, pduDirections, default: "both", "which packets are held")]
        ),
    ]

    static let controller = [
        FaultDefinition(
            .hci(.controllerHangs),
            "The controller says nothing, and takes nothing, until the fault ends.",
            .standing
        ),
        FaultDefinition(
            .hci(.controllerResets),
            "The controller resets itself and reports it as a hardware error: every link is lost without a word.",
            .once
        ),
        FaultDefinition(
            .hci(.hardwareError),
            "The controller reports a hardware error, and goes on.",
            .once,
            [.number(.code, 0...255, default: 0x42, "the code of the error")]
        ),
        FaultDefinition(
            .hci(.eventLost),
            "An event of the controller's does not reach the host.",
            .each,
            [
                .number(.event, 0x01...0xFF, "the event code; with 0x3E see code"),
                .number(.code, 0x01...0x3F, "the subevent code of an LE event"),
            ]
        ),
        FaultDefinition(
            .hci(.eventLate),
            "An event of the controller's reaches the host late.",
            .each,
            [
                .number(.event, 0x01...0xFF, "the event code; with 0x3E see code"),
                .number(.code, 0x01...0x3F, "the subevent code of an LE event"),
                .time(.delay, .milliseconds(1)...(.seconds(60)), default: .seconds(1), "how late"),
            ]
        ),
        FaultDefinition(
            .hci(.commandRefused),
            "The controller refuses a command of the host's.",
            .each,
            [
                .number(.opcode, 0x0401...0xFFFF, "the command; without it, every one"),
                .number(.status, 0x01...0x45, default: 0x0C, "the status; 0x0C is Command Disallowed"),
            ]
        ),
        FaultDefinition(
            .hci(.noBuffers),
            "The controller has no buffers free: it reports no packet as completed.",
            .standing
        ),
        FaultDefinition(
            .hci(.setsLost),
            "The controller loses its advertising sets, as after a brown-out, and refuses what is about them.",
            .once
        ),
    ]
}
