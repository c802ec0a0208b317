-- Subscriptions: who is told of events. What becomes of a match is in subscriptions_run.sql and deliveries.sql.

-- A cursor as it is handed out.
create or replace function tenure.cursor_text(p_epoch integer, p_txid xid8, p_seq bigint) returns text
language sql immutable parallel safe
as $$
  select p_epoch || '.' || p_txid || '.' || p_seq
$$;

-- Refuses what is no cursor of the stream, and takes it apart.
create or replace function tenure.cursor_parts(p_cursor text, out epoch integer, out txid xid8, out seq bigint)
language plpgsql immutable
as $$
begin
  if p_cursor is null or p_cursor !~ '^[0-9]{1,9}[.][0-9]{1,19}[.][0-9]{1,18}$' then
    perform tenure.refuse('cursor_invalid', format('%L is no cursor of the event stream.', p_cursor),
      'A cursor is the value of the column cursor of an event, as it was handed out.', 'Start without one, or pass the last one you saw.');
  end if;
  epoch := split_part(p_cursor, '.', 1)::integer;
  txid := split_part(p_cursor, '.', 2)::xid8;
  seq := split_part(p_cursor, '.', 3)::bigint;
end
$$;

-- A place in the stream: its start, now, or a cursor. All that is handed out so far lies before now. Refuses a cursor of what nobody was handed yet: what commits late would
-- be passed over.
create or replace function tenure.stream_place(p_from text, out epoch integer, out txid xid8, out seq bigint)
language plpgsql stable
as $$
begin
  seq := 0;
  if p_from = 'now' then
    epoch := tenure.current_epoch();
    txid := pg_snapshot_xmin(pg_current_snapshot());
  elsif p_from = 'start' then
    epoch := 0;
    txid := '0';
  else
    select c.epoch, c.txid, c.seq into epoch, txid, seq from tenure.cursor_parts(p_from) c;
    if epoch > tenure.current_epoch() or (epoch = tenure.current_epoch() and (txid, seq) > (pg_snapshot_xmin(pg_current_snapshot()), 0)) then
      perform tenure.refuse('cursor_invalid', format('The cursor %s lies in the future.', p_from), 'Nothing that has been handed out has it, and what comes would be passed over.',
        'Pass the cursor of the last event that was seen.');
    end if;
  end if;
end
$$;

-- Whether an event of this kind is one of those named: by its whole name, by its domain (job.*), or by * for all. What subscriptions and deliveries say of themselves is
-- never: it would feed itself.
create or replace function tenure.is_kind_of(p_kind text, p_event_kinds text[]) returns boolean
language sql immutable parallel safe
as $$
  select (p_kind = any (p_event_kinds) or split_part(p_kind, '.', 1) || '.*' = any (p_event_kinds) or '*' = any (p_event_kinds))
     and split_part(p_kind, '.', 1) <> all (array['subscription', 'delivery'])
$$;

-- The subscription of this name, locked. Refuses when there is none.
create or replace function tenure.subscription_locked(p_tenant_id integer, p_name text) returns tenure.subscriptions
language plpgsql
as $$
declare
  v_found tenure.subscriptions;
begin
  select s.* into v_found from tenure.subscriptions s where s.tenant_id = p_tenant_id and s.name = p_name for update;
  if not found then
    perform tenure.refuse('subscription_unknown', format('There is no subscription %L.', p_name), 'A subscription is named by its name, within one tenant.', 'See tenure.subscription_list().');
  end if;
  return v_found;
end
$$;

-- What may be seen of a subscription: all but its secrets.
create or replace function tenure.subscription_row(p_subscription tenure.subscriptions) returns jsonb
language sql stable
as $$
  select jsonb_strip_nulls(to_jsonb(p_subscription) - array['subscription_id', 'tenant_id', 'secret', 'secret_before', 'epoch', 'txid', 'seq'])
      || jsonb_build_object('cursor', tenure.cursor_text(p_subscription.epoch, p_subscription.txid, p_subscription.seq))
$$;

-- Refuses a URL that no webhook could be sent to, by its form alone. Which addresses may be called is a
-- setting of the servers, and checked by them.
create or replace function tenure.check_webhook_url(p_url text) returns void
language plpgsql
as $$
declare
  c_url constant text :=
    E'^https?://([a-z0-9]([a-z0-9._-]*[a-z0-9])?|\\[[0-9a-f:.]+\\])(:[0-9]{1,5})?([/?][^\\s#\\\\]*)?$';
begin
  if (p_url ~* c_url and length(p_url) <= tenure.limit_of('url_chars_max')) is not true then
    perform tenure.refuse('text_invalid', format('The url %L cannot be sent to.', left(p_url, 200)),
      format('It begins with http:// or https://, names a host (as DNS writes it), and has no user, '
        'no fragment, no spaces and at most %s characters.', tenure.limit_of('url_chars_max')),
      'Write a host with other letters as DNS does (xn--…, punycode), and a space as %20.');
  elsif substring(p_url from '^[^/]*//[^/?]*:([0-9]+)(?:[/?]|$)')::integer not between 1 and 65535 then
    perform tenure.refuse('text_invalid', format('The url %L has no valid port.', left(p_url, 200)),
      'A port is a number between 1 and 65535.', 'Correct the port, or leave it out.');
  end if;
end
$$;

-- Subscribes to events: kinds such as job.dead_lettered, job.* or *, and a filter on what else they say (job_kind, executor, actor, subject, data: contained in the event's).
-- A match becomes a job (p_job_kind), is sent to a webhook (p_url), or waits for a reader that asks. p_from: now, start, or a cursor. The secret of a webhook is shown this once.
create or replace function tenure.subscription_create(
  p_name text, p_event_kinds text[], p_target text, p_filter jsonb default '{}', p_from text default 'now', p_job_kind text default null, p_executor text default null,
  p_priority integer default null, p_depth_max integer default null, p_url text default null, p_on_behalf_of text default null) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_now    timestamptz := tenure.now();
  v_new    tenure.subscriptions;
  v_word   text;
  v_lane   integer;
  v_at     record;
begin
  perform tenure.check_tenant(v_caller.tenant_id);
  perform tenure.check_name('subscription', p_name);
  perform tenure.check_word('value_unknown', 'target', p_target, array['reader', 'job', 'webhook']);
  perform tenure.check_number('The number of event kinds', coalesce(cardinality(p_event_kinds), 0), 1, tenure.limit_of('event_kinds_max'));
  foreach v_word in array p_event_kinds loop
    if split_part(v_word, '.', 1) in ('subscription', 'delivery') then
      perform tenure.refuse('value_unknown', format('%L names no events to subscribe to.', v_word),
        'A subscription to the events of subscriptions and deliveries would feed itself.',
        'Use a kind such as job.dead_lettered; tenure.event_list() shows them.');
    end if;
    perform tenure.check_event_kind(v_word);
  end loop;
  if jsonb_typeof(coalesce(p_filter, '{}')) <> 'object' then
    perform tenure.refuse('payload_not_object', 'The filter is not a JSON object.', 'It names what an event must say.', 'Give an object such as {"job_kind": "report"}.');
  end if;
  for v_word in select f from jsonb_object_keys(coalesce(p_filter, '{}')) f loop
    perform tenure.check_word('value_unknown', 'field of a filter', v_word, array['job_kind', 'executor', 'actor', 'subject', 'data']);
    if jsonb_typeof(p_filter -> v_word) <> (case v_word when 'data' then 'object' else 'string' end) then
      perform tenure.refuse('text_invalid', format('The field %s of the filter is no %s.', v_word, case v_word when 'data' then 'object' else 'text' end),
        'All but data is compared as text; data is an object that the event''s must contain.', 'Give it as such.');
    end if;
  end loop;
  perform tenure.check_numbers('filter', p_filter);
  perform tenure.check_payload('filter', coalesce(p_filter, '{}')::json, tenure.limit_of('metadata_bytes_max'));
  if (p_job_kind is not null) <> (p_target = 'job') or (p_url is not null) <> (p_target = 'webhook') or (p_target <> 'job' and num_nonnulls(p_executor, p_priority, p_depth_max) > 0) then
    perform tenure.refuse('arguments_mismatched', format('A subscription with the target %s has other parts.', p_target),
      'A job takes its kind, and perhaps executor, priority and depth; a webhook its URL; a reader nothing.', 'Leave out what belongs to another target, and give what belongs to this one.');
  end if;
  if p_target = 'job' then
    perform tenure.check_number('The priority', coalesce(p_priority, 0), -32767, 32767);
    perform tenure.check_number('The depth', coalesce(p_depth_max, 8), 1, tenure.limit_of('subscription_depth_max'));
    -- Whoever subscribes must be allowed to enqueue just that. Two statements: the second sees a lane that the first has made.
    v_lane := tenure.lane_ensure(v_caller, p_job_kind, p_executor);
    perform tenure.check_enqueue_rights(v_caller, array[v_lane]);
  elsif p_target = 'webhook' then
    perform tenure.check_webhook_url(p_url);
  end if;
  v_at := tenure.stream_place(p_from);
  insert into tenure.subscriptions (tenant_id, name, target, event_kinds, filter, job_kind, executor, priority, depth_max, url, secret, epoch, txid, seq, moved_at, created_at, created_by)
  values (v_caller.tenant_id, p_name, p_target, p_event_kinds, coalesce(p_filter, '{}'), p_job_kind, p_executor, coalesce(p_priority, 0), coalesce(p_depth_max, 8), p_url,
    case when p_target = 'webhook' then tenure.random_secret() end, v_at.epoch, v_at.txid, v_at.seq, v_now, v_now, v_caller.principal)
  on conflict (tenant_id, name) do nothing
  returning * into v_new;
  if not found then
    perform tenure.refuse('subscription_exists', format('There is already a subscription %L.', p_name), 'Names of subscriptions are unique within a tenant.', 'Use it, delete it, or choose another name.');
  end if;
  perform tenure.emit(v_now, v_caller.tenant_id, 'subscription.created', v_caller.principal, p_on_behalf_of, p_name,
    jsonb_strip_nulls(jsonb_build_object('target', p_target, 'event_kinds', p_event_kinds, 'job_kind', p_job_kind, 'executor', p_executor)));
  return tenure.subscription_row(v_new) || case when v_new.secret is null then '{}' else jsonb_build_object('signing_key', tenure.secret_text(v_new.secret)) end;
end
$$;

-- 32 bytes that nobody can guess.
create or replace function tenure.random_secret() returns bytea
language sql volatile
as $$
  select sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
$$;

-- The secret as receivers of webhooks take it.
create or replace function tenure.secret_text(p_secret bytea) returns text
language sql immutable
as $$
  select 'whsec_' || replace(encode(p_secret, 'base64'), E'\n', '')
$$;

-- The subscriptions of the tenant, by name, with how far behind each is. Never a secret.
create or replace function tenure.subscription_list()
returns table (name text, target text, state text, event_kinds text[], filter jsonb, job_kind text, executor text, priority integer, depth_max integer, url text, cursor text, moved_at timestamptz,
               behind_since timestamptz, matched bigint, skipped bigint, waiting bigint, dead bigint, paused_at timestamptz, paused_by text, pause_note text, failures integer, retry_at timestamptz,
               error_code text, error_message text, created_at timestamptz, created_by text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_tenant integer := tenure.current_tenant();
  v_epoch  integer := tenure.current_epoch();
  v_xmin   xid8 := pg_snapshot_xmin(pg_current_snapshot());
  -- A path may hold what only sender and receiver should know.
  v_whole  boolean := tenure.acts_as('tenure_operator') or tenure.acts_as('tenure_admin') or tenure.is_trusted();
begin
  return query
    select s.name, s.target, case when s.paused_at is not null then 'paused' when s.failures > 0 or s.refusals > 0 then 'failing' else 'active' end, s.event_kinds, s.filter, s.job_kind, s.executor,
           s.priority::integer, s.depth_max::integer, case when v_whole then s.url else substring(s.url from '^https?://[^/?]+') end, tenure.cursor_text(s.epoch, s.txid, s.seq), s.moved_at,
           (select case when e.epoch < v_epoch or e.txid < v_xmin then e.at end
              from tenure.events e where e.tenant_id = v_tenant and (e.epoch, e.txid, e.seq) > (s.epoch, s.txid, s.seq) order by e.epoch, e.txid, e.seq limit 1),
           s.matched, s.skipped,
           (select count(*) from (select from tenure.deliveries d where d.subscription_id = s.subscription_id and d.state = 'waiting' limit 10000) x),
           (select count(*) from (select from tenure.deliveries d where d.subscription_id = s.subscription_id and d.state = 'dead' limit 10000) x),
           s.paused_at, s.paused_by, s.pause_note, greatest(s.failures, s.refusals), s.retry_at, s.error_code, s.error_message, s.created_at, s.created_by
      from tenure.subscriptions s
     where s.tenant_id = v_tenant
     order by s.name;
end
$$;

-- Pauses a subscription: its cursor stands and nothing is sent; it goes on later with what has come meanwhile, as far as retention has kept that. Pausing what is paused keeps
-- who did it first.
create or replace function tenure.subscription_pause(p_name text, p_note text default null, p_on_behalf_of text default null) returns jsonb
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
    update tenure.subscriptions s set paused_at = v_now, paused_by = v_caller.principal, pause_note = nullif(p_note, '')
     where s.subscription_id = v_found.subscription_id returning s.* into v_found;
    perform tenure.emit(v_now, v_caller.tenant_id, 'subscription.paused', v_caller.principal, p_on_behalf_of, p_name, jsonb_strip_nulls(jsonb_build_object('note', nullif(p_note, ''))));
  end if;
  return tenure.subscription_row(v_found);
end
$$;

-- Lets a paused subscription go on where it stood; one that fails is tried again at once. p_from moves it: to now, to the start, or to a cursor.
create or replace function tenure.subscription_resume(p_name text, p_from text default null, p_on_behalf_of text default null) returns jsonb
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
     set paused_at = null, paused_by = null, pause_note = null, failures = 0, refusals = 0, retry_at = null, error_code = null, error_message = null, epoch = v_at.epoch, txid = v_at.txid, seq = v_at.seq
   where s.subscription_id = v_found.subscription_id;
  if v_found.paused_at is not null or v_found.failures > 0 or p_from is not null then
    perform tenure.emit(v_now, v_caller.tenant_id, 'subscription.resumed', v_caller.principal, p_on_behalf_of, p_name, jsonb_strip_nulls(jsonb_build_object('from', p_from)));
  end if;
  return tenure.subscription_row((select s from tenure.subscriptions s where s.subscription_id = v_found.subscription_id));
end
$$;

-- Gives a webhook a new secret, shown this once. What is sent is signed with the old one too for a day, so that the receiver can change over.
create or replace function tenure.subscription_rotate(p_name text, p_on_behalf_of text default null) returns jsonb
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
    perform tenure.refuse('state_conflict', format('The subscription %L has no secret.', p_name), 'Only what is sent to a webhook is signed.', 'Name a subscription with a webhook.');
  end if;
  update tenure.subscriptions s set secret_before = s.secret, secret = tenure.random_secret(), rotated_at = v_now where s.subscription_id = v_found.subscription_id returning s.* into v_found;
  perform tenure.emit(v_now, v_caller.tenant_id, 'subscription.rotated', v_caller.principal, p_on_behalf_of, p_name, '{}');
  return tenure.subscription_row(v_found) || jsonb_build_object('signing_key', tenure.secret_text(v_found.secret));
end
$$;

-- Ends a subscription, with what it has still to send.
create or replace function tenure.subscription_delete(p_name text, p_on_behalf_of text default null) returns jsonb
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
  perform tenure.emit(v_now, v_caller.tenant_id, 'subscription.deleted', v_caller.principal, p_on_behalf_of, p_name,
    jsonb_build_object('cursor', tenure.cursor_text(v_found.epoch, v_found.txid, v_found.seq)));
  return tenure.subscription_row(v_found);
end
$$;
