-- HTTP requests with an Idempotency-Key, each with its answer. The row is written in the transaction of the
-- change, so either both exist or neither does.

create table tenure.requests (
  key_hash   uuid        primary key,
  tenant_id  integer     not null,
  key_id     uuid        not null,
  asked      jsonb       not null check (jsonb_typeof(asked -> 'members') = 'object'),
  status     smallint    not null check (status between 200 and 299),
  answer     text        check (octet_length(answer) <= 1048576),
  created_at timestamptz not null,
  expires_at timestamptz not null,
  constraint requests_expire_later check (expires_at > created_at)
) with (autovacuum_vacuum_scale_factor = 0.05);
create index requests_expired on tenure.requests (expires_at);
comment on table tenure.requests is
  'Answers to requests with an Idempotency-Key. A request that is repeated before it expires gets the same '
  'answer.';
comment on column tenure.requests.key_hash is
  'Hash of tenant, principal and key.';
comment on column tenure.requests.key_id is
  'The API key of the request. A key with other rights does not see the answer.';
comment on column tenure.requests.asked is
  'Method, path with query, and a hash for each top-level member of the body, salted with the key.';
comment on column tenure.requests.answer is
  'The body. Null: it held a secret, or was too large to keep.';
alter table tenure.requests enable row level security, force row level security;
create policy own_tenant on tenure.requests
  using (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()))
  with check (tenant_id = (select tenure.current_tenant()) or (select tenure.is_every_tenant()));
