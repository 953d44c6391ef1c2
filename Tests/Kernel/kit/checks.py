"""Named checks: each prints one line, 'ok NAME', 'FAILED NAME: why' or 'skipped NAME: why'."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import time
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable

#: Which adapters this run has, 'air' or 'btvirt'. It stands before each name.
RIG = os.environ.get("CAIRN_RIG", "air")


class Skipped(Exception):
    """What a check needs is not there."""


class Abandoned(Exception):
    """A check failed without which the rest makes no sense."""


_failed = 0


@contextlib.asynccontextmanager
async def check(name: str, *, vital: bool = False) -> AsyncIterator[None]:
    """A check is what is done in the block. After a vital one that failed, the subject ends.

    The subject's name and the adapters' stand before `name`.
    """
    global _failed
    full = f"{_subject()}, {RIG}: {name}"
    began = time.monotonic()
    try:
        yield
    except Skipped as reason:
        print(f"skipped {full}: {reason}", flush=True)
    except Exception as error:
        traceback.print_exc()
        _failed += 1
        print(f"FAILED {full}: {_sentence(error)}", flush=True)
        if vital:
            raise Abandoned from error
    else:
        print(f"ok {full} ({time.monotonic() - began:.1f} s)", flush=True)


def main(subject: Callable[[], Awaitable[None]]) -> None:
    """Runs a subject, and ends with status 1 if a check failed."""
    try:
        asyncio.run(_run(subject))
    except Abandoned:
        pass
    sys.exit(1 if _failed else 0)


async def _run(subject: Callable[[], Awaitable[None]]) -> None:
    await subject()


def _subject() -> str:
    return os.path.basename(sys.argv[0]).removesuffix(".py")


def _sentence(error: Exception) -> str:
    """The error on one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}"[:300]
