-- A job carries the trace it was enqueued in, so that whoever runs it goes on with it.

-- The trace of the transaction: the setting tenure.traceparent, if it is one as W3C writes it (version 00, 55 characters). Anything else is no trace, and nobody is refused for it.
-- Part of the structure, because a default asks it; plain enough to be written out in place by the planner, and without a regular expression, which costs more than all of it.
create function tenure.traceparent() returns text
language sql stable parallel safe
as $$
  select case
    when length(current_setting('tenure.traceparent', true)) = 55
     and current_setting('tenure.traceparent', true) like '00-________________________________-________________-__'
     and translate(current_setting('tenure.traceparent', true), '0123456789abcdef', '') = '---'
     and current_setting('tenure.traceparent', true) not like '00-00000000000000000000000000000000-%'
     and current_setting('tenure.traceparent', true) not like '%-0000000000000000-__'
    then current_setting('tenure.traceparent', true)
  end
$$;

-- First without, then with the default: jobs that stand already belong to no trace, whoever migrates.
alter table tenure.jobs add column traceparent text;
alter table tenure.jobs alter column traceparent set default tenure.traceparent();
comment on column tenure.jobs.traceparent is 'The trace and span it was enqueued in, as a W3C traceparent. Null: none was named.';
