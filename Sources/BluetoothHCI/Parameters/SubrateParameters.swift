import ByteCoding

/// The limits that a host sets to the subrating of connections.
///
/// Source: Core 5.4, Vol 4, Part E, 7.8.123 and 7.8.124.
package struct SubrateParameters: Hashable, Sendable {
    /// The least subrate factor: both sides use every Nth connection event, and this is N. 1 to 500.
    package var factorMinimum: UInt16
    /// The greatest subrate factor: 1 to 500.
    package var factorMaximum: UInt16
    /// The greatest peripheral latency, in subrated connection events: 0 to 499.
    package var maximumLatency: UInt16
    /// How many connection events after data both sides use as well: 0 to 499, and less than `factorMaximum`.
    package var continuationNumber: UInt16
    /// The longest supervision timeout.
    package var supervisionTimeout: SupervisionTimeout

    /// The greatest subrate factor, and the most connection events that a peripheral may leave out with its latency.
    package static let maximumFactor: UInt16 = 500

    /// What a controller grants until its host says more: no subrating.
    ///
    /// Source: Core 5.4, Vol 4, Part E, 7.8.123.
    package static let initial = SubrateParameters(
        factorMinimum: 1,
        factorMaximum: 1,
        maximumLatency: 0,
        continuationNumber: 0,
        supervisionTimeout: SupervisionTimeout(rawValue: SupervisionTimeout.validRange.upperBound)
    )

    /// Makes limits of any values: `areValid` says whether the Core allows them.
    package init(
        factorMinimum: UInt16,
        factorMaximum: UInt16,
        maximumLatency: UInt16,
        continuationNumber: UInt16,
        supervisionTimeout: SupervisionTimeout
    ) {
        self.factorMinimum = factorMinimum
        self.factorMaximum = factorMaximum
        self.maximumLatency = maximumLatency
        self.continuationNumber = continuationNumber
        self.supervisionTimeout = supervisionTimeout
    }

    /// Whether the Core allows them: each in its range and in order, and no more than 500 events left out in a row.
    package var areValid: Bool {
        guard factorMinimum >= 1, factorMinimum <= factorMaximum, factorMaximum <= Self.maximumFactor else {
            return false
        }
        guard continuationNumber < factorMaximum, supervisionTimeout.isValid else { return false }
        return Int(factorMaximum) * (Int(maximumLatency) + 1) <= Int(Self.maximumFactor)
    }

    init(reading reader: inout ByteReader, _ field: String) throws(ByteDecodingError) {
        factorMinimum = try reader.readLittleEndian(field + ".subrate_min")
        factorMaximum = try reader.readLittleEndian(field + ".subrate_max")
        maximumLatency = try reader.readLittleEndian(field + ".max_latency")
        continuationNumber = try reader.readLittleEndian(field + ".continuation_number")
        supervisionTimeout = try SupervisionTimeout(reading: &reader, field + ".supervision_timeout")
    }

    func encode(to buffer: inout [UInt8]) {
        buffer.appendLittleEndian(factorMinimum)
        buffer.appendLittleEndian(factorMaximum)
        buffer.appendLittleEndian(maximumLatency)
        buffer.appendLittleEndian(continuationNumber)
        supervisionTimeout.encode(to: &buffer)
    }
}
