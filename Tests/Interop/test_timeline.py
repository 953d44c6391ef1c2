"""`cairn timeline`: tshark reads the same capture and counts the same, and a browser draws what is written."""

from __future__ import annotations

import asyncio
import html
import json
import os
import re
import shutil
import struct
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from rig import cairn
from test_command_line import CANNOT_CREATE, UNAVAILABLE, USAGE, run
from watches import cairn_on

SVG = "{http://www.w3.org/2000/svg}"
#: Lanes of the picture, and the field of tshark that each packet in them has.
LANES = {"hci": "hci_h4.type", "l2cap": "btl2cap.cid", "att": "btatt.opcode"}


@pytest.fixture(scope="session")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What passed between a watch and its controller while a phone paired, and exchanged AppMessages with it."""
    path = tmp_path_factory.mktemp("capture") / "demo.btsnoop"
    result = run("demo", "--pair", "--air-seed", "7", "--capture", str(path), seconds=120)
    assert result.returncode == 0, result.stderr
    return path


def tshark(path: Path, field: str) -> Counter[tuple[int, int]]:
    """The packets that have a field, by number and by time since the first, in microseconds."""
    command = ["tshark", "-r", str(path), "-Y", field, "-T", "fields", "-E", "separator=|"]
    command += ["-E", "occurrence=a", "-e", "frame.number", "-e", "frame.time_relative", "-e", field]
    output = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout
    found: Counter[tuple[int, int]] = Counter()
    for line in output.splitlines():
        number, time, values = line.split("|")
        found[int(number), round(float(time) * 1_000_000)] += len(values.split(","))
    return found


def drawn(svg: str) -> dict[str, Counter[tuple[int, int]]]:
    """The marks of each lane, by the number of their packet and by their time."""
    lanes = {}
    for lane in ElementTree.fromstring(svg).iter(f"{SVG}g"):
        if name := lane.get("data-lane"):
            marks = [mark for mark in lane.findall(f"{SVG}g") if "mark" in mark.get("class", "").split()]
            lanes[name] = Counter((int(mark.get("data-packet", 0)), int(mark.get("data-us", 0))) for mark in marks)
    return lanes


def embedded(page: str) -> dict[str, Any]:
    """The timeline that a page has within it."""
    found = re.search(r'<script type="application/json" id="timeline">(.*?)</script>', page, re.S)
    assert found
    return json.loads(found[1])


@pytest.fixture(scope="session")
def svg(capture: Path) -> str:
    result = run("timeline", str(capture))
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.parametrize("lane", LANES)
def test_tshark_counts_the_same(capture: Path, svg: str, lane: str) -> None:
    """Number and time of each packet of each layer."""
    assert drawn(svg)[lane] == tshark(capture, LANES[lane])


def test_acl_packets_are_those_of_tshark(capture: Path, svg: str) -> None:
    root = ElementTree.fromstring(svg)
    lane = next(each for each in root.iter(f"{SVG}g") if each.get("data-lane") == "hci")
    kinds = Counter(mark.get("data-kind") for mark in lane.findall(f"{SVG}g"))
    fields = {"acl": "hci_h4.type == 0x02", "command": "hci_h4.type == 0x01", "event": "hci_h4.type == 0x04"}
    for kind, words in fields.items():
        command = ["tshark", "-r", str(capture), "-Y", words]
        lines = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout.splitlines()
        assert kinds[kind] == len(lines), kind


def test_the_session_is_in_its_lanes(svg: str) -> None:
    """Nothing is wrong with what Cairn sends, and the dictionaries of the demonstration are there in clear."""
    assert 'class="mark bad"' not in svg
    words = html.unescape(svg)
    assert "Reset Request, version 1, serial number" in words
    assert re.search(r"transaction \d+ of app [-0-9a-f]{36}\n\d+ = ", words)
    assert "Advertising" in words and "Link 1 to" in words


def test_no_key_is_drawn(capture: Path, svg: str) -> None:
    command = ["tshark", "-r", str(capture), "-T", "fields", "-e", "bthci_cmd.le_long_term_key"]
    command += ["-e", "btsmp.id_resolving_key", "-e", "btsmp.long_term_key"]
    fields = subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout
    keys = {re.sub("[^0-9a-f]", "", key.removeprefix("0x")) for key in fields.split() if len(key) >= 32}
    page = run("timeline", str(capture), "--format", "html").stdout
    assert keys
    for key in keys:
        backwards = bytes.fromhex(key)[::-1].hex()
        assert key not in svg + page and backwards not in svg + page


def test_the_page_has_what_the_picture_has(capture: Path, svg: str, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert run("timeline", str(capture), "-o", str(page)).returncode == 0
    data = embedded(page.read_text(encoding="utf-8"))
    lanes: dict[str, Counter[tuple[int, int]]] = {name: Counter() for name, _ in data["lanes"]}
    for lane, time, _, _, _, _, _, _, packet, _ in data["marks"]:
        lanes[data["lanes"][lane][0]][packet, time] += 1
    assert lanes == drawn(svg)


def chromium(page: Path, *arguments: str) -> str:
    """What a browser prints for a page."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    assert browser, "there is no chromium: apt-get install chromium"
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", *arguments, page.as_uri()]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout


def ink(picture: Path) -> tuple[tuple[int, ...], int]:
    """The colour of a picture's corner, and how many colours it has."""
    from PIL import Image

    with Image.open(picture) as image:
        image = image.convert("RGB")
        return image.getpixel((2, 2)), len(image.getcolors(1 << 24) or [])


@pytest.mark.parametrize("kind", ["svg", "html"])
def test_a_browser_draws_both_themes(capture: Path, tmp_path: Path, kind: str) -> None:
    page = tmp_path / f"page.{kind}"
    assert run("timeline", str(capture), "-o", str(page)).returncode == 0
    corners = []
    for theme in ("1", "0"):
        picture = tmp_path / f"{theme}.png"
        wide = ("--window-size=1600,900", f"--blink-settings=preferredColorScheme={theme}")
        chromium(page, f"--screenshot={picture}", *wide)
        corner, colours = ink(picture)
        assert colours > 8
        corners.append(sum(corner))
    assert corners[0] > 600 and corners[1] < 150


def test_the_script_draws_the_lanes(capture: Path, tmp_path: Path) -> None:
    """The page as its script has made it: each lane with its name, and marks in each that has any."""
    page = tmp_path / "page.html"
    assert run("timeline", str(capture), "-o", str(page)).returncode == 0
    made = chromium(page, "--dump-dom", "--window-size=1600,900")
    for name in ("Air", "HCI", "L2CAP", "ATT", "PPoGATT", "Pebble Protocol"):
        assert f">{name}</text>" in made
    assert made.count('class="mark ') > 100


def test_a_part_is_drawn(capture: Path) -> None:
    page = embedded(run("timeline", str(capture), "--format", "html", "--from", "0.2", "--to", "300ms").stdout)
    assert page["marks"] and all(200_000 <= mark[1] <= 300_000 for mark in page["marks"])
    only = embedded(run("timeline", str(capture), "--format", "html", "--lanes", "att", "--link", "1").stdout)
    assert [name for name, _ in only["lanes"]] == ["att"]
    assert run("timeline", str(capture), "--link", "9").stderr == "There is no link 9: the capture has 1.\n"


def test_a_capture_that_is_not_whole(capture: Path, tmp_path: Path) -> None:
    """What can be read is drawn, and what is left out is said."""
    whole = capture.read_bytes()
    count = len(embedded(run("timeline", str(capture), "--format", "html", "--lanes", "hci").stdout)["marks"])
    cut = tmp_path / "cut.btsnoop"
    cut.write_bytes(whole[:-1])
    result = run("timeline", str(cut), "--format", "html", "--lanes", "hci")
    assert result.returncode == 0 and f"{count - 1} packets are whole" in result.stderr
    assert len(embedded(result.stdout)["marks"]) == count - 1
    damaged = tmp_path / "damaged.btsnoop"
    damaged.write_bytes(whole[:16] + b"\xff" + whole[17:])
    assert "damaged at byte 16" in run("timeline", str(damaged)).stderr
    header = tmp_path / "header.btsnoop"
    header.write_bytes(whole[:16])
    assert run("timeline", str(header)).stderr == "The capture has no packet.\n"


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"#!/bin/sh\necho hello\n", "is no capture"),
        (b"\x0a\x0d\x0d\x0a" + bytes(64), "pcapng"),
        (struct.pack(">8sII", b"btsnoop\0", 1, 2001) + bytes(64), "btmon"),
        (struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1), "link type 1"),
    ],
)
def test_what_is_no_capture_is_refused(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "file"
    path.write_bytes(content)
    result = run("timeline", str(path))
    assert result.returncode == UNAVAILABLE and result.stdout == ""
    assert words in result.stderr and len(result.stderr.splitlines()) == 2


def test_a_huge_capture_takes_little_memory(capture: Path, tmp_path: Path) -> None:
    """A hundred megabytes of packets: 10,000 are drawn, the others are counted, and memory stays below 400 MB."""
    whole = capture.read_bytes()
    huge = tmp_path / "huge.btsnoop"
    with huge.open("wb") as file:
        file.write(whole[:16])
        for _ in range(100_000_000 // len(whole)):
            file.write(whole[16:])
    picture = tmp_path / "huge.svg"
    command = [str(cairn.binary()), "timeline", str(huge), "-o", str(picture)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr
        words = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0, words
    assert re.search(r"^\d{6,} packets from [\d.]+ s on were left out", words, re.M)
    assert usage.ru_maxrss < 400_000
    assert picture.stat().st_size < 50_000_000


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "Name a capture, or a running watch"),
        (("x", "--watch", "y"), "name one of them"),
        (("x", "--for", "3s"), "--for is for --watch"),
        (("x", "--from", "3", "--to", "2"), "later than --from"),
        (("x", "--lanes", "air,ether"), "“ether” is no lane"),
        (("x", "--link", "0"), "--link takes"),
        (("x", "--from", "soon"), "“soon” is no time"),
        (("x", "--limit", "0"), "--limit takes"),
    ],
)
def test_a_wrong_command_line(arguments: tuple[str, ...], words: str) -> None:
    result = run("timeline", *arguments)
    assert result.returncode == USAGE and words in result.stderr


def test_files_that_cannot_be_used(capture: Path, tmp_path: Path) -> None:
    missing = run("timeline", str(tmp_path / "missing"))
    assert missing.returncode == UNAVAILABLE and "cannot read" in missing.stderr
    nowhere = run("timeline", str(capture), "-o", str(tmp_path / "no" / "a.svg"))
    assert nowhere.returncode == CANNOT_CREATE and "cannot write the timeline" in nowhere.stderr


async def test_a_running_watch_says_why(tmp_path: Path) -> None:
    """The packets and the events of the same seconds are in one picture."""
    state = tmp_path / "state"
    async with cairn_on("virtual", tmp_path, "--air-port", "0", "--state", str(state)):
        socket = state / "control.sock"
        page = tmp_path / "live.html"
        command = [str(cairn.binary()), "timeline", "--watch", str(socket), "--for", "3s", "-o", str(page)]
        drawing = await asyncio.create_subprocess_exec(*command)
        while drawing.returncode is None:
            await asyncio.to_thread(run, "press", "up", "--state", str(state))
            # Its host says a lot to its controller then.
            await asyncio.to_thread(run, "ask", '{"command":"restart"}', "--state", str(state))
        assert await drawing.wait() == 0
    data = embedded(page.read_text(encoding="utf-8"))
    assert data["lanes"][-1] == ["watch", "The watch"]
    kinds = {data["lanes"][mark[0]][0]: mark for mark in data["marks"]}
    assert "watch" in kinds and "hci" in kinds
    assert "button" in {mark[5] for mark in data["marks"]}
