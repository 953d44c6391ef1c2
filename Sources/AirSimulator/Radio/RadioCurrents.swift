/// What a radio draws from its battery, for turning the time for which it is on into charge.
public struct RadioCurrents: Hashable, Sendable {
    /// While transmitting, in milliamperes.
    public var transmittingMilliamperes: Double
    /// While receiving or listening, in milliamperes.
    public var receivingMilliamperes: Double
    /// While neither, with a clock that runs, in milliamperes.
    public var sleepingMilliamperes: Double

    /// Currents in milliamperes.
    public init(transmittingMilliamperes: Double, receivingMilliamperes: Double, sleepingMilliamperes: Double) {
        self.transmittingMilliamperes = transmittingMilliamperes
        self.receivingMilliamperes = receivingMilliamperes
        self.sleepingMilliamperes = sleepingMilliamperes
    }

    /// An nRF52840, which today's watches have, at 0 dBm from 3 V through its DC/DC converter.
    ///
    /// Source: nRF52840 Product Specification, "Feature list": 4.8 mA transmitting, 4.6 mA receiving, 1.5 µA asleep with
    /// the real-time counter.
    public static let nRF52840 = RadioCurrents(
        transmittingMilliamperes: 4.8,
        receivingMilliamperes: 4.6,
        sleepingMilliamperes: 0.0015
    )

    /// The charge that a radio takes within a span for which it was on as said, in milliampere hours.
    public func milliampereHours(_ radio: RadioTime, within span: Duration) -> Double {
        let asleep = max(.zero, span - radio.transmitting - radio.receiving)
        let hour = Duration.seconds(3600)
        return radio.transmitting / hour * transmittingMilliamperes
            + radio.receiving / hour * receivingMilliamperes
            + asleep / hour * sleepingMilliamperes
    }

    /// The same for a day that goes on as the span went.
    public func milliampereHoursPerDay(_ radio: RadioTime, within span: Duration) -> Double {
        span > .zero ? milliampereHours(radio, within: span) * (.seconds(86_400) / span) : 0
    }
}
