"""What an AppMessage to a running watch and back costs its process, in what does not depend on the machine: memory that is asked for,
and calls of the kernel. `Tests/Bench/messages.py` measures it, and processor time as well."""

from __future__ import annotations

import sys
from pathlib import Path

from rig import cairn

sys.path.append(str(Path(__file__).resolve().parents[1] / "Bench"))

#: How many allocations a round trip takes in a build for debugging: 315 to 335, as packets come together or not. In one for release it is
#: 15 to 20, and 60 are wanted.
ALLOCATIONS = 400
#: Reads, waits and sends: a packet that comes by itself takes one each, and a phone's packets come one by one at worst.
CALLS = {"reads": 6, "waits": 7, "sends": 2}


async def test_a_message_costs_no_more_than_it_did():
    import messages

    measured = await messages.measure({"watch": str(cairn.binary())}, rounds=3, messages=40, at_once=True)
    watch = measured["watch"]
    assert watch.calls("allocations") <= ALLOCATIONS
    for name, most in CALLS.items():
        assert watch.calls(name) <= most, name
