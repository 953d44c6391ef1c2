import BluetoothHCI

extension LEHost {
    /// What can be chosen about a host.
    public struct Configuration: Sendable {
        /// The address to be known by: a static random one, or `.public`, whose value the controller decides.
        public var ownAddress: LEAddress
        /// What can be chosen about the GATT layer.
        public var gatt: GATTLayer.Configuration
        /// How to pair; nil not to, and to know no keys.
        public var security: SecurityManager.Configuration?
        /// Which PHYs new connections should use; nil to leave that to the controller.
        public var defaultPHY: PHYPreferences?
        /// Which connection parameters a peer gets that asks for them.
        public var acceptableParameters: AcceptableParameters
        /// Where controllers are not what they say.
        package var quirks = ControllerQuirks.known
        /// While connecting, the peer is listened for once in this time...
        public var connectScanInterval = ScanInterval.milliseconds(60)
        /// ...for this long.
        public var connectScanWindow = ScanInterval.milliseconds(60)
        /// Whether channels are handed out from the first dynamic SPSM on, as by every other device that does so, instead of
        /// from a random one, by which a peer without a key could know this device again.
        package var handsOutFirstSPSMs = false

        /// A host that does not pair, leaves PHYs to the controller and accepts all connection parameters that the Core
        /// allows, unless told otherwise. It knows the quirks of controllers, and scans all the time while it connects.
        public init(
            ownAddress: LEAddress,
            gatt: GATTLayer.Configuration = GATTLayer.Configuration(),
            security: SecurityManager.Configuration? = nil,
            defaultPHY: PHYPreferences? = nil,
            acceptableParameters: AcceptableParameters = .all
        ) {
            self.ownAddress = ownAddress
            self.gatt = gatt
            self.security = security
            self.defaultPHY = defaultPHY
            self.acceptableParameters = acceptableParameters
        }
    }
}
