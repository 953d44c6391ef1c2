"""App bundles, made as the SDK makes them: by zipfile, struct, and libpebble2's checksum."""

from __future__ import annotations

import io
import json
import struct
import uuid
import zipfile
from dataclasses import dataclass, field

from libpebble2.util import stm32_crc

#: PebbleProcessInfo (pebble-protocol section 20.2).
HEADER = struct.Struct("<8s2B2B2BHII32s32sIIII16sIIH")
ALLOWS_JAVASCRIPT = 1 << 3


@dataclass
class AppBundle:
    """A watchapp for one kind of watch."""

    app: uuid.UUID = uuid.UUID("6b1f5c2e-0f3a-4d0e-9b7a-1c2d3e4f5a6b")
    name: str = "Spec Test"
    platform: str = "flint"
    flags: int = ALLOWS_JAVASCRIPT
    code: bytes = field(default_factory=lambda: bytes(range(256)) * 3 + b"end")
    content: bytes = b"a resource"

    @property
    def binary(self) -> bytes:
        size = HEADER.size + len(self.code)
        header = HEADER.pack(
            b"PBLAPP",
            *(0x10, 0),
            *(5, 0x6A),
            *(1, 2),
            size,
            HEADER.size,
            stm32_crc.crc32(self.code),
            self.name.encode(),
            b"Lab",
            0,
            0,
            self.flags,
            0,
            self.app.bytes,
            stm32_crc.crc32(self.content),
            0,
            size + 64,
        )
        return header + self.code

    @property
    def resources(self) -> bytes:
        crc = stm32_crc.crc32(self.content)
        table = struct.pack("<IIII", 1, 0, len(self.content), crc).ljust(256 * 16, b"\0")
        return struct.pack("<III", 1, crc, 0) + table + self.content

    def pbw(self, *, resources: bool = True) -> bytes:
        files = {"pebble-app.bin": self.binary}
        if resources:
            files["app_resources.pbpack"] = self.resources
        described = {
            name: {"name": name, "timestamp": 0, "size": len(data), "crc": stm32_crc.crc32(data)}
            for name, data in files.items()
        }
        manifest = {
            "manifestVersion": 2,
            "generatedBy": "rig",
            "type": "application",
            "application": described["pebble-app.bin"],
        }
        if resources:
            manifest["resources"] = described["app_resources.pbpack"]
        archive = io.BytesIO()
        with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as bundle:
            bundle.writestr("appinfo.json", json.dumps({"uuid": str(self.app), "shortName": self.name}))
            bundle.writestr(f"{self.platform}/manifest.json", json.dumps(manifest))
            for name, data in files.items():
                bundle.writestr(f"{self.platform}/{name}", data)
        return archive.getvalue()
