"""The sources themselves: what is generated is current, the portable rooms compile for a chip without an operating system,
switches over the project's own enums name every case, and no core room makes a key path."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from rig import switches

ROOT = Path(__file__).resolve().parents[2]

#: A Cortex-M4 or M7, as watches have.
TARGET = "armv7em-none-none-eabi"
#: What the portable rooms import of other projects, in the order in which it is compiled.
LIBRARIES = ["InternalCollectionsUtilities", "ContainersPreview", "DequeModule"]
#: The rooms that compile as Embedded Swift, each after those that it imports.
ROOMS = ["ByteCoding", "BluetoothHCI", "BluetoothHost", "BluetoothPeripheral", "BluetoothCentral", "PebbleProtocol"]
#: The rooms whose switches over enums of their own have no `default:`.
CORE = [*ROOMS, "Faults", "PebbleWatch"]


def test_the_generated_hci_commands_are_those_that_are_declared():
    generate = ROOT / "Sources/BluetoothHCI/Commands/generate"
    check = subprocess.run([generate, "--check"], capture_output=True, text=True, timeout=120)
    assert check.returncode == 0, check.stderr


def test_a_declaration_that_makes_no_sense_is_named(tmp_path):
    folder = tmp_path / "Sources/BluetoothHCI/Commands"
    folder.mkdir(parents=True)
    for name in ("generate", "commands.txt"):
        (folder / name).write_bytes((ROOT / "Sources/BluetoothHCI/Commands" / name).read_bytes())
    with (folder / "commands.txt").open("a") as declarations:
        declarations.write("\nfile More\n\nLEDoThat = LE 0x0070, bit 3.1, 7.8.99\n    Does that.\n    what: Thing -- What.\n")
    line = len((folder / "commands.txt").read_text().splitlines())
    made = subprocess.run(["python3", folder / "generate"], capture_output=True, text=True, timeout=120)
    assert made.returncode == 65
    assert made.stderr == f"commands.txt:{line}: the type Thing is not in the table of `generate`\n"


def compile_for_the_chip(module: str, sources: Path, into: Path, *flags: str) -> subprocess.CompletedProcess:
    files = into / f"{module}.files"
    files.write_text("".join(f'"{path}"\n' for path in sorted(sources.rglob("*.swift"))))
    command = ["swiftc", "-target", TARGET, "-enable-experimental-feature", "Embedded", "-wmo", "-parse-as-library", "-Onone"]
    command += ["-I", into, "-module-name", module, *flags]
    command += ["-emit-module", "-emit-module-path", into / f"{module}.swiftmodule"]
    command += ["-emit-object", "-o", into / f"{module}.o", f"@{files}"]
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


@pytest.mark.timeout(900)
def test_the_portable_rooms_compile_as_embedded_swift(tmp_path):
    collections = ROOT / ".build/checkouts/swift-collections/Sources"
    # The flags of that package's own manifest.
    features = ["BuiltinModule", "Lifetimes"]
    flags = [flag for feature in features for flag in ("-enable-experimental-feature", feature)]
    for library in LIBRARIES:
        made = compile_for_the_chip(library, collections / library, tmp_path, "-package-name", "collections", *flags)
        assert made.returncode == 0, f"{library}: {made.stderr[-4000:]}"
    for room in ROOMS:
        made = compile_for_the_chip(room, ROOT / "Sources" / room, tmp_path, "-swift-version", "6", "-package-name", "cairn")
        errors = [line for line in made.stderr.splitlines() if "error:" in line]
        assert made.returncode == 0, f"{room} is no longer Embedded Swift:\n" + "\n".join(errors or [made.stderr])
        assert (tmp_path / f"{room}.o").stat().st_size > 0


def test_no_switch_over_an_enum_of_our_own_has_a_default():
    assert switches.careless(ROOT / "Sources", CORE) == []


def test_a_default_over_an_enum_is_found(tmp_path):
    """And one over numbers, over constants of a struct, or in a switch inside another, is not."""
    (tmp_path / "Room").mkdir()
    (tmp_path / "Room" / "Light.swift").write_text(
        """
        enum Light { case red, green(for: Int)
            case amber
        }
        func a(_ light: Light) -> Int {
            switch light {
            case .green(let time) where time > 2: return time
            default: return 0  // "case .none:"
            }
        }
        func b(_ light: Light, _ code: Code, _ number: Int) {
            switch light {
            case .red, .amber:
                switch number {
                case 1: print("default:")
                default: break
                }
            case .green: switch code {
                case .stop: break
                default: break
                }
            }
        }
        """
    )
    assert switches.careless(tmp_path, ["Room"]) == ["Room/Light.swift:6: default: over Light"]


#: A lazy sequence keeps what it is given, so that the key path is one, made at each use; any other call makes a closure of it.
LAZY_KEY_PATH = re.compile(r"\.lazy\b[^\n]*\(\\\.")


def lazy_key_paths(sources: Path, rooms: list[str]) -> list[str]:
    return [
        f"{path.relative_to(sources)}:{number}"
        for room in rooms
        for path in sorted((sources / room).rglob("*.swift"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if LAZY_KEY_PATH.search(line)
    ]


def test_no_core_room_makes_a_key_path():
    assert lazy_key_paths(ROOT / "Sources", CORE) == []


def test_a_key_path_that_is_made_is_found(tmp_path):
    (tmp_path / "Room").mkdir()
    lines = ["let a = all.lazy.filter { $0.b }.map(\\.c).min()", "let d = all.map(\\.c)", "let e = all.lazy.map { $0.c }"]
    (tmp_path / "Room" / "All.swift").write_text("\n".join(lines))
    assert lazy_key_paths(tmp_path, ["Room"]) == ["Room/All.swift:1"]
