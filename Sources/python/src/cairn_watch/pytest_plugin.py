"""Fixtures for tests against a watch: `watch`, `phone`, `cairn_air`, `start_watch`, and the marker `cairn`.

Every test has its own watch, directory and ports, so that tests can run at once (pytest-xdist). The report of a test that has
failed has the watch's status, its screen, where its capture is, and its log.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from .asynchronous import ALIVE_WITHIN
from .blocking import Air, Watch
from .errors import CairnError, UnknownCommand

if TYPE_CHECKING:
    from .phone import Phone

#: How much of a log stands in a report, in characters.
LOG_LIMIT = 20_000
#: What the marker takes.
_WORDS = ("personality", "apps", "behaviours", "pairing", "settings", "air")


@dataclass
class _Started:
    """A watch of a test."""

    watch: Watch
    name: str
    capture: Path


@dataclass
class _Bench:
    """What a test has started."""

    directory: Path
    started: list[_Started] = field(default_factory=list)
    #: The logs of the watches, also of one that did not start.
    logs: dict[str, Path] = field(default_factory=dict)


_BENCH = pytest.StashKey[_Bench]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """The program, and how patient the tests are with it."""
    group = parser.getgroup("cairn", "tests against a Cairn watch")
    group.addoption("--cairn", metavar="PROGRAM", help="the program cairn; else CAIRN_BINARY, else the one on the PATH")
    parser.addini(
        "cairn_alive_within", f"how long a watch may take to say that it lives, in seconds ({ALIVE_WITHIN:g})", default=""
    )


def pytest_configure(config: pytest.Config) -> None:
    """The marker."""
    config.addinivalue_line(
        "markers",
        "cairn(personality, apps, behaviours, pairing, settings, air): how the fixture `watch` starts its watch. apps: "
        "packages (.pbw), from the test's directory on; behaviours: of each app's UUID, echo, external, a file of rules, or "
        "the rules; settings: options of cairn run; air: options of cairn air, for the fixture `cairn_air`",
    )


def _marked(node: pytest.Item) -> dict[str, Any]:
    """What the markers of a test say: those that are nearer to it win, and settings come together."""
    result: dict[str, Any] = {}
    for marker in reversed(list(node.iter_markers("cairn"))):
        unknown = [word for word in marker.kwargs if word not in _WORDS]
        if marker.args or unknown:
            wrong = ", ".join(unknown) or repr(marker.args[0])
            raise pytest.UsageError(f"{node.nodeid}: the marker cairn takes {', '.join(_WORDS)} by name, and not {wrong}")
        for word, value in marker.kwargs.items():
            result[word] = {**result.get(word, {}), **value} if isinstance(value, dict) else value
    return result


def _settings(node: pytest.Item, directory: Path) -> dict[str, Any]:
    """The markers as settings of `Watch.start`."""
    marked = _marked(node)
    settings: dict[str, Any] = {word: marked[word] for word in ("personality", "pairing") if word in marked}
    if "apps" in marked:
        settings["app"] = [str(_existing(node, app)) for app in marked["apps"]]
    behaviours = {}
    for app, behaviour in marked.get("behaviours", {}).items():
        if isinstance(behaviour, dict):
            rules = directory / f"{app}.json"
            rules.write_text(json.dumps(behaviour))
            behaviours[app] = str(rules)
        elif behaviour in ("echo", "external"):
            behaviours[app] = behaviour
        else:
            behaviours[app] = str(_existing(node, behaviour))
    if behaviours:
        settings["behaviour"] = behaviours
    settings.update(marked.get("settings", {}))
    return settings


def _existing(node: pytest.Item, path: str | Path) -> Path:
    """A file that a marker names, from the test's directory on."""
    whole = node.path.parent / path
    if not whole.exists():
        raise pytest.UsageError(f"{node.nodeid}: the marker cairn names {path}, and there is no {whole}")
    return whole


@pytest.fixture
def cairn_air(request: pytest.FixtureRequest) -> Iterator[Air]:
    """A virtual radio of the test's own, which its watches and phones share. The marker's `air` has its options."""
    with Air.start(program=request.config.getoption("--cairn"), **_marked(request.node).get("air", {})) as air:
        yield air


@pytest.fixture
def start_watch(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., Watch]]:
    """Starts a watch as the marker says: for tests with several, or with none at first.

    What it is called with are more settings of `Watch.start`, which win. A test in which a watch ends by itself, or does not
    end well when it is asked to, has an error at its end. A test that ends its watch calls `watch.kill()` or `watch.close()`.
    """
    bench = request.node.stash.setdefault(_BENCH, _Bench(tmp_path))
    air: Air | None = request.getfixturevalue("cairn_air") if "cairn_air" in request.fixturenames else None
    alive_within = float(request.config.getini("cairn_alive_within") or ALIVE_WITHIN)

    def start(**more: Any) -> Watch:
        name = f"watch{len(bench.logs) + 1 if bench.logs else ''}"
        log = bench.logs[name] = tmp_path / f"{name}.log"
        settings = {
            "program": request.config.getoption("--cairn"),
            "state": tmp_path / name,
            "capture": tmp_path / f"{name}.btsnoop",
            "log_level": "debug",
            **({"controller": air.air} if air is not None else {}),
            **_settings(request.node, tmp_path),
            **more,
        }
        watch = Watch.start(log=log, alive_within=alive_within, **settings)
        bench.started.append(_Started(watch, name, Path(settings["capture"])))
        return watch

    yield start
    problems = [problem for each in reversed(bench.started) if (problem := _stopped(each))]
    if problems:
        pytest.fail("\n".join(problems), pytrace=False)


def _stopped(started: _Started) -> str | None:
    """Stops a watch by its process identifier. What was wrong with its end."""
    watch = started.watch
    try:
        watch.close()
    except CairnError as error:
        return f"{started.name}: {error.message}"
    if watch.has_died:
        return f"{started.name} (process {watch.pid}) ended by itself, with status {watch.exit_status}: its log says more"
    # What is negative is the test's own kill().
    if watch.exit_status is not None and watch.exit_status > 0:
        return f"{started.name} (process {watch.pid}) ended with status {watch.exit_status} when it was asked to end"
    return None


@pytest.fixture
def watch(start_watch: Callable[..., Watch]) -> Watch:
    """A watch of the test's own, ready. The marker `cairn` says what kind. It is on `cairn_air` if the test has that."""
    return start_watch()


@pytest.fixture
def phone(request: pytest.FixtureRequest) -> Iterator[Phone]:
    """A phone on the same radio as the test's watch, which it does not know yet. Needs the extra `phone`."""
    try:
        from .phone import Phone
    except ModuleNotFoundError as error:
        pytest.fail(str(error), pytrace=False)
    has_own_air = "watch" in request.fixturenames and "cairn_air" not in request.fixturenames
    with Phone(request.getfixturevalue("watch" if has_own_air else "cairn_air")) as phone:
        yield phone


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Under the failure of a test stands what its watches have to say."""
    report = yield
    bench = item.stash.get(_BENCH, None)
    if report.failed and bench is not None:
        for started in bench.started:
            report.sections += _account(started, bench.directory)
        for name, log in bench.logs.items():
            if log.exists():
                report.sections.append((f"{name}: log", log.read_text(encoding="utf-8", errors="replace")[-LOG_LIMIT:]))
    return report


def _account(started: _Started, directory: Path) -> list[tuple[str, str]]:
    """The status, the screen and the capture's path. A watch that hangs or is gone says so instead."""
    watch, name = started.watch, started.name
    sections: list[tuple[str, str]] = []
    try:
        sections.append((f"{name}: status", json.dumps(watch.status(), indent=2, ensure_ascii=False)))
        picture = watch.screen().save(directory / f"{name}.png")
        sections.append((f"{name}: screen", str(picture)))
    except UnknownCommand:
        # A watch before the command `screenshot`.
        pass
    except CairnError as error:
        sections.append((f"{name}: status", error.message))
    sections.append((f"{name}: capture", str(started.capture)))
    return sections
