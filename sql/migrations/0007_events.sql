-- What happened: one append-only stream. A row tells of many jobs when one statement moved many.

create sequence tenure.event_seq cache 16;

create function tenure.current_epoch() returns integer
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return (select i.epoch from tenure.installation i);
end
$$;

create table tenure.events (
  seq          bigint      not null default nextval('tenure.event_seq'),
  epoch        integer     not null default tenure.current_epoch(),
  txid         xid8        not null default pg_current_xact_id(),
  at           timestamptz not null,
  tenant_id    integer     not null,
  lane         integer,
  kind         text        not null check (kind ~ '^[a-z_]+[.][a-z_]+$'),
  actor        text        not null check (actor ~ '\S'),
  on_behalf_of text,
  subject      text,
  job_ids      uuid[],
  runs         integer[],
  data         jsonb       not null default '{}',
  check (job_ids is null or cardinality(job_ids) between 1 and 1000),
  check (runs is null or cardinality(runs) = cardinality(job_ids))
) partition by range (at);
-- Ids are random: trying to compress them costs time and gains nothing.
alter table tenure.events alter column job_ids set storage external;
create index events_stream on tenure.events (tenant_id, epoch, txid, seq);
create index events_subject on tenure.events (tenant_id, subject, at) where subject is not null;
comment on table tenure.events is
  'Append-only log of transitions. Grouped by tenant and lane, at most 1000 jobs a row; read in the order (epoch, txid, seq) up to the oldest open transaction.';

create table tenure.events_p0 partition of tenure.events for values from (minvalue) to (maxvalue)
  with (autovacuum_vacuum_insert_scale_factor = 0.5);

alter table tenure.events enable row level security;
alter table tenure.events_p0 enable row level security;
create policy own_tenant on tenure.events for select using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));

create function tenure.events_never_change() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception using errcode = 'TN014', message = 'An event cannot be changed or deleted.',
    detail = 'The stream is append-only; retention drops whole partitions.', hint = 'Write a new event by doing something new.';
end
$$;
create trigger events_never_change before update or delete on tenure.events for each row execute function tenure.events_never_change();
