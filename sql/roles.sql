-- The database roles of Tenure. They belong to the whole cluster, not to one database: a role that exists
-- already stays as it is, and two databases can be migrated at the same moment.
-- None of them can log in: grant them to the logins of your people and programs.
do $$
declare
  v_role text;
  v_may_act_as_owner boolean;
begin
  foreach v_role in array array[
    'tenure_owner',     -- owns every object
    'tenure_server',    -- the trusted server: names tenant and principal by settings; no BYPASSRLS
    'tenure_admin',     -- configuration, tenants, kinds, logins, and all an operator does
    'tenure_operator',  -- cancel, retry, dead letters, gates, reaper, retention
    'tenure_approver',  -- decides about plans
    'tenure_requester', -- submits plans
    'tenure_producer',  -- enqueues
    'tenure_worker',    -- claims, renews, ends
    'tenure_viewer'     -- reads
  ]
  loop
    if not exists (select from pg_catalog.pg_roles r where r.rolname = v_role) then
      begin
        execute format('create role %I nologin', v_role);
      exception
        when duplicate_object or unique_violation then null;
      end;
    end if;
  end loop;

  -- Lets the owner's functions name the transaction that holds the event stream back. They work without it.
  if not pg_has_role('tenure_owner', 'pg_read_all_stats', 'member') then
    begin
      grant pg_read_all_stats to tenure_owner;
    exception
      when insufficient_privilege or unique_violation or duplicate_object then null;
    end;
  end if;

  -- The login that migrates must be able to act as the owner. A superuser already is.
  if current_setting('server_version_num')::integer >= 160000 then
    v_may_act_as_owner := pg_has_role(current_user, 'tenure_owner', 'SET');
  else
    v_may_act_as_owner := pg_has_role(current_user, 'tenure_owner', 'MEMBER');
  end if;
  if not v_may_act_as_owner then
    begin
      execute format('grant tenure_owner to %I', current_user);
    exception
      when unique_violation or duplicate_object then null;
    end;
  end if;
end
$$;
