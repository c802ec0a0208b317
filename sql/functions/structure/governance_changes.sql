-- The guards of governance changes.

-- A proposal is decided once, and its content never changes. The principal it was proposed for does not
-- approve it (a check of the table refuses the proposer), nor does a caller that one of the two made.
create or replace function tenure.governance_changes_move() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  if old.state <> 'pending'
     or (old.change_id, old.tenant_id, old.subject, old.name, old.operation, old.old, old.new,
         old.proposed_at, old.proposed_by, old.proposed_makers, old.proposed_means, old.on_behalf_of)
        is distinct from (new.change_id, new.tenant_id, new.subject, new.name, new.operation, new.old,
          new.new, new.proposed_at, new.proposed_by, new.proposed_makers, new.proposed_means,
          new.on_behalf_of)
  then
    raise exception using
      errcode = 'TN014',
      message = format('Change %s is %s and cannot be changed.', old.change_id, old.state),
      detail = 'A proposal is decided once; its content never changes.',
      hint = 'Propose another change.';
  end if;
  if new.state = 'approved'
     and (new.decided_by = old.on_behalf_of
          or new.decided_makers && array[old.proposed_by, old.on_behalf_of]) then
    raise exception using
      errcode = 'TN014',
      message = format('%s cannot approve change %s.', new.decided_by, old.change_id),
      detail = 'They requested it, or a requester made the key, login or principal they used.',
      hint = 'Let another admin decide about it.';
  end if;
  return new;
end
$$;

create or replace function tenure.governance_changes_kept() returns trigger
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  raise exception using
    errcode = 'TN014',
    message = 'A row of governance_changes cannot be deleted.',
    detail = 'It says who proposed and who approved a change.',
    hint = 'Reject a proposal that is not wanted.';
end
$$;
