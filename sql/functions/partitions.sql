-- Partitions of jobs, attempts and events: made ahead, and dropped when their time is over.

-- Makes partitions of jobs and attempts (same bounds) and of events ahead, splits the last one while it is
-- still empty, and drops those whose time is over. A partition with a job that is not cleaned yet is kept,
-- and listed as waiting. p_table: this table alone.
-- No caller fails because of it: it looks for something to do without locks, then takes its table locks in
-- one order before it changes anything, and waits for each at most a tenth of deadlock_timeout. If one is
-- not free, it changes nothing and returns gave_way: call again later, in a new transaction. Services do one
-- table per transaction, so that no lock is held while another is awaited. The one function with dynamic SQL.
-- granted to: admin, operator
create or replace function tenure.partition_upkeep(p_table text default null) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '100ms'
set timezone = 'UTC'
as $$
declare
  v_now      timestamptz := tenure.now();
  v_days     integer := tenure.setting_integer(0, 'retention.partition_days');
  v_tables   text[] := array['jobs', 'attempts', 'events'];
  v_made     text[] := '{}';
  v_dropped  text[] := '{}';
  v_waiting  text[] := '{}';
  v_over     text[] := '{}';
  v_behind   integer[] := '{}';
  v_gave_way boolean := false;
  v_found    integer[];
  v_part     record;
  v_table    text;
  v_new      text;
  v_command  text;
  v_bound    timestamptz;
begin
  if p_table is not null then
    perform tenure.check_word('value_unknown', 'partitioned table', p_table, v_tables);
    v_tables := array[p_table];
  end if;
  -- Also where deadlock_timeout was made short: this function gives up before the deadlock check of a caller
  -- could find the two waiting for each other, and abort the caller.
  perform set_config('lock_timeout', greatest(1, least(100, s.setting::integer / 10))::text, true)
     from pg_settings s
    where s.name = 'deadlock_timeout';
  <<work>>
  begin
    -- 1. Find out, without a table lock, whether there is something to do.
    for v_part in
      select p.table_name, p.name, p.lower_at, p.upper_at from tenure.partitions_over(v_tables, v_now, '{}') p
    loop
      if v_part.table_name = 'jobs' then
        -- Granted when all writers of the partition have committed, and released at once. Cleaned jobs stay
        -- cleaned and new ids are of today, so the result below holds until the partition is dropped.
        begin
          execute format('lock table only tenure.%I in share mode', v_part.name);
          raise exception 'given back';
        exception when raise_exception then null;
        end;
        if tenure.partition_in_use(v_part.lower_at, v_part.upper_at) then
          v_waiting := v_waiting || v_part.name;
          continue;
        end if;
      elsif v_part.table_name = 'events' then
        execute tenure.unread_query(v_part.name) into v_found using null::integer[];
        v_behind := v_behind || v_found;
      end if;
      v_over := v_over || v_part.name;
    end loop;
    if v_tables @> array['jobs', 'attempts'] then
      v_over := v_over || array(
        select p.name
          from tenure.partitions_over(array['attempts'], v_now, v_over) p
         where p.name <> all (v_over));
    end if;
    exit work when v_over = '{}' and not exists (
      select from unnest(v_tables) t (name)
       where tenure.partition_split_at(t.name, v_now, v_days) is not null);

    -- 2. All locks. One upkeep at a time: a second would only delay callers once more. Below a locked parent
    -- only vacuum can hold a lock, and for longer than the wait here.
    perform from tenure.sweep_cursors c where c.name = 'partitions' for update nowait;
    foreach v_table in array v_tables loop
      execute format('lock table only tenure.%I in access exclusive mode', v_table);
    end loop;
    foreach v_new in array v_over loop
      execute format('lock table only tenure.%I in access exclusive mode nowait', v_new);
    end loop;

    -- 3. Ahead: the last partition has no end and begins at least two periods from now, so that it is empty
    -- when it is split. The work of another upkeep in the meantime is visible here.
    foreach v_table in array v_tables loop
      loop
        v_bound := tenure.partition_split_at(v_table, v_now, v_days);
        exit when v_bound is null;
        v_new := v_table || '_p' || to_char(v_bound at time zone 'UTC', 'YYYYMMDD');
        foreach v_command in array tenure.partition_split(v_table, v_bound, v_new) loop
          execute v_command;
        end loop;
        v_made := v_made || v_new;
      end loop;
    end loop;

    -- 4. Behind. A subscription that has not read the partition loses its events: subscription.lost.
    foreach v_new in array v_over loop
      if v_new ^@ 'events' and v_behind <> '{}' then
        execute tenure.unread_query(v_new) into v_found using v_behind;
        perform tenure.emit(v_now, s.tenant_id, 'subscription.lost', 'retention', null, s.name,
                  jsonb_build_object('partition', v_new, 'until', p.upper_at))
           from tenure.subscriptions s, tenure.partition_list('events') p
          where s.subscription_id = any (v_found) and p.name = v_new
          order by s.subscription_id;
      end if;
      execute format('drop table tenure.%I', v_new);
      v_dropped := v_dropped || v_new;
    end loop;
  exception when lock_not_available or undefined_table then
    v_made := '{}';
    v_dropped := '{}';
    v_gave_way := true;
  end;
  -- Not while it holds locks on whole tables: the next turn comes soon.
  if 'jobs' = any (v_tables) and v_made = '{}' and v_dropped = '{}' then
    perform tenure.ready_marks_mend();
  end if;
  return jsonb_build_object(
    'made', v_made, 'dropped', v_dropped, 'waiting', v_waiting, 'gave_way', v_gave_way);
end
$$;

-- The query for the subscriptions (of those in $1; null: of all) that have unread events in a partition.
create or replace function tenure.unread_query(p_partition text) returns text
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select format(
    'select coalesce(array_agg(s.subscription_id), ''{}'')
       from tenure.subscriptions s
      where ($1 is null or s.subscription_id = any ($1))
        and exists (
          select from tenure.%I e
           cross join lateral tenure.event_entries(e.seq, e.kind, e.subject, ''{}'', e.entries) l
           where e.tenant_id = s.tenant_id
             and (e.epoch, e.txid, e.seq) > (s.epoch, s.txid, s.seq)
             and (e.epoch, e.txid, l.seq) > (s.epoch, s.txid, s.seq)
             and tenure.is_kind_of(l.kind, s.event_kinds))',
    p_partition)
$$;

-- The commands that end the open-ended last partition of a table at p_bound and make a new one behind it.
create or replace function tenure.partition_split(p_table text, p_bound timestamptz, p_new text)
returns text[]
language sql
set search_path = pg_catalog, pg_temp
as $$
  select array[
           format('alter table tenure.%I detach partition tenure.%I', p_table, p.name),
           format('alter table tenure.%I attach partition tenure.%I for values from (%s) to (%s)',
             p_table, p.name, tenure.partition_bound(p_table, p.lower_at), b.upper),
           format('create table tenure.%I partition of tenure.%I for values from (%s) to (maxvalue)',
             p_new, p_table, b.upper),
           format('alter table tenure.%I enable row level security', p_new)]
         || case when p_table <> 'jobs' then array[
           format('alter table tenure.%I set (autovacuum_vacuum_insert_scale_factor = 0.5)', p_new)]
         end
    from tenure.partition_list(p_table) p
    cross join (select tenure.partition_bound(p_table, p_bound) as upper) b
   where p.upper_at = 'infinity'
$$;

-- The partitions of these tables whose time is over. Attempts have no period of their own: they go when no
-- partition of jobs covers their range any more, not counting those in p_gone.
create or replace function tenure.partitions_over(p_tables text[], p_now timestamptz, p_gone text[])
  returns table (table_name text, name text, lower_at timestamptz, upper_at timestamptz)
language sql
set search_path = pg_catalog, pg_temp
as $$
  select t.name, p.name, p.lower_at, p.upper_at
    from unnest(p_tables) with ordinality t (name, n)
    cross join lateral tenure.partition_list(t.name) p
   where case t.name
           when 'attempts' then
             not exists (
               select from tenure.partition_list('jobs') j
                where j.lower_at < p.upper_at and j.upper_at > p.lower_at and j.name <> all (p_gone))
           when 'events' then
             p.upper_at < p_now - make_interval(days => tenure.setting_integer(0, 'retention.events_days'))
           else
             p.upper_at < p_now - make_interval(days => tenure.setting_integer(0, 'retention.tombstone_days'))
         end
   order by t.n, p.upper_at
$$;

-- Where to split the open-ended last partition of a table; null while it begins late enough, and at the
-- maximum number of partitions. Attempts are split where jobs are.
create or replace function tenure.partition_split_at(p_table text, p_now timestamptz, p_days integer)
  returns timestamptz
language sql
set search_path = pg_catalog, pg_temp
as $$
  select case
           when p_table = 'attempts' then
             (select min(j.lower_at)
                from tenure.partition_list('jobs') j
               where j.lower_at > p.lower_at and j.lower_at >= b.earliest)
           when p.lower_at < p_now + make_interval(days => 2 * p_days) then
             greatest(b.earliest, p.lower_at + make_interval(days => p_days))
         end
    from tenure.partition_list(p_table) p
    -- Beyond every existing row, even those whose id comes from a caller's own clock.
    cross join (
      select date_trunc('day', p_now, 'UTC') + make_interval(days => greatest(p_days, 2)) as earliest) b
   where p.upper_at = 'infinity' and p.total < tenure.limit_of('partitions_max')
$$;

-- Whether a job of this range of time is not cleaned yet, or is a step whose runs its execution would lose.
create or replace function tenure.partition_in_use(p_lower timestamptz, p_upper timestamptz) returns boolean
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_first uuid := case when isfinite(p_lower) then tenure.id_floor(p_lower)
                       else '00000000-0000-0000-0000-000000000000' end;
  v_after uuid := tenure.id_floor(p_upper);
begin
  if exists (
    select from tenure.jobs j where j.job_id >= v_first and j.job_id < v_after and j.cleaned_at is null)
  then
    return true;
  end if;
  return exists (
    select from tenure.jobs j
      join tenure.steps s on s.execution_id = j.workflow_id and s.tenant_id = j.tenant_id
                         and s.step_number = tenure.step_of_key(j.idempotency_key)
      join tenure.attempts r on r.job_id = j.job_id
     where j.job_id >= v_first and j.job_id < v_after
       and j.workflow_id is not null and j.source_system = 'tenure.execution' and j.enqueued_by = 'execution'
       and not exists (select from tenure.step_runs k
                        where k.execution_id = s.execution_id and k.step_number = s.step_number
                          and k.job_id = r.job_id and k.run = r.run));
end
$$;

-- The partitions of a table with their bounds in time, read from the catalogue.
-- granted to: all
create or replace function tenure.partition_list(p_table text)
returns table (name text, lower_at timestamptz, upper_at timestamptz, total bigint)
language sql stable security definer
set search_path = pg_catalog, pg_temp
as $$
  select b.relname::text,
         case
           when b.lower_text is null then '-infinity'::timestamptz
           when p_table = 'events' then b.lower_text::timestamptz
           else tenure.id_time(b.lower_text::uuid)
         end,
         case
           when b.upper_text is null then 'infinity'::timestamptz
           when p_table = 'events' then b.upper_text::timestamptz
           else tenure.id_time(b.upper_text::uuid)
         end,
         count(*) over ()
    from (select c.relname,
                 substring(pg_get_expr(c.relpartbound, c.oid) from $re$FROM \('([^']+)'\)$re$) as lower_text,
                 substring(pg_get_expr(c.relpartbound, c.oid) from $re$TO \('([^']+)'\)$re$) as upper_text
            from pg_inherits i
            join pg_class c on c.oid = i.inhrelid
           where i.inhparent = to_regclass('tenure.' || p_table)) b
   order by 2
$$;

-- A bound of a partition as text for alter table.
create or replace function tenure.partition_bound(p_table text, p_at timestamptz) returns text
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select case
    when p_at = '-infinity' then 'minvalue'
    when p_table = 'events' then quote_literal(p_at)
    else quote_literal(tenure.id_floor(p_at))
  end
$$;
