-- Writing the steps of a frozen plan.

-- Writes the steps of a new execution, where they stand, what they need, and the targets that they lock.
create or replace function tenure.steps_write(p_tenant_id integer, p_new tenure.new_execution) returns void
language plpgsql
as $$
begin
  insert into tenure.steps (execution_id, step_number, tenant_id, step_id, action, action_class,
    target_type, target_ref, kind, executor, payload, payload_ref, effects, attempts_max, timeout_seconds,
    renewals_max, lease_seconds, priority, approval_level, rule, approval_roles, approval_quorum,
    approval_seconds, lock_target, lock_action, section, compensation_note, registration,
    level_min, payload_classification)
  -- A lease lasts as long as its policy says, and at least as long as the kind usually needs. It is renewed
  -- at most renewals_max times; then the job is dead-lettered.
  with kinds as materialized (
    select u.kind, tenure.step_lease_usual(p_tenant_id, u.kind) as usual
      from (select distinct s.kind from unnest(p_new.steps) s) u
  )
  select p_new.execution_id, s.step_number, p_tenant_id, s.step_id, s.action, s.action_class,
         s.target_type, s.target_ref, s.kind, s.executor, s.payload, s.payload_ref, s.effects,
         s.attempts_max, coalesce(s.timeout_seconds, ceil(p.step_timeout_ms / 1000.0)::integer),
         p.renewals_max,
         least(
           greatest(tenure.step_lease_seconds(s.timeout_seconds, p), k.usual),
           tenure.limit_of('lease_seconds_max')),
         p_new.priority, r.level, r.rule,
         array(
           select distinct x
             from unnest(r.roles || array(
                    select jsonb_array_elements_text(coalesce(p_new.plan -> 'approval_roles', '[]')))) x
            order by x),
         r.quorum, r.expires_seconds, s.lock_target, s.lock_action, q.section, s.compensation_note,
         d.registration, d.level_min, d.classification
    from unnest(p_new.steps) s
    join tenure.plan_demands(p_new.plan) d on d.step_number = s.step_number
    join tenure.plan_rules(p_tenant_id, p_new.requesters, p_new.plan) r on r.step_number = s.step_number
    join kinds k on k.kind = s.kind
    left join tenure.plan_sections(p_new.plan) q on q.step_id = s.step_id
    cross join lateral tenure.timeout_policy(p_tenant_id, p_new.plan ->> 'sla_class', s.action_class) p;
  insert into tenure.step_states (execution_id, step_number, tenant_id, needs_left, attempts_max)
  select p_new.execution_id, s.step_number, p_tenant_id, cardinality(s.needs), s.attempts_max
    from unnest(p_new.steps) s;
  insert into tenure.step_needs (execution_id, needs_number, step_number, tenant_id)
  select p_new.execution_id, o.step_number, s.step_number, p_tenant_id
    from unnest(p_new.steps) s
    cross join lateral unnest(s.needs) n (id)
    join unnest(p_new.steps) o on o.step_id = n.id;
  insert into tenure.lock_targets (tenant_id, target)
  select distinct p_tenant_id, s.lock_target
    from unnest(p_new.steps) s
   where s.lock_target is not null
   order by 2
  on conflict do nothing;
end
$$;

-- Twice the 95th percentile of the time that the latest steps of a kind took, in seconds; null when none has
-- ended.
create or replace function tenure.step_lease_usual(p_tenant_id integer, p_kind text) returns integer
language plpgsql stable
as $$
begin
  return (
    select (2 * percentile_disc(0.95) within group (order by d.duration_ms) / 1000)::integer
      -- The newest steps that were ever queued, ended or not, among the newest of all: a large plan that
      -- waits does not hide them, and one look stays bounded.
      from (select tenure.milliseconds(s.started_at, s.ended_at) as duration_ms
              from (select o.execution_id, o.step_number
                      from tenure.steps o
                     where o.tenant_id = p_tenant_id
                       and o.kind = p_kind
                     order by o.execution_id desc
                     limit tenure.limit_of('usual_lease_rows_max')) r
              cross join lateral (
                select s.started_at, s.ended_at
                  from tenure.step_states s
                 where s.execution_id = r.execution_id
                   and s.step_number = r.step_number
                   and s.queued_at is not null
                offset 0) s
             limit tenure.limit_of('usual_lease_steps_max')) d);
end
$$;

-- The limits of an SLA class and an action class: the tenant's own, else the installation's.
create or replace function tenure.timeout_policy(p_tenant_id integer, p_sla_class text, p_action_class text)
returns tenure.timeout_policies
language plpgsql stable
as $$
declare
  v_policy tenure.timeout_policies;
begin
  select p.*
    into v_policy
    from tenure.timeout_policies p
   where p.tenant_id in (p_tenant_id, 0)
     and p.sla_class = p_sla_class
     and p.action_class = p_action_class
   order by p.tenant_id desc
   limit 1;
  return v_policy;
end
$$;
