-- Acting on events that match a subscription: a job or a delivery for each.

-- The next events of a subscription's tenant after its cursor, in order, and whether each matches. Leaves out
-- events that an open transaction could precede. It returns no more events than one batch of jobs can be made
-- for, but at least one.
create or replace function tenure.subscription_scan(
  p_subscription tenure.subscriptions, p_rows_max integer)
returns table (
  epoch integer, txid xid8, seq bigint, at timestamptz, kind text, actor text, on_behalf_of text,
  subject text, job_kind text, executor text, job_ids uuid[], runs integer[], data jsonb, via text,
  matches boolean)
language plpgsql stable
set jit = off
as $$
declare
  v_epoch integer := tenure.current_epoch();
  v_xmin  xid8 := pg_snapshot_xmin(pg_current_snapshot());
begin
  return query
    select x.epoch, x.txid, x.seq, x.at, x.kind, x.actor, x.on_behalf_of, x.subject, x.job_kind, x.executor,
           x.job_ids, x.runs, x.data, x.via, x.matches
      from (select y.*,
                   sum(case when y.matches then greatest(cardinality(y.job_ids), 1) else 0 end)
                     over (order by y.epoch, y.txid, y.seq) as parts,
                   row_number() over (order by y.epoch, y.txid, y.seq) as n
              from (select e.epoch, e.txid, i.seq, e.at, i.kind, e.actor, e.on_behalf_of, i.subject,
                           l.kind as job_kind, l.executor, e.job_ids, e.runs, i.data, e.via,
                           tenure.is_kind_of(i.kind, p_subscription.event_kinds)
                           and (p_subscription.filter = '{}'
                             or (coalesce(p_subscription.filter ->> 'job_kind' = l.kind,
                                   not p_subscription.filter ? 'job_kind')
                               and coalesce(p_subscription.filter ->> 'executor' = l.executor,
                                     not p_subscription.filter ? 'executor')
                               and coalesce(p_subscription.filter ->> 'actor' = e.actor,
                                     not p_subscription.filter ? 'actor')
                               and coalesce(p_subscription.filter ->> 'subject' = i.subject,
                                     not p_subscription.filter ? 'subject')
                               and coalesce(i.data @> (p_subscription.filter -> 'data'), true))) as matches
                      from (select e.epoch, e.txid, e.seq, e.at, e.lane, e.kind, e.actor, e.on_behalf_of,
                                   e.subject, e.job_ids, e.runs, e.data, e.via, e.entries
                              from tenure.events e
                             where e.tenant_id = p_subscription.tenant_id
                               and (e.epoch, e.txid, e.seq)
                                 > (p_subscription.epoch, p_subscription.txid, p_subscription.seq)
                             order by e.epoch, e.txid, e.seq
                             limit p_rows_max) e
                      cross join lateral tenure.event_entries(e.seq, e.kind, e.subject, e.data, e.entries) i
                      left join tenure.lanes l on l.lane = e.lane
                     where (e.epoch, e.txid, i.seq)
                         > (p_subscription.epoch, p_subscription.txid, p_subscription.seq)
                     order by e.epoch, e.txid, i.seq
                     limit p_rows_max) y
             where y.epoch < v_epoch or y.txid < v_xmin) x
     where x.parts <= tenure.limit_of('batch_rows_max') or x.n = 1
     order by x.epoch, x.txid, x.seq;
end
$$;

-- How many of this job and its ancestors were made by a subscription. Stops counting at p_depth_max; jobs
-- that retention has removed do not count.
create or replace function tenure.job_depth(p_job_id uuid, p_depth_max integer) returns integer
language plpgsql stable
as $$
declare
  v_depth integer := 0;
  v_job   uuid := p_job_id;
  v_made  boolean;
begin
  for v_step in 1 .. tenure.limit_of('ancestors_max') loop
    exit when v_job is null or v_depth >= p_depth_max;
    select j.parent_job_id, j.source_system = 'tenure.subscription' into v_job, v_made
      from tenure.jobs j
     where j.job_id = v_job;
    exit when not found;
    v_depth := v_depth + v_made::integer;
  end loop;
  return v_depth;
end
$$;

-- Runs one subscription: of those with new events, the one that has waited longest. Its cursor moves in the
-- same transaction, so each event is acted on once. After an error the cursor stays, and the subscription is
-- tried again with a growing delay. Answers with what was done; {} if there was nothing to do.
-- granted to: admin, operator
create or replace function tenure.subscription_run(p_rows_max integer default 1000) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller  tenure.caller_identity := tenure.caller();
  v_now     timestamptz := tenure.now();
  v_tenants integer[] := tenure.open_tenants(v_caller);
  v_epoch   integer := tenure.current_epoch();
  v_xmin    xid8 := pg_snapshot_xmin(pg_current_snapshot());
  v_sub     tenure.subscriptions;
  v_done    record;
  v_tenant  text;
  v_code    text;
  v_state   text;
  v_what    text;
  v_why     text;
begin
  perform tenure.check_number('The number of rows', p_rows_max, 1, tenure.limit_of('scan_rows_max'));
  select s.* into v_sub
    from tenure.subscriptions s
   where s.tenant_id = any (v_tenants) and s.target <> 'reader' and s.paused_at is null
     and (s.retry_at is null or s.retry_at <= v_now)
     -- The next event decides; it is found by one step in the index.
     and (select e.epoch < v_epoch or e.txid < v_xmin
            from tenure.events e
           where e.tenant_id = s.tenant_id
             and (e.epoch, e.txid, e.seq) > (s.epoch, s.txid, s.seq)
           order by e.epoch, e.txid, e.seq
           limit 1)
   order by s.moved_at, s.subscription_id
   limit 1
     for update of s skip locked;
  if not found then
    return '{}';
  end if;
  select t.name into v_tenant from tenure.tenants t where t.tenant_id = v_sub.tenant_id;
  -- Caught item by item: see refusals.sql.
  begin
    v_done := tenure.subscription_step(v_sub, p_rows_max, v_now);
    return jsonb_build_object(
      'name', v_sub.name,
      'tenant', v_tenant,
      'events', v_done.events,
      'made', v_done.made,
      'skipped', v_done.skipped);
  -- query_canceled too: a subscription that always exceeds a time limit must not stay first in the order.
  exception when query_canceled or others then
    get stacked diagnostics
      v_state = returned_sqlstate,
      v_what = message_text,
      v_why = pg_exception_detail;
    v_code := coalesce(tenure.sqlstate_code(v_state), v_state);
    -- The step is rolled back; only this is written.
    update tenure.subscriptions s
       set failures = s.failures + 1,
           retry_at = v_now + make_interval(secs => least(
             tenure.limit_of('subscription_retry_seconds_max'), 2 ^ least(s.failures, 10))),
           moved_at = v_now,
           error_code = v_code,
           error_message = tenure.cut_text(tenure.mask_text(v_what || ' ' || coalesce(v_why, '')),
             tenure.limit_of('short_error_bytes_max')::integer)
     where s.subscription_id = v_sub.subscription_id;
    if v_sub.failures = 0 then
      perform tenure.emit(v_now, v_sub.tenant_id, 'subscription.failing', tenure.subscription_actor(v_sub),
        null, v_sub.name, jsonb_build_object('code', v_code));
    end if;
    return jsonb_build_object(
      'name', v_sub.name,
      'tenant', v_tenant,
      'events', 0,
      'made', 0,
      'skipped', 0,
      'failed', v_code);
  end;
end
$$;

-- The name under which a subscription acts.
create or replace function tenure.subscription_actor(p_sub tenure.subscriptions) returns text
language sql immutable
as $$
  select left('subscription ' || p_sub.name, tenure.limit_of('name_chars_max')::integer)
$$;

-- The work of subscription_run for one subscription, which the caller has locked.
create or replace function tenure.subscription_step(
  p_sub tenure.subscriptions, p_rows_max integer, p_now timestamptz,
  out events integer, out made integer, out skipped integer)
language plpgsql
as $$
declare
  v_last   text;
  v_parts  jsonb[];
  v_seqs   bigint[];
  v_jobs   uuid[];
  v_deep   boolean[];
  v_actor  text := tenure.subscription_actor(p_sub);
begin
  made := 0;
  skipped := 0;
  with scanned as materialized (
    select x.*, tenure.cursor_text(x.epoch, x.txid, x.seq) as cursor
      from tenure.subscription_scan(p_sub, p_rows_max) x
  ), parts as (
    select s.epoch, s.txid, s.seq, t.n, t.job_id,
           -- What a job or a receiver gets of the event, about one of its jobs or about its subject.
           jsonb_strip_nulls(jsonb_build_object(
             'cursor', s.cursor,
             'kind', s.kind,
             'at', s.at,
             'actor', s.actor,
             'on_behalf_of', s.on_behalf_of,
             'subject', s.subject,
             'job_id', t.job_id,
             'run', t.run,
             'job_kind', s.job_kind,
             'executor', s.executor))
           || case when s.data = '{}' then '{}' else jsonb_build_object('data', s.data) end as about
      from scanned s
      cross join lateral (
        select u.job_id, u.run, u.n
          from unnest(s.job_ids, s.runs) with ordinality u (job_id, run, n)
        union all
        select null, null, 0
         where s.job_ids is null) t
     where s.matches
  )
  select (select count(*) from scanned),
         (select array_agg(p.about order by p.epoch, p.txid, p.seq, p.n) from parts p),
         (select array_agg(p.seq order by p.epoch, p.txid, p.seq, p.n) from parts p),
         (select array_agg(p.job_id order by p.epoch, p.txid, p.seq, p.n) from parts p),
         (select s.cursor from scanned s order by s.epoch desc, s.txid desc, s.seq desc limit 1)
    into events, v_parts, v_seqs, v_jobs, v_last;
  if events = 0 then
    return;
  end if;
  if v_parts is not null and p_sub.target = 'job' then
    v_deep := array(
      select tenure.job_depth(j.id, p_sub.depth_max) >= p_sub.depth_max
        from unnest(v_jobs) with ordinality j (id, n)
       order by j.n);
    skipped := (select count(*) from unnest(v_deep) d (deep) where d.deep);
    if skipped > 0 then
      perform tenure.emit(p_now, p_sub.tenant_id, 'subscription.skipped', v_actor, null, p_sub.name,
        jsonb_build_object(
          'why', 'depth',
          'depth_max', p_sub.depth_max,
          'count', skipped,
          'job_id', (select t.id from unnest(v_jobs, v_deep) t (id, deep) where t.deep limit 1)));
    end if;
    if skipped < cardinality(v_parts) then
      select tenure.subscription_enqueue(p_sub, v_actor, p_now, array_agg(t.about order by t.n),
               array_agg(t.seq order by t.n), array_agg(t.id order by t.n))
        into made
        from unnest(v_parts, v_seqs, v_jobs, v_deep) with ordinality t (about, seq, id, deep, n)
       where not t.deep;
    end if;
  elsif v_parts is not null then
    made := cardinality(v_parts);
    perform tenure.deliveries_add(p_sub, p_now, v_parts);
  end if;
  update tenure.subscriptions s
     set epoch = c.epoch,
         txid = c.txid,
         seq = c.seq,
         moved_at = p_now,
         matched = s.matched + coalesce(cardinality(v_parts), 0),
         skipped = s.skipped + subscription_step.skipped,
         failures = 0,
         retry_at = null,
         error_code = null,
         error_message = null
    from tenure.cursor_parts(v_last) c
   where s.subscription_id = p_sub.subscription_id;
end
$$;

-- Makes one job for each part of the events and answers how many. The job that the event is about becomes
-- the parent, if it still exists. After a return to an earlier cursor, jobs that are not finished yet are not
-- made a second time.
create or replace function tenure.subscription_enqueue(
  p_sub tenure.subscriptions, p_actor text, p_now timestamptz, p_parts jsonb[], p_seqs bigint[],
  p_jobs uuid[]) returns integer
language plpgsql
as $$
declare
  v_caller tenure.caller_identity;
  v_row    record;
  v_job    tenure.new_job;
  v_jobs   tenure.new_job[] := '{}';
  v_new    record;
begin
  v_caller.tenant_id := p_sub.tenant_id;
  v_caller.principal := p_actor;
  v_caller.scope := 'tenant';
  v_job.kind := p_sub.job_kind;
  v_job.executor := p_sub.executor;
  v_job.priority := p_sub.priority;
  v_job.source_system := 'tenure.subscription';
  v_job.on_behalf_of := p_sub.created_by;
  for v_row in
    select t.about, t.seq, (select j.job_id from tenure.jobs j where j.job_id = t.job_id) as parent_job_id
      from unnest(p_parts, p_seqs, p_jobs) with ordinality t (about, seq, job_id, n)
     order by t.n
  loop
    -- The data of the event is included where a payload may hold it.
    v_job.payload := json_build_object(
      'subscription', p_sub.name,
      'event', case
        when octet_length(v_row.about::text) <= tenure.limit_of('event_payload_bytes_max')
             and not tenure.may_have_forbidden_key(v_row.about::text)
          then v_row.about
        else v_row.about - 'data'
      end);
    v_job.key := format('subscription %s %s %s', p_sub.subscription_id, v_row.about ->> 'cursor',
      coalesce(v_row.about ->> 'job_id', '-'));
    v_job.causation_event := v_row.seq;
    v_job.parent_job_id := v_row.parent_job_id;
    v_jobs := v_jobs || v_job;
  end loop;
  v_new := tenure.enqueue_batch(v_caller, tenure.tuning(p_sub.tenant_id), p_now, v_jobs);
  return cardinality(v_jobs) - cardinality(v_new.unmade);
end
$$;
