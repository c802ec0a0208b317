-- Idempotency keys: the hash under which the key of a job is taken.

-- The prefix of a key when it is hashed, the same for all jobs of a kind. The length keeps (ab, c) and
-- (a, bc) apart.
create or replace function tenure.idempotency_scope(p_tenant_id integer, p_kind text) returns text
language sql immutable parallel safe
as $$ select p_tenant_id::text || ':' || length(p_kind)::text || ':' || p_kind || ':' $$;

-- The hash under which a key is taken. Stable, as convert_to is: otherwise it would be called, not inlined.
create or replace function tenure.idempotency_hash(p_scope text, p_key text) returns uuid
language sql stable parallel safe
as $$ select encode(substring(sha256(convert_to(p_scope || p_key, 'UTF8')) from 1 for 16), 'hex')::uuid $$;
