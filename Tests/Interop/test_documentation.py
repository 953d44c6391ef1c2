"""The articles: each block of code in them is compiled and run, and each link leads to a symbol.

A block is a region of a Swift file that the Swift tests compile and run: `Tests/DocumentationTests` has one file for each article, and
the examples have regions too. A region begins with `// snippet: NAME` and ends with `// end`.
"""

from __future__ import annotations

import json
import platform
import re
import shutil
import subprocess
import textwrap
from dataclasses import dataclass
from pathlib import Path

import pytest
from rig import cairn

ROOT = Path(__file__).resolve().parents[2]
CATALOGUES = sorted(ROOT.glob("Sources/*/*.docc"))
ARTICLES = [*(article for catalogue in CATALOGUES for article in sorted(catalogue.rglob("*.md"))), ROOT / "Docs" / "peripheral.md"]
SOURCES = [*sorted(ROOT.glob("Tests/DocumentationTests/*.swift")), *sorted(ROOT.glob("Sources/Examples/*/*.swift"))]


@dataclass(frozen=True)
class Block:
    """A piece of code: a region of a Swift file, or a fenced block of an article."""

    place: str
    name: str
    text: str


def regions(path: Path) -> list[Block]:
    """The regions of a Swift file, without their common indentation."""
    found: list[Block] = []
    name, lines = None, []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        place = f"{path.relative_to(ROOT)}:{number}" if path.is_relative_to(ROOT) else f"{path.name}:{number}"
        if begin := re.match(r"\s*// snippet: (\S+)$", line):
            assert name is None, f"{place}: a region inside '{name}'"
            name, lines = begin[1], []
        elif re.match(r"\s*// end$", line):
            assert name is not None, f"{place}: the end of no region"
            found.append(Block(place, name, textwrap.dedent("\n".join(lines))))
            name = None
        elif name is not None:
            lines.append(line)
    assert name is None, f"{path.name}: the region '{name}' does not end"
    return found


def blocks(path: Path) -> list[Block]:
    """The fenced blocks of an article: place, language, text."""
    found: list[Block] = []
    language, lines = None, []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if fence := re.match(r"\s*```(.*)$", line):
            if language is None:
                language, lines = fence[1], []
            else:
                found.append(Block(f"{path.name}:{number}", language, "\n".join(lines)))
                language = None
        elif language is not None:
            lines.append(line)
    assert language is None, f"{path.name}: a block does not end"
    return found


def strays(articles: list[Path], sources: list[Path]) -> list[str]:
    """Blocks that are no region, and regions that are no block. `test_guides.py` checks the commands in Docs."""
    known = {region.text: region for source in sources for region in regions(source)}
    used: set[str] = set()
    problems: list[str] = []
    for article in articles:
        for block in blocks(article):
            if block.name == "sh" and article.parent.name == "Docs":
                continue
            if block.name != "swift" or block.text not in known:
                problems.append(f"{block.place}: a block that no test compiles")
            used.add(block.text)
    problems += [f"{region.place}: '{region.name}' is in no article" for text, region in known.items() if text not in used]
    return problems


def test_every_block_is_compiled_and_run():
    assert strays(ARTICLES, SOURCES) == []


def test_a_block_that_differs_from_its_region_is_found(tmp_path):
    source, article = tmp_path / "First.swift", tmp_path / "First.md"
    source.write_text("func a() {\n    // snippet: one\n    let x = 1\n\n    let y = 2\n    // end\n}\n")
    article.write_text("# One\n\n```swift\nlet x = 1\n\nlet y = 2\n```\n")
    assert strays([article], [source]) == []
    article.write_text(article.read_text().replace("x = 1", "x = 2"))
    assert strays([article], [source]) == [
        "First.md:7: a block that no test compiles",
        "First.swift:6: 'one' is in no article",
    ]
    article.write_text("```sh\nls\n```\n")
    assert strays([article], []) == ["First.md:3: a block that no test compiles"]


def library_modules() -> set[str]:
    """The modules of the library products."""
    package = json.loads(
        subprocess.run(["swift", "package", "dump-package"], cwd=ROOT, capture_output=True, text=True, check=True, timeout=300).stdout
    )
    return {target for product in package["products"] if "library" in product["type"] for target in product["targets"]}


def test_every_library_module_has_a_catalogue():
    assert {catalogue.stem for catalogue in CATALOGUES} == library_modules()
    for catalogue in CATALOGUES:
        landing = (catalogue / f"{catalogue.stem}.md").read_text()
        assert landing.startswith(f"# ``{catalogue.stem}``\n"), f"{catalogue.name} has no landing page"


def problems_of(catalogue: Path, module: str, folder: Path, modules: Path | None = None) -> list[str]:
    """What DocC has against a catalogue, and against the public comments of its module. `modules` is where the module is."""
    graphs = folder / "graphs"
    graphs.mkdir()
    modules = modules or cairn.binary().parent / "Modules"
    command = ["swift-symbolgraph-extract", "-module-name", module, "-I", modules, "-output-dir", graphs, "-skip-synthesized-members"]
    for library in ("CLinux", "CBluetooth", "CMappings/include"):
        command += ["-I", ROOT / "Sources" / library]
    command += ["-minimum-access-level", "public"]
    made = subprocess.run(
        [*command, "-target", f"{platform.machine()}-unknown-linux-gnu"], capture_output=True, text=True, timeout=300
    )
    assert made.returncode == 0, made.stderr[-2000:]
    diagnostics = folder / "diagnostics.json"
    command = ["docc", "convert", catalogue, "--additional-symbol-graph-dir", graphs, "--output-dir", folder / "archive"]
    command += ["--fallback-display-name", module, "--fallback-bundle-identifier", module, "--diagnostics-file", diagnostics]
    made = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert diagnostics.exists(), made.stdout + made.stderr
    return [
        f"{each.get('source', '').rpartition('/')[2]}:{each.get('range', {}).get('start', {}).get('line')}: {each['summary']}"
        for each in json.loads(diagnostics.read_text())["diagnostics"]
    ]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("catalogue", CATALOGUES, ids=lambda catalogue: catalogue.stem)
def test_docc_has_nothing_against_the_catalogue(catalogue: Path, tmp_path: Path):
    assert shutil.which("docc"), "the toolchain of this project has DocC"
    assert problems_of(catalogue, catalogue.stem, tmp_path) == []


@pytest.mark.timeout(600)
def test_a_link_to_no_symbol_is_found(tmp_path: Path):
    catalogue = tmp_path / "BluetoothCryptography.docc"
    catalogue.mkdir()
    (catalogue / "BluetoothCryptography.md").write_text("# ``BluetoothCryptography``\n\nSee ``NoSuchType``.\n")
    (problem,) = problems_of(catalogue, "BluetoothCryptography", tmp_path)
    assert "NoSuchType" in problem


@pytest.mark.timeout(600)
def test_a_list_that_leaves_out_a_parameter_is_found(tmp_path: Path):
    source, modules, catalogue = tmp_path / "Sample.swift", tmp_path / "Modules", tmp_path / "Sample.docc"
    comment = "/// Adds.\n/// - Parameter first: a number.\n"
    source.write_text(comment + "public func add(first: Int, second: Int) -> Int { first + second }\n")
    modules.mkdir()
    command = ["swiftc", "-emit-module", "-module-name", "Sample", "-o", modules / "Sample.swiftmodule", source]
    made = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert made.returncode == 0, made.stderr[-2000:]
    catalogue.mkdir()
    (catalogue / "Sample.md").write_text("# ``Sample``\n\nA sample.\n")
    (problem,) = problems_of(catalogue, "Sample", tmp_path, modules)
    assert problem == "Sample.swift:2: Parameter 'second' is missing documentation"
