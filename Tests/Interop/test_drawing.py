"""What a behaviour draws, on a screenshot that the SDK's tool takes, against the same picture made by Pillow.

The shapes of the characters are those of Docs/font.md, and the rules those of Docs/watchapps.md; no code is shared with the watch.
"""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image, ImageChops, ImageDraw
from rig.vectors import REPOSITORY
from rig.watchapps import AppBundle
from test_command_line import USAGE, run
from test_pebble_tool import Bench, home, watch_on

__all__ = ["home"]

#: Personality, the platform of its apps, its screen, and whether that has colours.
WATCHES = {"universal": ("flint", (144, 168), False), "snowy": ("basalt", (144, 168), True)}


def font() -> dict[str, list[str]]:
    """Every character of Docs/font.md: blocks of a line of names and seven of pixels, each in columns of five and two."""
    glyphs = {" ": ["....."] * 7}
    blocks = re.findall(r"^```\n(.*?)^```", (REPOSITORY / "Docs/font.md").read_text(), re.DOTALL | re.MULTILINE)
    for block in blocks[1:]:
        names, *rows = block.splitlines()
        for left in range(0, len(rows[0]), 7):
            glyphs[names[left]] = [row[left : left + 5] for row in rows]
    return glyphs


FONT = font()
BOX = ["#####", *["#...#"] * 5, "#####"]


class Picture:
    """What should be on the screen."""

    def __init__(self, size: tuple[int, int], *, has_color: bool) -> None:
        self.image = Image.new("RGB", size)
        self.canvas = ImageDraw.Draw(self.image)
        self.has_color = has_color

    def color(self, text: str) -> tuple[int, int, int]:
        """As the screen shows it: without colours, what has at least five of nine levels is white."""
        red, green, blue = (int(text[index : index + 2], 16) for index in (1, 3, 5))
        if self.has_color:
            return red, green, blue
        return (255, 255, 255) if (red + green + blue) // 0x55 >= 5 else (0, 0, 0)

    def block(self, x: int, y: int, size: int, color: str) -> None:
        self.canvas.rectangle((x, y, x + size - 1, y + size - 1), fill=self.color(color))

    def bits(self, rows: list[str], x: int, y: int, size: int, color: str) -> None:
        for row, line in enumerate(rows):
            for column, sign in enumerate(line):
                if sign == "#":
                    self.block(x + column * size, y + row * size, size, color)

    def text(self, characters: list[str], x: int, y: int, size: int = 1, color: str = "#FFFFFF") -> None:
        """Characters as a reader counts them, the first with its left edge at x."""
        for index, character in enumerate(characters):
            self.bits(FONT.get(character, BOX), x + index * 6 * size, y, size, color)

    def invert(self, x: int, y: int, width: int, height: int) -> None:
        area = (max(0, x), max(0, y), min(self.image.width, x + width), min(self.image.height, y + height))
        self.image.paste(ImageChops.invert(self.image.crop(area)), area)


async def drawn(bench: Bench, picture: Picture, what: str) -> None:
    """The screenshot has the picture's pixels, every one."""
    file = bench.folder / "screenshot.png"
    await bench.pebble("screenshot", "--no-open", "--no-correction", str(file))
    with Image.open(file) as image:
        found = image.convert("RGB")
    assert found.size == picture.image.size
    difference = ImageChops.difference(found, picture.image).getbbox()
    if difference:
        picture.image.save(bench.folder / "expected.png")
    assert difference is None, f"{what}: other pixels in {difference}; see {file} and expected.png beside it"


#: A script's drawings, and what Pillow makes of the same words.
SCENES: dict[str, tuple[list[dict[str, Any]], Callable[[Picture], None]]] = {
    "text": (
        [
            {"text": "Hello, 21°C (50%)!", "x": 3, "y": 4},
            {"text": "Go", "x": 10, "y": 20, "size": 3, "color": "#FFFFFF"},
            {"text": "left\nmiddle", "y": 50, "align": "left"},
            {"text": "a\nbcd", "y": 80, "align": "center", "size": 2},
            {"text": "1\n234", "y": 125, "align": "right"},
            {"text": "x", "x": 70, "y": 150, "align": "right", "size": 2},
        ],
        lambda picture: (
            picture.text(list("HELLO, 21°C (50%)!"), 3, 4),
            picture.text(list("GO"), 10, 20, 3),
            picture.text(list("LEFT"), 0, 50),
            picture.text(list("MIDDLE"), 0, 59),
            # 10 pixels wide, and 34, around 72.
            picture.text(list("A"), 67, 80, 2),
            picture.text(list("BCD"), 55, 98, 2),
            picture.text(list("1"), 139, 125),
            picture.text(list("234"), 127, 134),
            picture.text(list("X"), 60, 150, 2),
        ),
    ),
    "every character": (
        [
            {"text": "".join(list(FONT)[index : index + 20]), "y": 9 * index // 20, "x": 2}
            for index in range(0, len(FONT), 20)
        ],
        lambda picture: [
            picture.text(list(FONT)[index : index + 20], 2, 9 * index // 20) for index in range(0, len(FONT), 20)
        ],
    ),
    "what the font lacks": (
        [{"text": "é日👩‍👩‍👧я|"}, {"text": "straße", "y": 10}],
        lambda picture: (picture.text(["?box"] * 4 + ["|"], 0, 0), picture.text(list("STRASSE"), 0, 10)),
    ),
    "cut off": (
        [
            {"text": "A text that is wider than the screen", "x": -20, "y": 3},
            {"text": "W", "x": -40, "y": 60, "size": 64},
            {"text": "Z", "x": 138, "y": 165, "size": 2},
            {"text": "gone", "x": -10000, "y": 10000, "size": 64},
            {"rectangle": [140, -5, 100, 10]},
            {"bitmap": ["###", "#.#"], "x": -4, "y": 160, "size": 3},
        ],
        lambda picture: (
            picture.text(list("A TEXT THAT IS WIDER THAN THE SCREEN"), -20, 3),
            picture.text(list("W"), -40, 60, 64),
            picture.text(list("Z"), 138, 165, 2),
            picture.canvas.rectangle((140, 0, 143, 4), fill="white"),
            picture.bits(["###", "#.#"], -4, 160, 3, "#FFFFFF"),
        ),
    ),
    "shapes": (
        [
            {"clear": "white"},
            {"rectangle": [10, 10, 50, 30], "color": "black"},
            {"rectangle": [70, 10, 50, 30], "color": "black", "fill": False},
            {"line": [0, 50, 143, 50], "color": "black"},
            {"line": [20, 167, 20, 60], "color": "black"},
            {"line": [30, 60, 80, 110], "color": "black"},
            {"invert": [40, 20, 60, 10]},
            {"bitmap": ["#..#", ".##."], "x": 90, "y": 70, "size": 5, "color": "black", "background": "white"},
            {"text": "white on black", "x": 12, "y": 12, "color": "white"},
            {"invert": True},
        ],
        lambda picture: (
            picture.image.paste("white", (0, 0, *picture.image.size)),
            picture.canvas.rectangle((10, 10, 59, 39), fill="black"),
            picture.canvas.rectangle((70, 10, 119, 39), outline="black"),
            picture.canvas.line((0, 50, 143, 50), fill="black"),
            picture.canvas.line((20, 60, 20, 167), fill="black"),
            picture.canvas.line((30, 60, 80, 110), fill="black"),
            picture.invert(40, 20, 60, 10),
            picture.bits(["#..#", ".##."], 90, 70, 5, "#000000"),
            picture.text(list("WHITE ON BLACK"), 12, 12),
            picture.invert(0, 0, *picture.image.size),
        ),
    ),
    "colours": (
        [
            {"clear": "#000055"},
            *({"rectangle": [index * 9, 0, 9, 9], "color": f"#{red}{green}{blue}"}
              for index, (red, green, blue) in enumerate(
                  (r, g, b) for r in ("00", "FF") for g in ("00", "55", "AA", "FF") for b in ("55", "FF"))),
            {"text": "orange", "y": 20, "color": "#FFAA00"},
            {"text": "red", "y": 30, "color": "red"},
            {"invert": [0, 18, 10, 30]},
        ],
        lambda picture: (
            picture.image.paste(picture.color("#000055"), (0, 0, *picture.image.size)),
            [
                picture.block(index * 9, 0, 9, f"#{red}{green}{blue}")
                for index, (red, green, blue) in enumerate(
                    (r, g, b) for r in ("00", "FF") for g in ("00", "55", "AA", "FF") for b in ("55", "FF")
                )
            ],
            picture.text(list("ORANGE"), 0, 20, 1, "#FFAA00"),
            picture.text(list("RED"), 0, 30, 1, "#FF0000"),
            picture.invert(0, 18, 10, 30),
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("personality", WATCHES)
async def test_each_word(personality: str, tmp_path: Path) -> None:
    """A scene a button: what the script draws is what Pillow draws, on a screen of two colours and on one of 64."""
    platform, size, has_color = WATCHES[personality]
    app = AppBundle(platform=platform)
    bundle, script = tmp_path / "app.pbw", tmp_path / "script.json"
    bundle.write_bytes(app.pbw())
    rules = [
        {"when": {"1": name}, "do": [{"draw": [{"clear": "black"}, *drawings]}]}
        for name, (drawings, _) in SCENES.items()
    ]
    script.write_text(json.dumps({"rules": rules}))
    options = ("--personality", personality, "--app", str(bundle), "--behaviour", f"{app.app}={script}")
    async with watch_on(tmp_path, *options) as bench:
        await bench.control.ask("launch", app=str(app.app))
        for name, (_, expected) in SCENES.items():
            await bench.pebble("send-app-message", "--app-uuid", str(app.app), "--string", f"1={name}")
            picture = Picture(size, has_color=has_color)
            expected(picture)
            await drawn(bench, picture, f"{name} on {personality}")


#: Every other screen: the personality, which is named like its platform, its size, and whether it has colours and is round.
SCREENS = {
    "emery": ((200, 228), True, False),
    "gabbro": ((260, 260), True, True),
    "chalk": ((180, 180), True, True),
    "aplite": ((144, 168), False, False),
    "flint": ((144, 168), False, False),
    "diorite": ((144, 168), False, False),
    "basalt": ((144, 168), True, False),
}


@pytest.mark.parametrize("platform", SCREENS)
async def test_every_screen(platform: str, tmp_path: Path) -> None:
    """A bundle for a kind of watch runs on the watch of that kind, and its drawing fills that watch's screen."""
    size, has_color, is_round = SCREENS[platform]
    app = AppBundle(platform=platform)
    bundle, script = tmp_path / "app.pbw", tmp_path / "script.json"
    bundle.write_bytes(app.pbw())
    width, height = size
    drawings = [
        {"clear": "#0055AA"},
        {"text": "Go", "y": height // 2, "size": 4, "align": "center", "color": "#FFFFAA"},
        {"rectangle": [width - 30, height // 3, 20, 9], "color": "#FFFFFF"},
        {"rectangle": [0, height - 5, width, 5], "color": "#FFAAFF"},
    ]
    script.write_text(json.dumps({"onLaunch": [{"draw": drawings}]}))
    options = ("--personality", platform, "--app", str(bundle), "--behaviour", f"{app.app}={script}")
    picture = Picture(size, has_color=has_color)
    picture.image.paste(picture.color("#0055AA"), (0, 0, *size))
    # 11 columns of 4 pixels around the middle.
    picture.text(list("GO"), (width - 44) // 2, height // 2, 4, "#FFFFAA")
    picture.canvas.rectangle((width - 30, height // 3, width - 11, height // 3 + 8), fill=picture.color("#FFFFFF"))
    picture.canvas.rectangle((0, height - 5, width - 1, height - 1), fill=picture.color("#FFAAFF"))
    async with watch_on(tmp_path, *options) as bench:
        await bench.control.ask("launch", app=str(app.app))
        if not is_round:
            await drawn(bench, picture, platform)
        screen = (await bench.control.ask("screenshot"))["screen"]
        assert (screen["width"], screen["height"]) == size
        assert (screen["hasColor"], screen["isRound"]) == (has_color, is_round)
        with Image.open(io.BytesIO(bytes.fromhex(screen["data"]))) as image:
            found = image.convert("RGBA")
        await bench.pebble("screenshot", "--no-open", "--no-correction", str(tmp_path / "tool.png"))
        with Image.open(tmp_path / "tool.png") as image:
            tool = image.convert("RGB")
        expected = picture.image
        for x in range(width):
            for y in range(height):
                middle = (2 * x + 1 - width) ** 2 + (2 * y + 1 - height) ** 2
                if not is_round or middle <= width * width:
                    assert found.getpixel((x, y)) == (*expected.getpixel((x, y)), 255), (x, y)
                else:
                    assert found.getpixel((x, y))[3] == 0, f"the corner {(x, y)} cannot be seen"
                # The tool has a circle of its own, which is a little smaller.
                if not is_round or middle <= (width - 8) ** 2:
                    assert tool.getpixel((x, y)) == expected.getpixel((x, y)), (x, y)


async def test_when_it_is_drawn(tmp_path: Path) -> None:
    """By `pebble install`: at the launch, after a while, by a button, and what a message says."""
    app = AppBundle()
    bundle, script = tmp_path / "app.pbw", tmp_path / "script.json"
    bundle.write_bytes(app.pbw())
    script.write_text(
        json.dumps(
            {
                "onLaunch": [
                    {"draw": [{"text": "ready", "x": 5, "y": 5}]},
                    {"draw": [{"text": "later", "x": 5, "y": 20}], "send": {"1": "drawn"}, "after": 0.5},
                ],
                "buttons": {"up": [{"draw": [{"text": "up", "x": 5, "y": 35}]}]},
                "rules": [{"when": {"7": None}, "do": [{"draw": [{"text": {"received": 7}, "x": 5, "y": 50}]}]}],
            }
        )
    )
    async with watch_on(tmp_path, "--behaviour", f"{app.app}={script}") as bench:
        await bench.pebble("install", str(bundle))
        await bench.control.event("app-message-sent", 20)
        picture = Picture((144, 168), has_color=False)
        picture.text(list("READY"), 5, 5)
        picture.text(list("LATER"), 5, 20)
        await drawn(bench, picture, "after the launch")
        await bench.pebble("emu-button", "click", "up")
        await bench.control.event("button")
        picture.text(list("UP"), 5, 35)
        await drawn(bench, picture, "after a button")
        for option, text in [("--string", "21°C"), ("--int", "-123")]:
            await bench.pebble("send-app-message", "--app-uuid", str(app.app), option, f"7={text}")
            picture.text(list(text), 5, 50)
            await drawn(bench, picture, f"after the message {text}")


@pytest.mark.parametrize(
    ("script", "complaint"),
    [
        ('{\n"onLaunch": [\n{"draw": [{"text": "a",\n"size": 1000}]}]}', "line 4, onLaunch[0].draw[0].size: a whole number"),
        ('{"onLaunch": [{"draw": [\n{"circle": 3}]}]}', "line 2, onLaunch[0].draw[0]: one of bitmap, clear,"),
        ('{"onLaunch": [\n{"draw": [}]}', "line 2: a value is needed, not }"),
    ],
)
def test_a_wrong_script_is_refused(script: str, complaint: str, tmp_path: Path) -> None:
    file = tmp_path / "script.json"
    file.write_text(script)
    result = run("run", "--controller", "virtual", "--behaviour", f"6b1f5c2e-0f3a-4d0e-9b7a-1c2d3e4f5a6b={file}")
    assert result.returncode == USAGE
    assert f"{file}: the script: {complaint}" in result.stderr
