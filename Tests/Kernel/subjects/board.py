"""A board's buttons and LED, on a GPIO chip that the kernel simulates; the radio is the watch's own."""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

from rig.control import Control
from rig.process import Program

from kit.checks import Skipped, check, main
from kit.gpio import SimulatedChip

OUT = Path("/out/board")
STATE = Path("/tmp/board-watch")
LABEL = "pinctrl-test"
LINES = {"back": 1, "up": 2, "select": 3, "down": 4}
LED, HOG = 6, 7
SECONDS = 90
#: A long press takes 2 seconds, for back 5; that much more for a slow machine.
PATIENCE = 20

BOARD = f"""
controller: virtual
state: {STATE}
name: Board
advertising:
  policy: custom
  steps: [20ms/6s, 1285ms]
gpio:
  chip: {LABEL}
  back: {LINES["back"]}
  up: {LINES["up"]}
  select: {LINES["select"]}
  down: {LINES["down"]}
  debounce: 50
  led: {LED}
"""


class Watch:
    """A watch on the board, and the person at its buttons."""

    def __init__(self, program: Program, control: Control, chip: SimulatedChip) -> None:
        self.program = program
        self.control = control
        self.chip = chip

    def hold(self, button: str) -> None:
        """Buttons pull their lines to ground."""
        self.chip.pull(LINES[button], up=False)

    def release(self, button: str) -> None:
        self.chip.pull(LINES[button], up=True)

    async def pressed(self) -> tuple[str, bool]:
        """The next press that the watch tells of: which button, and whether it was a long one."""
        event = await self.control.event("button", PATIENCE)
        return event["button"], event["isLong"]

    async def led(self, seconds: float) -> set[int]:
        """The levels that the LED has for a while."""
        seen: set[int] = set()
        end = asyncio.get_running_loop().time() + seconds
        while asyncio.get_running_loop().time() < end:
            seen.add(self.chip.level(LED))
            await asyncio.sleep(0.01)
        return seen


@contextlib.asynccontextmanager
async def running(chip: SimulatedChip, *options: str) -> AsyncIterator[Watch]:
    board = Path("/tmp/board.yaml")
    board.write_text(BOARD)
    command = ["cairn", "run", "--board", str(board), "--log-level", "debug", *options]
    program = await Program.start(command, OUT / "cairn.log")
    try:
        await program.wait_for_line("phones can find the watch", SECONDS)
        async with Control.on(STATE / "control.sock") as control:
            await control.listen()
            yield Watch(program, control, chip)
        status = await program.stop(SECONDS)
        assert status == 0, f"cairn ended with status {status}"
    finally:
        program.kill()


async def subject() -> None:
    chips = contextlib.ExitStack()
    async with check("the kernel simulates a chip", vital=True):
        try:
            chip = chips.enter_context(SimulatedChip.made(LABEL, 8, {HOG: "regulator"}))
        except Skipped as reason:
            for name in ("buttons", "LED"):
                async with check(name):
                    raise reason
            return
    with chips:
        await scenario(chip)


async def scenario(chip: SimulatedChip) -> None:
    for line in LINES.values():
        chip.pull(line, up=True)
    async with check("the chip is found by its label, and its lines are taken", vital=True):
        async with running(chip) as watch:
            await watch.program.wait_for_line(f"buttons on {LABEL}, {chip.path}: back 1, up 2, select 3, down 4", SECONDS)
            await use(watch)
    async with check("the LED is off after the end"):
        assert chip.level(LED) == 0
    await refusals(chip)
    await stuck(chip)


async def use(watch: Watch) -> None:
    async with check("the LED is off when the policy has come to its slowest step"):
        await watch.program.wait_for_line("advertises for discovery every 1285 ms", SECONDS)
        assert await watch.led(3) == {0}

    async with check("a press is told, and the watch advertises fast again"):
        before = len(watch.program.lines)
        watch.hold("up")
        await asyncio.sleep(0.2)
        watch.release("up")
        assert await watch.pressed() == ("up", False)
        await watch.program.wait_for_line("advertises for discovery every 20 ms", SECONDS, after=before)

    async with check("the LED flashes while the watch advertises fast"):
        watch.hold("down")
        await asyncio.sleep(0.2)
        watch.release("down")
        assert await watch.pressed() == ("down", False)
        assert await watch.led(3) == {0, 1}

    async with check("a contact that bounces is one press"):
        for _ in range(5):
            watch.hold("up")
            watch.release("up")
        watch.hold("up")
        await asyncio.sleep(0.3)
        for _ in range(5):
            watch.release("up")
            watch.hold("up")
        watch.release("up")
        assert await watch.pressed() == ("up", False)
        watch.hold("down")
        await asyncio.sleep(0.2)
        watch.release("down")
        assert await watch.pressed() == ("down", False), "there was more than one"

    async with check("select held opens pairing, and the LED blinks"):
        watch.hold("select")
        assert await watch.pressed() == ("select", True)
        watch.release("select")
        assert 0 < (await watch.control.status())["pairing"]["windowSeconds"] <= 300
        assert await watch.led(3) == {0, 1}

    async with check("back held for a while forgets nobody, and for 5 seconds every phone"):
        watch.hold("back")
        await asyncio.sleep(3)
        watch.release("back")
        assert await watch.pressed() == ("back", False)
        watch.hold("back")
        assert await watch.pressed() == ("back", True)
        watch.release("back")
        await watch.program.wait_for_line("the back button has no effect: no phone is remembered", SECONDS)

    async with check("gpioinfo's kernel side names the watch as the user"):
        users = subprocess.run(["grep", "-c", "cairn", "/sys/kernel/debug/gpio"], capture_output=True, text=True)
        assert int(users.stdout) == len(LINES) + 1, users.stdout

    async with check("a second watch is told who has the lines"):
        other = ["cairn", "run", "--controller", "virtual", "--gpio-chip", watch.chip.path, "--button-up", "2"]
        result = await asyncio.to_thread(subprocess.run, other, capture_output=True, text=True, timeout=SECONDS)
        assert result.returncode == 69, result.returncode
        assert f"line 2 of {LABEL} is in use by “cairn”" in result.stderr, result.stderr


async def refusals(chip: SimulatedChip) -> None:
    async with check("what cannot be is told with the line and its user"):
        for options, words in (
            (["--led", str(HOG)], f"line {HOG} of {LABEL} is in use by “regulator”"),
            (["--led", "8"], f"{LABEL} has no line 8"),
            (["--gpio-chip", "pinctrl-other", "--led", "5"], "there is no GPIO chip with the label “pinctrl-other”"),
        ):
            command = ["cairn", "run", "--controller", "virtual", "--gpio-chip", LABEL, *options]
            result = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, timeout=SECONDS)
            assert result.returncode == 69, result.returncode
            assert words in result.stderr, result.stderr


async def stuck(chip: SimulatedChip) -> None:
    async with check("a button that is down at the start counts once it has been let go"):
        # The simulated chip has one resistor a line: the watch's own would pull the button up.
        chip.pull(LINES["back"], up=False)
        async with running(chip, "--buttons-pull", "none") as watch:
            await watch.program.wait_for_line("the back button is down already", SECONDS)
            await asyncio.sleep(6)
            watch.release("back")
            await asyncio.sleep(0.2)
            watch.hold("back")
            await asyncio.sleep(0.2)
            watch.release("back")
            assert await watch.pressed() == ("back", False)


main(subject)
