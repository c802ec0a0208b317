-- Lanes: the queues in which jobs wait. Marks lead a claim to lanes with jobs; offers lead a job to an idle
-- worker. Row-level security is not forced on the owner, whose functions filter by tenant themselves.

create table tenure.lanes (
  lane         integer     generated always as identity primary key,
  tenant_id    integer     not null references tenure.tenants,
  kind         text        not null
                           check (kind ~ '\S' and length(kind) <= 200 and kind !~ '[[:cntrl:]]'),
  executor     text        not null references tenure.executors (name),
  stepped      boolean     not null default false,
  twin         integer     not null default 0 check (twin >= 0),
  parked_until timestamptz,
  timed        boolean     not null default false,
  planned      boolean     not null default false,
  constraint lanes_key unique (tenant_id, kind, executor, stepped, twin)
) with (fillfactor = 70);
create index lanes_executor on tenure.lanes (executor);
comment on table tenure.lanes is
  'The queue of a tenant, kind and executor: one for plain jobs, one for the jobs of steps.';
comment on column tenure.lanes.stepped is
  'Whether it is the lane of steps: a claim and an end do more with each of them than with a plain job.';
comment on column tenure.lanes.twin is
  '0, or the number of the lane: made by a transaction that could not see another lane of the same key.';
comment on column tenure.lanes.parked_until is
  'An idle worker listens for jobs of this lane until then.';
comment on column tenure.lanes.timed is
  'Whether a job with a run timeout or a limit on renewals was ever enqueued here. A claim reads them only '
  'then.';
comment on column tenure.lanes.planned is
  'Whether the job of a slot was ever enqueued here. The end of a job looks for its slot only then.';
alter table tenure.lanes enable row level security;
create policy own_tenant on tenure.lanes
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()))
  with check (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));

create table tenure.ready_marks (
  mark_id     bigint   generated always as identity primary key,
  tenant_id   integer  not null,
  executor    text     not null,
  rank        smallint not null,
  lane        integer  not null,
  retired_in  xid8,
  unused_from xid8,
  constraint ready_marks_unused_after_retired check (unused_from is null or retired_in is not null)
) with (vacuum_truncate = off, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
create index ready_marks_order on tenure.ready_marks (tenant_id, executor, rank, lane)
  where retired_in is null;
create index ready_marks_retired on tenure.ready_marks (tenant_id, lane) where retired_in is not null;
comment on table tenure.ready_marks is
  'Lanes and ranks that may have jobs in ready. Every pair that has some is marked; others may be too.';
comment on column tenure.ready_marks.retired_in is
  'The transaction that found the pair empty. New jobs no longer rely on the mark; those under way may.';
comment on column tenure.ready_marks.unused_from is
  'When every transaction before this one has ended, no job under way relies on the mark.';
alter table tenure.ready_marks enable row level security;
create policy own_tenant on tenure.ready_marks for select
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));

create table tenure.offers (
  token         uuid        primary key,
  lane          integer     not null,
  tenant_id     integer     not null,
  owner         text        not null,
  executor      text        not null,
  principal     text        not null,
  channel       text        not null,
  lease_seconds integer     not null,
  until         timestamptz not null
) with (vacuum_truncate = off, autovacuum_vacuum_cost_delay = 0);
create index offers_lane on tenure.offers (lane, until);
comment on table tenure.offers is
  'Idle workers that take one job each. An enqueue may hand a job over in its own transaction, under token.';
comment on column tenure.offers.channel is
  'The notification channel of the worker. No other program knows it.';
alter table tenure.offers enable row level security;
create policy own_tenant on tenure.offers for select
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));
