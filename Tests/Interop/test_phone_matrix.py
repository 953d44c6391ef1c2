"""Every real client, in every situation, with every personality that promises to serve it: `phones/matrix.py`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable

import pytest
from phones.clients import KINDS
from phones.matrix import LOSSY, PROPERTY, Cell, Matrix, bridged_cells, cells, promises
from rig.vectors import REPOSITORY


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "cell" in metafunc.fixturenames:
        parameters = [
            pytest.param(cell, id=str(cell), marks=[pytest.mark.slow] if cell.situation == LOSSY else [])
            for cell in [*cells(), *bridged_cells()]
        ]
        metafunc.parametrize("cell", parameters)


@pytest.fixture(scope="module")
def matrix(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Matrix:
    """The cells that this run asks for."""
    parameters = [getattr(item, "callspec").params for item in request.session.items if hasattr(item, "callspec")]
    wanted = [each["cell"] for each in parameters if isinstance(each.get("cell"), Cell)]
    # Among several processes each has a part of the tests, mostly whole stories.
    return Matrix(wanted, tmp_path_factory.mktemp, one_by_one="PYTEST_XDIST_WORKER" in os.environ)


# The first cell waits for all the others, which wait for the slowest client.
@pytest.mark.timeout(900)
def test_cell(cell: Cell, matrix: Matrix, record_property: Callable[[str, object], None]) -> None:
    outcome = matrix.outcome(cell)
    word = "FAILED" if outcome.failure else f"{outcome.seconds:.1f} s" if cell.promise.works else "refused"
    # The table is that of personalities, which promise the same in front of the firmware.
    if not cell.is_bridged:
        record_property(PROPERTY, (cell.promise.personality, cell.promise.client, cell.situation, word))
    if outcome.failure is not None:
        raise outcome.failure


def test_every_client_has_a_script() -> None:
    assert {promise.client for promise in promises()} == set(KINDS)


def test_the_guide_promises_the_same() -> None:
    """Docs/personalities.md has a row for each client and a column for each personality."""
    guide = (REPOSITORY / "Docs" / "personalities.md").read_text(encoding="utf-8")
    rows = [[field.strip() for field in line.strip("|").split("|")] for line in guide.splitlines() if "|" in line]
    head = next(row for row in rows if row[0] == "client")
    personalities = [name.strip("`") for name in head[1:]]
    said = {
        (match[1], personality): answer.startswith("yes")
        for row in rows
        if (match := re.search(r"`([a-z0-9-]+)`$", row[0]))
        for personality, answer in zip(personalities, row[1:], strict=True)
    }
    assert said == {(each.client, each.personality): each.works for each in promises()}
