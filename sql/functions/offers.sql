-- Offers: an idle worker's free slot, and the job that is handed to it.

-- Offers a slot for each token, one to a lane: lanes of these kinds that have no limit and are not paused. Answers which token stands for which lane; those left over offer
-- nothing. The worker listens on the channel, whose name nobody else knows, and holds the lock tenure.offer_lock(channel) on that connection: when it dies, so
-- does the offer.
create or replace function tenure.slot_offer(
  p_tokens uuid[], p_worker text, p_channel text, p_executor text, p_kinds text[], p_lease_seconds integer, p_seconds integer) returns table (token uuid, lane integer)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_tuning tenure.tunings := tenure.tuning(v_caller.tenant_id);
  v_now    timestamptz := tenure.now();
  v_terms  record;
begin
  perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  perform tenure.check_claim(v_caller, v_tuning, p_worker, p_executor, greatest(cardinality(p_tokens), 1), p_lease_seconds, 'started');
  perform tenure.check_number('The time of an offer', p_seconds, 1, 3600);
  if (p_channel ~ '^tenure_hand_[0-9a-f]{32}$') is not true then
    perform tenure.refuse('name_invalid', 'This is no channel for offers.', 'Its name is a secret: tenure_hand_ and 32 random hexadecimal digits.', 'Make one, for this worker alone.');
  end if;
  delete from tenure.offers o where o.channel = p_channel and o.until <= v_now;
  if v_tuning.worker_open is not true or v_tuning.notify_open is not true then
    return;
  end if;
  v_terms := tenure.claim_lanes(v_caller, v_tuning, p_executor, p_kinds, p_lease_seconds, false);
  return query
    insert into tenure.offers as o (token, lane, tenant_id, owner, executor, principal, channel, lease_seconds, until)
    select k.token, x.lane, v_caller.tenant_id, p_worker, x.executor, v_caller.principal, p_channel, x.lease_seconds, v_now + make_interval(secs => p_seconds)
      from (select t.lane, t.executor, t.lease_seconds, row_number() over (order by t.lane) as n
              from unnest(v_terms.lanes, v_terms.executors, v_terms.lease_seconds, v_terms.limits) t (lane, executor, lease_seconds, most) where t.most is null) x
      join unnest(p_tokens) with ordinality k (token, n) on k.n = x.n
    returning o.token, o.lane;
end
$$;

-- Takes offers back, and answers with those that stand no more and brought nothing. Of the others, tenure.job_held(token) tells the job, now or as soon as whoever took
-- it has committed.
create or replace function tenure.slot_withdraw(p_tokens uuid[]) returns uuid[]
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant integer := tenure.current_tenant();
  v_tokens uuid[];
begin
  with picked as materialized (
    select o.ctid from tenure.offers o where o.token = any (p_tokens) and o.tenant_id = v_tenant order by o.token for update skip locked
  ), gone as (
    delete from tenure.offers o where o.ctid = any (array(select p.ctid from picked p)) returning o.token
  )
  select coalesce(array_agg(g.token), '{}') into v_tokens from gone g;
  -- A new statement. What is neither an offer nor a lease never was one, or is over.
  return array(
    select t.token from unnest(p_tokens) t (token)
     where t.token = any (v_tokens)
        or (not exists (select from tenure.offers o where o.token = t.token) and not exists (select from tenure.leases l where l.token = t.token)));
end
$$;

-- The number of the lock that a worker holds while it hears its channel.
create or replace function tenure.offer_lock(p_channel text) returns bigint
language sql immutable parallel safe
as $$ select hashtextextended(p_channel, 0) $$;

-- Takes an offer for a lane, if a living worker has made one. Offers of dead ones go.
create or replace function tenure.offer_take(p_lane integer, p_now timestamptz) returns tenure.offers
language plpgsql
as $$
declare
  v_offer tenure.offers;
begin
  for v_offer in select o.* from tenure.offers o where o.lane = p_lane and o.until > p_now order by o.until desc limit 8 for update skip locked loop
    delete from tenure.offers o where o.token = v_offer.token;
    -- Its worker holds it against everybody; who gets it finds nobody at the other end.
    if not pg_try_advisory_xact_lock_shared(tenure.offer_lock(v_offer.channel)) then
      return v_offer;
    end if;
  end loop;
  return null;
end
$$;

-- Holds a job that was just made under an offer, started, and tells its worker. What the worker needs to know goes along if it fits into a notification; otherwise
-- it asks for what the token holds.
create or replace function tenure.job_hand(
  p_caller tenure.caller_identity, p_now timestamptz, p_offer tenure.offers, p_job_id uuid, p_kind text, p_payload json, p_key text, p_attempts_max integer,
  p_run_timeout_seconds integer, p_renewals_max integer) returns void
language plpgsql
as $$
declare
  v_until timestamptz := p_now + make_interval(secs => p_offer.lease_seconds);
  v_text  text;
begin
  insert into tenure.active (job_id, token, lane, run, attempt, due, started_at, run_until, hold_until)
  values (p_job_id, p_offer.token, p_offer.lane, 1, 1, p_now, p_now, p_now + make_interval(secs => p_run_timeout_seconds),
    p_now + make_interval(secs => p_offer.lease_seconds) * (1.0 + p_renewals_max));
  insert into tenure.leases (token, lane, tenant_id, owner, executor, principal, leased_at, until, lease_seconds, held)
  values (p_offer.token, p_offer.lane, p_offer.tenant_id, p_offer.owner, p_offer.executor, p_offer.principal, p_now, v_until, p_offer.lease_seconds, 1);
  insert into tenure.events (epoch, at, tenant_id, lane, kind, actor, job_ids, runs, job_count, data)
  select (select i.epoch from tenure.installation i), p_now, p_offer.tenant_id, p_offer.lane, m.kind, p_offer.principal, array[p_job_id], array[1], 1,
         jsonb_build_object('worker', p_offer.owner, 'how', 'handed')
    from (values ('job.leased'), ('job.started')) m (kind);
  v_text := json_build_object('lane', p_offer.lane, 'job_id', p_job_id, 'kind', p_kind, 'executor', p_offer.executor, 'due', p_now, 'attempts_max', p_attempts_max,
    'leased_at', p_now, 'leased_until', v_until, 'run_until', p_now + make_interval(secs => p_run_timeout_seconds), 'payload', p_payload, 'idempotency_key', p_key,
    'enqueued_by', p_caller.principal)::text;
  if octet_length(v_text) > 7900 then
    v_text := json_build_object('lane', p_offer.lane)::text;
  end if;
  perform pg_notify(p_offer.channel, v_text);
end
$$;
