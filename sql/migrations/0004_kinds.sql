-- Kinds of jobs, each with its policy.

create table tenure.kinds (
  tenant_id              integer     not null references tenure.tenants,
  kind                   text        not null
                                     check (kind ~ '\S' and length(kind) <= 200 and kind !~ '[[:cntrl:]]'),
  executor               text        not null default 'external_worker' references tenure.executors (name),
  event_domain           text        not null default 'job' references tenure.event_domains (domain),
  only_by_plan           boolean     not null default false,
  -- attempts
  attempts_max           smallint    check (attempts_max between 1 and 1000),
  backoff_base_seconds   integer     check (backoff_base_seconds between 1 and 86400),
  backoff_jitter_percent smallint    check (backoff_jitter_percent between 0 and 100),
  on_exhausted           text        not null default 'dead_letter'
                                     check (on_exhausted in ('dead_letter', 'fail')),
  -- leases and runs
  lease_seconds          integer     check (lease_seconds between 1 and 86400),
  lease_seconds_max      integer     check (lease_seconds_max between 1 and 86400),
  renewals_max           integer     check (renewals_max between 0 and 1000000),
  run_timeout_seconds    integer     check (run_timeout_seconds between 1 and 2592000),
  -- limit
  concurrency_max        integer     check (concurrency_max between 1 and 100000),
  -- pause
  paused_at              timestamptz,
  paused_by              text        check (paused_by ~ '\S'),
  pause_note             text,
  -- schedules and retention
  catch_up               text        check (catch_up in ('latest_only', 'every_plan', 'none')),
  retention_seconds      integer     check (retention_seconds between 60 and 315360000),
  key_keep_seconds       integer     check (key_keep_seconds between 1 and 315360000),
  description            text        not null default '',
  updated_at             timestamptz not null,
  updated_by             text        not null check (updated_by ~ '\S'),
  primary key (tenant_id, kind),
  constraint kinds_lease_within_max check (
    lease_seconds is null or lease_seconds_max is null or lease_seconds <= lease_seconds_max),
  constraint kinds_pause_has_author check ((paused_at is null) = (paused_by is null))
);
create index kinds_executor on tenure.kinds (executor);
create index kinds_event_domain on tenure.kinds (event_domain);
comment on table tenure.kinds is
  'The policy of a kind. Null: the configuration decides. A job keeps the policy it was enqueued under.';
comment on column tenure.kinds.only_by_plan is
  'True: each job of the kind is the step of an execution. Every other way to make one is refused.';
comment on column tenure.kinds.concurrency_max is
  'Maximum number of held jobs of this kind, over all workers and executors. Null: no limit.';
comment on column tenure.kinds.catch_up is
  'Applies to late slots of schedules without a rule of their own. Null: none for agents, else latest_only.';
comment on column tenure.kinds.key_keep_seconds is
  'How long after its end a job keeps its key, at most as long as it is kept itself. Null: until its end.';

-- Not forced on the owner: every enqueue and claim reads it, and those functions filter by tenant themselves.
alter table tenure.kinds enable row level security;
create policy own_tenant on tenure.kinds
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()))
  with check (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));
