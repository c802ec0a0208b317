-- Pausing, resuming and deleting subscriptions, and giving a webhook a new secret.

-- Pauses a subscription: its cursor stops and nothing is sent. After a resume it continues from there with
-- the events that retention has kept. Pausing a paused subscription keeps the first pause and its author.
-- granted to: admin, operator
create or replace function tenure.subscription_pause(
  p_name text, p_note text default null, p_on_behalf_of text default null) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz := tenure.now();
  v_found  tenure.subscriptions;
begin
  perform tenure.check_tenant(v_caller.tenant_id);
  if p_note <> '' then
    perform tenure.check_name('note', p_note);
  end if;
  v_found := tenure.subscription_locked(v_caller.tenant_id, p_name);
  if v_found.paused_at is null then
    update tenure.subscriptions s
       set paused_at = v_now,
           paused_by = v_caller.principal,
           pause_note = nullif(p_note, '')
     where s.subscription_id = v_found.subscription_id
    returning s.* into v_found;
    perform tenure.emit(v_now, v_caller.tenant_id, 'subscription.paused', v_caller.principal, p_on_behalf_of,
      p_name, jsonb_strip_nulls(jsonb_build_object('note', nullif(p_note, ''))));
  end if;
  return tenure.subscription_row(v_found);
end
$$;

-- Resumes a paused subscription at its cursor; a failing one is tried again at once. p_from moves the cursor:
-- now, start, or a cursor.
-- granted to: admin, operator
create or replace function tenure.subscription_resume(
  p_name text, p_from text default null, p_on_behalf_of text default null) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz := tenure.now();
  v_found  tenure.subscriptions;
  v_at     record;
begin
  perform tenure.check_tenant(v_caller.tenant_id);
  v_found := tenure.subscription_locked(v_caller.tenant_id, p_name);
  if p_from is null then
    v_at := tenure.cursor_parts(tenure.cursor_text(v_found.epoch, v_found.txid, v_found.seq));
  else
    v_at := tenure.stream_place(p_from);
  end if;
  update tenure.subscriptions s
     set paused_at = null,
         paused_by = null,
         pause_note = null,
         failures = 0,
         refusals = 0,
         retry_at = null,
         error_code = null,
         error_message = null,
         epoch = v_at.epoch,
         txid = v_at.txid,
         seq = v_at.seq
   where s.subscription_id = v_found.subscription_id;
  if v_found.paused_at is not null or v_found.failures > 0 or v_found.refusals > 0
     or p_from is not null then
    perform tenure.emit(v_now, v_caller.tenant_id, 'subscription.resumed', v_caller.principal,
      p_on_behalf_of, p_name, jsonb_strip_nulls(jsonb_build_object('from', p_from)));
  end if;
  return tenure.subscription_row((
    select s from tenure.subscriptions s where s.subscription_id = v_found.subscription_id));
end
$$;

-- Gives a webhook a new secret, shown only here. For one day deliveries are signed with the old one too, so
-- that the receiver can change over.
-- granted to: admin, operator
create or replace function tenure.subscription_rotate(p_name text, p_on_behalf_of text default null)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz := tenure.now();
  v_found  tenure.subscriptions;
begin
  perform tenure.check_tenant(v_caller.tenant_id);
  v_found := tenure.subscription_locked(v_caller.tenant_id, p_name);
  if v_found.target <> 'webhook' then
    perform tenure.refuse('state_conflict', format('The subscription %L has no secret.', p_name),
      'Only what is sent to a webhook is signed.', 'Name a subscription with a webhook.');
  end if;
  update tenure.subscriptions s
     set secret_before = s.secret,
         secret = tenure.random_secret(),
         rotated_at = v_now
   where s.subscription_id = v_found.subscription_id
  returning s.* into v_found;
  perform tenure.emit(v_now, v_caller.tenant_id, 'subscription.rotated', v_caller.principal, p_on_behalf_of,
    p_name, '{}');
  return tenure.subscription_row(v_found)
    || jsonb_build_object('signing_key', tenure.secret_text(v_found.secret));
end
$$;

-- Deletes a subscription and its deliveries, also those not yet sent.
-- granted to: admin, operator
create or replace function tenure.subscription_delete(p_name text, p_on_behalf_of text default null)
returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz := tenure.now();
  v_found  tenure.subscriptions;
begin
  perform tenure.check_tenant(v_caller.tenant_id);
  v_found := tenure.subscription_locked(v_caller.tenant_id, p_name);
  delete from tenure.deliveries d where d.subscription_id = v_found.subscription_id;
  delete from tenure.subscriptions s where s.subscription_id = v_found.subscription_id;
  perform tenure.emit(v_now, v_caller.tenant_id, 'subscription.deleted', v_caller.principal, p_on_behalf_of,
    p_name,
    jsonb_build_object('cursor', tenure.cursor_text(v_found.epoch, v_found.txid, v_found.seq)));
  return tenure.subscription_row(v_found);
end
$$;
