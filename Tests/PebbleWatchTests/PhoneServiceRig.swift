import BluetoothHost
import ByteCoding

@testable import PebbleWatch

/// A client of a phone's service, and a phone that a test controls, in virtual time.
struct PhoneServiceRig<Client: PhoneServiceClient> {
    typealias Answer = Result<GATTResponse, GATTProcedureError>

    var client: Client
    var now: Duration = .zero
    /// What the client asked for, in order.
    private(set) var asked: [GATTProcedure] = []
    /// When it asked that.
    private(set) var times: [Duration] = []
    /// What the phone answers; nil while it does not.
    var answer: (GATTProcedure) -> Answer? = { _ in .success(.written) }
    /// What the phone notifies after it has answered.
    var notifications: (GATTProcedure) -> [(AttributeHandle, [UInt8])] = { _ in [] }
    /// Whether the procedure that was asked for last is not answered yet.
    private(set) var isWaiting = false

    init(_ client: Client) { self.client = client }

    /// What a client is told of an ATT error.
    static func refusal(
        _ error: ATTError,
        _ handle: AttributeHandle = AttributeHandle(rawValue: 0)
    ) -> GATTProcedureError {
        .refused(ATTErrorResponse(requestOpcode: 0x12, handle: handle, error: error))
    }

    /// Lets the client ask until it has no more questions, or gets no answer.
    mutating func run() {
        while !isWaiting, let procedure = client.nextProcedure(at: now) {
            asked.append(procedure)
            times.append(now)
            guard let answer = answer(procedure) else {
                isWaiting = true
                return
            }
            client.finish(answer, at: now)
            for (handle, value) in notifications(procedure) { _ = client.receive(value[...], of: handle, at: now) }
        }
    }

    /// The phone answers late.
    mutating func finish(_ answer: Answer) {
        isWaiting = false
        client.finish(answer, at: now)
        run()
    }

    mutating func notify(_ handle: AttributeHandle, _ value: [UInt8]) {
        _ = client.receive(value[...], of: handle, at: now)
        run()
    }

    /// Lets time pass, deadline by deadline.
    mutating func wait(_ duration: Duration) {
        let end = now + duration
        while let deadline = client.nextDeadline, deadline <= end {
            now = max(now, deadline)
            client.advance(to: now)
            run()
            // A deadline that stays would stop the test for ever.
            if let next = client.nextDeadline, next <= deadline { break }
        }
        now = end
        client.advance(to: now)
        run()
    }

    mutating func takeEvents() -> [Client.Event] {
        var events: [Client.Event] = []
        while let event = client.nextEvent() { events.append(event) }
        return events
    }

    mutating func takeAsked() -> [GATTProcedure] {
        defer {
            asked = []
            times = []
        }
        return asked
    }
}

extension Result where Success == GATTResponse, Failure == GATTProcedureError {
    /// The phone refuses with an ATT error.
    static func refused(_ error: ATTError, _ handle: AttributeHandle = AttributeHandle(rawValue: 0)) -> Self {
        .failure(PhoneServiceRig<ANCSClient>.refusal(error, handle))
    }
}

/// A handle by its number.
func handle(_ number: UInt16) -> AttributeHandle { AttributeHandle(rawValue: number) }

extension [UInt8] {
    /// An attribute as ANCS has it: number, length, text.
    static func ancs(_ number: UInt8, _ text: String) -> [UInt8] {
        [number] + [UInt8(text.utf8.count & 0xFF), UInt8(text.utf8.count >> 8)] + Array(text.utf8)
    }

    /// Parts of at most so many bytes.
    func parts(of size: Int) -> [[UInt8]] {
        stride(from: 0, to: count, by: size).map { Array(self[$0..<Swift.min($0 + size, count)]) }
    }
}
