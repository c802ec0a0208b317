"""What a figure is worth nothing without."""

import datetime
import os
import platform
from pathlib import Path

from .say import CommandFailed, call


def facts():
    return {
        "cores": os.cpu_count(),
        "processor": processor(),
        "memory_gib": memory_gib(),
        "system": f"{platform.system()} {platform.release().split('-')[0]}",
        "rust": version(["rustc", "--version"], 1),
        "node": version(["node", "--version"], 0).removeprefix("v"),
        "python": platform.python_version(),
        "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
    }


def processor():
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def memory_gib():
    try:
        return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)
    except (ValueError, OSError):
        return None


def version(command, word):
    try:
        return call(command).split()[word]
    except (CommandFailed, IndexError):
        return "none"
