/// The attribute types that Pebble added to Bluetooth, as the numbers that their UUIDs' texts spell.
///
/// All but the pairing service share one base: `xxxxxxxx-328E-0FBB-C642-1AA6699BDADA`.
public enum PebbleAttribute {
    /// Pebble Pairing Service, hosted by the watch: a 16-bit UUID, which is also what the watch advertises.
    public static let pairingService: UInt16 = 0xFED9
    /// Connectivity Status: see ``ConnectivityStatus``.
    public static let connectivityStatus = based(0x0000_0001)
    /// Trigger Pairing: see ``PairingTrigger``.
    public static let triggerPairing = based(0x0000_0002)
    /// GATT MTU: the ATT MTU of the reader's link, two bytes.
    package static let pairingMTU = based(0x0000_0003)
    /// Connection Parameters, of watches before 2025: see ``ConnectionParametersCommand``.
    package static let connectionParameters = based(0x0000_0005)

    /// PPoGATT, hosted by the phone: the transport's forward direction.
    public static let ppogattService = based(0x1000_0000)
    /// Packets: the watch writes without response, the phone notifies.
    public static let ppogattData = based(0x1000_0001)
    /// What the phone says of its sessions: see ``PPoGATTMeta``.
    package static let ppogattMeta = based(0x1000_0002)

    /// App Launch, hosted by the Pebble app on iOS: reading its characteristic makes iOS start the app again.
    package static let appLaunchService = based(0x2000_0000)
    /// What is read; its value means nothing.
    package static let appLaunch = based(0x2000_0001)

    /// PPoGATT, hosted by the watch: the first reversed form.
    package static let reversedV1Service = based(0x3000_0003)
    /// Packets both ways: notifications to the phone, Write Without Response from it.
    package static let reversedV1Data = based(0x3000_0004)
    /// One byte that means nothing.
    package static let reversedV1Meta = based(0x3000_0005)
    /// Packets from the phone, by Write Without Response.
    package static let reversedV1DataWrite = based(0x3000_0006)

    /// PPoGATT, hosted by the watch: the second reversed form.
    package static let reversedService = based(0x4000_0000)
    /// Packets to the phone, by notification.
    package static let reversedData = based(0x4000_0001)
    /// Packets from the phone, by Write Without Response.
    package static let reversedDataWrite = based(0x4000_0003)

    /// The Pebble Protocol over an L2CAP channel, hosted by the watch: Cairn's own addition, in the next free block of the
    /// family. No Pebble has it.
    public static let streamService = based(0x5000_0000)
    /// Where a service says which PSM its stream has: Apple's number, `CBUUIDL2CAPPSMCharacteristicString`.
    public static let publishedPSM: UInt128 = 0xABDD_3056_28FA_441D_A470_55A7_5A52_553A
    /// An L2CAP channel on which every byte comes back, hosted by the watch when it is asked to: Cairn's own addition.
    package static let loopbackService = based(0x5100_0000)

    /// A phone's service with one characteristic of the same UUID, both without meaning: companions on Android add it
    /// behind PPoGATT.
    package static let dummy: UInt128 = 0xBADB_ADBA_DBAD_BADB_ADBA_BADB_ADBA_DBAD

    /// A UUID of Pebble's family.
    package static func based(_ number: UInt32) -> UInt128 {
        UInt128(number) << 96 | 0x0000_0000_328E_0FBB_C642_1AA6_699B_DADA
    }
}
