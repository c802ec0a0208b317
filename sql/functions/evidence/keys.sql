-- Keys that sign evidence and checkpoints. The secret half of a key is in tenure.secrets, or outside: then
-- each server has it in a file or in its environment, and the database has only the public half.

-- Refuses a key that is not the public half of an Ed25519 key, or whose id does not match it.
create or replace function tenure.check_evidence_key(p_key_id text, p_public_key bytea) returns void
language plpgsql
as $$
begin
  if (p_key_id ~ '^[0-9a-f]{16}$'
      and octet_length(p_public_key) = 32
      and p_key_id = left(encode(sha256(p_public_key), 'hex'), 16)) is not true then
    perform tenure.refuse('value_unknown', 'This is not an Ed25519 key with its id.',
      'The public key has 32 bytes, and the id is the first 16 digits of its SHA-256.',
      'Make one with: tenure evidence key create.');
  end if;
end
$$;

-- The key that signs: the newest whose secret half is outside, or still in the database. Null if there is
-- none.
create or replace function tenure.evidence_key_signing() returns tenure.evidence_keys
language sql stable
as $$
  select k
    from tenure.evidence_keys k
   where k.is_external
      or exists (select from tenure.secrets s where s.name = 'evidence:' || k.key_id)
   order by k.created_at desc, k.key_id
   limit 1
$$;

-- Adds a key pair; the newest signs. With p_first it is added only if no key signs yet, and the answer has
-- the key that signs. Refuses while a key outside signs: the servers that have it would remove this one when
-- they start.
-- granted to: server
create or replace function tenure.evidence_key_add(
  p_key_id text, p_public_key bytea, p_secret_key bytea, p_first boolean default false) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz := tenure.now();
  v_signs  tenure.evidence_keys;
begin
  perform tenure.check_every_tenant();
  perform tenure.check_evidence_key(p_key_id, p_public_key);
  if (octet_length(p_secret_key) between 32 and 4096) is not true then
    perform tenure.refuse('value_unknown', 'The secret key has a wrong length.',
      format('It has %s bytes; between 32 and 4096 are allowed.', coalesce(octet_length(p_secret_key), 0)),
      'Make one with: tenure evidence key create.');
  end if;
  lock table tenure.evidence_keys in share row exclusive mode;
  v_signs := tenure.evidence_key_signing();
  if p_first and v_signs.key_id is not null then
    return jsonb_build_object('key_id', v_signs.key_id, 'added', false);
  end if;
  if v_signs.is_external then
    perform tenure.refuse('state_conflict',
      format('Key %s signs, and it is kept outside the database.', v_signs.key_id),
      'A key in the database would be removed by the next server that starts with the key outside.',
      'Make the new one outside. Start the server with the key: TENURE_EVIDENCE_KEY_FILE names its file.');
  end if;
  if v_signs.key_id is distinct from p_key_id
     and exists (select from tenure.evidence_keys k where k.key_id = p_key_id) then
    perform tenure.refuse('state_conflict',
      format('The key %s is there already, and does not sign.', p_key_id),
      'The newest key signs; an earlier one only verifies what it signed.',
      'Make a new one: tenure evidence key create.');
  end if;
  insert into tenure.evidence_keys (key_id, public_key, created_at, created_by)
  values (p_key_id, p_public_key, v_now, v_caller.principal)
  on conflict (key_id) do nothing;
  insert into tenure.secrets (name, value)
  values ('evidence:' || p_key_id, p_secret_key)
  on conflict (name) do nothing;
  return jsonb_build_object('key_id', p_key_id, 'added', true);
end
$$;

-- Registers the public half of a key whose secret half is outside the database, and removes all secret halves
-- from the database: from then on only a server that has the key outside can sign. Refuses a key whose secret
-- half was in the database before.
-- granted to: server
create or replace function tenure.evidence_key_register(p_key_id text, p_public_key bytea) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller  tenure.caller_identity := tenure.caller();
  v_now     timestamptz := tenure.now();
  v_added   boolean;
  v_removed integer;
begin
  perform tenure.check_every_tenant();
  perform tenure.check_evidence_key(p_key_id, p_public_key);
  lock table tenure.evidence_keys in share row exclusive mode;
  if exists (select from tenure.evidence_keys k where k.key_id = p_key_id and not k.is_external) then
    perform tenure.refuse('state_conflict',
      format('The secret half of key %s has been in the database.', p_key_id),
      'Who could read the database then can sign with it.',
      'Make a new key outside: openssl genpkey -algorithm ed25519.');
  end if;
  insert into tenure.evidence_keys (key_id, public_key, created_at, created_by, is_external)
  values (p_key_id, p_public_key, v_now, v_caller.principal, true)
  on conflict (key_id) do nothing;
  v_added := found;
  delete from tenure.secrets s where s.name ^@ 'evidence:';
  get diagnostics v_removed = row_count;
  return jsonb_build_object('key_id', p_key_id, 'added', v_added, 'secrets_removed', v_removed);
end
$$;

-- The key that signs now, with its secret half; only for servers. Refuses with evidence_key_missing if no key
-- signs or its secret half is outside.
-- granted to: server
create or replace function tenure.evidence_key_current()
returns table (key_id text, public_key bytea, secret_key bytea)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_signs tenure.evidence_keys := tenure.evidence_key_signing();
begin
  return query
    select v_signs.key_id, v_signs.public_key, s.value
      from tenure.secrets s
     where s.name = 'evidence:' || v_signs.key_id;
  if found then
    return;
  end if;
  if v_signs.is_external then
    perform tenure.refuse('evidence_key_missing',
      format('The key that signs evidence, %s, is not in the database.', v_signs.key_id),
      'Its secret half is kept outside, and the server or program that was to sign was started without it.',
      'Start the server with the key: TENURE_EVIDENCE_KEY_FILE names its file.');
  end if;
  perform tenure.refuse('evidence_key_missing', 'There is no key to sign evidence with.',
    'None has been made yet, or its secret half was removed.',
    'Make one: tenure evidence key create.');
end
$$;

-- Public keys, newest first. kept says where the secret half is: database, outside, or removed.
-- granted to: all
create or replace function tenure.evidence_key_list()
returns table (
  key_id text, public_key bytea, created_at timestamptz, created_by text, signs boolean, kept text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_signs tenure.evidence_keys := tenure.evidence_key_signing();
begin
  return query
    select k.key_id, k.public_key, k.created_at, k.created_by,
           k.key_id is not distinct from v_signs.key_id,
           case
             when k.is_external then 'outside'
             when exists (select from tenure.secrets s where s.name = 'evidence:' || k.key_id) then 'database'
             else 'removed'
           end
      from tenure.evidence_keys k
     order by k.created_at desc, k.key_id;
end
$$;
