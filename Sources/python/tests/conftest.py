"""What the tests share: a watch that is none."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_cairn import FakeWatch

from cairn_watch import Watch

pytest_plugins = ["pytester"]


@pytest.fixture
def place() -> Iterator[Path]:
    """A socket's path, short enough for one."""
    with tempfile.TemporaryDirectory(prefix="fake-") as folder:
        yield Path(folder) / "control.sock"


@pytest.fixture
def fake(place: Path) -> Iterator[FakeWatch]:
    watch = FakeWatch(place)
    yield watch
    watch.end()


@pytest.fixture
def watch(fake: FakeWatch) -> Iterator[Watch]:
    with Watch.connect(fake.path) as watch:
        yield watch


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """The program that stands in for `cairn`."""
    path = Path(__file__).with_name("fake_cairn.py")
    assert os.access(path, os.X_OK)
    return path


class Lateness(threading.Thread):
    """For how long this process had no processor although it wanted one, in seconds."""

    step = 0.01

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.seconds = 0.0
        self.is_wanted = True

    def run(self) -> None:
        while self.is_wanted:
            begin = time.monotonic()
            time.sleep(self.step)
            late = time.monotonic() - begin - self.step
            # What a sleep always takes longer is none.
            if late > self.step / 2:
                self.seconds += late


@pytest.fixture
def lateness() -> Iterator[Lateness]:
    """Limits of time are for the package, and not for the other programs of the machine."""
    thread = Lateness()
    thread.start()
    yield thread
    thread.is_wanted = False
    thread.join()
