"""The phones that Pebbles meet, as scripts: what each client does with a watch, step by step, and when it gives up.

| module | client |
|---|---|
| `handset.py` | no client: what Android and iOS do by themselves, whatever app asks them |
| `libpebble3.py` | the Core Devices app (libpebble3) on Android and on iOS |
| `pebbleapp.py` | the Pebble app of the years of Pebble on iOS, as far as the watch can wake it |
| `gadgetbridge.py` | Gadgetbridge, with its own GATT server and in its GATT-client-only mode |
| `pebblekit.py` | companion apps with PebbleKit iOS, next to the system app |
| `clients.py` | all of them by name, and what they say to a watch |
| `world.py`, `matrix.py` | where they meet a watch, and every client in every situation with every personality |

Each follows the order of "Connection sequences of the real clients" (watch-over-BLE section 5) and names its steps as
the client's own code does. A client's time-out, or anything else that makes it give up, is a `ClientFailure` with the
client's own reason. What a real watch never does is a violation, even where the client would live with it.
"""
