"""Runs one step of one system: in a database of its own, by its runner."""

import json

from .say import call
from .tenure import Tenure

# As many as a bulk call gets, and as many as the producer of a sustained run sends at once.
BATCH, PRODUCER_BATCH, BACKLOG = 1000, 500, 2000
SEGMENTS = 10
# A system that is a hundred times slower than it should be is cut off.
STEP_SECONDS_MAX = 900


class Runner:
    """A peer's program; it prints one line of JSON."""

    def __init__(self, peer, command):
        self.peer, self.command = peer, command

    def prepare(self, url, jobs):
        self.run("enqueue", url, jobs=jobs, batch=BATCH)

    def run(self, step, url, seconds_max=STEP_SECONDS_MAX, **choices):
        words = [word for name, value in choices.items() for word in (f"--{name}", value)]
        told = call([*self.command, step, "--url", url, *words, *self.peer.arguments], seconds_max=seconds_max)
        return json.loads(told.strip().splitlines()[-1])


class OwnRunner:
    """Tenure's program, in the words of the peers."""

    def __init__(self, peer, program):
        self.peer, self.tenure = peer, Tenure(program)
        peer.version = self.tenure.version()

    def prepare(self, url, jobs):
        self.tenure.init(url)
        self.tenure.prepare(url, jobs)

    def run(self, step, url, seconds_max=STEP_SECONDS_MAX, **choices):
        if step != "drain":
            self.tenure.init(url)
        return self.tenure.run(step, url, seconds_max, **choices)


def run_step(server, runner, step, options):
    """One measurement in a fresh database."""
    database = f"bench_{runner.peer.name.replace('-', '_')}"
    url = server.fresh(database)
    jobs = min(options.jobs, runner.peer.jobs_max)
    try:
        if step == "drain":
            runner.prepare(url, jobs)
            server.settle(database)
            return runner.run("drain", url, jobs=jobs)
        if step in ("enqueue", "enqueue_keys"):
            return runner.run(step, url, jobs=jobs, batch=BATCH)
        if step == "one_by_one":
            return runner.run(step, url, jobs=min(options.single_jobs, jobs))
        if step == "latency":
            return runner.run(step, url, jobs=options.wake_ups)
        if step == "http":
            return runner.run(step, url)
        if step == "schedules":
            return runner.run(step, url, schedules=500 if options.smoke else 10_000, idle=2_000 if options.smoke else 100_000)
        if step == "executions":
            return runner.run(step, url, steps=5 if options.smoke else 50, plan_steps=40 if options.smoke else 1000)
        seconds = round(options.minutes * 60)
        if step == "soak":
            return runner.run(step, url, seconds_max=2 * seconds + STEP_SECONDS_MAX, seconds=seconds, rate=options.soak_rate)
        told = runner.run(
            step,
            url,
            seconds_max=seconds + STEP_SECONDS_MAX,
            seconds=seconds,
            segments=max(SEGMENTS, seconds // 60),
            batch=PRODUCER_BATCH,
            backlog=BACKLOG,
        )
        return {**told, "disk_bytes": server.size(database)}
    finally:
        server.drop(database)
