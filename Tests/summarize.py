"""Adds up what Tests/run left in a folder, prints what failed, and ends with the line "N passed, N failed".

In the folder: for each step a file NAME.status with its exit status, and from the suites NAME.xml in JUnit's format
(Swift Testing writes swift-swift-testing.xml) and swift.log.
"""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass, field
from pathlib import Path
from xml.etree import ElementTree

#: pytest's exit status when nothing was left to run.
NO_TESTS_COLLECTED = 5


@dataclass
class Tally:
    passed: int = 0
    failed: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)


def read_junit(path: Path) -> Tally:
    """Counts test cases, each once, whatever the attributes of the suites say."""
    tally = Tally()
    for case in ElementTree.parse(path).iter("testcase"):
        name = f"{case.get('classname')}.{case.get('name')}"
        outcomes = {child.tag for child in case}
        if outcomes & {"failure", "error"}:
            tally.failed.append(name)
        elif "skipped" in outcomes:
            tally.skipped.append(name)
        else:
            tally.passed += 1
    return tally


def read_xctest(log: Path) -> Tally:
    """XCTest writes no results file unless it runs in parallel; its last line of totals is the outermost suite's."""
    totals = re.findall(r"Executed (\d+) tests?, with (\d+) failures?", log.read_text("utf-8", "replace"))
    executed, failures = (int(number) for number in totals[-1]) if totals else (0, 0)
    return Tally(executed - failures, [f"XCTest, failure {index + 1}" for index in range(failures)])


def read_suite(folder: Path, name: str) -> Tally:
    tally = Tally()
    for path in sorted(folder.glob(f"{name}*.xml")):
        try:
            part = read_junit(path)
        except ElementTree.ParseError as error:
            part = Tally(failed=[f"{path.name} is incomplete ({error}): did the tests crash?"])
        tally.passed += part.passed
        tally.failed += part.failed
        tally.skipped += part.skipped
    log = folder / f"{name}.log"
    if log.exists():
        part = read_xctest(log)
        tally.passed += part.passed
        tally.failed += part.failed
    return tally


def main(folder: Path, filter: str) -> int:
    total = Tally()
    for status_file in sorted(folder.glob("*.status")):
        name = status_file.stem
        status = int(status_file.read_text())
        suite = read_suite(folder, name)
        nothing_ran = suite.passed + len(suite.failed) == 0
        if name in ("swift", "interop") and nothing_ran and filter:
            print(f"{name}: no test has '{filter}' in its name")
            status = 0 if status == NO_TESTS_COLLECTED else status
        elif name in ("swift", "interop") and nothing_ran and status == 0:
            suite.failed.append(f"{name}: no test ran")
        if status != 0 and not suite.failed:
            suite.failed.append(f"{name} (exit status {status})")
        total.passed += suite.passed
        total.failed += suite.failed
        total.skipped += suite.skipped
    for name in total.skipped:
        print(f"skipped: {name}")
    for name in total.failed:
        print(f"FAILED: {name}")
    if total.passed + len(total.failed) == 0:
        print("no test ran at all")
        print("0 passed, 1 failed")
        return 1
    print(f"{total.passed} passed, {len(total.failed)} failed")
    return 1 if total.failed else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
