-- What may happen to the jobs of one kind, and the lanes they wait in.

create table tenure.kinds (
  tenant_id              integer     not null references tenure.tenants,
  kind                   text        not null check (kind ~ '\S' and length(kind) <= 200 and kind !~ '[[:cntrl:]]'),
  executor               text        not null default 'external_worker' references tenure.executors (name),
  event_domain           text        not null default 'job' references tenure.event_domains (domain),
  attempts_max           smallint    check (attempts_max between 1 and 1000),
  backoff_base_seconds   integer     check (backoff_base_seconds between 1 and 86400),
  backoff_jitter_percent smallint    check (backoff_jitter_percent between 0 and 100),
  lease_seconds          integer     check (lease_seconds between 1 and 86400),
  lease_seconds_max      integer     check (lease_seconds_max between 1 and 86400),
  renewals_max           integer     check (renewals_max between 0 and 1000000),
  run_timeout_seconds    integer     check (run_timeout_seconds between 1 and 2592000),
  retention_seconds      integer     check (retention_seconds between 60 and 315360000),
  on_exhausted           text        not null default 'dead_letter' check (on_exhausted in ('dead_letter', 'fail')),
  description            text        not null default '',
  updated_at             timestamptz not null,
  updated_by             text        not null check (updated_by ~ '\S'),
  primary key (tenant_id, kind),
  check (lease_seconds is null or lease_seconds_max is null or lease_seconds <= lease_seconds_max)
);
create index kinds_executor on tenure.kinds (executor);
create index kinds_event_domain on tenure.kinds (event_domain);
comment on table tenure.kinds is 'The policy of a kind. Null means: as the configuration says. A job keeps the policy it was enqueued under.';

create table tenure.lanes (
  lane         integer     generated always as identity primary key,
  tenant_id    integer     not null references tenure.tenants,
  kind         text        not null check (kind ~ '\S' and length(kind) <= 200 and kind !~ '[[:cntrl:]]'),
  executor     text        not null references tenure.executors (name),
  parked_until timestamptz,
  unique (tenant_id, kind, executor)
) with (fillfactor = 70);
create index lanes_executor on tenure.lanes (executor);
comment on table tenure.lanes is 'One waiting line per tenant, kind and executor. parked_until: an idle worker listens for this lane until then.';

alter table tenure.kinds enable row level security, force row level security;
alter table tenure.lanes enable row level security, force row level security;
create policy own_tenant on tenure.kinds
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()))
  with check (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));
create policy own_tenant on tenure.lanes
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()))
  with check (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));
