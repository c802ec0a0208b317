-- Refusals: what happened, why, and what to do next, under a stable code. A function that refuses raises
-- (SQLSTATE class TN; message, detail and hint), so that a transaction cannot commit past a refusal it did
-- not read. The try_ functions return it as a value: {"refused": true, "code", "what", "why", "next"}.
--
-- Caught item by item: a function that works through many items (schedules, slots, subscriptions) catches the
-- error of one, records it with that item and goes on, so that one bad item never stops the others. No other
-- function turns an error into a value.

-- Every code with its SQLSTATE.
-- granted to: all
create or replace function tenure.refusal_codes() returns table (code text, sqlstate text)
language sql immutable parallel safe
as $$
  values
    ('gate_closed', 'TN001'), ('kind_unknown', 'TN002'), ('name_blank', 'TN003'), ('name_invalid', 'TN004'),
    ('payload_forbidden_key', 'TN005'), ('payload_too_large', 'TN006'), ('payload_not_object', 'TN007'),
    ('number_out_of_range', 'TN008'), ('executor_unknown', 'TN009'), ('executor_cannot_claim', 'TN010'),
    ('executor_not_driven', 'TN011'), ('kind_not_allowed', 'TN012'), ('job_not_found', 'TN013'),
    ('state_conflict', 'TN014'), ('stale_lease', 'TN015'), ('lease_expired', 'TN016'),
    ('cancel_not_requested', 'TN017'), ('deadline_passed', 'TN018'), ('key_taken', 'TN019'),
    ('id_taken', 'TN020'), ('id_invalid', 'TN021'), ('token_reused', 'TN022'), ('busy_try_again', 'TN023'),
    ('batch_too_large', 'TN024'), ('config_unknown', 'TN025'), ('config_invalid', 'TN026'),
    ('tenant_unknown', 'TN027'), ('tenant_exists', 'TN028'), ('login_unbound', 'TN029'),
    ('not_permitted', 'TN030'), ('dead_letter_not_found', 'TN031'), ('replay_needs_triage', 'TN032'),
    ('already_replayed', 'TN033'), ('state_unknown', 'TN034'), ('priority_unknown', 'TN035'),
    ('schedule_too_far', 'TN036'), ('deadline_invalid', 'TN037'), ('lease_seconds_out_of_range', 'TN038'),
    ('result_too_large', 'TN039'), ('cursor_invalid', 'TN040'), ('arguments_mismatched', 'TN041'),
    ('text_invalid', 'TN042'), ('value_unknown', 'TN043'), ('executor_name_shared', 'TN044'),
    ('kind_not_found', 'TN045'), ('key_invalid', 'TN046'), ('principal_unknown', 'TN047'),
    ('principal_exists', 'TN048'), ('key_not_found', 'TN049'), ('subscription_unknown', 'TN050'),
    ('subscription_exists', 'TN051'), ('delivery_unknown', 'TN052'), ('schedule_unknown', 'TN053'),
    ('schedule_exists', 'TN054'), ('expression_invalid', 'TN055'), ('zone_unknown', 'TN056'),
    ('expression_never_fires', 'TN057'), ('expression_too_frequent', 'TN058'), ('range_invalid', 'TN059'),
    ('backfill_too_large', 'TN060'), ('plan_invalid', 'TN061'), ('plan_cycle', 'TN062'),
    ('plan_too_large', 'TN063'), ('execution_unknown', 'TN064'), ('step_unknown', 'TN065'),
    ('approval_unknown', 'TN066'), ('approval_decided', 'TN067'), ('approval_expired', 'TN068'),
    ('plan_hash_mismatch', 'TN069'), ('self_approval', 'TN070'), ('plan_differs', 'TN071'),
    ('comment_required', 'TN072'), ('lock_held', 'TN073'), ('lock_unknown', 'TN074'), ('lock_lost', 'TN075'),
    ('rule_unknown', 'TN076'), ('target_unknown', 'TN077'), ('runbook_required', 'TN078'),
    ('evidence_key_missing', 'TN079'), ('parent_cycle', 'TN080'), ('request_key_reused', 'TN081'),
    ('request_under_way', 'TN082'), ('kind_only_by_plan', 'TN083'), ('action_unknown', 'TN084'),
    ('action_lowered', 'TN085'), ('action_kind_refused', 'TN086'), ('governance_change_unknown', 'TN087'),
    ('target_type_unknown', 'TN088'), ('anchor_unknown', 'TN089')
$$;

-- Raises the refusal. Never returns.
-- granted to: all
create or replace function tenure.refuse(p_code text, p_what text, p_why text, p_next text) returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_sqlstate text;
begin
  select c.sqlstate into strict v_sqlstate from tenure.refusal_codes() c where c.code = p_code;
  raise exception using errcode = v_sqlstate, message = p_what, detail = p_why, hint = p_next;
end
$$;

-- The code of a refusal, or null for an error that is not one.
create or replace function tenure.sqlstate_code(p_sqlstate text) returns text
language sql immutable parallel safe
as $$ select c.code from tenure.refusal_codes() c where c.sqlstate = p_sqlstate $$;

-- Turns a caught error into the refusal value. An error that is not a refusal is raised again: it is a fault
-- of Tenure, not of the caller.
-- granted to: all
create or replace function tenure.refusal(p_sqlstate text, p_what text, p_why text, p_next text) returns jsonb
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_code text;
begin
  -- Not by sqlstate_code: this runs with the rights of the caller, who may not call that.
  select c.code into v_code from tenure.refusal_codes() c where c.sqlstate = p_sqlstate;
  if not found then
    raise exception using errcode = p_sqlstate, message = p_what, detail = p_why, hint = p_next;
  end if;
  return jsonb_build_object('refused', true, 'code', v_code, 'what', p_what, 'why', p_why, 'next', p_next);
end
$$;

-- The beginning of a wrong value, as a refusal shows it.
create or replace function tenure.excerpt(p_text text) returns text
language sql immutable parallel safe
as $$ select left(p_text, tenure.limit_of('excerpt_chars_max')::integer) $$;
