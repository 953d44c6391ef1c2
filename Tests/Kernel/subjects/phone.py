"""A BlueZ phone: bluetoothd on one adapter, and the watch on the user channel of the other."""

from __future__ import annotations

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from pathlib import Path

from rig.control import Control
from rig.pebble import PebbleSession
from rig.process import Program
from rig.waiting import within

from kit import uuids, watch
from kit.adapters import PHONE, WATCH, Adapters
from kit.bluez import ADAPTER, BATTERY, Agent, BlueZ, Device, Phone
from kit.channel import Channel, Stream
from kit.checks import RIG, check, main
from kit.session import pebble_session, talk
from kit.transport import META, forward_session

OUT = Path("/out/phone")
STATE = Path("/tmp/watch")
#: Connectivity Status, first byte (watch-over-BLE section 3.4).
CONNECTED_FRESH, CONNECTED_BONDED_ENCRYPTED = 0x11, 0x1F
OPTIONS = ("--loopback-streams", "1", "--service-changed-delay", "0", "--controller-lost", "retry")
#: The watch's adapter, as bluetoothd names it when it has it.
HELD = f"/org/bluez/{WATCH}"
#: How much goes through the channel, each way: a second or two on an air that takes its time.
CHANNEL_BYTES = 40_000


class Room:
    """Everything that is switched on, so that each piece can be switched off and on again."""

    def __init__(self, adapters: Adapters, bluez: BlueZ) -> None:
        self.adapters = adapters
        self.bluez = bluez
        self.phone = Phone(bluez, PHONE)
        self.agent = Agent(bluez)
        self.device: Device
        self.watch: Program
        self._daemon = contextlib.AsyncExitStack()
        self._recordings = 0

    async def start_watch(self, *options: str) -> None:
        # Each start has a recording of its own, which `run` has replayed outside of the guest.
        self._recordings += 1
        recording = OUT / f"watch-{self._recordings}.cairnrec"
        self.watch = await watch.start(OUT, STATE, "--record", str(recording), *OPTIONS, *options)

    async def restart_watch(self, *options: str) -> None:
        await self.release()
        await self.start_watch(*options)

    async def release(self) -> None:
        """What Cairn tells a person to do when bluetoothd has its adapter, as it takes each adapter without a user."""
        await self.bluez.until("bluetoothd to take the watch's adapter", lambda: self.bluez.get(HELD, ADAPTER, "Powered"))
        await self.bluez.set(HELD, ADAPTER, "Powered", "b", False)
        await self.bluez.until("bluetoothd to switch it off", lambda: not self.bluez.get(HELD, ADAPTER, "Powered"))

    async def stop_watch(self) -> None:
        status = await self.watch.stop(watch.SECONDS)
        assert status == 0, f"cairn ended with status {status}"

    async def start_phone(self) -> None:
        await self._daemon.enter_async_context(self.bluez.daemon(OUT))
        await self.agent.register()
        await self.phone.power_on()

    async def stop_phone(self) -> None:
        await self._daemon.aclose()

    async def connectivity(self) -> int:
        return (await self.device.characteristic(uuids.PAIRING_SERVICE, uuids.CONNECTIVITY).read())[0]

    async def return_of_the_phone(self) -> None:
        """The phone connects with what it remembers: encrypted, and the person is not asked."""
        questions = len(self.agent.asked)
        await self.device.connect()
        found = await self.connectivity()
        assert found == CONNECTED_BONDED_ENCRYPTED, f"Connectivity is 0x{found:02X}"
        assert self.device.get("Bonded"), "the phone has lost its bond"
        assert len(self.agent.asked) == questions, f"the phone was asked {self.agent.asked[questions:]}"

    async def open_channel(self, service: str) -> Channel:
        """A channel to the PSM that a service of the watch publishes."""
        address = self.bluez.get(self.phone.adapter, ADAPTER, "Address")
        return await asyncio.to_thread(Channel, address, watch.ADDRESS, await self.psm(service))

    async def psm(self, service: str) -> int:
        return int.from_bytes(await self.device.characteristic(service, uuids.PUBLISHED_PSM).read(), "little")

    @contextlib.asynccontextmanager
    async def control(self) -> AsyncIterator[Control]:
        async with Control.on(STATE / "control.sock") as control:
            yield control

    async def close(self) -> None:
        await self._daemon.aclose()
        self.watch.kill()


async def subject() -> None:
    async with Adapters.plugged_in(OUT) as adapters, BlueZ.on_system_bus(OUT) as bluez:
        room = Room(adapters, bluez)
        async with check("the watch starts on an adapter's user channel and advertises", vital=True):
            await room.start_watch()
        try:
            await scenario(room)
        finally:
            await room.close()


async def scenario(room: Room) -> None:
    bluez, phone = room.bluez, room.phone

    async with check("bluetoothd leaves the watch's adapter alone", vital=True):
        await room.start_phone()
        assert bluez.having(ADAPTER) == [phone.adapter], bluez.having(ADAPTER)
        assert room.watch.is_running

    async with check("a scan finds the watch by its service, with its name", vital=True):
        device = room.device = await phone.find(uuids.PAIRING_SERVICE, watch.NAME)
        assert device.get("Address") == watch.ADDRESS, device.get("Address")
        assert device.get("AddressType") == "random"

    async with check("the phone connects and discovers every service", vital=True):
        await device.connect()
        services = set(device.services())
        wanted = {uuids.PAIRING_SERVICE, uuids.DEVICE_INFORMATION, uuids.REVERSED_SERVICE, uuids.STREAM_SERVICE}
        assert wanted <= services, f"missing: {wanted - services}"
        connectivity = device.characteristic(uuids.PAIRING_SERVICE, uuids.CONNECTIVITY)
        assert connectivity.flags == {"read", "notify"}, connectivity.flags

    async with check("an unpaired phone reads what is open to all"):
        maker = await device.characteristic(uuids.DEVICE_INFORMATION, uuids.MANUFACTURER_NAME).read()
        assert maker == b"Core Devices LLC", maker
        found = await room.connectivity()
        assert found == CONNECTED_FRESH, f"Connectivity is 0x{found:02X}"

    async with check("it pairs with LE Secure Connections, and Connectivity is notified", vital=True):
        async with connectivity.notifying() as values:
            async with room.control() as control:
                await control.listen()
                await device.pair()
            value = b""
            while not value or value[0] != CONNECTED_BONDED_ENCRYPTED:
                value = await within(watch.SECONDS, "Connectivity 0x1F", values.get())
        keys = await device.stored_keys()
        # A key of Secure Connections has no diversifier and no random number, and is both sides' key.
        assert keys and all("EDiv=0\nRand=0" in key and "EncSize=16" in key for key in keys), keys
        assert len({key.partition("]")[2] for key in keys}) == 1, f"a key for each side, as in legacy pairing: {keys}"
        assert [question for question, _ in room.agent.asked] == ["RequestConfirmation"], room.agent.asked

    async with check("the battery's charge is read, and notified when it changes"):
        await bluez.until("the battery's charge", lambda: bluez.get(device.path, BATTERY, "Percentage"))
        async with room.control() as control:
            for percent in (47, 93):
                await control.ask("battery", percent=percent)
                await bluez.until(f"{percent} %", lambda p=percent: bluez.get(device.path, BATTERY, "Percentage") == p)

    async with check("a Pebble session over the watch's own PPoGATT service, libpebble2's messages"):
        await pebble_session(device)

    async with check("a Pebble session over the phone's PPoGATT service, which the watch is told of and finds"):
        async with forward_session(bluez, phone.adapter) as (transport, session):
            await talk(session)
            assert transport.violations == [], transport.violations

    async with check("an L2CAP channel from a kernel socket to the published PSM echoes every byte"):
        channel = await room.open_channel(uuids.LOOPBACK_SERVICE)
        try:
            sent = random.Random(1).randbytes(CHANNEL_BYTES)
            answer = await asyncio.to_thread(channel.echo, sent)
        finally:
            channel.close()
        assert answer == sent, f"{len(answer)} bytes came back, and other ones than the {len(sent)} that went"
        assert device.get("Connected"), "the link did not outlive the channel"

    async with check("a Pebble session over the stream, an L2CAP channel from a kernel socket"):
        stream = Stream(await room.open_channel(uuids.STREAM_SERVICE), META)
        try:
            await talk(PebbleSession(stream))
        finally:
            stream.close()

    async with check("the stream is withdrawn and published again: the phone is told (Service Changed), and finds the new PSM"):
        services = set(device.services())
        before = await room.psm(uuids.STREAM_SERVICE)
        async with room.control() as control:
            await control.ask("withdraw", stream="pebble")
            await bluez.until("its service to go", lambda: uuids.STREAM_SERVICE not in device.services())
            await control.ask("publish", stream="pebble")
            await bluez.until("its PSM to return", lambda: device.find(uuids.STREAM_SERVICE, uuids.PUBLISHED_PSM))
        await bluez.until("no other service to be missing", lambda: set(device.services()) == services)
        assert await room.psm(uuids.STREAM_SERVICE) != before

    async with check("bluetoothd restarts: the phone returns, encrypts and nobody pairs"):
        await room.stop_phone()
        await room.start_phone()
        assert bluez.having(ADAPTER) == [phone.adapter], bluez.having(ADAPTER)
        await room.return_of_the_phone()

    async with check("the watch restarts: the phone returns, encrypts and nobody pairs"):
        await room.stop_watch()
        await device.until_disconnected()
        await room.restart_watch()
        await room.return_of_the_phone()

    async with check("a service less after a restart: the phone notices, forgets it and keeps the others"):
        before = set(device.services())
        await room.stop_watch()
        await device.until_disconnected()
        await room.restart_watch("--loopback-streams", "0")
        await room.return_of_the_phone()
        await bluez.until("the loopback service to go", lambda: uuids.LOOPBACK_SERVICE not in device.services())
        await bluez.until("the other services", lambda: set(device.services()) == before - {uuids.LOOPBACK_SERVICE})
        await pebble_session(device)

    async with check("the watch is killed while the phone is connected: it is back on the air, and the phone with it"):
        room.watch.kill()
        await room.watch.wait_for_exit(watch.SECONDS)
        if RIG == "btvirt":
            # No supervision timeout there: a phone would never learn that the watch is gone.
            await device.disconnect()
        await room.restart_watch()
        await device.until_disconnected()
        await room.return_of_the_phone()
        await pebble_session(device)

    async with check("both adapters are unplugged and plugged in again: the watch is back on the air, and the phone with it"):
        lines = len(room.watch.lines)
        await room.adapters.unplug()
        await bluez.until("the phone's adapter to be gone", lambda: not bluez.having(ADAPTER))
        await room.adapters.plug_in()
        # The watch tries repeatedly, and either it or bluetoothd is the first at its adapter.
        advertises = asyncio.ensure_future(room.watch.wait_for_line("advertises for", watch.SECONDS, after=lines))
        released = asyncio.ensure_future(room.release())
        await asyncio.wait({advertises, released}, return_when=asyncio.FIRST_COMPLETED)
        await advertises
        released.cancel()
        await phone.power_on()
        assert bluez.having(ADAPTER) == [phone.adapter], bluez.having(ADAPTER)
        await room.return_of_the_phone()

    async with check("the watch ends when it is asked to, and the phone is disconnected"):
        await room.stop_watch()
        await device.until_disconnected()


main(subject)
