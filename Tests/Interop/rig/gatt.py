"""UUIDs of the Pebble services and of the standard ones that a watch hosts (watch-over-BLE sections 0.4, 3)."""

from __future__ import annotations

from bumble.core import UUID


def pebble(first: str) -> UUID:
    """PBASE(x): a UUID of the Pebble family by its first 32 bits."""
    return UUID(f"{first}-328E-0FBB-C642-1AA6699BDADA")


GAP_SERVICE = UUID.from_16_bits(0x1800)
DEVICE_NAME = UUID.from_16_bits(0x2A00)
APPEARANCE = UUID.from_16_bits(0x2A01)
GATT_SERVICE = UUID.from_16_bits(0x1801)
SERVICE_CHANGED = UUID.from_16_bits(0x2A05)
DATABASE_HASH = UUID.from_16_bits(0x2B2A)
CLIENT_SUPPORTED_FEATURES = UUID.from_16_bits(0x2B29)
DEVICE_INFORMATION = UUID.from_16_bits(0x180A)
MODEL_NUMBER = UUID.from_16_bits(0x2A24)
SERIAL_NUMBER = UUID.from_16_bits(0x2A25)
FIRMWARE_REVISION = UUID.from_16_bits(0x2A26)
SOFTWARE_REVISION = UUID.from_16_bits(0x2A28)
MANUFACTURER_NAME = UUID.from_16_bits(0x2A29)
BATTERY_SERVICE = UUID.from_16_bits(0x180F)
BATTERY_LEVEL = UUID.from_16_bits(0x2A19)
CCCD = UUID.from_16_bits(0x2902)

PAIRING_SERVICE = UUID.from_16_bits(0xFED9)
CONNECTIVITY = pebble("00000001")
TRIGGER_PAIRING = pebble("00000002")
PAIRING_MTU = pebble("00000003")
CONNECTION_PARAMETERS = pebble("00000005")

#: Forward PPoGATT: the phone hosts it.
PPOGATT_SERVICE = pebble("10000000")
PPOGATT_DATA = pebble("10000001")
PPOGATT_META = pebble("10000002")

#: App Launch: the Pebble app on iOS hosts it, and is started again when the watch reads it.
APP_LAUNCH_SERVICE = pebble("20000000")
APP_LAUNCH = pebble("20000001")

#: Reversed PPoGATT V2: the watch hosts it.
REVERSED_SERVICE = pebble("40000000")
REVERSED_DATA = pebble("40000001")
REVERSED_WRITE = pebble("40000003")

#: Reversed PPoGATT V1: the watch hosts it. Packets are written to either of the last two.
REVERSED_V1_SERVICE = pebble("30000003")
REVERSED_V1_DATA = pebble("30000004")
REVERSED_V1_META = pebble("30000005")
REVERSED_V1_WRITE = pebble("30000006")

#: The Pebble Protocol over an L2CAP channel, Cairn's own.
STREAM_SERVICE = pebble("50000000")
#: An L2CAP channel on which every byte comes back, hosted by the watch when it is asked to.
LOOPBACK_SERVICE = pebble("51000000")
#: The characteristic in which Apple looks for the PSM of an L2CAP channel.
PUBLISHED_PSM = UUID("ABDD3056-28FA-441D-A470-55A75A52553A")

#: What libpebble3 and Gadgetbridge add after PPoGATT.
DUMMY = UUID("BADBADBA-DBAD-BADB-ADBA-BADBADBADBAD")
