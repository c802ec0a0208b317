"""pgqueuer with asyncpg and large batches, on uvloop as its own command runs it."""

import asyncpg
import uvloop
from pgqueuer import PgQueuer
from pgqueuer.db import AsyncpgDriver
from pgqueuer.queries import Queries

from runner import PAYLOAD_TEXT, main

BATCH = 500
PAYLOAD = PAYLOAD_TEXT.encode()


class Peer:
    system = "pgqueuer"
    unfinished = "exists (select from pgqueuer)"
    settings = f"asyncpg, uvloop, batches of {BATCH}"

    def __init__(self, handled):
        self.handled = handled

    async def open(self, options):
        self.watch = await asyncpg.connect(options.url)
        self.producer = Queries(AsyncpgDriver(await asyncpg.connect(options.url)))
        if not await self.watch.fetchval("select to_regclass('pgqueuer') is not null"):
            await self.producer.install()
        self.worker = PgQueuer(AsyncpgDriver(await asyncpg.connect(options.url)))

        @self.worker.entrypoint("noop")
        async def noop(job):
            self.handled()

    def batch(self, jobs):
        return ["noop"] * jobs, [PAYLOAD] * jobs, [0] * jobs

    async def enqueue_many(self, batch):
        await self.producer.enqueue(*batch)

    async def enqueue_one(self):
        await self.producer.enqueue("noop", PAYLOAD)

    async def work(self):
        await self.worker.run(batch_size=BATCH)

    async def fetch(self, sql):
        return await self.watch.fetchrow(sql)


main(Peer, uvloop.run)
