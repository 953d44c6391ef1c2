import BluetoothHCI
import BluetoothHost
import ByteCoding
import PebbleProtocol
import Testing

@testable import PebbleWatch

@Suite("What a person is told of what was refused says what happened, and what would have been right")
struct SpokenReasonsTests {
    @Test("Connection parameters: each rule that is broken has its words")
    func connectionParameters() {
        let words: [(ConnectionParameterRules.Violation, String)] = [
            (.notAllowedByCore, "the Core does not allow such parameters"),
            (.intervalTooShort(minimum: .milliseconds(15)), "the interval is shorter than 0.015 seconds"),
            (.intervalOffGrid(.milliseconds(15)), "the shortest interval is not a multiple of 0.015 seconds"),
            (
                .intervalSpreadTooNarrow(minimum: .milliseconds(20)),
                "the intervals asked for are less than 0.02 seconds apart"
            ), (.latencyTooHigh(maximum: 30), "the latency is above 30"),
            (
                .supervisionTimeoutOutOfRange(.seconds(2)...(.seconds(6))),
                "the supervision timeout is not between 2.0 seconds and 6.0 seconds"
            ), (.silenceTooLong, "the watch could be silent for more than 2.0 seconds"),
            (
                .supervisionTimeoutTooShortForLatency,
                "the supervision timeout is shorter than three silences of the watch"
            ),
        ]
        for (violation, text) in words { #expect("\(violation)" == text) }
    }

    @Test("Commands: what the watch would have taken, and what comes next")
    func commands() {
        let words: [(WatchCommandError, String)] = [
            (.badWindow, "pairing can be opened for 1 to 3600 seconds"),
            (.noSecrets, "no secrets could be made: the source of randomness is broken"),
            (
                .appMessageNotSent(.busy),
                "nothing was sent: the app's last message is still under way; its end is the event app-message-sent"
            ), (.appMessageNotSent(.outOfMemory), "nothing was sent: outOfMemory"),
        ]
        for (error, text) in words { #expect("\(error)" == text) }
    }

    @Test("Notifications of the phone: what did not work, and with which notification")
    func notifications() {
        let uid = ANCSNotificationUID(rawValue: 7)
        let words: [(ANCSProblem, String)] = [
            (
                .notPerformed(uid, .negative, .disconnected),
                "the phone did not perform the negative action of notification 7: "
                    + "the connection was closed"
            ), (.tooMany(uid), "too many notifications at once: 7 is not shown"),
            (.silent, "the phone's notifications are silent; subscribing again"),
            (.notAvailable, "the phone's notifications are not available"),
        ]
        for (problem, text) in words { #expect("\(problem)" == text) }
    }

    /// The categories by Apple's numbers: "Apple Notification Center Service (ANCS) Specification", table A-2.
    @Test("Categories of notifications have names, and one that Apple adds has its number")
    func categories() {
        let names = (0...12).map { "\(ANCSCategory(rawValue: UInt8($0)))" }
        #expect(
            names == [
                "other", "incoming call", "missed call", "voicemail", "social", "schedule", "email", "news",
                "health and fitness", "business and finance", "location", "entertainment", "category 12",
            ]
        )
        #expect("\(ANCSCategory.incomingCall)" == "incoming call" && "\(ANCSCategory(rawValue: 255))" == "category 255")
    }
}
