"""What a companion on the phone has to say to the watch."""

from __future__ import annotations

from rig import companion
from rig.pebble import PebbleSession

from . import uuids
from .bluez import Device
from .transport import reversed_session

MESSAGES = 20


async def pebble_session(device: Device) -> None:
    """A session over the watch's own PPoGATT service."""
    data = device.characteristic(uuids.REVERSED_SERVICE, uuids.REVERSED_DATA)
    write = device.characteristic(uuids.REVERSED_SERVICE, uuids.REVERSED_WRITE)
    async with reversed_session(data, write) as (transport, session):
        await talk(session)
        assert transport.violations == [], transport.violations


async def talk(session: PebbleSession) -> None:
    """A companion's negotiation and some messages, each answered."""
    info = await companion.negotiate(session)
    assert info.version.running.version_tag, info
    await companion.launch(session)
    for number, tuples in enumerate(companion.dictionaries(MESSAGES, seed=1, limit=400)):
        await companion.ping(session, cookie=number)
        sent = companion.push(number, tuples)
        session.send(sent)
        await companion.expect_ack_and_echo(session, sent)
