#!/usr/bin/env python3
"""Runs a command in a root of this architecture or another, emulated by qemu-user, without a trace on the machine.

    foreign.py ROOT COMMAND...

The command has the root's files, the machine's network, processes and /tmp, and takes the place of this process: signals reach it.

The kernel's table of program formats (binfmt_misc) belongs to a user namespace, since Linux 6.7: so there is one of our own, in
which every program of the other architecture is run by qemu. On older kernels the machine's own table has to know it, as it does
where Debian's qemu-user-static is installed. Needs root; the ids inside are those outside.
"""

import ctypes
import os
import shutil
import sys
from pathlib import Path

CLONE_NEWNS, CLONE_NEWUSER = 0x20000, 0x10000000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000

EMULATOR = "qemu-aarch64-static"
# The start of an ELF file for this processor, and which of its bits count.
MAGIC = bytes.fromhex("7f454c460201010000000000000000000200b700")
MASK = bytes.fromhex("ffffffffffffff00fffffffffffffffffeffffff")

libc = ctypes.CDLL(None, use_errno=True)


def checked(result, what):
    if result != 0:
        error = ctypes.get_errno()
        raise SystemExit(f"foreign.py: {what}: {os.strerror(error)}")


def mount(source, target, kind=None, flags=0):
    result = libc.mount(source.encode(), str(target).encode(), kind and kind.encode(), flags, None)
    checked(result, f"mounting {source} on {target}")


def new_namespaces():
    """Mounts of our own, and users of our own, whose ids mean what they mean outside: a process outside has to say so."""
    done_reading, done_writing = os.pipe()
    mapped_reading, mapped_writing = os.pipe()
    process = os.getpid()
    helper = os.fork()
    if helper == 0:
        os.read(done_reading, 1)
        for table in ("uid_map", "gid_map"):
            Path(f"/proc/{process}/{table}").write_text("0 0 65536\n")
        os.write(mapped_writing, b"x")
        os._exit(0)
    checked(libc.unshare(CLONE_NEWUSER | CLONE_NEWNS), "making namespaces (as root?)")
    os.write(done_writing, b"x")
    os.read(mapped_reading, 1)
    os.waitpid(helper, 0)


def is_foreign(root):
    """Whether the programs in the root are for the other architecture. (debootstrap unpacks this one first of all.)"""
    with open(f"{root}/usr/bin/dpkg", "rb") as program:
        header = program.read(len(MAGIC))
    return os.uname().machine != "aarch64" and bytes(a & b for a, b in zip(header, MASK)) == MAGIC


def register(root):
    """Tells the kernel who runs such programs. The emulator is opened now, so that it is found from inside of the root."""
    table = Path(root) / "proc/sys/fs/binfmt_misc"
    try:
        mount("none", table, "binfmt_misc")
    except SystemExit:
        return  # an older kernel: what the machine knows has to do
    emulator = shutil.which(EMULATOR)
    if emulator is None:
        raise SystemExit(f"foreign.py: there is no {EMULATOR}: install Debian's qemu-user-static")
    fields = [b"", EMULATOR.encode(), b"M", b"", MAGIC, MASK, emulator.encode(), b"F"]
    rule = b":".join(b"".join(b"\\x%02x" % byte for byte in field) if field in (MAGIC, MASK) else field for field in fields)
    (table / "register").write_bytes(rule)


def main():
    root, *command = sys.argv[1:]
    new_namespaces()
    mount("none", "/", flags=MS_REC | MS_PRIVATE)
    for shared in ("dev", "proc", "tmp"):
        mount(f"/{shared}", f"{root}/{shared}", flags=MS_BIND | MS_REC)
    if is_foreign(root):
        register(root)
    os.chroot(root)
    os.chdir("/")
    # debootstrap does without device files of its own in what it takes for a container.
    environment = {"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "LANG": "C.UTF-8", "container": "lxc"}
    environment |= {"DEBIAN_FRONTEND": "noninteractive"}
    try:
        os.execvpe(command[0], command, environment)
    except OSError as error:
        raise SystemExit(f"foreign.py: {command[0]}: {error.strerror}") from None


if __name__ == "__main__":
    main()
