"""Backups: what a watch remembers, copied while it runs and when it does not, and put back."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import sqlite3
import stat
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from bumble.keys import MemoryKeyStore
from rig import cairn
from rig import gatt as uuids
from rig.control import Control, Refused
from rig.controllers import Controllers, controllers
from rig.phone import Phone, WatchLink
from rig.process import Program
from rig.security import pairing
from rig.waiting import within
from test_command_line import USAGE, run
from test_control import CANNOT_CREATE, UNAVAILABLE, command
from watches import ADDRESS, cairn_on

INPUT_OUTPUT = 74
#: Connectivity Status of a bonded phone on an encrypted link (watch-over-BLE section 3.4).
BONDED_AND_ENCRYPTED = 0x1F
STORE = "watch.sqlite"


@pytest.fixture
async def room() -> AsyncIterator[Controllers]:
    async with controllers() as room:
        yield room


@contextlib.asynccontextmanager
async def watch_in(room: Controllers, folder: Path, state: Path) -> AsyncIterator[Program]:
    async with cairn_on(room.watch.address, folder, "--state", str(state)) as program:
        yield program
    await room.watch.detached()


async def pairs(room: Controllers, bonds: MemoryKeyStore) -> None:
    """A phone pairs with the watch, and goes as soon as the watch says that it keeps the bond.

    The phone has paired as soon as it has sent its last key, and the watch still has to receive and store that.
    """
    async with Phone.on(room.phone.port, keystore=bonds, pairs=pairing()) as phone:
        watch = await phone.connect(ADDRESS)
        await watch.pair()
        await bonded(watch)
        await watch.disconnect()
    await room.phone.detached()


async def bonded(watch: WatchLink) -> None:
    """Waits until Connectivity Status says that the bond is stored."""

    async def until_stored() -> None:
        while True:
            (value,) = await watch.client.read_characteristics_by_uuid(uuids.CONNECTIVITY, None)
            if value[0] == BONDED_AND_ENCRYPTED:
                return

    await within(10, "the watch to keep the bond", until_stored())


async def comes_back(room: Controllers, bonds: MemoryKeyStore) -> None:
    """The phone, which cannot pair any more, connects by the bond that it has, and the watch knows it."""
    async with Phone.on(room.phone.port, keystore=bonds) as phone:
        watch = await phone.connect(ADDRESS)
        await watch.encrypt()
        await bonded(watch)
        await watch.disconnect()
    await room.phone.detached()


def put_back(file: Path, state: Path) -> None:
    """As the documents say: into an empty directory, under the store's name."""
    state.mkdir(mode=0o700)
    shutil.copyfile(file, state / STORE)


async def test_a_running_watch_is_backed_up_and_restored(room: Controllers, tmp_path: Path) -> None:
    """The watch goes on; the file says who it is; put back, the phone that had paired returns without pairing."""
    state, file = tmp_path / "state", tmp_path / "watch.backup"
    bonds = MemoryKeyStore()
    async with watch_in(room, tmp_path, state):
        await pairs(room, bonds)
        status, output, errors = await command("backup", str(file), "--state", str(state))
        assert (status, errors) == (0, "")
        assert output.startswith(f"{file}: {file.stat().st_size} bytes; the watch {ADDRESS}, 1 phone, 0 apps, ")
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert sorted(path.name for path in tmp_path.iterdir()) == ["cairn.log", "state", "watch.backup"]
        assert "backup.part" not in {path.name for path in state.iterdir()}
        # A file that is there stays, unless it is to be replaced.
        before = file.read_bytes()
        status, _, errors = await command("backup", str(file), "--state", str(state))
        assert status == CANNOT_CREATE and "exists already" in errors and "--force" in errors
        assert file.read_bytes() == before
        file.write_bytes(b"old")
        assert (await command("backup", str(file), "--state", str(state), "--force"))[0] == 0
        assert file.read_bytes() == before and stat.S_IMODE(file.stat().st_mode) == 0o600
        status, _, errors = await command("backup", str(tmp_path), "--state", str(state), "--force")
        assert status == CANNOT_CREATE and "is a directory" in errors
        status, _, errors = await command("backup", str(tmp_path / "no" / "file"), "--state", str(state))
        assert status == CANNOT_CREATE and "No such file" in errors
        await comes_back(room, bonds)
    with contextlib.closing(sqlite3.connect(file)) as copy:
        assert copy.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert copy.execute("SELECT count(*) FROM phone").fetchone() == (1,)
        assert copy.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    put_back(file, tmp_path / "restored")
    async with watch_in(room, tmp_path, tmp_path / "restored"):
        await comes_back(room, bonds)


async def test_a_stopped_watch_is_one_file(room: Controllers, tmp_path: Path) -> None:
    """After a clean end nothing lies beside the file, and a copy of it is a watch; so is a backup."""
    state, file = tmp_path / "state", tmp_path / "watch.backup"
    bonds = MemoryKeyStore()
    async with watch_in(room, tmp_path, state):
        await pairs(room, bonds)
    assert [path.name for path in state.iterdir()] == [STORE]
    put_back(state / STORE, tmp_path / "copied")
    async with watch_in(room, tmp_path, tmp_path / "copied"):
        await comes_back(room, bonds)
    status, output, errors = await command("backup", str(file), environment={"CAIRN_STATE": str(state)})
    assert (status, errors) == (0, "") and f"the watch {ADDRESS}, 1 phone" in output
    put_back(file, tmp_path / "restored")
    async with watch_in(room, tmp_path, tmp_path / "restored"):
        await comes_back(room, bonds)


async def test_a_killed_watch_is_backed_up_whole(room: Controllers, tmp_path: Path) -> None:
    """What lay beside the file is in the backup."""
    state, file = tmp_path / "state", tmp_path / "watch.backup"
    bonds = MemoryKeyStore()
    arguments = ("run", "--controller", room.watch.address, "--address", ADDRESS, "--state", str(state))
    watch = await Program.start([str(cairn.binary()), *arguments], tmp_path / "killed.log")
    try:
        await watch.wait_for_line("advertises for", cairn.START_SECONDS)
        await pairs(room, bonds)
    finally:
        watch.kill()
    await watch.wait_for_exit(10)
    await room.watch.detached()
    assert (state / f"{STORE}-wal").stat().st_size > 0
    assert (await command("backup", str(file), "--state", str(state)))[0] == 0
    put_back(file, tmp_path / "restored")
    async with watch_in(room, tmp_path, tmp_path / "restored"):
        await comes_back(room, bonds)


async def test_who_may_and_what_is_kept(tmp_path: Path) -> None:
    """A watch that keeps nothing has nothing to back up; parts need a backup; no watch and no directory are said."""
    control = tmp_path / "control"
    arguments = ("run", "--controller", "virtual", "--control", str(control))
    async with cairn.running(*arguments, log=tmp_path / "cairn.log") as program:
        await program.wait_for_line("advertises for", cairn.START_SECONDS)
        status, _, errors = await command("backup", str(tmp_path / "file"), "--control", str(control))
        assert status != 0 and "no state directory" in errors
        async with Control.on(control) as person:
            for fields, code in [({}, "bad-request"), ({"offset": -1}, "bad-request"), ({"offset": 0}, "no-backup")]:
                with pytest.raises(Refused) as refusal:
                    await person.ask("backup-part", **fields)
                assert refusal.value.code == code
    assert not (tmp_path / "file").exists()
    status, _, errors = await command("backup", str(tmp_path / "file"), "--control", str(control))
    assert status == UNAVAILABLE and "no watch runs" in errors
    status, _, errors = await command("backup", str(tmp_path / "file"), "--state", str(tmp_path / "none"))
    assert status == INPUT_OUTPUT and "there is no such file" in errors
    assert run("backup").returncode == USAGE
    assert sorted(path.name for path in tmp_path.iterdir()) == ["cairn.log"]


#: Asks at a socket, as another user's program would.
ASKING = """
import socket, sys
with socket.socket(socket.AF_UNIX) as watch:
    watch.connect(sys.argv[1])
    lines = watch.makefile()
    for command in sys.argv[2:]:
        watch.sendall(b'{"command":"%s","path":"/tmp/watch.btsnoop"}\\n' % command.encode())
        print(lines.readline(), end="")
"""


#: Commands whose answers, or whose files, have keys in them.
SECRET = ["backup", "packets", "capture-start", "capture-stop", "recorder-save"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can be another user")
async def test_keys_are_not_given_to_the_group(tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """A user who may give commands only may not get the keys."""
    # As the service's: the kernel takes the mask from a socket's mode.
    mask = os.umask(0o007)
    request.addfinalizer(lambda: os.umask(mask))
    for folder in (tmp_path, *tmp_path.parents):
        with contextlib.suppress(PermissionError):
            folder.chmod(folder.stat().st_mode | 0o011)
    control = tmp_path / "control"
    options = ("--state", str(tmp_path / "state"), "--control", str(control), "--control-access", "group")
    async with cairn.running("run", "--controller", "virtual", *options, log=tmp_path / "cairn.log") as program:
        await program.wait_for_line("advertises for", cairn.START_SECONDS)
        asking = await asyncio.create_subprocess_exec(
            "/usr/bin/env", "python3", "-c", ASKING, str(control), "status", *SECRET,
            stdout=subprocess.PIPE, user=65534, group=control.stat().st_gid, extra_groups=[], cwd="/",
        )  # fmt: skip
        output, _ = await asyncio.wait_for(asking.communicate(), 30)
    status, *refused = [json.loads(line) for line in output.splitlines()]
    assert status["ok"] and [answer["error"]["code"] for answer in refused] == ["not-permitted"] * len(SECRET)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make a disk read-only")
def test_a_read_only_disk(tmp_path: Path) -> None:
    """It is called read-only, by the watch and by the backup, which say what to do; nothing is written."""
    state, file = tmp_path / "state", tmp_path / "file"
    first = [str(cairn.binary()), "run", "--controller", "tcp:127.0.0.1:1", "--controller-lost", "exit"]
    subprocess.run([*first, "--state", str(state)], capture_output=True, timeout=60)
    locked = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'
    for status, advice, words in [
        (CANNOT_CREATE, "name a directory that you may write to", ["run", "--controller", "virtual"]),
        (INPUT_OUTPUT, "copy the whole directory to where you may write", ["backup", str(file)]),
    ]:
        command = ["unshare", "-m", "sh", "-c", locked, str(state), str(cairn.binary()), *words, "--state", str(state)]
        result = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert result.returncode == status, result.stderr
        assert f"{state / STORE} is read-only" in result.stderr and advice in result.stderr
    assert not file.exists()


def test_a_newer_store_is_refused(tmp_path: Path) -> None:
    """Both versions are named, and what to do; the file stays as it is."""
    state = tmp_path / "state"
    subprocess.run(
        [str(cairn.binary()), "run", "--controller", "tcp:127.0.0.1:1", "--controller-lost", "exit", "--state", str(state)],
        capture_output=True,
        timeout=60,
    )
    with contextlib.closing(sqlite3.connect(state / STORE)) as store:
        store.execute("PRAGMA user_version = 77")
    content = (state / STORE).read_bytes()
    for arguments in (("run", "--controller", "virtual"), ("backup", str(tmp_path / "file"))):
        result = run(*arguments, "--state", str(state))
        assert result.returncode == INPUT_OUTPUT
        assert "schema is version 77" in result.stderr and "versions up to 3" in result.stderr
        assert "newer Cairn" in result.stderr
    assert (state / STORE).read_bytes() == content
