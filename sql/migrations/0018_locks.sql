-- Locks on targets. Row-level security is not forced on the owner, as for steps.

-- Fencing numbers, and the order of arrival in the queues of targets.
create sequence tenure.lock_fence;
create sequence tenure.lock_turn;

create table tenure.lock_targets (
  tenant_id integer not null,
  target    text    not null check (length(target) <= 400),
  primary key (tenant_id, target)
) with (fillfactor = 80);
comment on table tenure.lock_targets is
  'Targets that were ever locked. A transaction that takes, frees or waits for a lock on the target locks '
  'this row, so that no step waits for a free target.';
alter table tenure.lock_targets enable row level security;
create policy own_tenant on tenure.lock_targets
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));

create table tenure.locks (
  tenant_id    integer     not null,
  target       text        not null,
  action       text        not null default '',
  lock_key     text        not null generated always as (
    'lock:v1:' || tenant_id || ':' || target || case when action = '' then '' else ':' || action end) stored
                           check (length(lock_key) <= 500),
  fence        bigint      not null,
  owner        text        not null check (owner ~ '\S'),
  execution_id uuid,
  step_number  integer,
  section      text,
  reason       text,
  acquired_at  timestamptz not null,
  expires_at   timestamptz not null,
  primary key (tenant_id, target, action),
  foreign key (tenant_id, target) references tenure.lock_targets,
  constraint locks_expire_later check (expires_at > acquired_at),
  constraint locks_step_of_execution check ((execution_id is null) = (step_number is null)),
  constraint locks_section_of_execution check (section is null or execution_id is not null)
) with (fillfactor = 80);
create unique index locks_lock_key on tenure.locks (lock_key);
create index locks_expires_at on tenure.locks (expires_at);
create index locks_step on tenure.locks (execution_id, step_number);
create index locks_section on tenure.locks (execution_id) where section is not null;
comment on table tenure.locks is
  'Exclusive locks on a target, or on one action at it; a lock on the target excludes those on its '
  'actions. The lock of a step lasts until the step has ended, every other until it expires.';
comment on column tenure.locks.section is
  'The section that holds it, until its last step has ended; step_number is the step that came last.';
alter table tenure.locks enable row level security;
create policy own_tenant on tenure.locks
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));

create table tenure.lock_queue (
  execution_id uuid        not null,
  step_number  integer     not null,
  tenant_id    integer     not null,
  target       text        not null,
  action       text        not null,
  priority     smallint    not null,
  turn         bigint      not null default nextval('tenure.lock_turn'),
  since        timestamptz not null,
  primary key (execution_id, step_number),
  foreign key (execution_id, step_number) references tenure.steps,
  foreign key (tenant_id, target) references tenure.lock_targets
);
-- The next step of a target is one lookup, however many wait.
create unique index lock_queue_turn on tenure.lock_queue (tenant_id, target, priority desc, turn);
comment on table tenure.lock_queue is
  'Blocked steps: those that wait for a lock on their target, by priority and then by arrival.';
alter table tenure.lock_queue enable row level security;
create policy own_tenant on tenure.lock_queue
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));
