"""Installs a system through its ordinary package client. What does not install is left out, and the report says so."""

import hashlib
import json
import os
import re
import shutil
import sys

from .places import BENCH, PEERS, ROOT, RUNNER, WORK
from .say import CommandFailed, call


def quiet_priority():
    os.nice(10)


def target_directory(workspace):
    told = call(["cargo", "metadata", "--format-version", "1", "--no-deps"], cwd=workspace)
    return json.loads(told)["target_directory"]


def tenure():
    """Builds the program itself, as it is released, and answers its path."""
    call(["cargo", "build", "--release", "--locked", "--package", "tenure-cli"], cwd=ROOT, preexec_fn=quiet_priority)
    return f"{target_directory(ROOT)}/release/tenure"


def cargo_build(package):
    call(["cargo", "build", "--release", "--package", package], cwd=BENCH, preexec_fn=quiet_priority)
    return f"{target_directory(BENCH)}/release"


def probe():
    return f"{cargo_build('bench-runner')}/bench-probe"


def install(peer, update):
    """Answers the command of its runner, and notes its version."""
    return {"cargo": from_cargo, "npm": from_npm, "pip": from_pip}[peer.client](peer, update)


def from_cargo(peer, update):
    if update and peer.version_of:
        call(["cargo", "update", "--package", peer.version_of], cwd=BENCH)
    directory = cargo_build(peer.package)
    if peer.version_of:
        lock = (BENCH / "Cargo.lock").read_text()
        peer.version = re.search(rf'name = "{peer.version_of}"\nversion = "([^"]+)"', lock).group(1)
    return [f"{directory}/{peer.package}"]


def from_npm(peer, update):
    home = fresh_home(peer, "package.json", update)
    for file in [*(PEERS / peer.name).glob("*.mjs"), *RUNNER.glob("*.*")]:
        shutil.copy(file, home)
    if not (home / "node_modules" / peer.version_of).exists():
        shutil.copy(PEERS / peer.name / "package.json", home)
        install_npm = ["npm", "install", "--no-audit", "--no-fund", "--no-package-lock"]
        try:
            call(install_npm, cwd=home, preexec_fn=quiet_priority)
        except CommandFailed:
            if not peer.fallback:
                raise
            call([*install_npm, "--save-exact", f"{peer.version_of}@{peer.fallback}"], cwd=home, preexec_fn=quiet_priority)
    package = json.loads((home / "node_modules" / peer.version_of / "package.json").read_text())
    peer.version = package["version"]
    # The peers ask for a newer node than many systems have; the package `node` brings it.
    node = home / "node_modules" / ".bin" / "node"
    peer.settings["runtime"] = f"node {call([node, '--version']).strip().removeprefix('v')}"
    return [str(node), str(home / "peer.mjs")]


def from_pip(peer, update):
    home = fresh_home(peer, "requirements.txt", update)
    python = home / "venv" / "bin" / "python"
    if not python.exists():
        try:
            call([sys.executable, "-m", "venv", home / "venv"])
            requirements = PEERS / peer.name / "requirements.txt"
            call([python, "-m", "pip", "install", "--quiet", "--upgrade", "-r", requirements], preexec_fn=quiet_priority)
        except CommandFailed:
            # Half an environment would look like a whole one next time.
            shutil.rmtree(home / "venv", ignore_errors=True)
            raise
    version = f"import importlib.metadata as m; print(m.version({peer.version_of!r}))"
    peer.version = call([python, "-c", version]).strip()
    peer.settings["runtime"] = f"Python {sys.version.split()[0]}"
    return ["env", f"PYTHONPATH={RUNNER}", "PYTHONDONTWRITEBYTECODE=1", str(python), str(PEERS / peer.name / "peer.py")]


def fresh_home(peer, manifest, update):
    """The directory a peer is installed into, emptied when its manifest has changed since."""
    home = WORK / peer.name
    stamp = home / "manifest.sha256"
    wanted = hashlib.sha256((PEERS / peer.name / manifest).read_bytes()).hexdigest()
    if update or not stamp.exists() or stamp.read_text() != wanted:
        shutil.rmtree(home, ignore_errors=True)
        home.mkdir(parents=True)
        stamp.write_text(wanted)
    return home
