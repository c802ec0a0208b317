-- Deliveries: events on their way to a webhook. Those about one subject form a queue and go out in order.

-- Adds events to the queues of a webhook, whose row the caller has locked. Of those about one subject only
-- the first may be sent.
create or replace function tenure.deliveries_add(
  p_sub tenure.subscriptions, p_now timestamptz, p_parts jsonb[]) returns void
language plpgsql
as $$
begin
  insert into tenure.deliveries (delivery_id, subscription_id, tenant_id, subject, event_kind, event_cursor,
    body, due, created_at)
  select gen_random_uuid(), p_sub.subscription_id, p_sub.tenant_id, x.subject, x.about ->> 'kind',
         x.about ->> 'cursor',
         json_build_object(
           'type', x.about ->> 'kind',
           'timestamp', x.about ->> 'at',
           'data', x.about - array['kind', 'at'])::text,
         case
           when x.turn = 1
                and not exists (
                  select from tenure.deliveries d
                   where d.subscription_id = p_sub.subscription_id and d.subject = x.subject
                     and d.state = 'waiting')
             then p_now
         end,
         p_now
    from (select t.about, t.n, k.subject, row_number() over (partition by k.subject order by t.n) as turn
            from unnest(p_parts) with ordinality t (about, n)
            cross join lateral (
              select coalesce(t.about ->> 'job_id', t.about ->> 'subject', t.about ->> 'kind') as subject
            ) k) x
   order by x.n;
end
$$;

-- Leases due deliveries to a server that sends them, with the secrets to sign them. No other call gets them
-- until the lease ends. A receiver has only a few under way, on all servers together, and only one while it
-- accepts nothing. Every receiver gets one before any gets two.
-- granted to: server
create or replace function tenure.delivery_claim(
  p_limit integer default 20, p_lease_seconds integer default 60)
returns table (
  delivery_id uuid, subscription text, url text, body text, attempt integer, secret bytea,
  secret_before bytea)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller  tenure.caller_identity := tenure.caller();
  v_now     timestamptz := tenure.now();
  v_tenants integer[] := tenure.open_tenants(v_caller);
  v_mine    integer[];
begin
  perform tenure.check_number('The limit', p_limit, 1, tenure.limit_of('batch_rows_max'));
  perform tenure.check_number('The lease', p_lease_seconds, 1,
    tenure.limit_of('delivery_lease_seconds_max'));
  -- With the subscription locked, no other call counts what is under way for it. A statement of its own: the
  -- next statement sees what the previous holder of the lock has leased.
  v_mine := array(
    select s.subscription_id
      from tenure.subscriptions s
     where s.target = 'webhook' and s.paused_at is null and s.tenant_id = any (v_tenants)
       and exists (
         select from tenure.deliveries d
          where d.subscription_id = s.subscription_id and d.state = 'waiting' and d.due <= v_now)
     order by s.subscription_id
       for no key update of s skip locked);
  return query
    with heads as materialized (
      select x.place, x.due,
             row_number() over (partition by s.subscription_id order by x.due, x.place) as turn
        from tenure.subscriptions s
        cross join lateral (
          select y.place, y.due
            from tenure.deliveries y
           where y.subscription_id = s.subscription_id and y.state = 'waiting' and y.due <= v_now
             and (y.leased_until is null or y.leased_until <= v_now)
           order by y.due, y.place
           limit greatest(0,
             case
               when s.refusals >= tenure.limit_of('receiver_refusals_max') then 1
               else tenure.limit_of('receiver_deliveries_max')
             end
             - (select count(*)
                  from tenure.deliveries l
                 where l.subscription_id = s.subscription_id and l.leased_until > v_now
                   and l.state = 'waiting'))) x
       where s.subscription_id = any (v_mine)
    ), taken as (
      update tenure.deliveries d
         set leased_until = v_now + make_interval(secs => p_lease_seconds),
             attempts = d.attempts + 1
       where d.place in (select h.place from heads h order by h.turn, h.due, h.place limit p_limit)
      returning d.*
    )
    select t.delivery_id, s.name, s.url, t.body, t.attempts::integer, s.secret,
           case
             when s.rotated_at > v_now - make_interval(secs => tenure.limit_of('secret_overlap_seconds'))
               then s.secret_before
           end
      from taken t
      join tenure.subscriptions s on s.subscription_id = t.subscription_id
     order by t.place;
end
$$;

-- Records the results of deliveries: an HTTP status, or the error if there was none. 2xx is delivered; 410
-- (the receiver is gone) also pauses the subscription; anything but 2xx is tried again with a growing delay,
-- and is dead after the last attempt. The end of a delivery makes the next about the same subject due.
-- A delivery that is not under way at this attempt any more is left unchanged.
-- granted to: server
create or replace function tenure.delivery_end(
  p_delivery_ids uuid[], p_attempts integer[], p_statuses integer[], p_errors text[]) returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set lock_timeout = '5s'
as $$
declare
  v_now  timestamptz := tenure.now();
  v_done integer := 0;
  v_row  record;
  v_to   text;
begin
  if (array_dims(p_delivery_ids), array_dims(p_attempts), array_dims(p_statuses))
     is distinct from (array_dims(p_errors), array_dims(p_errors), array_dims(p_errors)) then
    perform tenure.refuse('arguments_mismatched', 'The arrays differ in shape.', 'They run parallel.',
      'Give arrays of one length.');
  end if;
  -- tenure.deliveries_add runs with the subscription locked: with this lock, each sees the last delivery that
  -- the other has written.
  perform
     from tenure.subscriptions s
    where s.subscription_id in (
            select d.subscription_id from tenure.deliveries d where d.delivery_id = any (p_delivery_ids))
    order by s.subscription_id
      for update;
  for v_row in
    select d.place, d.delivery_id, d.subscription_id, d.tenant_id, d.subject, d.attempts, d.event_cursor,
           s.name, s.paused_at, t.status, t.error
      from unnest(p_delivery_ids, p_attempts, p_statuses, p_errors) t (id, attempt, status, error)
      join tenure.deliveries d
        on d.delivery_id = t.id and d.state = 'waiting' and d.attempts = t.attempt
       and d.leased_until is not null
      join tenure.subscriptions s on s.subscription_id = d.subscription_id
     order by d.place
       for update of d
  loop
    v_to := case
      when v_row.status between 200 and 299 then 'delivered'
      when v_row.attempts >= tenure.limit_of('delivery_attempts_max') then 'dead'
      else 'waiting'
    end;
    update tenure.deliveries d
       set state = v_to,
           status = v_row.status,
           error = tenure.cut_text(
             tenure.mask_text(v_row.error), tenure.limit_of('short_error_bytes_max')::integer),
           leased_until = null,
           ended_at = case when v_to <> 'waiting' then v_now end,
           -- Four times as long each time; plus up to a tenth at random, so that a receiver that recovers is
           -- not overloaded.
           due = case
             when v_to = 'waiting' then
               v_now + make_interval(secs =>
                 least(
                   tenure.limit_of('delivery_retry_seconds_max'),
                   tenure.limit_of('delivery_retry_seconds_min') * 4.0 ^ (v_row.attempts - 1))
                 * (1 + random() / 10))
           end
     where d.place = v_row.place;
    update tenure.subscriptions s
       set refusals = case when v_to = 'delivered' then 0 else s.refusals + 1 end
     where s.subscription_id = v_row.subscription_id
       and (v_to <> 'delivered' or s.refusals > 0);
    if v_row.status = 410 and v_row.paused_at is null then
      update tenure.subscriptions s
         set paused_at = v_now,
             paused_by = 'relay',
             pause_note = 'The receiver answered that it is gone (410).'
       where s.subscription_id = v_row.subscription_id and s.paused_at is null;
      if found then
        perform tenure.emit(v_now, v_row.tenant_id, 'subscription.paused', 'relay', null, v_row.name,
          jsonb_build_object('note', 'The receiver answered that it is gone (410).'));
      end if;
    end if;
    if v_to = 'dead' then
      perform tenure.emit(v_now, v_row.tenant_id, 'delivery.dead', 'relay', null, v_row.delivery_id::text,
        jsonb_build_object('subscription', v_row.name, 'event', v_row.event_cursor, 'status', v_row.status));
    end if;
    if v_to <> 'waiting' then
      update tenure.deliveries d set due = v_now
       where d.place = (
               select n.place
                 from tenure.deliveries n
                where n.subscription_id = v_row.subscription_id and n.subject = v_row.subject
                  and n.state = 'waiting'
                order by n.place
                limit 1)
         and d.due is null;
    end if;
    v_done := v_done + 1;
  end loop;
  return v_done;
end
$$;

-- The deliveries of a webhook, newest first, all or those in one of the states p_state. p_before is the place
-- that the previous page ended with.
-- granted to: all
create or replace function tenure.delivery_list(
  p_subscription text, p_state text[] default null, p_limit integer default 100,
  p_before bigint default null)
returns table (
  place bigint, delivery_id uuid, subject text, event_kind text, event_cursor text, state text,
  attempts integer, due timestamptz, status integer, error text, created_at timestamptz,
  ended_at timestamptz)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant integer := tenure.current_tenant();
  v_id     integer;
begin
  perform tenure.check_number('The limit', p_limit, 1, tenure.limit_of('list_rows_max'));
  if p_state is not null then
    perform tenure.check_filter('state of a delivery', p_state,
      array['waiting', 'delivered', 'dead'], 'state_unknown');
  end if;
  select s.subscription_id into v_id
    from tenure.subscriptions s
   where s.tenant_id = v_tenant and s.name = p_subscription;
  if not found then
    perform tenure.refuse('subscription_unknown', format('There is no subscription %L.', p_subscription),
      'A subscription is named by its name, within one tenant.', 'See tenure.subscription_list().');
  end if;
  return query
    select d.place, d.delivery_id, d.subject, d.event_kind, d.event_cursor, d.state, d.attempts::integer,
           d.due, d.status, d.error, d.created_at, d.ended_at
      from tenure.deliveries d
     where d.subscription_id = v_id
       and (p_state is null or d.state = any (p_state))
       and (p_before is null or d.place < p_before)
     order by d.place desc
     limit p_limit;
end
$$;

-- Sends a dead delivery again, with the full number of attempts. It goes out of order: later deliveries about
-- the same subject have been sent since.
-- granted to: admin, operator
create or replace function tenure.delivery_retry(p_delivery_id uuid, p_on_behalf_of text default null)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz := tenure.now();
  v_found  record;
begin
  perform tenure.check_tenant(v_caller.tenant_id);
  -- Lock the subscription first, as every function that changes its queues does.
  perform
     from tenure.subscriptions s
    where s.subscription_id = (
            select d.subscription_id
              from tenure.deliveries d
             where d.delivery_id = p_delivery_id and d.tenant_id = v_caller.tenant_id)
      for update;
  select d.place, d.state, d.subject, d.subscription_id into v_found
    from tenure.deliveries d
   where d.delivery_id = p_delivery_id and d.tenant_id = v_caller.tenant_id
     for update;
  if not found then
    perform tenure.refuse('delivery_unknown', format('There is no delivery %s.', p_delivery_id),
      'It belongs to another tenant, was removed, or never was.',
      'See tenure.delivery_list(subscription).');
  end if;
  if v_found.state <> 'dead' then
    perform tenure.refuse('state_conflict', format('The delivery is %s.', v_found.state),
      'Only what is dead is sent once more.', 'Leave it: what waits goes out by itself.');
  end if;
  -- It becomes the first of its queue. The previous first waits for it, unless it is being sent already; the
  -- late end of an attempt whose lease is over no longer counts, or both would be due.
  update tenure.deliveries d set due = null, leased_until = null
   where d.subscription_id = v_found.subscription_id and d.subject = v_found.subject
     and d.state = 'waiting'
     and (d.leased_until is null or d.leased_until <= v_now);
  update tenure.deliveries d
     set state = 'waiting',
         attempts = 0,
         ended_at = null,
         leased_until = null,
         due = v_now
   where d.place = v_found.place;
  perform tenure.emit(v_now, v_caller.tenant_id, 'delivery.retried', v_caller.principal, p_on_behalf_of,
    p_delivery_id::text, '{}');
  return jsonb_build_object('delivery_id', p_delivery_id, 'state', 'waiting');
end
$$;

-- Removes delivered and dead deliveries past their retention, at most p_limit in one call.
-- granted to: admin, operator
create or replace function tenure.delivery_sweep(p_limit integer default 1000) returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller  tenure.caller_identity := tenure.caller();
  v_now     timestamptz := tenure.now();
  v_removed integer;
begin
  perform tenure.check_number('The limit', p_limit, 1, tenure.limit_of('sweep_rows_max'));
  with ends as materialized (
    select t.tenant_id,
           v_now - make_interval(days =>
             tenure.setting_integer(t.tenant_id, 'retention.deliveries_days')) as before
      from unnest(tenure.open_tenants(v_caller)) t (tenant_id)
  )
  delete from tenure.deliveries d
   where d.place in (
     select x.place
       from ends e
       cross join lateral (
         select y.place
           from tenure.deliveries y
          where y.tenant_id = e.tenant_id and y.state <> 'waiting' and y.ended_at < e.before
          order by y.ended_at
          limit p_limit
            for update skip locked) x
      limit p_limit);
  get diagnostics v_removed = row_count;
  return v_removed;
end
$$;
