import PebbleWatch

// What events of links have.

/// What the event `link` tells, by name.
enum ControlLinkEvent: String, ControlEventVariant {
    case dataLength = "data-length"
    case phys
    case phyRefused = "phy-refused"
    case mtu, parameters
    case responseTime = "response-time"
    case requested, refused
    case notRequested = "not-requested"
    case gaveUp = "gave-up"
    case phoneManages = "phone-manages"

    static let event = ControlEventName.link

    var fields: any ControlObject.Type {
        switch self {
        case .dataLength: ControlEvents.OnLink<ControlEvents.DataLength>.self
        case .phys: ControlEvents.OnLink<ControlEvents.PHYs>.self
        case .phyRefused: ControlEvents.OnLink<ControlEvents.Reason>.self
        case .mtu: ControlEvents.OnLink<ControlEvents.MTU>.self
        case .parameters: ControlEvents.OnLink<ControlEvents.Parameters>.self
        case .responseTime: ControlEvents.OnLink<ControlEvents.ResponseTime>.self
        case .requested: ControlEvents.OnLink<ControlEvents.ParametersRequested>.self
        case .refused: ControlEvents.OnLink<ControlEvents.ParametersRefused>.self
        case .notRequested: ControlEvents.OnLink<ControlEvents.ParametersNotRequested>.self
        case .gaveUp: ControlEvents.OnLink<ControlEvents.GaveUp>.self
        case .phoneManages: ControlEvents.OnLink<ControlEvents.PhoneManages>.self
        }
    }
}

extension ControlEvents {
    /// What an event of a link has beside its connection.
    package struct OnLink<Details: ControlObject>: ControlObject {
        package var connection = 0
        package var details = Details.blank

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.connection(&connection)
            try details.declare(&fields)
        }
    }

    /// `link-ended`
    package struct LinkEnded: ControlObject {
        package var phone = Phone()
        package var reason = Reason()
        package var linkSeconds = 0.0
        package var cause: String?
        package var transport: String?
        package var tenure: String?
        package var restart: String?
        package var remedy = ""
        package var role: String?
        package var intervalMilliseconds: Double?

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try phone.declare(&fields)
            try reason.declare(&fields)
            try fields.required("linkSeconds", &linkSeconds, .amount.in(.seconds), "how long the link had lasted")
            try fields.optional(
                "cause",
                &cause,
                .word(
                    "transport",
                    "no-response",
                    "command",
                    "forgotten",
                    "replaced",
                    "key-rejected",
                    "tenure",
                    "restart",
                    "switched-off",
                    "busy",
                    "firmware-gone"
                ),
                "why the watch wanted it; nothing if it did not"
            )
            try fields.optional("transport", &transport, .text, "why the transport was given up")
            try fields.optional("tenure", &tenure, .text, "why the phone could not stay")
            try fields.optional("restart", &restart, .text, "the cause of the restart")
            try fields.required("remedy", &remedy, .text, "what the watch does about it")
            try fields.optional("role", &role, .text, "what it advertises for")
            try fields.optional(
                "intervalMilliseconds",
                &intervalMilliseconds,
                .amount.in(.milliseconds),
                "and how often"
            )
        }
    }

    /// `phone-back`
    package struct PhoneBack: ControlObject {
        package var phone = Phone()
        package var absenceSeconds = 0.0

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try phone.declare(&fields)
            try fields.required("absenceSeconds", &absenceSeconds, .amount.in(.seconds), "how long it was away")
        }
    }

    /// `churning`
    package struct Churning: ControlObject {
        package var endedLinks = 0
        package var withinSeconds = 0.0
        package var intervalMilliseconds = 0.0

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("endedLinks", &endedLinks, .count, "how many links have ended")
            try fields.required("withinSeconds", &withinSeconds, .amount.in(.seconds), "in which time")
            try fields.required(
                "intervalMilliseconds",
                &intervalMilliseconds,
                .amount.in(.milliseconds),
                "the shortest advertising interval until they last longer"
            )
        }
    }

    /// `phone-service`
    package struct PhoneService: ControlObject {
        package var connection = 0
        package var name = ""
        package var result = ""
        package var reason: String?

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.connection(&connection)
            try fields.required("name", &name, .text, "the service: notifications, media or time")
            try fields.required("result", &result, .word("began", "ended", "problem"), "whether it is used now")
            try fields.optional("reason", &reason, .text, "what the problem is")
        }
    }

    /// `link`: `data-length`
    package struct DataLength: ControlObject {
        package var transmitOctets = 0
        package var receiveOctets = 0

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required(
                "transmitOctets",
                &transmitOctets,
                .count.in(.octets),
                "the longest that the watch sends"
            )
            try fields.required("receiveOctets", &receiveOctets, .count.in(.octets), "the longest that it receives")
        }
    }

    /// `link`: `phys`
    package struct PHYs: ControlObject {
        package var transmitPHY = ""
        package var receivePHY = ""

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("transmitPHY", &transmitPHY, .word("1M", "2M", "coded"), "what the watch sends with")
            try fields.required("receivePHY", &receivePHY, .word("1M", "2M", "coded"), "what it receives with")
        }
    }

    /// `link`: `mtu`
    package struct MTU: ControlObject {
        package var mtu = 0

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("mtu", &mtu, .count.in(.octets), "the ATT_MTU")
        }
    }

    /// `link`: `parameters`
    package struct Parameters: ControlObject {
        package var intervalMilliseconds = 0.0
        package var latency = 0
        package var supervisionTimeoutMilliseconds = 0.0
        package var subrateFactor = 1
        package var continuationNumber = 0

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required(
                "intervalMilliseconds",
                &intervalMilliseconds,
                .amount.in(.milliseconds),
                "the interval"
            )
            try fields.latency(&latency, timeoutMilliseconds: &supervisionTimeoutMilliseconds)
            try fields.required(
                "subrateFactor",
                &subrateFactor,
                .count.in(.connectionEvents),
                "both sides use every Nth event, and this is N; 1 without subrating"
            )
            try fields.required(
                "continuationNumber",
                &continuationNumber,
                .count.in(.connectionEvents),
                "how many events after data both sides use as well"
            )
        }
    }

    /// The parameters that the watch asks for.
    package struct WantedParameters: ControlObject {
        package var intervalMinimumMilliseconds = 0.0
        package var intervalMaximumMilliseconds = 0.0
        package var latency = 0
        package var supervisionTimeoutMilliseconds = 0.0

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required(
                "intervalMinimumMilliseconds",
                &intervalMinimumMilliseconds,
                .amount.in(.milliseconds),
                "the shortest interval that the watch wants"
            )
            try fields.required(
                "intervalMaximumMilliseconds",
                &intervalMaximumMilliseconds,
                .amount.in(.milliseconds),
                "the longest"
            )
            try fields.latency(&latency, timeoutMilliseconds: &supervisionTimeoutMilliseconds)
        }
    }

    /// `link`: `response-time`
    package struct ResponseTime: ControlObject {
        package var responseTime = ""
        package var consumers: [String] = []

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.responseTime(&responseTime)
            try fields.required("consumers", &consumers, .list(of: .text), "what on the watch wants it")
        }
    }

    /// `link`: `requested`
    package struct ParametersRequested: ControlObject {
        package var attempt = 0
        package var parameters = WantedParameters()

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("attempt", &attempt, .count, "the number of the attempt")
            try parameters.declare(&fields)
        }
    }

    /// `link`: `refused`
    package struct ParametersRefused: ControlObject {
        package var reason = ""
        package var status: Int?

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("reason", &reason, .text, "why")
            try fields.optional("status", &status, .count, "the controller's code, if the controller refused")
        }
    }

    /// `link`: `not-requested`
    package struct ParametersNotRequested: ControlObject {
        package var reason = ""
        package var parameters = WantedParameters()

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("reason", &reason, .text, "which rule the parameters break")
            try parameters.declare(&fields)
        }
    }

    /// `link`: `gave-up`
    package struct GaveUp: ControlObject {
        package var responseTime = ""
        package var attempts = 0

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.responseTime(&responseTime)
            try fields.required("attempts", &attempts, .count, "how often it was asked for")
        }
    }

    /// `link`: `phone-manages`
    package struct PhoneManages: ControlObject {
        package var phoneManages = false

        package static var blank: Self { Self() }
        package mutating func declare<Visitor: FieldVisitor>(_ fields: inout Visitor) throws(Visitor.Failure) {
            try fields.required("phoneManages", &phoneManages, .flag, "whether the phone sets the link's parameters")
        }
    }
}

extension FieldVisitor {
    fileprivate mutating func responseTime(_ value: inout String) throws(Failure) {
        try required("responseTime", &value, .word("slow", "middle", "fast"), "the class of the link's parameters")
    }
}

extension FieldVisitor {
    /// The connection parameters besides the interval.
    fileprivate mutating func latency(_ latency: inout Int, timeoutMilliseconds: inout Double) throws(Failure) {
        try required("latency", &latency, .count.in(.connectionEvents), "the peripheral latency")
        try required(
            "supervisionTimeoutMilliseconds",
            &timeoutMilliseconds,
            .amount.in(.milliseconds),
            "the supervision timeout"
        )
    }
}
