"""Apps and firmware as bundles, made for the tests."""

from __future__ import annotations

import json
import struct
import uuid
import zipfile
from pathlib import Path

from libpebble2.util.stm32_crc import crc32

#: The board whose watch Cairn is, and what libpebble2 calls its kind of apps.
HARDWARE = 15
PLATFORM = "flint"


def executable(app: uuid.UUID, name: str, *, size: int = 3000, seed: int = 0) -> bytes:
    """An app's binary: its header (pebble-protocol section 20.2), then meaningless bytes."""
    header = struct.pack(
        "<8s2B2B2BHII32s32sIIII16sIIH",
        b"PBLAPP",
        *(0x10, 0x00),
        *(5, 0x6A),
        *(1, 0),
        min(size, 0xFFFF),
        0x82,
        0,
        name.encode(),
        b"Cairn",
        *(0, 0, 0, 0),
        app.bytes,
        *(0, 0),
        min(size, 0xFFFF),
    )
    filling = bytes((index * 7 + seed) & 0xFF for index in range(size - len(header)))
    return header + filling


def write_app(path: Path, app: uuid.UUID, name: str) -> tuple[bytes, bytes]:
    """Writes a .pbw and returns its binary and its resources."""
    binary = executable(app, name)
    resources = struct.pack("<III", 0, 0xFFFFFFFF, 0) + bytes(4096)
    manifest = {
        "manifestVersion": 2,
        "generatedBy": "tests",
        "generatedAt": 0,
        "type": "application",
        "application": {
            "timestamp": 0,
            "sdk_version": {"major": 5, "minor": 0x6A},
            "name": "pebble-app.bin",
            "size": len(binary),
            "crc": crc32(binary),
        },
        "resources": {
            "name": "app_resources.pbpack",
            "timestamp": 0,
            "size": len(resources),
            "crc": crc32(resources),
        },
    }
    info = {"uuid": str(app), "shortName": name, "targetPlatforms": [PLATFORM], "appKeys": {}, "watchapp": {}}
    with zipfile.ZipFile(path, "w") as bundle:
        bundle.writestr("appinfo.json", json.dumps(info))
        bundle.writestr(f"{PLATFORM}/manifest.json", json.dumps(manifest))
        bundle.writestr(f"{PLATFORM}/pebble-app.bin", binary)
        bundle.writestr(f"{PLATFORM}/app_resources.pbpack", resources)
    return binary, resources


def firmware(version: str, *, size: int = 40_000, hardware: int = HARDWARE) -> bytes:
    """A firmware image: meaningless bytes, and its metadata at the end."""
    metadata = struct.pack("<I32s8sBBB", 0x6553F100, version.encode(), b"abcdef", 0, hardware, 1)
    return bytes((index * 13) & 0xFF for index in range(size - len(metadata))) + metadata
