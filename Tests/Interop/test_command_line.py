"""The command line: its output, and its exit statuses."""

from __future__ import annotations

import re
import socket
import subprocess
from pathlib import Path

import pytest
from rig import cairn
from rig.controllers import controllers
from rig.process import Program
from watches import ADDRESS

#: Exit statuses (sysexits).
USAGE = 64
UNAVAILABLE = 69
CANNOT_CREATE = 73
INPUT_OUTPUT = 74


def run(*arguments: str, seconds: float = 60) -> subprocess.CompletedProcess[str]:
    """Runs cairn until it ends by itself."""
    return subprocess.run(
        [str(cairn.binary()), *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=seconds,
    )


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ((), ["run", "demo"]),
        (("run",), ["--controller", "tcp:HOST:PORT", "unix:PATH", "serial:DEVICE,BAUD", "--capture", "--air-port"]),
        (("demo",), ["--stay", "--air-port"]),
    ],
)
def test_help(command: tuple[str, ...], words: list[str]) -> None:
    result = run(*command, "--help")
    assert result.returncode == 0
    assert [word for word in words if word not in result.stdout] == []


def test_the_program_does_not_load_what_makes_it_large() -> None:
    """FoundationEssentials is enough: full Foundation has ICU's data with it, which is more than all the rest of the package."""
    header = subprocess.run(["readelf", "--dynamic", cairn.binary()], capture_output=True, text=True, check=True)
    needed = re.findall(r"Shared library: \[(.+)\]", header.stdout)
    assert "libc.so.6" in needed
    large = {"libFoundation.so", "libFoundationInternationalization.so", "lib_FoundationICU.so", "libFoundationNetworking.so"}
    assert large.isdisjoint(needed)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["fly"], "fly"),
        (["run"], "--controller"),
        (["run", "--controller", "virtual", "--wings"], "--wings"),
        (["run", "--controller", "carrier:pigeon"], "carrier:pigeon"),
        (["run", "--controller", "tcp:127.0.0.1"], "tcp:127.0.0.1"),
        (["run", "--controller", "serial:/dev/null,12"], "12"),
        (["run", "--controller", "virtual", "--air-port", "70000"], "70000"),
        (["run", "--controller", "tcp:127.0.0.1:1", "--air-port", "0"], "--air-port"),
        (["run", "--controller", "virtual", "--address", "00:11:22:33:44:55"], "00:11:22:33:44:55"),
        (["run", "--controller", "virtual", "--name", "x" * 20], "name"),
        (["run", "--controller", "virtual", "--log-level", "loud"], "loud"),
    ],
)
def test_wrong_words(arguments: list[str], complaint: str) -> None:
    """What is wrong is named, on standard error, and nothing starts."""
    result = run(*arguments)
    assert result.returncode == USAGE, result.stderr
    assert complaint in result.stderr
    assert result.stdout == ""


def test_unreachable_controller() -> None:
    """The place where no controller listens is named, and what to do."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        result = run("run", "--controller", f"tcp:127.0.0.1:{port}")
    assert result.returncode == UNAVAILABLE
    assert f"tcp:127.0.0.1:{port}" in result.stderr


def test_busy_port() -> None:
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        port = busy.getsockname()[1]
        result = run("run", "--controller", "virtual", "--air-port", str(port))
    assert result.returncode == UNAVAILABLE
    assert str(port) in result.stderr


def test_capture_that_cannot_be_written(tmp_path: Path) -> None:
    file = tmp_path / "no-such-folder" / "watch.btsnoop"
    result = run("run", "--controller", "virtual", "--capture", str(file))
    assert result.returncode == CANNOT_CREATE
    assert str(file) in result.stderr


def test_demo() -> None:
    """A phone and a watch in one process: the transcript tells the story, and the status is that of its end."""
    result = run("demo")
    assert result.returncode == 0, result.stdout + result.stderr
    assert result.stderr == ""
    lines = result.stdout.splitlines()
    for who in ("watch", "phone"):
        assert any(re.match(rf" *\d+\.\d{{3}}  {who}  ", line) for line in lines)
    assert re.search(r"succeeded: .* \d+ dictionaries of \d+ bytes echoed", lines[-1])


@pytest.mark.parametrize("policy", ["exit", "retry"])
async def test_lost_controller(tmp_path: Path, policy: str) -> None:
    """A controller that hangs up ends the watch with a reason; or the watch waits for it, if so asked."""
    async with controllers() as room:
        command = ["run", "--controller", room.watch.address, "--address", ADDRESS, "--controller-lost", policy]
        program = await Program.start([str(cairn.binary()), *command], tmp_path / "cairn.log")
        try:
            await program.wait_for_line("advertises for", cairn.START_SECONDS)
            before = len(program.lines)
            room.watch.hang_up()
            if policy == "exit":
                assert await program.wait_for_exit(10) == INPUT_OUTPUT
                assert room.watch.address in program.log
            else:
                await program.wait_for_line("advertises for", cairn.START_SECONDS, after=before)
                assert await program.stop() == 0
        finally:
            program.kill()
