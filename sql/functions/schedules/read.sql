-- Reading schedules: one by name, or a page of them.

-- Schedules in the form that readers get, by name: one, or the page after p_after.
create or replace function tenure.schedule_rows(
  p_tenant_id integer, p_name text, p_limit integer, p_after text) returns setof tenure.schedule_row
language sql stable
as $$
  select s.name,
         case
           when s.error_code is not null then 'failing'
           when s.paused_at is not null then 'paused'
           when s.ended_at is not null then 'ended'
           else 'active'
         end,
         s.cron, s.every_seconds, s.zone, s.jitter_seconds, s.start_at, s.end_at, s.scope_kind, s.scope_id,
         s.kind, s.executor, s.priority,
         case when tenure.may_see(s.classification) then s.payload end,
         s.classification, s.source_ref, s.target_ref, s.payload_ref, s.overlap, s.catch_up,
         s.catch_up_window_seconds, s.catch_up_slots_max, s.run_timeout_seconds, s.attempts_max::integer,
         s.backoff_base_seconds, s.reentry, s.description,
         n.plan_time, n.due_at,
         l.plan_time, l.state, coalesce(l.skip_reason, l.error_code),
         g.plan_time, g.ended_at,
         (select count(*)
            from tenure.planned_slots r
           where r.schedule_id = s.schedule_id and r.state = 'running'),
         (select count(*)
            from tenure.planned_slots w
           where w.schedule_id = s.schedule_id and w.state = 'planned' and w.waiting_since is not null),
         s.planned_to, s.plan_from, s.paused_at, s.paused_by, s.pause_note, s.error_code, s.error_message,
         s.created_at, s.created_by, s.updated_at, s.updated_by
    from (select q.*
            from tenure.schedules q
           where q.tenant_id = p_tenant_id and q.deleted_at is null
             and (p_name is null or q.name = p_name)
             and (p_after is null or q.name > p_after)
           order by q.name
           limit p_limit) s
    -- The next slot, the latest, and the latest that succeeded.
    left join lateral (
      select p.plan_time, p.due_at
        from tenure.planned_slots p
       where p.schedule_id = s.schedule_id and p.state = 'planned'
         and p.waiting_since is null and p.origin = 'rule'
       order by p.due_at
       limit 1) n on true
    left join lateral (
      select p.plan_time, p.state, p.skip_reason, p.error_code
        from tenure.planned_slots p
       where p.tenant_id = s.tenant_id and p.schedule_id = s.schedule_id and p.state <> 'planned'
       order by p.plan_time desc
       limit 1) l on true
    left join lateral (
      select p.plan_time, p.ended_at
        from tenure.planned_slots p
       where p.schedule_id = s.schedule_id and p.state = 'succeeded'
       order by p.plan_time desc
       limit 1) g on true
   order by s.name
$$;

-- A schedule as the functions that change it return it.
create or replace function tenure.schedule_answer(p_tenant_id integer, p_name text) returns jsonb
language sql volatile
as $$
  select to_jsonb(r) from tenure.schedule_rows(p_tenant_id, p_name, 1, null) r
$$;

-- The schedules of the tenant, by name, one page at a time: p_after is the last name of the page before.
-- granted to: all
create or replace function tenure.schedule_list(p_limit integer default 100, p_after text default null)
returns setof tenure.schedule_row
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant integer := tenure.current_tenant();
begin
  perform tenure.check_number('The limit', p_limit, 1, tenure.limit_of('list_rows_max'));
  return query select r.* from tenure.schedule_rows(v_tenant, null, p_limit, p_after) r;
end
$$;

-- One schedule. Refuses an unknown name.
-- granted to: all
create or replace function tenure.schedule_show(p_name text) returns setof tenure.schedule_row
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant integer := tenure.current_tenant();
begin
  return query select r.* from tenure.schedule_rows(v_tenant, p_name, 1, null) r;
  if not found then
    perform tenure.refuse_schedule(v_tenant, p_name);
  end if;
end
$$;
