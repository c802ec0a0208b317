"""How the harness speaks: what runs now, how far it is, and refusals that say what, why and what to do next."""

import os
import subprocess
import sys
import time


class Refusal(Exception):
    """Something cannot be done; the run ends."""

    def __init__(self, what, why, next_step):
        super().__init__(what)
        self.what, self.why, self.next_step = what, why, next_step

    def show(self):
        print(f"error: {self.what}\n  why:  {self.why}\n  next: {self.next_step}", file=sys.stderr)


class CommandFailed(Exception):
    """A program ended badly; the text is the end of what it said."""


def say(text):
    print(text, flush=True)


def note(text):
    say(f"      {text}")


def call(command, seconds_max=3600, **options):
    """Runs a program and returns its standard output; raises CommandFailed with the end of its complaints."""
    try:
        done = subprocess.run(
            [str(part) for part in command],
            capture_output=True,
            text=True,
            timeout=seconds_max,
            check=False,
            env={**os.environ, "RUST_BACKTRACE": "0"},
            **options,
        )
    except FileNotFoundError as error:
        raise CommandFailed(f"{command[0]} is not installed") from error
    except subprocess.TimeoutExpired as error:
        raise CommandFailed(f"not done after {seconds_max} s") from error
    if done.returncode != 0:
        lines = [line for line in (done.stderr + "\n" + done.stdout).splitlines() if line.strip()]
        told = [line for line in lines if "error" in line.lower()][:3] + lines[-3:]
        raise CommandFailed(" | ".join(dict.fromkeys(told)) or f"ended with {done.returncode}")
    return done.stdout


class Progress:
    """Counts steps, and guesses how long the rest takes from how long the same steps took before."""

    def __init__(self, steps, expected):
        self.left = list(steps)
        self.total = len(self.left)
        # Seconds of the steps whose length is known beforehand, by their first word.
        self.expected = expected
        self.took = {}

    def begin(self, step, text):
        self.started = time.monotonic()
        number = self.total - len(self.left) + 1
        print(f"[{number}/{self.total}] {text:<46} {self.rest():>14}  ", end="", flush=True)

    def end(self, step, text):
        self.took[step] = time.monotonic() - self.started
        self.left.remove(step)
        say(text)

    def rest(self):
        known = [took for step, took in self.took.items() if step[0] not in self.expected]
        if not known:
            return ""
        average = sum(known) / len(known)
        seconds = sum(self.took.get(step) or self.expected.get(step[0], average) for step in self.left)
        return f"about {seconds / 60:.0f} min left" if seconds >= 90 else f"about {seconds:.0f} s left"
