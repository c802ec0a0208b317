"""What Tenure promises against the others, and what was measured."""

from statistics import median

from .summary import ratio


def goals(summary):
    """Rows of (promise, at least or at most, the limit, measured)."""
    def rate(step, system="tenure"):
        figure = summary.rate(step, system)
        return figure[0] if figure else None

    def title(name):
        return summary.systems[name]["title"] if name in summary.systems else name or "the best peer"

    best_bulk, bulk = summary.best("enqueue")
    best_wake, wake = summary.best("latency", better=min, read=summary.latency)
    held = summary.sustained("tenure")
    drain, soak, http, schedules, executions = rate("drain"), summary.soak(), summary.http(), summary.schedules(), summary.executions()

    planned = executions["plan_steps"] if executions else None

    def over_http(part):
        return ratio(median(http[part]["http"]), median(http[part]["sql"])) if http else None

    rows = [
        ("drain, against graphile_worker (Rust)", ">=", 1.5, ratio(drain, rate("drain", "graphile_worker"))),
        ("drain, against the bare claim + delete loop", ">=", 0.65, ratio(drain, rate("drain", "bare"))),
        ("WAL of the drain, bytes per job", "<=", 900, summary.wal("tenure")),
        (f"bulk enqueue without keys, against {title(best_bulk)}", ">=", 1.2, ratio(rate("enqueue"), bulk)),
        (f"bulk enqueue with a key on every job, against {title(best_bulk)}", ">=", 0.9, ratio(rate("enqueue_keys"), bulk)),
        ("one by one, against bare single-row inserts", ">=", 0.7, ratio(rate("one_by_one"), rate("one_by_one", "bare"))),
        (f"wake-up p50, against {title(best_wake)}", "<=", 1.2, ratio(summary.latency("tenure"), wake)),
        ("sustained, last part against the first", ">=", 0.8, ratio(held["rates"][-1], held["rates"][0]) if held else None),
        ("rate with a transaction left open, against without", ">=", 0.9, ratio(soak["held"]["rate"], soak["free"]["rate"]) if soak else None),
        ("batch enqueue over HTTP, against SQL", ">=", 0.333, over_http("enqueue")),
        ("claim and complete over HTTP, against SQL", ">=", 0.333, over_http("claim_and_complete")),
        ("memory of a server for each waiting long poll, bytes", "<=", 65536, http["idle"]["long_polls"]["bytes_each"] if http else None),
        ("memory of a server for each follower of events, bytes", "<=", 65536, http["idle"]["followers"]["bytes_each"] if http else None),
        ("10,000 schedules due in the same second, seconds until all have started", "<=", 5, schedules["one"]["seconds"] if schedules else None),
        ("a look of the scheduler beside 100,000 schedules that are not due, against none", "<=", 1.5, schedules["looks"][-1]["to_none"] if schedules else None),
        ("a step that ends and the next one made ready, against a plain job ended and one enqueued, without a lock, at the worst batch size", "<=", 5, executions["advance_to_plain"] if executions else None),
        (f"the last quarter of a plan of {planned} steps one after the other, against the first", "<=", 1.5, executions["chain"]["last_to_first"] if executions else None),
        (f"the last quarter of a plan of {planned} steps side by side, against the first", "<=", 1.5, executions["fan"]["last_to_first"] if executions else None),
    ]
    return [row for row in rows if row[3] is not None]


def kept(sign, limit, measured):
    return measured >= limit if sign == ">=" else measured <= limit
