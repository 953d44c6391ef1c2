#!/usr/bin/env python3
"""Writes a manual page for each of the program's commands.

    PROGRAM --experimental-dump-help | manual.py VERSION DATE DIRECTORY

What the pages say is what `--help` says: the program describes its commands as JSON, and this turns that into man(7) macros.
"""

import json
import re
import sys
from email.utils import parsedate_to_datetime
from pathlib import Path

SECTION = 1


def escaped(text):
    """Text as roff reads it back: hyphens that are typed, backslashes, and no line that looks like a request."""
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return "\n".join("\\&" + line if line[:1] in (".", "'") else line for line in text.split("\n"))


def bold(text):
    return f"\\fB{escaped(text)}\\fR"


def italic(text):
    return f"\\fI{escaped(text)}\\fR"


def spelled(name):
    """A name of an option as it is typed."""
    return ("--" if name["kind"] == "long" else "-") + name["name"]


def usage(argument):
    """An argument as it stands in the synopsis."""
    if argument["kind"] == "positional":
        text = italic(argument["valueName"])
    else:
        text = bold(spelled(argument["preferredName"]))
        if argument["kind"] == "option":
            text += " " + italic(argument["valueName"])
    if argument["isRepeating"]:
        text += " ..."
    return f"[{text}]" if argument["isOptional"] else text


def is_heading(line):
    return re.fullmatch(r"[A-Z][A-Z ]+", line) is not None


def prose(text):
    """Paragraphs, and what is indented in the help as it stands there."""
    lines, is_verbatim = [], False
    for line in text.split("\n"):
        indented = line.startswith("  ")
        if indented and not is_verbatim:
            lines += [".PP", ".RS 4", ".nf"]
        elif line and not indented and is_verbatim:
            lines += [".fi", ".RE"]
        if line:
            is_verbatim = indented
        if indented:
            lines.append(escaped(line[2:]))
        elif is_heading(line):
            lines.append(f".SS {escaped(line.capitalize())}")
        elif line:
            lines.append(escaped(line))
        else:
            lines.append("" if is_verbatim else ".PP")
    if is_verbatim:
        lines += [".fi", ".RE"]
    return lines


def description(argument):
    """What an argument means, which values it takes, and which it has when nothing is said."""
    yield escaped(argument.get("abstract", ""))
    values = argument.get("allValues")
    if values:
        yield "One of " + ", ".join(bold(value) for value in values) + "."
    default = argument.get("defaultValue")
    if default is not None and argument["kind"] != "flag":
        yield f"The default is {bold(default)}."


def arguments(command):
    """The options in their groups, in the order of the help."""
    groups = {}
    for argument in command.get("arguments", []):
        if argument["shouldDisplay"]:
            title = "ARGUMENTS" if argument["kind"] == "positional" else argument.get("sectionTitle") or "OPTIONS"
            groups.setdefault(title, []).append(argument)
    for title, members in groups.items():
        yield f".SH {escaped(title)}"
        for argument in members:
            yield ".TP"
            names = [bold(spelled(name)) for name in argument.get("names", [])] or [italic(argument["valueName"])]
            value = " " + italic(argument["valueName"]) if argument["kind"] == "option" else ""
            yield ", ".join(name + value for name in names)
            yield from description(argument)


def visible(commands):
    """Those that have pages: what `help` says is what the pages say."""
    return [command for command in commands if command["shouldDisplay"] and command["commandName"] != "help"]


def page(command, path, version, date):
    """One command's page; the path is its name as typed, word for word."""
    name = "-".join(path)
    abstract = command.get("abstract", "")
    yield f'.TH {escaped(name.upper())} {SECTION} "{date}" "cairn {escaped(version)}" "Cairn"'
    yield ".SH NAME"
    yield f"{escaped(name)} \\- {escaped(abstract.rstrip('.'))}"
    yield ".SH SYNOPSIS"
    words = [bold(" ".join(path))]
    words += [usage(argument) for argument in command.get("arguments", []) if argument["shouldDisplay"]]
    subcommands = visible(command.get("subcommands", []))
    if subcommands:
        words.append(italic("command"))
    yield "\n".join(words)
    yield ".SH DESCRIPTION"
    yield escaped(abstract)
    if command.get("discussion"):
        yield ".PP"
        yield from prose(command["discussion"])
    if subcommands:
        yield ".SH COMMANDS"
        for subcommand in subcommands:
            yield ".TP"
            yield f"{bold('-'.join([*path, subcommand['commandName']]))}({SECTION})"
            yield escaped(subcommand.get("abstract", ""))
    yield from arguments(command)
    if len(path) > 1:
        yield ".SH SEE ALSO"
        yield f"{bold('-'.join(path[:-1]))}({SECTION})"


def write(command, path, version, date, directory):
    text = "\n".join(page(command, path, version, date)) + "\n"
    (directory / f"{'-'.join(path)}.{SECTION}").write_text(text)
    for subcommand in visible(command.get("subcommands", [])):
        write(subcommand, [*path, subcommand["commandName"]], version, date, directory)


def main():
    version, date, directory = sys.argv[1:]
    command = json.load(sys.stdin)["command"]
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    write(command, [command["commandName"]], version, parsedate_to_datetime(date).date().isoformat(), directory)


if __name__ == "__main__":
    main()
