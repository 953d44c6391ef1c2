"""Watchapps: those that come with the watch, and those that are installed from bundles and behave as they are told."""

from __future__ import annotations

import contextlib
import io
import json
import uuid
import zipfile
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import pytest
import watches
from libpebble2.protocol.appmessage import AppMessage, AppMessageACK, AppMessageNACK, AppMessagePush, AppMessageTuple
from rig import companion
from rig.pebble import PebbleSession
from rig.phone import Phone
from rig.watchapps import AppBundle
from test_command_line import USAGE, run
from watches import cairn_on

SPORTS = uuid.UUID("4dab81a6-d2fc-458a-992c-7a1f3b96a970")


@contextlib.asynccontextmanager
async def session_with(folder: Path, *arguments: str) -> AsyncIterator[PebbleSession]:
    """A watch with these options, and a companion's session with it."""
    options = ("--air-port", "0", "--insecure-test-link", *arguments)
    async with cairn_on("virtual", folder, *options) as program:
        port = await program.wait_for_line(r"hosts at tcp:127\.0\.0\.1:(\d+)", 10)
        async with Phone.on(int(port[1])) as phone:
            watch = await phone.connect(watches.ADDRESS)
            _, session = await watch.open_reversed(await watch.discover())
            await companion.negotiate(session)
            yield session


async def answer_to(session: PebbleSession, push: AppMessage) -> bool:
    """Whether the watch takes a push."""
    session.send(push)
    answer, _ = await session.expect(
        AppMessage,
        "an answer",
        lambda packet: (
            isinstance(packet.data, (AppMessageACK, AppMessageNACK)) and packet.transaction_id == push.transaction_id
        ),
    )
    return isinstance(answer.data, AppMessageACK)


async def expect_push(session: PebbleSession, tuples: list[AppMessageTuple], app: uuid.UUID) -> None:
    """The watch sends this dictionary, byte for byte, and is acknowledged."""
    push, payload = await session.expect(
        AppMessage, "a dictionary from the watch", lambda packet: isinstance(packet.data, AppMessagePush)
    )
    assert payload == companion.push(push.transaction_id, tuples, app).serialise()
    session.send(AppMessage(transaction_id=push.transaction_id, data=AppMessageACK()))


async def test_echo_behaviour(tmp_path: Path) -> None:
    """An app from a bundle, told to echo, echoes 8192 bytes under its own UUID."""
    bundle = AppBundle()
    file = tmp_path / "app.pbw"
    file.write_bytes(bundle.pbw())
    async with session_with(tmp_path, "--app", str(file), "--behaviour", f"{bundle.app}=echo") as session:
        # It does not run yet.
        assert not await answer_to(session, companion.push(1, [], app=bundle.app))
        await companion.launch(session, bundle.app)
        push = companion.push(2, [companion.array(1, bytes(range(256)) * 32)], app=bundle.app)
        session.send(push)
        await companion.expect_ack_and_echo(session, push)
        # A byte more than fits.
        assert not await answer_to(session, companion.push(3, [companion.array(1, bytes(8193))], app=bundle.app))


async def test_scripted_behaviour(tmp_path: Path) -> None:
    """A script says something when the app starts, and answers by rules."""
    bundle = AppBundle()
    file = tmp_path / "app.pbw"
    file.write_bytes(bundle.pbw())
    script = tmp_path / "script.json"
    script.write_text(
        json.dumps(
            {
                "onLaunch": [{"send": {"0": "ready"}}],
                "rules": [
                    {
                        "when": {"1": "weather"},
                        "do": [{"send": {"2": {"int16": -7}, "3": {"received": 4}}, "after": 0.1}],
                    },
                    {"when": {"1": None}, "do": [{"send": {"5": "what?"}}]},
                ],
            }
        )
    )
    async with session_with(tmp_path, "--app", str(file), "--behaviour", f"{bundle.app}={script}") as session:
        await companion.launch(session, bundle.app)
        await expect_push(session, [companion.string(0, "ready")], bundle.app)
        question = [companion.string(1, "weather"), companion.unsigned(4, 1, 200)]
        assert await answer_to(session, companion.push(1, question, app=bundle.app))
        expected = [companion.signed(2, 2, -7), companion.unsigned(3, 1, 200)]
        await expect_push(session, expected, bundle.app)
        assert await answer_to(session, companion.push(2, [companion.signed(1, 4, 3)], app=bundle.app))
        await expect_push(session, [companion.string(5, "what?")], bundle.app)


async def test_sports(tmp_path: Path) -> None:
    """The Sports app takes 114 bytes of dictionary, and the place of an answer, as on the watch."""
    async with session_with(tmp_path) as session:
        await companion.launch(session, SPORTS)
        values = [companion.string(0, "12:34"), companion.string(1, "5.0"), companion.unsigned(5, 1, 0)]
        assert await answer_to(session, companion.push(1, values, app=SPORTS))
        assert await answer_to(session, companion.push(2, [companion.array(9, bytes(114 + 22 - 8))], app=SPORTS))
        assert not await answer_to(session, companion.push(3, [companion.array(9, bytes(114 + 22 - 7))], app=SPORTS))


def repacked(pbw: bytes, change: Callable[[str, bytes], tuple[str, bytes]]) -> bytes:
    """The bundle with other names or contents."""
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(pbw)) as old, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new:
        for name in old.namelist():
            new.writestr(*change(name, old.read(name)))
    return packed.getvalue()


REFUSED: dict[str, tuple[bytes, str]] = {
    "truncated": (AppBundle().pbw()[:-40], "no zip archive"),
    "no archive": (b"not a bundle", "no zip archive"),
    "another watch's": (AppBundle(platform="chalk").pbw(), "it has nothing for flint; it is for chalk"),
    "without resources": (
        AppBundle().pbw(resources=False),
        "it has no resources (flint/manifest.json names none), and the watch starts no app without them",
    ),
    "wrong CRC": (
        repacked(AppBundle().pbw(), lambda name, data: (name, data[:-1] + b"?" if name.endswith(".bin") else data)),
        "flint/pebble-app.bin: the checksum is wrong",
    ),
    "path traversal": (
        repacked(AppBundle().pbw(), lambda name, data: ("../" + name if name == "appinfo.json" else name, data)),
        'called "../appinfo.json", which leads out of it',
    ),
    "zip bomb": (
        repacked(AppBundle().pbw(), lambda name, data: (name, bytes(1 << 28) if name == "appinfo.json" else data)),
        "appinfo.json has 268435456 bytes, more than",
    ),
    "oversized": (AppBundle().pbw() + bytes(17 << 20), "more than the 16777216 that are allowed"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_refused_bundles(kind: str, tmp_path: Path) -> None:
    """A bundle that is not what it should be is refused with the reason, nothing is written, and the watch does not start."""
    content, reason = REFUSED[kind]
    folder = tmp_path / "empty"
    folder.mkdir()
    file = tmp_path / "app.pbw"
    file.write_bytes(content)
    result = run("run", "--controller", "virtual", "--state", str(folder / "state"), "--app", str(file))
    assert result.returncode == USAGE, result.stderr
    assert reason in result.stderr
    assert list(folder.iterdir()) == []
    assert sorted(path.name for path in tmp_path.iterdir()) == ["app.pbw", "empty"]


@pytest.mark.parametrize(
    ("behaviour", "complaint"),
    [
        ("echo", "names no app"),
        ("6b1f5c2e-0f3a-4d0e-9b7a-1c2d3e4f5a6b=/nonexistent", "cannot be read"),
        ("6b1f5c2e-0f3a-4d0e-9b7a-1c2d3e4f5a6b=/dev/null", "the script: "),
    ],
)
def test_refused_behaviours(behaviour: str, complaint: str) -> None:
    result = run("run", "--controller", "virtual", "--behaviour", behaviour)
    assert result.returncode == USAGE
    assert complaint in result.stderr
