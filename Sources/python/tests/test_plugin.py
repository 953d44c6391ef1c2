"""pytest's plugin, on a program that stands in for `cairn`."""

from __future__ import annotations

from pathlib import Path

import pytest

#: Plugins that an inner run does without. Those of others may be installed, and cost more to load than the run itself.
WITHOUT = ("cacheprovider", "anyio", "asyncio", "hypothesispytest", "labgrid", "schemathesis")

#: What every inner run needs.
ARGUMENTS = (*(f"-pno:{name}" for name in WITHOUT), "--strict-markers")

#: After how many seconds an inner run is taken to hang.
LIMIT = 120


def run(pytester: pytest.Pytester, program: Path, text: str, *arguments: str) -> pytest.RunResult:
    """Runs a file of tests in a process of its own."""
    pytester.makepyfile(text)
    return pytester.runpytest_subprocess(*ARGUMENTS, f"--cairn={program}", *arguments, timeout=LIMIT)


def test_a_watch_of_its_own(pytester: pytest.Pytester, program: Path) -> None:
    result = run(
        pytester,
        program,
        """
        import pytest
        pytestmark = pytest.mark.cairn(personality="silk", settings={"phones": 2, "name": "module"})

        def test_one(watch, tmp_path):
            first = watch.log.splitlines()[0]
            assert f"--state {tmp_path}/watch " in first and f"--capture {tmp_path}/watch.btsnoop" in first
            assert "--personality silk" in first and "--phones 2" in first and "--name module" in first

        @pytest.mark.cairn(personality="core", pairing="open", settings={"name": "nearer"})
        def test_two(watch):
            first = watch.log.splitlines()[0]
            assert "--personality core" in first and "--pairing open" in first
            assert "--phones 2" in first and "--name nearer" in first

        @pytest.mark.cairn(apps=["one.pbw"], behaviours={"u": {"rules": []}, "v": "echo", "w": "one.pbw"})
        def test_apps(watch, tmp_path):
            first = watch.log.splitlines()[0]
            assert "/one.pbw --behaviour" in first and f"u={tmp_path}/u.json" in first and "v=echo" in first
            assert (tmp_path / "u.json").read_text() == '{"rules": []}'

        def test_several(start_watch):
            first, second = start_watch(), start_watch(name="second")
            assert first.pid != second.pid and "--name second" in second.log
        """,
    )
    result.assert_outcomes(passed=3, errors=1)
    result.stdout.fnmatch_lines(["*the marker cairn names one.pbw, and there is no */one.pbw"])
    (pytester.path / "one.pbw").touch()
    pytester.runpytest_subprocess(*ARGUMENTS, f"--cairn={program}", timeout=LIMIT).assert_outcomes(passed=4)


def test_the_report_of_a_failure(pytester: pytest.Pytester, program: Path) -> None:
    result = run(pytester, program, "def test_it(watch):\n    watch.wait_for('session', timeout=0.1)\n")
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        [
            "*TimedOut: timed-out: waited 0.1 s until the watch is “session”*",
            "*watch: status*",
            '*"name": "Pebble FAKE"*',
            "*watch: screen*",
            "*/watch.png",
            "*watch: capture*",
            "*/watch.btsnoop",
            "*watch: log*",
            "run --controller virtual*",
        ]
    )
    report = result.stdout.str()
    for kind in ("png", "btsnoop"):
        (named,) = {line for line in report.splitlines() if line.startswith("/") and line.endswith(f"/watch.{kind}")}
        assert Path(named).stat().st_size > 0


def test_the_report_of_a_watch_that_hangs_or_died(pytester: pytest.Pytester, program: Path) -> None:
    result = run(
        pytester,
        program,
        """
        import os, signal

        def test_hangs(watch):
            os.kill(watch.pid, signal.SIGSTOP)
            # Its threads stop one after the other, and one that still runs answers.
            os.waitid(os.P_PID, watch.pid, os.WSTOPPED)
            watch.status()

        def test_dies(watch):
            os.kill(watch.pid, signal.SIGKILL)

        def test_is_killed(watch):
            watch.kill()

        def test_is_closed(watch):
            watch.close()
        """,
    )
    result.assert_outcomes(passed=3, failed=1, errors=1)
    result.stdout.fnmatch_lines(["*ended by itself, with status -9*"])
    result.stdout.fnmatch_lines(["*WatchHangs: hangs: the watch*", "*watch: status*", "*has not answered for 0.7 s*"])


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ('settings={"name": "refuses"}', "*there is no such controller*"),
        ('settings={"name": "ends-badly"}', "*ended with status 3 when it was asked to end*"),
        ("wings=2", "*the marker cairn takes personality, *, and not wings*"),
        ('"silk"', "*the marker cairn takes personality, *, and not 'silk'*"),
        ('apps=["none.pbw"]', "*names none.pbw, and there is no *"),
    ],
)
def test_what_is_wrong_is_told(pytester: pytest.Pytester, program: Path, settings: str, words: str) -> None:
    result = run(
        pytester, program, f"import pytest\n@pytest.mark.cairn({settings})\ndef test_it(watch):\n    pass\n"
    )
    assert result.parseoutcomes()["errors" if "errors" in result.parseoutcomes() else "error"] == 1
    result.stdout.fnmatch_lines([words])


def test_many_at_once(pytester: pytest.Pytester, program: Path) -> None:
    result = run(
        pytester,
        program,
        """
        import pytest

        @pytest.mark.parametrize("number", range(8))
        def test_it(watch, number):
            watch.press("up")
            assert len(watch.history()) == 1
        """,
        "-n",
        "2",
    )
    result.assert_outcomes(passed=8)


def test_patience_can_be_set(pytester: pytest.Pytester, program: Path) -> None:
    pytester.makeini("[pytest]\ncairn_alive_within = 2.5\n")
    result = run(
        pytester,
        program,
        """
        import os, signal

        def test_it(watch):
            os.kill(watch.pid, signal.SIGSTOP)
            # Its threads stop one after the other, and one that still runs answers.
            os.waitid(os.P_PID, watch.pid, os.WSTOPPED)
            watch.status()
        """,
    )
    result.stdout.fnmatch_lines(["*has not answered for 2.5 s*"])


def test_a_test_without_a_watch_pays_nothing(pytester: pytest.Pytester, program: Path) -> None:
    result = run(
        pytester,
        program,
        "import sys, threading\ndef test_it():\n"
        "    assert 'bumble' not in sys.modules\n"
        "    assert all(each.name != 'cairn-watch' for each in threading.enumerate())\n",
    )
    result.assert_outcomes(passed=1)
