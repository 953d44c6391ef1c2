import ByteCoding
import PebbleProtocol

/// Endpoint 8000: hands over what the screen shows, in messages as long as the firmware's.
struct ScreenshotService: AppEndpointService {
    static var endpoint: Endpoint { .screenshot }
    /// The longest payload of the firmware's own messages.
    static let payloadLength = 1024
    private static let headerLength = 13

    private struct Transfer: Sendable {
        let session: SessionID
        let frame: FrameBuffer
        var sentByteCount = 0
    }

    private var transfer: Transfer?

    mutating func receive(
        _ message: PebbleMessage,
        on session: SessionID,
        with apps: inout AppManager,
        in context: inout ServiceContext
    ) {
        guard (try? ScreenshotRequest(payload: message.payload)) != nil else {
            context.reply(ScreenshotHeader(failure: .malformedRequest), on: session)
            return
        }
        guard transfer == nil else {
            context.reply(ScreenshotHeader(failure: .alreadyInProgress), on: session)
            return
        }
        transfer = Transfer(session: session, frame: apps.frame)
        context.emit(.screenshotTaken)
    }

    /// The next message of the screenshot; nil if there is none for this session.
    mutating func nextMessage(on session: SessionID) -> PebbleMessage? {
        guard let current = transfer, current.session == session else { return nil }
        let pixels = current.frame.pixels
        let room = Self.payloadLength - (current.sentByteCount == 0 ? Self.headerLength : 0)
        let end = min(current.sentByteCount + room, pixels.count)
        let part = pixels[current.sentByteCount..<end]
        if end == pixels.count { transfer = nil } else { transfer?.sentByteCount = end }
        guard current.sentByteCount == 0 else { return PebbleMessage(ScreenshotContinuation(pixels: part)) }
        return PebbleMessage(
            ScreenshotHeader(
                status: .ok,
                format: current.frame.format,
                width: UInt32(clamping: current.frame.display.width),
                height: UInt32(clamping: current.frame.display.height),
                pixels: part
            )
        )
    }

    mutating func sessionClosed(_ session: SessionID, in context: inout ServiceContext) {
        if transfer?.session == session { transfer = nil }
    }
}
