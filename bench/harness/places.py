"""Where things are."""

from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent
ROOT = BENCH.parent
PEERS = BENCH / "peers"
RUNNER = BENCH / "runner"
WORK = BENCH / ".work"
DOCS = ROOT / "docs"
