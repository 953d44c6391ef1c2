"""Adds up the lines of results of Tests/Kernel/run: prints what was skipped and what failed, and "N passed, N failed"."""

from __future__ import annotations

import sys
from pathlib import Path
from xml.etree import ElementTree

#: The first word of a line, and the tag of that outcome in JUnit's format.
OUTCOMES = {"ok": None, "FAILED": "failure", "skipped": "skipped"}


def main(results: Path, junit: str) -> int:
    lines = [line.split(" ", 1) for line in results.read_text("utf-8", "replace").splitlines()]
    suite = ElementTree.Element("testsuite", name="kernel")
    for outcome, text in lines:
        # The time that a check took is not of its name.
        name = text.rsplit(" (", 1)[0] if outcome == "ok" else text
        case = ElementTree.SubElement(suite, "testcase", classname="kernel", name=name)
        if tag := OUTCOMES[outcome]:
            ElementTree.SubElement(case, tag, message=text)
            print(outcome, text)
    if junit:
        ElementTree.ElementTree(suite).write(junit, encoding="unicode")
    passed = sum(outcome == "ok" for outcome, _ in lines)
    failed = sum(outcome == "FAILED" for outcome, _ in lines)
    if not lines:
        print("no check ran")
        failed = 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2]))
