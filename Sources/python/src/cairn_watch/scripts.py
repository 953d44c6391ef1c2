"""The programs that come with the package."""

from __future__ import annotations

import sys


def labgrid_exporter() -> None:
    """`cairn-labgrid-exporter`: labgrid's exporter with the watches of this machine (extra `labgrid`)."""
    try:
        from .labgrid.exporter import main
    except ModuleNotFoundError as error:
        sys.exit(f"cairn-labgrid-exporter: {error}")
    main()
