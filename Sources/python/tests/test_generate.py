"""What is generated: it is current, and a new command needs no Python."""

from __future__ import annotations

import json
import subprocess
import sys
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

PACKAGE = Path(__file__).resolve().parents[1]
SCHEMA = PACKAGE.parents[1] / "Docs" / "control.schema.json"

pytestmark = pytest.mark.skipif(not SCHEMA.exists(), reason="the package stands without its repository")


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    loader = SourceFileLoader("generate", str(PACKAGE / "generate"))
    module = module_from_spec(spec_from_loader("generate", loader))  # type: ignore[arg-type]
    sys.modules["generate"] = module
    loader.exec_module(module)
    return module


def test_it_is_current() -> None:
    check = subprocess.run([PACKAGE / "generate", "--check"], capture_output=True, text=True, timeout=60)
    assert check.returncode == 0, check.stderr


def test_a_schema_that_cannot_be_read() -> None:
    check = subprocess.run([PACKAGE / "generate", "--schema", "/nowhere"], capture_output=True, text=True, timeout=60)
    assert check.returncode == 66 and "/nowhere cannot be read" in check.stderr


def test_a_new_command_has_a_method_and_types(generate: ModuleType) -> None:
    schema = json.loads(SCHEMA.read_text())
    definitions = schema["$defs"]
    definitions["request"]["oneOf"].append({"$ref": "#/$defs/request.wobble"})
    definitions["request.wobble"] = {
        "description": "Wobble the watch.",
        "properties": {
            "command": {"const": "wobble"},
            "for": {"type": "string", "description": "why"},
            "howOften": {"type": ["integer", "null"], "default": 2, "maximum": 9, "minimum": 1},
        },
        "required": ["command", "for"],
        "type": "object",
    }
    definitions["answer.wobble"] = {
        "properties": {
            "ok": {"const": True},
            "event": {"$ref": "#/$defs/event"},
            "press": {"$ref": "#/$defs/event.button"},
            "wobbles": {
                "type": "array",
                "items": {"type": "object", "properties": {"at": {"type": "number"}}, "required": ["at"]},
            },
        },
        "required": ["ok", "wobbles"],
        "type": "object",
    }
    text = generate.vocabulary(schema)
    names: dict[str, Any] = {}
    exec(compile(text, "vocabulary.py", "exec"), names)
    assert "wobble" in names["COMMANDS"]
    assert names["WobbleAnswer"].__annotations__.keys() == {"ok", "event", "press", "wobbles"}
    assert "    event: NotRequired[Event]\n" in text and "    press: NotRequired[ButtonEvent]\n" in text
    assert text.count("class ButtonEvent(") == 1
    method = names["Commands"].wobble
    assert "Wobble the watch." in method.__doc__ and "(from 1 to 9; usually 2)." in method.__doc__

    class Recorder(names["Commands"]):  # type: ignore[misc]
        def ask(self, command: str, /, **fields: Any) -> dict[str, Any]:
            return {"command": command, **fields}

    assert Recorder().wobble("fun", how_often=3) == {"command": "wobble", "for": "fun", "howOften": 3}


def test_every_command_and_event_of_the_schema_is_there() -> None:
    from cairn_watch import vocabulary
    from cairn_watch.asynchronous import AsyncWatch

    definitions = json.loads(SCHEMA.read_text())["$defs"]
    commands = [name.removeprefix("request.") for name in definitions if name.startswith("request.")]
    assert sorted(vocabulary.COMMANDS) == sorted(commands)
    events = {definitions[name]["properties"]["event"]["const"] for name in definitions if name.startswith("event.")}
    assert set(vocabulary.EVENT_NAMES) == events
    undocumented = [
        name for name in dir(AsyncWatch) if not name.startswith("_") and not (getattr(AsyncWatch, name).__doc__ or "").strip()
    ]
    assert undocumented == []
