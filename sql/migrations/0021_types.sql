-- Types that functions pass to each other. No table has a column of one.

-- A job to be made, as the functions of the way in pass it to each other. The fields up to on_behalf_of are
-- the arguments of tenure.job_enqueue_many, in their order; a field that is null has its default.
create type tenure.new_job as (
  kind                 text,
  payload              json,
  key                  text,
  executor             text,
  priority             integer,
  due_at               timestamptz,
  deadline_at          timestamptz,
  source_ref           text,
  target_ref           text,
  payload_ref          text,
  classification       text,
  attempts_max         integer,
  correlation_id       text,
  causation_event      bigint,
  parent_job_id        uuid,
  workflow_id          uuid,
  run_id               uuid,
  affinity_key         text,
  event_domain         text,
  source_system        text,
  job_id               uuid,
  on_behalf_of         text,
  -- Only steps, slots and replays set these. The first five override the policy of the kind.
  lease_seconds        integer,
  run_timeout_seconds  integer,
  backoff_base_seconds integer,
  renewals_max         integer,
  on_exhausted         text,
  on_lost              text,
  origin               jsonb,
  replay_of            uuid,
  traceparent          text
);

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

-- The error of a run that failed.
create type tenure.run_error as (
  code    text,
  class   text,
  message text
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

-- What the program computed from the rule of one schedule, as it hands it to tenure.schedule_advance: the
-- slots that were due since the last look (first to latest, of which passed are not listed and lie up to
-- passed_until), the next slot, or an error of the rule.
create type tenure.rule_plan as (
  schedule_id      integer,
  first            timestamptz,
  latest           timestamptz,
  passed           integer,
  passed_until     timestamptz,
  listed           timestamptz[],
  next             timestamptz,
  next_gap_seconds bigint,
  error_code       text,
  error_message    text
);

-- A plan as it was submitted, checked by itself.
create type tenure.submission as (
  -- The canonical text and its hash.
  plan_text    text,
  plan_hash    text,
  plan         jsonb,
  key          text,
  key_origin   text,
  start_after  timestamptz,
  start_before timestamptz,
  metadata     jsonb,
  on_behalf_of text,
  supersedes   uuid,
  retry_of     uuid
);

-- An execution to be made: its plan with the registered actions filled in, and what the rules say about it.
create type tenure.new_execution as (
  execution_id uuid,
  plan         jsonb,
  steps        tenure.plan_step[],
  action_class text,
  priority     smallint,
  requesters   text[],
  level        integer,
  rule         text,
  start_window jsonb
);

-- What an approval takes, of a plan or (with a number) of one step.
create type tenure.approval_terms as (
  step_number     integer,
  level           integer,
  rule            text,
  roles           text[],
  quorum          integer,
  expires_seconds integer
);

-- What an operator says about a step whose outcome is unknown.
create type tenure.verdict as (
  verdict      text,
  reason       text,
  result       jsonb,
  on_behalf_of text
);
