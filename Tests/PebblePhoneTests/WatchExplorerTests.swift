import BluetoothHost
import PebbleProtocol
import Testing

@testable import PebblePhone

/// The explorer against a watch that changes, refuses, and answers what was not asked.
@Suite("A phone that explores a watch")
struct WatchExplorerTests {
    private static func range(_ start: UInt16, _ end: UInt16) throws -> AttributeHandleRange {
        try #require(AttributeHandleRange(AttributeHandle(rawValue: start), AttributeHandle(rawValue: end)))
    }

    private static func services(_ count: UInt16) throws -> GATTResponse {
        .services(
            try (0..<count).map { index in
                DiscoveredService(
                    uuid: .uuid16(0xA000 + index),
                    range: try range(index * 10 + 1, index * 10 + 10)
                )
            }
        )
    }

    /// Answers every procedure with nothing found, until there are no more.
    private static func finish(_ explorer: inout WatchExplorer) -> Int {
        var count = 0
        while let procedure = explorer.nextProcedure() {
            count += 1
            switch procedure {
            case .discoverAllPrimaryServices: explorer.finish(.success(.services([])))
            case .discoverCharacteristics: explorer.finish(.success(.characteristics([])))
            case .discoverDescriptors: explorer.finish(.success(.descriptors([])))
            default: explorer.finish(.success(.written))
            }
        }
        return count
    }

    private static func events(_ explorer: inout WatchExplorer) -> [String] {
        var events: [String] = []
        while let event = explorer.nextEvent() { events.append("\(event)") }
        return events
    }

    @Test("starts again when the database changes, and drops the result of a pending procedure")
    func restart() throws {
        var explorer = WatchExplorer()
        #expect(explorer.nextProcedure() == .exchangeMTU)
        explorer.finish(.success(.mtu(247)))
        #expect(explorer.nextProcedure() == .discoverAllPrimaryServices)
        explorer.finish(.success(try Self.services(5)))
        #expect(explorer.nextProcedure() == .discoverCharacteristics(in: try Self.range(1, 10)))
        explorer.restart()
        // The answer is about a database that is gone.
        explorer.finish(
            .success(
                .characteristics([
                    DiscoveredCharacteristic(
                        uuid: .uuid16(0xB000),
                        properties: .read,
                        declaration: AttributeHandle(rawValue: 2),
                        value: AttributeHandle(rawValue: 3)
                    )
                ])
            )
        )
        #expect(explorer.nextProcedure() == .discoverAllPrimaryServices)
        explorer.finish(.success(try Self.services(1)))
        #expect(Self.finish(&explorer) == 1)
        #expect(explorer.watch.services.map(\.uuid) == [.uuid16(0xA000)])
        #expect(explorer.watch.attributeCount == 1)
        #expect(explorer.nextProcedure() == nil)
        #expect(Self.events(&explorer).last == "finished")
        // Also when everything was done.
        explorer.restart()
        #expect(explorer.nextProcedure() == .discoverAllPrimaryServices)
    }

    @Test("continues after every failure")
    func failures() throws {
        var explorer = WatchExplorer()
        var count = 0
        while explorer.nextProcedure() != nil {
            count += 1
            explorer.finish(.failure(.timedOut))
        }
        #expect(count == 2)
        let events = Self.events(&explorer)
        #expect(events.count == 4)
        #expect(events.last == "finished")
    }

    @Test("ignores an answer of another kind, and one without a request")
    func wrongAnswers() {
        var explorer = WatchExplorer()
        explorer.finish(.success(.mtu(247)))
        #expect(Self.events(&explorer) == [])
        #expect(explorer.nextProcedure() == .exchangeMTU)
        #expect(explorer.nextProcedure() == nil)
        explorer.finish(.success(.value([1, 2, 3])))
        #expect(Self.finish(&explorer) == 1)
    }

    @Test("finds no room for descriptors after the last value of a service that ends at handle 0xFFFF")
    func lastHandle() throws {
        var explorer = WatchExplorer()
        _ = explorer.nextProcedure()
        explorer.finish(.success(.mtu(23)))
        _ = explorer.nextProcedure()
        let service = DiscoveredService(uuid: .uuid16(0xA000), range: try Self.range(0xFFFD, 0xFFFF))
        explorer.finish(.success(.services([service])))
        _ = explorer.nextProcedure()
        let characteristic = DiscoveredCharacteristic(
            uuid: .uuid16(0xB000),
            properties: .read,
            declaration: AttributeHandle(rawValue: 0xFFFE),
            value: AttributeHandle(rawValue: 0xFFFF)
        )
        explorer.finish(.success(.characteristics([characteristic])))
        #expect(explorer.nextProcedure() == nil)
        #expect(explorer.watch.attributeCount == 3)
    }
}
