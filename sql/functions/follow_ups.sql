-- Follow-ups: notes for the next tick. Who notes one, and who does one, must not wait for each other, or two
-- transactions that hold each other's executions could. So a tick reads them without a lock, locks what the
-- follow-up is about (and passes over what another transaction holds), and only then deletes the note.

-- Notes one follow-up for each of these subjects. One that is noted already is updated, not left as it is: a
-- tick that is doing it then keeps the note, or this transaction waits for the tick and notes it anew.
create or replace function tenure.follow_up_note(
  p_task text, p_tenants integer[], p_subjects text[], p_due_at timestamptz, p_reason text default null)
returns void
language sql
as $$
  insert into tenure.follow_ups (task, subject, tenant_id, due_at, reason)
  select p_task, t.subject, t.tenant_id, p_due_at, p_reason
    from unnest(p_tenants, p_subjects) t (tenant_id, subject)
   group by t.tenant_id, t.subject
   order by t.tenant_id, t.subject
  on conflict (task, subject, tenant_id) do update
    set due_at = excluded.due_at,
        reason = excluded.reason
$$;

-- The follow-ups of one task that are due, oldest first, at most p_limit of them. Those of other tenants are
-- passed over one by one, 0.1 µs each: a tenant whose gate is closed gets no more of them.
create or replace function tenure.follow_ups_due(p_task text, p_tenants integer[], p_limit integer)
returns table (tenant_id integer, subject text)
language sql stable
as $$
  select f.tenant_id, f.subject
    from tenure.follow_ups f
   where f.task = p_task
     and f.tenant_id = any (p_tenants)
   order by f.due_at
   limit p_limit
$$;

-- Deletes the note of a follow-up that is being done; answers false when another transaction has done it, or
-- is about to note it again. In the same subtransaction as the work: an error brings the note back.
create or replace function tenure.follow_up_take(p_task text, p_tenant_id integer, p_subject text)
returns boolean
language plpgsql
as $$
begin
  delete from tenure.follow_ups f
   where f.ctid = any (array(
           select x.ctid
             from tenure.follow_ups x
            where x.task = p_task
              and x.subject = p_subject
              and x.tenant_id = p_tenant_id
              for update skip locked));
  return found;
end
$$;

-- Records why a follow-up could not be done, and puts it behind the others.
create or replace function tenure.follow_up_failed(
  p_task text, p_tenant_id integer, p_subject text, p_now timestamptz, p_reason text) returns void
language plpgsql
as $$
begin
  raise warning 'follow-up % of % failed: %', p_task, p_subject, p_reason;
  update tenure.follow_ups f
     set due_at = p_now,
         reason = p_reason
   where f.task = p_task
     and f.subject = p_subject
     and f.tenant_id = p_tenant_id;
end
$$;
