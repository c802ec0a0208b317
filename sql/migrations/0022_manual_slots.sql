-- A run by hand stands for the moment it was asked for. Rules name whole seconds, so a run by hand is never
-- in the place of a slot of the rule. Runs by hand from before this may have whole seconds too.

alter table tenure.planned_slots drop constraint planned_slots_plan_time_check;
alter table tenure.planned_slots add constraint planned_slots_plan_time_check check (
  isfinite(plan_time)
  and (origin = 'manual' or extract(epoch from plan_time) = trunc(extract(epoch from plan_time))));
comment on column tenure.planned_slots.plan_time is
  'The moment it stands for: a whole second of the rule; of a run by hand the moment it was asked for.';
