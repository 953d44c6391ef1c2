import Control
import Foundation

/// What programs say at a control socket, in both vocabularies, and what they are told.
enum ControlText {
    /// A line, as a request of either vocabulary, as an answer and as an event; and as the one command that the first byte names: what is
    /// read is written so that it reads the same.
    static func line(_ input: ArraySlice<UInt8>) throws -> UInt64 {
        var digest = FuzzDigest()
        let number = Int(input.first ?? 0)
        let line = input.dropFirst()
        do throws(ControlRequest.Invalid) {
            _ = try ControlRequest(parsing: line)
            digest.add(1)
        } catch {
            digest.add(error.description)
        }
        do throws(ControlRequest.Invalid) {
            _ = try PhoneControlRequest(parsing: line)
            digest.add(2)
        } catch {
            digest.add(error.description)
        }
        if let answer = ControlAnswer(parsing: line) {
            try expect(answer.ok == (answer.error == nil), "an answer is done and refused")
            digest.add(answer.values.count)
        }
        if let event = ControlEventLine(parsing: line) { digest.add(event.event) }
        let types: [any NamedCommand.Type] = ControlCommands.all + PhoneControlCommands.all
        let type = types[number % types.count]
        let written = try rewritten(type, line)
        digest.add(written)
        return digest.value
    }

    private static func rewritten<Command: NamedCommand>(
        _ type: Command.Type,
        _ line: ArraySlice<UInt8>
    ) throws -> [UInt8] {
        guard let command = try? JSONDecoder().decode(type, from: Data(line)) else { return [] }
        let written = command.line
        try expect(
            written.last == 0x0A && written.count { $0 == 0x0A } == 1,
            "\(type.name) is written as several lines"
        )
        guard let again = try? JSONDecoder().decode(type, from: Data(written)) else {
            throw FuzzFinding(
                "\(type.name) was written as \(String(decoding: written, as: UTF8.self)), which is refused"
            )
        }
        try expect(again == command, "\(type.name) reads otherwise when it is written again")
        return written
    }

    /// The stream of lines, whole and in pieces: the same requests and refusals come out of it, and what waits is bounded.
    static func stream(_ input: ArraySlice<UInt8>) throws -> UInt64 {
        let step = 1 + Int(input.first ?? 0)
        let bytes = input.dropFirst()
        let whole = try items(in: [bytes])
        var pieces: [ArraySlice<UInt8>] = []
        var rest = bytes
        while !rest.isEmpty {
            pieces.append(rest.prefix(step))
            rest = rest.dropFirst(step)
        }
        try expect(try items(in: pieces) == whole, "requests depend on where a stream is cut")
        let lines = bytes.split(separator: 0x0A, omittingEmptySubsequences: true)
        try expect(whole.count <= lines.count, "\(lines.count) lines have \(whole.count) answers")
        var digest = FuzzDigest()
        for item in whole { digest.add(item) }
        return digest.value
    }

    /// What each line came to: a request by its kind, a refusal in its words.
    private static func items(in pieces: [ArraySlice<UInt8>]) throws -> [String] {
        var conversation = ControlConversation()
        var items: [String] = []
        for piece in pieces {
            conversation.receive(piece)
            while let item = conversation.nextItem() {
                switch item {
                case .answered(let answer): items.append(answer.error?.message ?? "done")
                case .asked(let request): items.append(String("\(request)".prefix { $0 != "(" }))
                }
            }
            let limit = ControlConversation.lineLimit
            try expect(conversation.waitingByteCount <= limit, "\(conversation.waitingByteCount) bytes wait")
        }
        return items
    }
}
