import BluetoothHost
import ByteCoding
import Testing

@Suite struct PacketTranscriptTests {
    private static let key = "00112233445566778899aabbccddeeff"

    private func bytes(_ text: String) -> ArraySlice<UInt8> { ([UInt8](hexadecimal: text) ?? [])[...] }

    @Test(arguments: [
        ("01 1a20 12 0100 ", "LE Long Term Key Request Reply"),
        ("01 1920 1c 0100 0000000000000000 0000", "LE Enable Encryption"),
        ("01 2720 27 00 112233445566 ", "LE Add Device To Resolving List"), ("01 1720 20 ", "LE Encrypt"),
        ("02 0120 1500 1100 0600 06", "Encryption Information"), ("02 0120 1500 1100 0600 08", "Identity Information"),
        ("02 0100 1500 1100 0600 0a", "Signing Information"),
    ])
    func keysAreNotShown(start: String, name: String) {
        var transcript = PacketTranscript()
        let text = transcript.text(of: bytes(start + Self.key), isFromHost: false)
        #expect(!text.contains(Self.key), "\(name)")
        #expect(text.contains("secret bytes"), "\(name)")
    }

    @Test func therestIsShownWhole() {
        var transcript = PacketTranscript()
        for packet in [
            "01030c00", "040e0401030c00", "0201000b00070004001b1b0015000000", "0201000600020006000305", "", "ff",
        ] {
            #expect(transcript.text(of: bytes(packet), isFromHost: true) == packet)
        }
    }

    @Test func aKeyInPiecesIsNotShownEither() {
        var transcript = PacketTranscript()
        let firstPiece = transcript.text(of: bytes("02 0120 0900 1100 0600 08 00112233"), isFromHost: false)
        let secondPiece = transcript.text(of: bytes("02 0110 0c00 445566778899aabbccddeeff"), isFromHost: false)
        let other = transcript.text(of: bytes("02 0210 0200 4455"), isFromHost: false)
        #expect(!firstPiece.contains("112233"))
        #expect(!secondPiece.contains("4455"))
        #expect(other == "02021002004455", "another connection's")
        // A start that is too short to tell.
        #expect(!transcript.text(of: bytes("02 0120 0200 1100"), isFromHost: false).contains("02002"))
        #expect(!transcript.text(of: bytes("02 0110 0600 060008445566"), isFromHost: false).contains("445566"))
        // The next frame ends it.
        _ = transcript.text(of: bytes("02 0120 0700 0300 0400 020502"), isFromHost: false)
        #expect(transcript.text(of: bytes("02 0110 0200 4455"), isFromHost: false) == "02011002004455")
    }
}
