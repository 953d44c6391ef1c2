import ByteCoding

extension GATTDatabase {
    /// The message whose AES-CMAC with a key of zeros, least significant byte first, is the Database Hash: what
    /// clients may cache of the published attributes (Core 5.4, Vol 3, Part G, 7.3.1).
    package var hashInput: [UInt8] {
        var message: [UInt8] = []
        for attribute in attributes(in: .all) {
            switch attribute.type {
            case .primaryService, .secondaryService, .include, .characteristic, .characteristicExtendedProperties:
                message.append(attribute.handle)
                message.append(attribute.type)
                message.append(contentsOf: storedValue(of: attribute) ?? [])
            case .characteristicUserDescription, .clientCharacteristicConfiguration,
                .serverCharacteristicConfiguration, .characteristicPresentationFormat, .characteristicAggregateFormat:
                message.append(attribute.handle)
                message.append(attribute.type)
            default:
                break
            }
        }
        return message
    }

    /// The Database Hash as a characteristic's value: 16 bytes, least significant first (Core 5.4, Vol 3, Part G, 7.3).
    /// Empty, which is the hash of no database that a client has seen, if the cryptographic library refuses to work.
    package func hash(_ cryptography: LECryptography) -> [UInt8] {
        guard let code = cryptography.aesCMAC(0, hashInput) else { return [] }
        var value: [UInt8] = []
        value.appendLittleEndian(code)
        return value
    }
}
