-- The event stream: append-only, one row per statement and lane, so one row may cover many jobs.

create sequence tenure.event_seq cache 16;

-- Part of the hot path: few checks, and row-level security not forced on the owner. See 0006_jobs.sql.
create table tenure.events (
  seq          bigint      not null default nextval('tenure.event_seq'),
  epoch        integer     not null default tenure.current_epoch(),
  txid         xid8        not null default pg_current_xact_id(),
  at           timestamptz not null,
  tenant_id    integer     not null,
  lane         integer,
  kind         text        not null,
  actor        text        not null,
  on_behalf_of text,
  subject      text,
  job_ids      uuid[],
  runs         integer[],
  data         jsonb       not null default '{}',
  job_count    integer,
  -- Only a server that acts for a key is believed.
  via          text        default case
    when coalesce(current_setting('tenure.key', true), '') <> ''
     and pg_has_role(session_user, 'tenure_server', 'member')
    then nullif(current_setting('tenure.via', true), '')
  end
) partition by range (at);
-- Ids are random: compressing them costs time and saves nothing.
alter table tenure.events alter column job_ids set storage external;
create index events_stream on tenure.events (tenant_id, epoch, txid, seq);
create index events_subject on tenure.events (tenant_id, subject, at) where subject is not null;
create index events_at on tenure.events using brin (at);
comment on table tenure.events is
  'The log of transitions, at most 1000 jobs a row. Read by (epoch, txid, seq), up to the oldest open '
  'transaction.';
comment on column tenure.events.job_count is
  'The number of jobs. Null: count job_ids.';
comment on column tenure.events.via is
  'The request that caused it: method, path and address. Null for calls that did not come over HTTP.';
create trigger events_never_change before update or delete on tenure.events
  for each row execute function tenure.events_never_change();
alter table tenure.events enable row level security;
create policy own_tenant on tenure.events for select
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));

-- Open-ended, as the last partition of jobs is.
create table tenure.events_p0 partition of tenure.events for values from (minvalue) to (maxvalue)
  with (autovacuum_vacuum_insert_scale_factor = 0.5);
alter table tenure.events_p0 enable row level security;
