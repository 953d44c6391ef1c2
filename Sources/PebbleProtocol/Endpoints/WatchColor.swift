/// The colour of a watch's case, written in the factory: big-endian UInt32 in the registry, one byte in the
/// advertisement.
///
/// Companions choose pictures by it, and libpebble3 the kind of watch too. The order of 11 to 13 is the firmware's;
/// libpebble2 has another.
public enum WatchColor: UInt32, Hashable, Sendable, CaseIterable {
    case unknown = 0
    case pebbleBlack, pebbleWhite, pebbleRed, pebbleOrange, pebbleGray
    case steelSilver, steelBlack
    case pebbleBlue, pebbleGreen, pebblePink
    case timeWhite, timeBlack, timeRed
    case timeSteelSilver, timeSteelBlack, timeSteelGold
    case timeRoundSilver14, timeRoundBlack14, timeRoundSilver20, timeRoundBlack20, timeRoundRoseGold14
    case timeRoundRainbowSilver14, timeRoundRainbowBlack20
    case pebble2SEBlack, pebble2HRBlack, pebble2SEWhite, pebble2HRLime, pebble2HRFlame, pebble2HRWhite, pebble2HRAqua
    case originalTime2Black, originalTime2Silver, originalTime2Gold
    case duo2Black, duo2White
    case time2BlackGray, time2BlackRed, time2SilverBlue, time2SilverGray
    case round2Black20, round2Silver20, round2Gold14, round2Silver14
}
