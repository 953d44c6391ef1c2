// Made by `generate` from commands.txt: change that file, and run it again.

import ByteCoding

/// Encrypts one block with AES-128.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.22.
package struct LEEncrypt: HCICommandWithReturn {
    package static let id = HCICommandID("LEEncrypt", .lowEnergy, 0x0017, bit: (27, 6))

    /// What Command Complete carries after the status.
    package struct ReturnParameters: HCIReturnParameters {
        package static let size = 16

        /// The encrypted block.
        package var ciphertext: UInt128

        /// Makes return parameters with these values.
        package init(ciphertext: UInt128) {
            self.ciphertext = ciphertext
        }

        package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
            ciphertext = try reader.readLittleEndian("le_encrypt.return.ciphertext")
        }

        package func encode(to buffer: inout [UInt8]) {
            buffer.appendLittleEndian(ciphertext)
        }
    }

    /// The key, whose least significant octet is sent first.
    package var key: UInt128
    /// The block, whose least significant octet is sent first.
    package var plaintext: UInt128

    /// Makes the command with these parameters.
    package init(key: UInt128, plaintext: UInt128) {
        self.key = key
        self.plaintext = plaintext
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        key = try reader.readLittleEndian("le_encrypt.key")
        plaintext = try reader.readLittleEndian("le_encrypt.plaintext")
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.appendLittleEndian(key)
        buffer.appendLittleEndian(plaintext)
    }
}

/// Asks for 8 random octets.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.23.
package struct LERand: HCICommandWithReturn, HCICommandWithoutParameters {
    package static let id = HCICommandID("LERand", .lowEnergy, 0x0018, bit: (27, 7))

    /// What Command Complete carries after the status.
    package struct ReturnParameters: HCIReturnParameters {
        package static let size = 8

        /// The octets.
        package var randomNumber: UInt64

        /// Makes return parameters with these values.
        package init(randomNumber: UInt64) {
            self.randomNumber = randomNumber
        }

        package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
            randomNumber = try reader.readLittleEndian("le_rand.return.random_number")
        }

        package func encode(to buffer: inout [UInt8]) {
            buffer.appendLittleEndian(randomNumber)
        }
    }

    /// Makes the command, which has no parameters.
    package init() {}
}

/// Encrypts a connection, or renews its key; the central's. Encryption Change or Encryption Key Refresh Complete
/// follows.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.24.
package struct LEEnableEncryption: HCICommand {
    package static let id = HCICommandID("LEEnableEncryption", .lowEnergy, 0x0019, bit: (28, 0))

    /// Which connection.
    package var handle: ConnectionHandle
    /// Names the key in LE legacy pairing; else 0.
    package var randomNumber: UInt64
    /// Names the key in LE legacy pairing; else 0.
    package var encryptedDiversifier: UInt16
    /// The key.
    package var longTermKey: UInt128

    /// Makes the command with these parameters.
    package init(handle: ConnectionHandle, randomNumber: UInt64, encryptedDiversifier: UInt16, longTermKey: UInt128) {
        self.handle = handle
        self.randomNumber = randomNumber
        self.encryptedDiversifier = encryptedDiversifier
        self.longTermKey = longTermKey
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        handle = try reader.readConnectionHandle("le_enable_encryption.handle")
        randomNumber = try reader.readLittleEndian("le_enable_encryption.random_number")
        encryptedDiversifier = try reader.readLittleEndian("le_enable_encryption.encrypted_diversifier")
        longTermKey = try reader.readLittleEndian("le_enable_encryption.long_term_key")
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.appendLittleEndian(handle.rawValue)
        buffer.appendLittleEndian(randomNumber)
        buffer.appendLittleEndian(encryptedDiversifier)
        buffer.appendLittleEndian(longTermKey)
    }
}

/// Answers LE Long Term Key Request with the key.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.25.
package struct LELongTermKeyRequestReply: HCICommandWithReturn {
    package static let id = HCICommandID("LELongTermKeyRequestReply", .lowEnergy, 0x001A, bit: (28, 1))

    /// What Command Complete carries after the status.
    package struct ReturnParameters: HCIReturnParameters {
        package static let size = 2

        /// Which connection.
        package var handle: ConnectionHandle

        /// Makes return parameters with these values.
        package init(handle: ConnectionHandle) {
            self.handle = handle
        }

        package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
            handle = try reader.readConnectionHandle("le_long_term_key_request_reply.return.handle")
        }

        package func encode(to buffer: inout [UInt8]) {
            buffer.appendLittleEndian(handle.rawValue)
        }
    }

    /// Which connection.
    package var handle: ConnectionHandle
    /// The key.
    package var longTermKey: UInt128

    /// Makes the command with these parameters.
    package init(handle: ConnectionHandle, longTermKey: UInt128) {
        self.handle = handle
        self.longTermKey = longTermKey
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        handle = try reader.readConnectionHandle("le_long_term_key_request_reply.handle")
        longTermKey = try reader.readLittleEndian("le_long_term_key_request_reply.long_term_key")
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.appendLittleEndian(handle.rawValue)
        buffer.appendLittleEndian(longTermKey)
    }
}

/// Answers LE Long Term Key Request: there is no such key.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.26.
package struct LELongTermKeyRequestNegativeReply: HCICommandWithReturn {
    package static let id = HCICommandID("LELongTermKeyRequestNegativeReply", .lowEnergy, 0x001B, bit: (28, 2))

    /// What Command Complete carries after the status.
    package struct ReturnParameters: HCIReturnParameters {
        package static let size = 2

        /// Which connection.
        package var handle: ConnectionHandle

        /// Makes return parameters with these values.
        package init(handle: ConnectionHandle) {
            self.handle = handle
        }

        package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
            handle = try reader.readConnectionHandle("le_long_term_key_request_negative_reply.return.handle")
        }

        package func encode(to buffer: inout [UInt8]) {
            buffer.appendLittleEndian(handle.rawValue)
        }
    }

    /// Which connection.
    package var handle: ConnectionHandle

    /// Makes the command with these parameters.
    package init(handle: ConnectionHandle) {
        self.handle = handle
    }

    package init(reading reader: inout ByteReader) throws(ByteDecodingError) {
        handle = try reader.readConnectionHandle("le_long_term_key_request_negative_reply.handle")
    }

    package func encode(to buffer: inout [UInt8]) {
        buffer.appendLittleEndian(handle.rawValue)
    }
}
