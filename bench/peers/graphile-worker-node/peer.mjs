// graphile-worker with its local queue and batched completions.

import { Logger, makeWorkerUtils, run } from "graphile-worker";
import { handled, main, payload } from "./runner.mjs";

const CONCURRENCY = 24;
const LOCAL_QUEUE = 500;
const COMPLETE_DELAY_MS = 0;

const silent = new Logger(() => () => {});
const job = { identifier: "noop", payload };
let url;
let utils;

await main({
  system: "graphile-worker-node",
  unfinished: "exists (select from graphile_worker._private_jobs)",
  settings: () =>
    `local queue of ${LOCAL_QUEUE}, concurrency ${CONCURRENCY}, completions batched for ${COMPLETE_DELAY_MS} ms`,

  async open(options) {
    url = options.url;
    utils = await makeWorkerUtils({ connectionString: url, logger: silent });
    await utils.migrate();
  },

  batch: (jobs) => Array.from({ length: jobs }, () => job),
  enqueueMany: (jobs) => utils.addJobs(jobs),
  enqueueOne: () => utils.addJob("noop", payload),

  async work() {
    const runner = await run({
      preset: {
        worker: {
          connectionString: url,
          logger: silent,
          concurrentJobs: CONCURRENCY,
          maxPoolSize: 10,
          localQueue: { size: LOCAL_QUEUE },
          completeJobBatchDelay: COMPLETE_DELAY_MS,
          failJobBatchDelay: COMPLETE_DELAY_MS,
        },
      },
      taskList: { noop: () => handled() },
    });
    await runner.promise;
  },
});
