"""Recovery: each fault between the watch and its phone is noticed, reported with a reason, and ends by itself.

The letters are the rows of the table in Tests/README.md. Times are those of Docs/recovery.md.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from bumble import hci
from bumble.keys import KeyStore, MemoryKeyStore
from libpebble2.protocol.apps import AppRunState, AppRunStateStart
from rig import cairn, companion
from rig import gatt as uuids
from rig.bare_phone import BarePhone
from rig.control import Control
from rig.controllers import Controllers, HostPort, controllers
from rig.footprint import Footprint
from rig.pebble import PebbleSession
from rig.phone import Phone, WatchLink
from rig.ppogatt import PhoneTransport
from rig.process import Program
from rig.scheduling import Stopwatch, Took
from rig.security import Person, pairing
from rig.waiting import within
from watches import ADDRESS, cairn_on

CONNECTION_TIMEOUT = "Connection Timeout (0x08)"
REMOTE_USER_TERMINATED = "Remote User Terminated Connection (0x13)"
HARDWARE_FAILURE = "Hardware Failure (0x03)"

#: The event by which a controller says that it failed (Core 5.4, Vol 4, Part E, 7.7.16), with a code of its own.
HARDWARE_ERROR = bytes.fromhex("04100142")

#: How long after a fault is over the phone has its session again here, where links are lost without a wait.
BACK_SECONDS = 10
#: How long the watch may take from its start until it advertises, if no other program used the machine.
ADVERTISING_SECONDS = 1.0
#: How many commands the controller may be given until then.
START_COMMANDS = 25
ADVERTISING_ENABLE = (hci.HCI_LE_SET_ADVERTISING_ENABLE_COMMAND, hci.HCI_LE_SET_EXTENDED_ADVERTISING_ENABLE_COMMAND)


@dataclass
class Place:
    """A watch, its control socket, and a phone that is bonded with it."""

    room: Controllers
    program: Program
    control: Control
    bonds: KeyStore

    def phone_on(self) -> contextlib.AbstractAsyncContextManager[Phone]:
        return Phone.on(self.room.phone.port, keystore=self.bonds, pairs=pairing(Person()))

    async def last(self) -> dict[str, Any]:
        return (await self.control.status())["lastDisconnection"]

    async def told(self, reason: str) -> dict[str, Any]:
        """The end of a link, as programs, the log and the status tell it."""
        event = await self.control.event("link-ended")
        assert event["reason"] == reason, event
        assert reason in event["text"]
        await self.program.wait_for_line(r"the link to .* ended: " + reason.replace("(", r"\(").replace(")", r"\)"), 5)
        last = await self.last()
        assert last["reason"] == reason
        return last


@contextlib.asynccontextmanager
async def bonded(folder: Path, *options: str) -> AsyncIterator[Place]:
    """A watch and a phone that have paired; the phone is off."""
    state = folder / "state"
    bonds = MemoryKeyStore()
    async with (
        controllers() as room,
        cairn_on(room.watch.address, folder, "--state", str(state), *options) as program,
        Control.on(state / "control.sock") as control,
    ):
        place = Place(room, program, control, bonds)
        async with place.phone_on() as phone:
            watch = await phone.connect(ADDRESS)
            await watch.pair()
            await watch.disconnect()
        await room.phone.detached()
        await control.listen()
        yield place


async def come_back(phone: Phone) -> tuple[WatchLink, PhoneTransport, PebbleSession]:
    """Connects, encrypts by the bond, opens a session, and has an AppMessage echoed: everything that a user sees."""
    watch = await phone.connect(ADDRESS)
    await watch.encrypt()
    database = await watch.discover(attribute_by_attribute=False)
    transport, session = await watch.open_reversed(database)
    # It runs already if only the link was lost, and then nothing happens.
    session.send(AppRunState(data=AppRunStateStart(uuid=companion.ECHO_APP)))
    push = companion.push(1, [companion.string(1, "I am back")])
    session.send(push)
    await companion.expect_ack_and_echo(session, push)
    # The watch has the phone's last acknowledgement too: an app waits for it before it sends again.
    await watch.round_trip()
    return watch, transport, session


async def test_phone_dies_and_starts_again(tmp_path: Path) -> None:
    """a: the phone's power is gone, which is a supervision timeout; then its Bluetooth is switched off and on."""
    async with bonded(tmp_path) as place:
        async with place.phone_on() as phone:
            await come_back(phone)
        await place.room.phone.detached()
        last = await place.told(CONNECTION_TIMEOUT)
        assert last["remedy"] == "advertises for reconnection every 20 ms"
        assert "cause" not in last and "absenceSeconds" not in last
        async with place.phone_on() as phone:
            watch, _, _ = await within(BACK_SECONDS, "the phone to be back", come_back(phone))
            back = await place.control.event("phone-back")
            assert back["phone"] == last["phone"]
            assert (await place.last())["absenceSeconds"] > 0
            await watch.disconnect()
            await place.told(REMOTE_USER_TERMINATED)
            await within(BACK_SECONDS, "the phone to be back", come_back(phone))


async def test_controller_fails(tmp_path: Path) -> None:
    """b: the controller says that it failed, is unplugged and plugged in again, and falls silent; none ends the program."""
    async with bonded(tmp_path) as place, place.phone_on() as phone:
        watch, _, _ = await come_back(phone)
        place.room.watch.on_packet(HARDWARE_ERROR)
        event = await place.control.event("controller-restarting")
        assert event["reason"] == "hardware error 0x42"
        await place.told(HARDWARE_FAILURE)
        await watch.disconnected()
        watch, _, _ = await within(BACK_SECONDS, "the phone to be back", come_back(phone))

        place.room.watch.hang_up()
        await place.control.event("controller-lost")
        await place.told(HARDWARE_FAILURE)
        await watch.disconnected()
        watch, _, _ = await within(BACK_SECONDS, "the phone to be back", come_back(phone))

        # It takes what it is sent, and sends nothing more.
        controller = place.room.watch.controller
        hears = controller.on_packet
        controller.on_packet = lambda packet: None  # type: ignore[method-assign]
        await watch.disconnect()
        event = await place.control.event("controller-restarting", 15)
        assert "no answer to" in event["reason"]
        await place.program.wait_for_line("cannot use the controller .*; trying again in", 15)
        controller.on_packet = hears  # type: ignore[method-assign]
        await within(2 * BACK_SECONDS, "the phone to be back", come_back(phone))


@pytest.mark.slow
async def test_transport_stalls(tmp_path: Path) -> None:
    """c: an app that acknowledges nothing is reset, and then loses the link (watch-over-BLE section 4.7)."""
    async with bonded(tmp_path) as place, place.phone_on() as phone:
        channel = phone.host_ppogatt()
        transport = PhoneTransport(channel)
        session = PebbleSession(transport)
        transport.start()
        watch = await phone.connect(ADDRESS)
        await watch.encrypt()
        await transport.opened()
        await companion.ping(session, 1)
        companion.send_ping(session, 2)
        channel.on_packet = lambda packet: None
        start = time.monotonic()
        assert await watch.disconnected(60) == hci.HCI_REMOTE_USER_TERMINATED_CONNECTION_ERROR
        took = time.monotonic() - start
        # Two acknowledgements that do not come, then four resets that are not answered.
        assert 26 <= took <= 42, took
        event = await place.control.event("session-closed")
        assert event["reason"] == "the other side does not acknowledge"
        # Bumble's controller gives its own host the reason that went to the other side.
        last = await place.told(REMOTE_USER_TERMINATED)
        assert last["cause"] == "the Pebble transport did not work: the other side does not answer resets"
        phone.remove(channel)
        await within(BACK_SECONDS, "the phone to be back", come_back(phone))


async def test_phone_in_a_loop(tmp_path: Path) -> None:
    """d: a phone that connects and drops thirty times makes the watch slow down, and say so; it is taken all the same."""
    async with bonded(tmp_path, "--advertising", "apple") as place, place.phone_on() as phone:
        # Pairing was the first link that ended.
        for _ in range(29):
            watch = await phone.connect(ADDRESS)
            await watch.disconnect()
        await place.control.event("churning")
        (entry,) = (await place.control.status())["advertisements"]
        assert entry["intervalMilliseconds"] == 1022.5
        await within(BACK_SECONDS, "the phone to be back", come_back(phone))


class Witness:
    """What the watch's controller is told from the start of a program: that tells how far the program is."""

    def __init__(self, port: HostPort) -> None:
        self.opcodes: list[int] = []
        #: Set when the program begins to advertise.
        self.advertising = asyncio.Event()
        #: What it took until then, by the stopwatch.
        self.took: Took | None = None
        self._take = port.controller.on_packet
        self._stopwatch = Stopwatch()
        self._program: Program | None = None
        port.controller.on_packet = self._from_watch  # type: ignore[method-assign]

    async def start(self, command: Sequence[str], log: Path) -> Program:
        """Executes the program."""
        self.opcodes = []
        self.advertising.clear()
        self._stopwatch = Stopwatch()
        self._program = await Program.start(command, log)
        return self._program

    def so_far(self) -> Took:
        assert self._program is not None
        return self._stopwatch.took(self._program.process_id)

    def _from_watch(self, packet: bytes) -> None:
        if packet[0] == hci.HCI_COMMAND_PACKET and not self.advertising.is_set():
            opcode = int.from_bytes(packet[1:3], "little")
            self.opcodes.append(opcode)
            # The first parameter of both: whether to enable.
            if opcode in ADVERTISING_ENABLE and packet[4] == 1:
                self.took = self.so_far()
                self.advertising.set()
        self._take(packet)


async def test_killed_while_a_phone_is_connected(tmp_path: Path) -> None:
    """e: kill -9; the controller still has the link when the next watch starts. It advertises, and the phone is back.

    The second is the program's own: while other programs have the processors, elapsed time says nothing about the watch.
    """
    state = tmp_path / "state"
    async with contextlib.AsyncExitStack() as stack:
        room = await stack.enter_async_context(controllers())
        room.watch.outlives_host = True
        witness = Witness(room.watch)
        command = [str(cairn.binary()), "run", "--controller", room.watch.address, "--address", ADDRESS]
        command += ["--state", str(state)]
        program = await witness.start(command, tmp_path / "cairn.log")
        stack.callback(lambda: program.kill())
        await program.wait_for_line("advertises for", cairn.START_SECONDS)
        phone = await stack.enter_async_context(Phone.on(room.phone.port, pairs=pairing(Person())))
        watch = await phone.connect(ADDRESS)
        await watch.pair()
        await watch.disconnect()
        watch, _, _ = await come_back(phone)
        for _ in range(3):
            program.kill()
            await program.wait_for_exit(10)
            await room.watch.detached()
            assert watch.connection in phone.device.connections.values(), "the controller keeps the link"
            program = await witness.start(command, tmp_path / "cairn.log")
            await within(cairn.START_SECONDS, "the watch to advertise", witness.advertising.wait())
            await program.wait_for_line("advertises for reconnection", cairn.START_SECONDS)
            await watch.disconnected()
            watch, _, _ = await within(BACK_SECONDS, "the phone to be back", come_back(phone))
            advertised, back = witness.took, witness.so_far()
            steps = len(witness.opcodes)
            print(f"advertised after {advertised} and {steps} commands, an AppMessage echoed after {back}")
            # Reset ends the link that the controller still had; nothing is asked twice on the way to advertising.
            assert witness.opcodes[0] == hci.HCI_RESET_COMMAND
            assert steps <= START_COMMANDS, [hci.HCI_Command.command_name(opcode) for opcode in witness.opcodes]
            assert advertised is not None and advertised.own < ADVERTISING_SECONDS, advertised
        assert await program.stop() == 0


async def test_cycles_leave_nothing_behind(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """f: links that come and go, each with a session, leave memory, descriptors and threads as they were."""
    warm_up, count = (1000, 10_000) if request.config.getoption("--long") else (100, 300)
    async with controllers(extended=False) as room:
        # The flight recorder's memory fills up, and has a limit of its own.
        arguments = ("--insecure-test-link", "--record-memory", "0")
        async with cairn_on(room.watch.address, tmp_path, *arguments, log_level="error,watch=info") as program:
            async with Phone.on(room.phone.port) as phone:
                watch = await phone.connect(ADDRESS)
                database = await watch.discover(attribute_by_attribute=False)
                await watch.disconnect()
            data = database.characteristic(uuids.REVERSED_SERVICE, uuids.REVERSED_DATA)
            write = database.characteristic(uuids.REVERSED_SERVICE, uuids.REVERSED_WRITE)
            bare = BarePhone(room.watch, data.handle, write.handle)
            for _ in range(warm_up):
                await bare.cycle()
            before = Footprint.of(program.process_id)
            start = time.monotonic()
            for _ in range(count):
                await bare.cycle()
            took = time.monotonic() - start
            after = Footprint.of(program.process_id)
    print(f"{count} cycles in {took:.1f} s\nbefore: {before}\nafter:  {after}")
    assert (after.descriptors, after.threads) == (before.descriptors, before.threads)
    # The allocator keeps some of what it was given back: a page or two for the whole run, and not a byte per link.
    assert after.anonymous_kilobytes - before.anonymous_kilobytes <= 256, (before, after)
