"""Finds `default:` in switches over enums of the project's own, by reading Swift as text.

A case that is added to such an enum later goes to `default:` unnoticed, and requests of phones were lost that way. Which enum a
switch is over is guessed by its cases; a switch over constants of a struct, which needs a `default:`, names cases of no enum.
Switches over two values at once are not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path


def without_texts(source: str) -> str:
    """The source with its strings empty and its comments gone, line for line."""
    source = re.sub(r'"""(?:.|\n)*?"""', lambda match: '""' + "\n" * match.group(0).count("\n"), source)
    source = re.sub(r'"(?:\\.|[^"\\\n])*"', '""', source)
    return re.sub(r"//[^\n]*", "", source)


def block(source: str, start: int) -> str:
    """What stands between the brace before `start` and the one that ends it, without what is in further braces."""
    depth, flat = 1, []
    for character in source[start:]:
        if character == "}":
            depth -= 1
        if depth == 0:
            break
        if depth == 1 or character == "\n":
            flat.append(character)
        if character == "{":
            depth += 1
    return "".join(flat)


def without_payloads(pattern: str) -> str:
    while (shorter := re.sub(r"\([^()]*\)", "", pattern)) != pattern:
        pattern = shorter
    return pattern


def enums(source: str) -> Iterator[tuple[str, set[str]]]:
    """Each enum's name and the names of its cases."""
    for match in re.finditer(r"\benum (\w+)[^{\n]*\{", source):
        body = without_payloads(block(source, match.end()))
        lists = re.findall(r"^\s*(?:indirect )?case ((?:[^\n,]+,\s*)*[^\n]+)", body, re.M)
        names = {part.split("=")[0].strip().strip("`") for text in lists for part in text.split(",")}
        if names:
            yield match.group(1), names


def labels(body: str) -> set[str]:
    """The names of the cases that the patterns of a switch begin with, or that its tuples hold."""
    found: set[str] = set()
    for match in re.finditer(r"^[ \t]*case\s", body, re.M):
        depth, pattern = 0, ""
        for character in body[match.end() :]:
            depth += (character in "([") - (character in ")]")
            if character == ":" and depth == 0:
                break
            pattern += character
        pattern = re.sub(r"\bwhere\b.*", "", pattern, flags=re.S).strip()
        if not re.match(r"(let |var )?\(", pattern):
            pattern = without_payloads(pattern)
        found.update(re.findall(r"(?<![\w)\]])\.(\w+)", pattern))
    return found


def careless(root: Path, rooms: list[str]) -> list[str]:
    """The switches of some rooms that have a `default:` and are over an enum of these rooms: where, and over which."""
    sources = {path: without_texts(path.read_text()) for room in rooms for path in sorted((root / room).rglob("*.swift"))}
    known: dict[str, set[str]] = {}
    for source in sources.values():
        for name, cases in enums(source):
            known.setdefault(name, set()).update(cases)
    found = []
    for path, source in sources.items():
        for match in re.finditer(r"\bswitch ", source):
            begin = re.compile(r"\{\s*\n").search(source, match.end())
            body = block(source, begin.end()) if begin else ""
            if not re.search(r"^\s*(default|case _)\s*:", body, re.M):
                continue
            used = labels(body)
            over = [name for name, cases in known.items() if used and used <= cases]
            if over:
                line = source[: match.start()].count("\n") + 1
                found.append(f"{path.relative_to(root)}:{line}: default: over {' or '.join(over)}")
    return found
