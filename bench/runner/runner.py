"""The phases of the benchmark, the same for every peer in Python. See bench/README.md for the protocol, and src/phases.rs
for the same in Rust.

A peer is a class with system, unfinished, settings, and the coroutines open(options), enqueue_many(batch), enqueue_one(),
work() and fetch(sql) (the first row of a query, as a tuple), and the function batch(n).
"""

import asyncio
import json
import os
import sys
import time
from pathlib import Path
from types import SimpleNamespace

LAST_POLL_SECONDS = 0.001
START_SECONDS_MAX = 30
WARM_UP = 5

HERE = Path(__file__).resolve().parent
PAYLOAD_TEXT = (HERE / "payload.json").read_text().strip()
PAYLOAD = json.loads(PAYLOAD_TEXT)
COUNTERS = (HERE / "counters.sql").read_text()


class Handled:
    """What the handlers tell the clock."""

    def __init__(self):
        self.count, self.first, self.target = 0, None, None
        self.reached = asyncio.Event()
        self.starts = None

    def __call__(self, jobs=1):
        now = time.perf_counter()
        self.first = self.first or now
        if self.starts is not None:
            self.starts.put_nowait(now)
        self.count += jobs
        if self.target is not None and self.count >= self.target:
            self.reached.set()


def read_options(words):
    options = SimpleNamespace(phase=words[0], jobs=0, batch=1000, seconds=60, segments=6, backlog=2000)
    for name, value in zip(words[1::2], words[2::2]):
        setattr(options, name[2:], value if name == "--url" else int(value))
    return options


async def enqueue(peer, options, _):
    sizes = [options.batch] * (options.jobs // options.batch) + [options.jobs % options.batch]
    batches = [peer.batch(size) for size in sizes if size]
    started = time.perf_counter()
    for batch in batches:
        await peer.enqueue_many(batch)
    return {"jobs": options.jobs, "batch": options.batch, "seconds": time.perf_counter() - started}


async def one_by_one(peer, options, _):
    started = time.perf_counter()
    for _ in range(options.jobs):
        await peer.enqueue_one()
    return {"jobs": options.jobs, "seconds": time.perf_counter() - started}


def start(peer):
    def ended(task):
        print("the worker ended by itself:", task.exception(), file=sys.stderr)
        os._exit(1)

    task = asyncio.create_task(peer.work())
    task.add_done_callback(ended)
    return task


async def drain(peer, options, handled):
    handled.target = options.jobs
    before = await peer.fetch(COUNTERS)
    started = time.perf_counter()
    worker = start(peer)
    await handled.reached.wait()
    while (await peer.fetch(f"select ({peer.unfinished})"))[0]:
        await asyncio.sleep(LAST_POLL_SECONDS)
    seconds = time.perf_counter() - started
    after = await peer.fetch(COUNTERS)
    del worker
    return {
        "jobs": options.jobs,
        "seconds": seconds,
        "first_start_seconds": handled.first - started,
        "handled": handled.count,
        "wal_bytes": after[0] - before[0],
        "transactions": after[1] - before[1],
    }


async def latency(peer, options, handled):
    handled.starts = asyncio.Queue()
    worker = start(peer)
    await asyncio.sleep(1)
    from_commit, from_call = [], []
    for number in range(WARM_UP + options.jobs):
        called = time.perf_counter()
        await peer.enqueue_one()
        committed = time.perf_counter()
        begun = await asyncio.wait_for(handled.starts.get(), START_SECONDS_MAX)
        if number >= WARM_UP:
            from_commit.append(1000 * max(0.0, begun - committed))
            from_call.append(1000 * (begun - called))
        await asyncio.sleep((15 + number * 7 % 20) / 1000)
    del worker
    return {"jobs": options.jobs, "commit_ms": percentiles(from_commit), "call_ms": percentiles(from_call)}


async def sustained(peer, options, handled):
    worker = start(peer)

    async def produce():
        enqueued = 0
        while True:
            if enqueued > handled.count + options.backlog:
                await asyncio.sleep(0.001)
            else:
                await peer.enqueue_many(peer.batch(options.batch))
                enqueued += options.batch

    producer = asyncio.create_task(produce())
    started = at = time.perf_counter()
    rates, total = [], 0
    for segment in range(1, options.segments + 1):
        await asyncio.sleep(max(0.0, started + options.seconds * segment / options.segments - time.perf_counter()))
        if producer.done():
            producer.result()
        now, seen = time.perf_counter(), handled.count
        rates.append((seen - total) / (now - at))
        total, at = seen, now
    del worker
    return {"jobs": total, "seconds": at - started, "rates": rates, "backlog": options.backlog}


def percentiles(values):
    values.sort()
    at = lambda part: values[min(len(values) - 1, int(len(values) * part))]  # noqa: E731
    return {"p50": at(0.50), "p95": at(0.95), "p99": at(0.99)}


def main(make_peer, run=asyncio.run):
    """Runs the phase that the command line names and prints its JSON line."""

    async def course():
        options = read_options(sys.argv[1:])
        handled = Handled()
        peer = make_peer(handled)
        await peer.open(options)
        phases = {"enqueue": enqueue, "one_by_one": one_by_one, "drain": drain, "latency": latency, "sustained": sustained}
        told = await phases[options.phase](peer, options, handled)
        print(json.dumps({"system": peer.system, "phase": options.phase, "settings": peer.settings, **told}), flush=True)
        # Its background tasks have nothing left to do.
        os._exit(0)

    run(course())
