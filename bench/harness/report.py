"""Writes what was measured: a page with tables, and its charts."""

from statistics import median

from . import chart
from .goals import goals, kept
from .places import DOCS, ROOT, WORK
from .summary import Summary, ratio

CHARTS = "benchmarks"
# What was put together with --add says so.
APART = """

Not all of it is of one run: some phases were measured again later (`--add`), also with a newer build of Tenure. What
stands in one table was measured together; figures of different tables are not of the same hour."""


def short(step, told):
    """One line for the terminal."""
    if step == "soak":
        return "{:.2f} of the rate with a transaction left open".format(told["held"]["rate"] / max(1, told["free"]["rate"]))
    if step == "http":
        return "{:.2f} of SQL".format(median(told["claim_and_complete"]["http"]) / median(told["claim_and_complete"]["sql"]))
    if step == "schedules":
        return "all {} in {:.2f} s".format(thousands(told["jobs"]), told["seconds"])
    if step == "executions":
        return "a step costs {:.1f} of a plain job at worst".format(told["advance_to_plain"])
    if step == "latency":
        return "commit to start p50 {p50:.2f} p95 {p95:.2f} p99 {p99:.2f} ms".format(**told["commit_ms"])
    text = f"{thousands(told['jobs'] / told['seconds'])} jobs/s"
    if step == "sustained":
        text += f", last part {told['rates'][-1] / max(1, told['rates'][0]):.2f} of the first"
    if "wal_bytes" in told:
        text += f", {told['wal_bytes'] / told['jobs']:.0f} B of WAL per job"
    return text


def write(results, publish):
    """Into docs/ when published, else beside the results. Answers the paths."""
    summary = Summary(results)
    home = DOCS if publish else WORK
    pictures = {name: text for name, text in charts(summary).items() if text}
    (home / CHARTS).mkdir(parents=True, exist_ok=True)
    paths = []
    for name, text in pictures.items():
        paths.append(home / CHARTS / f"{name}.svg")
        paths[-1].write_text(text)
    paths.append(home / "benchmarks.md")
    paths[-1].write_text(page(summary, pictures))
    return [path.relative_to(ROOT) for path in paths]


def page(summary, pictures):
    parts = [head(summary), promises(summary), drain(summary), enqueue(summary), latency(summary), sustained(summary), soak(summary), http(summary),
             schedules(summary), executions(summary)]
    parts += [circumstances(summary), missing(summary)]
    text = "\n\n".join(part for part in parts if part) + "\n"
    for name in ("drain", "enqueue", "latency", "sustained"):
        picture = f"![{name}]({CHARTS}/{name}.svg)\n\n" if name in pictures else ""
        text = text.replace(f"<{name} chart>\n\n", picture)
    return text


def head(summary):
    options, server, machine = summary.results["options"], summary.results["server"], summary.results["machine"]
    return f"""# Benchmarks

Written by `bench/run` on {machine['date']}; not edited by hand. Every system did the same work in the same run, on one
private PostgreSQL {server['server_version'].split()[0]}, each in a database of its own, in {rounds(options['rounds'])}. Figures are medians; the spread is
from the lowest to the highest round. Client and server share the machine ({machine['cores']} cores, {machine['memory_gib']} GiB), so read ratios rather
than absolute figures. Durability is on: fsync {server['fsync']}, synchronous_commit {server['synchronous_commit']}.

[How it is measured, and how to run it yourself](../bench/README.md).""" + (APART if summary.results.get("apart") else "")


def promises(summary):
    rows = [
        [what, f"{'at least' if sign == '>=' else 'at most'} {number(limit)}", number(measured), "yes" if kept(sign, limit, measured) else "**no**"]
        for what, sign, limit, measured in goals(summary)
    ]
    return rows and "## What Tenure promises\n\n" + table(["promise", "limit", "measured", "kept"], rows, "lrrl")


def drain(summary):
    ranked = summary.ranked("drain")
    if not ranked:
        return ""
    _, best = summary.best("drain")
    bare = (summary.rate("drain", "bare") or [None])[0]
    rows = [
        [
            title(summary, name), spread(summary.rate("drain", name)), times(ratio(summary.rate("drain", name)[0], best)),
            times(ratio(summary.rate("drain", name)[0], bare)), whole(summary.wal(name)), number(summary.commits(name)),
            summary.systems[name]["keeps"],
        ]
        for name in ranked
    ]
    counts = {name: summary.runs("drain", name)[0]["jobs"] for name in ranked}
    jobs = max(counts.values())
    fewer = [(name, count) for name, count in counts.items() if count < jobs]
    return (
        f"## Drain\n\nOne process empties a queue of {thousands(jobs)} jobs that do nothing, each with a payload of 200 bytes.\n\n"
        "<drain chart>\n\n"
        + table(["system", "jobs/s", "× fastest peer", "× bare", "WAL B/job", "commits per 1000 jobs", "what is kept"], rows, "lrrrrrl")
        + "\n\nWAL and commits are those of the drain alone; a commit is a transaction that wrote."
        + "".join(f" {title(summary, name)} drained {thousands(few)} jobs, or it would take minutes." for name, few in fewer)
    )


def enqueue(summary):
    rows = [[title(summary, name), "bulk", spread(summary.rate("enqueue", name))] for name in summary.ranked("enqueue")]
    rows += [[title(summary, name), "bulk, a key on each", spread(summary.rate("enqueue_keys", name))] for name in summary.ranked("enqueue_keys")]
    rows += [[title(summary, name), "one by one", spread(summary.rate("one_by_one", name))] for name in summary.ranked("one_by_one")]
    return rows and (
        "## Enqueue\n\nBulk is the system's own bulk call with 1000 jobs; one by one is a call and a commit for each job, "
        "on one connection.\n\n<enqueue chart>\n\n" + table(["system", "how", "jobs/s"], rows, "llr")
    )


def latency(summary):
    found = sorted((name for name in summary.systems if summary.latency(name) is not None), key=summary.latency)
    rows = [
        [title(summary, name), *(f"{summary.latency(name, part):.2f}" for part in ("p50", "p95", "p99")),
         *(f"{summary.latency(name, part, 'call_ms'):.2f}" for part in ("p50", "p95", "p99"))]
        for name in found
    ]
    return rows and (
        "## Wake-up\n\nAn idle worker gets one job at a time, by notification where the system has it. Milliseconds from the "
        "producer's commit, and from its call, to the start of the handler.\n\n<latency chart>\n\n"
        + table(["system", "commit p50", "p95", "p99", "call p50", "p95", "p99"], rows, "lrrrrrr")
    )


def sustained(summary):
    found = [name for name in summary.systems if summary.sustained(name)]
    found.sort(key=lambda name: -mean_rate(summary, name))
    rows = []
    for name in found:
        run = summary.sustained(name)
        first, last = run["rates"][0], run["rates"][-1]
        rows.append([
            title(summary, name), thousands(mean_rate(summary, name)), thousands(first), thousands(last),
            f"{last / max(1, first):.2f}", thousands(run["disk_bytes"] / 2**20), thousands(run["disk_bytes"] / max(1, run["jobs"])),
        ])
    minutes = summary.results["options"]["minutes"]
    parts = len(summary.sustained(found[0])["rates"]) if found else 0
    return rows and (
        f"## Sustained\n\nProducer and worker together for {minutes:g} minutes, with a backlog of about 2,000; first and last are "
        f"the first and the last of {parts} parts.\n\n<sustained chart>\n\n"
        + table(["system", "jobs/s", "first", "last", "last / first", "disk MiB", "disk B/job"], rows, "lrrrrrr")
    )


def soak(summary):
    run = summary.soak()
    rows = run and [
        [
            name, thousands(half["rate"]), *(f"{half['ms'][part]:.1f}" for part in ("p50", "p95", "p99")),
            f"{half['last_ms']['p99']:.1f}", thousands(half["dead_rows"]),
        ]
        for name, half in (("nobody holds anything", run["free"]), ("a transaction is left open", run["held"]))
    ]
    return rows and (
        f"## Held horizon\n\nTenure at {thousands(run['rate'])} jobs in a second for {run['seconds'] / 60:.0f} minutes, and again while "
        "somebody leaves a transaction open, so that nothing can be cleaned up. Milliseconds from the enqueue to the start of the "
        "handler, and in the last part." + (f" {run['by']}" if "by" in run else "") + "\n\n"
        + table(["", "jobs/s", "p50", "p95", "p99", "p99 of the last part", "dead rows at the end"], rows, "lrrrrrr")
    )


def http(summary):
    run = summary.http()
    if not run:
        return None
    rows = []
    for name, part in (("enqueue", run["enqueue"]), ("claim and complete", run["claim_and_complete"])):
        http, sql = (f"{thousands(median(part[way]))} ({thousands(min(part[way]))}–{thousands(max(part[way]))})" for way in ("http", "sql"))
        rows.append([name, http, sql, f"{median(part['http']) / median(part['sql']):.2f}"])
    idle = [
        [name, thousands(part["count"]), thousands(part["bytes_each"]), str(part["database_connections"])]
        for name, part in (("claims that wait", run["idle"]["long_polls"]), ("followers of events", run["idle"]["followers"]))
    ]
    return (
        f"## Over HTTP\n\n{thousands(run['jobs'])} jobs in batches of {run['batch']}, over {run['connections']} connections to a server with as many to its database, and over as "
        f"many connections to the database; {run['rounds']} interleaved rounds, jobs in a second.\n\n"
        + table(["", "HTTP", "SQL", "HTTP / SQL"], rows, "lrrr")
        + f"\n\nWhat it costs a server to keep many waiting; its pool has {run['connections']} connections, and one more listens.\n\n"
        + table(["", "at once", "bytes each", "connections to the database"], idle, "lrrr")
    )


def schedules(summary):
    run = summary.schedules()
    if not run:
        return None
    rows = [
        [name, f"{part['seconds']:.2f}", thousands(part["slots_per_second"]), f"{part['to_enqueue']:.2f}"]
        for name, part in (("one scheduler", run["one"]), ("two schedulers", run["two"]))
    ]
    looks = [[thousands(look["schedules"]), thousands(look["look_us"]), f"{look['to_none']:.2f}" if look["to_none"] else "-"] for look in run["looks"]]
    return (
        f"## Schedules\n\n{thousands(run['jobs'])} schedules that are due in the same second, from then until the jobs of all are made and their next slots are planned; the "
        f"median of {run['rounds']} rounds. Beside it one connection that enqueues as many jobs, 500 at a time: {thousands(run['enqueue_per_second'])} jobs in a second.\n\n"
        + table(["", "seconds", "slots/s", "slots / jobs enqueued"], rows, "lrrr")
        + "\n\nWhat it costs to look when nothing is due.\n\n"
        + table(["schedules that are not due", "a look, µs", "against none"], looks, "rrr")
    )


def executions(summary):
    run = summary.executions()
    if not run:
        return None
    rows = [
        [
            thousands(size["batch"]), thousands(size["plain_us"]), thousands(size["step_us"]), f"{size['to_plain']:.2f} ({size['to_plain_min']:.2f}–{size['to_plain_max']:.2f})",
            thousands(size["locked_us"]), f"{size['locked_to_plain']:.2f}", thousands(size["plain_claim_us"]), thousands(size["step_claim_us"]),
        ]
        for size in run["advance"]
    ]
    growth = [
        [name, thousands(part["steps"]), *(thousands(quarter) for quarter in part["quarters_us"]), f"{part['last_to_first']:.2f} ({min(part['rounds']):.2f}–{max(part['rounds']):.2f})"]
        for name, part in (("one after the other, one at a time", run["chain"]), (f"side by side, {run['fan']['batch']} at a time", run["fan"]))
    ]
    return (
        f"## Executions\n\nExecutions of {run['steps']} steps that need each the one before, as many at once as the batch is large. The clock runs while a batch of steps is ended and the next ones "
        "are made ready, in one transaction; beside it a batch of plain jobs is ended, each with a key and a payload of the same size, and as many are enqueued, in one transaction too. "
        f"The two take turns, batch by batch, and so do steps that lock their target. Microseconds of one step or job; medians of {run['rounds']} rounds. Claims are the same call for all, and not part of it.\n\n"
        + table(["batch", "plain job", "step", "step / plain", "step with a lock", "with a lock / plain", "claim of a plain job", "claim of a step"], rows, "rrrrrrrr")
        + f"\n\nPlans of {thousands(run['plan_steps'])} steps: microseconds of a step in each quarter of the plan. Those side by side all become ready by the end of one, which takes "
        f"{thousands(run['fan']['out_us'])} µs for each; the steps that gather them take {thousands(run['fan']['gather_us'])} µs each.\n\n"
        + table(["", "steps", "first", "second", "third", "last", "last / first"], growth, "lrrrrrr")
    )


def circumstances(summary):
    machine, server = summary.results["machine"], summary.results["server"]
    rows = [["machine", f"{machine['cores']} cores ({machine['processor']}), {machine['memory_gib']} GiB, {machine['system']}"]]
    rows.append(["tools", f"Rust {machine['rust']}, node {machine['node']}, Python {machine['python']}"])
    rows.append(["PostgreSQL", ", ".join(f"{name} {value}" for name, value in server.items())])
    rows += [[title(summary, name), system["settings"] or "-"] for name, system in summary.systems.items()]
    return "## Circumstances\n\n" + table(["", "settings"], rows, "ll")


def missing(summary):
    rows = [[entry["title"], entry["why"]] for entry in summary.results["left_out"].values()]
    rows += [[title(summary, entry["system"]), f"{entry['step']}: {entry['why']}"] for entry in summary.results["failures"]]
    rows = [[cells[0], cells[1].replace("|", "/")[:300]] for cells in rows]
    return rows and "## Left out\n\n" + table(["system", "why"], rows, "ll")


def charts(summary):
    shown = {}
    for name, text in (("drain", "Drain, jobs in a second"), ("enqueue", "Bulk enqueue, jobs in a second")):
        rows = [row(summary, system, *summary.rate(name, system)) for system in summary.ranked(name)]
        shown[name] = rows and chart.bars(text, subtitle(summary, "longer is better, pale is no runner; the thin line spans all rounds"), rows)
    found = sorted((name for name in summary.systems if summary.latency(name) is not None), key=summary.latency)
    rows = [
        (title(summary, name), summary.latency(name), summary.latency(name), summary.latency(name, "p95"), kind(summary, name),
         f"{summary.latency(name):.2f} ms") for name in found
    ]
    shown["latency"] = rows and chart.bars(
        "Wake-up, milliseconds from commit to start, p50", subtitle(summary, "shorter is better; the thin line ends at p95"), rows
    )
    found = sorted((name for name in summary.systems if summary.sustained(name)), key=lambda name: -mean_rate(summary, name))
    rows = [
        row(summary, name, mean_rate(summary, name), min(summary.sustained(name)["rates"]), max(summary.sustained(name)["rates"]))
        for name in found
    ]
    shown["sustained"] = rows and chart.bars(
        "Sustained with a producer, jobs in a second", subtitle(summary, "longer is better; the thin line spans all parts of the run"), rows
    )
    return shown


def subtitle(summary, text):
    machine, server = summary.results["machine"], summary.results["server"]
    return f"{text}; {machine['cores']} cores, PostgreSQL {server['server_version'].split()[0]}, fsync {server['fsync']}"


def row(summary, name, value, low, high):
    return title(summary, name), value, low, high, kind(summary, name), thousands(value)


def kind(summary, name):
    return "ours" if name == "tenure" else "bar" if summary.systems[name]["runner"] else "limit"


def mean_rate(summary, name):
    run = summary.sustained(name)
    return run["jobs"] / run["seconds"]


def title(summary, name):
    system = summary.systems[name]
    return f"{system['title']} {system['version']}".strip()


def table(titles, rows, sides):
    rule = ["---:" if side == "r" else "---" for side in sides]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in [titles, rule, *rows])


def rounds(count):
    return "one round" if count == 1 else f"{count} interleaved rounds"


def thousands(value):
    return f"{value:,.0f}"


def whole(value):
    return "-" if value is None else f"{value:,.0f}"


def number(value):
    return "-" if value is None else f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def times(value):
    return "-" if value is None else f"{value:.2f}"


def spread(rate):
    return f"{thousands(rate[0])} ({thousands(rate[1])}–{thousands(rate[2])})"
