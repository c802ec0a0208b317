-- Offers: a free place of an idle worker, and the job that an enqueue hands to it.

-- Offers a place for each token, one to a lane: lanes of these kinds that have no limit, are not paused and
-- are not yet offered on this channel. Returns the lane of each token, since when, and the lease; tokens
-- left over offer nothing. The worker listens on the channel, whose name is a secret of its own, and holds
-- the lock tenure.offer_lock(channel) on that connection: when the worker dies, so does the offer.
-- granted to: worker
create or replace function tenure.offer_make(
  p_tokens uuid[], p_worker text, p_channel text, p_executor text, p_kinds text[], p_lease_seconds integer,
  p_seconds integer)
returns table (token uuid, lane integer, at timestamptz, lease_seconds integer)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_tuning tenure.tunings := tenure.tuning(v_caller.tenant_id);
  v_now    timestamptz := tenure.now();
  v_terms  tenure.claim_terms;
begin
  perform tenure.check_gate(v_caller.tenant_id, 'queue.job_substrate.enabled');
  perform tenure.check_claim(v_caller, v_tuning, p_worker, p_executor, greatest(cardinality(p_tokens), 1),
    p_lease_seconds, 'started');
  perform tenure.check_number('The time of an offer', p_seconds, 1, tenure.limit_of('offer_seconds_max'));
  if (p_channel ~ '^tenure_hand_[0-9a-f]{32}$') is not true then
    perform tenure.refuse('name_invalid', 'The channel is not one for offers.',
      'Its name is a secret: tenure_hand_ and 32 random hexadecimal digits.',
      'Make one, for this worker alone.');
  end if;
  if v_tuning.worker_open is not true or v_tuning.notify_open is not true then
    return;
  end if;
  v_terms := tenure.claim_lanes(v_caller, v_tuning, p_executor, p_kinds, p_lease_seconds, false);
  return query
    insert into tenure.offers as o (token, lane, tenant_id, owner, executor, principal, channel,
      lease_seconds, until)
    select k.token, x.lane, v_caller.tenant_id, p_worker, x.executor, v_caller.principal, p_channel,
           x.lease_seconds, v_now + make_interval(secs => p_seconds)
      from (select t.lane, t.executor, t.lease_seconds, row_number() over (order by t.lane) as n
              from unnest(v_terms.lanes, v_terms.executors, v_terms.lease_seconds, v_terms.limits)
                     t (lane, executor, lease_seconds, most)
             where t.most is null
               -- The jobs of steps are not handed over.
               and not exists (
                 select from tenure.lanes n where n.lane = t.lane and n.stepped)
               and not exists (
                 select from tenure.offers s
                  where s.lane = t.lane and s.channel = p_channel and s.until > v_now)) x
      join (select u.token, row_number() over (order by u.n) as n
              from unnest(p_tokens) with ordinality u (token, n)
             -- A token that holds a job is not new.
             where not exists (select from tenure.leases l where l.token = u.token)) k on k.n = x.n
    on conflict do nothing
    returning o.token, o.lane, v_now, o.lease_seconds;
end
$$;

-- Withdraws offers, and returns the tokens that have no offer any more and brought no job. For the others,
-- tenure.job_held(token) shows the job, now or as soon as the transaction that took the offer has committed.
-- granted to: worker
create or replace function tenure.offer_withdraw(p_tokens uuid[]) returns uuid[]
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant integer := tenure.current_tenant();
  v_tokens uuid[];
begin
  with gone as (
    delete from tenure.offers o
     where o.token in (
       select s.token
         from tenure.offers s
        where s.token = any (p_tokens) and s.tenant_id = v_tenant
        order by s.token
          for update skip locked)
    returning o.token
  )
  select coalesce(array_agg(g.token), '{}') into v_tokens from gone g;
  -- A new statement. A token with neither an offer nor a lease never had one, or it has ended.
  return array(
    select t.token
      from unnest(p_tokens) t (token)
     where t.token = any (v_tokens)
        or (not exists (select from tenure.offers o where o.token = t.token)
            and not exists (select from tenure.leases l where l.token = t.token)));
end
$$;

-- Removes the offers of these tenants that ended by p_until. An offer that an enqueue is about to take is
-- passed over.
create or replace function tenure.offers_end(p_tenants integer[], p_until timestamptz) returns void
language sql
as $$
  delete from tenure.offers o
   where o.token in (
     select s.token
       from tenure.offers s
      where s.until <= p_until and s.tenant_id = any (p_tenants)
      order by s.token
        for update skip locked)
$$;

-- The number of the lock that a worker holds while it listens on its channel.
-- granted to: worker
create or replace function tenure.offer_lock(p_channel text) returns bigint
language sql immutable parallel safe
as $$ select hashtextextended(p_channel, 0) $$;

-- The one call of an enqueue for the hand-over: gives a new job, which waits in no table yet, to an idle
-- worker, held and started. Returns whether there was such a worker; if not, nothing was done, and the caller
-- puts the job where it waits. Callers ask only while a worker is parked on the lane.
create or replace function tenure.job_hand(
  p_caller tenure.caller_identity, p_tuning tenure.tunings, p_job tenure.handed_job) returns boolean
language plpgsql
as $$
declare
  v_offer     tenure.offers;
  v_now       timestamptz;
  v_run_until timestamptz;
begin
  -- An older snapshot would fail on an offer that is gone; a kind with a limit is claimed under its lock.
  if p_tuning.worker_open is not true
     or p_tuning.notify_open is not true
     or current_setting('transaction_isolation') <> 'read committed'
     or current_setting('tenure.notify', true) = 'off'
     or exists (
       select from tenure.kinds k
        where k.tenant_id = p_caller.tenant_id
          and k.kind = p_job.kind
          and (k.concurrency_max is not null or k.paused_at is not null)) then
    return false;
  end if;
  -- Read here: the lease begins now, however long the enqueue took up to this point.
  v_now := tenure.now();
  v_offer := tenure.offer_take(p_job.lane, v_now);
  if v_offer.token is null then
    return false;
  end if;
  v_run_until := v_now + make_interval(secs => p_job.run_timeout_seconds);
  insert into tenure.active (job_id, token, lane, run, attempt, due, started_at, run_until, hold_until)
  values (p_job.job_id, v_offer.token, p_job.lane, 1, 1, p_job.due, v_now, v_run_until,
    v_now + make_interval(secs => v_offer.lease_seconds) * (1.0 + p_job.renewals_max));
  insert into tenure.events (epoch, at, tenant_id, lane, kind, actor, job_ids, runs, job_count, data)
  select (select i.epoch from tenure.installation i), v_now, v_offer.tenant_id, p_job.lane, m.kind,
         v_offer.principal, array[p_job.job_id], array[1], 1,
         jsonb_build_object('worker', v_offer.owner, 'how', 'handed')
    from (values ('job.leased'), ('job.started')) m (kind);
  perform pg_notify(v_offer.channel, tenure.offer_notice(p_caller.principal, v_now, p_job, v_offer));
  return true;
end
$$;

-- Takes the offer of a living worker for a lane and makes the lease for one job; null when there is none.
create or replace function tenure.offer_take(p_lane integer, p_now timestamptz) returns tenure.offers
language plpgsql
as $$
declare
  v_offer tenure.offers;
begin
  for v_round in 1 .. tenure.limit_of('lookup_rounds_max') loop
    select o.* into v_offer
      from tenure.offers o
     where o.lane = p_lane and o.until > p_now
     order by o.until desc
     limit 1
       for update skip locked;
    if not found then
      return null;
    end if;
    delete from tenure.offers o where o.token = v_offer.token;
    -- A living worker holds this lock; if it is free, the worker is gone. It is tried, never waited for.
    -- A stranger who waits for it, and so gets it when the worker dies, makes the offer look alive for what
    -- is left of it; a job that is handed over then comes back when its lease expires.
    if not pg_try_advisory_xact_lock_shared(tenure.offer_lock(v_offer.channel)) then
      insert into tenure.leases (token, lane, tenant_id, owner, executor, principal, leased_at, until,
        lease_seconds, held)
      values (v_offer.token, p_lane, v_offer.tenant_id, v_offer.owner, v_offer.executor, v_offer.principal,
        p_now, p_now + make_interval(secs => v_offer.lease_seconds), v_offer.lease_seconds, 1)
      on conflict do nothing;
      if found then
        return v_offer;
      end if;
    end if;
  end loop;
  return null;
end
$$;

-- What the worker is notified of: the job if it fits, otherwise only the offer, and the worker looks up what
-- its token holds. The offer is named by a hash, which is public: only the worker may know the token.
create or replace function tenure.offer_notice(
  p_principal text, p_now timestamptz, p_job tenure.handed_job, p_offer tenure.offers) returns text
language plpgsql
as $$
declare
  v_offer text := encode(sha256(uuid_send(p_offer.token)), 'hex');
  v_text  text := json_build_object(
    'offer', v_offer, 'lane', p_job.lane, 'job_id', p_job.job_id, 'kind', p_job.kind,
    'executor', p_offer.executor, 'due', p_job.due, 'attempts_max', p_job.attempts_max, 'leased_at', p_now,
    'leased_until', p_now + make_interval(secs => p_offer.lease_seconds),
    'run_until', p_now + make_interval(secs => p_job.run_timeout_seconds),
    'payload', p_job.payload::text, 'idempotency_key', p_job.idempotency_key,
    'enqueued_by', p_principal, 'traceparent', tenure.traceparent())::text;
begin
  if octet_length(v_text) > tenure.limit_of('notification_bytes_max') then
    return json_build_object('offer', v_offer)::text;
  end if;
  return v_text;
end
$$;
