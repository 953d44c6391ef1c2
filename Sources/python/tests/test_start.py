"""A watch that is started here, and its end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cairn_watch import StartFailed, Watch, WatchGone, WatchHangs
from cairn_watch.program import Program, options


def test_settings_become_options(program: Path, tmp_path: Path) -> None:
    with Watch.start("hci0", tmp_path / "s", program, log_level="debug", battery=False) as watch:
        first = watch.log.splitlines()[0]
        control = f"--control {tmp_path / 's' / 'control.sock'}" if len(str(tmp_path)) < 80 else "--control"
        assert first.startswith(f"run --controller hci0 --state {tmp_path / 's'} {control}")
        assert first.endswith("--log-level debug --no-battery")
    assert options({"app": ["a", "b"], "behaviour": {"u": "echo"}, "beacon": None, "bonding": True}) == [
        "--app", "a", "--app", "b", "--behaviour", "u=echo", "--bonding"
    ]  # fmt: skip


def test_a_virtual_radio_has_a_port_for_phones(program: Path) -> None:
    with Watch.start(program=program) as watch:
        assert watch.log.splitlines()[0].endswith("--air-port 0")


def test_what_was_started_is_stopped_and_removed(program: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    with Watch.start(program=program, log=log) as watch:
        pid, folder = watch.pid, watch.control.parents[1]
        assert folder.exists() and not watch.has_died
    assert watch.exit_status == 0 and not watch.has_died
    assert not folder.exists() and log.read_text().endswith("goodbye\n")
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_a_state_directory_with_a_long_path(program: Path, tmp_path: Path) -> None:
    state = tmp_path / ("x" * 100)
    with Watch.start(state=state, program=program) as watch:
        assert watch.status()["isReady"] and len(str(watch.control)) < 108
    assert not watch.control.exists()


def test_a_program_that_ends_at_once(program: Path) -> None:
    with pytest.raises(StartFailed, match=r"(?s)ended with status 69:\n.*there is no such controller") as error:
        Watch.start(program=program, name="refuses")
    assert error.value.code == "start-failed"


def test_a_watch_that_is_never_ready(program: Path) -> None:
    for seconds in (1, 4, 16):
        with pytest.raises(StartFailed, match=f"not ready within {seconds} s") as error:
            Watch.start(program=program, name="never-ready", timeout=seconds)
        # On a machine that is full of other tests, the program itself may take longer than that to start.
        if "it does not take commands" not in error.value.message:
            break
    assert f"not ready within {seconds} s: its controller is not ready" in error.value.message


def test_no_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(StartFailed, match="/nowhere is no program"):
        Watch.start(program="/nowhere")
    monkeypatch.delenv("CAIRN_BINARY", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(StartFailed, match="there is no “cairn” on the PATH"):
        Watch.start()


def test_a_watch_that_is_killed(program: Path) -> None:
    with Watch.start(program=program) as watch:
        os.kill(watch.pid, signal.SIGKILL)
        with pytest.raises(WatchGone, match=r"was ended by SIGKILL while .*; it said:\nrun --controller"):
            watch.status()
        assert watch.exit_status == -9 and watch.has_died
    with Watch.start(program=program) as watch:
        watch.kill()
        assert watch.exit_status == -9 and not watch.has_died


def test_a_watch_that_will_not_end(program: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Program.stop, "__defaults__", (0.3,))
    watch = Watch.start(program=program, name="stubborn")
    with pytest.raises(WatchHangs, match=r"did not end within 0\.3 s of SIGTERM, and was killed"):
        watch.close()
    assert watch.exit_status == -9


def test_a_watch_that_is_stopped_ends_when_it_is_asked_to(program: Path) -> None:
    with Watch.start(program=program) as watch:
        os.kill(watch.pid, signal.SIGSTOP)
    assert watch.exit_status == 0


def test_what_a_script_forgot_does_not_outlive_it(program: Path) -> None:
    script = f"import cairn_watch\nprint(cairn_watch.Watch.start(program={str(program)!r}).pid)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    end = time.monotonic() + 5
    while Path(f"/proc/{int(done.stdout)}").exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert not Path(f"/proc/{int(done.stdout)}").exists()


def test_a_watch_that_was_there_before_is_not_taken_for_the_new_one(program: Path, tmp_path: Path) -> None:
    with Watch.start(program=program) as first:
        with pytest.raises(StartFailed):
            Watch.start(program=program, control=first.control, name="refuses")
        assert first.status()["isReady"]
