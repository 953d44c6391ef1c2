/// A recorded case that this watch answers differently, on purpose.
struct FirmwareDifference {
    let group: String
    let name: String
    /// What this watch answers.
    let answers: [String]
    let reason: String

    static let all: [FirmwareDifference] = [
        Self(
            "time: get after bad set",
            ["000b:016b018ff1"],
            because: "the emulator's clock ignores SetUTC and follows its host; this watch's is set by the phone"
        ),
        Self(
            "time: get after bad set 2",
            ["000b:016b018ff3"],
            because: "the emulator's clock ignores SetUTC and follows its host; this watch's is set by the phone"
        ),
        Self(
            "oversize: time of 5000",
            ["000b:016b0190fc"],
            because: "the emulator's clock ignores SetUTC and follows its host; this watch's is set by the phone"
        ),
        Self(
            "oversize: time of 65535",
            ["000b:016b0190fd"],
            because: "the firmware has no memory for so long a message, and this watch has"
        ),
        Self(
            "system: start",
            ["0012:000a01"],
            because: "the firmware starts an app of its own that shows the update's progress; this watch has none"
        ),
        Self(
            "system: first byte 01",
            ["0012:000a01"],
            because: "the firmware starts an app of its own that shows the update's progress; this watch has none"
        ),
        Self(
            "appfetch: unsolicited no data",
            [],
            because: "the firmware leaves the app that shows an update's progress; this watch has none to leave"
        ),
        Self(
            in: "uploads",
            "qemu: frame of 2049",
            ["0000:dc7777"],
            because:
                "the emulator's port never answers again after a frame above 2048 bytes: a fault that is not copied"
        ),
    ]

    private init(in group: String = "main", _ name: String, _ answers: [String], because reason: String) {
        self.group = group
        self.name = name
        self.answers = answers
        self.reason = reason
    }
}
