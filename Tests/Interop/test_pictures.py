"""The pictures of the documentation are current, and a page shows each: Docs/pictures/make makes them."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import ModuleType
from xml.etree import ElementTree

import pytest
from PIL import Image
from rig import cairn
from rig.vectors import REPOSITORY

PICTURES = REPOSITORY / "Docs" / "pictures"


def loaded(path: Path) -> ModuleType:
    """The script as a module."""
    loader = SourceFileLoader("make_pictures", str(path))
    spec = importlib.util.spec_from_loader(loader.name, loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def make() -> ModuleType:
    return loaded(PICTURES / "make")


def check(root: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(root / "Docs" / "pictures" / "make"), "--check"]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_every_picture_is_current() -> None:
    """What it says is which picture is not, and how to make it again."""
    result = check(REPOSITORY)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize(
    ("file", "picture"),
    [
        ("Docs/pictures/measured/ladder-current.md", "ladder"),
        ("Package.swift", "rooms"),
        ("Docs/pictures/finding.svg", "finding"),
    ],
)
def test_a_picture_that_is_not_current_is_named(tmp_path: Path, file: str, picture: str) -> None:
    """A changed input, or a changed picture."""
    shutil.copytree(PICTURES, tmp_path / "Docs" / "pictures", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(REPOSITORY / "Package.swift", tmp_path)
    assert check(tmp_path).returncode == 0
    with (tmp_path / file).open("a", encoding="utf-8") as changed:
        changed.write("\n// one line more\n")
    result = check(tmp_path)
    assert result.returncode == 1
    assert result.stdout == f"Docs/pictures/{picture}.svg is not current: run Docs/pictures/make {picture}\n"


def test_the_screens_are_those_of_a_watch(make: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A real run shows the same, pixel by pixel."""
    monkeypatch.setenv("CAIRN_BINARY", str(cairn.binary()))
    make.measure_screens(tmp_path)
    for name in make.SCREENS:
        with Image.open(tmp_path / f"{name}.png") as now, Image.open(make.MEASURED / "screens" / f"{name}.png") as kept:
            same = now.convert("RGB").tobytes() == kept.convert("RGB").tobytes()
        assert same, f"{name} looks otherwise: run Docs/pictures/make --measure screens"


def test_rooms_are_the_targets_of_the_package(make: ModuleType) -> None:
    """Each is a row of the table of rooms, and its uses are rooms as well."""
    rooms = make.packages()
    table = (REPOSITORY / "Docs" / "architecture.md").read_text(encoding="utf-8")
    assert "cairn" in rooms and "Timeline" in rooms["cairn"] and "BluetoothHCI" in rooms["BluetoothHost"]
    assert [name for name in rooms if f"`{name}`" not in table] == []
    assert all(use in rooms for uses in rooms.values() for use in uses)


@pytest.mark.parametrize("path", sorted(PICTURES.glob("*.svg")), ids=lambda path: path.stem)
def test_a_picture_can_be_read_by_everyone(make: ModuleType, path: Path) -> None:
    """It has words for those who do not see it, both themes, loads nothing, and a page shows it with other words."""
    text = path.read_text(encoding="utf-8")
    root = ElementTree.fromstring(text)
    for element in ("title", "desc"):
        assert (root.findtext(f"{{http://www.w3.org/2000/svg}}{element}") or "").strip()
    assert "prefers-color-scheme:dark" in text
    assert not re.search(r'href="(?!data:)|url\((?!#)|<script', text)
    assert path.stem in make.PICTURES
    pages = [REPOSITORY / "README.md", *(REPOSITORY / "Docs").glob("*.md")]
    shown = [
        words
        for page in pages
        for words, target in re.findall(r"!\[([^\]]*)\]\(([^)]+)\)", page.read_text(encoding="utf-8"))
        if (page.parent / target).resolve() == path
    ]
    assert shown and all(len(words) > 20 for words in shown)
