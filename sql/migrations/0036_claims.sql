-- Types that the functions of claims and ends pass to each other, and a simpler limit on a kind.

-- The ends of a batch of runs, as parallel arrays. Optional arrays are null when no run has the value.
create type tenure.end_batch as (
  job_ids        uuid[],
  tokens         uuid[],
  outcomes       text[],
  results        jsonb[],
  result_refs    text[],
  error_codes    text[],
  error_classes  text[],
  error_messages text[],
  delay_seconds  integer[]
);

-- What tenure.runs_take did with a batch of ends: the runs that succeeded (with the token of each), the ends
-- that are still to be settled, and per token and lane the number of runs that ended.
create type tenure.batch_taken as (
  done        uuid[],
  done_tokens uuid[],
  rest        tenure.run_end[],
  tokens      uuid[],
  lanes       integer[],
  ended       integer[],
  -- Lanes of a limited kind, which has room again.
  freed       integer[]
);

-- What becomes of an ended run: the end itself, the decision, and the fields of the job that it depends on.
create type tenure.run_ruling as (
  job_id        uuid,
  tenant_id     integer,
  lane          integer,
  run           integer,
  attempt       integer,
  token         uuid,
  owner         text,
  holder        text,
  leased_at     timestamptz,
  started_at    timestamptz,
  error_code    text,
  error_class   text,
  error_message text,
  result        jsonb,
  result_ref    text,
  cancel_reason text,
  -- The decision. spent: attempts used so far. next_due: null when the job has ended.
  outcome       text,
  state         text,
  next_due      timestamptz,
  spent         integer,
  is_lost       boolean,
  never_started boolean,
  -- Of the job.
  priority      smallint,
  executor      text,
  deadline_at   timestamptz
);

-- What a worker asks for in one claim.
create type tenure.claim_request as (
  worker        text,
  executor      text,
  kinds         text[],
  rows_max      integer,
  lease_seconds integer,
  mode          text,
  -- Null when the jobs are not started yet.
  started_at    timestamptz,
  token         uuid,
  lane_after    integer,
  affinity_key  text,
  priority_min  integer,
  -- The last rank to take.
  rank_last     smallint,
  -- Where the last batch of this worker ended.
  hint_lane     integer,
  hint_rank     smallint,
  hint_due      timestamptz,
  hint_at       timestamptz,
  hint_alone    boolean
);

-- The lanes a claim may take from, with the terms of a lease in each, as parallel arrays.
create type tenure.claim_terms as (
  lanes         integer[],
  lease_seconds integer[],
  limits        integer[],
  kinds         text[],
  executors     text[],
  stepped       boolean[],
  -- Whether there are more lanes than were read.
  more          boolean,
  -- Positions in the arrays, best lane first; null when there is nothing to take.
  ranking       integer[],
  -- Whether the claim may begin where the last batch ended.
  hint_holds    boolean
);

-- A range of one lane to take jobs from, at most `room` of them, and the terms of the lease.
create type tenure.lane_pick as (
  lane          integer,
  kind          text,
  executor      text,
  lease_seconds integer,
  lease         interval,
  limited       boolean,
  stepped       boolean,
  room          integer,
  -- Only these jobs; null: any.
  wanted        uuid[],
  rank_from     smallint,
  due_from      timestamptz,
  rank_to       smallint,
  due_to        timestamptz
);

-- A new job that tenure.job_hand may give to an idle worker.
create type tenure.handed_job as (
  job_id              uuid,
  lane                integer,
  kind                text,
  payload             json,
  idempotency_key     text,
  due                 timestamptz,
  attempts_max        integer,
  run_timeout_seconds integer,
  renewals_max        integer
);

-- Held jobs are counted by their mark or, where some have none, all of them: see tenure.kind_room.
alter table tenure.kinds
  drop column limit_settles_at,
  drop column limited_after;
