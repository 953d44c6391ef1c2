/// One thing that a companion app does wrong: a phone with it is what a scenario about it is to find out.
///
/// The raw value is its name for people: `cairn phone run --companion --defect NAME`, and `defect` in a scenario.
package enum PhoneDefect: String, Hashable, Sendable, CaseIterable {
    // The link.
    case staysAway = "stays-away"
    case staysOff = "stays-off"
    case givesUpComingBack = "gives-up-coming-back"
    case waitsForSession = "waits-for-session"
    case trustsSilence = "trusts-silence"
    case needsLargeMTU = "needs-large-mtu"
    // Pairing.
    case keepsLostBond = "keeps-lost-bond"
    case neverPairsAgain = "never-pairs-again"
    case onePairingAttempt = "one-pairing-attempt"
    // GATT.
    case ignoresServiceChanged = "ignores-service-changed"
    case subscribesOnce = "subscribes-once"
    // The session.
    case neverSetsTime = "never-sets-time"
    case neverAcknowledges = "never-acknowledges"
    case onePushAttempt = "one-push-attempt"
    case dropsNotifications = "drops-notifications"
    case repeatsNotifications = "repeats-notifications"
    case oneNotificationAttempt = "one-notification-attempt"
    case oneUploadAttempt = "one-upload-attempt"
    case wrongChecksum = "wrong-checksum"
    case neverServesApps = "never-serves-apps"

    /// What a phone with it does, in a sentence without its subject.
    package var summary: String {
        switch self {
        case .staysAway: "does not come back when a link has ended"
        case .staysOff: "does nothing more when its Bluetooth has been off"
        case .givesUpComingBack: "stops coming back after three vain attempts"
        case .waitsForSession: "stays on a link that has no session for ever"
        case .trustsSilence: "does not find out that a session is dead"
        case .needsLargeMTU: "leaves a watch that agrees on no more than the smallest MTU"
        case .keepsLostBond: "keeps the key that the watch has forgotten, and does not pair again"
        case .neverPairsAgain: "pairs once, and not again when it has lost the key itself"
        case .onePairingAttempt: "does not pair again when a pairing was refused"
        case .ignoresServiceChanged: "does not look at a database again that has changed"
        case .subscribesOnce: "does not subscribe to the watch's transport on its later links"
        case .neverSetsTime: "does not set the watch's clock"
        case .neverAcknowledges: "does not acknowledge the dictionaries of watchapps"
        case .onePushAttempt: "gives a dictionary up that was refused once"
        case .dropsNotifications: "drops the notifications that come while there is no session"
        case .repeatsNotifications: "sends every notification again in each session"
        case .oneNotificationAttempt: "gives a notification up that was refused once"
        case .oneUploadAttempt: "gives an upload or an installation up that was refused or cut once"
        case .wrongChecksum: "ends its uploads with a wrong checksum"
        case .neverServesApps: "does not answer a watch that fetches an app"
        }
    }
}
