-- What plans, their executions and the evidence of both share: hashes, and guards against change and loss.

create or replace function tenure.text_hash(p_text text) returns text
language sql immutable strict parallel safe
set search_path = pg_catalog, pg_temp
as $$ select encode(sha256(convert_to(p_text, 'UTF8')), 'hex') $$;

-- One link of a chain: the hash of the link before, or the seed, together with the body. Without a
-- search_path of its own, which would be set and restored for each link; it calls only functions of
-- PostgreSQL.
create or replace function tenure.chain_link(p_hash bytea, p_seed bytea, p_body text) returns bytea
language plpgsql immutable parallel safe
as $$
begin
  return sha256(coalesce(p_hash, p_seed) || convert_to(p_body, 'UTF8'));
end
$$;

-- The guard of tables whose rows are written once.
create or replace function tenure.refuse_change() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception using
    errcode = 'TN014',
    message = format('A row of %s cannot be changed.', tg_table_name),
    detail = 'It is written once.',
    hint = 'Use the functions of schema tenure.';
end
$$;

-- The guard of rows that go only when the evidence of their execution is in the archive.
create or replace function tenure.refuse_loss() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_id uuid;
begin
  if tg_table_name = 'approval_votes' then
    select a.execution_id into v_id from tenure.approvals a where a.approval_id = old.approval_id;
  else
    v_id := old.execution_id;
  end if;
  if exists (select from tenure.executions e where e.execution_id = v_id)
     and not exists (select from tenure.execution_archives a where a.execution_id = v_id)
  then
    raise exception using
      errcode = 'TN014',
      message = format('A row of %s cannot be deleted.', tg_table_name),
      detail = format('Execution %s is not archived.', v_id),
      hint = 'Rows go with tenure.execution_archive(execution, evidence).';
  end if;
  return old;
end
$$;
