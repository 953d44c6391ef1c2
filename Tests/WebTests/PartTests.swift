import CZlib
import Foundation
import NIOCore
import Testing

@testable import Web

/// The parts of the server that need no connection.
@Suite struct PartTests {
    private static let repository = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../..")

    private static func text(_ path: String) throws -> String {
        try String(contentsOf: repository.appending(path: path), encoding: .utf8)
    }

    @Test func theSchemaIsControlsOwn() throws {
        let own = try Self.text("Sources/Web/Vocabulary/control.schema.json")
        #expect(
            own == (try Self.text("Docs/control.schema.json")),
            "cp Docs/control.schema.json Sources/Web/Vocabulary/"
        )
    }

    @Test func theDescriptionIsCurrent() throws {
        let text = OpenAPIDocument(try Vocabulary()).text
        #expect(text == (try Self.text("Docs/openapi.json")), "cairn-web --openapi >Docs/openapi.json")
    }

    @Test func theVersionIsCairns() throws {
        let command = try Self.text("Sources/cairn/CairnCommand.swift")
        #expect(command.contains("let cairnVersion = \"\(webVersion)\""))
    }

    @Test func everyReferenceOfTheDescriptionLeadsSomewhere() throws {
        let document = OpenAPIDocument(try Vocabulary()).json
        var count = 0
        func check(_ value: JSON) {
            if let reference = value["$ref"]?.text {
                count += 1
                let parts = reference.dropFirst(2).split(separator: "/").map(String.init)
                let target = parts.reduce(Optional(document)) { $0?[$1] }
                #expect(target != nil, "\(reference)")
            }
            for member in value.members.values { check(member) }
            for element in value.elements { check(element) }
        }
        check(document)
        #expect(count > 100)
    }

    @Test(arguments: [
        ("localhost", true), ("LOCALHOST:8080", true), ("127.0.0.1:1", true), ("[::1]:1", true),
        ("bench.example", true),
        ("evil.example", false), ("localhost.evil.example", false), ("127.0.0.1.evil.example:80", false), ("", false),
        ("localhost:80:80", false), ("[::1].evil", false), ("localhost:x", false),
    ])
    func aNameIsOneOfOurs(_ host: String, _ isOurs: Bool) {
        let rule = HostRule(address: "127.0.0.1", more: ["Bench.example"], isSecure: false)
        #expect(rule.allows(host: host) == isOurs)
    }

    @Test func aPageIsOurOwn() {
        let plain = HostRule(address: "127.0.0.1", more: [], isSecure: false)
        #expect(plain.allows(origin: "http://127.0.0.1:80", host: "127.0.0.1:80"))
        #expect(!plain.allows(origin: "http://127.0.0.1:81", host: "127.0.0.1:80"))
        #expect(!plain.allows(origin: "http://localhost:80", host: "127.0.0.1:80"))
        #expect(!plain.allows(origin: "null", host: "127.0.0.1:80"))
        let secure = HostRule(address: "127.0.0.1", more: [], isSecure: true)
        #expect(secure.allows(origin: "https://127.0.0.1:80", host: "127.0.0.1:80"))
        #expect(!secure.allows(origin: "http://127.0.0.1:80", host: "127.0.0.1:80"))
    }

    @Test(arguments: [
        ("/run/cairn/control.sock", "cairn"), ("/a/kitchen.sock", "kitchen"), ("/a/kitchen-control.sock", "kitchen"),
        ("control.sock", "control"), ("/a/b", "b"),
    ])
    func aWatchIsCalledByItsSocket(_ path: String, _ name: String) { #expect(WatchPlaces.name(of: path) == name) }

    @Test func watchesAreNamedOnce() throws {
        var places = WatchPlaces()
        try places.add(watch: "a=/x/1.sock")
        try places.add(watch: "/x/b=c.sock")
        #expect(places.named.map(\.name) == ["a", "b=c"])
        #expect(throws: WebError.self) { try places.add(watch: "a=/x/2.sock") }
        #expect(throws: WebError.self) { try places.add(watch: "=/x/2.sock") }
        #expect(throws: WebError.self) { try places.add(watch: "c=") }
        #expect(throws: WebError.self) { try places.add(watch: String(repeating: "x", count: 65) + "=/x") }
    }

    @Test func theUsualPlacesAreThoseOfCairn() throws {
        func usual(_ environment: [String: String]) throws -> [String] {
            var places = WatchPlaces()
            try places.addUsual { environment[$0] }
            return places.named.map(\.path) + places.directories
        }
        try #expect(usual([:]) == ["/run/cairn"])
        try #expect(usual(["CAIRN_STATE": "/a:/b"]) == ["/a/control.sock"])
        try #expect(usual(["CAIRN_STATE": "/a", "CAIRN_CONTROL": "/c.sock"]) == ["/c.sock"])
    }

    @Test func aDirectoryIsLookedInto() async throws {
        let folder = try TemporaryDirectory()
        try FileManager.default.createDirectory(atPath: folder.path + "/two", withIntermediateDirectories: false)
        #expect(FileManager.default.createFile(atPath: folder.path + "/no.sock", contents: nil))
        var watches: [FakeWatch] = []
        for path in ["one-control.sock", "two/control.sock", "phone.sock"] {
            watches.append(try await FakeWatch(path: folder.path + "/" + path))
        }
        var places = WatchPlaces()
        places.add(directory: folder.path)
        #expect(places.found().map(\.name) == ["one", "two"])
        for watch in watches { try await watch.kill() }
    }

    @Test func tokensAreMadeOnceAndForTheirUserAlone() throws {
        let folder = try TemporaryDirectory()
        let path = folder.path + "/new/token"
        let tokens = try Tokens(path: path)
        for file in [path, path + ".read-only"] {
            let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? Int
            #expect(mode == 0o600)
        }
        let word = try String(contentsOfFile: path, encoding: .utf8).trimmingCharacters(in: .newlines)
        #expect(tokens.client(bearer: word, from: "here")?.permission == .change)
        try #expect(Tokens(path: path).client(bearer: word, from: "here")?.permission == .change)
        let other = try String(contentsOfFile: path + ".read-only", encoding: .utf8).trimmingCharacters(in: .newlines)
        #expect(word != other && tokens.client(bearer: other, from: "here")?.permission == .look)
        try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: path)
        #expect(throws: WebError.self) { try Tokens(path: path) }
        try "short\n".write(toFile: path, atomically: false, encoding: .utf8)
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
        #expect(throws: WebError.self) { try Tokens(path: path) }
    }

    @Test func aQueueEndsForAReaderThatIsTooSlow() async throws {
        let queue = StreamQueue(.all)
        for _ in 0..<StreamQueue.countLimit { queue.offer(ByteBuffer(string: "x")) }
        guard case .pieces(let pieces) = await queue.next() else { return #expect(Bool(false)) }
        #expect(pieces.count == StreamQueue.countLimit)
        for _ in 0..<StreamQueue.countLimit + 3 { queue.offer(ByteBuffer(string: "x")) }
        guard case .overrun(let lost) = await queue.next() else { return #expect(Bool(false)) }
        #expect(lost == StreamQueue.countLimit + 3)
        #expect(!queue.isStuck(after: 1) && queue.isStuck(after: 1))
        let newest = StreamQueue(.newest)
        for text in ["a", "b"] { newest.offer(ByteBuffer(string: text)) }
        guard case .pieces(let last) = await newest.next() else { return #expect(Bool(false)) }
        #expect(last == [ByteBuffer(string: "b")])
        newest.finish()
        guard case .finished = await newest.next() else { return #expect(Bool(false)) }
    }

    @Test func whatAReaderBeginsWithDoesNotMakeItASlowOne() async throws {
        let queue = StreamQueue(.all)
        for _ in 0...StreamQueue.countLimit { queue.offer(ByteBuffer(string: "x"), isFirst: true) }
        for _ in 0..<StreamQueue.countLimit { queue.offer(ByteBuffer(string: "y")) }
        guard case .pieces(let pieces) = await queue.next() else { return #expect(Bool(false)) }
        #expect(pieces.count == 2 * StreamQueue.countLimit + 1)
        // Once that is read, the limit is that of all.
        for _ in 0...StreamQueue.countLimit { queue.offer(ByteBuffer(string: "z")) }
        guard case .overrun = await queue.next() else { return #expect(Bool(false)) }
        // The limit of bytes is for all pieces.
        let large = StreamQueue(.all)
        let half = ByteBuffer(repeating: 0, count: StreamQueue.byteLimit / 2 + 1)
        for _ in 0..<2 { large.offer(half, isFirst: true) }
        guard case .overrun(lost: 2) = await large.next() else { return #expect(Bool(false)) }
    }

    @Test func aCounterOfLinksDoesNotGoBack() throws {
        func link(_ handle: Int, _ packets: Int) -> JSON {
            let traffic: JSON = [
                "layer": "att", "receivedPackets": .integer(Int64(packets)),
                "receivedBytes": .integer(Int64(packets * 10)),
                "sentPackets": 0, "sentBytes": 0,
            ]
            return ["connection": .integer(Int64(handle)), "traffic": [traffic]]
        }
        var totals = LinkTotals()
        let key = LinkTotals.Key(layer: "att", direction: "received")
        func count(_ links: [JSON]) -> Double {
            totals.take(links)
            return totals.totals[key]?.packets ?? 0
        }
        #expect(count([link(1, 5), link(2, 7)]) == 12)
        #expect(count([link(1, 6)]) == 13)
        #expect(count([link(1, 2)]) == 15)
        #expect(count([]) == 15)
        #expect(totals.totals[key]?.bytes == 150)
    }

    @Test func anAppMessageTakesFromItsWayToItsAnswer() {
        var latency = AppMessageLatency()
        func message(_ at: Double, fromPhone: Bool, _ length: Int) {
            let line =
                #"{"at":\#(at),"event":"message","fromPhone":\#(fromPhone),"length":\#(length),"endpoint":48}"#
            latency.take(ControlLine(ByteBuffer(string: line)))
        }
        message(1, fromPhone: true, 30)
        message(2, fromPhone: false, 40)
        message(1.25, fromPhone: false, 2)
        message(2.5, fromPhone: true, 2)
        message(3, fromPhone: true, 2)
        #expect(latency.histograms[.received]?.sum == 0.25 && latency.histograms[.sent]?.sum == 0.5)
        #expect(latency.histograms[.sent]?.count == 1)
        message(4, fromPhone: false, 40)
        latency.linkIsGone()
        message(5, fromPhone: true, 2)
        #expect(latency.histograms[.sent]?.count == 1)
    }

    @Test(arguments: [1, 3, 8]) func aPictureIsMadeLarger(_ scale: Int) throws {
        let line = #"{"ok":true,"screen":{"width":2,"height":2,"isRound":false,"data":"c0ffc3fc"}}"#
        let picture = try #require(ScreenPicture(answer: ByteBuffer(string: line)))
        let file = try #require(picture.png(scale: scale))
        #expect(file.prefix(8) == [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
        let side = 2 * scale
        #expect(Array(file[16..<26]) == [0, 0, 0, UInt8(side), 0, 0, 0, UInt8(side), 8, 3])
        // After the header and the palette.
        let start = 8 + 25 + 12 + 192
        let length = file[start..<start + 4].reduce(0) { $0 << 8 | Int($1) }
        let packed = Array(file[start + 8..<start + 8 + length])
        var lines = [UInt8](repeating: 0, count: side * (side + 1))
        var count = UInt(lines.count)
        #expect(uncompress(&lines, &count, packed, UInt(packed.count)) == Z_OK)
        for y in 0..<side {
            let expected: [UInt8] = y < scale ? [0x00, 0x3F] : [0x03, 0x3C]
            let row = lines[y * (side + 1)..<(y + 1) * (side + 1)]
            #expect(Array(row) == [0] + expected.flatMap { [UInt8](repeating: $0, count: scale) })
        }
        let short = #"{"ok":true,"screen":{"width":2,"height":3,"isRound":false,"data":"c0ffc3fc"}}"#
        #expect(ScreenPicture(answer: ByteBuffer(string: short))?.png(scale: 1) == nil)
    }

    @Test func aPacketIsARecord() {
        let line = ByteBuffer(string: #"{"packet":{"at":0.25,"data":"01030c00","direction":"sent"}}"#)
        let expected: [UInt8] =
            [0, 0, 3, 0xE8, 0, 0xB, 0x71, 0xB0, 0, 0, 0, 8, 0, 0, 0, 8] + [0, 0, 0, 0] + [1, 3, 0x0C, 0]
        #expect(PacketCapture.record(line, since: 1000.5) == .packet(ByteBuffer(bytes: expected)))
        #expect(PacketCapture.record(ByteBuffer(string: #"{"packet":{"at":1,"lost":3}}"#), since: 0) == .lost(3))
        #expect(PacketCapture.record(ByteBuffer(string: #"{"ok":true}"#), since: 0) == nil)
        #expect(PacketCapture.header.readableBytes == 24)
    }

    @Test func valuesStayWhatTheyAre() throws {
        let text = #"{"a":[1,-9223372036854775808,18446744073709551615,0.1,true,null,"\u00e9\n"],"b":{"c":{}}}"#
        let value = try JSON(parsing: Data(text.utf8))
        let again = try JSON(parsing: Data(value.line.readableBytesView))
        #expect(again == value && value["a"]?.elements[2] == .unsigned(.max) && value["a"]?.elements[4] == true)
        #expect(!value.line.readableBytesView.contains(UInt8(ascii: "\n")))
        for wrong in ["", "{", "[1", "nul"] {
            #expect(throws: (any Error).self) { try JSON(parsing: Data(wrong.utf8)) }
        }
    }
}
