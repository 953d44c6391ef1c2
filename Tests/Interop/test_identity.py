"""Who a watch is: each state directory is a watch of its own, and two equal ones are reported."""

from __future__ import annotations

import contextlib
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from bumble.hci import Address
from rig import cairn
from rig.control import Control
from rig.phone import Phone
from rig.process import Program
from test_command_line import USAGE, run
from watches import ADDRESS

#: What follows from the address.
NAME = re.compile("Pebble ([0-9A-F]{4})")


@contextlib.asynccontextmanager
async def watch(folder: Path, *options: str, controller: str = "virtual") -> AsyncIterator[tuple[Program, dict]]:
    """A watch, started without an address unless the options have one, and its status."""
    folder.mkdir(exist_ok=True)
    control = folder / "control"
    arguments = ("run", "--controller", controller, "--control", str(control), *options)
    async with cairn.running(*arguments, log=folder / "cairn.log") as program:
        await program.wait_for_line("advertises for", cairn.START_SECONDS)
        async with Control.on(control) as person:
            yield program, await person.status()


async def identity(folder: Path, *options: str) -> tuple[str, str, str]:
    """Address, name and serial number, which belong together."""
    async with watch(folder, *options) as (_, status):
        address, name, serial = status["address"], status["name"], status["serialNumber"]
    digits = address.replace(":", "")[-4:]
    assert name == f"Pebble {digits}" and NAME.fullmatch(name)
    assert serial == f"CAIRN000{digits}"
    assert Address(address, Address.RANDOM_DEVICE_ADDRESS).is_static
    return address, name, serial


@pytest.mark.parametrize("options", [(), ("--no-bonding",), ("--insecure-test-link",)])
async def test_each_state_directory_is_a_watch_of_its_own(tmp_path: Path, options: tuple[str, ...]) -> None:
    """Address, name and serial number are made at the first start and kept, by a watch that does not bond as well."""
    states = [("--state", str(tmp_path / f"state {number}"), *options) for number in range(2)]
    first = [await identity(tmp_path / "one", *state) for state in states]
    assert len({part for watch in first for part in watch}) == 6
    assert first == [await identity(tmp_path / "two", *state) for state in states]


async def test_without_a_directory_each_start_is_another_watch(tmp_path: Path) -> None:
    assert len({await identity(tmp_path / "nowhere") for _ in range(3)}) == 3


async def test_what_is_said_wins(tmp_path: Path) -> None:
    """An address on the command line is the new directory's from then on; another one is refused; a name is only a name."""
    state = ("--state", str(tmp_path / "state"))
    assert (await identity(tmp_path / "said", *state, "--address", ADDRESS))[0] == ADDRESS
    assert (await identity(tmp_path / "kept", *state))[0] == ADDRESS
    refusal = run("run", "--controller", "virtual", *state, "--address", "C0:00:00:00:00:01")
    assert refusal.returncode == USAGE
    assert ADDRESS in refusal.stderr and "C0:00:00:00:00:01" in refusal.stderr
    async with watch(tmp_path / "named", *state, "--name", "Lab") as (_, status):
        assert (status["name"], status["address"]) == ("Lab", ADDRESS)
    assert (await identity(tmp_path / "named", *state))[0] == ADDRESS


async def test_a_phone_sees_two(tmp_path: Path) -> None:
    """Two watches on one radio, each from an empty directory: a phone sees two addresses with their names; no warning."""
    log = tmp_path / "air.log"
    async with cairn.running("air", "--port", "0", log=log) as air:
        port = int((await air.wait_for_line(r"hosts at tcp:127\.0\.0\.1:(\d+)", 10))[1])
        controller = f"tcp:127.0.0.1:{port}"
        async with (
            watch(tmp_path / "a", "--state", str(tmp_path / "a"), controller=controller) as (_, one),
            watch(tmp_path / "b", "--state", str(tmp_path / "b"), controller=controller) as (_, other),
            Phone.on(port) as phone,
        ):
            assert one["address"] != other["address"]
            for status in (one, other):
                assert status["name"].encode() in (await phone.scan(status["address"])).data
        assert "both have the address" not in air.log


@pytest.mark.parametrize("host", ["air", "run"])
async def test_a_duplicate_is_told_of(tmp_path: Path, host: str) -> None:
    """Two with one address on one radio: its log names the address and both, once, whichever of them keeps the radio."""
    async with contextlib.AsyncExitStack() as stack:
        if host == "air":
            air = await stack.enter_async_context(cairn.running("air", "--port", "0", log=tmp_path / "air.log"))
        else:
            air, _ = await stack.enter_async_context(watch(tmp_path / "host", "--air-port", "0", "--address", ADDRESS))
        controller = f"tcp:127.0.0.1:{(await air.wait_for_line(r'hosts at tcp:127.0.0.1:([0-9]+)', 10))[1]}"
        for number in range(2 if host == "air" else 1):
            folder = tmp_path / f"guest {number}"
            await stack.enter_async_context(watch(folder, "--address", ADDRESS, controller=controller))
        line = (await air.wait_for_line(f"both have the address {ADDRESS}", 10)).string
        second = "guest 1 (controller 0)" if host == "air" else "this process's own host (controller 0)"
        assert f"guest {2 if host == 'air' else 1} (controller 1) and {second}" in line and "--address" in line
        assert air.log.count(f"both have the address {ADDRESS}") == 1
