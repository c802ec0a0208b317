"""The one PostgreSQL of a run, and what is asked of it."""

import json
import subprocess
from urllib.parse import urlsplit

from .say import CommandFailed, Refusal, call

# A busy server's settings; durability is never traded.
SETTINGS = ["shared_buffers=1GB", "max_wal_size=8GB", "autovacuum_naptime=5s", "synchronous_commit=on"]
TOLD = ["server_version", "fsync", "synchronous_commit", "full_page_writes", "shared_buffers", "max_wal_size",
        "autovacuum_naptime", "wal_compression", "max_connections"]


class Server:
    def __init__(self, tenure, probe, settings, url=None):
        self.probe = probe
        self.process = None
        self.url = url or self.start(tenure, settings)

    def start(self, tenure, settings):
        """The private server lives until our end of the pipe is closed, and so never outlives this process."""
        command = [tenure, "private", "exec", "--fsync", "on"]
        for setting in SETTINGS + settings:
            command += ["--set", setting]
        command += ["--", "sh", "-c", 'echo "$TENURE_TEST_DATABASE_URL"; cat >/dev/null']
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        url = self.process.stdout.readline().strip()
        if not url:
            raise Refusal("no private PostgreSQL", "`tenure private exec` ended early", "read what it said above")
        return url

    def stop(self):
        if self.process:
            self.process.stdin.close()
            self.process.wait()

    def ask(self, *statements, database=None):
        return json.loads(call([self.probe, self.url_of(database) if database else self.url, *statements]))

    def url_of(self, database):
        """In the form that the private server's URL has: a Unix socket as a parameter, which every client understands."""
        parts = urlsplit(self.url)
        return f"{parts.scheme}://{parts.netloc}/{database}" + (f"?{parts.query}" if parts.query else "")

    def fresh(self, database):
        self.drop(database)
        self.ask(f"create database {database}")
        return self.url_of(database)

    def drop(self, database):
        try:
            self.ask(f"drop database if exists {database} with (force)")
        except CommandFailed:
            # A backend may need a moment to go.
            self.ask(f"drop database if exists {database} with (force)")

    def settle(self, database):
        """Statistics true, a checkpoint just done: neither falls into the measurement."""
        self.ask("vacuum analyze", "checkpoint", database=database)

    def size(self, database):
        return int(self.ask(f"select pg_database_size('{database}') as bytes")[0]["bytes"])

    def facts(self):
        columns = ", ".join(f"current_setting('{name}') as {name}" for name in TOLD)
        return self.ask(f"select {columns}")[0]
