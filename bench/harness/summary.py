"""From runs to figures: medians, spreads, ratios."""

from statistics import median


class Summary:
    def __init__(self, results):
        self.results = results
        self.systems = results["systems"]

    def runs(self, step, system):
        return [run for run in self.results["runs"] if run["step"] == step and run["system"] == system]

    def rate(self, step, system):
        """Median, lowest and highest jobs in a second; None where nothing was measured."""
        rates = [run["jobs"] / run["seconds"] for run in self.runs(step, system)]
        return (median(rates), min(rates), max(rates)) if rates else None

    def middle(self, step, system, read):
        """The median of something else that the runs tell."""
        found = [value for value in map(read, self.runs(step, system)) if value is not None]
        return median(found) if found else None

    def ranked(self, step):
        """The systems that did this step, the fastest first."""
        found = [name for name in self.systems if self.rate(step, name)]
        return sorted(found, key=lambda name: -self.rate(step, name)[0])

    def best(self, step, better=max, read=None):
        """The best peer that runs jobs, and its figure: neither ourselves nor a bare loop."""
        figures = {
            name: read(name) if read else (self.rate(step, name) or [None])[0]
            for name, system in self.systems.items()
            if system["runner"] and name != "tenure"
        }
        figures = {name: figure for name, figure in figures.items() if figure is not None}
        return (name := better(figures, key=figures.get), figures[name]) if figures else (None, None)

    def latency(self, system, part="p50", since="commit_ms"):
        return self.middle("latency", system, lambda run: run[since][part])

    def wal(self, system):
        return self.middle("drain", system, lambda run: run["wal_bytes"] / run["jobs"])

    def commits(self, system):
        return self.middle("drain", system, lambda run: 1000 * run["transactions"] / run["jobs"])

    def soak(self):
        runs = self.runs("soak", "tenure")
        return runs[-1] if runs else None

    def http(self):
        runs = self.runs("http", "tenure")
        return runs[-1] if runs else None

    def schedules(self):
        runs = self.runs("schedules", "tenure")
        return runs[-1] if runs else None

    def executions(self):
        runs = self.runs("executions", "tenure")
        return runs[-1] if runs else None

    def sustained(self, system):
        runs = self.runs("sustained", system)
        return runs[-1] if runs else None


def ratio(part, whole):
    return part / whole if part is not None and whole else None
