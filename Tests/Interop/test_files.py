"""Every file that a running watch makes: whose it is, and what of another user's making it refuses.

What is tried here succeeded once: a capture, which holds keys, was everybody's to read, kept the mode of a file that was there
and followed links; a state directory that anyone may write to was accepted without a warning.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import socket
import stat
import subprocess
import tempfile
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import pytest
from attacks.ports import STRANGER
from rig import cairn
from rig.process import Program
from rig.waiting import GaveUp, within

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of another user")

CANNOT_CREATE = 73
NOT_PERMITTED = 77


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A directory that others may go through."""
    tmp_path.chmod(0o755)
    yield tmp_path


@contextlib.contextmanager
def umask(value: int) -> Iterator[None]:
    before = os.umask(value)
    try:
        yield
    finally:
        os.umask(before)


def modes(folder: Path) -> dict[str, str]:
    """Kind and mode of everything in a directory."""
    return {
        str(path.relative_to(folder)): stat.filemode(path.lstat().st_mode)
        for path in sorted(folder.rglob("*"))
        if path.suffix != ".log"
    }


@contextlib.asynccontextmanager
async def watch(folder: Path, *arguments: str) -> AsyncIterator[Program]:
    async with cairn.running("run", "--controller", "virtual", *arguments, log=folder / "cairn.log") as program:
        await program.wait_for_line("advertises for", cairn.START_SECONDS)
        yield program


def refused(*arguments: str) -> tuple[int, str]:
    """The status that a watch ends with that does not start, and what it says."""
    process = subprocess.run(
        [str(cairn.binary()), "run", "--controller", "virtual", *arguments],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=30,
    )
    return process.returncode, process.stderr


# What it makes


@pytest.mark.parametrize("inherited", [0o000, 0o077, 0o777], ids=oct)
async def test_every_file_is_the_owners_alone(folder: Path, inherited: int) -> None:
    """All outputs at once, under the umask that a careless or a hostile parent leaves: each file by name, with its mode, and no
    other file."""
    out = folder / "out"
    out.mkdir()
    outputs = {
        "--state": "deep/er/state",
        "--capture": "a.btsnoop",
        "--serial-port": "tty",
        "--air-socket": "air.sock",
    }
    options = [word for option, name in outputs.items() for word in (option, str(out / name))]
    with umask(inherited):
        starting = watch(folder, *options, "--qemu-port", "0", "--air-port", "0")
        await starting.__aenter__()
    try:
        assert modes(out) == {
            "a.btsnoop": "-rw-------",
            "air.sock": "srw-------",
            "deep": "drwx------",
            "deep/er": "drwx------",
            "deep/er/state": "drwx------",
            "deep/er/state/control.sock": "srw-------",
            "deep/er/state/recorder.memory": "-rw-------",
            "deep/er/state/watch.sqlite": "-rw-------",
            "deep/er/state/watch.sqlite-wal": "-rw-------",
            "tty": "lrwxrwxrwx",
        }
        # Not even to the system's own group for terminals.
        assert stat.filemode((out / "tty").stat().st_mode) == "crw-------"
    finally:
        await starting.__aexit__(None, None, None)
    # What was only for the time of the run is gone; SQLite may keep its log.
    left = {name for name in modes(out) if not name.startswith("deep/er/state/watch.sqlite")}
    assert left == {"a.btsnoop", "deep", "deep/er", "deep/er/state"}


@pytest.mark.parametrize("inherited", [0o000, 0o777], ids=oct)
async def test_the_control_socket_may_be_the_groups(folder: Path, inherited: int) -> None:
    with umask(inherited):
        starting = watch(folder, "--state", str(folder / "state"), "--control-access", "group")
        await starting.__aenter__()
    try:
        assert modes(folder)["state/control.sock"] == "srw-rw----"
        assert modes(folder)["state"] == "drwx------"
    finally:
        await starting.__aexit__(None, None, None)


@pytest.mark.parametrize("inherited", [0o000, 0o777], ids=oct)
def test_a_demonstrations_capture_is_the_owners_alone(folder: Path, inherited: int) -> None:
    path = folder / "demo.btsnoop"
    with umask(inherited):
        subprocess.run([str(cairn.binary()), "demo", "--capture", str(path)], check=True, capture_output=True, timeout=60)
    assert modes(folder) == {"demo.btsnoop": "-rw-------"}


@pytest.mark.parametrize("inherited", [0o000, 0o777], ids=oct)
async def test_a_backup_is_the_owners_alone(folder: Path, inherited: int) -> None:
    """Of a watch that runs, and of one that does not."""
    state = folder / "state"
    out = folder / "out"
    out.mkdir()

    def back_up(name: str) -> None:
        command = [str(cairn.binary()), "backup", str(out / name), "--state", str(state)]
        with umask(inherited):
            subprocess.run(command, check=True, capture_output=True, timeout=60)

    async with watch(folder, "--state", str(state)):
        await asyncio.to_thread(back_up, "running")
    await asyncio.to_thread(back_up, "stopped")
    assert modes(out) == {"running": "-rw-------", "stopped": "-rw-------"}


async def test_files_of_an_older_watch_are_closed_to_others(folder: Path) -> None:
    """Files that an earlier version, or a backup, left readable for others."""
    state = folder / "state"
    async with watch(folder, "--state", str(state)):
        # A copy while it runs has the helpers of the database.
        shutil.copytree(state, folder / "copy", ignore=shutil.ignore_patterns("*.sock"))
    copy = folder / "copy"
    for path in copy.iterdir():
        path.chmod(0o666)
    (folder / "capture").write_bytes(b"old")
    (folder / "capture").chmod(0o666)
    async with watch(folder, "--state", str(copy), "--capture", str(folder / "capture")):
        found = modes(folder)
        assert {found[name] for name in found if name.startswith("copy/watch")} == {"-rw-------"}
        assert found["capture"] == "-rw-------"
        assert (folder / "capture").read_bytes().startswith(b"btsnoop")


# What it refuses


def link_to(folder: Path, path: Path) -> None:
    (folder / "precious").write_bytes(b"precious")
    path.symlink_to(folder / "precious")


def hard_link_to(folder: Path, path: Path) -> None:
    (folder / "precious").write_bytes(b"precious")
    path.hardlink_to(folder / "precious")


def strangers_file(folder: Path, path: Path) -> None:
    path.write_bytes(b"precious")
    path.chmod(0o666)
    os.chown(path, STRANGER, STRANGER)


def strangers_pipe(folder: Path, path: Path) -> None:
    os.mkfifo(path, 0o666)
    os.chown(path, STRANGER, STRANGER)
    # Another user's program, which listens.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    threading.Timer(20, lambda: os.close(descriptor)).start()


TRAPS: dict[str, tuple[Callable[[Path, Path], None], str]] = {
    "a link": (link_to, "it is a link"),
    "a hard link": (hard_link_to, "the file has other names too (hard links)"),
    "another user's file": (strangers_file, "it belongs to nobody, not to you"),
    "another user's pipe": (strangers_pipe, "it belongs to nobody, not to you"),
}


@as_root
@pytest.mark.parametrize("lay, reason", TRAPS.values(), ids=TRAPS.keys())
def test_a_capture_does_not_walk_into_a_trap(folder: Path, lay: Callable[[Path, Path], None], reason: str) -> None:
    path = folder / "a.btsnoop"
    lay(folder, path)
    status, said = refused("--capture", str(path))
    assert status == CANNOT_CREATE
    assert f"cannot write the capture file {path}: {reason}" in said
    for name in ("precious", "a.btsnoop"):
        if (folder / name).is_file():
            assert (folder / name).read_bytes() == b"precious"


@as_root
@pytest.mark.parametrize("name", ["watch.sqlite", "watch.sqlite-wal", "watch.sqlite-journal"])
@pytest.mark.parametrize("lay, reason", list(TRAPS.values())[:3], ids=list(TRAPS)[:3])
def test_a_state_directory_with_a_trap_in_it(
    folder: Path, name: str, lay: Callable[[Path, Path], None], reason: str
) -> None:
    state = folder / "state"
    state.mkdir(mode=0o700)
    lay(folder, state / name)
    status, said = refused("--state", str(state))
    assert status == CANNOT_CREATE
    assert reason in said


def open_to_all(path: Path) -> None:
    path.mkdir()
    path.chmod(0o777)


def open_to_a_group(path: Path) -> None:
    path.mkdir()
    path.chmod(0o770)


def strangers(path: Path) -> None:
    path.mkdir(mode=0o700)
    os.chown(path, STRANGER, STRANGER)


def a_link(path: Path) -> None:
    (path.parent / "elsewhere").mkdir(mode=0o700)
    path.symlink_to(path.parent / "elsewhere")


def below_one_open_to_all(path: Path) -> None:
    path.mkdir(mode=0o700)
    path.parent.chmod(0o777)


DIRECTORIES: dict[str, tuple[Callable[[Path], None], str, str]] = {
    "open to all": (open_to_all, "others may write to it (mode 0777)", "chmod go-w {path}"),
    "open to a group": (open_to_a_group, "others may write to it (mode 0770)", "chmod go-w {path}"),
    "another user's": (strangers, "it belongs to nobody, not to you", "run cairn as nobody"),
    "a link": (a_link, "it is a link", "name what it leads to"),
    "below one open to all": (below_one_open_to_all, "others may write to it (mode 0777)", "chmod go-w {parent}"),
}


@as_root
@pytest.mark.parametrize("make, reason, advice", DIRECTORIES.values(), ids=DIRECTORIES.keys())
def test_a_state_directory_that_is_not_safe(folder: Path, make: Callable[[Path], None], reason: str, advice: str) -> None:
    """It is refused, with what to do, and nothing is made in it."""
    path = folder / "place" / "state"
    path.parent.mkdir()
    make(path)
    status, said = refused("--state", str(path))
    assert status == CANNOT_CREATE
    assert reason in said
    assert advice.format(path=path, parent=path.parent) in said
    assert list(path.iterdir()) == []


@as_root
@pytest.mark.parametrize("option", ["--control", "--air-socket", "--serial-port"])
@pytest.mark.parametrize("make", [open_to_all, strangers])
def test_a_place_where_others_could_put_something_else(folder: Path, option: str, make: Callable[[Path], None]) -> None:
    make(folder / "place")
    status, said = refused(option, str(folder / "place" / "name"))
    assert status == CANNOT_CREATE
    assert "somebody else could put another" in said
    assert list((folder / "place").iterdir()) == []


async def test_a_directory_like_tmp_is_good_enough_for_sockets(folder: Path) -> None:
    """There each user may remove only their own files."""
    place = folder / "place"
    place.mkdir()
    place.chmod(0o1777)
    names = {"--control": "control", "--air-socket": "air", "--serial-port": "tty", "--capture": "a.btsnoop"}
    async with watch(folder, *(word for option, name in names.items() for word in (option, str(place / name)))):
        assert set(modes(place)) == set(names.values())


@as_root
async def test_a_command_is_not_given_to_a_stranger(request: pytest.FixtureRequest) -> None:
    """Another user waits where the watch would be, for what a person types."""
    # Where others can go: the tests' own folders are their user's.
    place = Path(tempfile.mkdtemp())
    request.addfinalizer(lambda: shutil.rmtree(place))
    place.chmod(0o1777)
    path = place / "control.sock"
    heard: list[bytes] = []
    program = f"""
import socket
listener = socket.socket(socket.AF_UNIX)
listener.bind({str(path)!r})
import os
os.chmod({str(path)!r}, 0o777)
listener.listen()
print('ready', flush=True)
listener.settimeout(20)
connection, _ = listener.accept()
connection.settimeout(5)
print(connection.recv(1000), flush=True)
"""
    python = shutil.which("python3", path="/usr/bin")
    assert python, "Debian's python3 is missing"
    thief = await asyncio.create_subprocess_exec(
        python, "-c", program, user=STRANGER, group=STRANGER, cwd="/", stdout=subprocess.PIPE
    )
    assert thief.stdout is not None
    assert await within(10, "the thief", thief.stdout.readline()) == b"ready\n"
    process = await asyncio.to_thread(
        subprocess.run,
        [str(cairn.binary()), "passkey", "123456", "--control", str(path)],
        capture_output=True,
        text=True,
        timeout=30,
    )
    heard.append(await within(10, "what the thief has heard", thief.stdout.readline()))
    await thief.wait()
    assert heard == [b"b''\n"]
    assert process.returncode == NOT_PERMITTED
    assert "belongs to another user" in process.stderr


async def test_a_serial_port_that_somebody_replaced_stays(folder: Path) -> None:
    """When the watch ends it removes its own link and nothing else."""
    port = folder / "tty"
    async with watch(folder, "--serial-port", str(port)):
        port.unlink()
        port.write_text("mine")
    assert port.read_text() == "mine"


async def test_a_directory_swapped_between_check_and_use(folder: Path) -> None:
    """The owner of the directory above swaps the state directory for a link, over and over, while watches start: each
    watch either runs on the directory that it checked or refuses; nothing is ever made where the link leads."""
    place = folder / "place"
    place.mkdir()
    state, elsewhere = place / "state", place / "elsewhere"
    elsewhere.mkdir(mode=0o755)
    state.mkdir(mode=0o700)
    stopping = threading.Event()

    def swap() -> None:
        while not stopping.is_set():
            with contextlib.suppress(OSError):
                os.rename(state, place / "aside")
                os.symlink(elsewhere, state)
                os.unlink(state)
                os.rename(place / "aside", state)

    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        for number in range(10):
            program = await Program.start(
                [str(cairn.binary()), "run", "--controller", "virtual", "--state", str(state)],
                folder / f"{number}.log",
            )
            with contextlib.suppress(AssertionError, GaveUp):
                await program.wait_for_line("advertises for|cannot|not safe", 10)
            program.kill()
            await program.wait_for_exit(10)
    finally:
        stopping.set()
        swapper.join()
    assert [path.name for path in elsewhere.iterdir() if b"CREATE TABLE" in path.read_bytes()] == []


def test_what_a_killed_watch_leaves_is_taken_up_again(folder: Path) -> None:
    """A socket file without a listening program is replaced, one with a listening program is not."""
    state = folder / "state"
    state.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as other:
        other.bind(str(state / "control.sock"))
        other.listen()
        status, said = refused("--state", str(state))
        assert status != 0
        assert "a watch runs already" in said
