"""Enhanced ATT bearers (EATT) between a BlueZ phone and the watch: bluetoothd opens them as a client, and its server takes the watch's."""

from __future__ import annotations

import shutil
from pathlib import Path

from rig.process import Program

from kit import uuids, watch
from kit.adapters import PHONE, Adapters
from kit.bluez import STORAGE, Agent, BlueZ, Phone
from kit.checks import check, main
from kit.session import pebble_session, talk
from kit.transport import forward_session

OUT = Path("/out/bearers")
STATE = Path("/tmp/bearers")
#: The kernel leaves enhanced channels out unless it is told.
ENHANCED_CHANNELS = Path("/sys/module/bluetooth/parameters/enable_ecred")
CONFIGURATION = Path("/tmp/bearers.conf")
BEARERS = 3


async def subject() -> None:
    CONFIGURATION.write_text(f"[GATT]\nChannels = {BEARERS}\n", encoding="utf-8")
    ENHANCED_CHANNELS.write_text("Y\n", encoding="utf-8")
    # A bond of an earlier subject is not this watch's.
    shutil.rmtree(STORAGE, ignore_errors=True)
    async with Adapters.plugged_in(OUT), BlueZ.on_system_bus(OUT) as bluez:
        async with watch.running(OUT, STATE, "--enhanced-bearers", str(BEARERS)) as program:
            async with bluez.daemon(OUT, "--configfile", str(CONFIGURATION)):
                await scenario(bluez, program)


async def scenario(bluez: BlueZ, program: Program) -> None:
    phone, agent = Phone(bluez, PHONE), Agent(bluez)
    await agent.register()
    await phone.power_on()
    device = await phone.find(uuids.PAIRING_SERVICE, watch.NAME)
    await device.connect()

    async with check("on an encrypted link each side has its enhanced bearers", vital=True):
        await device.pair()
        await program.wait_for_line(r"enhanced bearer \d+, with an MTU of", watch.SECONDS)

    async with check("a Pebble session over the watch's own PPoGATT service"):
        await pebble_session(device)

    async with check("a Pebble session over the phone's PPoGATT service, which the watch finds"):
        async with forward_session(bluez, phone.adapter) as (transport, session):
            await talk(session)
            assert transport.violations == [], transport.violations


main(subject)
