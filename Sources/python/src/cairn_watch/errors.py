"""What can go wrong between a program and a watch. Each error has a `code` for programs and a message for people."""

from __future__ import annotations


class CairnError(Exception):
    """The root of all errors of this package.

    `code`: a name that does not change. `message`: what happened, where, and what to do.
    """

    def __init__(self, code: str, message: str) -> None:
        self.code = code
        self.message = message
        super().__init__(f"{code}: {message}")

    def __reduce__(self) -> tuple[type[CairnError], tuple[str, str]]:
        """pytest-xdist and multiprocessing carry errors between processes."""
        return type(self), (self.code, self.message)


class Refused(CairnError):
    """The watch did not do what it was asked. `code` is one of `cairn_watch.vocabulary.FAILURE_CODES`."""


class UnknownCommand(Refused):
    """The watch has no command of this name: it is another version than this package, and the message names both."""


class TimedOut(CairnError, TimeoutError):
    """The watch lives, and what was waited for did not happen in time (`timed-out`)."""


class NoWatch(CairnError, ConnectionError):
    """No watch can be reached: none runs there, or it lets this user not in (`no-watch`)."""


class StartFailed(NoWatch):
    """A program was started and ended, or was not ready in time (`start-failed`). The message has its last lines."""


class WatchGone(CairnError, ConnectionError):
    """The watch ended while this program was connected (`ended`)."""


class WatchRestarted(WatchGone):
    """The watch restarted while something was waited for, or another process took its place (`restarted`)."""


class WatchHangs(CairnError, ConnectionError):
    """The watch takes questions and answers none (`hangs`)."""


class WrongVersion(CairnError):
    """The other side of the socket says what no known version of the watch says (`wrong-version`)."""


class VersionWarning(UserWarning):
    """The watch is another version than this package. What both know works."""
