-- The scheduler's work: schedules that are due are taken, their rule is computed by the program that took them, and what becomes of each slot is decided here.
-- Whoever plans, starts or gives up slots of a schedule holds its row. Ends of runs hold none: they write their own slot and leave a mark (owes_next) for the next look.

-- Locks schedules that somebody has to look at: those that are due, and those of which a run has ended that another slot may wait for. Schedules that another holds are left to it.
-- tenure.schedule_advance follows in the same transaction, with what was computed of each rule.
create or replace function tenure.schedule_take(p_limit integer default 500)
returns table (schedule_id integer, tenant text, name text, cron text, every_seconds integer, zone text, start_at timestamptz, end_at timestamptz, after timestamptz, now timestamptz,
  list_from timestamptz, list_max integer)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
as $$
declare
  v_now timestamptz := tenure.now();
  v_ids integer[];
begin
  perform tenure.check_number('The limit', p_limit, 1, tenure.limit_of('schedule_rows_max'));
  v_ids := array(select s.schedule_id from tenure.schedules s where s.next_at <= v_now order by s.next_at limit p_limit for no key update skip locked);
  if cardinality(v_ids) < p_limit then
    v_ids := v_ids || array(
      select s.schedule_id from tenure.schedules s
       where s.schedule_id = any (array(select distinct o.schedule_id from (select p.schedule_id from tenure.planned_slots p where p.owes_next limit p_limit) o))
         and s.schedule_id <> all (v_ids) and s.deleted_at is null
       limit p_limit - cardinality(v_ids) for no key update skip locked);
  end if;
  return query
    select s.schedule_id, t.name, s.name, s.cron, s.every_seconds, s.zone, s.start_at, s.end_at, coalesce(s.planned_to, s.plan_from), v_now,
           case when s.catch_up = 'every_plan' and s.paused_at is null then v_now - make_interval(secs => s.catch_up_window_seconds) end, s.catch_up_slots_max
      from tenure.schedules s
      join tenure.tenants t on t.tenant_id = s.tenant_id
     where s.schedule_id = any (v_ids)
     order by s.next_at, s.schedule_id;
end
$$;

-- What was computed of schedules that were taken: one object each, with first, latest, passed, passed_until, listed, next, next_gap_seconds, or error_code and error_message.
-- If something goes wrong, each is tried for itself: one that cannot go on is failing, and keeps nobody else from it.
create or replace function tenure.schedule_advance(p_plans jsonb) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set enable_seqscan = off
set jit = off
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz := tenure.now();
  v_plan   jsonb;
  v_done   jsonb;
  v_sum    jsonb := '{"planned": 0, "started": 0, "skipped": 0, "waiting": 0, "missed": 0, "failing": 0}';
  v_what   text;
begin
  begin
    return tenure.schedules_advance(v_caller, v_now, p_plans);
  exception when others then
    get stacked diagnostics v_what = message_text;
  end;
  for v_plan in select x.plan from jsonb_array_elements(p_plans) x (plan) loop
    begin
      v_done := tenure.schedules_advance(v_caller, v_now, jsonb_build_array(v_plan));
    exception when others then
      get stacked diagnostics v_what = message_text;
      v_done := tenure.schedules_advance(v_caller, v_now, jsonb_build_array(jsonb_build_object('schedule_id', v_plan -> 'schedule_id', 'error_code', 'database_error', 'error_message', v_what)));
    end;
    v_sum := (select jsonb_object_agg(d.key, d.value::bigint + (v_sum ->> d.key)::bigint) from jsonb_each_text(v_done) d);
  end loop;
  return v_sum;
end
$$;

-- Late slots are caught up as each schedule says, the next slot is planned, and what is due runs, waits or is skipped.
create or replace function tenure.schedules_advance(p_caller tenure.caller_identity, p_now timestamptz, p_plans jsonb) returns jsonb
language plpgsql
as $$
declare
  v_taken   integer[] := array(select (x.plan ->> 'schedule_id')::integer from jsonb_array_elements(p_plans) x (plan));
  -- Where the rule alone is wrong, what was planned before or asked for by hand still runs.
  v_ids     integer[] := array(select (x.plan ->> 'schedule_id')::integer from jsonb_array_elements(p_plans) x (plan) where x.plan ->> 'error_code' is distinct from 'database_error');
  v_late    record;
  v_missed  bigint := 0;
  v_planned bigint;
  v_failing bigint;
  v_fired   record;
begin
  -- 1. What nobody saw in time: rare, and so one by one.
  for v_late in
    select s as schedule, p.slot, x.first, x.latest, x.passed, x.passed_until, x.listed
      from jsonb_to_recordset(p_plans) x (schedule_id integer, first timestamptz, latest timestamptz, passed integer, passed_until timestamptz, listed timestamptz[])
      join tenure.schedules s on s.schedule_id = x.schedule_id
      left join lateral (select q as slot, q.due_at, q.plan_time from tenure.planned_slots q
                          where q.schedule_id = s.schedule_id and q.state = 'planned' and q.origin = 'rule' and q.waiting_since is null and q.due_at <= p_now
                          order by q.due_at limit 1) p on true
     where x.first is not null
        or (s.paused_at is null and s.catch_up = 'none' and p.due_at < p_now - make_interval(secs => tenure.setting_integer(s.tenant_id, 'schedules.grace_seconds')))
        or (s.paused_at is null and s.catch_up = 'every_plan' and p.plan_time < p_now - make_interval(secs => s.catch_up_window_seconds))
  loop
    v_missed := v_missed + tenure.slots_catch_up(v_late.schedule, v_late.slot, p_now, v_late.first, v_late.latest, v_late.passed, v_late.passed_until, v_late.listed);
  end loop;

  -- 2. The next slot of each, unless one is planned or there is something to catch up before it.
  with ahead as materialized (
    select s.schedule_id, s.tenant_id, s.scope_kind, s.scope_id, tenure.schedule_rule(s) as expression, s.zone, x.next,
           x.next + make_interval(secs => tenure.slot_jitter(s.schedule_id, x.next, least(s.jitter_seconds, x.next_gap_seconds - 1))) as due_at
      from jsonb_to_recordset(p_plans) x (schedule_id integer, latest timestamptz, next timestamptz, next_gap_seconds bigint)
      join tenure.schedules s on s.schedule_id = x.schedule_id
     where x.next is not null and (x.latest is null or s.planned_to >= x.latest) and (s.planned_to is null or s.planned_to <= p_now)
  ), made as (
    insert into tenure.planned_slots as p (tenant_id, schedule_id, scope_kind, scope_id, plan_time, origin, state, expression, zone, due_at, planned_at, planned_by, updated_at)
    select a.tenant_id, a.schedule_id, a.scope_kind, a.scope_id, a.next, 'rule', 'planned', a.expression, a.zone, a.due_at, p_now, 'scheduler', p_now from ahead a
    -- The same moment under another rule: what was given up for the sake of a change comes back.
    on conflict (tenant_id, schedule_id, plan_time, scope_kind, scope_id) do update
       set origin = 'rule', state = 'planned', skip_reason = null, error_message = null, ended_at = null, expression = excluded.expression, zone = excluded.zone,
           due_at = excluded.due_at, planned_at = excluded.planned_at, planned_by = excluded.planned_by
     where p.state = 'skipped' and p.skip_reason = 'superseded'
    returning p.slot_id
  ), moved as (
    update tenure.schedules s set planned_to = a.next from ahead a where s.schedule_id = a.schedule_id
  )
  select count(*) into v_planned from made;

  -- 3. What is due. The marks go first: an end that comes after this leaves another.
  update tenure.planned_slots p set owes_next = false where p.schedule_id = any (v_taken) and p.owes_next;
  v_fired := tenure.slots_fire(p_caller, p_now, v_ids, 'scheduler');

  -- 4. When to look again: at the first slot that is planned and waits for nobody, at once where there is more to catch up, or never.
  with plans as materialized (
    select x.schedule_id, x.latest, x.next, x.error_code, x.error_message
      from jsonb_to_recordset(p_plans) x (schedule_id integer, latest timestamptz, next timestamptz, error_code text, error_message text)
  ), looked as (
    update tenure.schedules s
       set next_at = case
             when x.error_code is not null then p_now + interval '5 minutes'
             when s.planned_to < x.latest then p_now
             -- Who waits is woken by an end; should that go amiss, it is looked for now and then. Where nothing runs, it waits no longer.
             -- The next moment may have a row already that is not planned, made by hand: then the rule goes on from there.
             else (select least(min(case
                             when p.waiting_since is null then p.due_at
                             when (select true from tenure.planned_slots r where r.schedule_id = s.schedule_id and r.state = 'running' limit 1) then p_now + interval '30 seconds'
                             else p_now end),
                                case when x.next is not null and s.planned_to > p_now and not coalesce(bool_or(p.plan_time = s.planned_to), false) then s.planned_to end)
                     from tenure.planned_slots p where p.schedule_id = s.schedule_id and p.state = 'planned') end,
           error_code = x.error_code, error_message = tenure.cut_text(x.error_message, tenure.limit_of('error_message_bytes_max')::integer)
      from plans x
      join tenure.schedules o on o.schedule_id = x.schedule_id
     where s.schedule_id = x.schedule_id
    returning s.tenant_id, s.name, s.planned_to, s.error_code, s.error_message, s.next_at is null and o.next_at is not null as has_ended, s.error_code is not null and o.error_code is null as is_new
  ), told as (
    insert into tenure.events (at, tenant_id, kind, actor, subject, data)
    select p_now, l.tenant_id, 'schedule.ended', 'scheduler', l.name, jsonb_strip_nulls(jsonb_build_object('last_slot', l.planned_to)) from looked l where l.has_ended
    union all
    select p_now, l.tenant_id, 'schedule.failing', 'scheduler', l.name, jsonb_build_object('code', l.error_code, 'message', l.error_message) from looked l where l.is_new
  )
  select count(*) filter (where l.error_code is not null) into v_failing from looked l;
  return jsonb_build_object('planned', v_planned, 'started', v_fired.started, 'skipped', v_fired.skipped, 'waiting', v_fired.waiting, 'missed', v_missed, 'failing', v_failing);
end
$$;

-- What becomes of slots that were due while nobody looked. p_slot: the one that had been planned, if any; p_first to p_latest: those that had not. Answers how many were missed.
-- latest_only runs the latest; every_plan runs what lies within its window, so many at a time; none runs what is not yet late. All others are missed: one row stands for all of them.
create or replace function tenure.slots_catch_up(
  p_schedule tenure.schedules, p_slot tenure.planned_slots, p_now timestamptz, p_first timestamptz, p_latest timestamptz, p_passed integer, p_passed_until timestamptz, p_listed timestamptz[])
returns integer
language plpgsql
as $$
declare
  v_in_time timestamptz := p_now - make_interval(secs => tenure.setting_integer(p_schedule.tenant_id, 'schedules.grace_seconds'));
  v_run     timestamptz[];
  v_gone    boolean := false;
  v_passed  integer := coalesce(p_passed, 0);
  v_until   timestamptz := p_passed_until;
  v_reason  text := 'missed_window';
  v_why     text := format('No scheduler looked at it until %s; its catch-up is %s.', p_now, p_schedule.catch_up);
begin
  if p_schedule.paused_at is not null then
    -- Whatever it catches up: nobody was to run these. The slot that was planned is skipped as one of those that come.
    v_reason := 'paused';
    v_why := tenure.pause_words(p_schedule);
    v_passed := v_passed + 1;
    v_until := p_latest;
  elsif p_schedule.catch_up = 'latest_only' then
    v_gone := p_slot.slot_id is not null;
    v_run := array[p_latest];
  elsif p_schedule.catch_up = 'every_plan' then
    v_gone := coalesce(p_slot.plan_time < p_now - make_interval(secs => p_schedule.catch_up_window_seconds), false);
    v_run := p_listed;
  else
    v_gone := coalesce(p_slot.due_at < v_in_time, false);
    if p_latest >= v_in_time then
      v_run := array[p_latest];
    elsif p_latest is not null then
      v_passed := v_passed + 1;
      v_until := p_latest;
    end if;
  end if;

  if v_gone then
    update tenure.planned_slots p
       set state = 'skipped', skip_reason = 'missed_window', ended_at = p_now, missed = 1 + v_passed, missed_until = coalesce(v_until, p.plan_time), error_message = v_why
     where p.slot_id = p_slot.slot_id;
    perform tenure.slots_told('skipped', p_now, 'scheduler', array[p_slot.slot_id]);
  elsif v_passed > 0 then
    insert into tenure.planned_slots (tenant_id, schedule_id, scope_kind, scope_id, plan_time, origin, state, skip_reason, expression, zone, due_at, missed, missed_until, ended_at,
      error_message, planned_at, planned_by, updated_at)
    values (p_schedule.tenant_id, p_schedule.schedule_id, p_schedule.scope_kind, p_schedule.scope_id, p_first, 'rule', 'skipped', v_reason, tenure.schedule_rule(p_schedule), p_schedule.zone,
      p_first, v_passed, v_until, p_now, v_why, p_now, 'scheduler', p_now)
    on conflict (tenant_id, schedule_id, plan_time, scope_kind, scope_id) do nothing
    returning slot_id into p_slot.slot_id;
    if found then
      perform tenure.slots_told('skipped', p_now, 'scheduler', array[p_slot.slot_id]);
    end if;
  end if;
  perform tenure.slot_plan(p_schedule, p_now, r.at, r.at, 'rule', 'scheduler') from unnest(v_run) r (at);
  update tenure.schedules s set planned_to = coalesce(case when p_schedule.catch_up = 'every_plan' and p_schedule.paused_at is null then v_run[cardinality(v_run)] end, p_latest, s.planned_to)
   where s.schedule_id = p_schedule.schedule_id;
  return case when v_reason = 'paused' then 0 else v_gone::integer + v_passed end;
end
$$;

-- Plans one slot; null when the moment has a row already. What was given up for the sake of a change, or skipped and is now filled in, comes back.
create or replace function tenure.slot_plan(p_schedule tenure.schedules, p_now timestamptz, p_plan_time timestamptz, p_due_at timestamptz, p_origin text, p_by text) returns bigint
language sql
as $$
  insert into tenure.planned_slots as p (tenant_id, schedule_id, scope_kind, scope_id, plan_time, origin, state, expression, zone, due_at, planned_at, planned_by, updated_at)
  values (p_schedule.tenant_id, p_schedule.schedule_id, p_schedule.scope_kind, p_schedule.scope_id, p_plan_time, p_origin, 'planned', tenure.schedule_rule(p_schedule), p_schedule.zone,
    p_due_at, p_now, p_by, p_now)
  on conflict (tenant_id, schedule_id, plan_time, scope_kind, scope_id) do update
     set origin = excluded.origin, state = 'planned', skip_reason = null, error_code = null, error_message = null, ended_at = null, expression = excluded.expression, zone = excluded.zone,
         due_at = excluded.due_at, planned_at = excluded.planned_at, planned_by = excluded.planned_by
   where p.state = 'skipped' and (p.skip_reason = 'superseded' or p_origin = 'backfill')
  returning p.slot_id
$$;

-- How much later than planned a slot starts: the same for whoever computes it, and below the bound.
create or replace function tenure.slot_jitter(p_schedule_id integer, p_plan_time timestamptz, p_seconds bigint) returns bigint
language sql immutable
as $$
  select case when p_seconds > 0 then (hashtextextended(p_schedule_id || ' ' || extract(epoch from p_plan_time)::bigint, 0) & 9223372036854775807) % (p_seconds + 1) else 0 end
$$;

-- What the job of a slot finds in its payload.
create or replace function tenure.slot_payload(p_schedule tenure.schedules, p_slot tenure.planned_slots) returns jsonb
language sql stable
as $$
  select case when jsonb_typeof(p_schedule.payload) = 'object' then p_schedule.payload || jsonb_build_object('slot', jsonb_build_object(
      'schedule', p_schedule.name, 'plan_time', to_char(p_slot.plan_time at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), 'scope_kind', p_slot.scope_kind, 'scope_id', p_slot.scope_id,
      'origin', p_slot.origin))
    else p_schedule.payload end
$$;

create or replace function tenure.pause_words(p_schedule tenure.schedules) returns text
language sql immutable
as $$
  select format('Paused by %s%s.', p_schedule.paused_by, coalesce(': ' || p_schedule.pause_note, ''))
$$;

-- Runs, skips or holds back the slots of these schedules that are due. The caller holds the schedules.
-- A slot filled in waits where another would be skipped. With cancel_other only the latest counts. Whoever names a slot means it alone, and who waits before it:
-- what else is due is for the scheduler, which knows how late that is.
create or replace function tenure.slots_fire(p_caller tenure.caller_identity, p_now timestamptz, p_schedule_ids integer[], p_actor text, p_slot_id bigint default null,
  out started integer, out skipped integer, out waiting integer)
language plpgsql
set enable_seqscan = off
set jit = off
as $$
declare
  v_due    record;
  v_other  record;
  v_tenant integer;
begin
  with due as materialized (
    select p.slot_id, s.schedule_id, s.tenant_id, p.plan_time, p.origin, p.waiting_since, s.overlap, s.paused_at is not null and p.origin = 'rule' as is_paused,
           -- Looked up for each: as a question of existence it would read whatever runs anywhere.
           (select true from tenure.planned_slots r where r.schedule_id = s.schedule_id and r.state = 'running' limit 1) is not null as is_busy,
           (select count(*) from tenure.planned_slots w where w.schedule_id = s.schedule_id and w.state = 'planned' and w.waiting_since is not null and w.origin <> 'backfill') as held
      from tenure.schedules s
      cross join lateral (
        -- Of those that wait, the first alone can have its turn; unless they may overlap by now.
        (select q.slot_id, q.plan_time, q.origin, q.waiting_since from tenure.planned_slots q
          where q.schedule_id = s.schedule_id and q.state = 'planned' and q.waiting_since is not null and q.due_at <= p_now
          order by q.origin = 'backfill', q.plan_time limit case s.overlap when 'allow' then tenure.limit_of('slots_per_schedule_max') else 1 end)
        union all
        (select q.slot_id, q.plan_time, q.origin, q.waiting_since from tenure.planned_slots q
          where q.schedule_id = s.schedule_id and q.state = 'planned' and q.waiting_since is null and q.due_at <= p_now and (p_slot_id is null or q.slot_id = p_slot_id)
          order by q.due_at limit tenure.limit_of('slots_per_schedule_max'))) p
     where s.schedule_id = any (p_schedule_ids)
  ), ranked as (
    select d.*,
           row_number() over (partition by d.schedule_id, d.is_paused order by d.origin = 'backfill', d.plan_time) as place,
           count(*) filter (where d.origin <> 'backfill') over (partition by d.schedule_id, d.is_paused) as own
      from due d
  ), judged as (
    select r.*,
           case
             when r.is_paused then 'paused'
             when r.overlap = 'allow' then 'run'
             when r.overlap = 'cancel_other' and r.origin <> 'backfill' and r.place < r.own then 'overlap'
             when not r.is_busy and r.place = case when r.overlap = 'cancel_other' then greatest(r.own, 1) else 1 end then 'run'
             when r.origin = 'backfill' then 'wait'
             when r.overlap = 'skip' or r.place + greatest(r.held - 1, 0) > tenure.limit_of('slots_waiting_max') then 'overlap'
             else 'wait'
           end as verdict
      from ranked r
  )
  select coalesce(array_agg(j.slot_id order by j.slot_id) filter (where j.verdict = 'run'), '{}') as run,
         coalesce(array_agg(j.slot_id) filter (where j.verdict = 'paused'), '{}') as paused,
         coalesce(array_agg(j.slot_id) filter (where j.verdict = 'overlap'), '{}') as overlap,
         coalesce(array_agg(j.slot_id) filter (where j.verdict = 'wait' and j.waiting_since is null), '{}') as wait,
         coalesce(array_agg(j.schedule_id) filter (where j.verdict = 'wait' and j.overlap = 'cancel_other' and j.origin <> 'backfill'), '{}') as cancel,
         coalesce(array_agg(distinct j.tenant_id) filter (where j.verdict = 'run'), '{}') as tenants
    into v_due
    from judged j;

  update tenure.planned_slots p
     set state = 'skipped', skip_reason = case when p.slot_id = any (v_due.paused) then 'paused' else 'overlap' end, ended_at = p_now, waiting_since = null,
         error_message = case
           when p.slot_id = any (v_due.paused) then tenure.pause_words(s)
           else coalesce((select format('Job %s, for %s, was still under way.', r.job_id, r.plan_time) from tenure.planned_slots r
                           where r.schedule_id = p.schedule_id and r.state = 'running' order by r.plan_time limit 1), 'Another slot came before it.') end
    from tenure.schedules s
   where s.schedule_id = p.schedule_id and p.slot_id = any (v_due.paused || v_due.overlap);
  perform tenure.slots_told('skipped', p_now, p_actor, v_due.paused || v_due.overlap);
  update tenure.planned_slots p set waiting_since = p_now where p.slot_id = any (v_due.wait);
  skipped := cardinality(v_due.paused) + cardinality(v_due.overlap);
  waiting := cardinality(v_due.wait);
  started := 0;

  foreach v_tenant in array v_due.tenants loop
    started := started + tenure.slots_start(p_caller, v_tenant, p_now,
      array(select p.slot_id from tenure.planned_slots p where p.slot_id = any (v_due.run) and p.tenant_id = v_tenant order by p.slot_id), p_actor);
  end loop;
  skipped := skipped + cardinality(v_due.run) - started;

  for v_other in
    select p.slot_id, p.tenant_id, p.job_id from tenure.planned_slots p where p.schedule_id = any (v_due.cancel) and p.state = 'running' order by p.job_id
  loop
    perform tenure.slot_give_way(p_caller, p_now, v_other.tenant_id, v_other.slot_id, v_other.job_id, p_actor);
  end loop;
end
$$;

-- Asks the run of a slot to make room for another. Who is in the way of that is not waited for: the next look tries again.
create or replace function tenure.slot_give_way(p_caller tenure.caller_identity, p_now timestamptz, p_tenant_id integer, p_slot_id bigint, p_job_id uuid, p_actor text) returns void
language plpgsql
set lock_timeout = '500ms'
as $$
begin
  p_caller.tenant_id := p_tenant_id;
  p_caller.principal := p_actor;
  perform tenure.job_stop(p_caller, p_now, p_job_id, 'Another slot of its schedule is due.', 'cooperative', null);
exception
  -- It has ended meanwhile.
  when sqlstate 'TN014' then null;
  when lock_not_available or sqlstate 'TN023' then
    update tenure.planned_slots p set owes_next = true where p.slot_id = p_slot_id;
end
$$;

-- Makes the jobs of slots of one tenant. If they are refused together, each is asked for itself; one that is refused is skipped with the refusal's code. Answers how many were made.
create or replace function tenure.slots_start(p_caller tenure.caller_identity, p_tenant_id integer, p_now timestamptz, p_slot_ids bigint[], p_actor text) returns integer
language plpgsql
set lock_timeout = '2s'
as $$
declare
  v_jobs    record;
  v_new     record;
  v_started integer := 0;
  v_slot    bigint;
  v_state text; v_what text; v_why text; v_next text;
begin
  p_caller.tenant_id := p_tenant_id;
  p_caller.principal := p_actor;
  p_caller.scope := 'tenant';
  begin
    perform tenure.check_gate(p_tenant_id, 'queue.job_substrate.enabled');
    select array_agg(s.kind order by p.slot_id) as kinds, array_agg(tenure.slot_payload(s, p)::json order by p.slot_id) as payloads,
           array_agg('slot ' || p.slot_id order by p.slot_id) as keys, array_agg(s.executor order by p.slot_id) as executors, array_agg(s.priority::integer order by p.slot_id) as priorities,
           array_agg(s.source_ref order by p.slot_id) as source_refs, array_agg(s.target_ref order by p.slot_id) as target_refs, array_agg(s.payload_ref order by p.slot_id) as payload_refs,
           array_agg(s.classification order by p.slot_id) as classifications, array_agg(s.attempts_max::integer order by p.slot_id) as attempts_max,
           array_agg('tenure.schedule'::text order by p.slot_id) as source_systems,
           case when bool_or(s.run_timeout_seconds is not null) then array_agg(s.run_timeout_seconds order by p.slot_id) end as run_timeouts,
           array_agg(s.backoff_base_seconds order by p.slot_id) as backoffs, array_agg(case s.reentry when 'refused' then 'fail' end order by p.slot_id) as on_lost
      into v_jobs
      from tenure.planned_slots p
      join tenure.schedules s on s.schedule_id = p.schedule_id
     where p.slot_id = any (p_slot_ids);
    v_new := tenure.enqueue_batch(p_caller, tenure.tuning(p_tenant_id), p_now, v_jobs.kinds, v_jobs.payloads, v_jobs.keys, v_jobs.executors, v_jobs.priorities, null, null,
      v_jobs.source_refs, v_jobs.target_refs, v_jobs.payload_refs, v_jobs.classifications, v_jobs.attempts_max, null, null, null, null, null, null, null, v_jobs.source_systems, null, null,
      v_jobs.run_timeouts, v_jobs.backoffs, v_jobs.on_lost);
    if v_new.unmade <> '{}' then
      perform tenure.refuse('key_taken', 'Another job has the key of the slot.', 'Keys that begin with "slot" and a number are for slots.', 'Cancel that job.');
    end if;
    -- The kind may have got another executor since, and so another lane.
    update tenure.lanes l set planned = true
     where not l.planned and l.lane = any (array(select j.lane from tenure.jobs j where j.job_id = any (v_new.ids)));
    update tenure.planned_slots p
       set state = 'running', job_id = n.job_id, fired_at = p_now, waiting_since = null, updated_at = p_now
      from unnest(array(select x from unnest(p_slot_ids) x order by x), v_new.ids) n (slot_id, job_id)
     where p.slot_id = n.slot_id;
    get diagnostics v_started = row_count;
    perform tenure.slots_told('started', p_now, p_actor, p_slot_ids);
    return v_started;
  exception when others then
    get stacked diagnostics v_state = returned_sqlstate, v_what = message_text, v_why = pg_exception_detail, v_next = pg_exception_hint;
    if v_state not like 'TN%' and v_state not in ('55P03', '40P01') then
      raise;
    end if;
  end;

  if cardinality(p_slot_ids) > 1 then
    foreach v_slot in array p_slot_ids loop
      v_started := v_started + tenure.slots_start(p_caller, p_tenant_id, p_now, array[v_slot], p_actor);
    end loop;
  elsif v_state like 'TN%' then
    update tenure.planned_slots p
       set state = 'skipped', skip_reason = 'refused', ended_at = p_now, waiting_since = null, error_code = tenure.refusal(v_state, v_what, v_why, v_next) ->> 'code',
           error_message = tenure.cut_text(v_what || ' ' || v_why, tenure.limit_of('error_message_bytes_max')::integer)
     where p.slot_id = p_slot_ids[1];
    perform tenure.slots_told('skipped', p_now, p_actor, p_slot_ids);
  else
    -- Somebody is in the way of this one: it comes a little later, and the others go on.
    update tenure.planned_slots p set due_at = p_now + interval '5 seconds' where p.slot_id = p_slot_ids[1];
  end if;
  return v_started;
end
$$;

-- Tells what became of slots: an event each.
create or replace function tenure.slots_told(p_what text, p_now timestamptz, p_actor text, p_slot_ids bigint[]) returns void
language sql
as $$
  insert into tenure.events (at, tenant_id, kind, actor, subject, data)
  select p_now, p.tenant_id, 'schedule.slot_' || p_what, p_actor, s.name,
         jsonb_strip_nulls(jsonb_build_object('plan_time', p.plan_time, 'origin', p.origin, 'scope_kind', p.scope_kind, 'scope_id', p.scope_id, 'job_id', p.job_id, 'reason', p.skip_reason,
           'missed', p.missed, 'missed_until', p.missed_until, 'error_code', p.error_code, 'duration_ms', p.duration_ms))
    from tenure.planned_slots p
    join tenure.schedules s on s.schedule_id = p.schedule_id
   where p.slot_id = any (p_slot_ids)
   order by p.slot_id
$$;

-- Writes the end of jobs to their slots, in the transaction of the end. Jobs that are not over, or belong to no slot, are passed over. Whoever ends jobs calls it where lanes.planned says so.
create or replace function tenure.slots_end(p_now timestamptz, p_actor text, p_job_ids uuid[]) returns void
language plpgsql
set enable_seqscan = off
as $$
declare
  v_ended bigint[];
begin
  with over as (
    update tenure.planned_slots p
       set state = case a.state when 'succeeded' then 'succeeded' when 'cancelled' then 'cancelled' else 'failed' end,
           attempts = a.attempt, worker = a.owner, started_at = b.started_at, ended_at = a.ended_at,
           duration_ms = floor(extract(epoch from a.ended_at - b.started_at) * 1000)::bigint,
           rows_affected = case when jsonb_typeof(a.result -> 'rows_affected') = 'number' and (a.result ->> 'rows_affected') ~ '^[0-9]{1,18}$' then (a.result ->> 'rows_affected')::bigint end,
           result = a.result, result_ref = a.result_ref,
           error_code = coalesce(a.error_code, case when a.state = 'cancelled' then 'cancelled' when a.state <> 'succeeded' then a.outcome end),
           error_message = coalesce(a.error_message, a.reason),
           -- Asked of the rule of the schedule, not of who waits: who begins to wait just now cannot be seen from here.
           owes_next = s.deleted_at is null and (s.overlap in ('queue', 'cancel_other')
             or exists (select from tenure.planned_slots w where w.schedule_id = p.schedule_id and w.state = 'planned' and w.origin = 'backfill'))
      from tenure.schedules s,
           tenure.attempts a
      cross join lateral (select min(x.started_at) as started_at from tenure.attempts x where x.job_id = a.job_id) b
     where p.job_id = any (p_job_ids) and p.state = 'running' and a.job_id = p.job_id and a.final and s.schedule_id = p.schedule_id
    returning p.slot_id
  )
  select array_agg(o.slot_id) into v_ended from over o;
  if v_ended is not null then
    perform tenure.slots_told(o.state, p_now, p_actor, array_agg(o.slot_id)) from tenure.planned_slots o where o.slot_id = any (v_ended) group by o.state;
  end if;
end
$$;

-- A job that an operator retries, or another that replays it, runs for its slot once more.
create or replace function tenure.slot_reopen(p_job_id uuid, p_by_job_id uuid) returns void
language plpgsql
as $$
begin
  update tenure.planned_slots p
     set state = 'running', job_id = p_by_job_id, ended_at = null, duration_ms = null, rows_affected = null, result = null, result_ref = null, error_code = null, error_message = null,
         owes_next = false
   where p.job_id = p_job_id and p.state = 'failed';
  if found then
    update tenure.lanes l set planned = true where not l.planned and l.lane = (select j.lane from tenure.jobs j where j.job_id = p_by_job_id);
  end if;
end
$$;
