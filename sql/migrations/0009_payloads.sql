-- A payload is kept as the text it came as. Nothing in the database looks inside it but the check at the door: taking it apart and putting it together again cost
-- an enqueue a third and a claim a tenth of their time. This rewrites the jobs and the dead letters that stand.
alter table tenure.jobs alter column payload type json using payload::text::json;
alter table tenure.dead_letters
  drop constraint dead_letters_payload_check,
  alter column payload type json using payload::text::json,
  add check (json_typeof(payload) = 'object');
comment on column tenure.jobs.payload is 'The JSON object as it was given, character by character.';

-- json has no equality, and a number in it may be too large for jsonb: rows are compared by their image.
create or replace function tenure.jobs_only_cleaned() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if old.cleaned_at is null and new.cleaned_at is not null
     and (new.payload::text, new.source_ref, new.target_ref, new.payload_ref) is not distinct from ('{}', null::text, null::text, null::text) then
    old.payload := new.payload;
    old.source_ref := null;
    old.target_ref := null;
    old.payload_ref := null;
    old.cleaned_at := new.cleaned_at;
    if old operator(pg_catalog.*=) new then
      return new;
    end if;
  end if;
  raise exception using errcode = 'TN014', message = format('Job %s cannot be changed.', old.job_id),
    detail = 'A job is written once. Its state is where its rows are; only the retention sweep empties it.', hint = 'Use the functions of schema tenure.';
end
$$;

-- Every statement that writes to a table reads its checks anew. These could only fail if a function counted backwards.
alter table tenure.active drop constraint active_run_check;
alter table tenure.leases drop constraint leases_lease_seconds_check, drop constraint leases_renewals_check;
-- So does the expression of a generated column. The functions of the hot path write it down; where it is null, the array tells.
alter table tenure.events alter column job_count drop expression;
comment on column tenure.events.job_count is 'The number of jobs; null: count job_ids.';

-- The same identity, read with fewer steps: every call begins with it.
create or replace function tenure.caller() returns tenure.caller_identity
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity;
  v_login  text := session_user;
  v_name   text;
begin
  select l.tenant_id, coalesce(l.principal, v_login), 'tenant', l.executors, l.kinds, l.payload_access into v_caller from tenure.logins l where l.login = v_login;
  if not found then
    select l.tenant_id, coalesce(l.principal, v_login), 'tenant', l.executors, l.kinds, l.payload_access into v_caller from tenure.logins l where l.login = '*';
  end if;

  if pg_has_role(v_login, 'tenure_server', 'member') or pg_has_role(v_login, 'tenure_owner', 'member') then
    v_caller.principal := coalesce(nullif(current_setting('tenure.principal', true), ''), v_caller.principal, v_login);
    v_caller.payload_access := coalesce(nullif(current_setting('tenure.payload_access', true), ''), 'restricted');
    v_name := nullif(current_setting('tenure.tenant', true), '');
    if v_name = '*' then
      v_caller.tenant_id := null;
      v_caller.scope := 'every';
    elsif v_name is not null then
      v_caller.scope := 'tenant';
      select t.tenant_id into v_caller.tenant_id from tenure.tenants t where t.name = v_name and t.tenant_id > 0;
      if not found then
        raise exception using errcode = 'TN027', message = format('There is no tenant %L.', v_name),
          detail = 'The setting tenure.tenant names the tenant of this transaction.', hint = 'Create it with tenure.tenant_create(name), or name another.';
      end if;
    end if;
  end if;

  if v_caller.scope is null then
    raise exception using errcode = 'TN029', message = format('The login %L is bound to no tenant.', v_login),
      detail = 'This installation has no binding for logins without one of their own.', hint = 'An admin binds it: select tenure.login_bind(login, tenant).';
  end if;
  return v_caller;
end
$$;
