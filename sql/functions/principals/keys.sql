-- Keys by which principals act over HTTP: making, listing and revoking them.

-- The roles that a key may have. Each stands for the database role tenure_ROLE.
create or replace function tenure.key_roles() returns text[]
language sql immutable parallel safe
as $$ select array['viewer', 'requester', 'producer', 'worker', 'operator', 'approver', 'admin'] $$;

-- Makes a key for a principal. The caller makes the secret, shows it once and does not store it; only a keyed
-- hash of its digest is stored here. Refuses a key with more kinds or executors than the caller's own.
-- granted to: admin
create or replace function tenure.key_create(
  p_principal text, p_prefix text, p_digest bytea, p_roles text[], p_approver_level integer default null,
  p_executors text[] default null, p_kinds text[] default null, p_payload_access text default 'safe',
  p_expires_at timestamptz default null, p_note text default '')
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller    tenure.caller_identity := tenure.caller();
  v_now       timestamptz := tenure.now();
  v_home      integer := tenure.principal_home(v_caller);
  v_key_id    uuid := gen_random_uuid();
  v_principal record;
  -- A role that is named twice counts once.
  v_roles     text[] := array(
    select r.role from unnest(p_roles) with ordinality r (role, n) group by r.role order by min(r.n));
begin
  perform tenure.refuse_agent(v_caller);
  select p.principal_id, p.kind into v_principal
    from tenure.principals p
   where p.tenant_id = v_home
     and p.name = p_principal;
  if not found then
    perform tenure.refuse('principal_unknown', format('There is no principal %L.', p_principal),
      'A key belongs to a principal of the tenant.',
      format('Make it first: tenure.principal_create(%L, kind).', p_principal));
  end if;
  if coalesce(cardinality(p_roles), 0) = 0 then
    perform tenure.refuse('value_unknown', 'The key has no role.', 'A key without a role could do nothing.',
      format('Give one or more of %s.', array_to_string(tenure.key_roles(), ', ')));
  end if;
  perform tenure.check_word('value_unknown', 'role', r.role, tenure.key_roles())
     from unnest(p_roles) r (role);
  if (p_approver_level is not null) <> ('approver' = any (p_roles)) then
    perform tenure.refuse('arguments_mismatched', 'A level goes with the role approver, and only with it.',
      'Approvals have levels; whoever approves does so up to one of them.',
      'Give both, or neither.');
  end if;
  if p_approver_level is not null then
    perform tenure.check_number('The level of an approver', p_approver_level, 1,
      tenure.limit_of('approval_level_max'));
    if v_principal.kind = 'agent' then
      perform tenure.refuse('not_permitted', format('%s is an agent.', p_principal),
        'Agents never approve.', 'Leave the role approver out, or give the key to a person.');
    end if;
  end if;
  if array_position(p_executors, null) is not null or array_position(p_kinds, null) is not null then
    perform tenure.refuse('name_blank', 'A list of the key has an empty place.',
      'Nobody can say what it would allow.', 'Leave it out.');
  end if;
  perform tenure.check_number('The number of roles, kinds or executors',
    greatest(cardinality(p_roles), cardinality(p_executors), cardinality(p_kinds)),
    1, tenure.limit_of('key_rights_max'));
  perform tenure.check_name('kind', x.name) from unnest(p_kinds) x (name);
  -- A key cannot give rights that its maker lacks.
  if (v_caller.executors is not null and (p_executors <@ v_caller.executors) is not true)
     or (v_caller.kinds is not null and (p_kinds <@ v_caller.kinds) is not true) then
    perform tenure.refuse('not_permitted', 'The new key would reach further than yours.',
      'Yours is bound to kinds or executors, and a key that it makes stays within them.',
      'Name kinds and executors of yours, or ask whoever is not bound.');
  end if;
  perform tenure.check_executor(x.name) from unnest(p_executors) x (name);
  perform tenure.check_word('value_unknown', 'payload access', p_payload_access, array['safe', 'restricted']);
  if p_expires_at is not null and (isfinite(p_expires_at) and p_expires_at > v_now) is not true then
    perform tenure.refuse('number_out_of_range', 'The key would expire at once.',
      'Its end lies in the past, or is no time.', 'Name a later time, or none.');
  end if;
  if length(coalesce(p_note, '')) > tenure.limit_of('ref_chars_max') then
    perform tenure.refuse('number_out_of_range', 'The note is too long.',
      format('It has at most %s characters.', tenure.limit_of('ref_chars_max')), 'Shorten it.');
  end if;
  if (p_prefix ~ '^[a-z0-9]{8,32}$' and octet_length(p_digest) = 32) is not true then
    perform tenure.refuse('name_invalid', 'This is no prefix and digest of a key.',
      'A prefix has 8 to 32 lower-case letters and digits, a digest 32 bytes.',
      'Make the key with: tenure key create PRINCIPAL --role ROLE.');
  end if;
  insert into tenure.keys (key_id, tenant_id, principal_id, prefix, hash, roles, approver_level, executors,
    kinds, payload_access, note, created_at, created_by, makers, expires_at)
  values (v_key_id, v_home, v_principal.principal_id, p_prefix, tenure.keyed_hash(p_digest),
    array(select r.role from unnest(v_roles) r (role) order by 1), p_approver_level, p_executors,
    p_kinds, p_payload_access, coalesce(p_note, ''), v_now, v_caller.principal, tenure.makers_now(v_caller),
    p_expires_at)
  on conflict (prefix) do nothing;
  if not found then
    perform tenure.refuse('id_taken', 'There is already a key with this prefix.',
      'A prefix names one key.', 'Make another key.');
  end if;
  perform tenure.emit(v_now, v_home, 'key.created', v_caller.principal, null, p_prefix,
    jsonb_build_object('prefix', p_prefix, 'principal', p_principal, 'roles', v_roles,
      'approver_level', p_approver_level, 'executors', p_executors, 'kinds', p_kinds,
      'payload_access', p_payload_access, 'expires_at', p_expires_at));
  return jsonb_build_object('prefix', p_prefix, 'principal', p_principal, 'kind', v_principal.kind,
    'roles', v_roles, 'approver_level', p_approver_level, 'executors', p_executors, 'kinds', p_kinds,
    'payload_access', p_payload_access, 'created_at', v_now, 'expires_at', p_expires_at);
end
$$;

-- The keys of the tenant in these states, valid ones first, then by age. Never shows a hash. With p_after_*
-- of a key only those behind it; at most p_limit of them (null: all).
-- granted to: admin
create or replace function tenure.key_list(
  p_state text[] default null, p_limit integer default null, p_after_state text default null,
  p_after_at timestamptz default null, p_after_prefix text default null)
returns table (
  prefix text, principal text, kind text, state text, roles text[], approver_level integer, executors text[],
  kinds text[], payload_access text, note text, created_at timestamptz, created_by text, makers text[],
  expires_at timestamptz, revoked_at timestamptz, revoked_by text, last_used_at timestamptz)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz := tenure.now();
begin
  if p_state is not null then
    perform tenure.check_filter('state of a key', p_state, array['valid', 'expired', 'revoked']);
  end if;
  if p_limit is not null then
    perform tenure.check_number('The limit', p_limit, 1, tenure.limit_of('list_rows_max'));
  end if;
  return query
    select k.prefix, p.name, p.kind, s.state, k.roles, k.approver_level::integer, k.executors, k.kinds,
           k.payload_access, k.note, k.created_at, k.created_by, k.makers, k.expires_at, k.revoked_at,
           k.revoked_by, k.last_used_at
      from tenure.keys k
      join tenure.principals p on p.principal_id = k.principal_id
      cross join lateral (
        select case
                 when k.revoked_at is not null then 'revoked'
                 when k.expires_at <= v_now then 'expired'
                 else 'valid'
               end as state) s
     where k.tenant_id = tenure.principal_home(v_caller)
       and (p_state is null or s.state = any (p_state))
       and (p_after_prefix is null
            or (s.state <> 'valid', k.created_at, k.prefix)
               > (p_after_state <> 'valid', p_after_at, p_after_prefix))
     order by s.state <> 'valid', k.created_at, k.prefix
     limit p_limit;
end
$$;

-- Revokes a key: it is refused from the next call on. Revoking it again changes nothing.
-- granted to: admin
create or replace function tenure.key_revoke(p_prefix text) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz := tenure.now();
  v_home   integer := tenure.principal_home(v_caller);
  v_key    record;
begin
  select k.key_id, k.revoked_at into v_key
    from tenure.keys k
   where k.prefix = p_prefix
     and k.tenant_id = v_home
     for no key update;
  if not found then
    if tenure.is_trusted()
       and exists (select from tenure.keys k where k.prefix = p_prefix and k.tenant_id = 0) then
      perform tenure.refuse('key_not_found', format('The tenant has no key %L.', p_prefix),
        'It is a key of the whole installation.',
        format('Revoke it there: tenure.key_revoke(%L), with tenure.tenant set to *.', p_prefix));
    end if;
    perform tenure.refuse('key_not_found', format('There is no key %L.', p_prefix),
      'A key is named by its prefix, and belongs to one tenant.', 'See tenure.key_list().');
  end if;
  if v_key.revoked_at is null then
    update tenure.keys k
       set revoked_at = v_now, revoked_by = v_caller.principal
     where k.key_id = v_key.key_id;
    perform tenure.approvers_changed(v_now, array(
      select p.name
        from tenure.keys k
        join tenure.principals p on p.principal_id = k.principal_id
       where k.key_id = v_key.key_id));
    perform tenure.offers_end(array[v_home], 'infinity');
    perform tenure.emit(v_now, v_home, 'key.revoked', v_caller.principal, null, p_prefix,
      jsonb_build_object('prefix', p_prefix));
    -- Servers end the streams and waits of the key. A server that misses this finds out within a second.
    perform pg_notify('tenure_key', v_key.key_id::text);
  end if;
  return jsonb_build_object('prefix', p_prefix, 'revoked_at', coalesce(v_key.revoked_at, v_now));
end
$$;
