"""The watch and the adapters of this kernel: who has one, who gets it, what is lost, and what comes back."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import signal
import socket
from pathlib import Path

from rig.process import Program
from rig.waiting import within

from kit import watch
from kit.adapters import PHONE, WATCH, Adapters, present
from kit.bluez import ADAPTER, BlueZ, Phone
from kit.checks import RIG, Skipped, check, main
from kit.flood import Arrivals, FloodingController, until_kept

OUT = Path("/out/controllers")
NOBODY = ["setpriv", "--reuid", "65534", "--clear-groups"]
SECONDS = 60
#: bluetooth/hci.h
AF_BLUETOOTH, BTPROTO_HCI, HCIDEVUP, HCIDEVDOWN = 31, 1, 0x400448C9, 0x400448CA
#: sysexits(3head)
UNAVAILABLE, NOT_PERMITTED = 69, 77
#: To a watch that runs, as fast as they can be sent, so that it is always behind, but by less than the kernel keeps for it. A
#: full radio brings some 2000 packets a second.
PACKETS, AHEAD = 100_000, 40_000
#: To a watch that stands still: nearly as many as the kernel keeps, and more.
STALLED_PACKETS, TOO_MANY = 80_000, 100_000
#: What the watch has the kernel keep for it, in bytes.
KEPT = 64 << 20


def switch(adapter: str, *, on: bool) -> None:
    """As `hciconfig up` and `hciconfig down` do it: by ioctl, without opening a channel."""
    with socket.socket(AF_BLUETOOTH, socket.SOCK_RAW, BTPROTO_HCI) as control:
        fcntl.ioctl(control, HCIDEVUP if on else HCIDEVDOWN, int(adapter.removeprefix("hci")))


async def ended(name: str, *command: str) -> tuple[int, str]:
    """The status that a program ends with, and what it prints."""
    program = await Program.start(command, OUT / f"{name}.log")
    try:
        return await program.wait_for_exit(SECONDS), program.log
    finally:
        program.kill()


async def listed() -> dict[str, dict]:
    """What `cairn adapters` says, by name."""
    _, text = await ended("adapters", "cairn", "adapters", "--json")
    return {each["name"]: each for each in json.loads(text)}


def settled(adapters: dict[str, dict], *names: str) -> bool:
    return all(name in adapters and "version" in adapters[name] for name in names)


async def until_settled(*names: str) -> dict[str, dict]:
    """Returns when the kernel has set these adapters up."""

    async def look() -> dict[str, dict]:
        while not settled(adapters := await listed(), *names):
            await asyncio.sleep(0.1)
        return adapters

    return await within(SECONDS, f"{names} to be set up", look())


async def without_privileges() -> None:
    async with check("anyone sees the adapters, and is told what is missing to use one"):
        status, text = await ended("nobody", *NOBODY, "cairn", "run", "--controller", WATCH)
        assert status == NOT_PERMITTED, text
        assert "CAP_NET_ADMIN is missing" in text and "setcap" in text, text
        status, text = await ended("nobody", *NOBODY, "cairn", "adapters")
        assert status == 0 and WATCH in text and PHONE in text, text


async def names_who_has_it(bluez: BlueZ) -> None:
    async with bluez.daemon(OUT) as daemon:
        taken = Phone(bluez, WATCH)
        await taken.power_on()
        async with check("an adapter that bluetoothd has is not taken, and who has it is said"):
            status, text = await ended("held", "cairn", "run", "--controller", WATCH)
            assert status == UNAVAILABLE, text
            assert f"{WATCH} is in use by bluetoothd (process {daemon.process_id})" in text, text
            assert "bluetoothctl power off" in text, text
            adapter = (await listed())[WATCH]
            assert adapter["use"] == "kernel" and adapter["users"][0]["process"] == daemon.process_id, adapter
        async with check("switched off there, it can be had, and bluetoothd gets it back in order"):
            await bluez.set(taken.adapter, ADAPTER, "Powered", "b", False)
            async with watch.running(OUT, Path("/tmp/held")) as program:
                await bluez.until("bluetoothd to lose it", lambda: taken.adapter not in bluez.objects)
                adapter = (await listed())[WATCH]
                assert adapter["use"] == "exclusive" and adapter["users"][0]["name"] == "cairn", adapter
                status, text = await ended("second", "cairn", "run", "--controller", WATCH)
                assert status == UNAVAILABLE and f"process {adapter['users'][0]['process']}" in text, text
                assert program.is_running
            await taken.power_on()
            await bluez.call(taken.adapter, ADAPTER, "StartDiscovery")
            await bluez.until("it to scan", lambda: bluez.get(taken.adapter, ADAPTER, "Discovering"))
            await bluez.call(taken.adapter, ADAPTER, "StopDiscovery")


async def switched_on_for_nobody() -> None:
    async with check("an adapter that is on, for nobody, is taken and left as it was"):
        switch(WATCH, on=True)
        assert (await listed())[WATCH]["up"]
        async with watch.running(OUT, Path("/tmp/up")):
            pass
        adapter = (await listed())[WATCH]
        assert adapter["up"] and adapter["use"] == "kernel", adapter
        switch(WATCH, on=False)


async def blocked_radio() -> None:
    async with check("a radio that is blocked in software is unblocked"):
        switches = list(Path(f"/sys/class/bluetooth/{WATCH}").glob("rfkill*/soft"))
        if not switches:
            raise Skipped("this kernel gives adapters no rfkill switch")
        switches[0].write_text("1")
        assert (await listed())[WATCH]["blocked"] == "soft"
        async with watch.running(OUT, Path("/tmp/blocked")):
            assert switches[0].read_text().strip() == "0"


async def known_by_its_address() -> None:
    """Only on Cairn's own air, where an adapter can come back under another name."""
    command = ["cairn", "air", "--vhci"]
    async with check("an adapter that comes back under another name is known by its address"):
        first = await Program.start([*command, "1", "--seed", "1"], OUT / "air.log")
        line = await first.wait_for_line(r"hci(\d+) (00:A1:\S+)", SECONDS)
        await until_settled(f"hci{line[1]}")
        program = await watch.start(OUT, Path("/tmp/replugged"), on=f"hci{line[1]}")
        other = None
        try:
            assert await first.stop(SECONDS) == 0
            await program.wait_for_line("lost the controller at .*: it was unplugged", SECONDS)
            other = await Program.start([*command, "1", "--seed", "2"], OUT / "other.log")
            taken = await other.wait_for_line(r"hci(\d+) (00:A1:\S+)", SECONDS)
            assert taken[1] == line[1] and taken[2] != line[2], "the other one has the first one's name"
            seen = len(program.lines)
            first = await Program.start([*command, "1", "--seed", "1"], OUT / "air.log")
            again = await first.wait_for_line(r"hci(\d+) (00:A1:\S+)", SECONDS)
            assert again[2] == line[2] and again[1] != line[1]
            await program.wait_for_line("advertises for", SECONDS, after=seen)
            adapters = await listed()
            assert adapters[f"hci{again[1]}"]["use"] == "exclusive", adapters
            assert adapters[f"hci{line[1]}"]["use"] == "free", adapters
            assert await program.stop(SECONDS) == 0
        finally:
            program.kill()
            for each in (first, other):
                if each:
                    each.kill()
                    await each.wait_for_exit(SECONDS)


async def flood() -> None:
    controller = FloodingController()
    # In memory: what the guest writes to /out goes through the emulator.
    capture = Path("/tmp/flood.btsnoop")
    try:
        name = await controller.until_named()
        await until_settled(name)
        program = await watch.start(OUT, Path("/tmp/flood"), "--capture", str(capture), "--log-level", "info", on=name)
        resets = controller.resets
        arrivals = Arrivals(capture)
        try:
            async with check(f"of {PACKETS} packets none is lost"):
                await controller.send_steadily(PACKETS, arrivals, AHEAD)
                await arrivals.until(PACKETS)
                assert controller.resets == resets, "the controller was started again for no reason"
            async with check(f"none of {STALLED_PACKETS} is lost while the watch stands still"):
                os.kill(program.process_id, signal.SIGSTOP)
                controller.send(PACKETS, STALLED_PACKETS)
                await until_kept()
                os.kill(program.process_id, signal.SIGCONT)
                await arrivals.until(PACKETS + STALLED_PACKETS)
                assert controller.resets == resets, "the controller was started again for no reason"
            async with check("what the kernel cannot keep is noticed, and the watch starts its controller again"):
                os.kill(program.process_id, signal.SIGSTOP)
                controller.send(PACKETS + STALLED_PACKETS, TOO_MANY)
                await until_kept(KEPT)
                seen = len(program.lines)
                os.kill(program.process_id, signal.SIGCONT)
                line = await program.wait_for_line(r"the kernel has dropped (\d+) packets", SECONDS, after=seen)
                assert 0 < int(line[1]) < TOO_MANY, line[0]
                print(f"of {TOO_MANY} packets the kernel kept {TOO_MANY - int(line[1])}")
                await controller.until_reset(resets + 1, SECONDS)
                await program.wait_for_line("advertises for", SECONDS, after=seen)
            async with check("a controller that reports a hardware error is reset and set up again"):
                resets, seen = controller.resets, len(program.lines)
                controller.fail()
                await controller.until_reset(resets + 1, SECONDS)
                await program.wait_for_line("advertises for", SECONDS, after=seen)
            async with check("the controller is left silent: its last command is Reset"):
                resets = controller.resets
                assert await program.stop(SECONDS) == 0
                await controller.until_reset(resets + 1, SECONDS)
        finally:
            program.kill()
            await program.wait_for_exit(SECONDS)
    finally:
        controller.close()


async def controllers() -> None:
    async with BlueZ.on_system_bus(OUT) as bluez:
        async with Adapters.plugged_in(OUT):
            await until_settled(WATCH, PHONE)
            async with check("the adapters are listed with what they can do"):
                adapters = await listed()
                assert set(adapters) == {WATCH, PHONE} == present(), adapters
                for adapter in adapters.values():
                    assert adapter["le"] and adapter["use"] == "free" and "problem" not in adapter, adapter
                    # As the watch finds them when it starts on one: btvirt's have no advertising sets.
                    assert adapter["extendedAdvertising"] == (RIG == "air"), adapter
                    assert (adapter["advertisingSets"] > 1) == (RIG == "air"), adapter
            await without_privileges()
            await names_who_has_it(bluez)
            await switched_on_for_nobody()
            await blocked_radio()
    if RIG == "air":
        await known_by_its_address()
        await flood()
    async with check("without adapters, what to do is said"):
        status, text = await ended("none", "cairn", "adapters")
        assert status == UNAVAILABLE and "cairn air --vhci" in text, text


main(controllers)
