import BluetoothHost
import Testing

@Suite struct ATTTypesTests {
    @Test func uuidFormsOfOneNumberAreEqual() {
        let short = BluetoothUUID.uuid16(0x180A)
        let long = BluetoothUUID.uuid128(0x0000_180A_0000_1000_8000_0080_5F9B_34FB)
        #expect(short == long)
        #expect(Set([short, long]).count == 1)
        #expect(long.shortened.byteCount == 2)
        #expect(short != .uuid16(0x180B))
        #expect(BluetoothUUID.uuid128(0x0001_180A_0000_1000_8000_0080_5F9B_34FB) != short)
        #expect(BluetoothUUID.uuid128(0x0001_180A_0000_1000_8000_0080_5F9B_34FB).shortened.byteCount == 16)
    }

    @Test func uuidTextReadsAndPrints() {
        #expect(BluetoothUUID("180a") == .uuid16(0x180A))
        #expect(BluetoothUUID("0000180A") == .uuid16(0x180A))
        #expect(BluetoothUUID("0000180a-0000-1000-8000-00805f9b34fb") == .uuid16(0x180A))
        let pebble = BluetoothUUID.uuid128(0x0000_0001_328E_0FBB_C642_1AA6_699B_DADA)
        #expect(pebble.description == "00000001-328E-0FBB-C642-1AA6699BDADA")
        #expect(BluetoothUUID(pebble.description) == pebble)
        #expect(BluetoothUUID.uuid16(0x0001).description == "0001")
        for text in ["", "18", "180G", "-180A", "+80A", "180A-", "0000180A-0000-1000-8000-00805F9B34F", "-------4"] {
            #expect(BluetoothUUID(text) == nil, "\(text)")
        }
    }

    @Test func uuidsGoOutLeastSignificantByteFirst() {
        var bytes: [UInt8] = []
        bytes.append(.uuid16(0x180A))
        bytes.append(.uuid128(0x0011_2233_4455_6677_8899_AABB_CCDD_EEFF))
        #expect(
            bytes == [
                0x0A, 0x18, 0xFF, 0xEE, 0xDD, 0xCC, 0xBB, 0xAA, 0x99, 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11,
                0x00,
            ]
        )
    }

    @Test func handleRangesAreNeverEmpty() {
        #expect(AttributeHandleRange(.none, .last) == nil)
        #expect(AttributeHandleRange(AttributeHandle(rawValue: 2), .first) == nil)
        #expect(AttributeHandleRange.all.after(.last) == nil)
        #expect(AttributeHandleRange.all.after(.first)?.start.rawValue == 2)
        #expect(AttributeHandleRange(.first)?.after(.first) == nil)
        #expect(AttributeHandle.last.next == nil)
        #expect(AttributeHandleRange.all.description == "0x0001-0xFFFF")
    }

    /// Core 5.4, Vol 3, Part F, 3.4.1.1, and Core Specification Supplement, Part B, 1.2.
    @Test func errorsHaveTheSpecificationsNumbersAndNames() {
        let expected: [(ATTError, UInt8, String)] = [
            (.invalidHandle, 0x01, "Invalid Handle (0x01)"),
            (.readNotPermitted, 0x02, "Read Not Permitted (0x02)"),
            (.writeNotPermitted, 0x03, "Write Not Permitted (0x03)"),
            (.invalidPDU, 0x04, "Invalid PDU (0x04)"),
            (.insufficientAuthentication, 0x05, "Insufficient Authentication (0x05)"),
            (.requestNotSupported, 0x06, "Request Not Supported (0x06)"),
            (.invalidOffset, 0x07, "Invalid Offset (0x07)"),
            (.insufficientAuthorization, 0x08, "Insufficient Authorization (0x08)"),
            (.prepareQueueFull, 0x09, "Prepare Queue Full (0x09)"),
            (.attributeNotFound, 0x0A, "Attribute Not Found (0x0A)"),
            (.attributeNotLong, 0x0B, "Attribute Not Long (0x0B)"),
            (.encryptionKeySizeTooShort, 0x0C, "Encryption Key Size Too Short (0x0C)"),
            (.invalidAttributeValueLength, 0x0D, "Invalid Attribute Value Length (0x0D)"),
            (.unlikelyError, 0x0E, "Unlikely Error (0x0E)"),
            (.insufficientEncryption, 0x0F, "Insufficient Encryption (0x0F)"),
            (.unsupportedGroupType, 0x10, "Unsupported Group Type (0x10)"),
            (.insufficientResources, 0x11, "Insufficient Resources (0x11)"),
            (.databaseOutOfSync, 0x12, "Database Out Of Sync (0x12)"),
            (.valueNotAllowed, 0x13, "Value Not Allowed (0x13)"),
            (.writeRequestRejected, 0xFC, "Write Request Rejected (0xFC)"),
            (
                .clientConfigurationImproper, 0xFD,
                "Client Characteristic Configuration Descriptor Improperly Configured (0xFD)"
            ),
            (.procedureAlreadyInProgress, 0xFE, "Procedure Already in Progress (0xFE)"),
            (.outOfRange, 0xFF, "Out of Range (0xFF)"),
        ]
        for (error, code, text) in expected {
            #expect(error.rawValue == code)
            #expect(error.description == text)
        }
        #expect(ATTError(application: 0x80)?.description == "Application Error (0x80)")
        #expect(ATTError(application: 0x9F)?.rawValue == 0x9F)
        #expect(ATTError(application: 0x7F) == nil)
        #expect(ATTError(application: 0xA0) == nil)
    }
}
