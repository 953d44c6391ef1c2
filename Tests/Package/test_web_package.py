"""The package `cairn-web`: what is in it, and what its service does beside the watch of the package `cairn`, which is installed.

There is no systemd in the root: the service is started as its unit says, and as systemd would. `test_machine.py` has a systemd.
The tests follow each other: one installs, the last one takes away again.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import select
import shlex
import shutil
import stat
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from test_package import FOREIGN, PACKAGE, ROOT, control, inside, output

WEB_PACKAGE = Path(os.environ["CAIRN_WEB_PACKAGE"]).resolve()
UNIT = ROOT / "usr/lib/systemd/system/cairn-web.service"
#: Where systemd keeps the state of a service that has no user of the machine's, within the root.
STATE = "/var/lib/private/cairn-web"
#: A user of those that systemd gives to services for as long as they run.
DYNAMIC_USER = 61184
#: How long a program may take to start and to answer: it may run under emulation.
PATIENCE = 120


def web_control(field: str) -> str:
    return output("dpkg-deb", "--field", WEB_PACKAGE, field).strip()


def files_of(package: Path) -> list[str]:
    listing = output("dpkg-deb", "--contents", package).splitlines()
    assert not [line for line in listing if line.split()[1] != "root/root"], "owned by somebody else"
    return [line.split(maxsplit=5)[5].split(" -> ")[0] for line in listing]


def names(dependencies: str) -> set[str]:
    """The packages of a field, without their versions."""
    return {word.split()[0] for each in dependencies.split(",") if each.strip() for word in each.split("|")}


def test_what_is_in_it() -> None:
    """The program, its page and its service; the watch's package has nothing of it."""
    paths = files_of(WEB_PACKAGE)
    for path in (
        "./usr/bin/cairn-web",
        "./usr/share/cairn-web/Page/index.html",
        "./usr/share/cairn-web/Page/assets/main.js",
        "./usr/share/cairn-web/Vocabulary/control.schema.json",
        "./usr/share/bash-completion/completions/cairn-web",
        "./usr/share/man/man1/cairn-web.1.gz",
        "./usr/share/doc/cairn-web/copyright",
        "./usr/lib/systemd/system/cairn-web.service",
        "./usr/lib/sysusers.d/cairn-web.conf",
    ):
        assert path in paths, f"{path} is missing"
    own = {path for path in paths if not path.endswith("/")}
    assert own.isdisjoint(files_of(PACKAGE))
    assert [path for path in files_of(PACKAGE) if "cairn-web" in path or "cairn_Web" in path] == []


def test_neither_needs_the_other() -> None:
    """Installing the watch brings no web server along; and the server loads no library of radios or of the watch's store."""
    assert "cairn-web" not in names(control("Depends") + "," + control("Recommends"))
    assert "cairn-web" in names(control("Suggests"))
    depends = names(web_control("Depends"))
    assert "cairn" not in depends and "cairn" in names(web_control("Recommends"))
    assert depends.isdisjoint({"libbluetooth3", "libsqlite3-0"})
    assert web_control("Version") == control("Version")


def test_it_installs() -> None:
    assert not (ROOT / "usr/bin/cairn-web").exists(), "the package of the watch has brought it along"
    shutil.copy(WEB_PACKAGE, ROOT / "root")
    inside("apt-get", "install", "-y", "-qq", "--no-install-recommends", f"/root/{WEB_PACKAGE.name}")
    for package in ("cairn", "cairn-web"):
        assert "install ok installed" in inside("dpkg-query", "--show", "--showformat=${Status}", package)
    assert inside("cairn-web", "--version").strip() == web_control("Version")
    assert json.loads(inside("cairn-web", "--openapi"))["openapi"] == "3.1.0"


def test_the_service_waits_to_be_asked() -> None:
    assert UNIT.exists()
    assert list((ROOT / "etc/systemd/system").glob("*.wants/cairn-web.service")) == []
    # No user of the machine's is made for it, and its group is that of the watch.
    assert "cairn-web" not in (ROOT / "etc/passwd").read_text()
    assert setting("SupplementaryGroups") == "cairn" and inside("getent", "group", "cairn").startswith("cairn:")


def test_man_page_says_what_the_help_says() -> None:
    page = inside("zcat", "/usr/share/man/man1/cairn-web.1.gz").replace("\\-", "-")
    options = set(re.findall(r"^  (--[a-z-]+)", inside("cairn-web", "--help"), re.MULTILINE))
    assert len(options) > 10
    assert [option for option in sorted(options) if option not in page] == []


def setting(name: str) -> str:
    """The only value of a setting of the unit."""
    (value,) = re.findall(rf"^{name}=(.*)$", UNIT.read_text(), re.MULTILINE)
    return value


@contextlib.contextmanager
def started(user: str, group: str, groups: str, *words: str, **variables: str) -> Iterator[subprocess.Popen[bytes]]:
    """A program in the root as another user, until the end of the block; then it ends well when asked."""
    as_user = ["setpriv", f"--reuid={user}", f"--regid={group}", f"--groups={groups}", "--no-new-privs", "--bounding-set=-all"]
    environment = ["env", *(f"{name}={value}" for name, value in variables.items())]
    process = subprocess.Popen(
        [FOREIGN, ROOT, *as_user, *environment, *words],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        # A line that was read ahead is one that `select` does not know of.
        bufsize=0,
    )
    try:
        yield process
        assert process.poll() is None, f"{words[0]} has ended"
        process.terminate()
        assert process.wait(PATIENCE) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def line(process: subprocess.Popen[bytes], pattern: str) -> re.Match[str]:
    """The first line of the output that has this in it."""
    said = ""
    while select.select([process.stdout], [], [], PATIENCE)[0] and (text := process.stdout.readline().decode()):
        said += text
        if match := re.search(pattern, text):
            return match
    raise AssertionError(f"no /{pattern}/ in what was printed:\n{said}")


def test_the_service_answers_to_its_token() -> None:
    """401 without, 200 with. It sees the watch of cairn.service, and gets none of its keys."""
    group = inside("getent", "group", "cairn").split(":")[2]
    for path, owner in (("run/cairn", inside("id", "-u", "cairn").strip()), (STATE[1:], str(DYNAMIC_USER))):
        folder = ROOT / path
        folder.mkdir(parents=True, exist_ok=True)
        inside("chown", f"{owner}:{group}", f"/{path}")
        # Of systemd's directory for such state only a service's own can be seen, by that service.
        folder.parent.chmod(0o755)
        folder.chmod(0o750 if path == "run/cairn" else int(setting("StateDirectoryMode"), 8))
    watch = ("cairn", "run", "--controller", "virtual", "--control", "/run/cairn/control.sock", "--control-access", "group")
    # As systemd does with a variable in a command: each word of it is an argument.
    words = setting("ExecStart").replace("$CAIRN_WEB_OPTIONS", "--port 0 --patience 20")
    me = str(DYNAMIC_USER)
    with (
        started("cairn", "cairn", "cairn", *watch) as air,
        started(me, me, setting("SupplementaryGroups"), *shlex.split(words), STATE_DIRECTORY=STATE) as server,
    ):
        line(air, "advertises for")
        port = int(line(server, r"http://127\.0\.0\.1:(\d+)/\?token=")[1])

        def ask(path: str, token: str | None = None, method: str = "GET") -> tuple[int, bytes]:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
            try:
                connection.request(method, path, headers={"Authorization": f"Bearer {token}"} if token else {})
                response = connection.getresponse()
                return response.status, response.read()
            finally:
                connection.close()

        tokens = {path.name: path for path in (ROOT / STATE[1:]).iterdir()}
        assert {name: stat.S_IMODE(path.stat().st_mode) for name, path in tokens.items()} == {
            "token": 0o600,
            "token.read-only": 0o600,
        }
        token = tokens["token"].read_text().strip()
        for path in ("/api/watches", "/metrics", "/api/watches/cairn/events"):
            assert ask(path)[0] == 401
            assert ask(path, token[:-1] + "x")[0] == 401
        assert ask("/api/session", token)[0] == 200
        end = time.monotonic() + PATIENCE
        while True:
            status, body = ask("/api/watches", token)
            assert status == 200
            found = {each["name"]: each["state"] for each in json.loads(body)["watches"]}
            if found == {"cairn": "up"}:
                break
            assert time.monotonic() < end, found
        assert ask("/api/watches/cairn/screen.png", token)[1].startswith(b"\x89PNG")
        status, page = ask("/", None)
        assert status == 200 and b"<html" in page
        # The group may use the watch; its keys are its user's alone.
        status, body = ask("/api/watches/cairn/capture", token)
        assert (status, json.loads(body)["error"]["code"]) == (409, "not-permitted")


def test_it_goes_without_a_trace() -> None:
    """With its tokens, and without the watch."""
    assert (ROOT / STATE[1:] / "token").exists()
    (ROOT / "var/lib/cairn-web").symlink_to("private/cairn-web")
    inside("apt-get", "purge", "-y", "-qq", "cairn-web")
    left = inside("find", "/etc", "/usr", "/var/lib", "-name", "cairn-web*").split()
    assert [path for path in left if not path.startswith("/var/lib/dpkg")] == []
    assert inside("cairn", "--version").strip() == control("Version")
