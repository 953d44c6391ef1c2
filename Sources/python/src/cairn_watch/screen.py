"""The picture on the watch's screen."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .errors import WrongVersion

if TYPE_CHECKING:
    from PIL.Image import Image

#: The byte 11rrggbb of a pixel has two bits a colour, each step of which is this much of 255.
_STEP = 85


@dataclass(frozen=True)
class Screen:
    """A screenshot, as the watch took it. Two are equal if they show the same on the same kind of screen.

    `width`, `height`: in pixels. `is_round`: whether the corners are hidden. `has_color`: 64 colours, else black and white.
    `format`: `png`, or `raw`: a byte a pixel, 11rrggbb, row by row from the top left. `data`: the picture in this format.
    """

    width: int
    height: int
    is_round: bool
    has_color: bool
    format: str
    data: bytes

    @classmethod
    def of(cls, answer: dict[str, Any]) -> Screen:
        """The picture in an answer to `screenshot`. Raises WrongVersion if it is none."""
        try:
            screen = answer["screen"]
            picture = cls(
                int(screen["width"]),
                int(screen["height"]),
                bool(screen["isRound"]),
                bool(screen["hasColor"]),
                str(screen["format"]),
                bytes.fromhex(screen["data"]),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise WrongVersion("wrong-version", f"the answer to “screenshot” is no picture: {error!r}") from None
        if picture.format == "raw" and len(picture.data) != picture.width * picture.height:
            size = f"{picture.width} by {picture.height}"
            raise WrongVersion("wrong-version", f"a screenshot of {size} pixels has {len(picture.data)} bytes")
        return picture

    def pixel(self, x: int, y: int) -> tuple[int, int, int]:
        """Red, green and blue of a pixel, each 0, 85, 170 or 255, counted from the top left.

        Raises ValueError unless the format is `raw`, IndexError outside the screen.
        """
        if self.format != "raw":
            raise ValueError(f"pixels are read from a raw screenshot, and this one is {self.format}: screen(format='raw')")
        if not (0 <= x < self.width and 0 <= y < self.height):
            raise IndexError(f"({x}, {y}) is outside of a screen of {self.width} by {self.height} pixels")
        value = self.data[y * self.width + x]
        return (value >> 4 & 3) * _STEP, (value >> 2 & 3) * _STEP, (value & 3) * _STEP

    def image(self) -> Image:
        """The picture as a Pillow image, mode RGB. Raises ModuleNotFoundError without Pillow."""
        from PIL import Image

        if self.format != "raw":
            return Image.open(io.BytesIO(self.data)).convert("RGB")
        pixels = bytearray()
        for value in self.data:
            pixels += bytes(((value >> 4 & 3) * _STEP, (value >> 2 & 3) * _STEP, (value & 3) * _STEP))
        return Image.frombytes("RGB", (self.width, self.height), bytes(pixels))

    def save(self, path: str | Path) -> Path:
        """Writes a PNG file. A raw screenshot needs Pillow for it."""
        path = Path(path)
        if self.format == "png":
            path.write_bytes(self.data)
        else:
            self.image().save(path, "PNG")
        return path
