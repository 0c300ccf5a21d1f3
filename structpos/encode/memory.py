"""The memory of a process, seen from outside, and amounts of it in words."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
from pathlib import Path

UNITS = {"B": 1, "KB": 2**10, "MB": 2**20, "GB": 2**30}


def resident(pid: int) -> int:
    """Bytes of memory that a process holds; 0 where that cannot be known (it has ended, or the system does not tell).

    Example:
        >>> import os
        >>> resident(os.getpid()) > 2**20
        True
    """
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError, AttributeError):
        if sys.platform.startswith("linux") or sys.platform == "win32":
            return 0
    answer = subprocess.run(["ps", "-o", "rss=", "-p", str(pid)], capture_output=True, text=True, check=False)
    return int(answer.stdout.strip() or 0) * 2**10


def amount(text: str) -> int:
    """Bytes from a text such as ``2GB`` or ``500 MB``; a number alone is megabytes.

    Raises:
        ValueError: it is no such text.

    Example:
        >>> amount("1.5 GB"), amount("500") == amount("500MB")
        (1610612736, True)
    """
    number = text.strip().upper().replace("IB", "B")
    unit = next((unit for unit in ("KB", "MB", "GB", "B") if number.endswith(unit)), "MB")
    try:
        value = int(float(number.removesuffix(unit)) * UNITS[unit])
    except (ValueError, OverflowError):
        raise ValueError(f"'{text}' is no amount of memory. Write it as 2GB or 500MB.") from None
    if value <= 0:
        raise ValueError(f"'{text}' is no amount of memory to work with. Write it as 2GB or 500MB.")
    return value


def shown(size: float) -> str:
    """An amount of memory as people write it.

    Example:
        >>> shown(3 * 2**30), shown(1500 * 2**20), shown(10)
        ('3 GB', '1.46 GB', '10 B')
    """
    unit = next((unit for unit in ("GB", "MB", "KB") if size >= UNITS[unit]), "B")
    return f"{size / UNITS[unit]:.3g} {unit}"


def die_with_parent() -> None:
    """Ask Linux to end this process when its parent is killed; elsewhere it ends when it next looks for work."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # 1 is PR_SET_PDEATHSIG
