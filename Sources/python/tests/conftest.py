"""What the tests share: a watch that is none."""

from __future__ import annotations

import os
import tempfile
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
