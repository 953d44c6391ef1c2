"""One loop in a thread of its own, on which everything waits that programs without asyncio wait for."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Coroutine, Iterator
from typing import Any, TypeVar

from .errors import CairnError

T = TypeVar("T")

_lock = threading.Lock()
_loop: asyncio.AbstractEventLoop | None = None
_thread: threading.Thread | None = None


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """What the coroutine returns or raises. The thread that asks waits for it. Ctrl-C cancels the coroutine.

    Raises RuntimeError on the background thread itself, which would wait for itself for ever.
    """
    loop = _running_loop()
    if threading.current_thread() is _thread:
        coroutine.close()
        raise RuntimeError("a coroutine of cairn_watch called a face without asyncio: use AsyncWatch and AsyncPhone there")
    future = asyncio.run_coroutine_threadsafe(coroutine, loop)
    # pytest shows where the test was, and not what waited for it here.
    __tracebackhide__ = True
    try:
        return future.result()
    except CairnError as error:
        # Its message says what happened; where this package noticed it is no help.
        raise error.with_traceback(None) from None
    except BaseException:
        future.cancel()
        raise


def iterate(items: AsyncIterator[T]) -> Iterator[T]:
    """The items one by one, each read when it is asked for. The source is closed when the iteration is left."""
    try:
        while True:
            try:
                yield run(_next(items))
            except StopAsyncIteration:
                return
    finally:
        run(_close(items))


async def _next(items: AsyncIterator[T]) -> T:
    return await anext(items)


async def _close(items: AsyncIterator[T]) -> None:
    close = getattr(items, "aclose", None)
    if close is not None:
        await close()


def _running_loop() -> asyncio.AbstractEventLoop:
    global _loop, _thread
    with _lock:
        # A thread does not live on in a process that was forked.
        if _loop is None or _thread is None or not _thread.is_alive():
            _loop = asyncio.new_event_loop()
            _thread = threading.Thread(target=_loop.run_forever, name="cairn-watch", daemon=True)
            _thread.start()
        return _loop
