-- HTTP requests with an Idempotency-Key: done once; a repetition gets the first answer.

-- The hash under which a request is kept, its tenant (0: every tenant), and the API key of the caller. One
-- scope for each tenant and principal. Refuses with key_invalid when the transaction has no API key.
create or replace function tenure.request_scope(
  p_key text, out key_hash uuid, out tenant_id integer, out key_id uuid)
language plpgsql stable
as $$
declare
  v_caller    tenure.caller_identity := tenure.caller();
  v_principal integer;
begin
  key_id := nullif(current_setting('tenure.key', true), '')::uuid;
  select k.principal_id into v_principal from tenure.keys k where k.key_id = request_scope.key_id;
  if v_principal is null then
    perform tenure.refuse('key_invalid', 'The transaction acts for no API key.',
      'A request belongs to the principal of the key that it came with.', 'Name the API key first.');
  end if;
  tenant_id := coalesce(v_caller.tenant_id, 0);
  key_hash := tenure.idempotency_hash(tenant_id || ':' || v_principal || ':', p_key);
end
$$;

-- The difference between two requests as a sentence: method and path, or the members of the body by name.
create or replace function tenure.request_difference(p_first jsonb, p_second jsonb) returns text
language sql immutable
as $$
  select case
    when p_first ->> 'method' <> p_second ->> 'method' or p_first ->> 'path' <> p_second ->> 'path'
    then format('The first was %s %s, this one is %s %s.', p_first ->> 'method', p_first ->> 'path',
      p_second ->> 'method', p_second ->> 'path')
    else format('The bodies differ in: %s.', (
      select string_agg(name, ', ' order by name)
        from jsonb_each(p_first -> 'members') a (name, hash)
        full join jsonb_each(p_second -> 'members') b (name, hash) using (name)
       where a.hash is distinct from b.hash))
  end
$$;

-- Begins a request. Returns no row for a new request, which the caller then carries out, and the kept answer
-- for a repeated one. The key of a new request is locked until the transaction ends, and the lock is never
-- waited for. Refuses with request_under_way when another transaction has the lock, and with
-- request_key_reused when the key was used for another request. A null answer was not kept, or was given to
-- an API key with other rights.
-- granted to: server
create or replace function tenure.request_begin(p_key text, p_asked jsonb)
returns table (status integer, answer text, answered_at timestamptz)
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_scope     record := tenure.request_scope(p_key);
  v_row       tenure.requests;
  v_is_locked boolean;
begin
  -- First without the lock, so that answered requests can be repeated concurrently. Then under it, to see a
  -- row that another transaction wrote before it released the lock.
  for v_is_locked in select unnest(array[false, true]) loop
    -- Tried, never waited for. Its number comes from the key, which only its sender knows; a stranger who
    -- guessed it could only make this one request return request_under_way.
    if v_is_locked
       and not pg_try_advisory_xact_lock(hashtextextended('tenure.request:' || v_scope.key_hash, 0)) then
      perform tenure.refuse('request_under_way', 'A request with this Idempotency-Key is being carried out.',
        'It has not been answered yet, so its answer cannot be repeated.',
        'Send the request again in a second.');
    end if;
    select r.* into v_row
      from tenure.requests r
     where r.key_hash = v_scope.key_hash and r.tenant_id = v_scope.tenant_id and r.expires_at > tenure.now();
    exit when found;
  end loop;
  if v_row.key_hash is null then
    return;
  end if;
  if v_row.asked <> p_asked then
    perform tenure.refuse('request_key_reused', 'This Idempotency-Key was used for another request.',
      tenure.request_difference(v_row.asked, p_asked),
      'Repeat the first request as it was, or use a new key.');
  end if;
  return query
    select v_row.status::integer,
           case when exists (
             select from tenure.keys f
               join tenure.keys s on (f.roles, f.executors, f.kinds, f.payload_access)
                 is not distinct from (s.roles, s.executors, s.kinds, s.payload_access)
              where f.key_id = v_row.key_id and s.key_id = v_scope.key_id)
           then v_row.answer end,
           v_row.created_at;
end
$$;

-- Keeps the answer to the request that the transaction began for retention.requests_hours. An answer that is
-- null or longer than answer_bytes_max is not kept, only the fact that the request was done.
-- granted to: server
create or replace function tenure.request_end(
  p_key text, p_asked jsonb, p_status integer, p_answer text default null) returns void
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_scope record := tenure.request_scope(p_key);
  v_now   timestamptz := tenure.now();
begin
  insert into tenure.requests (key_hash, tenant_id, key_id, asked, status, answer, created_at, expires_at)
  values (v_scope.key_hash, v_scope.tenant_id, v_scope.key_id, p_asked, p_status,
    case when octet_length(p_answer) <= tenure.limit_of('answer_bytes_max') then p_answer end, v_now,
    v_now + make_interval(hours => tenure.setting_integer(v_scope.tenant_id, 'retention.requests_hours')))
  on conflict (key_hash) do update
    set key_id = excluded.key_id,
        asked = excluded.asked,
        status = excluded.status,
        answer = excluded.answer,
        created_at = excluded.created_at,
        expires_at = excluded.expires_at;
end
$$;

-- Removes expired answers, at most p_limit a call. Returns how many.
-- granted to: admin, operator
create or replace function tenure.request_sweep(p_limit integer default 1000) returns integer
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller  tenure.caller_identity := tenure.caller();
  v_now     timestamptz := tenure.now();
  v_removed integer;
begin
  perform tenure.check_number('The limit', p_limit, 1, tenure.limit_of('sweep_rows_max'));
  delete from tenure.requests r
   where r.key_hash = any (array(
     select x.key_hash
       from tenure.requests x
      where x.expires_at <= v_now and (v_caller.scope = 'every' or x.tenant_id = v_caller.tenant_id)
      order by x.expires_at
      limit p_limit
        for update skip locked));
  get diagnostics v_removed = row_count;
  return v_removed;
end
$$;
