"""The Python package: built and installed as a user does it, then used as the guides say, with the watch and a phone."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

import pytest
from rig import cairn
from rig.vectors import REPOSITORY
from rig.watchapps import AppBundle

PACKAGE = REPOSITORY / "Sources" / "python"
EXAMPLE = PACKAGE / "examples" / "test_weather.py"
GUIDE = REPOSITORY / "Docs" / "python.md"
BENCH = REPOSITORY / "Docs" / "hardware-in-the-loop.md"
RECIPE = REPOSITORY / "Docs" / "continuous-integration.yml"
#: On a machine that is full of other tests, a watch that is well may take longer to say so than on a bench.
PATIENCE = ("-o", "cairn_alive_within=10")

#: Plugins that the package has nothing to do with, and that cost a second or two of each run.
WITHOUT = tuple(f"-pno:{name}" for name in ("cacheprovider", "anyio", "asyncio", "hypothesispytest", "labgrid", "schemathesis"))


@dataclass(frozen=True)
class Installation:
    """The package as pip installs it, beside what the tests have: on a path of its own, since other tests run meanwhile."""

    site: Path

    def run(self, *arguments: str | Path, folder: Path, seconds: float = 120) -> subprocess.CompletedProcess[str]:
        """Runs Python with the package and the program under test."""
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("CAIRN_", "PYTEST_"))}
        environment |= {"PYTHONPATH": str(self.site), "CAIRN_BINARY": str(cairn.binary().absolute())}
        return subprocess.run(
            [sys.executable, *map(str, arguments)],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            timeout=seconds,
        )

    def pytest(self, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs pytest on a folder's tests."""
        return self.run("-m", "pytest", *WITHOUT, *PATIENCE, *arguments, folder=folder)


@pytest.fixture(scope="session")
def package(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """pip builds the package from its pyproject.toml, without the network, and installs it."""
    folder = tmp_path_factory.mktemp("package")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-build-isolation"]
    made = subprocess.run([*pip, "--no-deps", "--target", folder / "site", PACKAGE], capture_output=True, text=True, timeout=120)
    assert made.returncode == 0, made.stderr
    return Installation(folder / "site")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A user's folder, with an app in it."""
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --strict-markers\n")
    (tmp_path / "weather.pbw").write_bytes(AppBundle().pbw())
    return tmp_path


def blocks(page: Path, language: str) -> list[str]:
    """The fenced blocks of a page."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), re.M | re.S)


def takes_screenshots() -> bool:
    """Whether the program under test has the command."""
    schema = subprocess.run([cairn.binary(), "control", "schema"], capture_output=True, text=True, timeout=60)
    return '"request.screenshot"' in schema.stdout


def as_this_watch_can(text: str) -> str:
    """A test without what a watch from before `screenshot` cannot do."""
    return text if takes_screenshots() else "".join(line for line in text.splitlines(True) if ".screen()" not in line)


def test_the_page_has_the_test_as_it_runs() -> None:
    text = EXAMPLE.read_text()
    assert len(text.splitlines()) <= 15
    assert blocks(BENCH, "python") == [text]


@pytest.mark.timeout(150)
def test_a_test_of_fifteen_lines(package: Installation, folder: Path) -> None:
    (folder / EXAMPLE.name).write_text(as_this_watch_can(EXAMPLE.read_text()))
    result = package.pytest(folder, "--basetemp", "bench")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "1 passed" in result.stdout
    (capture,) = folder.glob("bench/**/watch.btsnoop")
    assert capture.read_bytes().startswith(b"btsnoop\0")
    assert bool(list(folder.glob("bench/**/weather.png"))) == takes_screenshots()


@pytest.mark.timeout(150)
def test_the_report_of_a_failure(package: Installation, folder: Path) -> None:
    text = as_this_watch_can(EXAMPLE.read_text()).replace('phone.expect({5: "rain"})', 'phone.expect({5: "snow"}, timeout=1)')
    (folder / EXAMPLE.name).write_text(text)
    result = package.pytest(folder)
    assert result.returncode == 1 and "1 failed" in result.stdout, result.stdout + result.stderr
    report = result.stdout
    # What went wrong, and each witness.
    assert "TimedOut: timed-out: the phone waited 1 s for a message with {5: 'snow'}; what came was {5: 'rain'}" in report
    assert '"sessions": [\n    {' in report[report.index("watch: status") :]
    log = report[report.index("watch: log") :]
    assert "runs Spec Test" in log and "advertises for discovery" in log
    (capture,) = re.findall(r"^/.*/watch\.btsnoop$", report, re.M)
    assert Path(capture).stat().st_size > 1000
    pictures = re.findall(r"^/.*/watch\.png$", report, re.M)
    assert [Path(each).read_bytes()[:4] for each in pictures] == [b"\x89PNG"] * takes_screenshots()


@pytest.mark.timeout(200)
def test_many_at_once(package: Installation, folder: Path) -> None:
    """Each test has ports, directory and radio of its own."""
    text = as_this_watch_can(EXAMPLE.read_text())
    text = text.replace("def test_weather(", '@pytest.mark.parametrize("number", range(4))\ndef test_weather(number, ')
    (folder / EXAMPLE.name).write_text(text)
    result = package.pytest(folder, "-n", "2")
    assert result.returncode == 0 and "4 passed" in result.stdout, result.stdout + result.stderr


@pytest.mark.timeout(200)
@pytest.mark.parametrize("number", range(len(blocks(GUIDE, "python"))))
def test_the_guide_says_what_runs(package: Installation, folder: Path, number: int) -> None:
    text = blocks(GUIDE, "python")[number]
    if "def test_" in text:
        (folder / "test_guide.py").write_text(text)
        result = package.pytest(folder)
    else:
        (folder / "guide.py").write_text(text)
        result = package.run("guide.py", folder=folder)
    assert result.returncode == 0, result.stdout + result.stderr


def test_the_recipe_runs_what_it_says(package: Installation, folder: Path) -> None:
    """Its last command, where the recipe has it."""
    (command,) = re.findall(r"run: venv/bin/python (-m pytest tests .*)$", RECIPE.read_text(), re.M)
    (folder / "tests").mkdir()
    (folder / "tests" / "test_watch.py").write_text("def test_it(watch):\n    watch.press('up')\n")
    result = package.run(*command.split(), folder=folder)
    assert result.returncode == 0 and "1 passed" in result.stdout, result.stdout + result.stderr
    assert (folder / "bench.xml").exists() and list(folder.glob("bench/**/*.btsnoop"))


def test_the_package_needs_nothing_for_control(package: Installation, folder: Path) -> None:
    project = tomllib.loads((PACKAGE / "pyproject.toml").read_text())["project"]
    assert "dependencies" not in project and project["optional-dependencies"].keys() == {"phone", "labgrid"}
    script = (
        "import sys\nbefore = set(sys.modules)\nimport cairn_watch\n"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(sorted(new - set(sys.stdlib_module_names)))\n"
    )
    result = package.run("-I", "-c", f"import sys; sys.path.insert(0, {str(package.site)!r})\n{script}", folder=folder)
    assert result.stdout == "['cairn_watch']\n", result.stdout + result.stderr


def test_the_versions_are_one(package: Installation, folder: Path) -> None:
    program = subprocess.run([cairn.binary(), "--version"], capture_output=True, text=True, timeout=60).stdout.strip()
    script = "import cairn_watch, importlib.metadata\nprint(cairn_watch.__version__, importlib.metadata.version('cairn-watch'))"
    assert package.run("-c", script, folder=folder).stdout == f"{program} {program}\n"


def test_what_is_generated_is_current() -> None:
    check = subprocess.run([sys.executable, PACKAGE / "generate", "--check"], capture_output=True, text=True, timeout=60)
    assert check.returncode == 0, check.stderr


@pytest.mark.timeout(300)
def test_its_types_are_right(package: Installation, tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    arguments = ("--strict", "--python-version", "3.11", "--cache-dir", tmp_path / "cache", PACKAGE / "src" / "cairn_watch")
    result = package.run("-m", "mypy", *arguments, folder=tmp_path, seconds=300)
    assert result.returncode == 0, result.stdout + result.stderr
    # And a user's mistake is found.
    (tmp_path / "wrong.py").write_text("from cairn_watch import Watch\nWatch.connect('x').press('middle')\n")
    result = package.run("-m", "mypy", "--strict", "--cache-dir", tmp_path / "cache", "wrong.py", folder=tmp_path, seconds=300)
    assert result.returncode == 1 and 'expected "Literal[' in result.stdout, result.stdout + result.stderr


@pytest.mark.timeout(900)
def test_its_own_tests(package: Installation, tmp_path: Path) -> None:
    """Those that need no watch, and those with the program under test and a phone."""
    arguments = ("-n", "2", "--tb=short", "--basetemp", tmp_path / "t", PACKAGE / "tests")
    result = package.run("-m", "pytest", *WITHOUT, *PATIENCE, *arguments, folder=PACKAGE, seconds=880)
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr
