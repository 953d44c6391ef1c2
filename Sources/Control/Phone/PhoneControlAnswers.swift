import BluetoothHCI
import BluetoothHost
import PebblePhone
import PebbleProtocol

/// What a phone's answers have beside `ok` and `sequence`.
package enum PhoneControlAnswers {
    /// The answer to `status`.
    package struct Status: ControlObject {
        package var status = PhoneControlStatus()

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("status", &status, .object, "what `cairn phone status --json` prints")
        }
    }

    /// The answer to `scan`.
    package struct Watches: ControlObject {
        package var watches: [PhoneControlStatus.Sighting] = []

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("watches", &watches, .list(of: .object), "what was heard, the strongest first")
        }

        /// The answer to `forget`.
        package struct Forgotten: ControlObject {
            package var watches: [String] = []

            package static var blank: Self { Self() }
            package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
                try fields.required("watches", &watches, .list(of: .address), "the watches that are forgotten")
            }
        }
    }

    /// The answer to `connect`.
    package struct Link: ControlObject {
        package var link = PhoneControlStatus.Link()

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("link", &link, .object, "the link that there is now")
        }
    }

    /// The answer to `pair` and `confirm`.
    package struct Pairing: ControlObject {
        package var isPaired = false
        package var isOpen = false
        package var question: String?
        package var number: String?
        package var model: String?
        package var isAuthenticated: Bool?

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("isPaired", &isPaired, .flag, "whether the devices have paired")
            try fields.required("isOpen", &isOpen, .flag, "whether `confirm` is waited for, or the person at the watch")
            try fields.optional(
                "question",
                &question,
                .word(Self.questions),
                "what the person is asked: whether to pair, whether the watch shows the number, to type it into the watch"
            )
            try fields.optional("number", &number, .text, "the six digits that go with it")
            try fields.optional("model", &model, .text, "how the devices made sure of each other")
            try fields.optional("isAuthenticated", &isAuthenticated, .flag, "whether the key is authenticated")
        }

        static let questions = ["confirm", "compare", "show"]

        /// For a person at a terminal.
        package var words: String {
            let number = number ?? ""
            if isPaired {
                let shown = question == "compare" ? " The number was \(number)." : ""
                return "Paired by \(model ?? "?"), with an \(isAuthenticated == true ? "" : "un")authenticated key."
                    + shown
            }
            guard isOpen else {
                return "Not paired, as you said." + (number.isEmpty ? "" : " The number was \(number).")
            }
            return switch question {
            case "compare"?: "Does the watch show \(number)?"
            case "show"?: "Type \(number) on the watch."
            default: "Pair with the watch?"
            }
        }
    }

    /// The answer to `launch`, `stop` and `install`.
    package struct Running: ControlObject {
        package var app: String?

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.optional("app", &app, .uuid, "the app that runs now, if the watch has said so")
        }

        /// For a person at a terminal.
        var words: String { app.map { "The watch runs \($0)." } ?? "The app has stopped." }
    }

    /// The answer to `push`.
    package struct Delivered: ControlObject {
        package var app = ""
        package var milliseconds = 0.0

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.app(&app)
            try fields.required("milliseconds", &milliseconds, .amount.in(.milliseconds), "until it was acknowledged")
        }
    }

    /// The answer to `expect`.
    package struct Received: ControlObject {
        package var message = ControlEvents.AppMessageReceived()

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try message.declare(&fields)
        }
    }

    /// The answer to `upload`.
    package struct Uploaded: ControlObject {
        package var size = 0
        package var seconds = 0.0

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("size", &size, .count.in(.bytes), "how long the file is")
            try fields.required("seconds", &seconds, .amount.in(.seconds), "how long it took")
        }
    }

    /// The answer to `notify`.
    package struct Notified: ControlObject {
        package var notification = ""

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("notification", &notification, .uuid, "its id on the watch")
        }
    }

    /// The answer to `ping`.
    package struct Pong: ControlObject {
        package var milliseconds = 0.0

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("milliseconds", &milliseconds, .amount.in(.milliseconds), "until the watch answered")
        }
    }

    /// The answer to `time`.
    package struct Clock: ControlObject {
        package var watchSeconds: UInt32 = 0
        package var phoneSeconds: UInt32 = 0

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required(
                "watchSeconds",
                &watchSeconds,
                .integer.in(.seconds),
                "what the watch shows, since 1970"
            )
            try fields.required(
                "phoneSeconds",
                &phoneSeconds,
                .integer.in(.seconds),
                "what the phone shows, since 1970"
            )
        }
    }
}

extension PhoneControlAnswers.Pairing {
    init(_ report: PairingReport) {
        isPaired = report.summary != nil
        isOpen = report.isOpen
        switch report.question {
        case .confirmPairing?: question = "confirm"
        case .numericComparison(let value)?:
            question = "compare"
            number = value.digits
        case .displayPasskey(let passkey)?:
            question = "show"
            number = passkey.digits
        case .requestPasskey?, nil: break
        }
        model = report.summary.map { "\($0.model)" }
        isAuthenticated = report.summary?.isAuthenticated
    }
}

extension ControlAnswer {
    /// What a phone's command came to.
    /// - Parameter sequence: the number of the last event before it.
    package init(_ result: PhoneCommandResult, after sequence: UInt64) {
        let answer: any ControlObject =
            switch result {
            case .done: ControlAnswers.Done()
            case .watches(let watches): PhoneControlAnswers.Watches { $0.watches = watches.map { .init($0) } }
            case .connected(let link): PhoneControlAnswers.Link { $0.link = PhoneControlStatus.Link(link) }
            case .pairing(let report): PhoneControlAnswers.Pairing(report)
            case .forgot(let watches):
                PhoneControlAnswers.Watches.Forgotten { $0.watches = watches.map { "\($0.address)" } }
            case .running(let app): PhoneControlAnswers.Running { $0.app = app.map { "\($0)" } }
            case .delivered(let app, let delay):
                PhoneControlAnswers.Delivered {
                    $0.app = "\(app)"
                    $0.milliseconds = delay.inMilliseconds
                }
            case .received(let push):
                PhoneControlAnswers.Received { $0.message = .init(push.application, push.dictionary) }
            case .uploaded(let size, let time):
                PhoneControlAnswers.Uploaded {
                    $0.size = size
                    $0.seconds = time.inSeconds
                }
            case .notified(let item): PhoneControlAnswers.Notified { $0.notification = "\(item)" }
            case .pong(let delay): PhoneControlAnswers.Pong { $0.milliseconds = delay.inMilliseconds }
            case .time(let watch, let phone):
                PhoneControlAnswers.Clock {
                    $0.watchSeconds = watch
                    $0.phoneSeconds = phone
                }
            }
        self.init(answer, after: sequence)
    }

    /// How a phone is doing, and the process that runs it.
    package init(
        _ status: PhoneStatus,
        of program: ControlProgram,
        _ history: PhoneEventHistory,
        at now: Duration
    ) {
        let answer = PhoneControlAnswers.Status {
            $0.status = PhoneControlStatus(status)
            $0.status.add(program, history, at: now)
        }
        self.init(answer, after: history.last)
    }

    /// How a phone is doing that is no process of its own.
    package init(_ status: PhoneStatus) {
        self.init(PhoneControlAnswers.Status { $0.status = PhoneControlStatus(status) })
    }

    /// A phone's command was refused, or came to nothing.
    package init(_ error: PhoneCommandError) {
        self.init(phoneFailure: PhoneControlFailureCode(error), "\(error)")
    }

    /// A phone's command was not carried out.
    package init(phoneFailure code: PhoneControlFailureCode, _ message: String) {
        self.init(ControlFailure(named: code.rawValue, message))
    }
}

/// What a phone's failures are called.
package enum PhoneControlFailureCode: String, CaseIterable, Sendable {
    // The request, the connection, files.
    case badRequest = "bad-request"
    case busy
    case unknownSequence = "unknown-sequence"
    case badFile = "bad-file"
    // What the phone says to a command.
    case notReady = "not-ready"
    case notConnected = "not-connected"
    case noSession = "no-session"
    case isConnected = "is-connected"
    case phoneBusy = "phone-busy"
    case connectionFailed = "connection-failed"
    case ended
    case timedOut = "timed-out"
    case cannotPair = "cannot-pair"
    case pairingFailed = "pairing-failed"
    case nothingAsked = "nothing-asked"
    case refused
    case unknownWatch = "unknown-watch"
    case noApp = "no-app"
    case tooLong = "too-long"
    case tooMuch = "too-much"
    case cancelled

    init(_ error: PhoneCommandError) {
        self =
            switch error {
            case .noSession: .noSession
            case .notConnected: .notConnected
            case .queueFull: .tooMuch
            case .messageTooLong: .tooLong
            case .notReady: .notReady
            case .connected: .isConnected
            case .busy: .phoneBusy
            case .connectionFailed: .connectionFailed
            case .ended: .ended
            case .timedOut: .timedOut
            case .cannotPair: .cannotPair
            case .pairingFailed: .pairingFailed
            case .nothingAsked: .nothingAsked
            case .refused: .refused
            case .unknownWatch: .unknownWatch
            case .noApp: .noApp
            case .empty: .badFile
            case .cancelled: .cancelled
            }
    }
}
