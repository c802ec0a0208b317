-- Collecting executions for the next checkpoint: from the event stream of each tenant, and by a daily walk
-- through all executions.

-- Reads one page of the event stream of one tenant and notes the executions it is about. Reads only events
-- that no open transaction can precede. Returns true if there may be more.
create or replace function tenure.anchor_scan(
  p_cursor tenure.anchor_cursors, p_now timestamptz, p_epoch integer, p_xmin xid8, p_rows_max integer)
returns boolean
language plpgsql
set jit = off
as $$
declare
  c_id   constant text := '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$';
  v_page record;
begin
  select count(*) as events,
         array_agg(distinct k.subject) filter (where k.subject ~ c_id) as subjects,
         (array_agg(k.epoch order by k.epoch desc, k.txid desc, k.seq desc))[1] as epoch,
         (array_agg(k.txid order by k.epoch desc, k.txid desc, k.seq desc))[1] as txid,
         (array_agg(k.seq order by k.epoch desc, k.txid desc, k.seq desc))[1] as seq
    into v_page
    from (select e.epoch, e.txid, l.seq, l.subject
            from (select e.epoch, e.txid, e.seq, e.kind, e.subject, e.entries
                    from tenure.events e
                   where e.tenant_id = p_cursor.tenant_id
                     and (e.epoch, e.txid, e.seq) > (p_cursor.epoch, p_cursor.txid, p_cursor.seq)
                   order by e.epoch, e.txid, e.seq
                   limit p_rows_max) e
            cross join lateral tenure.event_entries(e.seq, e.kind, e.subject, '{}', e.entries) l
           where (e.epoch, e.txid, l.seq) > (p_cursor.epoch, p_cursor.txid, p_cursor.seq)
           order by e.epoch, e.txid, l.seq
           limit p_rows_max) k
   where k.epoch < p_epoch
      or k.txid < p_xmin;
  if v_page.events = 0 then
    return false;
  end if;
  insert into tenure.anchor_pending (execution_id, tenant_id, seen_at)
  select x.execution_id, x.tenant_id, p_now
    from unnest(v_page.subjects) s (subject)
    join tenure.execution_states x on x.execution_id = s.subject::uuid and x.tenant_id = p_cursor.tenant_id
   order by x.execution_id
  on conflict (execution_id) do nothing;
  update tenure.anchor_cursors c
     set epoch = v_page.epoch,
         txid = v_page.txid,
         seq = v_page.seq,
         moved_at = p_now
   where c.tenant_id = p_cursor.tenant_id;
  return v_page.events = p_rows_max;
end
$$;

-- Continues the walk through all executions by one page. A walk begins once a day, and at once with p_restart
-- (a tenant is new here). Notes executions whose head no checkpoint covers; rewritten has those whose history
-- differs from what a checkpoint covers.
create or replace function tenure.anchor_walk(
  p_now timestamptz, p_restart boolean, p_rows_max integer, out more boolean, out rewritten jsonb)
language plpgsql
as $$
declare
  c_start constant uuid := '00000000-0000-0000-0000-000000000000';
  v_log   tenure.anchor_log;
  v_rows  integer;
  v_last  uuid;
begin
  select l.* into v_log from tenure.anchor_log l;
  more := false;
  rewritten := '[]';
  if p_restart
     or v_log.walk_began is null
     or (v_log.walked is null
         and v_log.walk_began < p_now - make_interval(secs => tenure.limit_of('anchor_walk_seconds'))) then
    v_log.walked := c_start;
    v_log.walk_began := p_now;
  elsif v_log.walked is null then
    return;
  end if;
  with page as materialized (
    select x.execution_id, x.tenant_id, x.chain_length, x.chain_hash
      from tenure.execution_states x
     where x.execution_id > v_log.walked
     order by x.execution_id
     limit p_rows_max
  ), compared as materialized (
    select p.execution_id, p.tenant_id, p.chain_length, l.chain_length as covered,
           tenure.anchor_differs(p.execution_id, p.chain_length, p.chain_hash, l.number) as differs
      from page p
      left join lateral (
        select l.number, l.chain_length
          from tenure.anchor_leaves l
         where l.execution_id = p.execution_id
         order by l.number desc
         limit 1) l on true
  ), noted as (
    insert into tenure.anchor_pending (execution_id, tenant_id, seen_at)
    select c.execution_id, c.tenant_id, p_now
      from compared c
     where c.covered is null or c.covered < c.chain_length
    on conflict (execution_id) do nothing
  )
  select count(*), max(c.execution_id::text)::uuid,
         coalesce(jsonb_agg(jsonb_build_object('execution_id', c.execution_id, 'number', c.differs))
           filter (where c.differs is not null), '[]')
    into v_rows, v_last, rewritten
    from compared c;
  more := v_rows = p_rows_max;
  update tenure.anchor_log l
     set walked = case when more then v_last end,
         walk_began = v_log.walk_began;
end
$$;

-- Finds executions whose chain has grown since they were last covered, in bounded pages and without a write
-- in the transactions of steps. The answer says whether more is left and whether a checkpoint is due. Its
-- state is off when checkpoints are turned off, and busy while another server holds tenure.anchor_log.
-- granted to: server
create or replace function tenure.anchor_collect(p_rows_max integer default 1000) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now     timestamptz := tenure.now();
  v_epoch   integer := tenure.current_epoch();
  -- Read before the statements below: what they see of older transactions is all there will ever be.
  v_xmin    xid8 := pg_snapshot_xmin(pg_current_snapshot());
  v_more    boolean := false;
  v_restart boolean := false;
  v_tenant  record;
  v_walk    record;
begin
  perform tenure.check_every_tenant();
  perform tenure.check_number('The number of rows', p_rows_max, 1, tenure.limit_of('scan_rows_max'));
  if tenure.setting_integer(0, 'evidence.anchor_minutes') = 0 then
    return jsonb_build_object('state', 'off', 'more', false, 'due', false, 'rewritten', '[]'::jsonb);
  end if;
  perform from tenure.anchor_log l for update skip locked;
  if not found then
    return jsonb_build_object('state', 'busy', 'more', false, 'due', false, 'rewritten', '[]'::jsonb);
  end if;
  for v_tenant in
    select t.tenant_id, c as place,
           exists (select from tenure.execution_states x where x.tenant_id = t.tenant_id) as has_executions
      from tenure.tenants t
      left join tenure.anchor_cursors c on c.tenant_id = t.tenant_id
     where t.tenant_id > 0
     order by t.tenant_id
  loop
    if v_tenant.place is null then
      insert into tenure.anchor_cursors (tenant_id, epoch, txid, seq, moved_at)
      values (v_tenant.tenant_id, v_epoch, v_xmin, 0, v_now);
      v_restart := v_restart or v_tenant.has_executions;
    elsif v_tenant.has_executions then
      v_more := tenure.anchor_scan(v_tenant.place, v_now, v_epoch, v_xmin, p_rows_max) or v_more;
    elsif (v_tenant.place).moved_at
        < v_now - make_interval(secs => tenure.limit_of('anchor_idle_seconds')) then
      -- Without executions there is nothing to find in the stream: the events of plain jobs are skipped.
      update tenure.anchor_cursors c
         set epoch = v_epoch,
             txid = v_xmin,
             seq = 0,
             moved_at = v_now
       where c.tenant_id = v_tenant.tenant_id;
    end if;
  end loop;
  v_walk := tenure.anchor_walk(v_now, v_restart, p_rows_max);
  return jsonb_build_object(
    'state', 'collected',
    'more', v_more or v_walk.more,
    'rewritten', v_walk.rewritten,
    'due', (select d.due from tenure.anchor_due(v_now) d));
end
$$;
