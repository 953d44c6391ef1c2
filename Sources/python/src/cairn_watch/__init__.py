"""A Pebble watch for tests: Cairn, driven from Python.

`Watch` and `Air` are for programs without asyncio, `AsyncWatch` and `AsyncAir` for those with it. `cairn_watch.phone` has the
phone (extra `phone`), and `cairn_watch.pytest_plugin` the fixtures, which pytest finds by itself. Docs/python.md is the guide.
"""

from __future__ import annotations

from .appmessage import Dictionary, Message, Value, int8, int16, int32, uint8, uint16, uint32
from .asynchronous import AsyncAir, AsyncWatch
from .blocking import Air, Watch
from .btsnoop import CaptureFile
from .errors import (
    CairnError,
    NoWatch,
    Refused,
    StartFailed,
    TimedOut,
    UnknownCommand,
    VersionWarning,
    WatchGone,
    WatchHangs,
    WatchRestarted,
    WrongVersion,
)
from .screen import Screen
from .version import VERSION
from .vocabulary import Event, Status

__version__ = VERSION

__all__ = [
    "Air",
    "AsyncAir",
    "AsyncWatch",
    "CairnError",
    "CaptureFile",
    "Dictionary",
    "Event",
    "Message",
    "NoWatch",
    "Refused",
    "Screen",
    "StartFailed",
    "Status",
    "TimedOut",
    "UnknownCommand",
    "Value",
    "VersionWarning",
    "Watch",
    "WatchGone",
    "WatchHangs",
    "WatchRestarted",
    "WrongVersion",
    "int16",
    "int32",
    "int8",
    "uint16",
    "uint32",
    "uint8",
]
