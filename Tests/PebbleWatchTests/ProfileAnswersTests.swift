import BluetoothHCI
import PebbleProtocol
import Testing

@testable import BluetoothHost
@testable import BluetoothPeripheral
@testable import PebbleWatch

/// What the watch's GATT services answer for values that the database keeps, and so is asked for in their stead: the same as the
/// database, and no write of a value that only the watch sets.
@Suite struct ProfileAnswersTests {
    private static let address = LEAddress.random(DeviceAddress(0xC0DE_0000_1234))

    private static func configuration() -> WatchConfiguration {
        var identity = WatchIdentity(address: address)
        identity.name = "Pebble Test"
        identity.serialNumber = "Q123456789AB"
        var configuration = WatchConfiguration(identity: identity)
        configuration.batteryLevel = 73
        return configuration
    }

    private static let peer = Peer(
        Connection(
            handle: 0x40,
            role: .peripheral,
            peer: .random(DeviceAddress(0xD0_01_02_03_04_05)),
            peerAddressOnAir: .random(DeviceAddress(0xD0_01_02_03_04_05)),
            ownAddress: address,
            interval: .milliseconds(30),
            latency: 0,
            supervisionTimeout: .milliseconds(6000)
        )
    )

    /// The value that a read is answered with, or the error.
    private func read<Service: GATTService>(_ value: Service.Value, of service: Service) -> Result<[UInt8], ATTError>? {
        var service = service
        var output = ServiceOutput<Service.Value>(now: .zero, lastToken: 0)
        let reply = service.read(value, by: Self.peer, &output)
        #expect(output.actions.isEmpty, "nothing else happens")
        return switch reply {
        case .value(let bytes): .success(bytes)
        case .refused(let error): .failure(error)
        case .later: nil
        }
    }

    /// The error that a write is answered with.
    private func refusal<Service: GATTService>(of value: Service.Value, of service: Service) -> ATTError? {
        var service = service
        var output = ServiceOutput<Service.Value>(now: .zero, lastToken: 0)
        let reply = service.write([0x01], to: value, by: Self.peer, &output)
        #expect(output.actions.isEmpty, "nothing else happens")
        return if case .refused(let error) = reply { error } else { nil }
    }

    @Test func theBatterySaysItsChargeAndTakesNone() {
        var battery = BatteryService(Self.configuration())
        #expect(read(.level, of: battery) == .success([73]))
        battery.measured(9)
        #expect(read(.level, of: battery) == .success([9]))
        #expect(refusal(of: .level, of: battery) == .writeNotPermitted)
        #expect(read(.level, of: battery) == .success([9]))
    }

    /// Two bytes, least significant first; 0 while no service listens.
    @Test func aStreamSaysItsPSMAndTakesNone() {
        var stream = PublishedPSMService(.pebble, Self.configuration())
        #expect(read(.psm, of: stream) == .success([0x00, 0x00]))
        stream.publish(SPSM(rawValue: 0x0083))
        #expect(read(.psm, of: stream) == .success([0x83, 0x00]))
        #expect(refusal(of: .psm, of: stream) == .writeNotPermitted)
        stream.publish(nil)
        #expect(read(.psm, of: stream) == .success([0x00, 0x00]))
    }

    @Test func whoTheWatchIsCannotBeWritten() {
        var configuration = Self.configuration()
        configuration.privacy = .resolvablePrivateAddress(lifetime: .seconds(900))
        let access = GenericAccessService(configuration)
        #expect(refusal(of: .deviceName, of: access) == .writeNotPermitted)
        let information = DeviceInformationService(configuration)
        for value in DeviceInformationService.Value.allCases {
            #expect(refusal(of: value, of: information) == .writeNotPermitted, "\(value)")
        }
    }

    /// Unlikely Error (0x0E): the GATT layer answers for these.
    @Test func genericAttributeHasNothingToSayItself() {
        let attribute = GenericAttributeService(Self.configuration())
        for value in GenericAttributeService.Value.allCases {
            #expect(read(value, of: attribute) == .failure(ATTError(rawValue: 0x0E)), "\(value)")
            #expect(refusal(of: value, of: attribute) == ATTError(rawValue: 0x0E), "\(value)")
        }
    }

    /// Packets are not this service's: a write that reaches it is none, and what it notifies cannot be read.
    @Test(arguments: [Personality.ReversedTransport.v1, .v2])
    func thePPoGATTServiceTakesNoValues(version: Personality.ReversedTransport) {
        let service = ReversedPPoGATTService(version, Self.configuration())
        for value in ReversedPPoGATTService.Value.allCases {
            #expect(read(value, of: service) == .failure(.readNotPermitted))
            #expect(refusal(of: value, of: service) == ATTError(rawValue: 0x0E))
        }
    }
}
