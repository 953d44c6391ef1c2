"""The API of `cairn-web` and its own description, tried by schemathesis: whatever it sends, an answer is one that the description
has, and nothing falls over.

CAIRN_WEB_REQUESTS: about how many requests are made up, such as 10000 for a long run.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from test_web_api import bench_in

#: About how many requests there are in all.
REQUESTS = int(os.environ.get("CAIRN_WEB_REQUESTS", "3000"))
#: One waits for up to a day, and one writes a file wherever it is told to.
LEFT_OUT = ("command-wait", "command-capture-start", "command-recorder-save")

CONFIGURATION = """
base-url = "{start}"
headers = {{ Authorization = "Bearer {token}" }}
request-timeout = 30
continue-on-failure = true

[parameters]
watch = "bench"

# The watch refuses some of what its schema allows (Docs/control.md), such as a level of the log that there is none of.
[checks]
positive_data_acceptance.enabled = false

[phases]
stateful.enabled = false

[generation]
max-examples = {examples}
"""


@pytest.mark.slow
@pytest.mark.timeout(3600 if REQUESTS > 3000 else 600)
async def test_made_up_requests(tmp_path: Path) -> None:
    async with bench_in(tmp_path) as (server, _):
        description = (await server.ask("GET", "/openapi.json")).json
        operations = [each for path in description["paths"].values() for each in path.values() if "operationId" in each]
        endless = [each["operationId"] for each in operations if each.get("x-endless")]
        # Those of its coverage phase are some 40 for each operation, whatever is asked for.
        examples = max(1, (REQUESTS - 40 * len(operations)) // len(operations))
        text = CONFIGURATION.format(start=server.start, token=server.token, examples=examples)
        (tmp_path / "schemathesis.toml").write_text(text)
        words = ["run", f"{server.start}/openapi.json", "-H", f"Authorization: Bearer {server.token}"]
        for operation in (*endless, *LEFT_OUT):
            words += ["--exclude-operation-id", operation]
        program = [sys.executable, "-m", "schemathesis.cli"]
        result = await asyncio.to_thread(
            subprocess.run, [*program, *words, "--no-color"], cwd=tmp_path, capture_output=True, text=True
        )
        (tmp_path / "schemathesis.log").write_text(result.stdout)
        assert result.returncode == 0, result.stdout[-20_000:] + result.stderr
        made = re.search(r"(\d+) generated", result.stdout)
        assert made and int(made[1]) >= min(REQUESTS, 2000), result.stdout[-2000:]
        # It is as well as before.
        assert (await server.ask("GET", "/api/watches/bench/status")).status == 200
        assert json.loads((await server.ask("GET", "/openapi.json")).body) == description
