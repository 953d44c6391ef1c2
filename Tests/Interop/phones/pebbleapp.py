"""The Pebble app on iOS of the years of Pebble, which iOS starts again when the watch wants it.

Watch-over-BLE section 6. Its connecting is taken to be libpebble3's on iOS; what it has besides is the App Launch service,
which libpebble3 left out.
"""

from __future__ import annotations

from rig.pebble import PebbleSession
from rig.waiting import Mailbox

from .handset import IPhone
from .libpebble3 import LibPebble3IOS


class PebbleAppIOS(LibPebble3IOS):
    """`wakings`: each time that the watch read App Launch. `revived`: the session of each start that followed from it."""

    def __init__(self, iphone: IPhone) -> None:
        super().__init__(iphone)
        self.wakings: Mailbox[None] = Mailbox("the watch's readings of App Launch")
        self.revived: Mailbox[PebbleSession] = Mailbox("the sessions of the app that iOS started again")
        self._address: str | None = None
        self._runs = True
        # iOS keeps the service while the app does not run, which is the point of it.
        iphone.phone.host_app_launch(self._woken)

    async def connect(self, address: str) -> PebbleSession:
        self._address = address
        return await super().connect(address)

    async def end(self) -> None:
        """iOS ends the app, which needs memory for something else; it can still send its goodbye, and the link stays."""
        self._runs = False
        await self.disconnect()

    def _woken(self) -> None:
        self.wakings.put(None)
        if not self._runs:
            self._runs = True
            self._iphone.begin(self._revive())

    async def _revive(self) -> None:
        """`application(_:willFinishLaunchingWithOptions:)`, with what iOS has kept of its peripheral manager."""
        assert self._address is not None
        self.launch()
        self.revived.put(await self.connect(self._address))
