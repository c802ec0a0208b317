-- Parking: how idle workers listen for new jobs, and how many of them are worth waking.

-- The number of jobs of these lanes that can be claimed now, counted no further than p_limit: that many
-- waiters are worth waking.
-- granted to: worker
create or replace function tenure.lane_ready(p_lanes integer[], p_limit integer default 1000) returns integer
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant integer := tenure.current_tenant();
begin
  perform tenure.check_number('The limit', p_limit, 1, tenure.limit_of('batch_rows_max'));
  return (
    select count(*)
      from (
        select from tenure.lanes l
          cross join lateral (select from tenure.ready r where r.lane = l.lane limit p_limit) r
         where l.lane = any (p_lanes)
           and l.tenant_id = v_tenant
         limit p_limit) x);
end
$$;

-- Records that an idle worker listens for these kinds for p_seconds, and returns the lanes to listen for:
-- enqueue notifies on the channel tenure_lane only while a worker is parked. The worker commits its park,
-- claims once more, and only then waits; polling covers the rest.
-- granted to: worker
create or replace function tenure.worker_park(
  p_executor text default null, p_kinds text[] default null, p_seconds integer default 60) returns integer[]
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_tuning tenure.tunings := tenure.tuning(v_caller.tenant_id);
  v_until  timestamptz;
  v_lanes  integer[];
begin
  perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  perform tenure.check_number('The time of a park', p_seconds, 1, tenure.limit_of('park_seconds_max'));
  v_until := tenure.now() + make_interval(secs => p_seconds);
  select coalesce(c.lanes, '{}')
    into v_lanes
    from tenure.claim_lanes(v_caller, v_tuning, p_executor, p_kinds, null, true) c;
  update tenure.lanes l
     set parked_until = v_until
   where l.lane in (
     select k.lane
       from tenure.lanes k
      where k.lane = any (v_lanes)
        and (k.parked_until is null or k.parked_until
          < v_until - make_interval(secs => tenure.limit_of('park_slack_seconds')))
      order by k.lane
        for no key update skip locked);
  -- A lane whose row another session has locked is left out, unless it is parked on for half that time
  -- anyway: it has to be parked on again soon.
  return array(
    select l.lane
      from tenure.lanes l
     where l.lane = any (v_lanes)
       and l.parked_until >= v_until - make_interval(secs => p_seconds) / 2
     order by l.lane);
end
$$;
