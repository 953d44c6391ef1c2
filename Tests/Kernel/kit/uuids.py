"""UUIDs as bluetoothd writes them (watch-over-BLE sections 0.4 and 3)."""


def bluetooth(short: int) -> str:
    return f"0000{short:04x}-0000-1000-8000-00805f9b34fb"


def pebble(first: int) -> str:
    return f"{first:08x}-328e-0fbb-c642-1aa6699bdada"


PAIRING_SERVICE = bluetooth(0xFED9)
CONNECTIVITY = pebble(0x00000001)

DEVICE_INFORMATION = bluetooth(0x180A)
MANUFACTURER_NAME = bluetooth(0x2A29)
BATTERY_SERVICE = bluetooth(0x180F)

REVERSED_SERVICE = pebble(0x40000000)
REVERSED_DATA = pebble(0x40000001)
REVERSED_WRITE = pebble(0x40000003)

#: Forward PPoGATT: the phone hosts it.
PPOGATT_SERVICE = pebble(0x10000000)
PPOGATT_DATA = pebble(0x10000001)
PPOGATT_META = pebble(0x10000002)

STREAM_SERVICE = pebble(0x50000000)
LOOPBACK_SERVICE = pebble(0x51000000)
PUBLISHED_PSM = "abdd3056-28fa-441d-a470-55a75a52553a"
