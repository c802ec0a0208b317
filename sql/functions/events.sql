-- The event stream: writing events, their kinds, cursors, and reading.

-- Writes one event about one subject.
create or replace function tenure.emit(
  p_at timestamptz, p_tenant_id integer, p_kind text, p_actor text, p_on_behalf_of text, p_subject text,
  p_data jsonb) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform tenure.check_acted_for(p_on_behalf_of);
  insert into tenure.events (at, tenant_id, kind, actor, on_behalf_of, subject, data)
  values (p_at, p_tenant_id, p_kind, p_actor, nullif(p_on_behalf_of, ''), p_subject, p_data);
end
$$;

-- All kinds of events, by domain. A test compares this list with what the functions write.
create or replace function tenure.event_kinds() returns text[]
language sql immutable parallel safe
as $$
  select array_agg(d.domain || '.' || w.what order by d.domain, w.what)
    from (values
      ('action', '{deleted, set}'::text[]),
      ('approval', '{approved, escalated, expired, rejected, requested, rule_deleted, rule_set, vote,
        withdrawn}'),
      ('config', '{changed}'),
      ('dead_letter', '{replayed, triaged}'),
      ('delivery', '{dead, retried}'),
      ('evidence', '{anchored}'),
      ('execution', '{approved, archived, backgrounded, cancelled, closed, completed, failed, frozen, parked,
        partially_failed, rejected, resumed, retried, running, started, stopping, submitted, timed_out,
        timeout_policy_set, triaged, unfrozen}'),
      ('executor', '{registered}'),
      ('governance', '{change_approved, change_proposed, change_rejected}'),
      ('job', '{cancel_requested, cancelled, cleaned, dead_lettered, enqueued, expired, failed, leased,
        released, rescheduled, retried, retry_scheduled, snoozed, started, succeeded, timed_out}'),
      ('key', '{created, revoked}'),
      ('kind', '{changed, governed, paused, resumed, ungoverned}'),
      ('lock', '{acquired, broken, expired, released}'),
      ('login', '{bound, unbound}'),
      ('principal', '{changed, created}'),
      ('schedule', '{backfilled, created, deleted, ended, failing, paused, resumed, run_asked, slot_cancelled,
        slot_failed, slot_skipped, slot_started, slot_succeeded, updated}'),
      ('section', '{entered, left}'),
      ('step',
        '{blocked, cancelled, completed, failed, progress, queued, resolved, retrying, skipped, started,
        unknown}'),
      ('subscription', '{created, deleted, failing, lost, paused, resumed, rotated, skipped}'),
      ('target_type', '{deleted, set}'),
      ('tenant', '{created}')) d (domain, words)
   cross join unnest(d.words) w (what)
$$;

-- Refuses an unknown event kind. Valid are a kind, a domain (job.*), and all (*).
create or replace function tenure.check_event_kind(p_kind text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_known   text[] := tenure.event_kinds();
  v_domains text[] := array(select distinct split_part(k.kind, '.', 1) || '.*' from unnest(v_known) k (kind));
begin
  if p_kind = '*' or p_kind = any (v_known) or p_kind = any (v_domains) then
    return;
  end if;
  perform tenure.refuse('value_unknown', format('There is no event kind %L.', tenure.excerpt(p_kind)),
    'An event kind is domain.what, such as job.dead_lettered; domain.* names all of a domain, * all events.',
    coalesce('Did you mean ' || tenure.nearest_word(tenure.excerpt(p_kind), v_known || v_domains) || '?',
      format('Use one of: %s.', array_to_string(array(select d from unnest(v_domains) d order by d), ', '))));
end
$$;

-- Whether p_kind is one of p_event_kinds: by its whole name, by its domain (job.*), or by * for all. Events
-- of subscriptions and deliveries never match: a subscription to them would feed itself.
create or replace function tenure.is_kind_of(p_kind text, p_event_kinds text[]) returns boolean
language sql immutable parallel safe
as $$
  select (p_kind = any (p_event_kinds)
          or split_part(p_kind, '.', 1) || '.*' = any (p_event_kinds)
          or '*' = any (p_event_kinds))
     and split_part(p_kind, '.', 1) <> all (array['subscription', 'delivery'])
$$;

-- Refuses an invalid on_behalf_of. Null and the empty text mean that it is not given.
create or replace function tenure.check_acted_for(p_on_behalf_of text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if p_on_behalf_of <> '' then
    perform tenure.check_name('name acted for', p_on_behalf_of);
    perform tenure.check_actor('name acted for', p_on_behalf_of);
  end if;
end
$$;

-- A cursor in the form that clients get.
create or replace function tenure.cursor_text(p_epoch integer, p_txid xid8, p_seq bigint) returns text
language sql immutable parallel safe
as $$
  select p_epoch || '.' || p_txid || '.' || p_seq
$$;

-- The parts of a cursor. Refuses a text that is not a cursor of the stream.
create or replace function tenure.cursor_parts(
  p_cursor text, out epoch integer, out txid xid8, out seq bigint)
language plpgsql immutable
as $$
begin
  if p_cursor is null or p_cursor !~ '^[0-9]{1,9}[.][0-9]{1,19}[.][0-9]{1,18}$' then
    perform tenure.refuse('cursor_invalid', format('%L is no cursor of the event stream.', p_cursor),
      'A cursor is the value of the column cursor of an event, as it was handed out.',
      'Start without one, or pass the last one you saw.');
  end if;
  epoch := split_part(p_cursor, '.', 1)::integer;
  txid := split_part(p_cursor, '.', 2)::xid8;
  seq := split_part(p_cursor, '.', 3)::bigint;
end
$$;

-- A position in the stream: start, now, or a cursor. All events returned so far lie before now. Refuses a
-- cursor beyond that: events that commit late would be passed over.
create or replace function tenure.stream_place(
  p_from text, out epoch integer, out txid xid8, out seq bigint)
language plpgsql stable
as $$
begin
  seq := 0;
  if p_from = 'now' then
    epoch := tenure.current_epoch();
    txid := pg_snapshot_xmin(pg_current_snapshot());
  elsif p_from = 'start' then
    epoch := 0;
    txid := '0';
  else
    select c.epoch, c.txid, c.seq into epoch, txid, seq from tenure.cursor_parts(p_from) c;
    if epoch > tenure.current_epoch()
       or (epoch = tenure.current_epoch()
           and (txid, seq) > (pg_snapshot_xmin(pg_current_snapshot()), 0)) then
      perform tenure.refuse('cursor_invalid', format('The cursor %s lies in the future.', p_from),
        'Nothing that has been handed out has it, and what comes would be passed over.',
        'Pass the cursor of the last event that was seen.');
    end if;
  end if;
end
$$;

-- The events of one row of the stream: the row itself, or its entries of chains. Inlined.
create or replace function tenure.event_entries(
  p_seq bigint, p_kind text, p_subject text, p_data jsonb, p_entries tenure.event_entry[])
returns table (seq bigint, kind text, subject text, data jsonb)
language sql stable
as $$
  select p_seq, p_kind, p_subject, p_data
   where p_entries is null
  union all
  select l.seq, l.kind, l.subject::text,
         l.data || case
           when l.step_id is null then jsonb_build_object('seq', l.chain_seq)
           else jsonb_build_object('seq', l.chain_seq, 'step', l.step_id)
         end
    from unnest(p_entries) l
$$;

-- The times of rows with entries that may be about this subject: those of the chain of an execution, or those
-- that its archive keeps. So these rows are found without searching their entries.
create or replace function tenure.entry_times(p_tenant_id integer, p_subject text) returns timestamptz[]
language plpgsql stable
as $$
declare
  c_id constant text := '^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$';
begin
  if (p_subject ~ c_id) is not true then
    return '{}';
  end if;
  return array(
    select v.at
      from tenure.execution_events v
     where v.execution_id = p_subject::uuid
       and v.tenant_id = p_tenant_id
    union
    select t.at
      from tenure.execution_archives a
      cross join unnest(a.event_times) t (at)
     where a.execution_id = p_subject::uuid
       and a.tenant_id = p_tenant_id);
end
$$;

-- Whether an event is one that a caller of event_list wants. Inlined.
create or replace function tenure.is_event_wanted(
  p_kind text, p_subject text, p_of_kind text, p_of_subject text) returns boolean
language sql immutable parallel safe
as $$
  select (p_of_kind is null or p_kind = p_of_kind or split_part(p_kind, '.', 1) || '.*' = p_of_kind)
     and (p_of_subject is null or p_subject = p_of_subject)
$$;

-- Events after a cursor, oldest first; never one that an open transaction could precede (tenure.stream_lag()
-- shows a stream that waits for one). p_kind is a kind, a domain (job.*), or all (*); an unknown one is
-- refused. Pass the cursor of the last row to the next call.
-- p_newest returns the last p_limit events instead of the first, in the same order.
-- granted to: all
create or replace function tenure.event_list(
  p_after text default null, p_limit integer default 100, p_kind text default null,
  p_subject text default null, p_newest boolean default false)
returns table (
  cursor text, at timestamptz, kind text, actor text, on_behalf_of text, subject text, job_kind text,
  executor text, job_ids uuid[], runs integer[], data jsonb, via text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
set jit = off
as $$
declare
  v_tenant integer := tenure.current_tenant();
  v_epoch  integer := tenure.current_epoch();
  v_xmin   xid8 := pg_snapshot_xmin(pg_current_snapshot());
  v_times  timestamptz[];
  v_all    boolean;
  v_at     record;
begin
  perform tenure.check_number('The limit', p_limit, 1, tenure.limit_of('list_rows_max'));
  perform tenure.cursor_parts(p_after) where p_after is not null;
  p_kind := nullif(p_kind, '*');
  if p_kind is not null then
    perform tenure.check_event_kind(p_kind);
  end if;
  v_at := tenure.stream_place(coalesce(p_after, 'start'));
  v_all := p_kind is null and p_subject is null;
  if p_subject is not null then
    v_times := tenure.entry_times(v_tenant, p_subject);
  end if;
  if p_newest then
    return query
      select tenure.cursor_text(x.epoch, x.txid, x.seq), x.at, x.kind, x.actor, x.on_behalf_of, x.subject,
             n.kind, n.executor, x.job_ids, x.runs, x.data, x.via
        from (select e.epoch, e.txid, l.seq, e.at, e.lane, l.kind, e.actor, e.on_behalf_of, l.subject,
                     e.job_ids, e.runs, l.data, e.via
                from (select e.epoch, e.txid, e.seq, e.at, e.lane, e.kind, e.actor, e.on_behalf_of, e.subject,
                             e.job_ids, e.runs, e.data, e.via, e.entries
                        from tenure.events e
                       where e.tenant_id = v_tenant
                         and (e.epoch, e.txid, e.seq) > (v_at.epoch, v_at.txid, v_at.seq)
                         and (e.epoch, e.txid) < (v_epoch, v_xmin)
                         and (p_subject is null or e.subject = p_subject
                           or (e.entries is not null and e.at = any (v_times)))
                         and (v_all or exists (
                           select
                             from tenure.event_entries(e.seq, e.kind, e.subject, '{}', e.entries) l
                            where (e.epoch, e.txid, l.seq) > (v_at.epoch, v_at.txid, v_at.seq)
                              and tenure.is_event_wanted(l.kind, l.subject, p_kind, p_subject)))
                       order by e.epoch desc, e.txid desc, e.seq desc
                       limit p_limit) e
                cross join lateral tenure.event_entries(e.seq, e.kind, e.subject, e.data, e.entries) l
               where (e.epoch, e.txid, l.seq) > (v_at.epoch, v_at.txid, v_at.seq)
                 and tenure.is_event_wanted(l.kind, l.subject, p_kind, p_subject)
               order by e.epoch desc, e.txid desc, l.seq desc
               limit p_limit) x
        left join tenure.lanes n on n.lane = x.lane
       order by x.epoch, x.txid, x.seq;
    return;
  end if;
  return query
    select tenure.cursor_text(x.epoch, x.txid, x.seq), x.at, x.kind, x.actor, x.on_behalf_of, x.subject,
           n.kind, n.executor, x.job_ids, x.runs, x.data, x.via
      -- Limit first, then leave out those that an open transaction can precede: with an old transaction open,
      -- a call does not read through all events since.
      from (select e.epoch, e.txid, l.seq, e.at, e.lane, l.kind, e.actor, e.on_behalf_of, l.subject,
                   e.job_ids, e.runs, l.data, e.via
              from (select e.epoch, e.txid, e.seq, e.at, e.lane, e.kind, e.actor, e.on_behalf_of, e.subject,
                           e.job_ids, e.runs, e.data, e.via, e.entries
                      from tenure.events e
                     where e.tenant_id = v_tenant
                       and (e.epoch, e.txid, e.seq) > (v_at.epoch, v_at.txid, v_at.seq)
                       and (p_subject is null or e.subject = p_subject
                         or (e.entries is not null and e.at = any (v_times)))
                       and (v_all or exists (
                         select
                           from tenure.event_entries(e.seq, e.kind, e.subject, '{}', e.entries) l
                          where (e.epoch, e.txid, l.seq) > (v_at.epoch, v_at.txid, v_at.seq)
                            and tenure.is_event_wanted(l.kind, l.subject, p_kind, p_subject)))
                     order by e.epoch, e.txid, e.seq
                     limit p_limit) e
              cross join lateral tenure.event_entries(e.seq, e.kind, e.subject, e.data, e.entries) l
             where (e.epoch, e.txid, l.seq) > (v_at.epoch, v_at.txid, v_at.seq)
               and tenure.is_event_wanted(l.kind, l.subject, p_kind, p_subject)
             order by e.epoch, e.txid, l.seq
             limit p_limit) x
      left join tenure.lanes n on n.lane = x.lane
     where x.epoch < v_epoch or x.txid < v_xmin
     order by x.epoch, x.txid, x.seq;
end
$$;

-- The current end of the stream, for readers that want only later events: all events listed so far lie before
-- it. With the tenant, so that readers of the same stream can share one query.
-- granted to: all
create or replace function tenure.event_end() returns table (tenant_id integer, tenant text, cursor text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
    select t.tenant_id, t.name, tenure.cursor_text(p.epoch, p.txid, p.seq)
      from tenure.tenants t
      cross join tenure.stream_place('now') p
     where t.tenant_id = tenure.current_tenant();
end
$$;

-- How long the stream has been held back, and by which session: the oldest transaction still open anywhere in
-- the cluster. Counts the events of at most counted_rows_max waiting rows, and reads none of their entries.
-- granted to: all
create or replace function tenure.stream_lag()
returns table (
  held_seconds double precision, pid integer, login text, application text, waiting_events bigint)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := tenure.now();
begin
  return query
    select coalesce(extract(epoch from v_now - coalesce(a.xact_start, w.oldest)), 0)::double precision,
           o.pid, a.usename::text, a.application_name, w.waiting
      from (select coalesce(sum(coalesce(e.entry_count, 1)), 0) as waiting, min(e.at) as oldest
              from (select q.at, q.entry_count
                      from tenure.events q
                     where q.tenant_id = tenure.current_tenant()
                       and q.epoch = tenure.current_epoch()
                       and q.txid >= pg_snapshot_xmin(pg_current_snapshot())
                     order by q.epoch, q.txid, q.seq
                     limit tenure.limit_of('counted_rows_max')) e) w
      left join lateral (
        -- Every login sees locks on transaction ids, but not the activity of other logins.
        select l.pid
          from pg_locks l
         where l.locktype = 'transactionid' and l.mode = 'ExclusiveLock' and l.granted
           and l.pid is distinct from pg_backend_pid()
         order by age(l.transactionid) desc
         limit 1) o on true
      left join pg_stat_activity a on a.pid = o.pid;
end
$$;
