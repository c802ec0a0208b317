-- A lane has a twin where its first transactions could not see each other, and steps have lanes of their
-- own, by the length of the lease that they need. Until now the first enqueue of a kind held up all others
-- of that kind until it committed, and one plan with a long step gave every later job of its kind a long
-- lease.

alter table tenure.lanes drop constraint lanes_lease_seconds_min_check;
update tenure.lanes l set lease_seconds_min = 0 where l.lease_seconds_min is distinct from 0;
alter table tenure.lanes
  alter column lease_seconds_min set default 0,
  alter column lease_seconds_min set not null,
  add constraint lanes_lease_seconds_min_check check (lease_seconds_min between 0 and 86400),
  add column twin integer not null default 0 check (twin >= 0),
  drop constraint lanes_tenant_id_kind_executor_key,
  add constraint lanes_key unique (tenant_id, kind, executor, lease_seconds_min, twin);
comment on table tenure.lanes is
  'A line of a tenant, kind, executor and shortest lease. parked_until: an idle worker listens until then.';
comment on column tenure.lanes.lease_seconds_min is
  'A lease here is no shorter (steps: tenure.lease_floor). 0: plain jobs, whose lease is as the kind says.';
comment on column tenure.lanes.twin is
  '0, or the number of the lane: made by a transaction that could not see another''s lane of the same key.';
