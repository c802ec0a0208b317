-- What leads a claim over every kind to the best priority, however many lanes there are.

create table tenure.ready_marks (
  mark_id     bigint   generated always as identity primary key,
  tenant_id   integer  not null,
  executor    text     not null,
  rank        smallint not null,
  lane        integer  not null,
  retired_in  xid8,
  unused_from xid8,
  check (unused_from is null or retired_in is not null)
) with (vacuum_truncate = off, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_cost_delay = 0);
create index ready_marks_order on tenure.ready_marks (tenant_id, executor, rank, lane)
  where retired_in is null;
create index ready_marks_retired on tenure.ready_marks (tenant_id, lane) where retired_in is not null;
comment on table tenure.ready_marks is
  'Lanes and ranks that may have jobs in ready. Every pair that has some is marked, and maybe others.';
comment on column tenure.ready_marks.retired_in is
  'The transaction that found the pair empty. New jobs no longer rely on the mark; those under way may.';
comment on column tenure.ready_marks.unused_from is
  'When every transaction before this one has ended, no job under way relies on the mark.';

alter table tenure.ready_marks enable row level security;
create policy own_tenant on tenure.ready_marks for select
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));

-- What comes due is found by tenant, not lane by lane.
alter table tenure.delayed add column tenant_id integer;
update tenure.delayed d set tenant_id = l.tenant_id from tenure.lanes l where l.lane = d.lane;
alter table tenure.delayed alter column tenant_id set not null;
create index delayed_due on tenure.delayed (tenant_id, due);

-- The pairs that have jobs now. New ones wait until the functions that mark them are in force.
lock table tenure.ready in share row exclusive mode;
insert into tenure.ready_marks (tenant_id, executor, rank, lane)
select distinct l.tenant_id, l.executor, r.rank, r.lane
  from tenure.ready r join tenure.lanes l on l.lane = r.lane;
