import Testing

@testable import PebbleProtocol

/// How the console's end agrees that a link is open: the automaton of PPP, for an end that always wants it open (RFC 1661, 4.1).
///
/// Packets are code, number, length of all in two bytes, and data. Codes: 1 Configure-Request, 2 -Ack, 3 -Nak, 4 -Reject,
/// 5 Terminate-Request, 6 -Ack, 7 Code-Reject, 8 Protocol-Reject, 9 Echo-Request, 10 -Reply, 11 Discard-Request.
@Suite struct PulseControlTests {
    private func started(_ number: PulseProtocol = .linkControl) -> PulseControlProtocol {
        var control = PulseControlProtocol(number)
        control.lowerLayerUp(at: .zero)
        #expect(control.takeOutgoing() == [PulseFrame(number, [1, 1, 0, 4])])
        return control
    }

    /// The other end has taken our request, whose number is 1, and we have taken its own.
    private func opened(_ number: PulseProtocol = .linkControl) -> PulseControlProtocol {
        var control = started(number)
        #expect(control.receive([2, 1, 0, 4], at: .zero) == .none)
        #expect(control.state == .acknowledgementReceived)
        #expect(control.receive([1, 0x77, 0, 4], at: .zero) == .up)
        #expect(control.takeOutgoing() == [PulseFrame(number, [2, 0x77, 0, 4])])
        #expect(control.state == .opened && control.nextDeadline == nil)
        return control
    }

    private func frames(_ packets: [[UInt8]]) -> [PulseFrame] { packets.map { PulseFrame(.linkControl, $0) } }

    // MARK: An open link that is agreed on again

    @Test("A request on an open link ends it, and both ends agree again")
    func requestWhenOpen() {
        var control = opened()
        #expect(control.receive([1, 8, 0, 4], at: .seconds(1)) == .down(isFinished: false))
        #expect(control.takeOutgoing() == frames([[1, 2, 0, 4], [2, 8, 0, 4]]))
        #expect(control.state == .acknowledgementSent && control.nextDeadline == .milliseconds(1500))
        #expect(control.receive([2, 2, 0, 4], at: .seconds(1)) == .up)
        #expect(control.state == .opened)
    }

    @Test("A request with options on an open link ends it, and the options are rejected")
    func optionsWhenOpen() {
        var control = opened()
        #expect(control.receive([1, 8, 0, 8, 1, 4, 5, 0xDC], at: .zero) == .down(isFinished: false))
        #expect(control.takeOutgoing() == frames([[1, 2, 0, 4], [4, 8, 0, 8, 1, 4, 5, 0xDC]]))
        #expect(control.state == .requestSent)
    }

    @Test("An acknowledgement on an open link ends it")
    func acknowledgementWhenOpen() {
        var control = opened()
        #expect(control.receive([2, 1, 0, 4], at: .zero) == .down(isFinished: false))
        #expect(control.takeOutgoing() == frames([[1, 2, 0, 4]]))
        #expect(control.state == .requestSent)
    }

    @Test("A refusal of our request ends an open link", arguments: [3, 4] as [UInt8])
    func refusalWhenOpen(_ code: UInt8) {
        var control = opened()
        #expect(control.receive([code, 9, 0, 4], at: .zero) == .none, "it is of another request")
        #expect(control.state == .opened)
        #expect(control.receive([code, 1, 0, 4], at: .zero) == .down(isFinished: false))
        #expect(control.takeOutgoing() == frames([[1, 2, 0, 4]]))
        #expect(control.state == .requestSent)
    }

    @Test(
        "A refusal changes nothing while nothing is agreed on: the request comes again in its time",
        arguments: [3, 4] as [UInt8]
    )
    func refusalBefore(_ code: UInt8) {
        var control = started()
        #expect(control.receive([code, 1, 0, 4], at: .zero) == .none)
        #expect(control.takeOutgoing().isEmpty && control.state == .requestSent)
        control.advance(to: .milliseconds(499))
        #expect(control.takeOutgoing().isEmpty)
        control.advance(to: .milliseconds(500))
        #expect(control.takeOutgoing() == frames([[1, 2, 0, 4]]))
    }

    // MARK: Acknowledgements

    @Test("A second acknowledgement before the other end's request has us ask again")
    func acknowledgedTwice() {
        var control = started()
        #expect(control.receive([2, 1, 0, 4], at: .zero) == .none)
        #expect(control.receive([2, 1, 0, 4], at: .milliseconds(100)) == .none)
        #expect(control.takeOutgoing() == frames([[1, 2, 0, 4]]))
        #expect(control.state == .requestSent && control.nextDeadline == .milliseconds(600))
    }

    @Test(
        "An acknowledgement of another request, with options, or that is cut off is none",
        arguments: [[2, 9, 0, 4], [2, 1, 0, 6, 1, 2], [2, 1, 0, 5], [2, 1, 0, 3], [2, 1, 0], [2], []] as [[UInt8]]
    )
    func otherAcknowledgements(_ packet: [UInt8]) {
        var control = started()
        #expect(control.receive(packet, at: .zero) == .none)
        #expect(control.state == .requestSent && control.takeOutgoing().isEmpty)
    }

    @Test("What is below is not there: nothing that comes means anything")
    func withoutALowerLayer() {
        var control = PulseControlProtocol(.linkControl)
        for packet in [[1, 8, 0, 4], [2, 0, 0, 4], [9, 1, 0, 4]] as [[UInt8]] {
            #expect(control.receive(packet, at: .zero) == .none)
        }
        #expect(control.takeOutgoing().isEmpty && control.state == .starting && control.nextDeadline == nil)
    }

    // MARK: The end

    @Test("A Terminate-Ack takes back the other end's acknowledgement")
    func terminatedHalfWay() {
        var control = started()
        #expect(control.receive([2, 1, 0, 4], at: .zero) == .none)
        #expect(control.receive([6, 0xFF, 0, 4], at: .zero) == .none)
        #expect(control.state == .requestSent && control.takeOutgoing().isEmpty)
        // So its request opens nothing yet.
        #expect(control.receive([1, 8, 0, 4], at: .zero) == .none)
        #expect(control.state == .acknowledgementSent)
    }

    @Test("A Terminate-Ack leaves our own acknowledgement")
    func terminatedAfterAcknowledgement() {
        var control = started()
        #expect(control.receive([1, 8, 0, 4], at: .zero) == .none)
        #expect(control.receive([6, 0xFF, 0, 4], at: .zero) == .none)
        #expect(control.state == .acknowledgementSent)
        #expect(control.receive([2, 1, 0, 4], at: .zero) == .up)
    }

    @Test("An end that takes its leave before anything is agreed on is let go")
    func terminationBefore() {
        var control = started()
        #expect(control.receive([1, 8, 0, 4], at: .zero) == .none)
        #expect(control.receive([5, 3, 0, 4], at: .zero) == .none)
        #expect(control.takeOutgoing() == frames([[2, 8, 0, 4], [6, 3, 0, 4]]))
        #expect(control.state == .requestSent)
    }

    // MARK: Codes

    @Test("A transport has none of the link's own codes", arguments: [8, 9, 10, 11] as [UInt8])
    func codesOfTheLink(_ code: UInt8) {
        var transport = opened(.trainControl)
        #expect(transport.receive([code, 3, 0, 6, 0xAB, 0xCD], at: .zero) == .none)
        #expect(transport.takeOutgoing() == [PulseFrame(.trainControl, [7, 1, 0, 10, code, 3, 0, 6, 0xAB, 0xCD])])
        #expect(transport.state == .opened)
    }

    @Test(
        "A link takes a Protocol-Reject, an echo's answer, a Discard-Request and a Code-Reject without a word",
        arguments: [7, 8, 10, 11] as [UInt8]
    )
    func silentCodes(_ code: UInt8) {
        var control = opened()
        #expect(control.receive([code, 3, 0, 6, 0xAB, 0xCD], at: .zero) == .none)
        #expect(control.takeOutgoing().isEmpty && control.state == .opened)
    }

    @Test("An echo is answered on an open link alone")
    func echo() {
        var control = started()
        #expect(control.receive([9, 3, 0, 5, 0xAB], at: .zero) == .none)
        #expect(control.takeOutgoing().isEmpty)
        control = opened()
        #expect(control.receive([9, 3, 0, 5, 0xAB], at: .zero) == .none)
        #expect(control.takeOutgoing() == frames([[10, 3, 0, 5, 0xAB]]))
    }

    @Test("A protocol that is not spoken here is rejected on an open link alone, with 64 bytes of what it said")
    func otherProtocol() {
        let frame = PulseFrame(PulseProtocol(rawValue: 0xBA29), [UInt8](repeating: 0x11, count: 65))
        var control = started()
        control.rejectProtocol(of: frame)
        #expect(control.takeOutgoing().isEmpty)
        control = opened()
        control.rejectProtocol(of: frame)
        #expect(control.takeOutgoing() == frames([[8, 1, 0, 70, 0xBA, 0x29] + [UInt8](repeating: 0x11, count: 64)]))
    }
}
