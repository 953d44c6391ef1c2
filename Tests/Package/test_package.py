"""The package: what is in it, and what it does to a clean root of Debian's stable release.

The tests follow each other: one installs, one takes away again. The tests of the installed watch with a phone are those of
Tests/Interop, which `run` calls with it.
"""

from __future__ import annotations

import os
import platform
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest

FOREIGN = Path(__file__).parents[2] / "Boards/debian/foreign.py"
BENCH = Path(__file__).parents[1] / "Bench"
PACKAGE = Path(os.environ["CAIRN_PACKAGE"]).resolve()
ROOT = Path(os.environ["CAIRN_PACKAGE_ROOT"])


#: Instructions of an AppMessage to the installed watch and back: 156,000 to 158,000 have been counted.
INSTRUCTIONS = 180_000


def output(*command: str | Path, status: int = 0) -> str:
    """What a command prints on standard output; it has to end with the status."""
    result = subprocess.run(command, capture_output=True, text=True, timeout=280)
    assert result.returncode == status, f"{command} ended with {result.returncode}:\n{result.stdout}{result.stderr}"
    return result.stdout


def inside(*command: str, status: int = 0) -> str:
    """The same for a command in the root."""
    return output(FOREIGN, ROOT, *command, status=status)


def control(field: str) -> str:
    return output("dpkg-deb", "--field", PACKAGE, field).strip()


#: What readelf calls the processor, and the program that loads programs.
PROCESSOR, LOADER = {
    "arm64": ("AArch64", "ld-linux-aarch64.so.1"),
    "amd64": ("X86-64", "ld-linux-x86-64.so.2"),
}[control("Architecture")]


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The program, out of the package."""
    folder = tmp_path_factory.mktemp("unpacked")
    output("dpkg-deb", "--extract", PACKAGE, folder)
    return folder / "usr/bin/cairn"


def test_what_is_in_it() -> None:
    """Each file where Debian looks for it."""
    listing = output("dpkg-deb", "--contents", PACKAGE)
    paths = {line.split(maxsplit=5)[5].split(" -> ")[0] for line in listing.splitlines()}
    for path in (
        "./usr/bin/cairn",
        "./etc/cairn/board.yaml",
        "./usr/share/bash-completion/completions/cairn",
        "./usr/share/zsh/vendor-completions/_cairn",
        "./usr/share/fish/vendor_completions.d/cairn.fish",
        "./usr/share/man/man1/cairn.1.gz",
        "./usr/share/man/man1/cairn-run.1.gz",
        "./usr/share/cairn/boards/virtual/board.yaml",
        "./usr/share/cairn/scenarios/watch-restarts.yaml",
        "./usr/share/cairn/scenarios/common/set-up.yaml",
        "./usr/share/doc/cairn/copyright",
        "./usr/lib/systemd/system/cairn.service",
        "./usr/lib/sysusers.d/cairn.conf",
        "./usr/lib/udev/rules.d/60-cairn.rules",
    ):
        assert path in paths, f"{path} is missing"
    assert not [line for line in listing.splitlines() if not line.split()[1] == "root/root"], "owned by somebody else"


def test_processor_and_symbols(program: Path) -> None:
    """For the package's processor, and without the symbols that a debugger wants: they have a package of their own."""
    header = output("readelf", "--file-header", program)
    assert PROCESSOR in header
    assert ".symtab" not in output("readelf", "--section-headers", "--wide", program)


def test_dependencies_say_what_the_program_needs(program: Path) -> None:
    """Each library that the program loads is of a package it depends on, and Swift's runtime is not among them."""
    needed = set(re.findall(r"Shared library: \[(.+)\]", output("readelf", "--dynamic", program)))
    owners = {
        "libc.so.6": "libc6",
        "libm.so.6": "libc6",
        LOADER: "libc6",
        "libgcc_s.so.1": "libgcc-s1",
        "libstdc++.so.6": "libstdc++6",
        "libsqlite3.so.0": "libsqlite3-0",
        "libyaml-0.so.2": "libyaml-0-2",
        "libz.so.1": "zlib1g",
        "libbluetooth.so.3": "libbluetooth3",
    }
    assert needed <= owners.keys()
    depends = {dependency.split()[0] for dependency in control("Depends").split(", ")}
    assert {owners[library] for library in needed} <= depends


def test_c_library_version_is_stated(program: Path) -> None:
    """The newest symbol version that the program wants is the version that the package asks for, and the stable release's has it."""
    versions = re.findall(r"GLIBC_(\d+)\.(\d+)", output("readelf", "--version-info", program))
    newest = max((int(major), int(minor)) for major, minor in versions)
    stated = re.search(r"libc6 \(>= (\d+)\.(\d+)\)", control("Depends"))
    assert stated and (int(stated[1]), int(stated[2])) == newest
    assert newest <= (2, 41)


def test_nothing_of_the_machine_that_built_it(program: Path) -> None:
    """The program names no folder of the machine that built it."""
    strings = set(re.findall(rb"/(?:tmp|home|root|work)/[\w./-]+", program.read_bytes()))
    named = {path for path in strings if b"cairn" in path.lower() or b"swift" in path.lower()}
    # What mkdtemp makes a name of, where the program runs.
    assert not {path for path in named if not path.endswith(b"XXXXXX")}


def package_inside() -> Path:
    """The package as the root sees it."""
    target = ROOT / "root" / PACKAGE.name
    if not target.exists():
        target.write_bytes(PACKAGE.read_bytes())
    return Path("/root") / PACKAGE.name


def test_it_installs() -> None:
    inside("apt-get", "install", "-y", "-qq", "--no-install-recommends", f"{package_inside()}")
    assert "install ok installed" in inside("dpkg-query", "--show", "--showformat=${Status}", "cairn")


def test_version() -> None:
    assert inside("cairn", "--version").strip() == control("Version")


def test_the_default_configuration_is_the_machines_own() -> None:
    """What an administrator writes into it stays when the package is replaced."""
    assert "/etc/cairn/board.yaml" in inside("dpkg-query", "--show", "--showformat=${Conffiles}", "cairn")


def test_the_service_waits_to_be_asked() -> None:
    """Installing it takes no controller from another program: the unit is there, its user too, and nothing is to start it."""
    assert (ROOT / "usr/lib/systemd/system/cairn.service").exists()
    assert list((ROOT / "etc/systemd/system").glob("*.wants/cairn.service")) == []
    user = inside("getent", "passwd", "cairn").strip().split(":")
    assert user[6] == "/usr/sbin/nologin"
    groups = {line.split(":")[0] for line in (ROOT / "etc/group").read_text().splitlines()}
    unit = (ROOT / "usr/lib/systemd/system/cairn.service").read_text()
    (wanted,) = re.findall(r"^SupplementaryGroups=(.*)$", unit, re.MULTILINE)
    assert set(wanted.split()) <= groups


def test_completion_is_read_by_the_shell() -> None:
    inside("bash", "-n", "/usr/share/bash-completion/completions/cairn")


def test_man_pages_say_what_the_help_says() -> None:
    """Every option of the help of `cairn run` is in the page."""
    page = inside("zcat", "/usr/share/man/man1/cairn-run.1.gz").replace("\\-", "-")
    options = set(re.findall(r"^  (--[a-z-]+)", inside("cairn", "run", "--help"), re.MULTILINE))
    assert len(options) > 10
    assert [option for option in sorted(options) if option not in page] == []


def test_demonstration() -> None:
    assert "The demonstration succeeded" in inside("cairn", "demo")


@pytest.mark.skipif(
    control("Architecture") != "amd64" or platform.machine() != "x86_64", reason="valgrind counts this machine's instructions only"
)
async def test_a_message_takes_no_more_than_it_did(program: Path) -> None:
    """Debian's compiler makes other copies than the one that everything else is tested with."""
    sys.path.append(str(BENCH))
    from messages import count_instructions

    loader = [str(ROOT / "usr/lib64" / LOADER), "--library-path", str(ROOT / "usr/lib/x86_64-linux-gnu")]
    assert await count_instructions([*loader, str(program)], messages=100) <= INSTRUCTIONS


def test_it_goes_without_a_trace() -> None:
    """Installed again in the end: the tests that follow need it."""
    inside("apt-get", "purge", "-y", "-qq", "cairn")
    left = inside("find", "/etc", "/usr", "/var/lib", "-name", "cairn*").split()
    assert [path for path in left if not path.startswith("/var/lib/dpkg")] == []
    inside("apt-get", "install", "-y", "-qq", "--no-install-recommends", f"{package_inside()}")
    mode = (ROOT / "usr/bin/cairn").stat().st_mode
    assert stat.S_IMODE(mode) == 0o755
