/// The colour of a watch's case, written in the factory: big-endian UInt32 in the registry, one byte in the
/// advertisement.
///
/// Companions choose pictures by it, and libpebble3 the kind of watch too. The order of 11 to 13 is the firmware's;
/// libpebble2 has another.
package enum WatchColor: UInt32, Hashable, Sendable, CaseIterable {
    /// 0: the colour is not known.
    case unknown = 0
    /// 1 to 5: colours of Pebble. The names in this and every line below stand in the order of their numbers.
    case pebbleBlack, pebbleWhite, pebbleRed, pebbleOrange, pebbleGray
    /// 6 and 7: colours of Pebble Steel.
    case steelSilver, steelBlack
    /// 8 to 10: further colours of Pebble.
    case pebbleBlue, pebbleGreen, pebblePink
    /// 11 to 13: colours of Pebble Time.
    case timeWhite, timeBlack, timeRed
    /// 14 to 16: colours of Pebble Time Steel.
    case timeSteelSilver, timeSteelBlack, timeSteelGold
    /// 17 to 21: colours of Pebble Time Round; 14 and 20 are the width of the band, in millimetres.
    case timeRoundSilver14, timeRoundBlack14, timeRoundSilver20, timeRoundBlack20, timeRoundRoseGold14
    /// 22 and 23: further colours of Pebble Time Round, which libpebble3 knows.
    case timeRoundRainbowSilver14, timeRoundRainbowBlack20
    /// 24 to 30: colours of Pebble 2: SE without a heart rate monitor, HR with one.
    case pebble2SEBlack, pebble2HRBlack, pebble2SEWhite, pebble2HRLime, pebble2HRFlame, pebble2HRWhite, pebble2HRAqua
    /// 31 to 33: colours of Pebble Time 2 of 2016.
    case originalTime2Black, originalTime2Silver, originalTime2Gold
    /// 34 and 35: colours of Pebble 2 Duo.
    case duo2Black, duo2White
    /// 36 to 39: colours of Pebble Time 2.
    case time2BlackGray, time2BlackRed, time2SilverBlue, time2SilverGray
    /// 40 to 43: colours of Pebble Round 2; 14 and 20 are the width of the band, in millimetres.
    case round2Black20, round2Silver20, round2Gold14, round2Silver14
}
