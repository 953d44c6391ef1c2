import BluetoothHost
import ByteCoding

// What is asked of the phone, one thing at a time: what a notification says, what its app is called, an action.

extension ANCSClient {
    mutating func receiveData(_ part: ArraySlice<UInt8>, at now: Duration) {
        // What a phone still sends after the watch gave it up, or did not ask for it, is ignored.
        guard !part.isEmpty, current?.response != nil, let uid = current?.operation.uid else { return }
        do throws(ByteDecodingError) {
            guard let answer = try current?.response?.receive(part) else {
                current?.deadline = now + PhoneServiceTiming.operationTimeout
                return
            }
            current?.response = nil
            switch answer {
            case .attributes(let attributes): told(attributes, of: uid, at: now)
            case .appName(let name): named(String(phoneText: name))
            }
        } catch {
            events.append(.problem(.malformedResponse(uid, error)))
            failed()
        }
    }

    /// The phone said what a notification says: its app's name is still missing.
    private mutating func told(
        _ attributes: [ANCSAttributeID: ArraySlice<UInt8>],
        of uid: ANCSNotificationUID,
        at now: Duration
    ) {
        let app = String(phoneText: attributes[.appIdentifier] ?? [])
        guard !app.isEmpty else {
            events.append(.problem(.noApp(uid)))
            return endOperation()
        }
        current?.attributes = attributes
        guard names[app] == nil else { return report() }
        current?.command = .getAppName(app)
        current?.deadline = now + PhoneServiceTiming.operationTimeout
        retry.reset()
    }

    private mutating func named(_ name: String) {
        guard let attributes = current?.attributes else { return endOperation() }
        names[String(phoneText: attributes[.appIdentifier] ?? [])] = name
        report()
    }

    /// Whatever was asked last will not be answered. What is known of a notification is shown even so.
    mutating func failed() {
        if current?.attributes != nil { report() } else { endOperation() }
    }

    private mutating func report() {
        guard let operation = current?.operation, case .fetch(let event) = operation,
            let attributes = current?.attributes
        else { return endOperation() }
        let name = names[String(phoneText: attributes[.appIdentifier] ?? [])]
        let notification = ANCSNotification(event, attributes, appName: name)
        endOperation()
        events.append(.notified(notification))
    }

    /// What was under way is over; the result of its procedure does not matter.
    mutating func endOperation() {
        current = nil
        retry.reset()
        if case .operation = running { running = .nothing }
    }

    mutating func operationEnded(_ result: Result<GATTResponse, GATTProcedureError>, at now: Duration) {
        guard let current else { return }
        switch (result, current.operation) {
        case (.success, .perform(let action, let uid)):
            endOperation()
            events.append(.performed(uid, action))
        case (.success, .fetch):
            // The answer comes over the Data Source.
            retry.reset()
        case (.failure(let error), _):
            operationRefused(error, current, at: now)
        }
    }

    private mutating func operationRefused(_ error: GATTProcedureError, _ refused: Current, at now: Duration) {
        let uid = refused.operation.uid
        if !error.isFinalToANCS, retry.begin(at: now) {
            current?.deadline = now + PhoneServiceTiming.retryDelay + PhoneServiceTiming.operationTimeout
            return restartOperation()
        }
        let problem: ANCSProblem
        switch refused.operation {
        case _ where error.isNothingToANCS && refused.attributes == nil: problem = .noSuchNotification(uid)
        case .perform(let action, _): problem = .notPerformed(uid, action, error)
        case .fetch:
            if let app = refused.attributes?[.appIdentifier] {
                problem = .notNamed(app: String(phoneText: app), error)
            } else {
                problem = .notTold(uid, error)
            }
        }
        if case .perform(let action, _) = refused.operation {
            endOperation()
            events.append(.notPerformed(uid, action, problem))
        } else {
            events.append(.problem(problem))
            failed()
        }
    }

    /// Has what was asked last asked once more.
    mutating func restartOperation() {
        guard let operation = current?.operation else { return }
        switch operation {
        case .perform(let action, let uid):
            current?.command = .perform(action, uid)
        case .fetch(let event):
            if let app = current?.attributes?[.appIdentifier] {
                current?.command = .getAppName(String(phoneText: app))
            } else {
                current?.command = .getNotificationAttributes(event.uid, titleLimit: titleLimit)
            }
        }
    }
}
