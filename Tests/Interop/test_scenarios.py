"""`cairn scenario`: what is checked and refused, what a run writes, and a scenario with a watch and a phone that run."""

from __future__ import annotations

import json
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from rig import cairn
from rig.vectors import REPOSITORY
from test_control import UNAVAILABLE, USAGE, command
from test_phone_command import both_on_air

FAILED = 70
CONFIGURATION = 78

SHIPPED = sorted((REPOSITORY / "Sources/Scenarios/Shipped").glob("*.yaml"))
SCHEMA = json.loads((REPOSITORY / "Docs/scenario.schema.json").read_text("utf-8"))

#: A scenario that needs no phone.
RESTART = """
phone: none
steps:
  - do: watch restart
  - expect: watch started
    within: 10 s
"""


async def scenario(*words: str) -> tuple[int, str, str]:
    return await command("scenario", *words, environment={"CAIRN_SCENARIOS": str(REPOSITORY / "Sources/Scenarios/Shipped")})


def written(folder: Path, text: str, name: str = "mine") -> str:
    path = folder / f"{name}.yaml"
    path.write_text(text, "utf-8")
    return str(path)


# MARK: Files


def test_the_schema_is_what_the_vocabularies_say() -> None:
    Draft202012Validator.check_schema(SCHEMA)
    subprocess.run([REPOSITORY / "Sources/Scenarios/generate", "--check"], check=True, timeout=60)


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_what_is_shipped_conforms_to_the_schema(path: Path) -> None:
    errors = list(Draft202012Validator(SCHEMA).iter_errors(yaml.safe_load(path.read_text("utf-8"))))
    assert not errors, errors[0]


@pytest.mark.parametrize(
    "text",
    [
        "name: x",
        "steps: [{do: watch pres}]",
        "steps: [{do: watch press, with: {buton: up}}]",
        "steps: [{expect: watch conected}]",
        "steps: [{never: watch connected}]",
        "steps: [{fault: radio.los}]",
        "steps: [{do: watch restart, expect: watch started}]",
        "defect: unheard-of\nsteps: []",
        "steps: [{until: watch restart, gives: {}}]",
    ],
)
async def test_the_schema_and_the_program_refuse_the_same(tmp_path: Path, text: str) -> None:
    assert not Draft202012Validator(SCHEMA).is_valid(yaml.safe_load(text))
    status, _, errors = await scenario("check", written(tmp_path, text, "x"))
    assert status == CONFIGURATION, errors


async def test_what_is_shipped_is_right() -> None:
    status, output, errors = await scenario("check", *(path.stem for path in SHIPPED))
    assert status == 0, errors
    assert [line.split(":")[0] for line in output.splitlines()] == [path.stem for path in SHIPPED]
    status, output, errors = await scenario("list")
    assert status == 0, errors
    assert sum(line.strip().startswith("https://") for line in output.splitlines()) >= 25


async def test_every_error_has_its_place(tmp_path: Path) -> None:
    path = written(tmp_path, "phone: reel\nsteps:\n  - do: watch pres\n  - expect: watch connected\n    within: soon\n")
    status, output, errors = await scenario("check", path)
    assert status == CONFIGURATION and not output
    places = [f"{path}:1:8: ", f"{path}:3:9: ", f"{path}:5:13: "]
    assert all(place in errors for place in places), errors
    assert "did you mean real?" in errors and "did you mean press?" in errors


async def test_what_is_not_there(tmp_path: Path) -> None:
    status, _, errors = await scenario("run", "watch-restart")
    assert status == UNAVAILABLE and "did you mean watch-restarts?" in errors
    status, _, errors = await scenario("check", str(tmp_path / "gone.yaml"))
    assert status == CONFIGURATION and "there is no such file" in errors
    status, _, errors = await scenario("suite", str(tmp_path))
    assert status == UNAVAILABLE and "there are no scenarios" in errors
    status, _, errors = await scenario("run", "--set", "minutes", "away-for-an-hour")
    assert status == USAGE and "minutes=10" in errors
    status, _, errors = await scenario("run", "--set", "awy=1s", "away-for-an-hour")
    assert status == CONFIGURATION and "did you mean away?" in errors
    status, _, errors = await scenario("run", "--defect", "stays-awa", "watch-restarts")
    assert status == USAGE and "did you mean stays-away?" in errors
    status, _, errors = await scenario("run", "--state", str(tmp_path), "watch-restarts", "--phone-state", str(tmp_path))
    assert status == UNAVAILABLE and "no watch runs" in errors


async def test_a_watch_setting_that_there_is_not(tmp_path: Path) -> None:
    path = written(tmp_path, "watch:\n  pairing:\n    anser: open\nphone: none\nsteps:\n  - after: 1 s\n")
    status, _, errors = await scenario("check", path)
    assert status == CONFIGURATION and "did you mean pairing.answer?" in errors


# MARK: Runs in virtual time


async def test_a_run_writes_a_report_and_a_transcript(tmp_path: Path) -> None:
    good = written(tmp_path, RESTART, "good")
    bad = written(tmp_path, RESTART.replace("watch started", "watch forgotten"), "bad")
    report, transcript = tmp_path / "junit.xml", tmp_path / "transcript.txt"
    status, _, errors = await scenario(
        "run", good, bad, "--seed", "9", "--report", str(report), "--transcript", str(transcript)
    )
    assert status == FAILED, errors
    suite = ElementTree.parse(report).getroot().find("testsuite")
    assert suite is not None and suite.attrib["tests"] == "2" and suite.attrib["failures"] == "1"
    cases = {case.attrib["name"]: case for case in suite.iter("testcase")}
    assert cases["good"].find("failure") is None
    failure = cases["bad"].find("failure")
    assert failure is not None and "forgotten" in failure.attrib["message"]
    story = failure.text or ""
    for part in (f"{bad}:5:5", "expected", "instead", "do      watch restart", "last packets", f"--seed 9 {bad}"):
        assert part in story, story
        assert part in errors, errors
    lines = transcript.read_text("utf-8").splitlines()
    assert lines[0] == "# good, seed 9" and lines[1] == "0.000 do      watch restart"


async def test_the_same_seed_gives_the_same_transcript(tmp_path: Path) -> None:
    texts = []
    for name in ("one", "two"):
        path = tmp_path / name
        status, _, errors = await scenario("run", "watch-restarts", "--seed", "5", "--transcript", str(path))
        assert status == 0, errors
        texts.append(path.read_bytes())
    assert texts[0] == texts[1] and texts[0].count(b"\n") > 10


async def test_a_defect_is_found() -> None:
    status, _, errors = await scenario("run", "watch-restarts", "--defect", "stays-away")
    assert status == FAILED and "session-opened" in errors and "--defect stays-away" in errors


async def test_a_suite_has_a_score_card(tmp_path: Path) -> None:
    written(tmp_path, "description: It restarts.\n" + RESTART, "good")
    bad = RESTART.replace("watch started", "watch forgotten")
    written(tmp_path, "good companion: It does better.\n" + bad, "bad")
    status, output, _ = await scenario("suite", str(tmp_path))
    assert status == FAILED
    assert "1 of 2 scenarios passed." in output and "a good companion: It does better." in output
    status, output, _ = await scenario("suite", str(tmp_path), "--json")
    card: dict[str, Any] = json.loads(output)
    assert (card["passed"], card["count"]) == (1, 2)
    assert [each["passed"] for each in card["scenarios"]] == [False, True]
    assert card["scenarios"][0]["failure"]["expected"].startswith("the watch's event “forgotten”")


# MARK: With a watch and a phone that run


@pytest.mark.parametrize("name", ["watch-restarts", "bond-lost-by-watch", "notification-while-away"])
async def test_a_watch_and_a_companion_that_run(tmp_path: Path, name: str) -> None:
    async with both_on_air(tmp_path, phone_options=("--companion",)) as state:
        here = ("--state", str(state), "--phone-state", str(state), "--patience", "3")
        status, _, errors = await scenario("run", *here, name)
        assert status == 0, errors


async def test_a_companion_that_runs_and_has_a_defect(tmp_path: Path) -> None:
    async with both_on_air(tmp_path, phone_options=("--companion", "--defect", "keeps-lost-bond")) as state:
        here = ("--state", str(state), "--phone-state", str(state), "--patience", "0.2")
        status, _, errors = await scenario("run", *here, "bond-lost-by-watch")
        assert status == FAILED and "bond-lost-by-watch.yaml:" in errors and "“paired”" in errors, errors


async def test_a_real_phone_is_told_what_to_do(tmp_path: Path) -> None:
    """Without a terminal nothing is waited for: the phone that is told does nothing, and the scenario fails in its time."""
    state = tmp_path / "state"
    async with cairn.running(
        "run", "--controller", "virtual", "--state", str(state), log=tmp_path / "watch.log"
    ) as watch:
        await watch.wait_for_line("advertises for", cairn.START_SECONDS)
        here = ("--state", str(state), "--phone", "real", "--patience", "0.1")
        status, _, errors = await scenario("run", *here, "watch-restarts")
        assert status == FAILED and "→ Set the watch up in the companion app" in errors, errors
        status, _, errors = await scenario("run", *here, "pairing-refused-once")
        assert status == 0 and "skipped" in errors and "--as-it-runs" in errors


async def test_options_that_do_not_go_together(tmp_path: Path) -> None:
    for options in (("--phone", "real"), ("--phone-state", str(tmp_path)), ("--state", "x", "--defect", "stays-away")):
        status, _, errors = await scenario("run", *options, "watch-restarts")
        assert status == USAGE, errors
    status, _, errors = await command("phone", "run", "--controller", "virtual", "--control", "x", "--defect", "stays-away")
    assert status == USAGE and "--companion" in errors
