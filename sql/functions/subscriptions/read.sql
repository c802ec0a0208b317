-- Reading the events of a subscription with the target reader, and acknowledging them.

-- The next events of a reader, oldest first. They are returned again until tenure.subscription_ack
-- acknowledges them; events that do not match are passed over.
-- granted to: admin, operator, producer, worker
create or replace function tenure.subscription_read(p_name text, p_limit integer default 100)
returns table (
  cursor text, at timestamptz, kind text, actor text, on_behalf_of text, subject text, job_kind text,
  executor text, job_ids uuid[], runs integer[], data jsonb, via text)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant integer := tenure.current_tenant();
  v_sub    tenure.subscriptions;
  v_last   text;
  v_any    boolean;
begin
  perform tenure.check_number('The limit', p_limit, 1, tenure.limit_of('list_rows_max'));
  v_sub := tenure.subscription_locked(v_tenant, p_name);
  perform tenure.check_reader(v_sub);
  if v_sub.paused_at is not null then
    return;
  end if;
  for v_round in 1 .. tenure.limit_of('lookup_rounds_max') loop
    -- One statement: with two, an event could come between them and be counted by neither.
    select bool_or(x.matches),
           (array_agg(tenure.cursor_text(x.epoch, x.txid, x.seq)
             order by x.epoch desc, x.txid desc, x.seq desc))[1]
      into v_any, v_last
      from tenure.subscription_scan(v_sub, tenure.limit_of('scan_rows_max')::integer) x;
    exit when v_any is not false;
    -- No event matches: move the cursor, so that they are not read again.
    update tenure.subscriptions s
       set epoch = c.epoch,
           txid = c.txid,
           seq = c.seq
      from tenure.cursor_parts(v_last) c
     where s.subscription_id = v_sub.subscription_id
    returning s.* into v_sub;
  end loop;
  return query
    select tenure.cursor_text(x.epoch, x.txid, x.seq), x.at, x.kind, x.actor, x.on_behalf_of, x.subject,
           x.job_kind, x.executor, x.job_ids, x.runs, x.data, x.via
      from tenure.subscription_scan(v_sub, tenure.limit_of('scan_rows_max')::integer) x
     where x.matches
     order by x.epoch, x.txid, x.seq
     limit p_limit;
end
$$;

-- Refuses a subscription whose target is not reader.
create or replace function tenure.check_reader(p_sub tenure.subscriptions) returns void
language plpgsql
as $$
begin
  if p_sub.target <> 'reader' then
    perform tenure.refuse('state_conflict',
      format('The subscription %L is not for reading.', p_sub.name),
      format('Its events go to a %s.', p_sub.target), 'Make one with the target reader.');
  end if;
end
$$;

-- Acknowledges all events of a reader up to this cursor. The cursor only moves forward; a repeated call
-- changes nothing.
-- granted to: admin, operator, producer, worker
create or replace function tenure.subscription_ack(p_name text, p_cursor text) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant integer := tenure.current_tenant();
  v_sub    tenure.subscriptions;
  v_at     record;
begin
  v_sub := tenure.subscription_locked(v_tenant, p_name);
  perform tenure.check_reader(v_sub);
  perform tenure.cursor_parts(p_cursor);
  v_at := tenure.stream_place(p_cursor);
  if (v_at.epoch, v_at.txid, v_at.seq) > (v_sub.epoch, v_sub.txid, v_sub.seq) then
    update tenure.subscriptions s
       set epoch = v_at.epoch,
           txid = v_at.txid,
           seq = v_at.seq,
           moved_at = tenure.now(),
           matched = s.matched + (
             select count(*)
               from tenure.subscription_scan(v_sub, tenure.limit_of('scan_rows_max')::integer) x
              where x.matches
                and (x.epoch, x.txid, x.seq) <= (v_at.epoch, v_at.txid, v_at.seq))
     where s.subscription_id = v_sub.subscription_id
    returning s.* into v_sub;
  end if;
  return tenure.subscription_row(v_sub);
end
$$;
