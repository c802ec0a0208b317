-- Creating subscriptions: which events, to which target, from which cursor.

-- The subscription of this name, locked. Refuses an unknown name.
create or replace function tenure.subscription_locked(p_tenant_id integer, p_name text)
returns tenure.subscriptions
language plpgsql
as $$
declare
  v_found tenure.subscriptions;
begin
  select s.* into v_found
    from tenure.subscriptions s
   where s.tenant_id = p_tenant_id and s.name = p_name
     for update;
  if not found then
    perform tenure.refuse('subscription_unknown', format('There is no subscription %L.', p_name),
      'A subscription is named by its name, within one tenant.', 'See tenure.subscription_list().');
  end if;
  return v_found;
end
$$;

-- A subscription as the functions that change it return it: without its secrets.
create or replace function tenure.subscription_row(p_subscription tenure.subscriptions) returns jsonb
language sql stable
as $$
  select jsonb_strip_nulls(to_jsonb(p_subscription)
           - array['subscription_id', 'tenant_id', 'secret', 'secret_before', 'epoch', 'txid', 'seq'])
      || jsonb_build_object('cursor',
           tenure.cursor_text(p_subscription.epoch, p_subscription.txid, p_subscription.seq))
$$;

-- Refuses a URL that is not valid for a webhook. Only its form is checked: which addresses may be called is a
-- setting of the servers, and they check it.
create or replace function tenure.check_webhook_url(p_url text) returns void
language plpgsql
as $$
declare
  c_url constant text :=
    E'^https?://([a-z0-9]([a-z0-9._-]*[a-z0-9])?|\\[[0-9a-f:.]+\\])(:[0-9]{1,5})?([/?][^\\s#\\\\]*)?$';
begin
  if (p_url ~* c_url and length(p_url) <= tenure.limit_of('url_chars_max')) is not true then
    perform tenure.refuse('text_invalid', format('The url %L cannot be sent to.', tenure.excerpt(p_url)),
      format('It begins with http:// or https://, names a host (as DNS writes it), and has no user, '
        'no fragment, no spaces and at most %s characters.', tenure.limit_of('url_chars_max')),
      'Write a host with other letters as DNS does (xn--…, punycode), and a space as %20.');
  elsif substring(p_url from '^[^/]*//[^/?]*:([0-9]+)(?:[/?]|$)')::integer not between 1 and 65535 then
    perform tenure.refuse('text_invalid', format('The url %L has no valid port.', tenure.excerpt(p_url)),
      'A port is a number between 1 and 65535.', 'Correct the port, or leave it out.');
  end if;
end
$$;

-- Subscribes to events: p_event_kinds are kinds such as job.dead_lettered, job.* or *; p_filter limits them
-- by job_kind, executor, actor, subject and data (contained in the event's data).
-- A match becomes a job (p_job_kind), is sent to a webhook (p_url), or waits for a reader. p_from: now,
-- start, or a cursor. The secret of a webhook is shown only here.
-- granted to: admin, operator
create or replace function tenure.subscription_create(
  p_name text, p_event_kinds text[], p_target text, p_filter jsonb default '{}', p_from text default 'now',
  p_job_kind text default null, p_executor text default null, p_priority integer default null,
  p_depth_max integer default null, p_url text default null, p_on_behalf_of text default null) returns jsonb
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
  perform tenure.check_number('The number of event kinds', coalesce(cardinality(p_event_kinds), 0), 1,
    tenure.limit_of('event_kinds_max'));
  foreach v_word in array p_event_kinds loop
    if split_part(v_word, '.', 1) in ('subscription', 'delivery') then
      perform tenure.refuse('value_unknown', format('%L names no events to subscribe to.', v_word),
        'A subscription to the events of subscriptions and deliveries would feed itself.',
        'Use a kind such as job.dead_lettered; tenure.event_list() shows them.');
    end if;
    perform tenure.check_event_kind(v_word);
  end loop;
  if jsonb_typeof(coalesce(p_filter, '{}')) <> 'object' then
    perform tenure.refuse('payload_not_object', 'The filter is not a JSON object.',
      'It names what an event must say.', 'Give an object such as {"job_kind": "report"}.');
  end if;
  for v_word in select f from jsonb_object_keys(coalesce(p_filter, '{}')) f loop
    perform tenure.check_word('value_unknown', 'field of a filter', v_word,
      array['job_kind', 'executor', 'actor', 'subject', 'data']);
    if jsonb_typeof(p_filter -> v_word) <> (case v_word when 'data' then 'object' else 'string' end) then
      perform tenure.refuse('text_invalid',
        format('The field %s of the filter is no %s.',
          v_word, case v_word when 'data' then 'object' else 'text' end),
        'All but data is compared as text; data is an object that the event''s must contain.',
        'Give it as such.');
    end if;
  end loop;
  perform tenure.check_json_numbers('filter', p_filter);
  perform tenure.check_payload('filter', coalesce(p_filter, '{}')::json,
    tenure.limit_of('metadata_bytes_max'));
  if (p_job_kind is not null) <> (p_target = 'job')
     or (p_url is not null) <> (p_target = 'webhook')
     or (p_target <> 'job' and num_nonnulls(p_executor, p_priority, p_depth_max) > 0) then
    perform tenure.refuse('arguments_mismatched',
      format('A subscription with the target %s has other parts.', p_target),
      'A job takes its kind, and perhaps executor, priority and depth; a webhook its URL; a reader nothing.',
      'Leave out what belongs to another target, and give what belongs to this one.');
  end if;
  if p_target = 'job' then
    perform tenure.check_number('The priority', coalesce(p_priority, 0), -32767, 32767);
    perform tenure.check_number('The depth', coalesce(p_depth_max, 8), 1,
      tenure.limit_of('subscription_depth_max'));
    -- The caller needs the right to enqueue these jobs. Two statements: the second sees a lane that the first
    -- has made.
    v_lane := tenure.lane_ensure(v_caller, p_job_kind, p_executor);
    perform tenure.check_enqueue_rights(v_caller, array[v_lane]);
  elsif p_target = 'webhook' then
    perform tenure.check_webhook_url(p_url);
  end if;
  v_at := tenure.stream_place(p_from);
  insert into tenure.subscriptions (tenant_id, name, target, event_kinds, filter, job_kind, executor,
    priority, depth_max, url, secret, epoch, txid, seq, moved_at, created_at, created_by)
  values (v_caller.tenant_id, p_name, p_target, p_event_kinds, coalesce(p_filter, '{}'), p_job_kind,
    p_executor, coalesce(p_priority, 0), coalesce(p_depth_max, 8), p_url,
    case when p_target = 'webhook' then tenure.random_secret() end,
    v_at.epoch, v_at.txid, v_at.seq, v_now, v_now, v_caller.principal)
  on conflict (tenant_id, name) do nothing
  returning * into v_new;
  if not found then
    perform tenure.refuse('subscription_exists', format('There is already a subscription %L.', p_name),
      'Names of subscriptions are unique within a tenant.', 'Use it, delete it, or choose another name.');
  end if;
  perform tenure.emit(v_now, v_caller.tenant_id, 'subscription.created', v_caller.principal, p_on_behalf_of,
    p_name,
    jsonb_strip_nulls(jsonb_build_object(
      'target', p_target,
      'event_kinds', p_event_kinds,
      'job_kind', p_job_kind,
      'executor', p_executor)));
  return tenure.subscription_row(v_new) || case
    when v_new.secret is null then '{}'
    else jsonb_build_object('signing_key', tenure.secret_text(v_new.secret))
  end;
end
$$;

-- 32 bytes that cannot be guessed.
create or replace function tenure.random_secret() returns bytea
language sql volatile
as $$
  select sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())
    || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid()))
$$;

-- The secret in the form that receivers of webhooks expect.
create or replace function tenure.secret_text(p_secret bytea) returns text
language sql immutable
as $$
  select 'whsec_' || replace(encode(p_secret, 'base64'), E'\n', '')
$$;
