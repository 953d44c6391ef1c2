"""The real firmware's emulator, started by Cairn: `--firmware qemu:`. The emulator is the stand-in program rig/qemu_pebble.py."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import watches
from bumble import hci
from rig import cairn, companion, emulator
from rig.control import Control
from rig.pebble import PebbleSession
from rig.phone import Phone, WatchLink
from rig.process import Program
from rig.sdk import FLASH, VERSION, Sdk
from rig.waiting import within


@pytest.fixture
def sdk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sdk:
    sdk = Sdk(tmp_path / "home")
    sdk.install("emery")
    monkeypatch.setenv("HOME", str(sdk.home))
    for name in ("PEBBLE_QEMU_PATH", "XDG_DATA_HOME", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(name, raising=False)
    return sdk


@dataclass
class Watch:
    program: Program
    control: Control
    phone_port: int

    async def ready(self, *, after: int = 0, kind: str = "emery") -> None:
        await self.program.wait_for_line(f"the firmware answers: v4.35.0, {kind}", 40, after=after)

    @property
    def mark(self) -> int:
        return len(self.program.lines)


@contextlib.asynccontextmanager
async def watch_on(folder: Path, firmware: str = "qemu:emery", *options: str) -> AsyncIterator[Watch]:
    state = folder / "state"
    words = ("--state", str(state), "--firmware", firmware, "--air-port", "0", "--insecure-test-link", *options)
    async with watches.cairn_on("virtual", folder, *words) as program:
        air = await program.wait_for_line(r"hosts at tcp:127\.0\.0\.1:(\d+)", 10)
        async with Control.on(state / "control.sock") as person:
            await person.listen()
            yield Watch(program, person, int(air[1]))


@contextlib.asynccontextmanager
async def session_on(phone: Phone) -> AsyncIterator[tuple[WatchLink, PebbleSession]]:
    link = await phone.connect(watches.ADDRESS)
    await link.exchange_mtu(517)
    transport, session = await link.open_reversed(await link.discover(attribute_by_attribute=False))
    yield link, session
    assert transport.violations == []


async def ended(process: int) -> None:
    """Waits for the end of a process that is not a child of this one."""
    try:
        handle = os.pidfd_open(process)
    except ProcessLookupError:
        return
    over = asyncio.Event()
    loop = asyncio.get_running_loop()
    loop.add_reader(handle, over.set)
    try:
        await within(10, f"process {process} to end", over.wait())
    finally:
        loop.remove_reader(handle)
        os.close(handle)


async def refusal(folder: Path, *words: str) -> tuple[int, str]:
    """How Cairn ends that does not start."""
    command = [str(cairn.binary()), "run", "--controller", "virtual", *words]
    program = await Program.start(command, folder / "refused.log")
    return await program.wait_for_exit(30), program.log


async def test_the_newest_sdk_is_found(sdk: Sdk, tmp_path: Path) -> None:
    """A phone talks to it; its log is in Cairn's; its flash is what the SDK packed, and what it has written since."""
    sdk.install("emery", "4.9.77")
    async with watch_on(tmp_path) as watch:
        await watch.ready()
        await watch.program.wait_for_line(r"info +firmware.* main\.c:100 boot 1", 10)
        async with Phone.on(watch.phone_port) as phone, session_on(phone) as (_, session):
            info = await companion.negotiate(session)
            assert info.version.running.version_tag == "v4.35.0"
            await companion.ping(session, 7)
        (start,) = sdk.starts
        folder = tmp_path / "state" / "firmware" / f"emery-{VERSION}"
        assert start["folder"] == str(folder)
        assert (folder.stat().st_mode & 0o777, (folder / "flash.bin").stat().st_mode & 0o777) == (0o700, 0o600)
        assert all((folder / name).stat().st_mode & 0o077 == 0 for name in ("pebble", "console"))
        assert (folder / "flash.bin").read_bytes() == b"\x01" + FLASH[1:]
    await ended(start["pid"])
    # The next run finds the watch as it was.
    async with watch_on(tmp_path) as watch:
        await watch.ready()
        await watch.program.wait_for_line("boot 2", 10)


@pytest.mark.parametrize("board", ["gabbro", "chalk", "flint"])
async def test_every_board(sdk: Sdk, tmp_path: Path, board: str) -> None:
    """By the path of its images, too. Chalk's machine takes its flash as no drive of QEMU's older kind."""
    sdk.install(board)
    async with watch_on(tmp_path, f"qemu:{sdk.images(board)}") as watch:
        await watch.ready(kind=board)


async def test_each_phone_gets_a_fresh_session(sdk: Sdk, tmp_path: Path) -> None:
    """By the console; the upload of the phone before is forgotten with its session."""
    async with watch_on(tmp_path) as watch:
        await watch.ready()
        await watch.program.wait_for_line("the firmware's console takes commands", 10)
        await watch.program.wait_for_line("session 1 of this emulator begins", 10)
        async with Phone.on(watch.phone_port) as phone:
            for number in (1, 2, 3):
                mark = watch.mark
                async with session_on(phone) as (link, session):
                    await companion.introduce(session)
                    session.send_raw(emulator.PUT_BYTES, bytes.fromhex("010000020006006c616e6700"))
                    answer = await session.inbox.take(5, "the upload", lambda each: each.endpoint == emulator.PUT_BYTES)
                    assert answer.payload[0] == 1
                    await link.disconnect()
                await watch.program.wait_for_line(f"session {number + 1} of this emulator begins", 10, after=mark)
        assert "violations" not in watch.program.log


async def test_without_a_console_a_ping_stands_between_two_phones(sdk: Sdk, tmp_path: Path) -> None:
    sdk.order(console=False)
    async with watch_on(tmp_path) as watch:
        await watch.ready()
        async with Phone.on(watch.phone_port) as phone:
            for number in range(2):
                async with session_on(phone) as (link, session):
                    await companion.introduce(session)
                    await companion.ping(session, number)
                    await link.disconnect()
    assert len(sdk.starts) == 1


async def test_a_firmware_in_the_shadow(sdk: Sdk, tmp_path: Path) -> None:
    """The same for a firmware that the watch is compared with: it is started, and begins a fresh session after each phone."""
    async with watch_on(tmp_path, "qemu:emery", "--firmware-role", "mirrors") as watch:
        await watch.ready()
        await watch.program.wait_for_line("the firmware's console takes commands", 10)
        async with Phone.on(watch.phone_port) as phone:
            for number in (1, 2):
                mark = watch.mark
                async with session_on(phone) as (link, session):
                    await companion.introduce(session)
                    await companion.ping(session, number)
                    await link.disconnect()
                await watch.program.wait_for_line(f"session {number + 1} of this emulator begins", 10, after=mark)
        tally = (await watch.control.status())["mirror"]
        assert tally["compared"] > 2 and tally["lost"] == 0
    assert len(sdk.starts) == 1


async def test_a_firmware_that_crashes_starts_again_by_itself(sdk: Sdk, tmp_path: Path) -> None:
    """In an emulator that goes on, whose port stays open: the phone's link ends as with a watch."""
    async with watch_on(tmp_path) as watch:
        await watch.ready()
        await watch.program.wait_for_line("the firmware's console takes commands", 10)
        async with Phone.on(watch.phone_port) as phone:
            async with session_on(phone) as (link, session):
                await companion.introduce(session)
                # A firmware that starts is not spoken to: what Cairn has to say after a beginning, such as its wish for a picture, is over.
                await asyncio.sleep(2)
                mark = watch.mark
                os.kill(sdk.starts[-1]["pid"], signal.SIGUSR2)
                assert await link.disconnected() == hci.HCI_REMOTE_DEVICE_TERMINATED_CONNECTION_DUE_TO_POWER_OFF_ERROR
            await watch.ready(after=mark)
            async with session_on(phone) as (_, session):
                await companion.ping(session, 2)
    assert len(sdk.starts) == 1


@pytest.mark.parametrize("way", ["crash", "hang"])
async def test_an_emulator_that_fails_is_started_again(sdk: Sdk, tmp_path: Path, way: str) -> None:
    """One that crashes, and one whose firmware answers nothing any more; both with a phone there."""
    async with watch_on(tmp_path) as watch:
        await watch.ready()
        async with Phone.on(watch.phone_port) as phone:
            async with session_on(phone) as (link, session):
                await companion.introduce(session)
                mark = watch.mark
                os.kill(sdk.starts[-1]["pid"], signal.SIGSEGV if way == "crash" else signal.SIGUSR1)
                reason = await link.disconnected(30)
                assert reason == hci.HCI_REMOTE_DEVICE_TERMINATED_CONNECTION_DUE_TO_POWER_OFF_ERROR
            why = "qemu-pebble was ended by signal 11" if way == "crash" else "the firmware hangs: its emulator is started"
            await watch.program.wait_for_line(why, 10, after=mark)
            await watch.ready(after=mark)
            async with session_on(phone) as (_, session):
                await companion.ping(session, 2)
    assert len(sdk.starts) == 2


async def test_an_emulator_that_cannot_start_says_why_once(sdk: Sdk, tmp_path: Path) -> None:
    """And is tried again, less and less often, until it can."""
    sdk.order(refuse="could not initialise the screen")
    async with watch_on(tmp_path) as watch:
        await watch.program.wait_for_line("warning.*the emulator says: qemu-system-arm: could not initialise the screen", 10)
        await watch.program.wait_for_line("error.*qemu-pebble ended with status 1; starting it again", 10)
        mark = watch.mark
        await watch.program.wait_for_line("debug.*ended with status 1; starting it again", 10, after=mark)
        await watch.program.wait_for_line("debug.*ended with status 1; starting it again", 10, after=watch.mark)
        sdk.order()
        await watch.ready()
        shown = [line for line in watch.program.lines if "firmware" in line and ("error" in line or "warning" in line)]
        assert len([line for line in shown if "initialise" in line]) == 1
        assert len([line for line in shown if "status 1" in line]) == 1


async def test_the_emulator_ends_with_cairn(sdk: Sdk, tmp_path: Path) -> None:
    """Even if Cairn is killed; and the next Cairn starts its own, on the same flash."""
    words = ("--address", watches.ADDRESS, "--state", str(tmp_path / "state"), "--firmware", "qemu:emery")
    program = await Program.start(
        [str(cairn.binary()), "run", "--controller", "virtual", *words], tmp_path / "killed.log"
    )
    try:
        await program.wait_for_line("the firmware answers", 40)
    finally:
        program.kill()
    await ended(sdk.starts[-1]["pid"])
    async with watch_on(tmp_path) as watch:
        await watch.ready()
        await watch.program.wait_for_line("boot 2", 10)


async def test_several_side_by_side(sdk: Sdk, tmp_path: Path) -> None:
    """Each with a state directory of its own; a second Cairn in the same one is refused."""
    folders = [tmp_path / name for name in ("one", "two")]
    for folder in folders:
        folder.mkdir()
    async with watch_on(folders[0]) as first, watch_on(folders[1]) as second:
        await first.ready()
        await second.ready()
        status, log = await refusal(tmp_path, "--state", str(folders[0] / "state"), "--firmware", "qemu:emery")
        assert (status, "a watch runs already with the state directory" in log) == (73, True)
    assert len({start["pid"] for start in sdk.starts}) == len({start["folder"] for start in sdk.starts}) == 2


async def test_a_flash_is_whole_or_not_there(sdk: Sdk, tmp_path: Path) -> None:
    """What was not finished is begun again; what is damaged is refused, and nothing is left that looks like a flash."""
    folder = tmp_path / "state" / "firmware" / f"emery-{VERSION}"
    folder.mkdir(parents=True, mode=0o700)
    (folder / "flash.bin.new").write_bytes(b"half")
    async with watch_on(tmp_path) as watch:
        await watch.ready()
    assert not (folder / "flash.bin.new").exists()
    (folder / "flash.bin").unlink()
    packed = sdk.images("emery") / "qemu_spi_flash.bin.bz2"
    packed.write_bytes(packed.read_bytes()[:-9])
    status, log = await refusal(tmp_path, "--state", str(tmp_path / "state"), "--firmware", "qemu:emery")
    assert status == 74 and "it ends too soon" in log and "install the SDK again" in log
    assert sorted(path.name for path in folder.iterdir() if path.name.startswith("flash")) == []


async def test_what_is_missing_is_named(sdk: Sdk, tmp_path: Path) -> None:
    state = ("--state", str(tmp_path / "state"))
    status, log = await refusal(tmp_path, *state, "--firmware", "qemu:gabbro")
    assert status == 69 and "no SDK with an emulator for gabbro is installed" in log and "pebble sdk install" in log
    status, log = await refusal(tmp_path, "--firmware", "qemu:emery")
    assert status == 64 and "keeps the watch's flash in the state directory" in log
    status, log = await refusal(tmp_path, *state, "--firmware", "qemu:emery", "--firmware-console", "tcp:127.0.0.1:1")
    assert status == 64 and "--firmware-console needs an emulator that runs already: add --firmware tcp:HOST:PORT" in log
    status, log = await refusal(tmp_path, "--firmware-console", "tcp:127.0.0.1:1")
    assert status == 64 and "--firmware-console needs an emulator that runs already" in log
    sdk.program().unlink()
    status, log = await refusal(tmp_path, *state, "--firmware", "qemu:emery")
    assert status == 69 and "toolchain/bin/qemu-pebble or qemu-pebble in PATH" in log
    (sdk.images("emery") / "qemu_spi_flash.bin.bz2").unlink()
    status, log = await refusal(tmp_path, *state, "--firmware", "qemu:emery")
    assert status == 69 and "there is no flash for the emulator" in log
