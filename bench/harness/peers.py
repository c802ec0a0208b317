"""The systems under test, each a directory of bench/peers with a peer.json."""

import json
from dataclasses import dataclass, field

from .places import PEERS

# What can be chosen, and the steps that each of them has.
PHASES = {
    "drain": ["drain"],
    "enqueue": ["enqueue", "enqueue_keys", "one_by_one"],
    "latency": ["latency"],
    "sustained": ["sustained"],
    "soak": ["soak"],
    "http": ["http"],
    "schedules": ["schedules"],
    "executions": ["executions"],
}
# The order of the report where figures don't decide it.
FIRST = ["tenure", "bare", "bare_payload"]


@dataclass
class Peer:
    name: str
    title: str
    # How it comes: cargo, npm, pip, or tenure for our own.
    client: str
    # Which of the steps it can do.
    steps: list
    # What it keeps of a finished job, and whether a worker that lost a job can still finish it.
    keeps: str
    # What cargo builds here.
    package: str = ""
    # The published package whose version is reported.
    version_of: str = ""
    # The version to take when the newest does not install.
    fallback: str = ""
    # Words given to the runner with every call.
    arguments: list = field(default_factory=list)
    # Fewer jobs for a system that would take minutes; the rate is what is compared.
    jobs_max: int = 1_000_000_000
    # A queue to be read, or a loop of our own: it is no rival as a runner of jobs.
    runner: bool = True
    version: str = ""
    settings: dict = field(default_factory=dict)


def names():
    found = sorted(path.parent.name for path in PEERS.glob("*/peer.json"))
    return [name for name in FIRST if name in found] + [name for name in found if name not in FIRST]


def load(name):
    return Peer(name=name, **json.loads((PEERS / name / "peer.json").read_text()))
