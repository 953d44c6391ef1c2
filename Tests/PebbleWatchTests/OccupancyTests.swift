import AirSimulator
import BluetoothHost
import PebbleProtocol
import Testing

@testable import PebbleWatch

/// What a second phone finds while another has the one session of the firmware behind the watch, by personality.
@Suite struct OccupancyTests {
    private static let system: AttributeName = "system"

    /// A phone without a companion yet, beside another that has the session.
    private struct Rig {
        var air: CompanionsRig
        let other: SessionID

        init(_ personality: Personality) throws {
            air = try CompanionsRig(
                [RigCompanion(system, .system)],
                hidden: [CompanionsPhone.appLaunch, system],
                personality: personality,
                brain: .emulator
            )
            other = air.onWatch { watch, now in
                watch.host.core.system.openSession(.reversedV2, over: .reversedPPoGATT, at: now)
            }
        }

        mutating func isConnected() -> Bool { air.onPhone { phone, _ in phone.host.connection } != nil }

        /// The phone comes again.
        mutating func reconnect() {
            air.onPhone { phone, _ in phone.host.disconnect() }
            air.run(for: .seconds(1))
            air.onPhone { phone, _ in phone.host.connect(to: RigWatch.address) }
            air.run(for: .seconds(3))
        }

        /// The other phone's session ends.
        mutating func end() {
            let other = other
            air.onWatch { watch, now in
                watch.host.core.system.closeSession(other, reason: "its phone left", at: now)
                watch.host.settle(at: now)
            }
            air.run(for: .seconds(4))
        }

        mutating func lastCause() -> Disconnection.Cause? {
            air.onWatch { watch, _ in watch.host.status.lastDisconnection?.cause }
        }
    }

    @Test func theSecondSessionEndsWithItsLink() throws {
        var rig = try Rig(.universal)
        let isThere = rig.isConnected()
        #expect(isThere)
        try rig.air.show(Self.system)
        let isGone = !rig.isConnected()
        let cause = rig.lastCause()
        #expect(isGone && cause == .busy)
    }

    @Test(arguments: ["core", "emery", "gabbro"])
    func theSecondLinkEnds(name: String) throws {
        let personality = try #require(Personality.all.first { $0.name == name })
        var rig = try Rig(personality)
        let wasThere = rig.isConnected()
        #expect(wasThere, "it came before the other had the session")
        rig.reconnect()
        let isGone = !rig.isConnected()
        let cause = rig.lastCause()
        #expect(isGone && cause == .busy)
        rig.end()
        rig.reconnect()
        let isBack = rig.isConnected()
        #expect(isBack)
    }

    @Test(arguments: ["silk", "snowy", "chalk"])
    func noTransportIsOpenedUntilTheSessionIsFree(name: String) throws {
        let personality = try #require(Personality.all.first { $0.name == name })
        var rig = try Rig(personality)
        try rig.air.show(Self.system, for: .seconds(20))
        let waiting = rig.air.companion(Self.system)
        let isThere = rig.isConnected()
        #expect(isThere && waiting.transport == nil && waiting.openedCount == 0)
        rig.end()
        let open = rig.air.companion(Self.system)
        #expect(open.isOpen && open.openedCount == 1)
        let kinds = rig.air.kinds()
        #expect(kinds.count == 1)
    }

    @Test func aServiceThatGoesWhileItWaitsIsNotOpened() throws {
        var rig = try Rig(.snowy)
        try rig.air.show(Self.system)
        try rig.air.show(Self.system, false)
        rig.end()
        let open = rig.air.companion(Self.system)
        #expect(open.openedCount == 0)
    }
}
