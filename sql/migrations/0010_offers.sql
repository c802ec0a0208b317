-- An idle worker offers a slot, and whoever enqueues one job may hand it over in the same transaction: the job is held when it commits, and nobody has to claim it.
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
comment on table tenure.offers is 'Slots that idle workers offer. The token is the one under which the job will be held; the channel is known to its worker alone.';
alter table tenure.offers enable row level security;
create policy own_tenant on tenure.offers for select using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));
