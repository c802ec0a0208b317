-- Dead letters for operators: a summary, and those that are not closed.

create or replace view tenure.dead_letter_summary with (security_invoker = true) as
select d.tenant_id, d.kind as job_kind, d.triage_status,
       count(*) as row_count,
       min(d.moved_at) as oldest_moved_at,
       max(d.moved_at) as newest_moved_at,
       count(distinct d.fingerprint) as fingerprints
  from tenure.dead_letters d
 group by d.tenant_id, d.kind, d.triage_status;
comment on view tenure.dead_letter_summary is 'Dead letters per kind and triage status.';

create or replace view tenure.dead_letters_open with (security_invoker = true) as
select d.dead_letter_id, d.tenant_id, d.job_id, d.kind as job_kind, d.executor, d.attempts, d.error_code,
       d.error_class, d.final_error, d.fingerprint, d.moved_at, d.moved_by, d.triage_status, d.triage_note,
       d.triaged_at, d.triaged_by
  from tenure.dead_letters d
 where d.triage_status <> 'closed';
comment on view tenure.dead_letters_open is 'Dead letters that somebody still has to decide about.';
