-- Subscriptions to events, and deliveries to webhooks. A cursor moves in the transaction that acts on the
-- events it passes, so none is missed and none counts twice.

create table tenure.subscriptions (
  subscription_id integer     generated always as identity primary key,
  tenant_id       integer     not null references tenure.tenants,
  name            text        not null check (name ~ '\S' and length(name) <= 200),
  target          text        not null check (target in ('reader', 'job', 'webhook')),
  event_kinds     text[]      not null check (cardinality(event_kinds) > 0),
  filter          jsonb       not null default '{}' check (jsonb_typeof(filter) = 'object'),
  -- target job
  job_kind        text,
  executor        text,
  priority        smallint    not null default 0,
  depth_max       smallint    not null default 8 check (depth_max between 1 and 64),
  -- target webhook
  url             text,
  secret          bytea       check (octet_length(secret) = 32),
  secret_before   bytea       check (octet_length(secret_before) = 32),
  rotated_at      timestamptz,
  -- cursor
  epoch           integer     not null,
  txid            xid8        not null,
  seq             bigint      not null,
  moved_at        timestamptz not null,
  matched         bigint      not null default 0,
  skipped         bigint      not null default 0,
  -- pause and trouble
  paused_at       timestamptz,
  paused_by       text,
  pause_note      text,
  failures        integer     not null default 0,
  refusals        integer     not null default 0,
  retry_at        timestamptz,
  error_code      text,
  error_message   text,
  created_at      timestamptz not null,
  created_by      text        not null check (created_by ~ '\S'),
  unique (tenant_id, name),
  constraint subscriptions_job_has_kind check ((target = 'job') = (job_kind is not null)),
  constraint subscriptions_webhook_has_url_and_secret check (
    (target = 'webhook') = (url is not null) and (target = 'webhook') = (secret is not null))
);
comment on table tenure.subscriptions is
  'Event kinds, a filter, and what a match leads to: a job, a webhook, or a row for a reader that polls.';
comment on column tenure.subscriptions.seq is
  'With epoch and txid: the last event of the stream that was read.';
comment on column tenure.subscriptions.failures is
  'How often in a row the service could not act on its events.';
comment on column tenure.subscriptions.refusals is
  'How often in a row the receiver accepted nothing.';
alter table tenure.subscriptions enable row level security, force row level security;
create policy own_tenant on tenure.subscriptions
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()))
  with check (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));

create table tenure.deliveries (
  place           bigint      generated always as identity primary key,
  delivery_id     uuid        not null unique,
  subscription_id integer     not null references tenure.subscriptions,
  tenant_id       integer     not null,
  subject         text        not null,
  event_kind      text        not null,
  event_cursor    text        not null,
  body            text        not null,
  state           text        not null default 'waiting' check (state in ('waiting', 'delivered', 'dead')),
  attempts        smallint    not null default 0,
  due             timestamptz,
  leased_until    timestamptz,
  status          integer,
  error           text,
  created_at      timestamptz not null,
  ended_at        timestamptz
) with (autovacuum_vacuum_scale_factor = 0.05);
create index deliveries_due on tenure.deliveries (subscription_id, due) where state = 'waiting';
create index deliveries_leased on tenure.deliveries (subscription_id, leased_until)
  where leased_until is not null;
create index deliveries_order on tenure.deliveries (subscription_id, subject, place) where state = 'waiting';
create index deliveries_list on tenure.deliveries (subscription_id, place);
create index deliveries_ended on tenure.deliveries (tenant_id, ended_at) where state <> 'waiting';
create index deliveries_dead on tenure.deliveries (subscription_id, place) where state = 'dead';
comment on table tenure.deliveries is
  'Events on their way to a webhook: at least once, in stream order for each subject, retried with growing '
  'delays, dead after the last.';
comment on column tenure.deliveries.due is
  'Null: an earlier event of the same subject is delivered first.';
alter table tenure.deliveries enable row level security, force row level security;
create policy own_tenant on tenure.deliveries
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()))
  with check (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));
