"""Links that come and go leave nothing on the heap: `cairn-bench cycles` in short.

In a process of its own: the C library rounds what is asked for up to the block that it has, and in a process where other tests run at
the same time that is now 16 bytes more, now less.
"""

from __future__ import annotations

import subprocess

from rig import cairn

#: What the program says of a heap on which nothing was left.
NOTHING = "left behind: 0 blocks, 0 bytes"


def test_cycles_leave_nothing_behind() -> None:
    # Both numbers of sessions have three digits at their ends, so that lines of the watch's log have one length.
    arguments = ("cycles", "--warm-up", "360", "--count", "120")
    program = cairn.binary().parent / "cairn-bench"
    done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    assert NOTHING in done.stdout.splitlines(), done.stdout
