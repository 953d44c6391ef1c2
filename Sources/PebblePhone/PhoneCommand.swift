import BluetoothHCI
import BluetoothHost
import PebbleProtocol

/// What a ``CommandedPhone`` can be asked to do. Each ends with one result, within its time.
package enum PhoneCommand: Sendable {
    /// Listen for watches for so long.
    case scan(for: Duration)
    /// Connect to a watch, and get to know it.
    case connect(WatchTarget, within: Duration)
    /// Pair with the watch that is connected.
    case pair(PairingConsent, within: Duration)
    /// Answer the question that ``pair(_:within:)`` has left open.
    case confirm(Bool, within: Duration)
    /// End the link, or the attempt to make one.
    case disconnect
    /// Leave the link without a word.
    case drop
    /// Forget one watch, or every one.
    case forget(DeviceAddress?)
    /// Have the watch run an app.
    case launch(PebbleUUID, within: Duration)
    /// Have it leave the app that runs.
    case stop(within: Duration)
    /// Send a dictionary to an app, or to the one that runs.
    case push(AppMessageDictionary, to: PebbleUUID?)
    /// Wait for a dictionary that has these entries, from an app or from any.
    case expect([AppMessageTuple], from: PebbleUUID?, within: Duration)
    /// Upload a file of this name.
    case upload([UInt8], name: String)
    /// Install an app, and have the watch fetch and run it.
    case install(PhoneApp)
    /// Show a notification on the watch.
    case notify(title: String, body: String)
    /// Ask whether the watch is alive.
    case ping
    /// Set the watch's clock by the phone's, and read it back.
    case setTime
}

/// Which watch is to be connected to.
package enum WatchTarget: Hashable, Sendable {
    /// The watch that the phone paired with last; if there is none, the first one that it hears.
    case known
    /// A watch that is heard; one that the phone is paired with is connected to without being heard first.
    case selected(WatchSelection)
}

/// Who answers what is asked about a pairing.
package enum PairingConsent: String, Hashable, Sendable, CaseIterable {
    /// The phone, with yes: the numbers are taken for equal.
    case yes
    /// The phone, with no.
    case no
    /// The owner: the request ends with the question, and ``PhoneCommand/confirm(_:within:)`` answers it.
    case ask
}

/// An app that the phone can give to a watch.
package struct PhoneApp: Equatable, Sendable {
    /// What is written into the watch's database.
    package var metadata: AppMetadata
    /// What the watch fetches: the kind of each object, and its bytes, at least one of each.
    package var parts: [(kind: PutBytesObject.Kind, bytes: [UInt8])]

    /// An app by its parts, in the order in which they are uploaded.
    package init(metadata: AppMetadata, parts: [(kind: PutBytesObject.Kind, bytes: [UInt8])]) {
        self.metadata = metadata
        self.parts = parts
    }

    package static func == (one: PhoneApp, other: PhoneApp) -> Bool {
        one.metadata == other.metadata && one.parts.elementsEqual(other.parts, by: ==)
    }
}

/// What a command came to.
package enum PhoneCommandResult: Sendable {
    /// It is done, and there is nothing more to say.
    case done
    /// The watches that were heard, the strongest first.
    case watches([WatchSighting])
    /// The link that there is now.
    case connected(PhoneLinkState)
    /// What became of a pairing.
    case pairing(PairingReport)
    /// The watches that are forgotten.
    case forgot([LEAddress])
    /// The app that runs now; nil if the watch only said that the other one has stopped.
    case running(PebbleUUID?)
    /// A dictionary was acknowledged by an app, so long after it was sent.
    case delivered(PebbleUUID, after: Duration)
    /// A dictionary from the watch, which has been acknowledged.
    case received(AppMessagePush)
    /// The upload is complete: how many bytes there were, and how long they took.
    case uploaded(Int, in: Duration)
    /// The notification is on the watch, under this id.
    case notified(PebbleUUID)
    /// The watch answered a ping.
    case pong(after: Duration)
    /// What the watch's clock shows, in seconds since 1970, and the phone's.
    case time(watch: UInt32, phone: UInt32)
}

/// What became of a pairing.
package struct PairingReport: Hashable, Sendable {
    /// What was shown or asked; nil if nothing was.
    package var question: PairingPrompt.Kind?
    /// How the devices made sure of each other; nil before they have paired, or if they have not.
    package var summary: PairingSummary?
    /// Whether the answer is still to be given.
    package var isOpen = false
}

/// Names a request of the owner's: the owner chooses it, below 2⁶³, and no two that are under way have the same.
package struct PhoneRequestID: RawRepresentable, Hashable, Sendable {
    package let rawValue: UInt64

    package init(rawValue: UInt64) { self.rawValue = rawValue }

    /// The name of a request that the phone makes by itself.
    static func own(_ number: UInt64) -> Self { Self(rawValue: 1 << 63 | number) }

    /// Whether the phone has made it by itself.
    var isOwn: Bool { rawValue >> 63 == 1 }
}

/// Why a command was refused, or came to nothing.
package enum PhoneCommandError: Error, Hashable, Sendable, CustomStringConvertible {
    /// There is no session.
    case noSession
    /// There is no connection.
    case notConnected
    /// Too much is under way already.
    case queueFull
    /// The message does not fit into the Pebble Protocol.
    case messageTooLong
    /// The controller cannot be used.
    case notReady
    /// There is a link to this watch already.
    case connected(LEAddress)
    /// What the phone is occupied with.
    case busy(Occupation)
    /// The watch could not be connected to.
    case connectionFailed(LEAddress, HCIStatus)
    /// The link or the session ended first, and why.
    case ended(String)
    /// This did not happen in time.
    case timedOut(String, after: Duration)
    /// The phone was started without pairing.
    case cannotPair
    /// A pairing failed, and why.
    case pairingFailed(String)
    /// No pairing waits for an answer.
    case nothingAsked
    /// The watch refused something, in words.
    case refused(String)
    /// The phone is not paired with this watch; nil for any.
    case unknownWatch(DeviceAddress?)
    /// No app is named, and the watch has not said which one runs.
    case noApp
    /// There is nothing in what is to be uploaded.
    case empty
    /// The command was given up by its owner.
    case cancelled

    /// What a phone can be occupied with.
    package enum Occupation: String, Hashable, Sendable {
        case scan = "it looks for watches"
        case connecting = "it is connecting"
        case watch = "it is still getting to know the watch, or encrypting the link"
        case pairing = "it is pairing"
        case upload = "an upload is under way"
    }

    package var description: String {
        switch self {
        case .noSession: "there is no session with a watch"
        case .notConnected: "there is no connection to a watch"
        case .queueFull: "too much is under way already"
        case .messageTooLong: "the message is longer than \(PebbleMessage.maximumPayloadLength) bytes"
        case .notReady: "the phone's controller cannot be used"
        case .connected(let watch): "the phone is connected to \(watch.address) already"
        case .busy(let occupation): "the phone is busy: \(occupation.rawValue)"
        case .connectionFailed(let watch, let status): "\(watch.address) could not be connected to: \(status)"
        case .ended(let reason): "it ended before that: \(reason)"
        case .timedOut(let aim, let time): "\(aim) in \(time)"
        case .cannotPair: "this phone was started without pairing"
        case .pairingFailed(let reason): "the pairing failed: \(reason)"
        case .nothingAsked: "no pairing waits for an answer"
        case .refused(let reason): reason
        case .unknownWatch(let watch?): "the phone is not paired with \(watch)"
        case .unknownWatch(nil): "the phone is not paired with any watch"
        case .noApp: "no app is named, and the watch has not said which one runs"
        case .empty: "there is nothing to upload: the file has no bytes"
        case .cancelled: "the command was given up"
        }
    }
}
