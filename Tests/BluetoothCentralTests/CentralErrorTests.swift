import BluetoothCentral
import BluetoothHCI
import BluetoothHost
import Testing

/// What people read when a request fails.
@Suite struct CentralErrorTests {
    private static let errors: [(CentralError, String)] = [
        (
            .controllerFailed(.noDataBuffers),
            "the controller cannot be used: the controller has no buffers for LE data"
        ),
        (.scanningFailed(.hardwareFailure), "the controller does not scan: Hardware Failure (0x03)"),
        (
            .notFound,
            "no such peripheral advertised in time: is it switched on, near, and not connected to another device?"
        ),
        (
            .timedOut,
            "the peripheral did not connect in time: is it still near, and not connected to another device?"
        ),
        (.connectionFailed(.hardwareFailure), "the controller could not connect: Hardware Failure (0x03)"),
        (.disconnected(.connectionTimeout), "the peripheral is disconnected: Connection Timeout (0x08)"),
        (.disconnected(nil), "the peripheral is not connected any more"),
        (.noSuchService(.uuid16(0x180F)), "the peripheral has no service 180F"),
        (.noSuchCharacteristic(.uuid16(0x2A19)), "the service has no characteristic 2A19"),
        (.cannotSubscribe(.uuid16(0x2A19)), "the characteristic 2A19 has no Client Characteristic Configuration"),
        (.procedure(.valueExceedsMTU), "the value does not fit into the MTU"),
        (.notStarted(.queueFull), "the connection's queue is full"),
        (.doesNotPair, "this central does not pair: its configuration has no security"),
        (.pairingFailed(.timedOut), "pairing failed: timed out; pairing is possible again after a reconnection"),
        (
            .encryptionFailed(.pinOrKeyMissing),
            "the link could not be encrypted with the bond's key: PIN or Key Missing (0x06)"
        ),
        (.cancelled, "the request was cancelled"),
    ]

    @Test("each error says what happened, and what of, in words", arguments: errors)
    func errorsAreSentences(error: CentralError, text: String) {
        #expect(error.description == text)
    }

    private static let refusals: [(SecurityRefusal, String)] = [
        (.unknownConnection, "the connection is gone"),
        (.wrongRole, "only the central of a connection pairs"),
        (.busy, "a pairing or an encryption is going on"),
        (.timedOut, "a pairing on this connection timed out; connect again first"),
        (.tooSoon(until: .seconds(7)), "the last one with this peripheral failed; not before 7.0 seconds"),
        (.notPairable, "this device may not be paired with now"),
        (.noKey, "there is no key for this peripheral"),
    ]

    @Test("a pairing that could not be started says why", arguments: refusals)
    func refusalsAreExplained(refusal: SecurityRefusal, reason: String) {
        #expect(CentralError.pairingNotStarted(refusal).description == "pairing could not be started: " + reason)
    }
}
