/// What was said on an air's advertising channels, and how much of it was destroyed by others: counted from the beginning.
package struct AdvertisingTraffic: Hashable, Sendable {
    /// How often a controller listened to a packet on a primary channel: once for each that did.
    package internal(set) var listenings = 0
    /// How many of these packets were destroyed there by another advertiser's.
    package internal(set) var hits = 0
    /// How many scan requests there were.
    package internal(set) var scanRequests = 0
    /// How many of them met another controller's request.
    package internal(set) var collidedScanRequests = 0
    /// How many requests to connect there were.
    package internal(set) var connectRequests = 0
    /// How many of them met another controller's request.
    package internal(set) var collidedConnectRequests = 0

    mutating func add(_ request: Air.AdvertisingRequest, isAlone: Bool) {
        if request.connects {
            connectRequests += 1
            if !isAlone { collidedConnectRequests += 1 }
        } else {
            scanRequests += 1
            if !isAlone { collidedScanRequests += 1 }
        }
    }
}
