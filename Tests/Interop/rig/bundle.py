"""Bundles as the SDK builds them: apps (.pbw) and firmware (.pbz). Their checksums are libpebble2's."""

from __future__ import annotations

import json
import struct
import uuid
import zipfile
from pathlib import Path

from libpebble2.util.stm32_crc import crc32

#: PebbleProcessInfo: allows JavaScript.
ALLOWS_JAVASCRIPT = 1 << 3


def executable(app: uuid.UUID, name: str, resources: bytes, flags: int) -> bytes:
    """An app's binary: the header of 130 bytes, code that is never executed, one relocation."""
    code = bytes(index * 7 & 0xFF for index in range(400))
    header = struct.pack(
        "<8s2B2B2BHII32s32sIIII16sIIH",
        b"PBLAPP",
        0x10,
        0x00,
        5,
        0x6A,
        1,
        2,
        130 + len(code),
        130,
        crc32(code),
        name.encode(),
        b"Rig",
        0,
        0,
        flags,
        1,
        app.bytes,
        crc32(resources),
        0,
        130 + len(code),
    )
    assert len(header) == 130
    return header + code + struct.pack("<I", 8)


def app_bundle(
    path: Path, app: uuid.UUID, name: str, *, javascript: str | None = None, keys: dict[str, int] | None = None
) -> Path:
    """An app for the platform flint."""
    resources = b"the resources of " + name.encode()
    binary = executable(app, name, resources, ALLOWS_JAVASCRIPT if javascript else 0)
    information = {
        "uuid": str(app),
        "shortName": name,
        "longName": name,
        "companyName": "Rig",
        "versionLabel": "1.2",
        "sdkVersion": "3",
        "targetPlatforms": ["flint"],
        "appKeys": keys or {},
        "resources": {"media": []},
        "watchapp": {"watchface": False},
        "capabilities": [],
    }
    manifest = {
        "manifestVersion": 2,
        "type": "application",
        "generatedBy": "rig",
        "application": describe("pebble-app.bin", binary) | {"sdk_version": {"major": 5, "minor": 0x6A}},
        "resources": describe("app_resources.pbpack", resources),
    }
    if javascript:
        manifest["js"] = {"name": "pebble-js-app.js"}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bundle:
        bundle.writestr("appinfo.json", json.dumps(information))
        bundle.writestr("flint/manifest.json", json.dumps(manifest))
        bundle.writestr("flint/pebble-app.bin", binary)
        bundle.writestr("flint/app_resources.pbpack", resources)
        if javascript:
            bundle.writestr("pebble-js-app.js", javascript)
    return path


def firmware_bundle(path: Path, version: str) -> Path:
    """A firmware and its resources for the board asterix."""
    # Built when, its version, its source, no flags, hardware 15, layout 1.
    metadata = struct.pack("<I32s8s3B", 1_800_000_000, version.encode(), b"rig", 0, 15, 1)
    firmware = bytes(index * 13 & 0xFF for index in range(20_000)) + metadata
    resources = bytes(index * 5 & 0xFF for index in range(7_001))
    manifest = {
        "manifestVersion": 2,
        "type": "firmware",
        "generatedBy": "rig",
        "firmware": describe("tintin_fw.bin", firmware)
        | {"type": "normal", "hwrev": "asterix", "versionTag": version, "commit": "rig"},
        "resources": describe("system_resources.pbpack", resources),
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as bundle:
        bundle.writestr("manifest.json", json.dumps(manifest))
        bundle.writestr("tintin_fw.bin", firmware)
        bundle.writestr("system_resources.pbpack", resources)
    return path


def describe(name: str, content: bytes) -> dict:
    return {"name": name, "size": len(content), "crc": crc32(content), "timestamp": 1_800_000_000}
