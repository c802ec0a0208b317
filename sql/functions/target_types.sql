-- Target types: how a reference is compared, and what makes two references look alike.

-- A reference as locks and rules compare it. Only A to Z are folded, so that the result does not depend on
-- the locale of the server.
create or replace function tenure.target_folded(p_tenant_id integer, p_type text, p_ref text) returns text
language plpgsql stable
as $$
begin
  if exists (
    select
      from tenure.target_types t
     where t.tenant_id = p_tenant_id
       and t.name = p_type
       and t.case_rule = 'lower'
  ) then
    return lower(p_ref collate "C");
  end if;
  return p_ref;
end
$$;

-- Whether one of the globs matches the target; null globs match every target. With p_fold upper and lower
-- case are equal.
create or replace function tenure.target_matches(p_ref text, p_globs text[], p_fold boolean) returns boolean
language sql immutable parallel safe
as $$
  select p_globs is null
      or case
           when p_fold then tenure.matches_any(lower(p_ref collate "C"),
             array(select lower(g collate "C") from unnest(p_globs) g))
           else tenure.matches_any(p_ref, p_globs)
         end
$$;

-- Why a text can be mistaken for another that looks the same, or null: it mixes scripts whose letters share
-- shapes, or it differs from its NFKC form (full-width letters, ligatures, loose accents).
create or replace function tenure.look_alike(p_text text) returns text
language plpgsql immutable
set search_path = pg_catalog, pg_temp
set standard_conforming_strings = on
as $$
declare
  v_scripts text[];
begin
  if p_text !~ '[^\u0001-\u007f]' then
    return null;
  end if;
  if p_text is not nfkc normalized then
    return 'characters that Unicode writes in another way (its NFKC form differs)';
  elsif p_text ~ '[\u2010-\u2015\u2043\u2212]' then
    return 'a dash that is not the hyphen of the keyboard';
  end if;
  select array_agg(s.name order by s.n) into v_scripts
    from (values
      (1, 'Latin', '[A-Za-z\u00c0-\u024f\u1e00-\u1eff]'),
      (2, 'Cyrillic', '[\u0400-\u052f\u1c80-\u1c8f\u2de0-\u2dff\ua640-\ua69f]'),
      (3, 'Greek', '[\u0370-\u03ff\u1f00-\u1fff]'),
      (4, 'Armenian', '[\u0530-\u058f]'),
      (5, 'Cherokee', '[\u13a0-\u13ff\uab70-\uabbf]'),
      (6, 'phonetic', '[\u0250-\u02af\u1d00-\u1dbf\ua720-\ua7ff]'),
      (7, 'Coptic', '[\u2c80-\u2cff]'),
      (8, 'Lisu', '[\ua4d0-\ua4ff]')) s (n, name, letters)
   where p_text ~ s.letters;
  if cardinality(v_scripts) > 1 then
    return 'letters of several scripts: ' || array_to_string(v_scripts, ' and ');
  end if;
  return null;
end
$$;

-- Refuses a plan with targets that can be mistaken for others. Open mode is not checked.
create or replace function tenure.check_look_alikes(p_tenant_id integer, p_plan jsonb) returns void
language plpgsql
as $$
declare
  v_step record;
begin
  if (tenure.setting(p_tenant_id, 'executions.actions.open'))::boolean then
    return;
  end if;
  select s.step_number, f.field, f.value, tenure.look_alike(f.value) as why into v_step
    from tenure.plan_steps(p_plan) s
    cross join lateral (
      values (1, 'target_type', s.target_type), (2, 'target_ref', s.target_ref)) f (n, field, value)
   where tenure.look_alike(f.value) is not null
   order by s.step_number, f.n
   limit 1;
  if found then
    perform tenure.refuse('name_invalid',
      format('steps[%s].%s is %s.', v_step.step_number - 1, v_step.field, tenure.plan_quoted(v_step.value)),
      format('It has %s, and could be taken for another target.', v_step.why),
      'Write it in one script and in its usual form; open mode (executions.actions.open) does not check it.');
  end if;
end
$$;

-- Registers or changes a target type: {"case_rule": "exact" or "lower", "note"}. Answers the type, or the
-- change that waits for a second admin.
-- granted to: admin
create or replace function tenure.target_type_set(p_name text, p_spec jsonb) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
  v_field  text;
begin
  perform tenure.check_tenant(v_caller.tenant_id);
  perform tenure.refuse_agent(v_caller);
  perform tenure.check_name('target type', p_name);
  if strpos(p_name, ':') > 0 then
    perform tenure.refuse('name_invalid', format('The target type %L has a colon.', p_name),
      'It is part of the key of a lock, whose parts are joined by colons.', 'Use a dot or a dash.');
  end if;
  if jsonb_typeof(p_spec) is distinct from 'object' then
    perform tenure.refuse('payload_not_object', 'The specification is not a JSON object.',
      'It names the case rule.', 'Give an object such as {"case_rule": "lower"}.');
  end if;
  for v_field in select jsonb_object_keys(p_spec) loop
    perform tenure.check_word('value_unknown', 'field of a target type', v_field, array['case_rule', 'note']);
  end loop;
  perform tenure.check_word('value_unknown', 'case rule', p_spec ->> 'case_rule', array['exact', 'lower']);
  if p_spec ? 'note' then
    perform tenure.check_note(p_spec -> 'note');
  end if;
  return tenure.governance_change(v_caller, 'target_type', p_name, 'set', p_spec);
end
$$;

-- Writes a target type that was checked. Its case rule cannot change while steps or locks use the old one:
-- two steps could then hold the same target under two keys.
create or replace function tenure.target_type_write(
  p_tenant_id integer, p_now timestamptz, p_author text, p_name text, p_spec jsonb)
returns void
language plpgsql
as $$
begin
  perform tenure.check_target_type_unused(p_tenant_id, p_name, p_spec ->> 'case_rule');
  insert into tenure.target_types (tenant_id, name, case_rule, note, updated_at, updated_by)
  values (p_tenant_id, p_name, p_spec ->> 'case_rule', coalesce(p_spec ->> 'note', ''), p_now, p_author)
  on conflict (tenant_id, name) do update
    set case_rule = excluded.case_rule,
        note = excluded.note,
        updated_at = excluded.updated_at,
        updated_by = excluded.updated_by;
end
$$;

-- Waits until no submission of the tenant is under way, for a second at most, and keeps new ones waiting.
create or replace function tenure.submissions_exclude(p_tenant_id integer) returns void
language plpgsql
set lock_timeout = '1s'
as $$
begin
  perform from tenure.tunings t where t.tenant_id in (p_tenant_id, 0) order by t.tenant_id for update;
exception when lock_not_available then
  perform tenure.refuse('busy_try_again', 'A transaction that submits a plan or takes a lock has not ended.',
    'The case rule of a target type changes only between submissions.', 'Try again.');
end
$$;

-- Keeps the case rules of target types as they are until the transaction ends. Submissions do not wait for
-- each other, nor for changes of the configuration.
create or replace function tenure.case_rules_keep(p_tenant_id integer) returns void
language sql
as $$
  select from tenure.tunings t where t.tenant_id in (p_tenant_id, 0) order by t.tenant_id for key share
$$;

-- Refuses a change of the case rule of a type that unfinished steps or locks use.
create or replace function tenure.check_target_type_unused(p_tenant_id integer, p_name text, p_case_rule text)
returns void
language plpgsql
as $$
declare
  v_before text := coalesce((
    select t.case_rule
      from tenure.target_types t
     where t.tenant_id = p_tenant_id
       and t.name = p_name), 'exact');
begin
  if v_before = p_case_rule then
    return;
  end if;
  -- None is half done now. A submission that read the old rule and comes later is refused by its own
  -- comparison (execution_admit).
  perform tenure.submissions_exclude(p_tenant_id);
  if exists (
       select from tenure.execution_rows e
         join tenure.step_rows s on s.execution_id = e.execution_id
        where e.tenant_id = p_tenant_id
          and e.state in ('pending', 'awaiting_approval', 'approved', 'running')
          and s.target_type = p_name
          and s.ended_at is null
          and s.lock_target is not null)
     or exists (
       select
         from tenure.locks l
        where l.tenant_id = p_tenant_id
          and split_part(l.target, ':', 1) = p_name) then
    perform tenure.refuse('state_conflict',
      format('The case rule of %L cannot become %s now.', p_name, p_case_rule),
      'Unfinished steps or locks of this type use the rule that was.',
      'Wait until they have ended, and try again.');
  end if;
end
$$;

-- Removes a target type: its references are compared exactly from then on. Answers the change if it waits
-- for a second admin.
-- granted to: admin
create or replace function tenure.target_type_delete(p_name text) returns jsonb
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_caller tenure.caller_identity := tenure.caller();
begin
  perform tenure.check_tenant(v_caller.tenant_id);
  perform tenure.refuse_agent(v_caller);
  return tenure.governance_change(v_caller, 'target_type', p_name, 'delete', null);
end
$$;

-- The registered target types of the tenant, by name.
-- granted to: all
create or replace function tenure.target_type_list()
returns table (name text, case_rule text, note text, updated_at timestamptz, updated_by text)
language plpgsql stable security definer
set search_path = pg_catalog, pg_temp
as $$
begin
  return query
    select t.name, t.case_rule, t.note, t.updated_at, t.updated_by
      from tenure.target_types t
     where t.tenant_id = tenure.current_tenant()
     order by t.name;
end
$$;
