"""procrastinate with its asynchronous connector and concurrent tasks."""

import logging

import procrastinate
import psycopg

from runner import PAYLOAD, main

CONCURRENCY = 30
CONNECTIONS = 10

logging.disable(logging.CRITICAL)


class Peer:
    system = "procrastinate"
    unfinished = "exists (select from procrastinate_jobs where status in ('todo', 'doing'))"
    settings = f"concurrency {CONCURRENCY}, pool of {CONNECTIONS}"

    def __init__(self, handled):
        self.handled = handled

    async def open(self, options):
        self.watch = await psycopg.AsyncConnection.connect(options.url, autocommit=True)
        connector = procrastinate.PsycopgConnector(conninfo=options.url, min_size=CONNECTIONS, max_size=CONNECTIONS)
        self.app = procrastinate.App(connector=connector)

        @self.app.task(name="noop")
        async def noop(**_):
            self.handled()

        self.task = noop
        await self.app.open_async()
        if not (await self.fetch("select to_regclass('procrastinate_jobs') is not null"))[0]:
            await self.app.schema_manager.apply_schema_async()

    def batch(self, jobs):
        return [PAYLOAD] * jobs

    async def enqueue_many(self, batch):
        await self.task.batch_defer_async(*batch)

    async def enqueue_one(self):
        await self.task.defer_async(**PAYLOAD)

    async def work(self):
        await self.app.run_worker_async(concurrency=CONCURRENCY, install_signal_handlers=False)

    async def fetch(self, sql):
        return await (await self.watch.execute(sql)).fetchone()


main(Peer)
