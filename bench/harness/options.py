"""What can be chosen."""

import argparse

from .peers import PHASES, names

SMOKE_SYSTEMS = ["tenure", "bare"]


def read(arguments=None):
    parser = argparse.ArgumentParser(
        prog="bench/run",
        description="The same work done by Tenure, its peers and a bare loop, interleaved on one private PostgreSQL.",
    )
    parser.add_argument("--rounds", type=int, default=5, help="interleaved rounds; medians are reported (%(default)s)")
    parser.add_argument("--jobs", type=int, default=50_000, help="jobs to drain and to enqueue in bulk (%(default)s)")
    parser.add_argument("--single-jobs", type=int, default=2_000, help="jobs to enqueue one by one (%(default)s)")
    parser.add_argument("--wake-ups", type=int, default=200, help="jobs of the latency phase (%(default)s)")
    parser.add_argument("--minutes", type=float, default=2.0, help="length of a sustained run, and of each half of a soak (%(default)s)")
    parser.add_argument("--soak-rate", type=int, default=5_000, help="jobs in a second of the soak (%(default)s)")
    parser.add_argument("--only", type=words(list(PHASES)), default=list(PHASES), metavar="PHASES",
                        help=",".join(PHASES))
    parser.add_argument("--systems", type=words(names()), default=names(), metavar="SYSTEMS", help=",".join(names()))
    parser.add_argument("--sustained-systems", type=words(names()), metavar="SYSTEMS",
                        help="which of them do the sustained run too (all that are not slow)")
    parser.add_argument("--url", help="a server to use instead of a private one; databases named bench_… are made there")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="a setting of the private server")
    parser.add_argument("--program", help="a `tenure` to use instead of building this one")
    parser.add_argument("--update", action="store_true", help="install the peers again, the newest that fit")
    parser.add_argument("--publish", action="store_true", help="rewrite docs/ even if not everything was run")
    parser.add_argument("--add", action="store_true", help="keep what the last run measured in phases that are not run now")
    parser.add_argument("--report-only", action="store_true", help="write the report of the last results again")
    parser.add_argument("--smoke", action="store_true", help="Tenure and the bare loop, one tiny round")
    options = parser.parse_args(arguments)
    options.whole = options.systems == names() and options.only == list(PHASES) and not options.smoke
    if options.smoke:
        options.rounds, options.jobs, options.single_jobs, options.wake_ups = 1, 2_000, 50, 20
        options.minutes = 0.1
        if options.systems == names():
            options.systems = SMOKE_SYSTEMS
    return options


def words(allowed):
    def read_words(text):
        found = [word for word in text.split(",") if word]
        for word in found:
            if word not in allowed:
                raise argparse.ArgumentTypeError(f"{word} is none of {', '.join(allowed)}")
        return [word for word in allowed if word in found]

    return read_words
