"""Links that come and go leave nothing on the heap: `cairn-bench cycles` in short, in a process that does nothing else."""

from __future__ import annotations

import subprocess

from rig import cairn


def test_cycles_leave_nothing_behind() -> None:
    # Both numbers of sessions have three digits at their ends, so that lines of the watch's log have one length.
    arguments = ("cycles", "--warm-up", "360", "--count", "120")
    program = cairn.binary().parent / "cairn-bench"
    done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "left behind: 0 blocks," in done.stdout
