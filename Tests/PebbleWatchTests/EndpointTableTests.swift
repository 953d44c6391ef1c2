import PebbleProtocol
import Testing

@testable import PebbleWatch

/// The table of services: which service each endpoint has.
@Suite struct EndpointTableTests {
    /// Every endpoint that some firmware handles, or has handled.
    private static let known = (0...UInt16.max).map(Endpoint.init(rawValue:)).filter { $0.definition != nil }

    /// Those that watches know and this one takes without a word: a refusal counts as a failure with clients.
    private static let silent: Set<Endpoint> = [
        .meta, .appCustomize, .bleControl, .imaging, .audioStream, .voiceControl, .pollRemote, .xsbug,
    ]

    /// Those that a third-party phone app may use.
    private static let open: Set<Endpoint> = [
        .appMessage, .appRunState, .launcher, .phoneVersion, .ping, .watchVersion,
    ]

    /// Those that recovery firmware has too.
    private static let inRecovery: Set<Endpoint> = [
        .factoryRegistry, .getBytes, .logDump, .phoneVersion, .putBytes, .remoteInput, .reset, .systemMessage,
        .watchVersion,
    ]

    private struct Claims: WatchServiceVisitor {
        var endpoints: [Endpoint] = []

        mutating func call<Service: WatchService>(_ service: inout Service, in context: inout Void) {
            endpoints.append(Service.endpoint)
        }
    }

    private static func claims() -> Claims {
        var rig = ServiceRig()
        var claims = Claims()
        var nothing: Void = ()
        rig.system.services.visitServices(&claims, in: &nothing)
        return claims
    }

    @Test func everyEndpointHasOneServiceOrIsSilent() {
        let claims = Self.claims()
        let claimed = Set(claims.endpoints)
        for endpoint in claimed {
            #expect(claims.endpoints.filter { $0 == endpoint }.count == 1, "\(endpoint): several services")
        }
        for endpoint in Self.known where endpoint.definition?.access != .obsolete {
            #expect(claimed.contains(endpoint) != Self.silent.contains(endpoint), "\(endpoint)")
        }
    }

    /// A service of an endpoint whose messages no session may bring would never be called.
    @Test func everyServiceCanBeReached() {
        for endpoint in Self.claims().endpoints {
            #expect(endpoint.admission(on: .system, inRecoveryFirmware: false) == .allowed, "\(endpoint)")
        }
    }

    @Test func thirdPartyAppsAndRecoveryFirmwareHaveOnlyWhatIsListed() {
        let claimed = Self.claims().endpoints
        let open = claimed.filter { $0.admission(on: .app, inRecoveryFirmware: false) == .allowed }
        #expect(Set(open) == Self.open)
        let inRecovery = claimed.filter { $0.admission(on: .system, inRecoveryFirmware: true) == .allowed }
        #expect(Set(inRecovery) == Self.inRecovery)
    }

    /// The table is not asked for what a session may not use, and refuses nothing else.
    @Test(arguments: [PPoGATTDestination.reversedV2, PPoGATTDestination(kind: .app, application: AppRig.app)])
    func everyEndpointIsAnsweredAsItsSessionAllows(_ companion: PPoGATTDestination) throws {
        for endpoint in Self.known {
            var rig = ServiceRig(kind: companion)
            var bytes: [UInt8] = []
            try MessageFramer.append(PebbleMessage(endpoint: endpoint, payload: [0xEE]), to: &bytes)
            let answers = rig.send(bytes)
            let refusals = try answers.decoded(MetaMessage.self)
            switch endpoint.admission(on: companion.kind, inRecoveryFirmware: false) {
            case .allowed: #expect(refusals.isEmpty, "\(endpoint)")
            case .unhandled: #expect(refusals == [.unhandled(endpoint)], "\(endpoint)")
            case .disallowed: #expect(refusals == [.disallowed(endpoint)], "\(endpoint)")
            }
        }
    }

    /// The result of a change is reported to the service that asked for it.
    @Test func everyServiceThatWaitsForTheStoreIsFound() throws {
        var rig = ServiceRig()
        rig.storeAnswers = false
        try rig.send(AppOrderRequest(applications: [AppRig.app]))
        let handedOver = rig.system.nextChange()
        let change = try #require(handedOver)
        guard case .service(let endpoint) = change.owner else {
            Issue.record("the launcher's order has no owner")
            return
        }
        #expect(Self.claims().endpoints.contains(endpoint))
    }
}
