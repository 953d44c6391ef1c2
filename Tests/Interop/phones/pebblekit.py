"""Companion apps with PebbleKit iOS 3 and 4, each on a channel of its own, next to the system app on one iPhone.

Watch-over-BLE section 5.7. PebbleKit's binary is not public: its sequence follows from the watch's firmware and from the
SDK's documentation, and its PPoGATT is taken to be libpebble3's.
"""

from __future__ import annotations

import uuid

from rig import companion
from rig.pebble import PebbleSession
from rig.phone import ForwardChannel
from rig.ppogatt import PhoneTransport, Violation

from .handset import IPhone, or_fail
from .libpebble3 import HANDSHAKE_SECONDS, LibPebble3IOS


class PebbleKitCompanion:
    """A companion app, `PBPebbleCentral` with the UUID of one watchapp. It does no pairing and opens no link."""

    def __init__(self, iphone: IPhone, app: uuid.UUID) -> None:
        self.app = app
        self.violations: list[Violation] = []
        self.session: PebbleSession
        self.transport: PhoneTransport
        self._iphone = iphone
        self._service: ForwardChannel | None = None

    @property
    def service(self) -> ForwardChannel:
        assert self._service is not None, "the companion does not run"
        return self._service

    def run(self) -> None:
        """`PBPebbleCentral.run`: adds another instance of the PPoGATT service, with the watchapp's UUID in its meta."""
        self._service = self._iphone.phone.host_companion(self.app.bytes)
        self._listen()
        self._iphone.added(self._service)

    async def connected(self) -> PebbleSession:
        """`PBPebbleCentralDelegate.watchDidConnect`: the watch has found the service, opened it, and asked who this is."""
        await or_fail("no channel to the watchapp", 3 * HANDSHAKE_SECONDS, self.transport.opened(2 * HANDSHAKE_SECONDS))
        await companion.introduce(self.session)
        return self.session

    def force_quit(self) -> None:
        """Its user swipes the app away: iOS takes its services out of the database."""
        self._iphone.remove(self.service)
        self._service = None
        self.transport.close("the companion was killed")

    def link_lost(self) -> None:
        """The link is gone; the app runs on and waits for the next."""
        self._listen()

    def phone_restarted(self) -> None:
        self._service = None
        self.run()

    def _listen(self) -> None:
        self.transport = PhoneTransport(self.service)
        self.transport.violations = self.violations
        self.session = PebbleSession(self.transport)
        self.transport.start()


class IPhoneWithCompanions:
    """The system app and two companions, as one client."""

    def __init__(self, iphone: IPhone, apps: tuple[uuid.UUID, uuid.UUID]) -> None:
        self.system = LibPebble3IOS(iphone)
        self.companions = [PebbleKitCompanion(iphone, app) for app in apps]
        for each in self.companions:
            each.run()

    @property
    def violations(self) -> list[Violation]:
        return self.system.violations + [violation for each in self.companions for violation in each.violations]

    async def scan(self) -> str:
        return await self.system.scan()

    async def connect(self, address: str) -> PebbleSession:
        session = await self.system.connect(address)
        for each in self.companions:
            await each.connected()
        return session

    async def disconnect(self) -> None:
        """The user turns the watch off in iOS's own settings: the link ends for every app."""
        await self.system._iphone.disconnect()
        self.link_lost()

    async def restart(self) -> None:
        """Every app is killed and started again, the system app last; the link stays."""
        for each in self.companions:
            each.force_quit()
            each.run()
        await self.system.restart()

    def link_lost(self) -> None:
        self.system.link_lost()
        for each in self.companions:
            each.link_lost()

    def phone_restarted(self) -> None:
        self.system.phone_restarted()
        for each in self.companions:
            each.phone_restarted()
