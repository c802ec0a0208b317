-- Previewing a plan without submitting it.

-- What would happen if the caller submitted this plan now, perhaps on behalf of another: approval, windows,
-- locks and warnings. Refuses what a submission would be refused for, except a missing runbook, which is
-- reported. Writes nothing.
-- granted to: all
create or replace function tenure.execution_preview(p_plan text, p_on_behalf_of text default null)
returns jsonb
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz := tenure.now();
  v_plan   jsonb;
  v_hash   text;
  v_timeout integer;
  v_terms  record;
  v_class  text;
  v_steps  tenure.plan_step[];
  v_asking text[] := tenure.execution_requesters(v_caller.principal, p_on_behalf_of, null);
begin
  perform tenure.check_tenant(v_caller.tenant_id);
  if p_on_behalf_of is not null then
    perform tenure.check_acted_for(p_on_behalf_of);
  end if;
  v_plan := tenure.plan_check(p_plan);
  v_hash := tenure.text_hash(tenure.plan_canonical(v_plan));
  v_plan := tenure.plan_resolve(v_caller.tenant_id, v_plan);
  v_terms := tenure.plan_terms(v_caller.tenant_id, v_asking, v_plan);
  select array_agg(s order by s.step_number) into v_steps from tenure.plan_steps(v_plan) s;
  perform tenure.check_actions(v_plan);
  perform tenure.check_plan_here(v_caller, v_now, v_plan, v_steps, v_terms.start_window);
  -- The same scope as in tenure.plan_lanes.
  v_caller.scope := 'execution';
  perform tenure.lane_check(v_caller, u.kind, u.executor, u.place)
     from (select u.kind, u.executor, u.place
             from tenure.plan_uses(v_plan) u
            order by u.kind, u.executor) u;
  select s.action_class
    into v_class
    from unnest(v_steps) s
   order by tenure.class_reach(s.action_class) desc
   limit 1;
  v_timeout := tenure.plan_timeout_ms(v_caller.tenant_id, v_plan, v_class);
  return jsonb_build_object(
    'plan_hash', v_hash,
    'approval_level', v_terms.level,
    'rule', v_terms.rule,
    'roles', v_terms.roles,
    'quorum', v_terms.quorum,
    'expires_seconds', v_terms.expires_seconds,
    'window', v_terms.start_window,
    'opens_at', tenure.window_opens(v_terms.start_window, v_now),
    'frozen', (
      select f.reason
        from tenure.freezes f
       where f.tenant_id = v_caller.tenant_id
         and f.ended_at is null
         and (f.until is null or f.until > v_now)),
    'runbook_missing', v_terms.level >= 2 and not v_plan ? 'runbook_ref',
    'timeout_seconds', ceil(v_timeout / 1000.0)::integer,
    'warnings', to_jsonb(tenure.plan_warnings(v_caller.tenant_id, v_plan, v_steps, v_timeout)),
    'sections', (
      select coalesce(jsonb_agg(x.shown order by x.first), '[]')
        from (select min(s.step_number) as first,
                     jsonb_build_object(
                       'section', q.section,
                       'target', min(s.lock_target),
                       'lock_key', 'lock:v1:' || v_caller.tenant_id || ':' || min(s.lock_target),
                       'steps', jsonb_agg(s.step_id order by q.place)) as shown
                from tenure.plan_sections(v_plan) q
                join unnest(v_steps) s on s.step_id = q.step_id
               group by q.section) x),
    'steps', (
      select jsonb_agg(jsonb_build_object(
               'step_id', s.step_id,
               'action', s.action,
               'action_class', s.action_class,
               'registration', d.registration,
               'level_min', d.level_min,
               'lock_scope', s.lock_scope,
               'payload_classification', d.classification,
               'rule', r.rule,
               'level', r.level,
               'effects', s.effects,
               'attempts_max', s.attempts_max,
               'timeout_seconds', coalesce(s.timeout_seconds, ceil(p.step_timeout_ms / 1000.0)::integer),
               'lock_key', 'lock:v1:' || v_caller.tenant_id || ':' || s.lock_target
                 || case when s.lock_action = '' then '' else ':' || s.lock_action end,
               'held_by', (
                 select l.owner
                   from tenure.locks l
                  where l.tenant_id = v_caller.tenant_id
                    and l.target = s.lock_target
                    and (l.action in ('', s.lock_action) or s.lock_action = '')
                  limit 1)) order by s.step_number)
        from tenure.plan_steps(v_plan) s
        join tenure.plan_rules(v_caller.tenant_id, v_asking, v_plan) r on r.step_number = s.step_number
        join tenure.plan_demands(v_plan) d on d.step_number = s.step_number
        cross join lateral tenure.timeout_policy(
          v_caller.tenant_id, v_plan ->> 'sla_class', s.action_class) p));
end
$$;
