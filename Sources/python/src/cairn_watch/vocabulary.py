"""What a program can say to a watch, and what the watch says: made by `generate` of Docs/control.schema.json."""


from __future__ import annotations


from typing import Any, Literal, NotRequired, Protocol, TypeAlias, TypedDict, cast


#: The names of the commands.
COMMANDS: tuple[str, ...] = (
    "status",
    "events",
    "press",
    "hold",
    "tap",
    "battery",
    "compass",
    "accelerometer",
    "time-format",
    "screenshot",
    "wait",
    "apps",
    "install-part",
    "install",
    "remove",
    "launch",
    "stop",
    "send",
    "inbox",
    "outbox",
    "open-pairing",
    "close-pairing",
    "confirm",
    "refuse",
    "passkey",
    "oob",
    "take-oob",
    "forget",
    "forget-all",
    "disconnect",
    "advertise",
    "offer-battery",
    "publish",
    "withdraw",
    "music",
    "answer-call",
    "end-call",
    "act",
    "notifications",
    "set",
    "settings",
    "time",
    "set-time",
    "log-data",
    "links",
    "capture-start",
    "capture-stop",
    "packets",
    "recorder-save",
    "log-level",
    "fault-add",
    "fault-list",
    "fault-names",
    "fault-clear",
    "restart",
    "reset",
    "backup",
    "backup-part",
)


#: The names of the events.
EVENT_NAMES: tuple[str, ...] = (
    "started",
    "failed",
    "advertising",
    "controller-restarting",
    "controller-lost",
    "restarting",
    "connected",
    "disconnected",
    "link-ended",
    "phone-back",
    "link",
    "churning",
    "churned",
    "strangers",
    "strangers-gone",
    "transport-given-up",
    "transport-stalled",
    "phone-service",
    "pairable",
    "pairing-waits",
    "paired",
    "key-replaced",
    "pairing-refused",
    "pairing-failed",
    "security",
    "forgotten",
    "session-opened",
    "session-moved",
    "session-closed",
    "stream-published",
    "stream-withdrawn",
    "stream-opened",
    "stream-closed",
    "message",
    "service",
    "clock-set",
    "app-launched",
    "app-message-received",
    "app-message-sent",
    "app-logged",
    "button",
    "sensed",
    "fault",
    "mirror-differs",
    "lost",
)


#: The `code` of an error that the watch answers with.
FAILURE_CODES: tuple[str, ...] = (
    "bad-request",
    "busy",
    "unknown-sequence",
    "not-permitted",
    "nothing-is-kept",
    "no-backup",
    "backup-failed",
    "timed-out",
    "no-package",
    "bad-package",
    "package-too-large",
    "not-stored",
    "screenshot-failed",
    "capture-runs",
    "no-capture",
    "capture-failed",
    "recording-failed",
    "bad-log-level",
    "app-is-built-in",
    "no-room-for-app",
    "installs-already",
    "unknown-app",
    "runs-already",
    "nothing-to-stop",
    "not-bondable",
    "database-is-fixed",
    "pairing-is-refused",
    "bad-window",
    "nothing-waits",
    "passkey-is-asked",
    "passkey-is-shown",
    "no-passkey-is-asked",
    "no-secrets",
    "unknown-phone",
    "no-phones",
    "not-connected",
    "impossible-reading",
    "no-call",
    "no-such-action",
    "no-such-setting",
    "no-room-for-data",
    "not-sent",
    "fault-not-taken",
    "faults-not-allowed",
    "unknown-fault",
)


class StatusAdvertisement(TypedDict):
    """What is on the air, or has its turns there."""

    #: the address that it has
    address: str
    #: AD structures, in hexadecimal
    data: str
    #: its interval (in milliseconds)
    intervalMilliseconds: float
    #: the interval that follows (in milliseconds)
    nextIntervalMilliseconds: NotRequired[float]
    #: why the watch advertises at this interval
    reason: str
    #: why the controller refused it
    refusal: NotRequired[str]
    #: how much longer on the air it does; nothing for ever (in seconds)
    remainingSeconds: NotRequired[float]
    #: what it is for
    role: Literal['discovery', 'reconnection', 'beacon']
    #: AD structures of the scan response, in hexadecimal
    scanResponse: str
    #: for how long it has (in seconds)
    sinceSeconds: float
    #: whether it is on the air, is being started, waits for its turn, or is refused by the controller
    state: Literal['on-air', 'starting', 'waiting', 'refused']
    #: how long it is on the air before something else has its turn; nothing if it does not share (in seconds)
    turnSeconds: NotRequired[float]


class StatusApp(TypedDict):
    """The app that runs."""

    #: its name
    name: str
    #: its UUID
    uuid: str


class StatusBattery(TypedDict):
    """The battery."""

    #: whether the charger is connected
    isCharging: bool
    #: its charge (in percent)
    percent: int


class StatusEvents(TypedDict):
    """What has happened so far."""

    #: how often each event has happened that has, by its name
    counts: dict[str, int]
    #: the number of the last event; 0 before the first
    last: int


class StatusLastDisconnection(TypedDict):
    """How the last link ended; nothing before one has."""

    #: how long the phone was away; nothing while it is (in seconds)
    absenceSeconds: NotRequired[float]
    #: why the watch wanted it; nothing if it did not
    cause: NotRequired[str]
    #: how long it had lasted (in seconds)
    linkSeconds: float
    #: the phone's address
    phone: str
    #: the controller's, in words of the Core Specification
    reason: str
    #: what the watch did about it
    remedy: str
    #: how long ago the link ended (in seconds)
    secondsAgo: float


class StatusLastStranger(TypedDict):
    """How the last link of a stranger ended while a bonded phone was waited for."""

    #: how long the phone was away; nothing while it is (in seconds)
    absenceSeconds: NotRequired[float]
    #: why the watch wanted it; nothing if it did not
    cause: NotRequired[str]
    #: how long it had lasted (in seconds)
    linkSeconds: float
    #: the phone's address
    phone: str
    #: the controller's, in words of the Core Specification
    reason: str
    #: what the watch did about it
    remedy: str
    #: how long ago the link ended (in seconds)
    secondsAgo: float


class StatusLink(TypedDict):
    """The links to phones."""

    #: the controller's handle of the link
    connection: int
    #: whether its key is authenticated
    isAuthenticated: bool
    #: whether the phone is bonded
    isBonded: bool
    #: whether the link is encrypted
    isEncrypted: bool
    #: the ATT_MTU (in octets)
    mtu: int
    #: the phone's address
    phone: str
    #: the phone's own services that the watch uses: notifications, media, time
    services: list[str]


class StatusMirror(TypedDict):
    """How the watch compares with the firmware in its shadow; nothing if there is none."""

    #: messages that both were asked
    compared: int
    #: and how many not
    different: int
    #: messages that the firmware could not be asked
    lost: int
    #: of those, how many they answered alike
    same: int
    #: messages of which it is not decided yet
    waiting: int
    #: messages that the firmware is not asked
    withheld: int


class StatusPairingRefused(TypedDict):
    """The phone that was refused last; none once one has paired, or pairing was opened."""

    #: what to do if the phone is to be let in
    advice: str
    #: the phone's address
    phone: str
    #: why
    reason: Literal['closed', 'key-lost', 'weaker', 'rejected']
    #: how long ago that was (in seconds)
    secondsAgo: float
    #: what happened, in words
    text: str


class StatusPairingWaitingElement(TypedDict):
    """Pairings that wait for a person."""

    #: the controller's handle of the link
    connection: int
    #: what the watch's screen shows with it
    number: NotRequired[str]
    #: the phone's address
    phone: str
    #: confirm: may it pair? compare: does it show this number? show: this number is to be typed there. type: which
    #: number does it show?
    question: Literal['confirm', 'compare', 'show', 'type']


class StatusPairing(TypedDict):
    """Who may pair."""

    #: whether the watch keeps keys
    isBondable: bool
    #: whether a phone may pair now that has not proved who it is: at once, or if a person says yes
    isOpen: bool
    #: who may pair
    mode: Literal['open', 'auto', 'button', 'reject']
    #: the phone that was refused last; none once one has paired, or pairing was opened
    refused: NotRequired[StatusPairingRefused]
    #: pairings that wait for a person
    waiting: list[StatusPairingWaitingElement]
    #: how long the window that somebody opened stays open (in seconds)
    windowSeconds: NotRequired[float]


class StatusPaths(TypedDict):
    """Files of the process, with their whole paths."""

    #: the capture
    capture: NotRequired[str]
    #: the socket where it takes commands
    control: NotRequired[str]
    #: the serial port for the SDK's tools
    serial: NotRequired[str]
    #: the state directory
    state: NotRequired[str]


class StatusPhone(TypedDict):
    """The phones that are remembered."""

    #: whether its key is authenticated
    isAuthenticated: bool
    #: whether it is connected
    isConnected: bool
    #: whether its bond is stored
    isStored: bool
    #: the phone's address
    phone: str


class StatusPorts(TypedDict):
    """Ports of 127.0.0.1 on which the process listens."""

    #: the virtual radio's, for other hosts' controllers
    air: NotRequired[int]
    #: the emulator's, for the SDK's tools
    qemu: NotRequired[int]


class StatusSensors(TypedDict):
    """What other sensors said last."""

    #: the last sample: x, y, z
    acceleration: NotRequired[list[int]]
    #: the heading (in degrees)
    compassDegrees: NotRequired[float]
    #: the size of texts, from 0
    contentSize: int
    #: the heart rate (in beats per minute)
    heartRate: NotRequired[int]
    #: whether hours are counted to 24
    is24Hour: bool
    #: the axis and the direction of the last tap, such as x+
    lastTap: NotRequired[str]
    #: what apps are told of the phone, if somebody has said so
    phoneConnection: NotRequired[bool]
    #: whether the timeline peek covers the bottom of the screen
    showsTimelinePeek: bool
    #: how often the watch was tapped
    taps: int


class StatusServicesApp(TypedDict):
    """The apps that phones have installed."""

    #: its number in the phone's database
    id: int
    #: whether everything that it needs is there
    isCached: bool
    #: its name
    name: str
    #: its UUID
    uuid: str


class StatusServicesCall(TypedDict):
    """The calls."""

    #: the caller's name
    name: NotRequired[str]
    #: the caller's number
    number: NotRequired[str]
    #: what the call does
    state: Literal['incoming', 'outgoing', 'active']


class StatusServicesLoggingElement(TypedDict):
    """What apps have logged and the phone does not have."""

    #: the app that has logged
    app: str
    #: how much there is (in bytes)
    byteCount: int
    #: the number of its data logging session
    session: int
    #: how many bytes were logged before those (in bytes)
    start: int
    #: what the app calls this kind of data
    tag: int


class StatusServicesMusic(TypedDict):
    """What plays."""

    #: who plays
    artist: NotRequired[str]
    #: what the player does
    state: NotRequired[str]
    #: what is played
    title: NotRequired[str]
    #: the volume (in percent)
    volume: NotRequired[int]


class StatusServicesNotification(TypedDict):
    """What is shown."""

    #: the numbers of what can be done with it, and what that is called
    actions: dict[str, str]
    #: the app that it is from, as the phone calls it
    app: NotRequired[str]
    #: its text
    body: NotRequired[str]
    #: its UUID
    id: str
    #: its subtitle
    subtitle: NotRequired[str]
    #: when it came, as the phone says: since 1970 (in seconds)
    time: int
    #: its title
    title: NotRequired[str]


class StatusServicesUpdate(TypedDict):
    """A part of what the watch says."""

    #: how much of it there is (in bytes)
    byteCount: int
    #: the checksum of PutBytes, over those
    crc: int
    #: how far its upload is
    progress: Literal['partial', 'committed', 'installed']


class StatusServices(TypedDict):
    """What phones have put on the watch."""

    #: the launcher's order, by UUID
    appOrder: list[str]
    #: the apps that phones have installed
    apps: list[StatusServicesApp]
    #: the calls
    calls: list[StatusServicesCall]
    #: how many records each database has, by its number
    databases: dict[str, int]
    #: the app that the phone is asked for
    fetchedApp: NotRequired[str]
    #: whether what a phone believes to be in the databases is true
    isFaithful: bool
    #: whether the recovery firmware runs
    isRecovery: bool
    #: whether the phone uploads an object
    isUploading: bool
    #: what apps have logged and the phone does not have
    logging: list[StatusServicesLoggingElement]
    #: what plays
    music: StatusServicesMusic
    #: what is shown
    notifications: list[StatusServicesNotification]
    #: the images of a firmware update, by part
    update: dict[str, StatusServicesUpdate]


class StatusSession(TypedDict):
    """The companions' sessions."""

    #: the app that it is for
    app: str
    #: system, app or hybrid
    kind: str
    #: its number
    session: int
    #: what carries it
    transport: str


class StatusStream(TypedDict):
    """The streams that phones can open."""

    #: where it can be opened
    psm: int
    #: its name
    stream: Literal['pebble', 'loopback', 'second-loopback']


class Status(TypedDict):
    """What `cairn status --json` prints."""

    #: its device address
    address: str
    #: what is on the air, or has its turns there
    advertisements: list[StatusAdvertisement]
    #: what is on the air, in words
    air: str
    #: the app that runs
    app: StatusApp
    #: the battery
    battery: StatusBattery
    #: where the controller is, as --controller has it
    controller: NotRequired[str]
    #: what has happened so far
    events: NotRequired[StatusEvents]
    #: the version of its firmware
    firmware: str
    #: the buttons that are held down
    heldButtons: list[Literal['back', 'up', 'select', 'down']]
    #: whether its controller can be used
    isReady: bool
    #: how the last link ended; nothing before one has
    lastDisconnection: NotRequired[StatusLastDisconnection]
    #: how the last link of a stranger ended while a bonded phone was waited for
    lastStranger: NotRequired[StatusLastStranger]
    #: the links to phones
    links: list[StatusLink]
    #: how the watch compares with the firmware in its shadow; nothing if there is none
    mirror: NotRequired[StatusMirror]
    #: the watch's name
    name: str
    #: who may pair
    pairing: StatusPairing
    #: files of the process, with their whole paths
    paths: NotRequired[StatusPaths]
    #: the phones that are remembered
    phones: list[StatusPhone]
    #: the process identifier; nothing if the process is not known
    pid: NotRequired[int]
    #: ports of 127.0.0.1 on which the process listens
    ports: NotRequired[StatusPorts]
    #: what other sensors said last
    sensors: StatusSensors
    #: its serial number
    serialNumber: str
    #: what phones have put on the watch
    services: StatusServices
    #: the companions' sessions
    sessions: list[StatusSession]
    #: how many strangers were turned away as soon as they had connected
    strangersTurnedAway: int
    #: the streams that phones can open
    streams: list[StatusStream]
    #: how long the process has run (in seconds)
    uptimeSeconds: NotRequired[float]
    #: Cairn's version
    version: NotRequired[str]


class StatusAnswer(TypedDict):
    """The watch's answer to `status`."""

    ok: Literal[True]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int
    #: what `cairn status --json` prints
    status: Status


class EventsAnswer(TypedDict):
    """The watch's answer to `events`."""

    ok: Literal[True]


class PressAnswer(TypedDict):
    """The watch's answer to `press`."""

    ok: Literal[True]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class HoldAnswer(TypedDict):
    """The watch's answer to `hold`."""

    ok: Literal[True]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class TapAnswer(TypedDict):
    """The watch's answer to `tap`."""

    ok: Literal[True]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class BatteryAnswer(TypedDict):
    """The watch's answer to `battery`."""

    ok: Literal[True]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class CompassAnswer(TypedDict):
    """The watch's answer to `compass`."""

    ok: Literal[True]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class AccelerometerAnswer(TypedDict):
    """The watch's answer to `accelerometer`."""

    ok: Literal[True]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class TimeFormatAnswer(TypedDict):
    """The watch's answer to `time-format`."""

    ok: Literal[True]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class ScreenshotScreen(TypedDict):
    """What the screen shows."""

    #: the picture, in hexadecimal
    data: str
    #: how the pixels stand in `data`
    format: Literal['png', 'raw']
    #: whether it shows 64 colours, or black and white only
    hasColor: bool
    #: in pixels
    height: int
    #: whether only the circle in the middle can be seen
    isRound: bool
    #: in pixels
    width: int


class ScreenshotAnswer(TypedDict):
    """The watch's answer to `screenshot`."""

    ok: Literal[True]
    #: what the screen shows
    screen: ScreenshotScreen
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class WaitAnswer(TypedDict):
    """The watch's answer to `wait`."""

    #: the event, if one was waited for
    event: NotRequired[Event]
    ok: Literal[True]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class App(TypedDict):
    """Those that came with the watch, then those that were installed, in that order."""

    #: whether it came with the watch, and stays
    isBuiltIn: bool
    #: whether everything is there that it needs to run: otherwise the phone is asked for it first
    isInstalled: bool
    #: whether it runs
    isRunning: bool
    #: whether it is a watchface
    isWatchface: bool
    #: its name
    name: str
    #: its UUID
    uuid: str
    #: its version; an app that is part of the watch has none of its own
    version: NotRequired[str]


class AppsAnswer(TypedDict):
    """The watch's answer to `apps`."""

    #: those that came with the watch, then those that were installed, in that order
    apps: list[App]
    ok: Literal[True]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class InstallPartAnswer(TypedDict):
    """The watch's answer to `install-part`."""

    #: how much of the package is there (in bytes)
    byteCount: int
    ok: Literal[True]


class InstallApp(TypedDict):
    """The app that is there now."""

    #: whether it came with the watch, and stays
    isBuiltIn: bool
    #: whether everything is there that it needs to run: otherwise the phone is asked for it first
    isInstalled: bool
    #: whether it runs
    isRunning: bool
    #: whether it is a watchface
    isWatchface: bool
    #: its name
    name: str
    #: its UUID
    uuid: str
    #: its version; an app that is part of the watch has none of its own
    version: NotRequired[str]


class InstallAnswer(TypedDict):
    """The watch's answer to `install`."""

    #: the app that is there now
    app: InstallApp
    ok: Literal[True]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class RemoveAnswer(TypedDict):
    """The watch's answer to `remove`."""

    ok: Literal[True]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class LaunchAnswer(TypedDict):
    """The watch's answer to `launch`."""

    ok: Literal[True]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class StopAnswer(TypedDict):
    """The watch's answer to `stop`."""

    ok: Literal[True]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class SendAnswer(TypedDict):
    """The watch's answer to `send`."""

    #: the app whose message it is
    app: str
    #: sent to its companion, which has not answered yet; waits until its companion is back; or queued until the app
    #: is awake
    delivery: Literal['queued', 'sent', 'waits']
    ok: Literal[True]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class EntryBytes(TypedDict):
    """A part of what the watch says."""

    bytes: str
    key: int
    type: Literal['bytes']


class EntryString(TypedDict):
    """A part of what the watch says."""

    key: int
    string: str
    type: Literal['string']


class EntryUint8(TypedDict):
    """A part of what the watch says."""

    key: int
    number: int
    type: Literal['uint8']


class EntryUint16(TypedDict):
    """A part of what the watch says."""

    key: int
    number: int
    type: Literal['uint16']


class EntryUint32(TypedDict):
    """A part of what the watch says."""

    key: int
    number: int
    type: Literal['uint32']


class EntryInt8(TypedDict):
    """A part of what the watch says."""

    key: int
    number: int
    type: Literal['int8']


class EntryInt16(TypedDict):
    """A part of what the watch says."""

    key: int
    number: int
    type: Literal['int16']


class EntryInt32(TypedDict):
    """A part of what the watch says."""

    key: int
    number: int
    type: Literal['int32']


class EntryUnrecognized(TypedDict):
    """A part of what the watch says."""

    bytes: str
    key: int
    type: Literal['unrecognized']


class InboxMessage(TypedDict):
    """The messages, oldest first."""

    #: the app's UUID
    app: str
    #: when: since the watch was started (in seconds)
    at: float
    #: the dictionary
    entries: list[EntryBytes | EntryString | EntryUint8 | EntryUint16 | EntryUint32 | EntryInt8 | EntryInt16 | EntryInt32 | EntryUnrecognized]
    #: ok, sendTimeout, sendRejected, notConnected...
    result: str
    #: the number of its event
    sequence: int


class InboxAnswer(TypedDict):
    """The watch's answer to `inbox`."""

    #: the messages, oldest first
    messages: list[InboxMessage]
    ok: Literal[True]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class OutboxMessage(TypedDict):
    """The messages, oldest first."""

    #: the app's UUID
    app: str
    #: when: since the watch was started (in seconds)
    at: float
    #: the dictionary
    entries: list[EntryBytes | EntryString | EntryUint8 | EntryUint16 | EntryUint32 | EntryInt8 | EntryInt16 | EntryInt32 | EntryUnrecognized]
    #: ok, sendTimeout, sendRejected, notConnected...
    result: str
    #: the number of its event
    sequence: int


class OutboxAnswer(TypedDict):
    """The watch's answer to `outbox`."""

    #: the messages, oldest first
    messages: list[OutboxMessage]
    ok: Literal[True]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class OpenPairingAnswer(TypedDict):
    """The watch's answer to `open-pairing`."""

    ok: Literal[True]
    #: how long phones may pair now (in seconds)
    pairingSeconds: float
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class ClosePairingAnswer(TypedDict):
    """The watch's answer to `close-pairing`."""

    ok: Literal[True]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class ConfirmAnswer(TypedDict):
    """The watch's answer to `confirm`."""

    ok: Literal[True]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class RefuseAnswer(TypedDict):
    """The watch's answer to `refuse`."""

    ok: Literal[True]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class PasskeyAnswer(TypedDict):
    """The watch's answer to `passkey`."""

    ok: Literal[True]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class OobAnswer(TypedDict):
    """The watch's answer to `oob`."""

    #: what to hand to the phone: AD structures, in hexadecimal
    data: str
    ok: Literal[True]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class TakeOobAnswer(TypedDict):
    """The watch's answer to `take-oob`."""

    ok: Literal[True]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class ForgetAnswer(TypedDict):
    """The watch's answer to `forget`."""

    ok: Literal[True]
    #: the phones that were concerned
    phones: list[str]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class ForgetAllAnswer(TypedDict):
    """The watch's answer to `forget-all`."""

    ok: Literal[True]
    #: the phones that were concerned
    phones: list[str]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class DisconnectAnswer(TypedDict):
    """The watch's answer to `disconnect`."""

    ok: Literal[True]
    #: the phones that were concerned
    phones: list[str]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class AdvertiseAnswer(TypedDict):
    """The watch's answer to `advertise`."""

    ok: Literal[True]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class OfferBatteryAnswer(TypedDict):
    """The watch's answer to `offer-battery`."""

    ok: Literal[True]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class PublishAnswer(TypedDict):
    """The watch's answer to `publish`."""

    ok: Literal[True]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class WithdrawAnswer(TypedDict):
    """The watch's answer to `withdraw`."""

    ok: Literal[True]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class MusicAnswer(TypedDict):
    """The watch's answer to `music`."""

    ok: Literal[True]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class AnswerCallAnswer(TypedDict):
    """The watch's answer to `answer-call`."""

    ok: Literal[True]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class EndCallAnswer(TypedDict):
    """The watch's answer to `end-call`."""

    ok: Literal[True]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class ActAnswer(TypedDict):
    """The watch's answer to `act`."""

    ok: Literal[True]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class Notification(TypedDict):
    """What is shown, oldest first."""

    #: the numbers of what can be done with it, and what that is called
    actions: dict[str, str]
    #: the app that it is from, as the phone calls it
    app: NotRequired[str]
    #: its text
    body: NotRequired[str]
    #: its UUID
    id: str
    #: its subtitle
    subtitle: NotRequired[str]
    #: when it came, as the phone says: since 1970 (in seconds)
    time: int
    #: its title
    title: NotRequired[str]


class NotificationsAnswer(TypedDict):
    """The watch's answer to `notifications`."""

    #: what is shown, oldest first
    notifications: list[Notification]
    ok: Literal[True]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class SetAnswer(TypedDict):
    """The watch's answer to `set`."""

    ok: Literal[True]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class Setting(TypedDict):
    """The settings, in the order of their first change."""

    #: its value, in hexadecimal
    data: str
    #: its key
    key: str


class SettingsAnswer(TypedDict):
    """The watch's answer to `settings`."""

    ok: Literal[True]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int
    #: the settings, in the order of their first change
    settings: list[Setting]


class Time(TypedDict):
    """What the clock shows."""

    #: whether apps show the hours counted to 24
    is24Hour: bool
    #: whether a phone or `set-time` has set it since the watch was started
    isSet: bool
    #: its offset from UTC (in minutes)
    offsetMinutes: NotRequired[int]
    #: since 1970, in UTC if there is a zone (in seconds)
    seconds: int
    #: the name of the time zone
    zone: NotRequired[str]


class TimeAnswer(TypedDict):
    """The watch's answer to `time`."""

    ok: Literal[True]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int
    #: what the clock shows
    time: Time


class SetTimeAnswer(TypedDict):
    """The watch's answer to `set-time`."""

    ok: Literal[True]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class LogDataAnswer(TypedDict):
    """The watch's answer to `log-data`."""

    ok: Literal[True]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class LinkTrafficElement(TypedDict):
    """What has gone over it since it was made."""

    #: the kind of L2CAP channel; channels are the credit-based ones
    layer: Literal['att', 'signaling', 'smp', 'channels']
    #: their bytes, without headers (in bytes)
    receivedBytes: int
    #: the PDUs that the phone sent
    receivedPackets: int
    #: their bytes, without headers (in bytes)
    sentBytes: int
    #: the PDUs that the watch sent
    sentPackets: int


class Link(TypedDict):
    """The links, in the order of their handles."""

    #: which type of address that is
    addressType: Literal['public', 'random', 'publicIdentity', 'randomIdentity']
    #: the controller's handle of the link
    connection: int
    #: how many events after data both sides use as well (in connection events)
    continuationNumber: int
    #: the interval (in milliseconds)
    intervalMilliseconds: float
    #: whether its key is authenticated
    isAuthenticated: bool
    #: whether the phone is bonded
    isBonded: bool
    #: whether the link is encrypted
    isEncrypted: bool
    #: of the encryption key; 0 for none (in octets)
    keySize: int
    #: the peripheral latency (in connection events)
    latency: int
    #: the ATT_MTU (in octets)
    mtu: int
    #: the phone's address
    phone: str
    #: the longest that it receives (in octets)
    receiveOctets: int
    #: what it receives with
    receivePHY: Literal['1M', '2M', 'coded']
    #: both sides use every Nth event, and this is N; 1 without subrating (in connection events)
    subrateFactor: int
    #: the supervision timeout (in milliseconds)
    supervisionTimeoutMilliseconds: float
    #: what has gone over it since it was made
    traffic: list[LinkTrafficElement]
    #: the longest that the watch sends (in octets)
    transmitOctets: int
    #: what the watch sends with
    transmitPHY: Literal['1M', '2M', 'coded']


class LinksAnswer(TypedDict):
    """The watch's answer to `links`."""

    #: the links, in the order of their handles
    links: list[Link]
    ok: Literal[True]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class CaptureStartAnswer(TypedDict):
    """The watch's answer to `capture-start`."""

    ok: Literal[True]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class CaptureStopAnswer(TypedDict):
    """The watch's answer to `capture-stop`."""

    ok: Literal[True]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class PacketsAnswer(TypedDict):
    """The watch's answer to `packets`."""

    ok: Literal[True]
    #: when the watch was started, since 1970: `at` of a packet counts from there (in seconds)
    startedAt: float


class RecorderSaveAnswer(TypedDict):
    """The watch's answer to `recorder-save`."""

    ok: Literal[True]
    #: how far back it goes (in seconds)
    seconds: float
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int
    #: how large the file is (in bytes)
    size: int
    #: whether it goes back to the watch's start: only then can it be run again; else it can be shown
    whole: bool


class LogLevelAnswer(TypedDict):
    """The watch's answer to `log-level`."""

    #: the levels in force, as --log-level takes them
    levels: str
    ok: Literal[True]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class FaultAddAnswer(TypedDict):
    """The watch's answer to `fault-add`."""

    #: the number that the fault goes by
    number: int
    ok: Literal[True]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class FaultListFault(TypedDict):
    """The faults, in the order of their numbers."""

    #: what it was given, by name
    arguments: dict[str, str]
    #: when it ends, since the watch was started; nothing if it is there until it is cleared (in seconds)
    endsAt: NotRequired[float]
    #: how often it has fired
    firings: int
    #: whether it has begun and not ended
    isAtWork: bool
    #: its name
    name: str
    #: the number that it goes by
    number: int


class FaultListAnswer(TypedDict):
    """The watch's answer to `fault-list`."""

    #: the faults, in the order of their numbers
    faults: list[FaultListFault]
    ok: Literal[True]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class FaultNamesNameParameter(TypedDict):
    """What it takes besides the options."""

    #: what it is if it is left out
    default: NotRequired[str]
    #: what its values are, with range and unit
    form: str
    #: what it says
    help: str
    #: its name
    name: str


class FaultNamesName(TypedDict):
    """The faults, in the order of the documentation."""

    #: at each occasion, once, or all the time
    fires: str
    #: what it does
    help: str
    #: its name
    name: str
    #: what must be there: virtual air, or store
    needs: NotRequired[str]
    #: what it takes besides the options
    parameters: list[FaultNamesNameParameter]
    #: where it is interposed
    seam: str


class FaultNamesOption(TypedDict):
    """What every fault takes besides."""

    #: what it is if it is left out
    default: NotRequired[str]
    #: what its values are, with range and unit
    form: str
    #: what it says
    help: str
    #: its name
    name: str


class FaultNamesAnswer(TypedDict):
    """The watch's answer to `fault-names`."""

    #: the faults, in the order of the documentation
    names: list[FaultNamesName]
    ok: Literal[True]
    #: what every fault takes besides
    options: list[FaultNamesOption]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class FaultClearAnswer(TypedDict):
    """The watch's answer to `fault-clear`."""

    ok: Literal[True]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class RestartAnswer(TypedDict):
    """The watch's answer to `restart`."""

    ok: Literal[True]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class ResetAnswer(TypedDict):
    """The watch's answer to `reset`."""

    ok: Literal[True]
    #: the number of the last event before the command was carried out: what comes of it has higher numbers
    sequence: int


class Backup(TypedDict):
    """What the copy has, of which `backup-part` gives the bytes."""

    #: the watch's; nothing before its first start
    address: NotRequired[str]
    #: apps that phones have installed
    apps: int
    #: logged data that no phone has taken (in bytes)
    loggedBytes: int
    #: bonded phones
    phones: int
    #: entries of the phones' databases, those of the apps among them
    records: int
    #: the version of the store's tables
    schema: int
    #: how large the copy is (in bytes)
    size: int


class BackupAnswer(TypedDict):
    """The watch's answer to `backup`."""

    #: what the copy has, of which `backup-part` gives the bytes
    backup: Backup
    ok: Literal[True]


class BackupPartAnswer(TypedDict):
    """The watch's answer to `backup-part`."""

    #: the bytes, in hexadecimal; none after the last
    data: str
    ok: Literal[True]


class StartedEvent(TypedDict):
    """The controller is ready, and the watch advertises."""

    #: how many advertising sets it has
    advertisingSetCount: int
    #: when: since the watch was started (in seconds)
    at: float
    #: how many ACL data packets it buffers
    bufferCount: int
    #: how long each may be (in octets)
    bufferLength: int
    event: Literal['started']
    #: the controller's version of HCI
    hciVersion: NotRequired[str]
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class FailedEvent(TypedDict):
    """The controller cannot be used; the watch tries again."""

    #: when: since the watch was started (in seconds)
    at: float
    #: the command that it is about
    command: NotRequired[str]
    event: Literal['failed']
    #: why
    reason: str
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the controller's code
    status: NotRequired[int]
    #: the same in words
    text: str


class AdvertisingEventAdvertisement(TypedDict):
    """As `status` has them."""

    #: the address that it has
    address: str
    #: AD structures, in hexadecimal
    data: str
    #: its interval (in milliseconds)
    intervalMilliseconds: float
    #: the interval that follows (in milliseconds)
    nextIntervalMilliseconds: NotRequired[float]
    #: why the watch advertises at this interval
    reason: str
    #: why the controller refused it
    refusal: NotRequired[str]
    #: how much longer on the air it does; nothing for ever (in seconds)
    remainingSeconds: NotRequired[float]
    #: what it is for
    role: Literal['discovery', 'reconnection', 'beacon']
    #: AD structures of the scan response, in hexadecimal
    scanResponse: str
    #: whether it is on the air, is being started, waits for its turn, or is refused by the controller
    state: Literal['on-air', 'starting', 'waiting', 'refused']
    #: how long it is on the air before something else has its turn; nothing if it does not share (in seconds)
    turnSeconds: NotRequired[float]


class AdvertisingEvent(TypedDict):
    """What is on the air has changed."""

    #: as `status` has them
    advertisements: list[AdvertisingEventAdvertisement]
    #: when: since the watch was started (in seconds)
    at: float
    event: Literal['advertising']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: why there are none
    silence: NotRequired[Literal['controller-not-ready', 'connected', 'changing-address']]
    #: the same in words
    text: str


class ControllerRestartingEvent(TypedDict):
    """The controller is started again."""

    #: when: since the watch was started (in seconds)
    at: float
    #: of a hardware error
    code: NotRequired[int]
    #: the command that was not answered
    command: NotRequired[str]
    event: Literal['controller-restarting']
    #: why
    reason: str
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class ControllerLostEvent(TypedDict):
    """The controller is out of reach."""

    #: when: since the watch was started (in seconds)
    at: float
    event: Literal['controller-lost']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class RestartingEvent(TypedDict):
    """The watch restarts."""

    #: when: since the watch was started (in seconds)
    at: float
    #: why
    cause: Literal['reboot', 'core-dump', 'factory-reset', 'recovery', 'firmware-update']
    event: Literal['restarting']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class ConnectedEvent(TypedDict):
    """A phone has connected."""

    #: which type of address that is
    addressType: Literal['public', 'random', 'publicIdentity', 'randomIdentity']
    #: when: since the watch was started (in seconds)
    at: float
    #: the controller's handle of the link
    connection: int
    event: Literal['connected']
    #: the phone's address
    phone: str
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class DisconnectedEvent(TypedDict):
    """A link has ended."""

    #: when: since the watch was started (in seconds)
    at: float
    #: the controller's handle of the link
    connection: int
    event: Literal['disconnected']
    #: why, in words of the Core Specification
    reason: str
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the controller's code of that
    status: int
    #: the same in words
    text: str


class LinkEndedEvent(TypedDict):
    """A link has ended, and what the watch does about it."""

    #: which type of address that is
    addressType: Literal['public', 'random', 'publicIdentity', 'randomIdentity']
    #: when: since the watch was started (in seconds)
    at: float
    #: why the watch wanted it; nothing if it did not
    cause: NotRequired[Literal['transport', 'no-response', 'command', 'forgotten', 'replaced', 'key-rejected', 'tenure', 'restart', 'switched-off', 'busy', 'firmware-gone']]
    event: Literal['link-ended']
    #: and how often (in milliseconds)
    intervalMilliseconds: NotRequired[float]
    #: how long the link had lasted (in seconds)
    linkSeconds: float
    #: the phone's address
    phone: str
    #: why, in words of the Core Specification
    reason: str
    #: what the watch does about it
    remedy: str
    #: the cause of the restart
    restart: NotRequired[str]
    #: what it advertises for
    role: NotRequired[str]
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the controller's code of that
    status: int
    #: why the phone could not stay
    tenure: NotRequired[str]
    #: the same in words
    text: str
    #: why the transport was given up
    transport: NotRequired[str]


class PhoneBackEvent(TypedDict):
    """A phone is back whose link had ended."""

    #: how long it was away (in seconds)
    absenceSeconds: float
    #: which type of address that is
    addressType: Literal['public', 'random', 'publicIdentity', 'randomIdentity']
    #: when: since the watch was started (in seconds)
    at: float
    event: Literal['phone-back']
    #: the phone's address
    phone: str
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class LinkDataLengthEvent(TypedDict):
    """The link's speed has changed, or was asked for."""

    #: when: since the watch was started (in seconds)
    at: float
    #: the controller's handle of the link
    connection: int
    event: Literal['link']
    name: Literal['data-length']
    #: the longest that it receives (in octets)
    receiveOctets: int
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str
    #: the longest that the watch sends (in octets)
    transmitOctets: int


class LinkPhysEvent(TypedDict):
    """The link's speed has changed, or was asked for."""

    #: when: since the watch was started (in seconds)
    at: float
    #: the controller's handle of the link
    connection: int
    event: Literal['link']
    name: Literal['phys']
    #: what it receives with
    receivePHY: Literal['1M', '2M', 'coded']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str
    #: what the watch sends with
    transmitPHY: Literal['1M', '2M', 'coded']


class LinkPhyRefusedEvent(TypedDict):
    """The link's speed has changed, or was asked for."""

    #: when: since the watch was started (in seconds)
    at: float
    #: the controller's handle of the link
    connection: int
    event: Literal['link']
    name: Literal['phy-refused']
    #: why, in words of the Core Specification
    reason: str
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the controller's code of that
    status: int
    #: the same in words
    text: str


class LinkMtuEvent(TypedDict):
    """The link's speed has changed, or was asked for."""

    #: when: since the watch was started (in seconds)
    at: float
    #: the controller's handle of the link
    connection: int
    event: Literal['link']
    #: the ATT_MTU (in octets)
    mtu: int
    name: Literal['mtu']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class LinkParametersEvent(TypedDict):
    """The link's speed has changed, or was asked for."""

    #: when: since the watch was started (in seconds)
    at: float
    #: the controller's handle of the link
    connection: int
    #: how many events after data both sides use as well (in connection events)
    continuationNumber: int
    event: Literal['link']
    #: the interval (in milliseconds)
    intervalMilliseconds: float
    #: the peripheral latency (in connection events)
    latency: int
    name: Literal['parameters']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: both sides use every Nth event, and this is N; 1 without subrating (in connection events)
    subrateFactor: int
    #: the supervision timeout (in milliseconds)
    supervisionTimeoutMilliseconds: float
    #: the same in words
    text: str


class LinkResponseTimeEvent(TypedDict):
    """The link's speed has changed, or was asked for."""

    #: when: since the watch was started (in seconds)
    at: float
    #: the controller's handle of the link
    connection: int
    #: what on the watch wants it
    consumers: list[str]
    event: Literal['link']
    name: Literal['response-time']
    #: the class of the link's parameters
    responseTime: Literal['slow', 'middle', 'fast']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class LinkRequestedEvent(TypedDict):
    """The link's speed has changed, or was asked for."""

    #: when: since the watch was started (in seconds)
    at: float
    #: the number of the attempt
    attempt: int
    #: the controller's handle of the link
    connection: int
    event: Literal['link']
    #: the longest (in milliseconds)
    intervalMaximumMilliseconds: float
    #: the shortest interval that the watch wants (in milliseconds)
    intervalMinimumMilliseconds: float
    #: the peripheral latency (in connection events)
    latency: int
    name: Literal['requested']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the supervision timeout (in milliseconds)
    supervisionTimeoutMilliseconds: float
    #: the same in words
    text: str


class LinkRefusedEvent(TypedDict):
    """The link's speed has changed, or was asked for."""

    #: when: since the watch was started (in seconds)
    at: float
    #: the controller's handle of the link
    connection: int
    event: Literal['link']
    name: Literal['refused']
    #: why
    reason: str
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the controller's code, if the controller refused
    status: NotRequired[int]
    #: the same in words
    text: str


class LinkNotRequestedEvent(TypedDict):
    """The link's speed has changed, or was asked for."""

    #: when: since the watch was started (in seconds)
    at: float
    #: the controller's handle of the link
    connection: int
    event: Literal['link']
    #: the longest (in milliseconds)
    intervalMaximumMilliseconds: float
    #: the shortest interval that the watch wants (in milliseconds)
    intervalMinimumMilliseconds: float
    #: the peripheral latency (in connection events)
    latency: int
    name: Literal['not-requested']
    #: which rule the parameters break
    reason: str
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the supervision timeout (in milliseconds)
    supervisionTimeoutMilliseconds: float
    #: the same in words
    text: str


class LinkGaveUpEvent(TypedDict):
    """The link's speed has changed, or was asked for."""

    #: when: since the watch was started (in seconds)
    at: float
    #: how often it was asked for
    attempts: int
    #: the controller's handle of the link
    connection: int
    event: Literal['link']
    name: Literal['gave-up']
    #: the class of the link's parameters
    responseTime: Literal['slow', 'middle', 'fast']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class LinkPhoneManagesEvent(TypedDict):
    """The link's speed has changed, or was asked for."""

    #: when: since the watch was started (in seconds)
    at: float
    #: the controller's handle of the link
    connection: int
    event: Literal['link']
    name: Literal['phone-manages']
    #: whether the phone sets the link's parameters
    phoneManages: bool
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class ChurningEvent(TypedDict):
    """Links come and go in a loop."""

    #: when: since the watch was started (in seconds)
    at: float
    #: how many links have ended
    endedLinks: int
    event: Literal['churning']
    #: the shortest advertising interval until they last longer (in milliseconds)
    intervalMilliseconds: float
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str
    #: in which time (in seconds)
    withinSeconds: float


class ChurnedEvent(TypedDict):
    """Links do not come and go in a loop any more."""

    #: when: since the watch was started (in seconds)
    at: float
    event: Literal['churned']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class StrangersEvent(TypedDict):
    """Strangers are turned away as soon as they connect."""

    #: when: since the watch was started (in seconds)
    at: float
    event: Literal['strangers']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class StrangersGoneEvent(TypedDict):
    """No stranger connects any more."""

    #: when: since the watch was started (in seconds)
    at: float
    #: how many
    count: int
    event: Literal['strangers-gone']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class TransportGivenUpEvent(TypedDict):
    """A transport of a link was given up."""

    #: when: since the watch was started (in seconds)
    at: float
    #: the controller's handle of the link
    connection: int
    event: Literal['transport-given-up']
    #: why
    reason: str
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class TransportStalledEvent(TypedDict):
    """A transport of a link does not move."""

    #: when: since the watch was started (in seconds)
    at: float
    #: the controller's handle of the link
    connection: int
    event: Literal['transport-stalled']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class PhoneServiceEvent(TypedDict):
    """One of the phone's own services is used, or not any more."""

    #: when: since the watch was started (in seconds)
    at: float
    #: the controller's handle of the link
    connection: int
    event: Literal['phone-service']
    #: the service: notifications, media or time
    name: str
    #: what the problem is
    reason: NotRequired[str]
    #: whether it is used now
    result: Literal['began', 'ended', 'problem']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class PairableEvent(TypedDict):
    """Whether a phone without a bond may pair has changed."""

    #: when: since the watch was started (in seconds)
    at: float
    event: Literal['pairable']
    #: whether a phone without a bond may pair
    isOpen: bool
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class PairingWaitsEvent(TypedDict):
    """A pairing waits for a person."""

    #: when: since the watch was started (in seconds)
    at: float
    #: the controller's handle of the link
    connection: int
    event: Literal['pairing-waits']
    #: what the watch's screen shows with it
    number: NotRequired[str]
    #: what a person is asked, as in `status`
    question: Literal['confirm', 'compare', 'show', 'type']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class PairedEvent(TypedDict):
    """A phone has paired."""

    #: which type of address that is
    addressType: NotRequired[Literal['public', 'random', 'publicIdentity', 'randomIdentity']]
    #: when: since the watch was started (in seconds)
    at: float
    #: the controller's handle of the link
    connection: int
    #: who showed the passkey
    displayedBy: NotRequired[Literal['initiator', 'responder']]
    event: Literal['paired']
    #: whether the key is authenticated
    isAuthenticated: bool
    #: whether the keys are kept
    isBonded: bool
    #: of the encryption key (in octets)
    keySize: int
    #: the association model
    model: Literal['just-works', 'numeric-comparison', 'passkey-entry', 'out-of-band']
    #: the identity address of a bonded phone
    phone: NotRequired[str]
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str
    #: or it is legacy pairing
    usesSecureConnections: bool


class KeyReplacedEvent(TypedDict):
    """A known phone has another key."""

    #: which type of address that is
    addressType: Literal['public', 'random', 'publicIdentity', 'randomIdentity']
    #: when: since the watch was started (in seconds)
    at: float
    #: the controller's handle of the link
    connection: int
    event: Literal['key-replaced']
    #: the phone's address
    phone: str
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class PairingRefusedEvent(TypedDict):
    """A phone wanted to pair, and may not."""

    #: which type of address that is
    addressType: Literal['public', 'random', 'publicIdentity', 'randomIdentity']
    #: what to do if it should pair
    advice: str
    #: when: since the watch was started (in seconds)
    at: float
    #: the controller's handle of the link
    connection: int
    event: Literal['pairing-refused']
    #: the phone's address
    phone: str
    #: why
    reason: Literal['closed', 'key-lost', 'weaker', 'rejected']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class PairingFailedEvent(TypedDict):
    """A pairing has failed."""

    #: when: since the watch was started (in seconds)
    at: float
    #: the controller's handle of the link
    connection: int
    event: Literal['pairing-failed']
    #: why
    reason: str
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class SecurityEvent(TypedDict):
    """The security of a link has changed."""

    #: when: since the watch was started (in seconds)
    at: float
    #: the controller's handle of the link
    connection: int
    event: Literal['security']
    #: whether its key is authenticated
    isAuthenticated: bool
    #: whether the phone is bonded
    isBonded: bool
    #: whether the link is encrypted
    isEncrypted: bool
    #: of the encryption key; 0 for none (in octets)
    keySize: int
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class ForgottenEvent(TypedDict):
    """A phone was forgotten."""

    #: which type of address that is
    addressType: Literal['public', 'random', 'publicIdentity', 'randomIdentity']
    #: when: since the watch was started (in seconds)
    at: float
    event: Literal['forgotten']
    #: the phone's address
    phone: str
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class SessionOpenedEvent(TypedDict):
    """A companion has opened a session."""

    #: when: since the watch was started (in seconds)
    at: float
    event: Literal['session-opened']
    #: system, app or hybrid
    kind: str
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the session's number
    session: int
    #: the same in words
    text: str
    #: what carries it
    transport: str


class SessionMovedEvent(TypedDict):
    """Another transport carries the session."""

    #: when: since the watch was started (in seconds)
    at: float
    event: Literal['session-moved']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the session's number
    session: int
    #: the same in words
    text: str
    #: what carries it from now on
    transport: str


class SessionClosedEvent(TypedDict):
    """A session has ended."""

    #: when: since the watch was started (in seconds)
    at: float
    event: Literal['session-closed']
    #: why
    reason: str
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the session's number
    session: int
    #: the same in words
    text: str


class StreamPublishedEvent(TypedDict):
    """Phones can open a stream."""

    #: when: since the watch was started (in seconds)
    at: float
    event: Literal['stream-published']
    #: where it can be opened
    psm: int
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the stream
    stream: Literal['pebble', 'loopback', 'second-loopback']
    #: the same in words
    text: str


class StreamWithdrawnEvent(TypedDict):
    """Phones cannot open a stream any more."""

    #: when: since the watch was started (in seconds)
    at: float
    event: Literal['stream-withdrawn']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the stream
    stream: Literal['pebble', 'loopback', 'second-loopback']
    #: the same in words
    text: str


class StreamOpenedEvent(TypedDict):
    """A phone has opened a stream."""

    #: when: since the watch was started (in seconds)
    at: float
    #: the controller's handle of the link
    connection: int
    event: Literal['stream-opened']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the stream
    stream: Literal['pebble', 'loopback', 'second-loopback']
    #: the same in words
    text: str


class StreamClosedEvent(TypedDict):
    """A channel to a stream is closed."""

    #: when: since the watch was started (in seconds)
    at: float
    #: the controller's handle of the link
    connection: int
    event: Literal['stream-closed']
    #: why
    reason: str
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the stream
    stream: Literal['pebble', 'loopback', 'second-loopback']
    #: the same in words
    text: str


class MessageEvent(TypedDict):
    """A message of the Pebble Protocol came in or went out."""

    #: when: since the watch was started (in seconds)
    at: float
    #: the number of its endpoint
    endpoint: int
    event: Literal['message']
    #: or the watch has sent it
    fromPhone: bool
    #: of its payload (in bytes)
    length: int
    #: the endpoint's name
    name: str
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the session's number
    session: int
    #: the same in words
    text: str


class ServiceUploadBeganEvent(TypedDict):
    """A service has done something."""

    #: when: since the watch was started (in seconds)
    at: float
    #: how much (in bytes)
    byteCount: int
    event: Literal['service']
    name: Literal['upload-began']
    #: what the phone uploads
    object: Literal['firmware', 'recovery-firmware', 'system-resources', 'app-resources', 'app-binary', 'file', 'app-worker']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class ServiceUploadedEvent(TypedDict):
    """A service has done something."""

    #: when: since the watch was started (in seconds)
    at: float
    #: how much (in bytes)
    byteCount: int
    event: Literal['service']
    name: Literal['uploaded']
    #: what the phone uploads
    object: Literal['firmware', 'recovery-firmware', 'system-resources', 'app-resources', 'app-binary', 'file', 'app-worker']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class ServiceUploadFailedEvent(TypedDict):
    """A service has done something."""

    #: when: since the watch was started (in seconds)
    at: float
    event: Literal['service']
    name: Literal['upload-failed']
    #: what the phone uploads
    object: Literal['firmware', 'recovery-firmware', 'system-resources', 'app-resources', 'app-binary', 'file', 'app-worker']
    #: why
    reason: str
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class ServiceUploadInstalledEvent(TypedDict):
    """A service has done something."""

    #: when: since the watch was started (in seconds)
    at: float
    event: Literal['service']
    name: Literal['upload-installed']
    #: what the phone uploads
    object: Literal['firmware', 'recovery-firmware', 'system-resources', 'app-resources', 'app-binary', 'file', 'app-worker']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class ServiceUpdateBeganEvent(TypedDict):
    """A service has done something."""

    #: when: since the watch was started (in seconds)
    at: float
    event: Literal['service']
    name: Literal['update-began']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class ServiceUpdateCompletedEvent(TypedDict):
    """A service has done something."""

    #: when: since the watch was started (in seconds)
    at: float
    event: Literal['service']
    name: Literal['update-completed']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class ServiceUpdateFailedEvent(TypedDict):
    """A service has done something."""

    #: when: since the watch was started (in seconds)
    at: float
    event: Literal['service']
    name: Literal['update-failed']
    #: why
    reason: str
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class ServiceAppInstalledEvent(TypedDict):
    """A service has done something."""

    #: the app's UUID
    app: str
    #: its name
    appName: str
    #: when: since the watch was started (in seconds)
    at: float
    event: Literal['service']
    name: Literal['app-installed']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class ServiceAppRemovedEvent(TypedDict):
    """A service has done something."""

    #: the app's UUID
    app: str
    #: when: since the watch was started (in seconds)
    at: float
    event: Literal['service']
    name: Literal['app-removed']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class ServiceAppFetchBeganEvent(TypedDict):
    """A service has done something."""

    #: the app's UUID
    app: str
    #: its name
    appName: str
    #: when: since the watch was started (in seconds)
    at: float
    event: Literal['service']
    name: Literal['app-fetch-began']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class ServiceAppFetchFailedEvent(TypedDict):
    """A service has done something."""

    #: the app's UUID
    app: str
    #: when: since the watch was started (in seconds)
    at: float
    event: Literal['service']
    name: Literal['app-fetch-failed']
    #: why
    reason: str
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class ServiceAppOrderChangedEvent(TypedDict):
    """A service has done something."""

    #: the launcher's order
    apps: list[str]
    #: when: since the watch was started (in seconds)
    at: float
    #: how many they are
    count: int
    event: Literal['service']
    name: Literal['app-order-changed']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class ServiceNotificationShownEvent(TypedDict):
    """A service has done something."""

    #: the numbers of what can be done with it, and what that is called
    actions: dict[str, str]
    #: the app that it is from, as the phone calls it
    app: NotRequired[str]
    #: when: since the watch was started (in seconds)
    at: float
    #: its text
    body: NotRequired[str]
    event: Literal['service']
    #: the notification's id
    item: str
    name: Literal['notification-shown']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: its subtitle
    subtitle: NotRequired[str]
    #: the same in words
    text: str
    #: its title
    title: NotRequired[str]


class ServiceNotificationRemovedEvent(TypedDict):
    """A service has done something."""

    #: when: since the watch was started (in seconds)
    at: float
    event: Literal['service']
    #: the notification's id
    item: str
    name: Literal['notification-removed']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class ServiceRecordChangedEvent(TypedDict):
    """A service has done something."""

    #: when: since the watch was started (in seconds)
    at: float
    #: how much (in bytes)
    byteCount: int
    #: the database's number
    database: int
    #: what it is for
    databaseName: str
    event: Literal['service']
    #: the record's key, in hexadecimal
    key: str
    #: the key, if it is text
    keyText: NotRequired[str]
    name: Literal['record-changed']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class ServiceRecordRemovedEvent(TypedDict):
    """A service has done something."""

    #: when: since the watch was started (in seconds)
    at: float
    #: the database's number
    database: int
    #: what it is for
    databaseName: str
    event: Literal['service']
    #: the record's key, in hexadecimal
    key: str
    #: the key, if it is text
    keyText: NotRequired[str]
    name: Literal['record-removed']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class ServiceDatabaseClearedEvent(TypedDict):
    """A service has done something."""

    #: when: since the watch was started (in seconds)
    at: float
    #: the database's number
    database: int
    #: what it is for
    databaseName: str
    event: Literal['service']
    name: Literal['database-cleared']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class ServiceActionSentEvent(TypedDict):
    """A service has done something."""

    #: the action's number
    action: int
    #: when: since the watch was started (in seconds)
    at: float
    event: Literal['service']
    #: the notification's id
    item: str
    name: Literal['action-sent']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class ServiceActionNotSentEvent(TypedDict):
    """A service has done something."""

    #: the action's number
    action: int
    #: when: since the watch was started (in seconds)
    at: float
    event: Literal['service']
    #: the notification's id
    item: str
    name: Literal['action-not-sent']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class ServiceActionAnsweredEvent(TypedDict):
    """A service has done something."""

    #: the action's number
    action: NotRequired[int]
    #: what it says
    answer: NotRequired[str]
    #: when: since the watch was started (in seconds)
    at: float
    #: the phone's answer
    code: int
    event: Literal['service']
    #: whether it agrees
    isAccepted: bool
    #: the notification's id
    item: str
    name: Literal['action-answered']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class ServiceNowPlayingEvent(TypedDict):
    """A service has done something."""

    #: the album
    album: str
    #: who plays
    artist: str
    #: when: since the watch was started (in seconds)
    at: float
    event: Literal['service']
    name: Literal['now-playing']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str
    #: what is played
    title: str


class ServicePlayStateEvent(TypedDict):
    """A service has done something."""

    #: when: since the watch was started (in seconds)
    at: float
    event: Literal['service']
    name: Literal['play-state']
    #: where in the track it is (in milliseconds)
    positionMilliseconds: int
    #: its speed; 100 is the usual one (in percent)
    ratePercent: int
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: what the player does
    state: str
    #: the same in words
    text: str


class ServiceVolumeEvent(TypedDict):
    """A service has done something."""

    #: when: since the watch was started (in seconds)
    at: float
    event: Literal['service']
    name: Literal['volume']
    #: the volume (in percent)
    percent: int
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class ServiceCallEvent(TypedDict):
    """A service has done something."""

    #: when: since the watch was started (in seconds)
    at: float
    #: the caller's name
    caller: NotRequired[str]
    event: Literal['service']
    name: Literal['call']
    #: the caller's number
    number: NotRequired[str]
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: what the call does
    state: Literal['incoming', 'outgoing', 'active']
    #: the same in words
    text: str


class ServiceCallEndedEvent(TypedDict):
    """A service has done something."""

    #: when: since the watch was started (in seconds)
    at: float
    #: the caller's name
    caller: NotRequired[str]
    event: Literal['service']
    name: Literal['call-ended']
    #: the caller's number
    number: NotRequired[str]
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: what the call does
    state: Literal['incoming', 'outgoing', 'active']
    #: the same in words
    text: str


class ServiceCallMissedEvent(TypedDict):
    """A service has done something."""

    #: when: since the watch was started (in seconds)
    at: float
    #: the caller's name
    caller: str
    event: Literal['service']
    name: Literal['call-missed']
    #: the caller's number
    number: str
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class ServiceAppLogsWantedEvent(TypedDict):
    """A service has done something."""

    #: when: since the watch was started (in seconds)
    at: float
    event: Literal['service']
    #: whether a tool wants what apps log
    isWanted: bool
    name: Literal['app-logs-wanted']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class ServiceScreenshotTakenEvent(TypedDict):
    """A service has done something."""

    #: when: since the watch was started (in seconds)
    at: float
    event: Literal['service']
    name: Literal['screenshot-taken']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class ServiceDataLoggedEvent(TypedDict):
    """A service has done something."""

    #: when: since the watch was started (in seconds)
    at: float
    #: how much (in bytes)
    byteCount: int
    event: Literal['service']
    name: Literal['data-logged']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the number of the data logging session
    spool: int
    #: the same in words
    text: str


class ServiceDataNotLoggedEvent(TypedDict):
    """A service has done something."""

    #: when: since the watch was started (in seconds)
    at: float
    event: Literal['service']
    name: Literal['data-not-logged']
    #: why
    reason: str
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the number of the data logging session
    spool: int
    #: the same in words
    text: str


class ServiceDataSentEvent(TypedDict):
    """A service has done something."""

    #: when: since the watch was started (in seconds)
    at: float
    #: how much (in bytes)
    byteCount: int
    event: Literal['service']
    name: Literal['data-sent']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the number of the data logging session
    spool: int
    #: the same in words
    text: str


class ServiceDataDroppedEvent(TypedDict):
    """A service has done something."""

    #: when: since the watch was started (in seconds)
    at: float
    #: how much (in bytes)
    byteCount: int
    event: Literal['service']
    name: Literal['data-dropped']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the number of the data logging session
    spool: int
    #: the same in words
    text: str


class ServiceHealthSyncRequestedEvent(TypedDict):
    """A service has done something."""

    #: when: since the watch was started (in seconds)
    at: float
    event: Literal['service']
    name: Literal['health-sync-requested']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class ClockSetEvent(TypedDict):
    """The phone has set the clock."""

    #: when: since the watch was started (in seconds)
    at: float
    event: Literal['clock-set']
    #: its offset from UTC (in minutes)
    offsetMinutes: NotRequired[int]
    #: since 1970, in UTC if there is a zone (in seconds)
    seconds: int
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str
    #: the name of the time zone
    zone: NotRequired[str]


class AppLaunchedEvent(TypedDict):
    """Another app runs."""

    #: the app's UUID
    app: str
    #: when: since the watch was started (in seconds)
    at: float
    event: Literal['app-launched']
    #: its name
    name: str
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class AppMessageReceivedEvent(TypedDict):
    """The running app has got a dictionary from its companion."""

    #: the app's UUID
    app: str
    #: when: since the watch was started (in seconds)
    at: float
    #: the dictionary
    entries: list[EntryBytes | EntryString | EntryUint8 | EntryUint16 | EntryUint32 | EntryInt8 | EntryInt16 | EntryInt32 | EntryUnrecognized]
    event: Literal['app-message-received']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class AppMessageSentEvent(TypedDict):
    """A dictionary was acknowledged, refused or given up."""

    #: the app's UUID
    app: str
    #: when: since the watch was started (in seconds)
    at: float
    #: the dictionary
    entries: list[EntryBytes | EntryString | EntryUint8 | EntryUint16 | EntryUint32 | EntryInt8 | EntryInt16 | EntryInt32 | EntryUnrecognized]
    event: Literal['app-message-sent']
    #: ok, sendTimeout, sendRejected, notConnected...
    result: str
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class AppLoggedEvent(TypedDict):
    """The running app has logged a line."""

    #: the app's UUID
    app: str
    #: when: since the watch was started (in seconds)
    at: float
    event: Literal['app-logged']
    #: the name of the source file
    file: str
    #: the SDK's name for the level, or for the next that is more important
    level: Literal['always', 'error', 'warning', 'info', 'debug', 'verbose']
    #: its line
    line: int
    #: what was logged
    message: str
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class ButtonEvent(TypedDict):
    """A button was pressed."""

    #: when: since the watch was started (in seconds)
    at: float
    #: the button
    button: Literal['back', 'up', 'select', 'down']
    event: Literal['button']
    #: whether it was held
    isLong: bool
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class SensedBatteryEvent(TypedDict):
    """A sensor had something to say."""

    #: when: since the watch was started (in seconds)
    at: float
    event: Literal['sensed']
    #: whether the charger is connected
    isCharging: bool
    name: Literal['battery']
    #: the charge (in percent)
    percent: int
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class SensedTapEvent(TypedDict):
    """A sensor had something to say."""

    #: when: since the watch was started (in seconds)
    at: float
    #: the axis
    axis: Literal['x', 'y', 'z']
    #: 1 or -1
    direction: int
    event: Literal['sensed']
    name: Literal['tap']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class SensedCompassEvent(TypedDict):
    """A sensor had something to say."""

    #: when: since the watch was started (in seconds)
    at: float
    #: how good the heading is
    calibration: Literal['uncalibrated', 'refining', 'calibrated']
    #: the heading (in degrees)
    degrees: float
    event: Literal['sensed']
    #: the same, as apps see it (in 65536ths of a turn)
    heading: int
    name: Literal['compass']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class SensedAccelerometerEventSample(TypedDict):
    """The samples."""

    #: across the face, to the right (in thousandths of g)
    x: int
    #: along the face, to the top (in thousandths of g)
    y: int
    #: out of the face (in thousandths of g)
    z: int


class SensedAccelerometerEvent(TypedDict):
    """A sensor had something to say."""

    #: when: since the watch was started (in seconds)
    at: float
    event: Literal['sensed']
    name: Literal['accelerometer']
    #: the samples
    samples: list[SensedAccelerometerEventSample]
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class SensedPhoneConnectionEvent(TypedDict):
    """A sensor had something to say."""

    #: when: since the watch was started (in seconds)
    at: float
    event: Literal['sensed']
    #: what apps are told of the phone
    isConnected: bool
    name: Literal['phone-connection']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class SensedTimeFormatEvent(TypedDict):
    """A sensor had something to say."""

    #: when: since the watch was started (in seconds)
    at: float
    event: Literal['sensed']
    #: whether the hours are counted to 24
    is24Hour: bool
    name: Literal['time-format']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class SensedTimelinePeekEvent(TypedDict):
    """A sensor had something to say."""

    #: when: since the watch was started (in seconds)
    at: float
    event: Literal['sensed']
    #: whether it covers the bottom of the screen
    isShown: bool
    name: Literal['timeline-peek']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class SensedContentSizeEvent(TypedDict):
    """A sensor had something to say."""

    #: when: since the watch was started (in seconds)
    at: float
    event: Literal['sensed']
    name: Literal['content-size']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the size of texts, from 0
    size: int
    #: the same in words
    text: str


class SensedHealthEvent(TypedDict):
    """A sensor had something to say."""

    #: when: since the watch was started (in seconds)
    at: float
    event: Literal['sensed']
    #: what is measured, with its unit, such as activeSeconds
    metric: str
    name: Literal['health']
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str
    #: how much there is of it today
    value: int


class SensedHeartRateEvent(TypedDict):
    """A sensor had something to say."""

    #: when: since the watch was started (in seconds)
    at: float
    #: the heart rate (in beats per minute)
    beatsPerMinute: int
    event: Literal['sensed']
    name: Literal['heart-rate']
    #: how sure the sensor is
    quality: int
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class FaultEvent(TypedDict):
    """A fault that was added on purpose has done something."""

    #: when: since the watch was started (in seconds)
    at: float
    #: the handle of the link that it is about
    connection: NotRequired[int]
    #: what it did
    effect: str
    event: Literal['fault']
    #: how often it has fired, with this time
    firings: int
    #: its name
    name: str
    #: the number that the fault goes by
    number: int
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the same in words
    text: str


class MirrorDiffersEvent(TypedDict):
    """The firmware in the watch's shadow has answered a message otherwise."""

    #: when the phone said it, on the clock of `at` (in seconds)
    askedSeconds: float
    #: when: since the watch was started (in seconds)
    at: float
    #: how late an answer is (in seconds)
    delaySeconds: NotRequired[float]
    #: the number of the message's endpoint
    endpoint: int
    event: Literal['mirror-differs']
    #: what the firmware answered, likewise
    firmware: list[str]
    #: in what the answers differ
    kind: Literal['answer', 'missing', 'extra', 'order', 'late']
    #: the endpoint's name
    name: str
    #: which of the phone's messages it was, counted from 1
    number: int
    #: its payload, in hexadecimal; of a long one 512 bytes
    question: str
    #: counts the events since the watch was started, from 1 on
    sequence: int
    #: the session's number
    session: int
    #: the same in words
    text: str
    #: what the watch answered: endpoint, colon, payload, in hexadecimal
    watch: list[str]


class LostEvent(TypedDict):
    """Events were lost, because the program did not read them in time."""

    #: when: since the watch was started (in seconds)
    at: float
    #: how many
    count: int
    event: Literal['lost']
    #: the same in words
    text: str


#: Everything that happens on a watch. Its `event` says which.
Event: TypeAlias = (
    StartedEvent
    | FailedEvent
    | AdvertisingEvent
    | ControllerRestartingEvent
    | ControllerLostEvent
    | RestartingEvent
    | ConnectedEvent
    | DisconnectedEvent
    | LinkEndedEvent
    | PhoneBackEvent
    | LinkDataLengthEvent
    | LinkPhysEvent
    | LinkPhyRefusedEvent
    | LinkMtuEvent
    | LinkParametersEvent
    | LinkResponseTimeEvent
    | LinkRequestedEvent
    | LinkRefusedEvent
    | LinkNotRequestedEvent
    | LinkGaveUpEvent
    | LinkPhoneManagesEvent
    | ChurningEvent
    | ChurnedEvent
    | StrangersEvent
    | StrangersGoneEvent
    | TransportGivenUpEvent
    | TransportStalledEvent
    | PhoneServiceEvent
    | PairableEvent
    | PairingWaitsEvent
    | PairedEvent
    | KeyReplacedEvent
    | PairingRefusedEvent
    | PairingFailedEvent
    | SecurityEvent
    | ForgottenEvent
    | SessionOpenedEvent
    | SessionMovedEvent
    | SessionClosedEvent
    | StreamPublishedEvent
    | StreamWithdrawnEvent
    | StreamOpenedEvent
    | StreamClosedEvent
    | MessageEvent
    | ServiceUploadBeganEvent
    | ServiceUploadedEvent
    | ServiceUploadFailedEvent
    | ServiceUploadInstalledEvent
    | ServiceUpdateBeganEvent
    | ServiceUpdateCompletedEvent
    | ServiceUpdateFailedEvent
    | ServiceAppInstalledEvent
    | ServiceAppRemovedEvent
    | ServiceAppFetchBeganEvent
    | ServiceAppFetchFailedEvent
    | ServiceAppOrderChangedEvent
    | ServiceNotificationShownEvent
    | ServiceNotificationRemovedEvent
    | ServiceRecordChangedEvent
    | ServiceRecordRemovedEvent
    | ServiceDatabaseClearedEvent
    | ServiceActionSentEvent
    | ServiceActionNotSentEvent
    | ServiceActionAnsweredEvent
    | ServiceNowPlayingEvent
    | ServicePlayStateEvent
    | ServiceVolumeEvent
    | ServiceCallEvent
    | ServiceCallEndedEvent
    | ServiceCallMissedEvent
    | ServiceAppLogsWantedEvent
    | ServiceScreenshotTakenEvent
    | ServiceDataLoggedEvent
    | ServiceDataNotLoggedEvent
    | ServiceDataSentEvent
    | ServiceDataDroppedEvent
    | ServiceHealthSyncRequestedEvent
    | ClockSetEvent
    | AppLaunchedEvent
    | AppMessageReceivedEvent
    | AppMessageSentEvent
    | AppLoggedEvent
    | ButtonEvent
    | SensedBatteryEvent
    | SensedTapEvent
    | SensedCompassEvent
    | SensedAccelerometerEvent
    | SensedPhoneConnectionEvent
    | SensedTimeFormatEvent
    | SensedTimelinePeekEvent
    | SensedContentSizeEvent
    | SensedHealthEvent
    | SensedHeartRateEvent
    | FaultEvent
    | MirrorDiffersEvent
    | LostEvent
)


class AsyncCommands(Protocol):
    """A method for each command of the watch that has none of its own in the classes that have these."""

    async def ask(self, command: str, /, **fields: Any) -> dict[str, Any]:
        """Sends a command, and returns the watch's answer."""
        ...

    async def hold(self, buttons: list[Literal['back', 'up', 'select', 'down']]) -> HoldAnswer:
        """Hold buttons down, and let the others go. A press counts when they change, or as a long one after 2 seconds,
        for back after 5.

        `buttons`: those that are down from now on.
        """
        return cast(HoldAnswer, await self.ask("hold", buttons=buttons))

    async def tap(self, *, axis: Literal['x', 'y', 'z', None] = None, direction: int | None = None) -> TapAnswer:
        """Tap the watch.

        `axis`: across the face, along it to the top, or out of it (usually "x").
        `direction`: 1 or -1 (usually 1).
        """
        return cast(TapAnswer, await self.ask("tap", axis=axis, direction=direction))

    async def battery(self, percent: int, *, charging: bool | None = None) -> BatteryAnswer:
        """Set the battery's charge, which phones and apps see.

        `charging`: whether the charger is connected (usually false).
        `percent`: the charge, at most 100 (in percent).
        """
        return cast(BatteryAnswer, await self.ask("battery", charging=charging, percent=percent))

    async def compass(self, degrees: float, *, calibrated: bool | None = None) -> CompassAnswer:
        """Set the compass's heading, which apps see.

        `calibrated`: whether the heading is as good as it gets (usually true).
        `degrees`: the heading (in degrees; from 0 to 360).
        """
        return cast(CompassAnswer, await self.ask("compass", calibrated=calibrated, degrees=degrees))

    async def accelerometer(self, x: int, y: int, z: int) -> AccelerometerAnswer:
        """Give the accelerometer a sample, which apps get.

        `x`: across the face, to the right (in thousandths of g).
        `y`: along the face, to the top (in thousandths of g).
        `z`: out of the face (in thousandths of g).
        """
        return cast(AccelerometerAnswer, await self.ask("accelerometer", x=x, y=y, z=z))

    async def time_format(self, is24_hour: bool) -> TimeFormatAnswer:
        """Set how apps show the time.

        `is24_hour`: whether the hours are counted to 24.
        """
        return cast(TimeFormatAnswer, await self.ask("time-format", is24Hour=is24_hour))

    async def stop(self) -> StopAnswer:
        """Leave the running watchapp for the watchface."""
        return cast(StopAnswer, await self.ask("stop"))

    async def close_pairing(self) -> ClosePairingAnswer:
        """Let no new phone pair any more."""
        return cast(ClosePairingAnswer, await self.ask("close-pairing"))

    async def confirm(self) -> ConfirmAnswer:
        """Say yes to the pairing that waits for it. cairn status shows the number, if there is one: it must be the one
        that the phone shows."""
        return cast(ConfirmAnswer, await self.ask("confirm"))

    async def refuse(self) -> RefuseAnswer:
        """Say no to the pairing that waits for an answer."""
        return cast(RefuseAnswer, await self.ask("refuse"))

    async def passkey(self, passkey: str) -> PasskeyAnswer:
        """Type the six digits that the phone shows.

        `passkey`: the digits; zeros in front may be left out.
        """
        return cast(PasskeyAnswer, await self.ask("passkey", passkey=passkey))

    async def oob(self) -> OobAnswer:
        """Make the watch's secrets for a pairing out of band."""
        return cast(OobAnswer, await self.ask("oob"))

    async def take_oob(self, data: str) -> TakeOobAnswer:
        """Take a phone's secrets for a pairing out of band.

        `data`: what the phone made: AD structures, in hexadecimal.
        """
        return cast(TakeOobAnswer, await self.ask("take-oob", data=data))

    async def forget(self, phone: str) -> ForgetAnswer:
        """Forget a phone that has paired, and disconnect it.

        `phone`: its identity address, as `status` has it.
        """
        return cast(ForgetAnswer, await self.ask("forget", phone=phone))

    async def forget_all(self) -> ForgetAllAnswer:
        """Forget every phone that has paired, and disconnect them."""
        return cast(ForgetAllAnswer, await self.ask("forget-all"))

    async def disconnect(self) -> DisconnectAnswer:
        """End the links to all phones. They may come back at once."""
        return cast(DisconnectAnswer, await self.ask("disconnect"))

    async def advertise(self) -> AdvertiseAnswer:
        """Advertise as fast as the watch ever does, for a phone that looks for it now."""
        return cast(AdvertiseAnswer, await self.ask("advertise"))

    async def offer_battery(self, offered: bool) -> OfferBatteryAnswer:
        """Show the battery service to phones, or hide it.

        `offered`: whether phones see it.
        """
        return cast(OfferBatteryAnswer, await self.ask("offer-battery", offered=offered))

    async def publish(self, stream: Literal['pebble', 'loopback', 'second-loopback']) -> PublishAnswer:
        """Let phones open a stream, under a new PSM.

        `stream`: the stream.
        """
        return cast(PublishAnswer, await self.ask("publish", stream=stream))

    async def withdraw(self, stream: Literal['pebble', 'loopback', 'second-loopback']) -> WithdrawAnswer:
        """Close a stream, and let no phone open it any more.

        `stream`: the stream.
        """
        return cast(WithdrawAnswer, await self.ask("withdraw", stream=stream))

    async def music(self, key: Literal['next', 'pause', 'play', 'play-pause', 'previous', 'volume-down', 'volume-up']) -> MusicAnswer:
        """Press a key of the music app, which the phone gets.

        `key`: the key.
        """
        return cast(MusicAnswer, await self.ask("music", key=key))

    async def answer_call(self) -> AnswerCallAnswer:
        """Take the call."""
        return cast(AnswerCallAnswer, await self.ask("answer-call"))

    async def end_call(self) -> EndCallAnswer:
        """End the call, or refuse it."""
        return cast(EndCallAnswer, await self.ask("end-call"))

    async def act(self, action: int, item: str, *, text: str | None = None) -> ActAnswer:
        """Invoke an action of a notification.

        `action`: the number of one of its actions.
        `item`: the notification's id, as `status` has it.
        `text`: a reply.
        """
        return cast(ActAnswer, await self.ask("act", action=action, item=item, text=text))

    async def notifications(self) -> NotificationsAnswer:
        """List the notifications that are shown, oldest first."""
        return cast(NotificationsAnswer, await self.ask("notifications"))

    async def set(self, data: str, key: str) -> SetAnswer:
        """Change a setting; a phone that keeps up with settings gets it.

        `data`: its value, in hexadecimal.
        `key`: the setting's key.
        """
        return cast(SetAnswer, await self.ask("set", data=data, key=key))

    async def settings(self) -> SettingsAnswer:
        """List the settings that a phone or the watch has set."""
        return cast(SettingsAnswer, await self.ask("settings"))

    async def time(self) -> TimeAnswer:
        """Say what the watch's clock shows."""
        return cast(TimeAnswer, await self.ask("time"))

    async def set_time(self, seconds: int, *, offset_minutes: int | None = None, zone: str | None = None) -> SetTimeAnswer:
        """Set the watch's clock, as a phone does.

        `offset_minutes`: its offset from UTC; with a zone alone, the one that the watch has, or 0 (in minutes).
        `seconds`: since 1970: in UTC with a zone or an offset, else in local time (in seconds).
        `zone`: the name of the time zone, such as Europe/Paris.
        """
        return cast(SetTimeAnswer, await self.ask("set-time", offsetMinutes=offset_minutes, seconds=seconds, zone=zone))

    async def log_data(self, app: str, data: str, tag: int, *, item_size: int | None = None) -> LogDataAnswer:
        """Log items as an app does: they are spooled until a phone takes them.

        `app`: the app's UUID.
        `data`: whole items, in hexadecimal.
        `item_size`: the length of an item (in bytes; usually 1).
        `tag`: what the app calls this kind of data.
        """
        return cast(LogDataAnswer, await self.ask("log-data", app=app, data=data, itemSize=item_size, tag=tag))

    async def links(self) -> LinksAnswer:
        """List the links to phones: their parameters, their security, and what has gone over them."""
        return cast(LinksAnswer, await self.ask("links"))

    async def log_level(self, levels: str) -> LogLevelAnswer:
        """Change what is logged from now on. As in --log-level: a level for all layers, such as info, or for some, such
        as info,att=debug. A layer with a level of its own keeps it until it is named again.

        `levels`: the levels.
        """
        return cast(LogLevelAnswer, await self.ask("log-level", levels=levels))

    async def fault_list(self) -> FaultListAnswer:
        """List the faults that are there."""
        return cast(FaultListAnswer, await self.ask("fault-list"))

    async def fault_names(self) -> FaultNamesAnswer:
        """List the faults that can be added, and what each takes."""
        return cast(FaultNamesAnswer, await self.ask("fault-names"))

    async def fault_clear(self, *, number: int | None = None) -> FaultClearAnswer:
        """Take a fault away, or all of them.

        `number`: the fault's number; without it, all faults.
        """
        return cast(FaultClearAnswer, await self.ask("fault-clear", number=number))

    async def reset(self) -> ResetAnswer:
        """Restart the watch as it came from the factory. It forgets its phones, their keys, and everything that they
        have put there; its name, address and firmware stay."""
        return cast(ResetAnswer, await self.ask("reset"))

    async def backup(self) -> BackupAnswer:
        """Copy everything that the watch keeps. Only for the user who started the watch, and root."""
        return cast(BackupAnswer, await self.ask("backup"))

    async def backup_part(self, offset: int) -> BackupPartAnswer:
        """Give bytes of that copy, 24 KiB at most. The copy is gone when the connection is.

        `offset`: the place of the first of the bytes (in bytes).
        """
        return cast(BackupPartAnswer, await self.ask("backup-part", offset=offset))


class Commands(Protocol):
    """A method for each command of the watch that has none of its own in the classes that have these."""

    def ask(self, command: str, /, **fields: Any) -> dict[str, Any]:
        """Sends a command, and returns the watch's answer."""
        ...

    def hold(self, buttons: list[Literal['back', 'up', 'select', 'down']]) -> HoldAnswer:
        """Hold buttons down, and let the others go. A press counts when they change, or as a long one after 2 seconds,
        for back after 5.

        `buttons`: those that are down from now on.
        """
        return cast(HoldAnswer, self.ask("hold", buttons=buttons))

    def tap(self, *, axis: Literal['x', 'y', 'z', None] = None, direction: int | None = None) -> TapAnswer:
        """Tap the watch.

        `axis`: across the face, along it to the top, or out of it (usually "x").
        `direction`: 1 or -1 (usually 1).
        """
        return cast(TapAnswer, self.ask("tap", axis=axis, direction=direction))

    def battery(self, percent: int, *, charging: bool | None = None) -> BatteryAnswer:
        """Set the battery's charge, which phones and apps see.

        `charging`: whether the charger is connected (usually false).
        `percent`: the charge, at most 100 (in percent).
        """
        return cast(BatteryAnswer, self.ask("battery", charging=charging, percent=percent))

    def compass(self, degrees: float, *, calibrated: bool | None = None) -> CompassAnswer:
        """Set the compass's heading, which apps see.

        `calibrated`: whether the heading is as good as it gets (usually true).
        `degrees`: the heading (in degrees; from 0 to 360).
        """
        return cast(CompassAnswer, self.ask("compass", calibrated=calibrated, degrees=degrees))

    def accelerometer(self, x: int, y: int, z: int) -> AccelerometerAnswer:
        """Give the accelerometer a sample, which apps get.

        `x`: across the face, to the right (in thousandths of g).
        `y`: along the face, to the top (in thousandths of g).
        `z`: out of the face (in thousandths of g).
        """
        return cast(AccelerometerAnswer, self.ask("accelerometer", x=x, y=y, z=z))

    def time_format(self, is24_hour: bool) -> TimeFormatAnswer:
        """Set how apps show the time.

        `is24_hour`: whether the hours are counted to 24.
        """
        return cast(TimeFormatAnswer, self.ask("time-format", is24Hour=is24_hour))

    def stop(self) -> StopAnswer:
        """Leave the running watchapp for the watchface."""
        return cast(StopAnswer, self.ask("stop"))

    def close_pairing(self) -> ClosePairingAnswer:
        """Let no new phone pair any more."""
        return cast(ClosePairingAnswer, self.ask("close-pairing"))

    def confirm(self) -> ConfirmAnswer:
        """Say yes to the pairing that waits for it. cairn status shows the number, if there is one: it must be the one
        that the phone shows."""
        return cast(ConfirmAnswer, self.ask("confirm"))

    def refuse(self) -> RefuseAnswer:
        """Say no to the pairing that waits for an answer."""
        return cast(RefuseAnswer, self.ask("refuse"))

    def passkey(self, passkey: str) -> PasskeyAnswer:
        """Type the six digits that the phone shows.

        `passkey`: the digits; zeros in front may be left out.
        """
        return cast(PasskeyAnswer, self.ask("passkey", passkey=passkey))

    def oob(self) -> OobAnswer:
        """Make the watch's secrets for a pairing out of band."""
        return cast(OobAnswer, self.ask("oob"))

    def take_oob(self, data: str) -> TakeOobAnswer:
        """Take a phone's secrets for a pairing out of band.

        `data`: what the phone made: AD structures, in hexadecimal.
        """
        return cast(TakeOobAnswer, self.ask("take-oob", data=data))

    def forget(self, phone: str) -> ForgetAnswer:
        """Forget a phone that has paired, and disconnect it.

        `phone`: its identity address, as `status` has it.
        """
        return cast(ForgetAnswer, self.ask("forget", phone=phone))

    def forget_all(self) -> ForgetAllAnswer:
        """Forget every phone that has paired, and disconnect them."""
        return cast(ForgetAllAnswer, self.ask("forget-all"))

    def disconnect(self) -> DisconnectAnswer:
        """End the links to all phones. They may come back at once."""
        return cast(DisconnectAnswer, self.ask("disconnect"))

    def advertise(self) -> AdvertiseAnswer:
        """Advertise as fast as the watch ever does, for a phone that looks for it now."""
        return cast(AdvertiseAnswer, self.ask("advertise"))

    def offer_battery(self, offered: bool) -> OfferBatteryAnswer:
        """Show the battery service to phones, or hide it.

        `offered`: whether phones see it.
        """
        return cast(OfferBatteryAnswer, self.ask("offer-battery", offered=offered))

    def publish(self, stream: Literal['pebble', 'loopback', 'second-loopback']) -> PublishAnswer:
        """Let phones open a stream, under a new PSM.

        `stream`: the stream.
        """
        return cast(PublishAnswer, self.ask("publish", stream=stream))

    def withdraw(self, stream: Literal['pebble', 'loopback', 'second-loopback']) -> WithdrawAnswer:
        """Close a stream, and let no phone open it any more.

        `stream`: the stream.
        """
        return cast(WithdrawAnswer, self.ask("withdraw", stream=stream))

    def music(self, key: Literal['next', 'pause', 'play', 'play-pause', 'previous', 'volume-down', 'volume-up']) -> MusicAnswer:
        """Press a key of the music app, which the phone gets.

        `key`: the key.
        """
        return cast(MusicAnswer, self.ask("music", key=key))

    def answer_call(self) -> AnswerCallAnswer:
        """Take the call."""
        return cast(AnswerCallAnswer, self.ask("answer-call"))

    def end_call(self) -> EndCallAnswer:
        """End the call, or refuse it."""
        return cast(EndCallAnswer, self.ask("end-call"))

    def act(self, action: int, item: str, *, text: str | None = None) -> ActAnswer:
        """Invoke an action of a notification.

        `action`: the number of one of its actions.
        `item`: the notification's id, as `status` has it.
        `text`: a reply.
        """
        return cast(ActAnswer, self.ask("act", action=action, item=item, text=text))

    def notifications(self) -> NotificationsAnswer:
        """List the notifications that are shown, oldest first."""
        return cast(NotificationsAnswer, self.ask("notifications"))

    def set(self, data: str, key: str) -> SetAnswer:
        """Change a setting; a phone that keeps up with settings gets it.

        `data`: its value, in hexadecimal.
        `key`: the setting's key.
        """
        return cast(SetAnswer, self.ask("set", data=data, key=key))

    def settings(self) -> SettingsAnswer:
        """List the settings that a phone or the watch has set."""
        return cast(SettingsAnswer, self.ask("settings"))

    def time(self) -> TimeAnswer:
        """Say what the watch's clock shows."""
        return cast(TimeAnswer, self.ask("time"))

    def set_time(self, seconds: int, *, offset_minutes: int | None = None, zone: str | None = None) -> SetTimeAnswer:
        """Set the watch's clock, as a phone does.

        `offset_minutes`: its offset from UTC; with a zone alone, the one that the watch has, or 0 (in minutes).
        `seconds`: since 1970: in UTC with a zone or an offset, else in local time (in seconds).
        `zone`: the name of the time zone, such as Europe/Paris.
        """
        return cast(SetTimeAnswer, self.ask("set-time", offsetMinutes=offset_minutes, seconds=seconds, zone=zone))

    def log_data(self, app: str, data: str, tag: int, *, item_size: int | None = None) -> LogDataAnswer:
        """Log items as an app does: they are spooled until a phone takes them.

        `app`: the app's UUID.
        `data`: whole items, in hexadecimal.
        `item_size`: the length of an item (in bytes; usually 1).
        `tag`: what the app calls this kind of data.
        """
        return cast(LogDataAnswer, self.ask("log-data", app=app, data=data, itemSize=item_size, tag=tag))

    def links(self) -> LinksAnswer:
        """List the links to phones: their parameters, their security, and what has gone over them."""
        return cast(LinksAnswer, self.ask("links"))

    def log_level(self, levels: str) -> LogLevelAnswer:
        """Change what is logged from now on. As in --log-level: a level for all layers, such as info, or for some, such
        as info,att=debug. A layer with a level of its own keeps it until it is named again.

        `levels`: the levels.
        """
        return cast(LogLevelAnswer, self.ask("log-level", levels=levels))

    def fault_list(self) -> FaultListAnswer:
        """List the faults that are there."""
        return cast(FaultListAnswer, self.ask("fault-list"))

    def fault_names(self) -> FaultNamesAnswer:
        """List the faults that can be added, and what each takes."""
        return cast(FaultNamesAnswer, self.ask("fault-names"))

    def fault_clear(self, *, number: int | None = None) -> FaultClearAnswer:
        """Take a fault away, or all of them.

        `number`: the fault's number; without it, all faults.
        """
        return cast(FaultClearAnswer, self.ask("fault-clear", number=number))

    def reset(self) -> ResetAnswer:
        """Restart the watch as it came from the factory. It forgets its phones, their keys, and everything that they
        have put there; its name, address and firmware stay."""
        return cast(ResetAnswer, self.ask("reset"))

    def backup(self) -> BackupAnswer:
        """Copy everything that the watch keeps. Only for the user who started the watch, and root."""
        return cast(BackupAnswer, self.ask("backup"))

    def backup_part(self, offset: int) -> BackupPartAnswer:
        """Give bytes of that copy, 24 KiB at most. The copy is gone when the connection is.

        `offset`: the place of the first of the bytes (in bytes).
        """
        return cast(BackupPartAnswer, self.ask("backup-part", offset=offset))
