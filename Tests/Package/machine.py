"""An emulated machine that starts from an image that Boards/image has made, with one of Bumble's controllers on a serial port.

It is QEMU's `virt` machine, not a Pi, which QEMU emulates without its Bluetooth. The image is left as it is.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
import subprocess
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

from rig.process import Program
from rig.waiting import within

#: From power on to a root shell, and to a service. Emulated, beside other work: minutes.
START_SECONDS = 900
#: Where the partition with the kernel begins.
BOOT_OFFSET = "1M"
#: What is for networks, of which this machine has none, and for the card's first partition, which only a Pi's boot code reads.
LEFT_OUT = (
    *("ssh.service", "wpa_supplicant.service", "systemd-networkd.service", "systemd-networkd.socket"),
    *("systemd-networkd-persistent-storage.service", "systemd-resolved.service", "boot-firmware.mount"),
)


class Shell:
    """A root shell in the machine, on a serial port of its own."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._commands = 0

    async def begin(self, seconds: float) -> None:
        """Waits for the prompt: what is typed before it is lost."""
        await within(seconds, "a root shell", self._reader.readuntil(b"# "))
        # A shell without line editing, echo and prompts.
        self._writer.write(b"exec sh\n")
        self._writer.write(b"stty -echo; PS1=\n")

    async def run(self, command: str, seconds: float = 120) -> str:
        """What a command prints. It has to end with status 0."""
        self._commands += 1
        number = self._commands
        # An echo of this line is not what it prints.
        self._writer.write(f"echo '<'{number}; {command}; echo '>'{number} $?\n".encode())
        expression = re.compile(rf"<{number}\r?\n(.*)>{number} (\d+)\r?\n", re.DOTALL)
        text = ""

        async def answer() -> re.Match[str]:
            nonlocal text
            while not (match := expression.search(text)):
                piece = await self._reader.read(4096)
                assert piece, f"the machine ended while it ran {command}: {text}"
                text += piece.decode("utf-8", "replace")
            return match

        match = await within(seconds, f"the machine to run {command}", answer())
        output = match[1].replace("\r\n", "\n")
        assert match[2] == "0", f"{command} ended with status {match[2]}: {output}"
        return output.strip()


class Machine:
    """A machine that runs."""

    def __init__(self, program: Program, shell: Shell) -> None:
        #: What its console shows, and what its services log.
        self.console = program
        self.shell = shell

    async def property(self, name: str) -> str:
        """What systemd says of the watch's service."""
        return await self.shell.run(f"systemctl show --value --property={name} cairn.service")


def from_boot_partition(image: str, pattern: str, folder: Path) -> Path:
    """A file of the first partition."""
    command = ["mcopy", "-n", "-i", f"{image}@@{BOOT_OFFSET}", f"::{pattern}", folder]
    subprocess.run(command, check=True, timeout=60, capture_output=True)
    (file,) = folder.glob(pattern)
    return file


@contextlib.asynccontextmanager
async def machine(image: str, controller_port: int, folder: Path, files: Sequence[Path] = ()) -> AsyncIterator[Machine]:
    """Starts it. Its serial ports lead to a controller on a TCP port, and to a shell; the files are its second disk and further."""
    parameters = [
        "console=ttyAMA0 root=LABEL=cairn-root rw",
        # The environment of every service; it comes before the board file.
        "systemd.setenv=CAIRN_CONTROLLER=serial:/dev/ttyS0,115200",
        "systemd.debug_shell=ttyS1 systemd.journald.forward_to_console=1",
        *(f"systemd.mask={unit}" for unit in LEFT_OUT),
    ]
    shells: asyncio.Queue[Shell] = asyncio.Queue()
    # QEMU connects when the machine is switched on.
    server = await asyncio.start_server(lambda *streams: shells.put_nowait(Shell(*streams)), "127.0.0.1", 0)
    shell_port = server.sockets[0].getsockname()[1]
    kernel = from_boot_partition(image, "vmlinuz-*", folder)
    initrd = from_boot_partition(image, "initrd.img-*", folder)
    command = [
        *("qemu-system-aarch64", "-M", "virt", "-cpu", "cortex-a72", "-accel", "tcg,thread=multi", "-smp", "2", "-m", "1024"),
        *("-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-serial", "stdio"),
        *("-kernel", str(kernel), "-initrd", str(initrd), "-append", " ".join(parameters)),
        *("-drive", f"file={image},format=raw,if=virtio,snapshot=on", "-device", "virtio-rng-pci"),
        *(word for path in files for word in ("-drive", f"file={path},format=raw,if=virtio,readonly=on")),
        *("-chardev", f"socket,id=controller,host=127.0.0.1,port={controller_port}"),
        *("-chardev", f"socket,id=shell,host=127.0.0.1,port={shell_port}"),
        *("-device", "pci-serial-2x,chardev1=controller,chardev2=shell"),
    ]
    program = await Program.start(command, folder / "machine.log")
    try:
        shell = await within(60, "the machine to be switched on", shells.get())
        await shell.begin(START_SECONDS)
        yield Machine(program, shell)
    finally:
        program.kill()
        await program.wait_for_exit(60)
        server.close()
