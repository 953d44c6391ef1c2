"""A web page that the owner of the machine visits: what it can have a browser send to ports of the machine.

The browser is Chromium, as Debian has it, without a window. The page is another origin than the port, so it can send but not read.
"""

from __future__ import annotations

import asyncio
import contextlib
import shutil
import threading
from collections.abc import AsyncIterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from rig.waiting import within

#: The requests that a page can make. A fetch whose answer it may not read is sent all the same; a form needs no permission of
#: any kind; a socket begins with a handshake; WebRTC dials a TCP candidate of the page's choice.
PAGE = """<!doctype html><title>a page</title>
<iframe name="sink"></iframe>
<script>
const target = '127.0.0.1:%(port)d';
const bytes = Uint8Array.from(%(bytes)s);
const settled = [];
for (let i = 0; i < 3; i++)
  settled.push(fetch('http://' + target + '/', {method: 'POST', mode: 'no-cors', body: new Blob([bytes])}).catch(() => 0));
settled.push(fetch('https://' + target + '/', {method: 'POST', mode: 'no-cors', body: new Blob([bytes])}).catch(() => 0));
settled.push(new Promise(resolve => {
  const socket = new WebSocket('ws://' + target + '/');
  socket.onopen = () => socket.send(bytes);
  socket.onclose = resolve;
}));
const form = document.createElement('form');
form.action = 'http://' + target + '/'; form.method = 'POST'; form.enctype = 'text/plain'; form.target = 'sink';
const field = document.createElement('textarea');
field.name = 'a'; field.value = String.fromCharCode(...bytes);
form.appendChild(field); document.body.appendChild(form); form.submit();
const link = document.createElement('link');
link.rel = 'preconnect'; link.href = 'http://' + target + '/';
document.head.appendChild(link);
const patience = new Promise(resolve => setTimeout(resolve, 4000));
Promise.race([Promise.all(settled), patience]).then(() => patience.then(() => fetch('/done')));
</script>
"""


def chromium() -> str:
    """The browser; Tests/run installs it."""
    path = shutil.which("chromium")
    assert path, "there is no chromium: apt-get install chromium"
    return path


@contextlib.asynccontextmanager
async def visited_page(port: int, body: bytes, folder: Path) -> AsyncIterator[None]:
    """Has the browser visit a page that sends `body` to a port of this machine; returns when the page has tried everything."""
    done = asyncio.Event()
    loop = asyncio.get_running_loop()
    page = (PAGE % {"port": port, "bytes": list(body)}).encode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/done":
                loop.call_soon_threadsafe(done.set)
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(page)))
            self.end_headers()
            self.wfile.write(page)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    browser = await asyncio.create_subprocess_exec(
        chromium(),
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-dev-shm-usage",
        f"--user-data-dir={folder / 'browser'}",
        f"http://127.0.0.1:{server.server_port}/",
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        await within(60, "the page to try everything", done.wait())
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            browser.terminate()
        await browser.wait()
        server.shutdown()
        server.server_close()
