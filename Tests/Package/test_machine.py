"""The image for Raspberry Pis, started: Debian's arm64 kernel and systemd in an emulated machine, and a phone made by others.

The watch is the service as it is installed. The tests follow each other, in one run of the machine.
"""

from __future__ import annotations

import os
import re
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
import pytest_asyncio
from machine import START_SECONDS, Machine, machine
from rig import companion
from rig import gatt as uuids
from rig.controllers import Controllers, controllers
from rig.phone import Phone, WatchLink
from rig.security import IoCapability, Person, pairing

IMAGE = os.environ.get("CAIRN_IMAGE")
WEB_PACKAGE = Path(os.environ["CAIRN_WEB_PACKAGE"])

#: CAP_NET_ADMIN and CAP_NET_RAW.
CAPABILITIES = 1 << 12 | 1 << 13
#: The most that the service may be exposed, by `systemd-analyze security`.
EXPOSURE = 2.0
#: The same for its web server.
WEB_EXPOSURE = 1.5
#: Connectivity Status, first byte: bonded to this phone, and encrypted.
BONDED_AND_ENCRYPTED = 0x1F
#: Remote Device Terminated Connection due to Power Off (Core 5.4, Vol 1, Part F, 1.3).
POWER_OFF = 0x15

pytestmark = [
    pytest.mark.skipif(IMAGE is None, reason="no image was asked for: Tests/Package/run --machine"),
    pytest.mark.asyncio(loop_scope="module"),
]


@dataclass
class Scene:
    """A machine with a watch, a phone, and the controllers of both."""

    machine: Machine
    phone: Phone
    room: Controllers

    async def connect(self) -> WatchLink:
        """Finds the watch and connects to it."""
        address = await self.phone.find(lambda report: True, START_SECONDS)
        return await self.phone.connect(address.to_string(False), seconds=60)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def scene(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Scene]:
    assert IMAGE is not None
    person = Person(IoCapability.DISPLAY_OUTPUT_AND_YES_NO_INPUT)
    folder = tmp_path_factory.mktemp("machine")
    async with controllers() as room, machine(IMAGE, room.watch.port, folder, [padded(WEB_PACKAGE, folder)]) as started:
        async with Phone.on(room.phone.port, pairs=pairing(person)) as phone:
            yield Scene(started, phone, room)
        assert room.faults == []
        assert room.watch.controller.refused == []


def padded(file: Path, folder: Path) -> Path:
    """A copy with whole sectors, as disks have them."""
    copy = folder / file.name
    data = file.read_bytes()
    copy.write_bytes(data + bytes(-len(data) % 512))
    return copy


async def connectivity(watch: WatchLink) -> int:
    (value,) = await watch.client.read_characteristics_by_uuid(uuids.CONNECTIVITY, None)
    return value[0]


async def test_the_service_starts_by_itself(scene: Scene, record_property: Callable[[str, object], None]) -> None:
    """On an arm64 kernel, as the user and with the rights that its unit says, and READY."""
    await scene.machine.console.wait_for_line(r"Started .*cairn\.service", START_SECONDS)
    shell = scene.machine.shell
    assert await shell.run("uname -m") == "aarch64"
    assert await scene.machine.property("ActiveState") == "active"
    assert await scene.machine.property("NRestarts") == "0"
    process = await scene.machine.property("MainPID")
    assert await shell.run(f"stat --format %U:%G /proc/{process}") == "cairn:cairn"
    status = dict(line.split(":\t") for line in (await shell.run(f"cat /proc/{process}/status")).splitlines())
    assert int(status["CapEff"], 16) == int(status["CapBnd"], 16) == CAPABILITIES
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"
    # Through a pipe it is plain text.
    security = await shell.run("systemd-analyze security cairn.service | tail -n 1")
    exposure = re.search(r"exposure level .*: ([\d.]+)", security)
    assert exposure is not None and float(exposure[1]) <= EXPOSURE, security
    record_property("resident", status["VmRSS"].strip())
    record_property("resident, no file's", status["RssAnon"].strip())


async def test_a_phone_finds_it_pairs_and_talks(scene: Scene) -> None:
    """Its Echo app sends a dictionary back."""
    watch = await scene.connect()
    await watch.pair(seconds=120)
    assert await connectivity(watch) == BONDED_AND_ENCRYPTED
    transport, session = await watch.open_reversed(await watch.discover())
    await companion.negotiate(session)
    await companion.launch(session)
    push = companion.push(0, [companion.array(1, bytes(range(100)))])
    session.send(push)
    await companion.expect_ack_and_echo(session, push)
    assert transport.violations == []
    await watch.disconnect()


async def test_killed_it_is_started_again_and_the_phone_returns(scene: Scene) -> None:
    """The phone is connected when it happens, and encrypts afterwards with the bond that the state directory kept."""
    watch = await scene.connect()
    await watch.encrypt()
    before = await scene.machine.property("MainPID")
    await scene.machine.shell.run("systemctl kill --signal=KILL cairn.service")
    await watch.disconnected(120)
    watch = await scene.connect()
    await watch.encrypt()
    assert await connectivity(watch) == BONDED_AND_ENCRYPTED
    assert await scene.machine.property("NRestarts") == "1"
    assert await scene.machine.property("MainPID") not in (before, "0")
    await watch.disconnect()


async def answer(scene: Scene, path: str, token: str | None) -> int:
    """The status of an answer of the machine's web server, asked from within."""
    lines = [f"GET {path} HTTP/1.0", "Host: localhost:8080", *([f"Authorization: Bearer {token}"] if token else [])]
    request = "".join(line + r"\r\n" for line in [*lines, ""])
    command = f"exec 3<>/dev/tcp/127.0.0.1/8080; printf '{request}' >&3; head -n 1 <&3"
    return int((await scene.machine.shell.run(f'bash -c "{command}"')).split()[1])


async def test_its_web_server_is_a_service_of_its_own(scene: Scene) -> None:
    """Installed, it waits; enabled, it runs as a user of its own and wants its token; purged, it leaves nothing."""
    shell = scene.machine.shell
    size = WEB_PACKAGE.stat().st_size
    await shell.run(f"head --bytes={size} /dev/vdb >/root/cairn-web.deb && dpkg --install /root/cairn-web.deb", START_SECONDS)
    assert await shell.run("systemctl is-enabled cairn-web.service || true") == "disabled"
    assert await shell.run("systemctl is-active cairn-web.service || true") == "inactive"
    await shell.run("systemctl enable --now cairn-web.service", START_SECONDS)
    await scene.machine.console.wait_for_line(r"cairn-web: http://127\.0\.0\.1:8080/\?token=", START_SECONDS)
    process = await shell.run("systemctl show --value --property=MainPID cairn-web.service")
    status = dict(line.split(":\t") for line in (await shell.run(f"cat /proc/{process}/status")).splitlines())
    assert int(status["CapEff"], 16) == int(status["CapBnd"], 16) == 0
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")
    # One of those that systemd keeps for such services (systemd.exec(5), DynamicUser=).
    assert 61184 <= int(await shell.run(f"stat --format %u /proc/{process}")) <= 65519
    token = await shell.run("cat /var/lib/private/cairn-web/token")
    assert await answer(scene, "/api/watches/cairn/status", None) == 401
    assert await answer(scene, "/api/watches/cairn/status", token) == 200
    # The group may use the watch; its keys are its user's alone.
    assert await answer(scene, "/api/watches/cairn/capture", token) == 409
    security = await shell.run("systemd-analyze security cairn-web.service | tail -n 1")
    exposure = re.search(r"exposure level .*: ([\d.]+)", security)
    assert exposure is not None and float(exposure[1]) <= WEB_EXPOSURE, security
    await shell.run("dpkg --purge cairn-web", START_SECONDS)
    assert await shell.run(f"ls -d /proc/{process} 2>/dev/null || true") == ""
    assert await shell.run("ls -d /var/lib/private/cairn-web /var/lib/cairn-web 2>/dev/null || true") == ""
    assert await scene.machine.property("ActiveState") == "active"


async def test_stopped_it_says_goodbye(scene: Scene) -> None:
    """The phone is told why, and systemd that the service ended well."""
    watch = await scene.connect()
    await watch.encrypt()
    await scene.machine.shell.run("systemctl stop cairn.service")
    assert await watch.disconnected(60) == POWER_OFF
    assert await scene.machine.property("ActiveState") == "inactive"
    assert await scene.machine.property("Result") == "success"
