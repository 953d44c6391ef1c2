import BluetoothHCI
import BluetoothHost

// What the firmware makes of a change in the phone's database where a PPoGATT service is in use: see ``RestartDoubt``.

extension Firmware {
    /// The phone says that its database changed.
    mutating func databaseChanged(_ value: ArraySlice<UInt8>, on connection: ConnectionHandle) {
        guard let range = links[connection]?.finder.databaseChanged(value) else { return }
        for carrier in links[connection]?.transports.keys ?? [] {
            guard let transport = links[connection]?.transports[carrier], transport.session != nil,
                transport.service?.service.range.overlaps(range) == true
            else { continue }
            links[connection]?.transports[carrier]?.doubt.raise()
        }
    }

    /// The database changed where a service is, which is the one that it was.
    mutating func unchanged(_ service: PhoneService, on connection: ConnectionHandle) {
        guard let transport = PPoGATTService(service) else { return }
        links[connection]?.transports[.forward(transport.data)]?.doubt = RestartDoubt()
    }

    /// The database changed where a service is, and the phone does not tell whether it is the one that it was.
    ///
    /// A session that is not open yet needs no help: its Reset Requests go on, and reach the app as it is.
    mutating func unclear(_ service: PhoneService, on connection: ConnectionHandle) {
        guard let transport = PPoGATTService(service) else { return links[connection]?.finder.vanish(service) ?? () }
        let carrier = PhoneLink.Carrier.forward(transport.data)
        if links[connection]?.transports[carrier]?.doubt.subscriptionIsUnreadable() == true {
            links[connection]?.finder.vanish(service)
        }
    }

    /// The phone has subscribed to Connectivity, as an app does that starts. What it does once on each link is not news.
    mutating func connectivitySubscribed(on connection: ConnectionHandle) {
        guard let link = links[connection] else { return }
        links[connection]?.hasAppStarted = true
        guard link.hasAppStarted else { return }
        for carrier in links[connection]?.transports.keys ?? [] {
            guard links[connection]?.transports[carrier]?.doubt.appStarts() == true,
                let service = links[connection]?.transports[carrier]?.service
            else { continue }
            links[connection]?.finder.vanish(service.service)
        }
    }
}
