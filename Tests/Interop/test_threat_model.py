"""Every promise of Docs/threat-model.md names tests that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from rig.vectors import REPOSITORY

PAGE = (REPOSITORY / "Docs" / "threat-model.md").read_text(encoding="utf-8")
INTEROP = REPOSITORY / "Tests" / "Interop"
PROMISES = PAGE.partition("## What is promised")[2].partition("## What is not promised")[0]
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in PROMISES.splitlines() if re.match(r"\| [^-]", line)]
ROWS = [row for row in ROWS if row[0] != "attacker"]
NAMED = sorted({name for row in ROWS for name in re.findall(r"`([^`]+)`", row[-1])})


def test_every_promise_names_a_test() -> None:
    assert len(ROWS) > 15
    assert [row for row in ROWS if not re.search(r"`[^`]+`", row[-1])] == []


@pytest.mark.parametrize("name", NAMED)
def test_the_test_is_there(name: str) -> None:
    file, _, test = name.partition("::")
    if test:
        assert re.search(rf"^(async )?def {re.escape(test)}\(", (INTEROP / file).read_text(encoding="utf-8"), re.M), name
        return
    suite, _, function = name.partition("/")
    sources = [path for path in (REPOSITORY / "Tests").glob("*Tests/*.swift") if declares(path, suite)]
    assert sources, f"there is no suite {suite}"
    if function:
        assert any(f"func {function}(" in path.read_text(encoding="utf-8") for path in sources), name


def declares(path: Path, suite: str) -> bool:
    return re.search(rf"\bstruct {re.escape(suite)}\b", path.read_text(encoding="utf-8")) is not None


def test_every_attacker_of_a_promise_is_in_the_table() -> None:
    known = set(re.findall(r"^\| \*\*(.+?)\*\*", PAGE, re.M)) | {"all"}
    named = {word for row in ROWS for word in re.split(r", | who may read the log", row[0]) if word}
    assert named <= known, named - known


def test_every_listener_and_file_has_a_line_in_the_security_page() -> None:
    """Each option that opens a port or writes a file has its line."""
    page = (REPOSITORY / "Docs" / "security.md").read_text(encoding="utf-8")
    for option in ("--state", "--control", "--qemu-port", "--serial-port", "--air-port", "--air-socket", "--capture"):
        assert f"`{option}`" in page, option
