-- How each refusal is provoked, for the examples in docs/errors/: the body of a DO block that raises it,
-- under its code. The block has v jsonb, u uuid and a plan of one step; fixture.later(interval) moves the
-- clock of the transaction.

-- code: gate_closed
perform tenure.gate_set('queue.job_substrate.enabled', 'closed');
perform tenure.job_enqueue('mail.send');

-- code: kind_unknown
perform tenure.kind_set('mail.send', '{}');
perform tenure.config_set('queue.kind.strict', 'true');
perform tenure.job_enqueue('mail.sned');

-- code: kind_only_by_plan
perform tenure.kind_set('service.restart', '{"only_by_plan": true}');
perform tenure.job_enqueue('service.restart');

-- code: name_blank
perform tenure.job_enqueue(' ');

-- code: name_invalid
perform tenure.job_enqueue(repeat('a', 312));

-- code: payload_forbidden_key
perform tenure.job_enqueue('mail.send', '{"login": {"Password": "x"}}');

-- code: payload_too_large
perform tenure.job_enqueue('mail.send', jsonb_build_object('text', repeat('x', 20000)));

-- code: payload_not_object
perform tenure.job_enqueue('mail.send', '[7]');

-- code: number_out_of_range
perform tenure.job_enqueue('mail.send', p_attempts_max => 0);

-- code: executor_unknown
perform tenure.job_enqueue('mail.send', p_executor => 'Codexx');

-- code: executor_cannot_claim
perform tenure.job_claim('worker-1', 'MOT');

-- code: job_not_found
perform tenure.job_show('01990000-0000-7000-8000-000000000001');

-- code: state_conflict
v := tenure.job_enqueue('mail.send');
v := tenure.job_claim('worker-1', p_mode => 'started') -> 'job';
perform tenure.job_complete((v ->> 'job_id')::uuid, (v ->> 'token')::uuid);
perform tenure.job_cancel((v ->> 'job_id')::uuid, 'no longer needed');

-- code: stale_lease
v := tenure.job_enqueue('mail.send');
perform tenure.job_complete((v ->> 'job_id')::uuid, gen_random_uuid());

-- code: lease_expired
v := tenure.job_enqueue('mail.send');
v := tenure.job_claim('worker-1', p_mode => 'started') -> 'job';
perform fixture.later('1 hour');
perform tenure.job_complete((v ->> 'job_id')::uuid, (v ->> 'token')::uuid);

-- code: cancel_not_requested
v := tenure.job_enqueue('mail.send');
v := tenure.job_claim('worker-1', p_mode => 'started') -> 'job';
perform tenure.job_acknowledge_cancel((v ->> 'job_id')::uuid, (v ->> 'token')::uuid);

-- code: deadline_passed
v := tenure.job_enqueue('mail.send', p_deadline => tenure.now() + interval '1 minute');
v := tenure.job_claim('worker-1', p_lease_seconds => 600) -> 'job';
perform fixture.later('2 minutes');
v := tenure.job_start((v ->> 'job_id')::uuid, (v ->> 'token')::uuid);
perform tenure.refuse(v ->> 'code', v ->> 'what', v ->> 'why', v ->> 'next');

-- code: key_taken
perform tenure.kind_set('mail.send', '{"on_exhausted": "fail", "attempts_max": 1}');
perform tenure.job_enqueue('mail.send', p_key => 'order-7');
v := tenure.job_claim('worker-1', p_mode => 'started') -> 'job';
perform tenure.job_fail((v ->> 'job_id')::uuid, (v ->> 'token')::uuid, 'no route');
perform tenure.job_enqueue('mail.send', p_key => 'order-7');
perform tenure.job_retry((v ->> 'job_id')::uuid);

-- code: id_taken
v := tenure.job_enqueue('mail.send');
perform tenure.job_enqueue('mail.send', p_job_id => (v ->> 'job_id')::uuid);

-- code: id_invalid
perform tenure.job_enqueue('mail.send', p_job_id => 'f47ac10b-58cc-4372-a567-0e02b2c3d479');

-- code: token_reused
perform tenure.job_enqueue('mail.send');
perform tenure.job_enqueue('mail.send');
u := gen_random_uuid();
perform tenure.job_claim_many('worker-1', p_token => u);
perform tenure.job_claim_many('worker-1', p_token => u);

-- code: batch_too_large
perform tenure.job_enqueue_many(array_fill('mail.send'::text, array[5000]));

-- code: config_unknown
perform tenure.config_set('queue.lease.duration_se', '60');

-- code: config_invalid
perform tenure.config_set('queue.lease.duration_sec', '"soon"');

-- code: tenant_unknown
perform set_config('tenure.tenant', 'acme', true);
perform tenure.job_enqueue('mail.send');

-- code: tenant_exists
perform tenure.tenant_create('acme');
perform tenure.tenant_create('acme');

-- code: dead_letter_not_found
perform tenure.dead_letter_show('01990000-0000-7000-8000-000000000001');

-- code: replay_needs_triage
v := tenure.job_enqueue('mail.send');
perform tenure.job_dead_letter((v ->> 'job_id')::uuid, 'the source was deleted');
select d.dead_letter_id into u from tenure.dead_letters d;
perform tenure.dead_letter_replay(u);

-- code: already_replayed
v := tenure.job_enqueue('mail.send');
perform tenure.job_dead_letter((v ->> 'job_id')::uuid, 'the source was deleted');
select d.dead_letter_id into u from tenure.dead_letters d;
perform tenure.dead_letter_triage(u, 'manual_replay', 'the source is back');
perform tenure.dead_letter_replay(u);
perform tenure.dead_letter_replay(u);

-- code: state_unknown
perform tenure.job_list(p_state => '{runing}');

-- code: priority_unknown
perform tenure.job_enqueue('mail.send', p_priority => 'urgnt');

-- code: schedule_too_far
perform tenure.job_enqueue('mail.send', p_due => tenure.now() + interval '4000 days');

-- code: deadline_invalid
perform tenure.job_enqueue('mail.send', p_due => tenure.now() + interval '2 hours',
  p_deadline => tenure.now() + interval '1 hour');

-- code: lease_seconds_out_of_range
perform tenure.job_claim('worker-1', p_lease_seconds => 100000);

-- code: result_too_large
v := tenure.job_enqueue('mail.send');
v := tenure.job_claim('worker-1', p_mode => 'started') -> 'job';
perform tenure.job_complete((v ->> 'job_id')::uuid, (v ->> 'token')::uuid,
  jsonb_build_object('text', repeat('x', 20000)));

-- code: cursor_invalid
perform tenure.event_list('yesterday');

-- code: arguments_mismatched
perform tenure.job_enqueue_many(array['mail.send', 'mail.send', 'mail.send'], p_keys => array['a', 'b']);

-- code: value_unknown
v := tenure.job_enqueue('mail.send');
perform tenure.job_dead_letter((v ->> 'job_id')::uuid, 'the source was deleted');
select d.dead_letter_id into u from tenure.dead_letters d;
perform tenure.dead_letter_triage(u, 'acknowleged');

-- code: kind_not_found
perform tenure.kind_show('mail.sned');

-- code: principal_unknown
perform tenure.key_create('anna', 'abcd2345', sha256('s'), array['viewer']);

-- code: principal_exists
perform tenure.principal_create('anna', 'human');
perform tenure.principal_create('anna', 'human');

-- code: key_not_found
perform tenure.key_revoke('abcd2345');

-- code: key_invalid
perform tenure.principal_create('anna', 'human');
perform tenure.key_create('anna', 'abcd2345', sha256('s'), array['viewer']);
u := tenure.key_check('abcd2345', sha256('s'));
perform tenure.key_revoke('abcd2345');
perform tenure.act_for_key(u, 'job_list', null, 'docs');

-- code: subscription_unknown
perform tenure.subscription_pause('audit');

-- code: subscription_exists
perform tenure.subscription_create('audit', array['job.*'], 'reader');
perform tenure.subscription_create('audit', array['job.*'], 'reader');

-- code: delivery_unknown
perform tenure.delivery_retry('01990000-0000-7000-8000-000000000001');

-- code: schedule_unknown
perform tenure.schedule_show('nightly');

-- code: schedule_exists
perform tenure.schedule_create('nightly', '{"kind": "report", "every_seconds": 3600}');
perform tenure.schedule_create('nightly', '{"kind": "report", "every_seconds": 3600}');

-- code: expression_too_frequent
perform tenure.schedule_create('nightly', '{"kind": "report", "every_seconds": 5}');

-- code: range_invalid
perform tenure.schedule_create('nightly',
  '{"kind": "a", "every_seconds": 60, "start_at": "2026-12-02T00:00:00Z", "end_at": "2026-12-01T00:00:00Z"}');

-- code: plan_invalid
perform tenure.execution_submit(replace(plan, '"needs": []', '"needs": ["drian"]'));

-- code: plan_cycle
perform tenure.execution_submit(replace(plan, '"needs": []', '"needs": ["drain"]'));

-- code: plan_too_large
perform tenure.execution_submit(replace(plan, '"purpose": "', '"purpose": "' || repeat('x', 2000000)));

-- code: execution_unknown
perform tenure.execution_show('01990000-0000-7000-8000-000000000001');

-- code: step_unknown
v := tenure.execution_submit(plan);
perform tenure.execution_resolve((v ->> 'execution_id')::uuid, 'drian', 'succeeded', 'seen');

-- code: approval_unknown
perform tenure.approval_show('01990000-0000-7000-8000-000000000001');

-- code: approval_decided
v := tenure.execution_submit(plan);
perform fixture.decide(v, 'maria', 'reject', 'The runbook does not say how to go back.');
perform fixture.decide(v, 'maria', 'approve', null);

-- code: approval_expired
v := tenure.execution_submit(plan);
perform fixture.later('30 days');
perform fixture.decide(v, 'maria', 'approve', null);

-- code: plan_hash_mismatch
v := tenure.execution_submit(plan);
perform fixture.decide(jsonb_set(v, '{plan_hash}', to_jsonb(encode(sha256('another'), 'hex'))), 'maria',
  'approve', null);

-- code: self_approval
perform set_config('tenure.principal', 'maria', true);
v := tenure.execution_submit(plan);
perform fixture.decide(v, 'maria', 'approve', null);

-- code: plan_differs
v := tenure.execution_submit(plan, p_key => 'release-7');
perform tenure.execution_submit(replace(plan, 'web-1', 'web-2'), p_key => 'release-7');

-- code: comment_required
v := tenure.execution_submit(plan);
perform fixture.decide(v, 'maria', 'reject', null);

-- code: lock_held
perform set_config('tenure.principal', 'maria', true);
perform tenure.lock_acquire(array['host:web-1'], 60);
perform set_config('tenure.principal', 'paul', true);
perform tenure.lock_acquire(array['host:web-1'], 60);

-- code: lock_unknown
perform tenure.lock_break('host:web-1', 'not needed');

-- code: lock_lost
v := tenure.lock_acquire(array['host:web-1'], 60);
perform tenure.lock_break('host:web-1', 'not needed');
perform tenure.lock_renew(array['host:web-1'], array[(v -> 'locks' -> 0 ->> 'fence')::bigint], 60);

-- code: rule_unknown
perform tenure.approval_rule_delete('night');

-- code: action_unknown
perform tenure.action_delete('service.*');

-- code: action_lowered
perform tenure.action_set('drain', '{"action_class": "deploy", "level_min": 2}');
perform tenure.execution_submit(plan);

-- code: action_kind_refused
perform tenure.action_set('drain', '{"action_class": "modify", "kinds": ["service.restart"]}');
perform tenure.execution_submit(plan);

-- code: governance_change_unknown
perform tenure.governance_change_decide('0193f5a0-0000-7000-8000-000000000000', 'approve');

-- code: target_type_unknown
perform tenure.target_type_delete('host');

-- code: target_unknown
perform tenure.config_set('executions.targets.strict', 'true');
perform tenure.execution_submit(plan);

-- code: runbook_required
perform tenure.approval_rule_set('web', '{"position": 10, "target_types": ["host"], "level": 2}');
perform tenure.execution_submit(plan);

-- code: evidence_key_missing
perform tenure.evidence_key_current();

-- code: not_permitted
perform tenure.principal_create('claude', 'agent');
v := tenure.execution_submit(plan);
perform fixture.decide(v, 'claude', 'approve', null);

-- code: login_unbound
perform tenure.login_unbind('reporting');

-- code: executor_not_driven
perform tenure.principal_create('mailer', 'service');
perform tenure.key_create('mailer', 'abcd2345', sha256('s'), array['worker'], p_executors => array['DOT']);
perform tenure.act_for_key(tenure.key_check('abcd2345', sha256('s')), 'job_claim', null, 'docs');
perform tenure.job_claim('worker-1', 'Codex');

-- code: kind_not_allowed
perform tenure.principal_create('mailer', 'service');
perform tenure.key_create('mailer', 'abcd2345', sha256('s'), array['producer'],
  p_kinds => array['mail.send']);
perform tenure.act_for_key(tenure.key_check('abcd2345', sha256('s')), 'job_enqueue', null, 'docs');
perform tenure.job_enqueue('report.build');

-- code: text_invalid
perform tenure.principal_create('anna', 'human', 'anna at example.org');

-- code: expression_invalid
perform tenure.schedule_create('nightly', '{"kind": "report", "cron": "at night"}');

-- code: zone_unknown
perform tenure.approval_rule_set('night',
  '{"level": 1, "window": {"from": "22:00", "to": "04:00", "zone": "Europe/Berln"}}');

-- code: backfill_too_large
perform tenure.schedule_create('nightly', '{"kind": "report", "every_seconds": 3600}');
perform tenure.schedule_backfill('nightly',
  array(select tenure.now() - make_interval(hours => n) from generate_series(1, 2000) n));

-- code: parent_cycle
u := tenure.id_floor(tenure.now());
perform tenure.job_enqueue('mail.send', p_job_id => u, p_parent_job_id => u);

-- code: anchor_unknown
perform tenure.anchor_show(7);
