"""`cairn-web`: watches over HTTP, by programs that others have written where there are some (prometheus-client, tshark, openssl), and
by raw requests where a browser would be attacked."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
import signal
import socket
import stat
import subprocess
import time
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from PIL import Image
from prometheus_client.parser import text_string_to_metric_families
from rig import cairn, web_server
from rig.control import Control
from rig.process import Program
from rig.vectors import REPOSITORY
from rig.watchapps import AppBundle
from rig.web_server import Server, serving
from test_control import CANNOT_CREATE, ECHO_APP, UNAVAILABLE, USAGE, watch_in
from test_phone_command import both_on_air, done, open_session
from watches import ADDRESS

#: What a client may wait until it knows that a watch does not answer, on a machine that is full of other tests, in seconds.
SOON = 8


def named(name: str, state: Path) -> tuple[str, str]:
    """The option for a watch."""
    return "--watch", f"{name}={state / 'control.sock'}"


@contextlib.asynccontextmanager
async def bench_in(folder: Path, *options: str) -> AsyncIterator[tuple[Server, Path]]:
    """A watch without a phone, and a server that knows it as `bench`."""
    state = folder / "state"
    async with watch_in(state), serving(folder, *named("bench", state), *options) as server:
        yield server, state


# MARK: A watch with a phone


async def test_a_watch_and_its_phone_over_http(tmp_path: Path) -> None:
    """Status, commands, the picture, metrics and a capture are what the control socket and the radio have."""
    async with both_on_air(tmp_path) as state, serving(tmp_path, *named("bench", state)) as server:
        async with server.stream("/api/watches/bench/capture") as capture, Control.on(state / "control.sock") as control:
            assert (await capture.piece())[:4] == b"\xa1\xb2\xc3\xd4"
            await open_session(state)
            (entry,) = (await server.ask("GET", "/api/watches")).json["watches"]
            status = await control.status()
            assert (entry["name"], entry["state"]) == ("bench", "up") and "warning" not in entry
            assert entry["status"]["address"] == status["address"] and entry["status"]["links"]
            assert (await server.ask("GET", "/api/watches/bench/status")).json.keys() == status.keys()

            await server.command("bench", "launch", app=ECHO_APP)
            for scale in (1, 3):
                answer = await server.ask("GET", f"/api/watches/bench/screen.png?scale={scale}")
                assert answer.headers["Content-Type"] == "image/png"
                own = Image.open(io.BytesIO(bytes.fromhex((await control.ask("screenshot"))["screen"]["data"]))).convert("RGB")
                shown = Image.open(io.BytesIO(answer.body)).convert("RGB")
                wanted = own.resize((own.width * scale, own.height * scale), Image.Resampling.NEAREST)
                assert shown.tobytes() == wanted.tobytes()

            async with server.events("bench", "?only=app-message-sent,app-message-received") as events:
                assert (await events.event()).data["state"] == "up"
                await done(state, "push", "0=uint8:7")
                received = await events.until("app-message-received")
                sent = await events.until("app-message-sent")
            assert received.data["app"] == ECHO_APP and sent.data["result"] == "ok"
            assert [received.id, sent.id] == [str(received.data["sequence"]), str(sent.data["sequence"])]

            await check_metrics(server)
            await check_capture(capture, tmp_path / "watch.pcap")


async def check_metrics(server: Server) -> None:
    """What Prometheus's own parser reads."""
    page = await server.ask("GET", "/metrics", token=server.read_only_token)
    assert page.headers["Content-Type"].startswith("text/plain; version=0.0.4")
    samples = {
        (sample.name, *(value for name, value in sorted(sample.labels.items()) if name != "watch")): sample.value
        for family in text_string_to_metric_families(page.body.decode())
        for sample in family.samples
    }
    assert samples["cairn_up",] == samples["cairn_links",] == samples["cairn_sessions",] == 1
    assert samples["cairn_link_packets_total", "received", "att"] > 10 < samples["cairn_link_packets_total", "sent", "att"]
    assert samples["cairn_link_bytes_total", "sent", "smp"] > 60
    for direction in ("received", "sent"):
        assert samples["cairn_app_message_seconds_count", direction] == 1
        assert samples["cairn_app_message_seconds_bucket", direction, "+Inf"] == 1
        assert 0 <= samples["cairn_app_message_seconds_sum", direction] < 10
    assert samples["cairn_events_total", "connected"] == 1 and samples["cairn_resident_memory_bytes",] > 1e6
    assert samples["cairn_resets_total", "controller"] == 0 == samples["cairn_pairings_refused_total",]
    assert samples["process_resident_memory_bytes",] > 1e6 and samples["cairn_web_streams", "capture"] == 1


async def check_capture(capture: web_server.Stream, path: Path) -> None:
    """What has come so far is a file that tshark reads to its end, with the phone's pairing in it."""
    data = bytearray(b"\xa1\xb2\xc3\xd4\x00\x02\x00\x04" + bytes(8) + b"\x00\x01\x00\x03\x00\x00\x00\xc9")
    with contextlib.suppress(TimeoutError):
        while True:
            # What is there already; nothing happens on the link now that must be waited for.
            data += await asyncio.wait_for(capture.piece(), 1)
    path.write_bytes(data)
    shown = subprocess.run(
        ["tshark", "-r", path, "-T", "fields", "-e", "hci_h4.direction", "-e", "btsmp.opcode"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert shown.returncode == 0 and "cut short" not in shown.stderr, shown.stderr
    rows = [line.split("\t") for line in shown.stdout.splitlines()]
    opcodes = {row[1] for row in rows if len(row) > 1}
    assert len(rows) > 50 and {row[0] for row in rows} == {"0x00", "0x01"} and {"0x01", "0x02"} <= opcodes


async def test_fifty_readers_while_messages_go(tmp_path: Path) -> None:
    """Everyone gets every event, in order; the watch answers others meanwhile, and sees one more program."""
    count = 20
    async with both_on_air(tmp_path) as state, serving(tmp_path, *named("bench", state)) as server:
        await open_session(state)
        await server.command("bench", "launch", app=ECHO_APP)
        async with contextlib.AsyncExitStack() as stack:
            readers = [await stack.enter_async_context(server.events("bench", "?only=app-message-received")) for _ in range(50)]
            for reader in readers:
                assert (await reader.event()).data["state"] == "up"
            for number in range(count):
                await done(state, "push", f"0=int32:{number}")
                assert (await server.ask("GET", "/api/watches/bench")).json["state"] == "up"
            heard = [[(await reader.event()).data for _ in range(count)] for reader in readers]
        numbers = [event["entries"][0]["number"] for event in heard[0]]
        assert numbers == list(range(count)) and all(each == heard[0] for each in heard)


# MARK: A watch that does not answer


async def test_a_watch_that_is_killed_or_stopped(tmp_path: Path) -> None:
    """It is said soon, with its own status, and the stream tells when it is back; another watch is not concerned."""
    bench, other = tmp_path / "bench", tmp_path / "other"
    async with watch_in(other):
        arguments = [str(cairn.binary()), "run", "--controller", "virtual", "--address", ADDRESS, "--state", str(bench)]
        program = await Program.start(arguments, tmp_path / "bench.log")
        try:
            await program.wait_for_line("advertises for", cairn.START_SECONDS)
            async with serving(tmp_path, *named("bench", bench), *named("other", other), "--patience", "2") as server:
                async with server.events("bench") as events:
                    assert (await events.until("state")).data["state"] == "up"
                    os.kill(program.process_id, signal.SIGSTOP)
                    start = time.monotonic()
                    answer = await server.ask("POST", "/api/watches/bench/commands/tap")
                    assert (answer.status, answer.code) == (504, "watch-hangs") and time.monotonic() - start < SOON
                    listed = (await server.ask("GET", "/api/watches")).json["watches"]
                    assert [(each["name"], each["state"]) for each in listed] == [("bench", "down"), ("other", "up")]
                    down = await events.until("state")
                    assert (down.data["state"], down.data["error"]["code"]) == ("down", "watch-hangs")
                    os.kill(program.process_id, signal.SIGCONT)
                    assert (await events.until("state")).data["state"] == "up"

                    program.kill()
                    await program.wait_for_exit(10)
                    down = await events.until("state", SOON)
                    assert (down.data["state"], down.data["error"]["code"]) == ("down", "watch-down")
                    answer = await server.ask("GET", "/api/watches/bench/status")
                    assert (answer.status, answer.code) == (503, "watch-down") and "cairn run" in answer.json["error"]["message"]
                    assert (await server.ask("GET", "/api/watches/other/status")).status == 200
                    async with watch_in(bench):
                        assert (await events.until("state")).data["state"] == "up"
                        await server.command("bench", "press", button="up")
                        assert (await events.until("button")).data["button"] == "up"
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(program.process_id, signal.SIGCONT)
            program.kill()


# MARK: Commands that belong together


async def test_an_app_is_installed_and_a_backup_is_taken(tmp_path: Path) -> None:
    """What control does on one connection goes over several requests too; and a package goes in one."""
    async with bench_in(tmp_path) as (server, _):
        package = AppBundle().pbw()
        for start in range(0, len(package), 1000):
            piece = await server.command("bench", "install-part", data=package[start : start + 1000].hex())
        assert piece["byteCount"] == len(package)
        installed = (await server.command("bench", "install", launch=True))["app"]
        assert installed["isRunning"]
        await server.command("bench", "remove", app=installed["uuid"])
        answer = await server.ask("PUT", "/api/watches/bench/app?launch=true", package)
        assert answer.status == 200 and answer.json["app"]["uuid"] == installed["uuid"]
        refused = await server.ask("PUT", "/api/watches/bench/app", b"this is no package")
        assert (refused.status, refused.code) == (409, "bad-package")

        size = (await server.command("bench", "backup"))["backup"]["size"]
        copy = b""
        while part := bytes.fromhex((await server.command("bench", "backup-part", offset=len(copy)))["data"]):
            copy += part
        assert len(copy) == size and copy.startswith(b"SQLite format 3\0")


async def test_two_clients_at_once(tmp_path: Path) -> None:
    """Neither waits for the other: one that waits for an event does not hold up the one that brings it about."""
    async with bench_in(tmp_path) as (server, _):
        async with server.events("bench", "?only=button") as events:
            await events.event()
            last = (await server.ask("GET", "/api/watches/bench/status")).json["events"]["last"]
            waiting = asyncio.create_task(server.command("bench", "wait", **{"for": "button", "since": last}))
            await asyncio.gather(*(server.command("bench", "press", button=name) for name in ("up", "down")))
            assert (await waiting)["event"]["event"] == "button"
            assert {(await events.event()).data["button"] for _ in range(2)} == {"up", "down"}


# MARK: Who may ask


async def raw(server: Server, request: str) -> bytes:
    """The answer to a request as it is written."""

    def send() -> bytes:
        with socket.create_connection(("127.0.0.1", server.port), timeout=10) as end:
            end.sendall(request.encode())
            answer = b""
            while piece := end.recv(65536):
                answer += piece
            return answer

    return await asyncio.to_thread(send)


async def test_pages_of_others_are_refused(tmp_path: Path) -> None:
    """A page from another origin, a name that was bound to this address, and a cookie without the page's origin."""
    async with bench_in(tmp_path) as (server, state):
        begun = await server.ask("GET", server.address.removeprefix(server.start), token=None)
        cookie = begun.headers["Set-Cookie"]
        assert begun.status == 303 and "; HttpOnly; SameSite=Strict" in cookie and "Secure" not in cookie
        session = {"Cookie": cookie.split(";")[0]}
        assert (await server.ask("GET", server.address.removeprefix(server.start), token=None)).status == 401
        assert (await server.ask("GET", "/api/session", token=None, headers=session)).json["canChange"] is True

        press = "/api/watches/bench/commands/press"
        own = f"http://127.0.0.1:{server.port}"
        for origin in ("http://evil.example", f"http://localhost:{server.port}", f"https://127.0.0.1:{server.port}", "null", None):
            headers = session | ({"Origin": origin} if origin else {})
            answer = await server.ask("POST", press, {"button": "up"}, token=None, headers=headers)
            assert (answer.status, answer.code) == (403, "bad-origin"), origin
        # What a form of another page can send.
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data"):
            headers = session | {"Origin": own, "Content-Type": kind}
            assert (await server.ask("POST", press, b'{"button":"up"}', token=None, headers=headers)).status == 415
        for host in ("evil.example", f"evil.example:{server.port}", "127.0.0.1.evil.example", ""):
            lines = ["GET /api/watches HTTP/1.1", f"Host: {host}", f"Cookie: {session['Cookie']}", "Connection: close"]
            answer = await raw(server, "\r\n".join(lines) + "\r\n\r\n")
            assert b" 403 " in answer.splitlines()[0] and b"bad-host" in answer, host
        preflight = await server.ask("OPTIONS", press, token=None, headers={"Origin": "http://evil.example"})
        assert preflight.status == 403 and "Access-Control-Allow-Origin" not in preflight.headers
        async with Control.on(state / "control.sock") as control:
            assert "button" not in (await control.status())["events"]["counts"]
        answer = await server.ask("POST", press, {"button": "up"}, token=None, headers=session | {"Origin": own})
        assert answer.status == 200
        for path in ("/", "/assets/style.css", "/api/watches"):
            assert (await server.ask("GET", path, token=None)).headers["Content-Security-Policy"].startswith("default-src 'self'")


async def test_tokens(tmp_path: Path) -> None:
    """Two, each in a file that is its user's alone; one may only look. They stay when the server is started again."""
    async with bench_in(tmp_path) as (server, _):
        folder = tmp_path / "web"
        assert {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.iterdir()} == {
            "token": 0o600,
            "token.read-only": 0o600,
        }
        first = server.token
        for token in (None, "nonsense", server.token[:-1]):
            for path in ("/api/watches", "/metrics", "/openapi.json", "/api/watches/bench/events"):
                answer = await server.ask("GET", path, token=token)
                assert (answer.status, answer.code) == (401, "no-token")
        look = {"token": server.read_only_token}
        assert (await server.ask("GET", "/api/session", **look)).json["canChange"] is False
        assert (await server.ask("POST", "/api/watches/bench/commands/time", **look)).status == 200
        for command in ("press", "reset", "oob", "packets", "backup", "capture-start"):
            answer = await server.ask("POST", f"/api/watches/bench/commands/{command}", {}, **look)
            assert (answer.status, answer.code) == (403, "read-only"), command
        assert (await server.ask("GET", "/api/watches/bench/capture", **look)).status == 403
        made = (await server.ask("POST", "/api/one-time-tokens", **look)).json
        begun = await server.ask("GET", made["path"], token=None)
        session = {"Cookie": begun.headers["Set-Cookie"].split(";")[0]}
        assert (await server.ask("GET", "/api/session", token=None, headers=session)).json["canChange"] is False
    async with serving(tmp_path, "--watches", str(tmp_path), "--read-only") as server:
        assert server.token == first
        assert (await server.ask("GET", "/api/session")).json["canChange"] is False


async def test_tls(tmp_path: Path) -> None:
    """With a certificate the server speaks nothing else, and the cookie goes over TLS alone."""
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
    files = ["-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", certificate]
    subprocess.run(["openssl", *words, *files], check=True, capture_output=True, timeout=60)
    options = ("--watches", str(tmp_path), "--certificate", str(certificate), "--key", str(key))
    async with serving(tmp_path, *options, certificate=certificate) as server:
        assert server.start.startswith("https://")
        assert (await server.ask("GET", "/api/session")).json["canChange"] is True
        begun = await server.ask("GET", server.address.removeprefix(server.start), token=None)
        assert begun.headers["Set-Cookie"].endswith("; Secure")
        assert b"HTTP/1.1 200" not in await raw(server, "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")


# MARK: The program


async def test_watches_of_a_directory(tmp_path: Path) -> None:
    """A watch that comes later is found, and one that is gone is kept, as down."""
    folder = tmp_path / "bench"
    folder.mkdir(mode=0o700)
    async with serving(tmp_path, "--watches", str(folder)) as server:
        assert (await server.ask("GET", "/api/watches")).json == {"watches": []}

        async def states(wanted: dict[str, str]) -> None:
            end = time.monotonic() + 30
            while True:
                found = {each["name"]: each["state"] for each in (await server.ask("GET", "/api/watches")).json["watches"]}
                if found == wanted:
                    return
                assert time.monotonic() < end, found

        async with watch_in(folder / "kitchen"):
            await states({"kitchen": "up"})
        await states({"kitchen": "down"})


async def output(*words: str, **environment: str) -> tuple[int, str]:
    """The status and the output of a command that ends by itself."""
    result = await asyncio.to_thread(
        subprocess.run,
        [str(web_server.binary()), *words],
        capture_output=True,
        text=True,
        timeout=30,
        stdin=subprocess.DEVNULL,
        env=os.environ | environment,
    )
    return result.returncode, result.stdout + result.stderr


@pytest.mark.parametrize(
    ("words", "status", "complaint"),
    [
        (["--watch", "=x"], USAGE, "no name of a watch"),
        (["--watch", "a=x", "--watch", "a=y"], USAGE, "two watches are called “a”"),
        (["--key", "key.pem"], USAGE, "--certificate"),
        (["--port", "70000"], USAGE, "--port"),
        (["--prot", "0"], USAGE, "--port"),
        (["--address", "192.0.2.1"], UNAVAILABLE, "cannot listen at 192.0.2.1"),
        (["--certificate", "/nowhere", "--key", "/nowhere"], CANNOT_CREATE, "cannot be used"),
        (["--token-file", "/proc/nowhere/token"], CANNOT_CREATE, "/proc/nowhere"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
async def test_a_wrong_command_line(tmp_path: Path, words: list[str], status: int, complaint: str) -> None:
    got, text = await output(*words, XDG_STATE_HOME=str(tmp_path))
    assert got == status and complaint in text, text


async def test_the_description_is_current() -> None:
    status, text = await output("--openapi")
    assert status == 0 and text == (REPOSITORY / "Docs/openapi.json").read_text()
    schema = subprocess.run([cairn.binary(), "control", "schema"], capture_output=True, text=True, timeout=60).stdout
    commands = {name.removeprefix("request.") for name in json.loads(schema)["$defs"] if name.startswith("request.")}
    paths = json.loads(text)["paths"]
    routes = {path.rsplit("/", 1)[1] for path in paths if "/commands/" in path}
    assert routes == commands


async def test_the_program_links_nothing_of_the_watch() -> None:
    """It holds no key and no radio: no symbol of the watch's rooms is in it."""
    names = await asyncio.to_thread(
        subprocess.run, ["nm", "--defined-only", web_server.binary()], capture_output=True, text=True, timeout=120
    )
    assert "$s3Web" in names.stdout
    for room in ("11PebbleWatch", "13BluetoothHost", "7Control", "12WatchStorage"):
        assert f"$s{room}" not in names.stdout, room
