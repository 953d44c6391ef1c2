"""What the tests share: the watch that is tried, on the rig that the test's parameter names."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable, Generator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import watches
from fake_watch import FakeWatch
from phones import matrix
from rig.controllers import Controllers, controllers
from watches import cairn_on


@dataclass
class Rig:
    """A watch that advertises, and the port where a phone's host attaches."""

    phone_port: int
    watch_address: str
    watch_name: str
    #: Everything between the watch's host and its controller, complete after `stop_watch`.
    capture: Path
    stop_watch: Callable[[], Awaitable[None]]
    #: Bumble's controllers, where the rig has them.
    controllers: Controllers | None = None


@contextlib.asynccontextmanager
async def fake_watch_rig(folder: Path, *, extended: bool) -> AsyncIterator[Rig]:
    """The watch that is made of Bumble."""
    capture = folder / "fake-watch.btsnoop"
    async with controllers(extended) as room, contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(FakeWatch.on(room.watch.port, capture))
        yield Rig(room.phone.port, FakeWatch.address, FakeWatch.name, capture, stack.aclose, room)


@contextlib.asynccontextmanager
async def cairn_on_bumble_rig(folder: Path, *, extended: bool) -> AsyncIterator[Rig]:
    """Cairn on one of Bumble's controllers, the phone on the other."""
    capture = folder / "cairn.btsnoop"
    async with controllers(extended) as room, contextlib.AsyncExitStack() as stack:
        arguments = ("--insecure-test-link", "--capture", str(capture))
        await stack.enter_async_context(cairn_on(room.watch.address, folder, *arguments))
        yield Rig(room.phone.port, watches.ADDRESS, watches.NAME, capture, stack.aclose, room)


@contextlib.asynccontextmanager
async def cairn_air_rig(folder: Path) -> AsyncIterator[Rig]:
    """Cairn with its own radio, the phone as a guest on it."""
    capture = folder / "cairn.btsnoop"
    async with contextlib.AsyncExitStack() as stack:
        arguments = ("--air-port", "0", "--insecure-test-link", "--capture", str(capture))
        program = await stack.enter_async_context(cairn_on("virtual", folder, *arguments))
        port = await program.wait_for_line(r"hosts at tcp:127\.0\.0\.1:(\d+)", 10)
        yield Rig(int(port[1]), watches.ADDRESS, watches.NAME, capture, stack.aclose)


RIGS: dict[str, Callable[[Path], contextlib.AbstractAsyncContextManager[Rig]]] = {
    "self-test": lambda folder: fake_watch_rig(folder, extended=True),
    "self-test-legacy": lambda folder: fake_watch_rig(folder, extended=False),
    "cairn": lambda folder: cairn_on_bumble_rig(folder, extended=True),
    "cairn-legacy": lambda folder: cairn_on_bumble_rig(folder, extended=False),
    "cairn-air": cairn_air_rig,
}


def on_rigs(*names: str) -> pytest.MarkDecorator:
    """Runs a test on each of the rigs; in its id is the rig's name, and with it what the test shows there."""
    return pytest.mark.parametrize("rig", names, indirect=True)


@pytest.fixture
async def rig(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Rig]:
    async with RIGS[request.param](tmp_path) as rig:
        yield rig
        if rig.controllers:
            assert rig.controllers.faults == []
            assert rig.controllers.watch.controller.refused == []


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, Any, Any]:
    """What Cairn logged, and what its page showed, stands under the failure of a test."""
    report = yield
    folder = getattr(item, "funcargs", {}).get("tmp_path")
    if report.failed and folder:
        for log in sorted(folder.glob("*.log")):
            report.sections.append((log.name, log.read_text(encoding="utf-8", errors="replace")[-20_000:]))
    if report.failed and report.when == "call" and (pages := getattr(item, "funcargs", {}).get("pages")):
        report.sections.append(("the page", pages[-1].account()[:20_000]))
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The matrix of companions as one table."""
    words = {
        (personality, client, situation): word
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, value in getattr(report, "user_properties", ())
        if name == matrix.PROPERTY
        for personality, client, situation, word in (value,)
    }
    if words:
        terminalreporter.section("companions, by personality and situation")
        for line in matrix.table(words):
            terminalreporter.line(line)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--quick", action="store_true", help="leave out the tests marked as slow")
    parser.addoption("--long", action="store_true", help="transfer 100 MB each way instead of 2")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--quick"):
        return
    slow = [item for item in items if item.get_closest_marker("slow")]
    for item in slow:
        print(f"left out: {item.nodeid}")
    config.hook.pytest_deselected(items=slow)
    items[:] = [item for item in items if item not in slow]
