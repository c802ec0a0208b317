-- Kinds can be paused and limited, and the hot path reads and checks less.

alter table tenure.kinds
  add column concurrency_max integer check (concurrency_max between 1 and 100000),
  add column limit_settles_at timestamptz,
  add column limited_after   xid8,
  add column paused_at       timestamptz,
  add column paused_by       text check (paused_by ~ '\S'),
  add column pause_note      text,
  add check ((paused_at is null) = (paused_by is null)),
  add check (concurrency_max is not null or (limited_after is null and limit_settles_at is null));
comment on column tenure.kinds.concurrency_max is 'Held jobs of this kind at most, over all workers and executors. Null: no limit.';
comment on column tenure.kinds.limit_settles_at is
  'Set while the limit is new: claims that began before it may still bring jobs without the mark of a limited one, so every held job of the kind is counted. See tenure.kind_settle.';
comment on column tenure.kinds.limited_after is 'Set while the limit settles: transactions before this one may still bring such jobs.';

-- A held job of a limited kind is a slot: there is no other count, so none can leak. Kinds without a limit have no entry in the index.
alter table tenure.active add column limited boolean not null default false;
create index active_limited on tenure.active (lane) where limited;

-- A claim looks up the limits of a run only in lanes where a job has any. Lanes that stand already may hold such jobs.
alter table tenure.lanes add column timed boolean not null default true;
alter table tenure.lanes alter column timed set default false;
comment on column tenure.lanes.timed is 'Whether a job with a run timeout or a limit on renewals was ever enqueued here.';

-- What the hot path reads of the configuration at every call: one row per tenant that has settings of its own, row 0 for all others.
-- tenure.tunings_refresh() keeps it in step with tenure.config.
drop function if exists tenure.tuning(integer);
drop type tenure.tuning cascade;
create table tenure.tunings (
  tenant_id            integer primary key references tenure.tenants,
  jobs_open            boolean not null,
  worker_open          boolean not null,
  heartbeat_open       boolean not null,
  notify_open          boolean not null,
  lease_seconds        integer not null,
  lease_seconds_max    integer not null,
  stale_seconds        integer not null,
  attempts_max         integer not null,
  backoff_base_seconds integer not null,
  jitter_percent       integer not null,
  strict_kinds         boolean not null
);
comment on table tenure.tunings is 'The configuration in force as the hot path reads it, derived from tenure.config.';
alter table tenure.tunings enable row level security;
create policy own_tenant on tenure.tunings for select using (tenant_id in ((select tenure.current_tenant()), 0) or (select tenure.is_every_tenant()));

-- Lanes and kinds are read by every enqueue and every claim, whose functions filter by tenant themselves.
-- Asking the wall once more in each of these statements cost more than the look-up.
alter table tenure.lanes no force row level security;
alter table tenure.kinds no force row level security;

-- Every statement that inserts into a table reads its checks anew: these cost a single enqueue a quarter of its time. Nobody writes
-- these tables but the functions, which refuse all of it by name, and tests hold the functions to it.
alter table tenure.jobs
  drop constraint jobs_kind_check, drop constraint jobs_due_check, drop constraint jobs_deadline_at_check, drop constraint jobs_attempts_max_check,
  drop constraint jobs_backoff_base_seconds_check, drop constraint jobs_backoff_jitter_percent_check, drop constraint jobs_run_timeout_seconds_check,
  drop constraint jobs_renewals_max_check, drop constraint jobs_on_exhausted_check, drop constraint jobs_payload_classification_check,
  drop constraint jobs_payload_check, drop constraint jobs_idempotency_key_check, drop constraint jobs_source_system_check, drop constraint jobs_enqueued_by_check;
alter table tenure.ready drop constraint ready_run_check, drop constraint ready_attempts_check;
alter table tenure.delayed drop constraint delayed_run_check, drop constraint delayed_attempts_check;
alter table tenure.attempts
  drop constraint attempts_run_check, drop constraint attempts_attempt_check, drop constraint attempts_outcome_check, drop constraint attempts_state_check,
  drop constraint attempts_check2, drop constraint attempts_check3, drop constraint attempts_check4;
alter table tenure.events
  drop constraint events_kind_check, drop constraint events_actor_check, drop constraint events_job_ids_check, drop constraint events_check;

-- How much was done lately is told by the events, a row a batch; the index on the times of single runs cost every end a tenth of its time.
drop index tenure.attempts_ended_at;
alter table tenure.events add column job_count integer generated always as (coalesce(cardinality(job_ids), 0)) stored;
create index events_at on tenure.events using brin (at);

-- The clock and the caller, once more, for a third of their price: no setting is saved and restored around a call, and no call is nested.
create or replace function tenure.now() returns timestamptz
language plpgsql volatile parallel safe
as $$
begin
  return clock_timestamp();
end
$$;

create or replace function tenure.caller() returns tenure.caller_identity
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity;
  v_login  text := session_user;
  v_name   text;
begin
  select l.tenant_id, coalesce(l.principal, v_login), 'tenant', l.executors, l.kinds, l.payload_access
    into v_caller.tenant_id, v_caller.principal, v_caller.scope, v_caller.executors, v_caller.kinds, v_caller.payload_access
    from tenure.logins l
   where l.login = v_login;
  if not found then
    select l.tenant_id, coalesce(l.principal, v_login), 'tenant', l.executors, l.kinds, l.payload_access
      into v_caller.tenant_id, v_caller.principal, v_caller.scope, v_caller.executors, v_caller.kinds, v_caller.payload_access
      from tenure.logins l
     where l.login = '*';
  end if;

  if pg_has_role(v_login, 'tenure_server', 'member') or pg_has_role(v_login, 'tenure_owner', 'member') then
    v_caller.principal := coalesce(nullif(current_setting('tenure.principal', true), ''), v_caller.principal, v_login);
    v_caller.payload_access := coalesce(nullif(current_setting('tenure.payload_access', true), ''), 'restricted');
    v_name := nullif(current_setting('tenure.tenant', true), '');
    if v_name = '*' then
      v_caller.tenant_id := null;
      v_caller.scope := 'every';
    elsif v_name is not null then
      v_caller.scope := 'tenant';
      select t.tenant_id into v_caller.tenant_id from tenure.tenants t where t.name = v_name and t.tenant_id > 0;
      if not found then
        raise exception using errcode = 'TN027', message = format('There is no tenant %L.', v_name),
          detail = 'The setting tenure.tenant names the tenant of this transaction.', hint = 'Create it with tenure.tenant_create(name), or name another.';
      end if;
    end if;
  end if;

  if v_caller.scope is null then
    raise exception using errcode = 'TN029', message = format('The login %L is bound to no tenant.', v_login),
      detail = 'This installation has no binding for logins without one of their own.', hint = 'An admin binds it: select tenure.login_bind(login, tenant).';
  end if;
  return v_caller;
end
$$;

