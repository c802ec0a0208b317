"""Tenure's runner is its own `tenure bench`, on a database made ready by `tenure init`."""

import json

from .say import CommandFailed, call

CLAIM_ROWS, CONNECTIONS = 500, 2


class Tenure:
    def __init__(self, program):
        self.program = program

    def version(self):
        return call([self.program, "--version"]).split()[-1]

    def init(self, url):
        call([self.program, "init", "--database-url", url, "--json"])

    def prepare(self, url, jobs):
        self.bench(url, 600, "drain", "--prepare-only", "--jobs", jobs)

    def run(self, step, url, seconds_max, **choices):
        return getattr(self, step)(url, seconds_max, **choices)

    def drain(self, url, seconds_max, jobs):
        pace = ["--batch", CLAIM_ROWS, "--connections", CONNECTIONS]
        told = self.bench(url, seconds_max, "drain", "--skip-enqueue", *pace)
        if told["jobs"] != jobs or told["left"]:
            raise CommandFailed(f"{told['jobs']} of {jobs} jobs were drained, {told['left']} are left")
        return {
            "jobs": jobs,
            "seconds": told["seconds"],
            "wal_bytes": told["wal_bytes_per_job"] * jobs,
            "transactions": told["commits_per_job"] * jobs,
            "settings": f"{CONNECTIONS} connections, batch {CLAIM_ROWS}, {told['settings']['concurrency']} at once; "
            "a key on every job, gates and row-level security on",
        }

    def enqueue(self, url, seconds_max, jobs, batch, keys=False):
        words = ["--jobs", jobs, "--batch", batch, "--keys" if keys else "--no-keys"]
        return timed(jobs, self.bench(url, seconds_max, "enqueue", *words))

    def enqueue_keys(self, url, seconds_max, jobs, batch):
        return self.enqueue(url, seconds_max, jobs, batch, keys=True)

    def one_by_one(self, url, seconds_max, jobs):
        return timed(jobs, self.bench(url, seconds_max, "enqueue", "--one-by-one", "--jobs", jobs, "--no-keys"))

    def latency(self, url, seconds_max, jobs):
        told = self.bench(url, seconds_max, "latency", "--jobs", jobs)
        return {"jobs": jobs, "commit_ms": percentiles(told), "call_ms": percentiles(told["from_send"])}

    def sustained(self, url, seconds_max, seconds, batch, backlog, segments):
        words = ["--seconds", seconds, "--producer-batch", batch, "--backlog", backlog]
        told = self.bench(url, seconds_max, "steady", "--closed-loop", *words)
        return {
            "jobs": told["jobs"],
            "seconds": told["seconds"],
            "rates": [segment["jobs_per_second"] for segment in told["segments"]],
            "cleaned": told["cleaned"],
        }

    def soak(self, url, seconds_max, seconds, rate):
        told = self.bench(url, seconds_max, "soak", "--rate", rate, "--seconds", seconds)
        return {"jobs": told["jobs"], "seconds": told["seconds"], "rate": rate, "free": half(told["free"]), "held": half(told)}

    def http(self, url, seconds_max):
        told = self.bench(url, seconds_max, "http")
        if told["left"]:
            raise CommandFailed(f"{told['left']} jobs are left")
        parts = ("enqueue", "claim_and_complete")
        return {
            "jobs": told["settings"]["jobs"],
            "seconds": told["settings"]["jobs"] / told["jobs_per_second"],
            "batch": told["settings"]["batch"],
            "connections": told["settings"]["connections"],
            "rounds": told["settings"]["rounds"],
            **{part: {way: told[part][way] for way in ("http", "sql")} for part in parts},
            "idle": told["idle"],
        }

    def schedules(self, url, seconds_max, schedules, idle):
        told = self.bench(url, seconds_max, "schedules", "--schedules", schedules, "--idle", idle)
        if told["left"] or any(count != schedules for way in ("one", "two") for count in told[way]["started"]):
            raise CommandFailed(f"not all of {schedules} were started: {told['one']['started']}, {told['two']['started']}, {told['left']} are left")
        return {
            "jobs": schedules,
            "seconds": told["one"]["seconds"],
            "rounds": told["settings"]["rounds"],
            **{part: told[part] for part in ("one", "two", "enqueue_per_second", "looks")},
        }

    def executions(self, url, seconds_max, steps, plan_steps):
        told = self.bench(url, seconds_max, "executions", "--steps", steps, "--plan-steps", plan_steps)
        if told["left"]:
            raise CommandFailed(f"{told['left']} jobs are left")
        largest = max(told["advance"], key=lambda size: size["batch"])
        return {
            "jobs": steps * largest["batch"],
            "seconds": steps * largest["batch"] / told["jobs_per_second"],
            "steps": steps,
            "plan_steps": plan_steps,
            "rounds": told["settings"]["rounds"],
            **{part: told[part] for part in ("advance", "advance_to_plain", "chain", "fan")},
        }

    def bench(self, url, seconds_max, *words):
        command = [self.program, "bench", *words, "--json", "--yes", "--database-url", url]
        return json.loads(call(command, seconds_max=seconds_max).strip().splitlines()[-1])


def half(told):
    return {
        "rate": told["jobs_per_second"], "ms": percentiles(told["latency"]), "dead_rows": told["dead_rows"],
        "last_ms": percentiles(told["segments"][-1]),
    }


def timed(jobs, told):
    return {"jobs": jobs, "seconds": told["seconds"]}


def percentiles(told):
    return {part: told[f"{part}_ms"] for part in ("p50", "p95", "p99")}
