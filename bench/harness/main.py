"""The course of a run: build, install, rounds, report."""

import json
import time

from . import install, machine, options as choices, report
from .peers import PHASES, load
from .places import WORK
from .runners import OwnRunner, Runner, run_step
from .say import CommandFailed, Progress, Refusal, note, say
from .server import Server

RESULTS = WORK / "results.json"
# These take minutes: once is enough, their parts are the repetition.
ONCE = ["sustained", "soak", "http", "schedules", "executions"]
# Below this rate in the drain (jobs in a second) a sustained run tells nothing new.
SUSTAINED_RATE_MIN = 5_000


def main():
    chosen = choices.read()
    try:
        WORK.mkdir(exist_ok=True)
        if chosen.report_only:
            results = json.loads(RESULTS.read_text())
        else:
            results = run(chosen)
            if chosen.add:
                results = added(results, json.loads(RESULTS.read_text()), chosen)
            RESULTS.write_text(json.dumps(results, indent=1) + "\n")
        for path in report.write(results, chosen.publish or (chosen.whole and not chosen.report_only)):
            say(f"wrote {path}")
        return 0
    except Refusal as refusal:
        refusal.show()
        return 1
    except KeyboardInterrupt:
        say("\ninterrupted; nothing was written")
        return 130


def run(chosen):
    say("building …")
    try:
        program, probe = chosen.program or install.tenure(), install.probe()
    except CommandFailed as error:
        raise Refusal("tenure does not build", str(error), "mend that first; `cargo build --release` shows all") from error
    runners, left_out = prepare(chosen, program)
    server = Server(program, probe, chosen.set, chosen.url)
    try:
        measured = measure(chosen, server, runners)
        facts = server.facts()
    finally:
        server.stop()
    return {
        "machine": machine.facts(),
        "server": facts,
        "options": {name: getattr(chosen, name) for name in ("rounds", "jobs", "single_jobs", "wake_ups", "minutes", "smoke")},
        "systems": {name: system_facts(runner.peer) for name, runner in runners.items()},
        "left_out": left_out,
        **measured,
    }


def added(results, last, chosen):
    """The last results with the phases that were run now in place of its own."""
    now = {step for phase in chosen.only for step in PHASES[phase]}
    kept = {part: [run for run in last[part] if run["step"] not in now] for part in ("runs", "failures")}
    return {
        **last,
        "apart": True,
        "options": {**last["options"], "rounds": results["options"]["rounds"]} if set(now) - set(ONCE) else last["options"],
        "systems": {**last["systems"], **{name: facts for name, facts in results["systems"].items() if name not in last["systems"]}},
        **{part: kept[part] + results[part] for part in kept},
    }


def prepare(chosen, program):
    """The runners of all systems that install."""
    runners, left_out = {}, {}
    for name in chosen.systems:
        peer = load(name)
        started = time.monotonic()
        try:
            if peer.client == "tenure":
                runners[name] = OwnRunner(peer, program)
            else:
                runners[name] = Runner(peer, install.install(peer, chosen.update))
            note(f"{peer.title} {peer.version} … {time.monotonic() - started:.0f} s")
        except (CommandFailed, OSError, AttributeError) as error:
            left_out[name] = {"title": peer.title, "why": f"did not install: {error}"}
            note(f"{peer.title} is left out, it did not install: {error}")
    return runners, left_out


def measure(chosen, server, runners):
    steps = [step for phase in chosen.only for step in PHASES[phase]]
    plan = [
        (number, step, name)
        for number in range(1, chosen.rounds + 1)
        for step in steps
        if step not in ONCE
        for name in rotated(list(runners), number - 1)
        if step in runners[name].peer.steps
    ]
    lasting = [name for name in runners if name in (chosen.sustained_systems or runners)]
    plan += [(1, step, name) for step in steps if step in ONCE for name in lasting if step in runners[name].peer.steps]
    expected = {"sustained": chosen.minutes * 60 + 5, "soak": chosen.minutes * 120 + 10, "http": 60, "schedules": 400, "executions": 300, "latency": chosen.wake_ups * 0.03 + 5}
    progress = Progress([(step, name) for _, step, name in plan], expected)
    runs, failures = [], []
    for number, step, name in plan:
        progress.begin((step, name), f"round {number}/{chosen.rounds}  {step:<12} {name}")
        if any(failure["step"] == step and failure["system"] == name for failure in failures):
            progress.end((step, name), "skipped, failed before")
            continue
        if step in ONCE and slow(runs, name):
            progress.end((step, name), f"skipped, drains less than {SUSTAINED_RATE_MIN} jobs/s")
            continue
        try:
            told = run_step(server, runners[name], step, chosen)
            if told.get("settings"):
                runners[name].peer.settings.setdefault("text", told["settings"])
            runs.append({**told, "round": number, "step": step, "system": name})
            progress.end((step, name), report.short(step, told))
        except (CommandFailed, ValueError, KeyError) as error:
            failures.append({"round": number, "step": step, "system": name, "why": str(error)})
            progress.end((step, name), f"failed: {error}")
    return {"runs": runs, "failures": failures}


def rotated(names, by):
    by %= max(1, len(names))
    return names[by:] + names[:by]


def slow(runs, name):
    rates = [run["jobs"] / run["seconds"] for run in runs if run["system"] == name and run["step"] == "drain"]
    return bool(rates) and max(rates) < SUSTAINED_RATE_MIN


def system_facts(peer):
    return {
        "title": peer.title,
        "version": peer.version,
        "client": peer.client,
        "keeps": peer.keeps,
        "runner": peer.runner,
        "settings": ", ".join(peer.settings[name] for name in ("text", "runtime") if name in peer.settings),
    }
