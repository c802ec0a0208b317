-- The schema as a migrated database has it: generated, not applied. A test compares it; TENURE_WRITE=1 writes it again:
--   TENURE_WRITE=1 cargo test -p tenure --test it schema_sql
-- The bodies of functions are left out (they are in functions/), and so are partitions named by a date.

-- tenure; Type: SCHEMA; Schema: -; Owner: -
CREATE SCHEMA tenure;

-- approval_terms; Type: TYPE
CREATE TYPE tenure.approval_terms AS (
	step_number integer,
	level integer,
	rule text,
	roles text[],
	quorum integer,
	expires_seconds integer
);

-- run_end; Type: TYPE
CREATE TYPE tenure.run_end AS (
	job_id uuid,
	tenant_id integer,
	lane integer,
	run integer,
	attempt integer,
	token uuid,
	owner text,
	leased_at timestamp with time zone,
	started_at timestamp with time zone,
	due timestamp with time zone,
	cancel_requested_at timestamp with time zone,
	cancel_by text,
	cancel_reason text,
	outcome text,
	error_code text,
	error_class text,
	error_message text,
	delay_seconds integer,
	result jsonb,
	result_ref text,
	holder text
);

-- batch_taken; Type: TYPE
CREATE TYPE tenure.batch_taken AS (
	done uuid[],
	done_tokens uuid[],
	rest tenure.run_end[],
	tokens uuid[],
	lanes integer[],
	ended integer[],
	freed integer[]
);

-- caller_identity; Type: TYPE
CREATE TYPE tenure.caller_identity AS (
	tenant_id integer,
	principal text,
	scope text,
	executors text[],
	kinds text[],
	payload_access text,
	roles text[]
);

-- chain_entry; Type: TYPE
CREATE TYPE tenure.chain_entry AS (
	execution_id uuid,
	kind text,
	step_number integer,
	data jsonb
);

-- claim_request; Type: TYPE
CREATE TYPE tenure.claim_request AS (
	worker text,
	executor text,
	kinds text[],
	rows_max integer,
	lease_seconds integer,
	mode text,
	started_at timestamp with time zone,
	token uuid,
	lane_after integer,
	affinity_key text,
	priority_min integer,
	rank_last smallint,
	hint_lane integer,
	hint_rank smallint,
	hint_due timestamp with time zone,
	hint_at timestamp with time zone,
	hint_alone boolean
);

-- claim_terms; Type: TYPE
CREATE TYPE tenure.claim_terms AS (
	lanes integer[],
	lease_seconds integer[],
	limits integer[],
	kinds text[],
	executors text[],
	stepped boolean[],
	more boolean,
	ranking integer[],
	hint_holds boolean
);

-- end_batch; Type: TYPE
CREATE TYPE tenure.end_batch AS (
	job_ids uuid[],
	tokens uuid[],
	outcomes text[],
	results jsonb[],
	result_refs text[],
	error_codes text[],
	error_classes text[],
	error_messages text[],
	delay_seconds integer[]
);

-- event_entry; Type: TYPE
CREATE TYPE tenure.event_entry AS (
	seq bigint,
	kind text,
	subject uuid,
	chain_seq integer,
	step_id text,
	data jsonb
);

-- handed_job; Type: TYPE
CREATE TYPE tenure.handed_job AS (
	job_id uuid,
	lane integer,
	kind text,
	payload json,
	idempotency_key text,
	due timestamp with time zone,
	attempts_max integer,
	run_timeout_seconds integer,
	renewals_max integer
);

-- lane_pick; Type: TYPE
CREATE TYPE tenure.lane_pick AS (
	lane integer,
	kind text,
	executor text,
	lease_seconds integer,
	lease interval,
	limited boolean,
	stepped boolean,
	room integer,
	wanted uuid[],
	rank_from smallint,
	due_from timestamp with time zone,
	rank_to smallint,
	due_to timestamp with time zone
);

-- plan_step; Type: TYPE
CREATE TYPE tenure.plan_step AS (
	step_number integer,
	step_id text,
	action text,
	action_class text,
	target_type text,
	target_ref text,
	kind text,
	executor text,
	payload jsonb,
	payload_ref text,
	needs text[],
	timeout_seconds integer,
	effects text,
	attempts_max integer,
	lock_scope text,
	lock_target text,
	lock_action text,
	compensation_note text
);

-- new_execution; Type: TYPE
CREATE TYPE tenure.new_execution AS (
	execution_id uuid,
	plan jsonb,
	steps tenure.plan_step[],
	action_class text,
	priority smallint,
	requesters text[],
	level integer,
	rule text,
	start_window jsonb
);

-- new_job; Type: TYPE
CREATE TYPE tenure.new_job AS (
	kind text,
	payload json,
	key text,
	executor text,
	priority integer,
	due_at timestamp with time zone,
	deadline_at timestamp with time zone,
	source_ref text,
	target_ref text,
	payload_ref text,
	classification text,
	attempts_max integer,
	correlation_id text,
	causation_event bigint,
	parent_job_id uuid,
	workflow_id uuid,
	run_id uuid,
	affinity_key text,
	event_domain text,
	source_system text,
	job_id uuid,
	on_behalf_of text,
	lease_seconds integer,
	run_timeout_seconds integer,
	backoff_base_seconds integer,
	renewals_max integer,
	on_exhausted text,
	on_lost text,
	origin jsonb,
	replay_of uuid,
	traceparent text
);

-- rule_plan; Type: TYPE
CREATE TYPE tenure.rule_plan AS (
	schedule_id integer,
	first timestamp with time zone,
	latest timestamp with time zone,
	passed integer,
	passed_until timestamp with time zone,
	listed timestamp with time zone[],
	next timestamp with time zone,
	next_gap_seconds bigint,
	error_code text,
	error_message text
);

-- run_error; Type: TYPE
CREATE TYPE tenure.run_error AS (
	code text,
	class text,
	message text
);

-- run_ruling; Type: TYPE
CREATE TYPE tenure.run_ruling AS (
	job_id uuid,
	tenant_id integer,
	lane integer,
	run integer,
	attempt integer,
	token uuid,
	owner text,
	holder text,
	leased_at timestamp with time zone,
	started_at timestamp with time zone,
	error_code text,
	error_class text,
	error_message text,
	result jsonb,
	result_ref text,
	cancel_reason text,
	outcome text,
	state text,
	next_due timestamp with time zone,
	spent integer,
	is_lost boolean,
	never_started boolean,
	priority smallint,
	executor text,
	deadline_at timestamp with time zone
);

-- schedule_row; Type: TYPE
CREATE TYPE tenure.schedule_row AS (
	name text,
	state text,
	cron text,
	every_seconds integer,
	zone text,
	jitter_seconds integer,
	start_at timestamp with time zone,
	end_at timestamp with time zone,
	scope_kind text,
	scope_id text,
	kind text,
	executor text,
	priority smallint,
	payload jsonb,
	classification text,
	source_ref text,
	target_ref text,
	payload_ref text,
	overlap text,
	catch_up text,
	catch_up_window_seconds integer,
	catch_up_slots_max integer,
	run_timeout_seconds integer,
	attempts_max integer,
	backoff_base_seconds integer,
	reentry text,
	description text,
	next_slot timestamp with time zone,
	next_due timestamp with time zone,
	last_slot timestamp with time zone,
	last_state text,
	last_reason text,
	succeeded_slot timestamp with time zone,
	succeeded_at timestamp with time zone,
	running bigint,
	waiting bigint,
	planned_to timestamp with time zone,
	plan_from timestamp with time zone,
	paused_at timestamp with time zone,
	paused_by text,
	pause_note text,
	error_code text,
	error_message text,
	created_at timestamp with time zone,
	created_by text,
	updated_at timestamp with time zone,
	updated_by text
);

-- slot_row; Type: TYPE
CREATE TYPE tenure.slot_row AS (
	plan_time timestamp with time zone,
	state text,
	skip_reason text,
	origin text,
	scope_kind text,
	scope_id text,
	expression text,
	zone text,
	due_at timestamp with time zone,
	waiting_since timestamp with time zone,
	missed integer,
	missed_until timestamp with time zone,
	job_id uuid,
	job_state text,
	attempts integer,
	next_retry_at timestamp with time zone,
	worker text,
	fired_at timestamp with time zone,
	started_at timestamp with time zone,
	ended_at timestamp with time zone,
	duration_ms bigint,
	rows_affected bigint,
	result jsonb,
	result_ref text,
	error_code text,
	error_message text,
	planned_at timestamp with time zone,
	planned_by text
);

-- submission; Type: TYPE
CREATE TYPE tenure.submission AS (
	plan_text text,
	plan_hash text,
	plan jsonb,
	key text,
	key_origin text,
	start_after timestamp with time zone,
	start_before timestamp with time zone,
	metadata jsonb,
	on_behalf_of text,
	supersedes uuid,
	retry_of uuid
);

-- verdict; Type: TYPE
CREATE TYPE tenure.verdict AS (
	verdict text,
	reason text,
	result jsonb,
	on_behalf_of text
);

-- accept_batch(integer, timestamp with time zone, tenure.new_job[]); Type: FUNCTION
CREATE FUNCTION tenure.accept_batch(p_tenant_id integer, p_now timestamp with time zone, p_jobs tenure.new_job[], OUT ids uuid[], OUT hashes uuid[], OUT related boolean, OUT timed boolean) RETURNS record
    LANGUAGE plpgsql
    AS $$...$$;

-- act_for_key(uuid, text, text, text, text); Type: FUNCTION
CREATE FUNCTION tenure.act_for_key(p_key_id uuid, p_function text, p_tenant text, p_via text, p_traceparent text DEFAULT NULL::text, OUT tenant text, OUT principal text) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- action_complete(jsonb); Type: FUNCTION
CREATE FUNCTION tenure.action_complete(p_spec jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    AS $$...$$;

-- action_default(integer); Type: FUNCTION
CREATE FUNCTION tenure.action_default(p_tenant_id integer, OUT is_open boolean, OUT action_class text, OUT level_min integer, OUT lock_scope text) RETURNS record
    LANGUAGE plpgsql STABLE
    AS $$...$$;

-- action_delete(text); Type: FUNCTION
CREATE FUNCTION tenure.action_delete(p_name text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- action_list(); Type: FUNCTION
CREATE FUNCTION tenure.action_list() RETURNS TABLE(name text, action_class text, kinds text[], level_min integer, lock_scope text, payload_restricted boolean, note text, updated_at timestamp with time zone, updated_by text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- action_match(integer, text, text); Type: FUNCTION
CREATE FUNCTION tenure.action_match(p_tenant_id integer, p_action text, p_kind text) RETURNS TABLE(registration text, action_class text, level_min integer, lock_scope text, payload_restricted boolean, kind_allowed boolean, kinds text)
    LANGUAGE sql STABLE
    AS $$...$$;

-- action_set(text, jsonb); Type: FUNCTION
CREATE FUNCTION tenure.action_set(p_name text, p_spec jsonb) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- action_show(text, text); Type: FUNCTION
CREATE FUNCTION tenure.action_show(p_name text, p_kind text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- action_write(integer, timestamp with time zone, text, text, jsonb); Type: FUNCTION
CREATE FUNCTION tenure.action_write(p_tenant_id integer, p_now timestamp with time zone, p_author text, p_name text, p_spec jsonb) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- acts_as(text); Type: FUNCTION
CREATE FUNCTION tenure.acts_as(p_role text) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$...$$;

-- alike_lane(tenure.caller_identity, tenure.new_job); Type: FUNCTION
CREATE FUNCTION tenure.alike_lane(p_caller tenure.caller_identity, p_like tenure.new_job) RETURNS record
    LANGUAGE plpgsql
    AS $$...$$;

-- alike_pass(bigint, text, text, integer, json[], text[]); Type: FUNCTION
CREATE FUNCTION tenure.alike_pass(p_micros bigint, p_tail text, p_scope text, p_rows integer, p_payloads json[], p_keys text[]) RETURNS TABLE(ids uuid[], hashes uuid[], doubt boolean, payload_text text)
    LANGUAGE sql STABLE
    AS $$...$$;

-- anchor_add(bigint, timestamp with time zone, text, bytea); Type: FUNCTION
CREATE FUNCTION tenure.anchor_add(p_number bigint, p_at timestamp with time zone, p_key_id text, p_signature bytea) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- anchor_begin(text); Type: FUNCTION
CREATE FUNCTION tenure.anchor_begin(p_key_id text) RETURNS TABLE(number bigint, at timestamp with time zone, signed text, rewritten jsonb)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- anchor_collect(integer); Type: FUNCTION
CREATE FUNCTION tenure.anchor_collect(p_rows_max integer DEFAULT 1000) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- anchor_covers(uuid, integer, bytea); Type: FUNCTION
CREATE FUNCTION tenure.anchor_covers(p_execution_id uuid, p_chain_length integer, p_chain_hash bytea) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$...$$;

-- anchor_differs(uuid, integer, bytea, bigint); Type: FUNCTION
CREATE FUNCTION tenure.anchor_differs(p_execution_id uuid, p_chain_length integer, p_chain_hash bytea, p_number_max bigint) RETURNS bigint
    LANGUAGE sql STABLE
    AS $$...$$;

-- anchor_due(timestamp with time zone); Type: FUNCTION
CREATE FUNCTION tenure.anchor_due(p_now timestamp with time zone, OUT due boolean, OUT daily boolean) RETURNS record
    LANGUAGE plpgsql STABLE
    AS $$...$$;

-- anchors; Type: TABLE
CREATE TABLE tenure.anchors (
    number bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    installation uuid NOT NULL,
    previous bytea NOT NULL,
    leaf_count integer NOT NULL,
    root bytea NOT NULL,
    key_id text NOT NULL,
    signature bytea NOT NULL,
    hash bytea NOT NULL,
    leaf_hashes bytea,
    CONSTRAINT anchors_hash_check CHECK ((octet_length(hash) = 32)),
    CONSTRAINT anchors_hash_of_each_leaf CHECK ((octet_length(leaf_hashes) = (32 * leaf_count))),
    CONSTRAINT anchors_leaf_count_check CHECK ((leaf_count >= 0)),
    CONSTRAINT anchors_number_check CHECK ((number > 0)),
    CONSTRAINT anchors_previous_check CHECK ((octet_length(previous) = 32)),
    CONSTRAINT anchors_root_check CHECK ((octet_length(root) = 32)),
    CONSTRAINT anchors_signature_check CHECK ((octet_length(signature) = 64))
);

-- TABLE anchors; Type: COMMENT
COMMENT ON TABLE tenure.anchors IS 'Signed checkpoints, numbered without a gap, each with the hash of the one before. They are never removed.';

-- COLUMN anchors.leaf_hashes; Type: COMMENT
COMMENT ON COLUMN tenure.anchors.leaf_hashes IS 'The hashes of the leaves in their order, 32 bytes each. Null when retention has removed the leaves.';

-- anchor_hash(tenure.anchors); Type: FUNCTION
CREATE FUNCTION tenure.anchor_hash(p_anchor tenure.anchors) RETURNS bytea
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$...$$;

-- anchor_heads(bigint, integer); Type: FUNCTION
CREATE FUNCTION tenure.anchor_heads(p_number bigint, p_tenant_id integer) RETURNS jsonb
    LANGUAGE sql STABLE
    AS $$...$$;

-- anchor_leaf_hash(text, uuid, integer, bytea); Type: FUNCTION
CREATE FUNCTION tenure.anchor_leaf_hash(p_tenant text, p_execution_id uuid, p_chain_length integer, p_chain_hash bytea) RETURNS bytea
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS $$...$$;

-- anchor_line(tenure.anchors, integer); Type: FUNCTION
CREATE FUNCTION tenure.anchor_line(p_anchor tenure.anchors, p_tenant_id integer) RETURNS jsonb
    LANGUAGE sql STABLE
    AS $$...$$;

-- anchor_list(bigint, integer, boolean, boolean); Type: FUNCTION
CREATE FUNCTION tenure.anchor_list(p_after bigint DEFAULT 0, p_limit integer DEFAULT 100, p_heads boolean DEFAULT false, p_newest boolean DEFAULT false) RETURNS TABLE(checkpoint jsonb)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- anchor_proof(uuid, bigint); Type: FUNCTION
CREATE FUNCTION tenure.anchor_proof(p_execution_id uuid, p_number bigint DEFAULT NULL::bigint) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- anchor_proof_of(uuid, bigint); Type: FUNCTION
CREATE FUNCTION tenure.anchor_proof_of(p_execution_id uuid, p_number bigint) RETURNS jsonb
    LANGUAGE sql STABLE
    AS $$...$$;

-- anchor_published(text, bigint, text); Type: FUNCTION
CREATE FUNCTION tenure.anchor_published(p_sink text, p_number bigint, p_error text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- anchor_cursors; Type: TABLE
CREATE TABLE tenure.anchor_cursors (
    tenant_id integer NOT NULL,
    epoch integer NOT NULL,
    txid xid8 NOT NULL,
    seq bigint NOT NULL,
    moved_at timestamp with time zone NOT NULL
);
ALTER TABLE ONLY tenure.anchor_cursors FORCE ROW LEVEL SECURITY;

-- TABLE anchor_cursors; Type: COMMENT
COMMENT ON TABLE tenure.anchor_cursors IS 'How far the event stream of each tenant was read for chains that have grown.';

-- anchor_scan(tenure.anchor_cursors, timestamp with time zone, integer, xid8, integer); Type: FUNCTION
CREATE FUNCTION tenure.anchor_scan(p_cursor tenure.anchor_cursors, p_now timestamp with time zone, p_epoch integer, p_xmin xid8, p_rows_max integer) RETURNS boolean
    LANGUAGE plpgsql
    SET jit TO 'off'
    AS $_$...$_$;

-- anchor_show(bigint); Type: FUNCTION
CREATE FUNCTION tenure.anchor_show(p_number bigint) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- anchor_status(); Type: FUNCTION
CREATE FUNCTION tenure.anchor_status() RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- anchor_sweep(integer); Type: FUNCTION
CREATE FUNCTION tenure.anchor_sweep(p_limit integer DEFAULT 100) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- anchor_text(tenure.anchors); Type: FUNCTION
CREATE FUNCTION tenure.anchor_text(p_anchor tenure.anchors) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$...$$;

-- anchor_time(timestamp with time zone); Type: FUNCTION
CREATE FUNCTION tenure.anchor_time(p_at timestamp with time zone) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS $$...$$;

-- anchor_unsigned(timestamp with time zone, text); Type: FUNCTION
CREATE FUNCTION tenure.anchor_unsigned(p_at timestamp with time zone, p_key_id text) RETURNS tenure.anchors
    LANGUAGE plpgsql
    AS $$...$$;

-- anchor_walk(timestamp with time zone, boolean, integer); Type: FUNCTION
CREATE FUNCTION tenure.anchor_walk(p_now timestamp with time zone, p_restart boolean, p_rows_max integer, OUT more boolean, OUT rewritten jsonb) RETURNS record
    LANGUAGE plpgsql
    AS $$...$$;

-- approvals; Type: TABLE
CREATE TABLE tenure.approvals (
    approval_id uuid NOT NULL,
    tenant_id integer NOT NULL,
    execution_id uuid NOT NULL,
    step_number integer,
    plan_hash text NOT NULL,
    plan_snapshot_hash text NOT NULL,
    level smallint NOT NULL,
    roles text[] DEFAULT '{}'::text[] NOT NULL,
    quorum smallint DEFAULT 1 NOT NULL,
    rule text NOT NULL,
    auto_approved boolean DEFAULT false NOT NULL,
    runbook_ref text,
    state text NOT NULL,
    given smallint DEFAULT 0 NOT NULL,
    created_at timestamp with time zone NOT NULL,
    escalate_at timestamp with time zone,
    escalated_at timestamp with time zone,
    expires_at timestamp with time zone,
    decided_at timestamp with time zone,
    decided_by text,
    reason text,
    consumed_at timestamp with time zone,
    CONSTRAINT approvals_automatic_at_level_0 CHECK ((auto_approved = (level = 0))),
    CONSTRAINT approvals_consumed_later CHECK ((consumed_at >= decided_at)),
    CONSTRAINT approvals_consumed_when_approved CHECK (((consumed_at IS NULL) OR (state = 'approved'::text))),
    CONSTRAINT approvals_decided_later CHECK ((decided_at >= created_at)),
    CONSTRAINT approvals_decision_has_author CHECK (((decided_at IS NULL) = (decided_by IS NULL))),
    CONSTRAINT approvals_expire_above_level_0 CHECK (((level = 0) OR (expires_at IS NOT NULL))),
    CONSTRAINT approvals_expire_later CHECK ((expires_at > created_at)),
    CONSTRAINT approvals_given_check CHECK ((given >= 0)),
    CONSTRAINT approvals_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT approvals_pending_until_decided CHECK (((state = 'pending'::text) = (decided_at IS NULL))),
    CONSTRAINT approvals_quorum_check CHECK (((quorum >= 1) AND (quorum <= 10))),
    CONSTRAINT approvals_quorum_met CHECK (((state <> 'approved'::text) OR auto_approved OR (given >= quorum))),
    CONSTRAINT approvals_rule_check CHECK ((rule ~ '\S'::text)),
    CONSTRAINT approvals_runbook_from_level_2 CHECK (((level < 2) OR (runbook_ref IS NOT NULL))),
    CONSTRAINT approvals_runbook_ref_check CHECK ((runbook_ref ~ '\S'::text)),
    CONSTRAINT approvals_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'approved'::text, 'rejected'::text, 'expired'::text, 'withdrawn'::text])))
);
ALTER TABLE ONLY tenure.approvals FORCE ROW LEVEL SECURITY;

-- TABLE approvals; Type: COMMENT
COMMENT ON TABLE tenure.approvals IS 'A decision about exactly one plan hash, of an execution or of one step of it. The start that it allows uses it up.';

-- approval_apply(timestamp with time zone, text, tenure.approvals, text); Type: FUNCTION
CREATE FUNCTION tenure.approval_apply(p_now timestamp with time zone, p_actor text, p_approval tenure.approvals, p_reason text) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- milliseconds(timestamp with time zone, timestamp with time zone); Type: FUNCTION
CREATE FUNCTION tenure.milliseconds(p_from timestamp with time zone, p_to timestamp with time zone) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$...$$;

-- execution_states; Type: TABLE
CREATE TABLE tenure.execution_states (
    execution_id uuid NOT NULL,
    tenant_id integer NOT NULL,
    created_at timestamp with time zone NOT NULL,
    sla_class text NOT NULL,
    step_count integer NOT NULL,
    held_key text,
    mode text NOT NULL,
    state text DEFAULT 'pending'::text NOT NULL,
    last_state text,
    last_transition_at timestamp with time zone NOT NULL,
    last_transition_by text NOT NULL,
    parked text,
    next_at timestamp with time zone,
    steps_open integer NOT NULL,
    steps_succeeded integer DEFAULT 0 NOT NULL,
    steps_failed integer DEFAULT 0 NOT NULL,
    steps_cancelled integer DEFAULT 0 NOT NULL,
    steps_skipped integer DEFAULT 0 NOT NULL,
    steps_unknown integer DEFAULT 0 NOT NULL,
    retries_total integer DEFAULT 0 NOT NULL,
    chain_length integer DEFAULT 0 NOT NULL,
    chain_hash bytea NOT NULL,
    approved_at timestamp with time zone,
    lapses_at timestamp with time zone,
    started_at timestamp with time zone,
    timeout_at timestamp with time zone,
    ended_at timestamp with time zone,
    stopping text,
    stopped_by text,
    reason_code text,
    reason text,
    cancelled_at timestamp with time zone,
    cancelled_by text,
    error_class text,
    error_message text,
    result_summary jsonb,
    superseded_by uuid,
    retried_as uuid,
    closed_at timestamp with time zone,
    closed_by text,
    CONSTRAINT execution_states_counts CHECK (((step_count > 0) AND (((((steps_open + steps_succeeded) + steps_failed) + steps_cancelled) + steps_skipped) = step_count) AND (LEAST(steps_succeeded, steps_failed, steps_cancelled, steps_skipped, steps_unknown, retries_total) >= 0) AND (steps_open >= steps_unknown) AND ((ended_at IS NULL) OR (steps_open = 0)) AND ((state <> 'succeeded'::text) OR (steps_succeeded = step_count)) AND (chain_length >= 0) AND (octet_length(chain_hash) = 32)))
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.05');

-- TABLE execution_states; Type: COMMENT
COMMENT ON TABLE tenure.execution_states IS 'Where an execution stands. A transaction that changes it, its steps, approvals or events locks this row. Tenant, time, SLA class and number of steps are copies, for its check and its indexes.';

-- COLUMN execution_states.held_key; Type: COMMENT
COMMENT ON COLUMN tenure.execution_states.held_key IS 'The idempotency key while it is taken: until the execution failed, was cancelled or rejected, a derived key until any end. After a partial failure it is taken until the execution is closed or retried.';

-- COLUMN execution_states.next_at; Type: COMMENT
COMMENT ON COLUMN tenure.execution_states.next_at IS 'When the clock next matters for it: an expiry, a window, a timeout. Null: it waits for an event.';

-- COLUMN execution_states.steps_open; Type: COMMENT
COMMENT ON COLUMN tenure.execution_states.steps_open IS 'Steps that have not ended, those with an unknown outcome included.';

-- COLUMN execution_states.chain_hash; Type: COMMENT
COMMENT ON COLUMN tenure.execution_states.chain_hash IS 'The hash of its last event, from which the next is chained.';

-- COLUMN execution_states.lapses_at; Type: COMMENT
COMMENT ON COLUMN tenure.execution_states.lapses_at IS 'When its approval lapses if it has not started. Null: not approved yet, approved by level 0, or never.';

-- COLUMN execution_states.stopping; Type: COMMENT
COMMENT ON COLUMN tenure.execution_states.stopping IS 'Why no more of its steps start. It ends when the last step under way has ended.';

-- executions; Type: TABLE
CREATE TABLE tenure.executions (
    execution_id uuid NOT NULL,
    tenant_id integer NOT NULL,
    purpose text NOT NULL,
    plan_hash text NOT NULL,
    idempotency_key text NOT NULL,
    key_origin text NOT NULL,
    sla_class text NOT NULL,
    action_class text NOT NULL,
    priority smallint NOT NULL,
    on_step_failure text NOT NULL,
    approval_level smallint NOT NULL,
    rule text NOT NULL,
    runbook_ref text,
    correlation_id text,
    generator text,
    requested_by text NOT NULL,
    on_behalf_of text,
    requesters text[] NOT NULL,
    via text,
    start_after timestamp with time zone,
    start_before timestamp with time zone,
    start_window jsonb,
    plan_size_bytes integer NOT NULL,
    target_count integer NOT NULL,
    takes_locks boolean NOT NULL,
    timeout_ms integer NOT NULL,
    metadata jsonb DEFAULT '{}'::jsonb NOT NULL,
    supersedes uuid,
    retry_of uuid,
    created_at timestamp with time zone NOT NULL,
    CONSTRAINT executions_action_class_check CHECK ((action_class = ANY (ARRAY['read'::text, 'modify'::text, 'deploy'::text]))),
    CONSTRAINT executions_approval_level_check CHECK (((approval_level >= 0) AND (approval_level <= 3))),
    CONSTRAINT executions_idempotency_key_check CHECK (((idempotency_key ~ '\S'::text) AND (length(idempotency_key) <= 255))),
    CONSTRAINT executions_key_origin_check CHECK ((key_origin = ANY (ARRAY['given'::text, 'derived'::text]))),
    CONSTRAINT executions_metadata_check CHECK ((jsonb_typeof(metadata) = 'object'::text)),
    CONSTRAINT executions_on_step_failure_check CHECK ((on_step_failure = ANY (ARRAY['stop'::text, 'continue'::text]))),
    CONSTRAINT executions_plan_hash_check CHECK ((plan_hash ~ '^[0-9a-f]{64}$'::text)),
    CONSTRAINT executions_plan_size_bytes_check CHECK ((plan_size_bytes > 0)),
    CONSTRAINT executions_purpose_check CHECK ((purpose ~ '\S'::text)),
    CONSTRAINT executions_requested_by_check CHECK ((requested_by ~ '\S'::text)),
    CONSTRAINT executions_requesters CHECK ((array_remove(ARRAY[requested_by, on_behalf_of], NULL::text) <@ requesters)),
    CONSTRAINT executions_rule_check CHECK ((rule ~ '\S'::text)),
    CONSTRAINT executions_runbook CHECK (((approval_level < 2) OR (runbook_ref IS NOT NULL))),
    CONSTRAINT executions_runbook_ref_check CHECK ((runbook_ref ~ '\S'::text)),
    CONSTRAINT executions_sla_class_check CHECK ((sla_class = ANY (ARRAY['fast'::text, 'medium'::text, 'long'::text]))),
    CONSTRAINT executions_start CHECK ((start_before > start_after)),
    CONSTRAINT executions_start_after_check CHECK (isfinite(start_after)),
    CONSTRAINT executions_start_before_check CHECK (isfinite(start_before)),
    CONSTRAINT executions_target_count_check CHECK ((target_count > 0)),
    CONSTRAINT executions_timeout_ms_check CHECK ((timeout_ms > 0))
);

-- TABLE executions; Type: COMMENT
COMMENT ON TABLE tenure.executions IS 'What was submitted: one run of a frozen plan. Written once, and deleted when it is archived.';

-- COLUMN executions.requesters; Type: COMMENT
COMMENT ON COLUMN tenure.executions.requesters IS 'The requester, the principal it acted for, and those of the executions that it retries. None of them decides about it.';

-- COLUMN executions.takes_locks; Type: COMMENT
COMMENT ON COLUMN tenure.executions.takes_locks IS 'Whether a step of it takes a lock. If none does, its steps go on without a look at targets.';

-- execution_rows; Type: VIEW
CREATE VIEW tenure.execution_rows WITH (security_invoker='true') AS
 SELECT e.execution_id,
    e.tenant_id,
    e.purpose,
    e.plan_hash,
    e.idempotency_key,
    e.key_origin,
    (s.held_key IS NOT NULL) AS key_held,
    s.state,
    e.sla_class,
    e.action_class,
    s.mode,
    e.priority,
    e.on_step_failure,
    e.approval_level,
    e.rule,
    e.runbook_ref,
    e.correlation_id,
    e.generator,
    e.requested_by,
    e.on_behalf_of,
    e.requesters,
    e.via,
    e.start_after,
    e.start_before,
    e.start_window,
    s.parked,
    s.next_at,
    e.plan_size_bytes,
    s.step_count,
    e.target_count,
    s.steps_open,
    s.steps_succeeded,
    s.steps_failed,
    s.steps_cancelled,
    s.steps_skipped,
    s.steps_unknown,
    s.retries_total,
    e.takes_locks,
    e.timeout_ms,
    s.timeout_at,
    s.stopping,
    s.stopped_by,
    s.reason_code,
    s.reason,
    s.error_class,
    s.error_message,
    s.result_summary,
    s.cancelled_at,
    s.cancelled_by,
    e.supersedes,
    s.superseded_by,
    e.retry_of,
    s.retried_as,
    s.closed_at,
    s.closed_by,
    e.metadata,
    e.created_at,
    s.approved_at,
    s.lapses_at,
    s.started_at,
    s.ended_at,
    tenure.milliseconds(e.created_at, s.started_at) AS queue_wait_ms,
    tenure.milliseconds(s.started_at, s.ended_at) AS duration_ms,
    s.last_transition_at,
    s.last_transition_by,
    s.last_state,
    s.chain_length,
    s.chain_hash
   FROM (tenure.executions e
     JOIN tenure.execution_states s ON ((s.execution_id = e.execution_id)));

-- VIEW execution_rows; Type: COMMENT
COMMENT ON VIEW tenure.execution_rows IS 'Executions: what was submitted, and where it stands.';

-- approval_apply_to_plan(timestamp with time zone, text, tenure.approvals, tenure.execution_rows); Type: FUNCTION
CREATE FUNCTION tenure.approval_apply_to_plan(p_now timestamp with time zone, p_actor text, p_approval tenure.approvals, p_execution tenure.execution_rows) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- approval_apply_to_step(timestamp with time zone, text, tenure.approvals, tenure.execution_rows); Type: FUNCTION
CREATE FUNCTION tenure.approval_apply_to_step(p_now timestamp with time zone, p_actor text, p_approval tenure.approvals, p_execution tenure.execution_rows) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- approval_decide(uuid, text, text, text, text); Type: FUNCTION
CREATE FUNCTION tenure.approval_decide(p_approval_id uuid, p_decision text, p_plan_hash text, p_comment text DEFAULT NULL::text, p_on_behalf_of text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- approval_event(tenure.approvals); Type: FUNCTION
CREATE FUNCTION tenure.approval_event(p_approval tenure.approvals) RETURNS tenure.chain_entry
    LANGUAGE sql STABLE
    AS $$...$$;

-- approval_list(uuid, text[], integer, timestamp with time zone, uuid); Type: FUNCTION
CREATE FUNCTION tenure.approval_list(p_execution_id uuid DEFAULT NULL::uuid, p_state text[] DEFAULT '{pending}'::text[], p_limit integer DEFAULT 100, p_after timestamp with time zone DEFAULT NULL::timestamp with time zone, p_after_id uuid DEFAULT NULL::uuid) RETURNS TABLE(approval_id uuid, execution_id uuid, step_id text, purpose text, requested_by text, requested_by_email text, level integer, roles text[], quorum integer, approvals_given integer, plan_hash text, plan_snapshot_hash text, state text, rule text, auto_approved boolean, runbook_ref text, created_at timestamp with time zone, expires_at timestamp with time zone, decided_at timestamp with time zone, decided_by text, reason text, consumed_at timestamp with time zone)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- text_hash(text); Type: FUNCTION
CREATE FUNCTION tenure.text_hash(p_text text) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- plans; Type: TABLE
CREATE TABLE tenure.plans (
    execution_id uuid NOT NULL,
    tenant_id integer NOT NULL,
    plan text NOT NULL,
    plan_hash text GENERATED ALWAYS AS (tenure.text_hash(plan)) STORED NOT NULL,
    plan_snapshot jsonb GENERATED ALWAYS AS ((plan)::jsonb) STORED NOT NULL,
    plan_snapshot_hash text GENERATED ALWAYS AS (tenure.text_hash(((plan)::jsonb)::text)) STORED NOT NULL
);
ALTER TABLE ONLY tenure.plans FORCE ROW LEVEL SECURITY;

-- TABLE plans; Type: COMMENT
COMMENT ON TABLE tenure.plans IS 'The text of a plan, which never changes. The database computes its hash and its queryable form.';

-- approval_request(timestamp with time zone, tenure.execution_rows, tenure.plans, tenure.approval_terms); Type: FUNCTION
CREATE FUNCTION tenure.approval_request(p_now timestamp with time zone, p_execution tenure.execution_rows, p_plan tenure.plans, p_terms tenure.approval_terms) RETURNS tenure.approvals
    LANGUAGE sql
    AS $$...$$;

-- approval_request_data(tenure.approvals, tenure.execution_rows); Type: FUNCTION
CREATE FUNCTION tenure.approval_request_data(p_approval tenure.approvals, p_execution tenure.execution_rows) RETURNS jsonb
    LANGUAGE sql STABLE
    AS $$...$$;

-- approval_rule_complete(integer, text, jsonb); Type: FUNCTION
CREATE FUNCTION tenure.approval_rule_complete(p_tenant_id integer, p_name text, p_spec jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    AS $$...$$;

-- approval_rule_delete(text); Type: FUNCTION
CREATE FUNCTION tenure.approval_rule_delete(p_name text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- approval_rule_list(); Type: FUNCTION
CREATE FUNCTION tenure.approval_rule_list() RETURNS TABLE(name text, "position" integer, action_classes text[], actions text[], kinds text[], executors text[], target_types text[], target_refs text[], sla_classes text[], requesters text[], requester_kinds text[], level integer, roles text[], quorum integer, expires_seconds integer, start_window jsonb, note text, updated_at timestamp with time zone, updated_by text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- approval_rule_set(text, jsonb); Type: FUNCTION
CREATE FUNCTION tenure.approval_rule_set(p_name text, p_spec jsonb) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- approval_rule_write(integer, timestamp with time zone, text, text, jsonb); Type: FUNCTION
CREATE FUNCTION tenure.approval_rule_write(p_tenant_id integer, p_now timestamp with time zone, p_author text, p_name text, p_spec jsonb) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- approval_show(uuid); Type: FUNCTION
CREATE FUNCTION tenure.approval_show(p_approval_id uuid) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- approval_trouble(tenure.approvals); Type: FUNCTION
CREATE FUNCTION tenure.approval_trouble(p_approval tenure.approvals) RETURNS text
    LANGUAGE plpgsql
    AS $$...$$;

-- approval_votes; Type: TABLE
CREATE TABLE tenure.approval_votes (
    approval_id uuid NOT NULL,
    principal text NOT NULL,
    on_behalf_of text,
    tenant_id integer NOT NULL,
    decision text NOT NULL,
    plan_hash text NOT NULL,
    comment text,
    auth_method text NOT NULL,
    auth_makers text[] DEFAULT '{}'::text[] NOT NULL,
    source text,
    roles text[] DEFAULT '{}'::text[] NOT NULL,
    level smallint NOT NULL,
    at timestamp with time zone NOT NULL,
    CONSTRAINT approval_votes_decision_check CHECK ((decision = ANY (ARRAY['approve'::text, 'reject'::text]))),
    CONSTRAINT approval_votes_level_check CHECK (((level >= 1) AND (level <= 3))),
    CONSTRAINT approval_votes_principal_check CHECK ((principal ~ '\S'::text)),
    CONSTRAINT approval_votes_rejection_has_comment CHECK (((decision <> 'reject'::text) OR (comment ~ '\S'::text)))
);
ALTER TABLE ONLY tenure.approval_votes FORCE ROW LEVEL SECURITY;

-- TABLE approval_votes; Type: COMMENT
COMMENT ON TABLE tenure.approval_votes IS 'Votes: who decided, about which hash, with which proof of identity, from where and in which role.';

-- COLUMN approval_votes.auth_makers; Type: COMMENT
COMMENT ON COLUMN tenure.approval_votes.auth_makers IS 'The makers of the key or login that the voter used.';

-- approval_voter(tenure.caller_identity, tenure.execution_rows, text); Type: FUNCTION
CREATE FUNCTION tenure.approval_voter(p_caller tenure.caller_identity, p_execution tenure.execution_rows, p_on_behalf_of text) RETURNS tenure.approval_votes
    LANGUAGE plpgsql
    AS $$...$$;

-- approval_votes_check(); Type: FUNCTION
CREATE FUNCTION tenure.approval_votes_check() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- approval_votes_of(uuid); Type: FUNCTION
CREATE FUNCTION tenure.approval_votes_of(p_approval_id uuid) RETURNS TABLE(principal text, decision text, comment text, plan_hash text, auth_method text, auth_makers text[], source text, roles text[], level integer, on_behalf_of text, at timestamp with time zone)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- approvals_move(); Type: FUNCTION
CREATE FUNCTION tenure.approvals_move() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- approver(tenure.caller_identity); Type: FUNCTION
CREATE FUNCTION tenure.approver(p_caller tenure.caller_identity, OUT level integer, OUT roles text[], OUT auth_method text, OUT source text) RETURNS record
    LANGUAGE plpgsql STABLE
    AS $$...$$;

-- approvers_changed(timestamp with time zone, text[]); Type: FUNCTION
CREATE FUNCTION tenure.approvers_changed(p_now timestamp with time zone, p_names text[]) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- are_clean(json[]); Type: FUNCTION
CREATE FUNCTION tenure.are_clean(p_payloads json[]) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    AS $_$...$_$;

-- array_shape(anyarray); Type: FUNCTION
CREATE FUNCTION tenure.array_shape(p_array anyarray) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$...$$;

-- attempts_only_amended(); Type: FUNCTION
CREATE FUNCTION tenure.attempts_only_amended() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- attempts_spent(text, timestamp with time zone, integer); Type: FUNCTION
CREATE FUNCTION tenure.attempts_spent(p_outcome text, p_started_at timestamp with time zone, p_attempt integer) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$...$$;

-- auth_makers(tenure.caller_identity); Type: FUNCTION
CREATE FUNCTION tenure.auth_makers(p_caller tenure.caller_identity) RETURNS text[]
    LANGUAGE plpgsql STABLE
    AS $$...$$;

-- backoff_seconds(integer, integer, integer, double precision); Type: FUNCTION
CREATE FUNCTION tenure.backoff_seconds(p_base integer, p_attempt integer, p_jitter_percent integer, p_fraction double precision DEFAULT random()) RETURNS double precision
    LANGUAGE sql PARALLEL SAFE
    AS $$...$$;

-- batch_id(bigint, text); Type: FUNCTION
CREATE FUNCTION tenure.batch_id(p_micros bigint, p_tail text) RETURNS uuid
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$...$$;

-- caller(); Type: FUNCTION
CREATE FUNCTION tenure.caller() RETURNS tenure.caller_identity
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- canonical_number(numeric); Type: FUNCTION
CREATE FUNCTION tenure.canonical_number(p_number numeric) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET extra_float_digits TO '1'
    SET standard_conforming_strings TO 'on'
    AS $_$...$_$;

-- canonical_text(jsonb); Type: FUNCTION
CREATE FUNCTION tenure.canonical_text(p_value jsonb) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET standard_conforming_strings TO 'on'
    AS $_$...$_$;

-- case_rules_keep(integer); Type: FUNCTION
CREATE FUNCTION tenure.case_rules_keep(p_tenant_id integer) RETURNS void
    LANGUAGE sql
    AS $$...$$;

-- chain_append(timestamp with time zone, text, tenure.chain_entry[]); Type: FUNCTION
CREATE FUNCTION tenure.chain_append(p_now timestamp with time zone, p_actor text, p_entries tenure.chain_entry[]) RETURNS uuid[]
    LANGUAGE plpgsql
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$...$$;

-- chain_link(bytea, bytea, text); Type: FUNCTION
CREATE FUNCTION tenure.chain_link(p_hash bytea, p_seed bytea, p_body text) RETURNS bytea
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    AS $$...$$;

-- check_acted_for(text); Type: FUNCTION
CREATE FUNCTION tenure.check_acted_for(p_on_behalf_of text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- check_action_spec(text, jsonb); Type: FUNCTION
CREATE FUNCTION tenure.check_action_spec(p_name text, p_spec jsonb) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- check_actions(jsonb); Type: FUNCTION
CREATE FUNCTION tenure.check_actions(p_plan jsonb) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- check_actor(text, text); Type: FUNCTION
CREATE FUNCTION tenure.check_actor(p_what text, p_name text) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- check_alike(timestamp with time zone, tenure.new_job, integer, json[], text[]); Type: FUNCTION
CREATE FUNCTION tenure.check_alike(p_now timestamp with time zone, p_like tenure.new_job, p_rows integer, p_payloads json[], p_keys text[]) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- check_approval_open(timestamp with time zone, tenure.approvals, tenure.execution_rows); Type: FUNCTION
CREATE FUNCTION tenure.check_approval_open(p_now timestamp with time zone, p_approval tenure.approvals, p_execution tenure.execution_rows) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- tunings; Type: TABLE
CREATE TABLE tenure.tunings (
    tenant_id integer NOT NULL,
    jobs_open boolean NOT NULL,
    worker_open boolean NOT NULL,
    heartbeat_open boolean NOT NULL,
    notify_open boolean NOT NULL,
    lease_seconds integer NOT NULL,
    lease_seconds_max integer NOT NULL,
    stale_seconds integer NOT NULL,
    attempts_max integer NOT NULL,
    backoff_base_seconds integer NOT NULL,
    jitter_percent integer NOT NULL,
    strict_kinds boolean NOT NULL
);

-- TABLE tunings; Type: COMMENT
COMMENT ON TABLE tenure.tunings IS 'The configuration as the hot path reads it: a row for each tenant with settings of its own, row 0 for others. tenure.tunings_refresh() derives it from tenure.config.';

-- check_claim(tenure.caller_identity, tenure.tunings, text, text, integer, integer, text); Type: FUNCTION
CREATE FUNCTION tenure.check_claim(p_caller tenure.caller_identity, p_tuning tenure.tunings, p_worker text, p_executor text, p_limit integer, p_lease_seconds integer, p_mode text) RETURNS void
    LANGUAGE plpgsql STABLE
    AS $$...$$;

-- check_config_key(text); Type: FUNCTION
CREATE FUNCTION tenure.check_config_key(p_key text) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- check_counts_once(uuid, text, text[], text[]); Type: FUNCTION
CREATE FUNCTION tenure.check_counts_once(p_approval_id uuid, p_decision text, p_names text[], p_makers text[]) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- check_driven(tenure.caller_identity, text); Type: FUNCTION
CREATE FUNCTION tenure.check_driven(p_caller tenure.caller_identity, p_executor text) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- check_ends(tenure.end_batch); Type: FUNCTION
CREATE FUNCTION tenure.check_ends(p_ends tenure.end_batch) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- check_enqueue_rights(tenure.caller_identity, integer[]); Type: FUNCTION
CREATE FUNCTION tenure.check_enqueue_rights(p_caller tenure.caller_identity, p_lanes integer[]) RETURNS void
    LANGUAGE plpgsql STABLE
    AS $$...$$;

-- check_event_kind(text); Type: FUNCTION
CREATE FUNCTION tenure.check_event_kind(p_kind text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- check_every_tenant(); Type: FUNCTION
CREATE FUNCTION tenure.check_every_tenant() RETURNS void
    LANGUAGE plpgsql STABLE
    AS $$...$$;

-- check_evidence_key(text, bytea); Type: FUNCTION
CREATE FUNCTION tenure.check_evidence_key(p_key_id text, p_public_key bytea) RETURNS void
    LANGUAGE plpgsql
    AS $_$...$_$;

-- check_executor(text, text); Type: FUNCTION
CREATE FUNCTION tenure.check_executor(p_executor text, p_of text DEFAULT ''::text) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- check_fences(text[], bigint[]); Type: FUNCTION
CREATE FUNCTION tenure.check_fences(p_parts text[], p_fences bigint[]) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- check_filter(text, text[], text[], text); Type: FUNCTION
CREATE FUNCTION tenure.check_filter(p_what text, p_values text[], p_allowed text[], p_code text DEFAULT 'value_unknown'::text) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- check_gate(integer, text); Type: FUNCTION
CREATE FUNCTION tenure.check_gate(p_tenant_id integer, p_key text) RETURNS void
    LANGUAGE plpgsql STABLE
    AS $$...$$;

-- check_governing(tenure.caller_identity, jsonb, boolean); Type: FUNCTION
CREATE FUNCTION tenure.check_governing(p_caller tenure.caller_identity, p_value jsonb, p_old boolean) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$...$$;

-- check_held(uuid, text); Type: FUNCTION
CREATE FUNCTION tenure.check_held(p_job_id uuid, p_status text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- check_isolation(); Type: FUNCTION
CREATE FUNCTION tenure.check_isolation() RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- check_job(text, timestamp with time zone, tenure.new_job); Type: FUNCTION
CREATE FUNCTION tenure.check_job(p_place text, p_now timestamp with time zone, p_job tenure.new_job) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- check_job_exists(uuid, integer); Type: FUNCTION
CREATE FUNCTION tenure.check_job_exists(p_job_id uuid, p_tenant_id integer) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- check_json_numbers(text, jsonb); Type: FUNCTION
CREATE FUNCTION tenure.check_json_numbers(p_what text, p_value jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- check_kind_policy(jsonb); Type: FUNCTION
CREATE FUNCTION tenure.check_kind_policy(p_policy jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    AS $$...$$;

-- check_lock(timestamp with time zone, integer, text, text, text, text, bigint); Type: FUNCTION
CREATE FUNCTION tenure.check_lock(p_now timestamp with time zone, p_tenant_id integer, p_principal text, p_part text, p_target text, p_action text, p_fence bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- check_lock_keys(jsonb); Type: FUNCTION
CREATE FUNCTION tenure.check_lock_keys(p_plan jsonb) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- check_look_alikes(integer, jsonb); Type: FUNCTION
CREATE FUNCTION tenure.check_look_alikes(p_tenant_id integer, p_plan jsonb) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- check_makers(tenure.caller_identity, tenure.execution_rows, text[]); Type: FUNCTION
CREATE FUNCTION tenure.check_makers(p_caller tenure.caller_identity, p_execution tenure.execution_rows, p_makers text[]) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- check_moment(text, timestamp with time zone, timestamp with time zone); Type: FUNCTION
CREATE FUNCTION tenure.check_moment(p_what text, p_at timestamp with time zone, p_now timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- check_name(text, text); Type: FUNCTION
CREATE FUNCTION tenure.check_name(p_what text, p_name text) RETURNS void
    LANGUAGE plpgsql
    AS $_$...$_$;

-- check_new_execution(tenure.caller_identity, timestamp with time zone, tenure.submission, tenure.new_execution); Type: FUNCTION
CREATE FUNCTION tenure.check_new_execution(p_caller tenure.caller_identity, p_now timestamp with time zone, p_submission tenure.submission, p_new tenure.new_execution) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- check_not_own_login(tenure.caller_identity, text, text); Type: FUNCTION
CREATE FUNCTION tenure.check_not_own_login(p_caller tenure.caller_identity, p_login text, p_principal text) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- check_note(jsonb); Type: FUNCTION
CREATE FUNCTION tenure.check_note(p_value jsonb) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- check_number(text, bigint, bigint, bigint); Type: FUNCTION
CREATE FUNCTION tenure.check_number(p_what text, p_value bigint, p_min bigint, p_max bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- check_pairs(uuid[], uuid[]); Type: FUNCTION
CREATE FUNCTION tenure.check_pairs(p_job_ids uuid[], p_tokens uuid[]) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- check_payload(text, json, bigint); Type: FUNCTION
CREATE FUNCTION tenure.check_payload(p_what text, p_payload json, p_bytes_max bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$...$_$;

-- check_plan_here(tenure.caller_identity, timestamp with time zone, jsonb, tenure.plan_step[], jsonb); Type: FUNCTION
CREATE FUNCTION tenure.check_plan_here(p_caller tenure.caller_identity, p_now timestamp with time zone, p_plan jsonb, p_steps tenure.plan_step[], p_window jsonb) RETURNS void
    LANGUAGE plpgsql STABLE
    AS $$...$$;

-- subscriptions; Type: TABLE
CREATE TABLE tenure.subscriptions (
    subscription_id integer NOT NULL,
    tenant_id integer NOT NULL,
    name text NOT NULL,
    target text NOT NULL,
    event_kinds text[] NOT NULL,
    filter jsonb DEFAULT '{}'::jsonb NOT NULL,
    job_kind text,
    executor text,
    priority smallint DEFAULT 0 NOT NULL,
    depth_max smallint DEFAULT 8 NOT NULL,
    url text,
    secret bytea,
    secret_before bytea,
    rotated_at timestamp with time zone,
    epoch integer NOT NULL,
    txid xid8 NOT NULL,
    seq bigint NOT NULL,
    moved_at timestamp with time zone NOT NULL,
    matched bigint DEFAULT 0 NOT NULL,
    skipped bigint DEFAULT 0 NOT NULL,
    paused_at timestamp with time zone,
    paused_by text,
    pause_note text,
    failures integer DEFAULT 0 NOT NULL,
    refusals integer DEFAULT 0 NOT NULL,
    retry_at timestamp with time zone,
    error_code text,
    error_message text,
    created_at timestamp with time zone NOT NULL,
    created_by text NOT NULL,
    CONSTRAINT subscriptions_created_by_check CHECK ((created_by ~ '\S'::text)),
    CONSTRAINT subscriptions_depth_max_check CHECK (((depth_max >= 1) AND (depth_max <= 64))),
    CONSTRAINT subscriptions_event_kinds_check CHECK ((cardinality(event_kinds) > 0)),
    CONSTRAINT subscriptions_filter_check CHECK ((jsonb_typeof(filter) = 'object'::text)),
    CONSTRAINT subscriptions_job_has_kind CHECK (((target = 'job'::text) = (job_kind IS NOT NULL))),
    CONSTRAINT subscriptions_name_check CHECK (((name ~ '\S'::text) AND (length(name) <= 200))),
    CONSTRAINT subscriptions_secret_before_check CHECK ((octet_length(secret_before) = 32)),
    CONSTRAINT subscriptions_secret_check CHECK ((octet_length(secret) = 32)),
    CONSTRAINT subscriptions_target_check CHECK ((target = ANY (ARRAY['reader'::text, 'job'::text, 'webhook'::text]))),
    CONSTRAINT subscriptions_webhook_has_url_and_secret CHECK ((((target = 'webhook'::text) = (url IS NOT NULL)) AND ((target = 'webhook'::text) = (secret IS NOT NULL))))
);
ALTER TABLE ONLY tenure.subscriptions FORCE ROW LEVEL SECURITY;

-- TABLE subscriptions; Type: COMMENT
COMMENT ON TABLE tenure.subscriptions IS 'Event kinds, a filter, and what a match leads to: a job, a webhook, or a row for a reader that polls.';

-- COLUMN subscriptions.seq; Type: COMMENT
COMMENT ON COLUMN tenure.subscriptions.seq IS 'With epoch and txid: the last event of the stream that was read.';

-- COLUMN subscriptions.failures; Type: COMMENT
COMMENT ON COLUMN tenure.subscriptions.failures IS 'How often in a row the service could not act on its events.';

-- COLUMN subscriptions.refusals; Type: COMMENT
COMMENT ON COLUMN tenure.subscriptions.refusals IS 'How often in a row the receiver accepted nothing.';

-- check_reader(tenure.subscriptions); Type: FUNCTION
CREATE FUNCTION tenure.check_reader(p_sub tenure.subscriptions) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- check_relatives(integer, uuid[], uuid[], tenure.new_job[]); Type: FUNCTION
CREATE FUNCTION tenure.check_relatives(p_tenant_id integer, p_ids uuid[], p_hashes uuid[], p_jobs tenure.new_job[]) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- check_repeatable(integer, text); Type: FUNCTION
CREATE FUNCTION tenure.check_repeatable(p_tenant_id integer, p_kind text) RETURNS void
    LANGUAGE plpgsql STABLE
    AS $$...$$;

-- check_request(tenure.caller_identity, tenure.tunings, tenure.claim_request); Type: FUNCTION
CREATE FUNCTION tenure.check_request(p_caller tenure.caller_identity, p_tuning tenure.tunings, p_claim tenure.claim_request) RETURNS void
    LANGUAGE plpgsql STABLE
    AS $$...$$;

-- check_reserved(text[], text[]); Type: FUNCTION
CREATE FUNCTION tenure.check_reserved(p_source_systems text[], p_keys text[]) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- check_retry(tenure.caller_identity, tenure.execution_rows); Type: FUNCTION
CREATE FUNCTION tenure.check_retry(p_caller tenure.caller_identity, p_execution tenure.execution_rows) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- check_retry_state(timestamp with time zone, tenure.execution_rows); Type: FUNCTION
CREATE FUNCTION tenure.check_retry_state(p_now timestamp with time zone, p_old tenure.execution_rows) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- check_rule(text, jsonb); Type: FUNCTION
CREATE FUNCTION tenure.check_rule(p_name text, p_spec jsonb) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- governance_changes; Type: TABLE
CREATE TABLE tenure.governance_changes (
    change_id uuid NOT NULL,
    tenant_id integer NOT NULL,
    subject text NOT NULL,
    name text NOT NULL,
    operation text NOT NULL,
    old jsonb,
    new jsonb,
    state text DEFAULT 'pending'::text NOT NULL,
    proposed_at timestamp with time zone NOT NULL,
    proposed_by text NOT NULL,
    proposed_makers text[] DEFAULT '{}'::text[] NOT NULL,
    proposed_means text[] DEFAULT '{}'::text[] NOT NULL,
    on_behalf_of text,
    decided_at timestamp with time zone,
    decided_by text,
    decided_makers text[],
    auth_method text,
    comment text,
    CONSTRAINT governance_changes_decided_by_check CHECK ((decided_by ~ '\S'::text)),
    CONSTRAINT governance_changes_decided_later CHECK ((decided_at >= proposed_at)),
    CONSTRAINT governance_changes_decision_has_author CHECK (((decided_at IS NULL) = (decided_by IS NULL))),
    CONSTRAINT governance_changes_four_eyes CHECK (((state <> 'approved'::text) OR (decided_by <> proposed_by))),
    CONSTRAINT governance_changes_name_check CHECK ((name ~ '\S'::text)),
    CONSTRAINT governance_changes_operation_check CHECK ((operation = ANY (ARRAY['set'::text, 'delete'::text]))),
    CONSTRAINT governance_changes_pending_until_decided CHECK (((state = 'pending'::text) = (decided_at IS NULL))),
    CONSTRAINT governance_changes_proposed_by_check CHECK ((proposed_by ~ '\S'::text)),
    CONSTRAINT governance_changes_rejection_has_comment CHECK (((state <> 'rejected'::text) OR (comment ~ '\S'::text))),
    CONSTRAINT governance_changes_state_check CHECK ((state = ANY (ARRAY['pending'::text, 'approved'::text, 'rejected'::text]))),
    CONSTRAINT governance_changes_subject_check CHECK ((subject = ANY (ARRAY['action'::text, 'approval_rule'::text, 'target_type'::text, 'kind'::text, 'config'::text])))
);
ALTER TABLE ONLY tenure.governance_changes FORCE ROW LEVEL SECURITY;

-- TABLE governance_changes; Type: COMMENT
COMMENT ON TABLE tenure.governance_changes IS 'Changes of actions, rules, target types, governed kinds and settings that a second admin must approve.';

-- check_second_admin(tenure.caller_identity, tenure.governance_changes, text[]); Type: FUNCTION
CREATE FUNCTION tenure.check_second_admin(p_caller tenure.caller_identity, p_change tenure.governance_changes, p_makers text[]) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- check_supersedes(tenure.caller_identity, tenure.execution_rows, jsonb); Type: FUNCTION
CREATE FUNCTION tenure.check_supersedes(p_caller tenure.caller_identity, p_old tenure.execution_rows, p_plan jsonb) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- check_superseding_key(integer, tenure.submission); Type: FUNCTION
CREATE FUNCTION tenure.check_superseding_key(p_tenant_id integer, p_submission tenure.submission) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- check_target_type_unused(integer, text, text); Type: FUNCTION
CREATE FUNCTION tenure.check_target_type_unused(p_tenant_id integer, p_name text, p_case_rule text) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- check_targets(integer, jsonb); Type: FUNCTION
CREATE FUNCTION tenure.check_targets(p_tenant_id integer, p_plan jsonb) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- check_tenant(integer); Type: FUNCTION
CREATE FUNCTION tenure.check_tenant(p_tenant_id integer) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- check_texts(text, jsonb); Type: FUNCTION
CREATE FUNCTION tenure.check_texts(p_field text, p_value jsonb) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- check_verdict(tenure.caller_identity, tenure.execution_rows, text, text); Type: FUNCTION
CREATE FUNCTION tenure.check_verdict(p_caller tenure.caller_identity, p_execution tenure.execution_rows, p_verdict text, p_on_behalf_of text) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- check_verdict_result(jsonb); Type: FUNCTION
CREATE FUNCTION tenure.check_verdict_result(p_result jsonb) RETURNS void
    LANGUAGE plpgsql
    AS $_$...$_$;

-- check_vote(tenure.approvals, tenure.approval_votes); Type: FUNCTION
CREATE FUNCTION tenure.check_vote(p_approval tenure.approvals, p_vote tenure.approval_votes) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- check_webhook_url(text); Type: FUNCTION
CREATE FUNCTION tenure.check_webhook_url(p_url text) RETURNS void
    LANGUAGE plpgsql
    AS $_$...$_$;

-- check_window(jsonb); Type: FUNCTION
CREATE FUNCTION tenure.check_window(p_window jsonb) RETURNS void
    LANGUAGE plpgsql
    SET standard_conforming_strings TO 'on'
    AS $_$...$_$;

-- check_word(text, text, text, text[]); Type: FUNCTION
CREATE FUNCTION tenure.check_word(p_code text, p_what text, p_value text, p_allowed text[]) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- claim_lanes(tenure.caller_identity, tenure.tunings, text, text[], integer, boolean, integer[], integer); Type: FUNCTION
CREATE FUNCTION tenure.claim_lanes(p_caller tenure.caller_identity, p_tuning tenure.tunings, p_executor text, p_kinds text[], p_lease_seconds integer, p_also_paused boolean, p_lanes integer[] DEFAULT NULL::integer[], p_lanes_max integer DEFAULT NULL::integer) RETURNS tenure.claim_terms
    LANGUAGE plpgsql STABLE
    AS $$...$$;

-- claim_marked(tenure.caller_identity, text, integer, smallint, timestamp with time zone, integer); Type: FUNCTION
CREATE FUNCTION tenure.claim_marked(p_caller tenure.caller_identity, p_executor text, p_lane_after integer, p_last smallint, p_now timestamp with time zone, p_rows_max integer) RETURNS integer[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$...$$;

-- claim_prepare(tenure.caller_identity, tenure.tunings, timestamp with time zone, tenure.claim_request); Type: FUNCTION
CREATE FUNCTION tenure.claim_prepare(p_caller tenure.caller_identity, p_tuning tenure.tunings, p_now timestamp with time zone, p_claim tenure.claim_request) RETURNS tenure.claim_terms
    LANGUAGE plpgsql
    AS $$...$$;

-- claim_ranking(integer, tenure.claim_terms, smallint); Type: FUNCTION
CREATE FUNCTION tenure.claim_ranking(p_tenant_id integer, p_terms tenure.claim_terms, p_rank_last smallint) RETURNS integer[]
    LANGUAGE plpgsql
    AS $$...$$;

-- claimed_job(uuid, timestamp with time zone); Type: FUNCTION
CREATE FUNCTION tenure.claimed_job(p_job_id uuid, p_started timestamp with time zone) RETURNS TABLE(attempts_max smallint, payload json, idempotency_key text, enqueued_by text, created_at timestamp with time zone, more jsonb)
    LANGUAGE sql STABLE ROWS 1
    AS $$...$$;

-- class_reach(text); Type: FUNCTION
CREATE FUNCTION tenure.class_reach(p_action_class text) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$...$$;

-- clock_stood(tenure.execution_rows, timestamp with time zone, timestamp with time zone, uuid); Type: FUNCTION
CREATE FUNCTION tenure.clock_stood(p_execution tenure.execution_rows, p_from timestamp with time zone, p_to timestamp with time zone, p_approval_id uuid) RETURNS interval
    LANGUAGE sql STABLE
    AS $$...$$;

-- config_get(text); Type: FUNCTION
CREATE FUNCTION tenure.config_get(p_key text) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- config_list(); Type: FUNCTION
CREATE FUNCTION tenure.config_list() RETURNS TABLE(key text, value jsonb, origin text, default_value jsonb, value_type text, value_min bigint, value_max bigint, is_gate boolean, description text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- config_lock(integer); Type: FUNCTION
CREATE FUNCTION tenure.config_lock(p_tenant_id integer) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- config_set(text, jsonb, text); Type: FUNCTION
CREATE FUNCTION tenure.config_set(p_key text, p_value jsonb, p_on_behalf_of text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$...$_$;

-- config_write(integer, timestamp with time zone, text, text, text, jsonb, jsonb); Type: FUNCTION
CREATE FUNCTION tenure.config_write(p_tenant_id integer, p_now timestamp with time zone, p_author text, p_on_behalf_of text, p_key text, p_value jsonb, p_approval jsonb DEFAULT '{}'::jsonb) RETURNS jsonb
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- current_epoch(); Type: FUNCTION
CREATE FUNCTION tenure.current_epoch() RETURNS integer
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- current_tenant(); Type: FUNCTION
CREATE FUNCTION tenure.current_tenant() RETURNS integer
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- cursor_parts(text); Type: FUNCTION
CREATE FUNCTION tenure.cursor_parts(p_cursor text, OUT epoch integer, OUT txid xid8, OUT seq bigint) RETURNS record
    LANGUAGE plpgsql IMMUTABLE
    AS $_$...$_$;

-- cursor_text(integer, xid8, bigint); Type: FUNCTION
CREATE FUNCTION tenure.cursor_text(p_epoch integer, p_txid xid8, p_seq bigint) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$...$$;

-- cut_text(text, integer); Type: FUNCTION
CREATE FUNCTION tenure.cut_text(p_text text, p_bytes_max integer) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$...$$;

-- dead_letters; Type: TABLE
CREATE TABLE tenure.dead_letters (
    dead_letter_id uuid NOT NULL,
    tenant_id integer NOT NULL,
    job_id uuid NOT NULL,
    run integer NOT NULL,
    kind text NOT NULL,
    executor text NOT NULL,
    event_domain text NOT NULL,
    priority smallint NOT NULL,
    attempts integer NOT NULL,
    attempts_max smallint NOT NULL,
    payload_classification text NOT NULL,
    payload json NOT NULL,
    source_ref text,
    target_ref text,
    payload_ref text,
    idempotency_key text,
    affinity_key text,
    correlation_id text,
    parent_job_id uuid,
    workflow_id uuid,
    run_id uuid,
    source_system text NOT NULL,
    actor text NOT NULL,
    job_created_at timestamp with time zone NOT NULL,
    final_error text NOT NULL,
    error_code text,
    error_class text,
    fingerprint text NOT NULL,
    moved_at timestamp with time zone NOT NULL,
    moved_by text NOT NULL,
    triage_status text DEFAULT 'pending'::text NOT NULL,
    triage_note text,
    triaged_at timestamp with time zone,
    triaged_by text,
    replayed_as uuid,
    replayed_at timestamp with time zone,
    CONSTRAINT dead_letters_attempts_check CHECK ((attempts >= 0)),
    CONSTRAINT dead_letters_attempts_max_check CHECK ((attempts_max >= 1)),
    CONSTRAINT dead_letters_final_error_check CHECK ((final_error ~ '\S'::text)),
    CONSTRAINT dead_letters_kind_check CHECK ((kind ~ '\S'::text)),
    CONSTRAINT dead_letters_moved_by_check CHECK ((moved_by ~ '\S'::text)),
    CONSTRAINT dead_letters_payload_check CHECK ((json_typeof(payload) = 'object'::text)),
    CONSTRAINT dead_letters_payload_classification_check CHECK ((payload_classification = ANY (ARRAY['safe_metadata'::text, 'restricted'::text]))),
    CONSTRAINT dead_letters_replay_has_time CHECK (((replayed_as IS NULL) = (replayed_at IS NULL))),
    CONSTRAINT dead_letters_triage_has_author CHECK (((triage_status = 'pending'::text) OR ((triaged_at IS NOT NULL) AND (triaged_by IS NOT NULL)))),
    CONSTRAINT dead_letters_triage_status_check CHECK ((triage_status = ANY (ARRAY['pending'::text, 'acknowledged'::text, 'manual_replay'::text, 'escalated'::text, 'closed'::text])))
);
ALTER TABLE ONLY tenure.dead_letters FORCE ROW LEVEL SECURITY;

-- TABLE dead_letters; Type: COMMENT
COMMENT ON TABLE tenure.dead_letters IS 'Jobs that used up their attempts, with triage and replay. They outlive the retention of their jobs.';

-- dead_letter_job(tenure.dead_letters); Type: FUNCTION
CREATE FUNCTION tenure.dead_letter_job(p_row tenure.dead_letters) RETURNS tenure.new_job
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- dead_letter_list(text[], text, text, timestamp with time zone, integer, uuid); Type: FUNCTION
CREATE FUNCTION tenure.dead_letter_list(p_triage_status text[] DEFAULT NULL::text[], p_kind text DEFAULT NULL::text, p_fingerprint text DEFAULT NULL::text, p_before timestamp with time zone DEFAULT NULL::timestamp with time zone, p_limit integer DEFAULT 50, p_before_id uuid DEFAULT NULL::uuid) RETURNS TABLE(dead_letter_id uuid, job_id uuid, kind text, executor text, attempts integer, error_code text, error_class text, final_error text, fingerprint text, moved_at timestamp with time zone, moved_by text, triage_status text, triage_note text, triaged_by text, replayed_as uuid)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- dead_letter_replay(uuid, text); Type: FUNCTION
CREATE FUNCTION tenure.dead_letter_replay(p_dead_letter_id uuid, p_on_behalf_of text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- dead_letter_replay_preview(uuid); Type: FUNCTION
CREATE FUNCTION tenure.dead_letter_replay_preview(p_dead_letter_id uuid) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- dead_letter_row(uuid); Type: FUNCTION
CREATE FUNCTION tenure.dead_letter_row(p_dead_letter_id uuid) RETURNS tenure.dead_letters
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- dead_letter_show(uuid); Type: FUNCTION
CREATE FUNCTION tenure.dead_letter_show(p_dead_letter_id uuid) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- dead_letter_triage(uuid, text, text, text); Type: FUNCTION
CREATE FUNCTION tenure.dead_letter_triage(p_dead_letter_id uuid, p_status text, p_note text DEFAULT NULL::text, p_on_behalf_of text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- dead_letters_sweep(integer[], timestamp with time zone, integer); Type: FUNCTION
CREATE FUNCTION tenure.dead_letters_sweep(p_tenants integer[], p_now timestamp with time zone, p_limit integer) RETURNS integer
    LANGUAGE plpgsql
    AS $$...$$;

-- dead_letters_write(timestamp with time zone, text, tenure.run_ruling[]); Type: FUNCTION
CREATE FUNCTION tenure.dead_letters_write(p_now timestamp with time zone, p_actor text, p_rulings tenure.run_ruling[]) RETURNS void
    LANGUAGE plpgsql
    AS $_$...$_$;

-- deceptive_sign(text); Type: FUNCTION
CREATE FUNCTION tenure.deceptive_sign(p_text text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $_$...$_$;

-- deliveries_add(tenure.subscriptions, timestamp with time zone, jsonb[]); Type: FUNCTION
CREATE FUNCTION tenure.deliveries_add(p_sub tenure.subscriptions, p_now timestamp with time zone, p_parts jsonb[]) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- delivery_claim(integer, integer); Type: FUNCTION
CREATE FUNCTION tenure.delivery_claim(p_limit integer DEFAULT 20, p_lease_seconds integer DEFAULT 60) RETURNS TABLE(delivery_id uuid, subscription text, url text, body text, attempt integer, secret bytea, secret_before bytea)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- delivery_end(uuid[], integer[], integer[], text[]); Type: FUNCTION
CREATE FUNCTION tenure.delivery_end(p_delivery_ids uuid[], p_attempts integer[], p_statuses integer[], p_errors text[]) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '5s'
    AS $$...$$;

-- delivery_list(text, text[], integer, bigint); Type: FUNCTION
CREATE FUNCTION tenure.delivery_list(p_subscription text, p_state text[] DEFAULT NULL::text[], p_limit integer DEFAULT 100, p_before bigint DEFAULT NULL::bigint) RETURNS TABLE(place bigint, delivery_id uuid, subject text, event_kind text, event_cursor text, state text, attempts integer, due timestamp with time zone, status integer, error text, created_at timestamp with time zone, ended_at timestamp with time zone)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- delivery_retry(uuid, text); Type: FUNCTION
CREATE FUNCTION tenure.delivery_retry(p_delivery_id uuid, p_on_behalf_of text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- delivery_sweep(integer); Type: FUNCTION
CREATE FUNCTION tenure.delivery_sweep(p_limit integer DEFAULT 1000) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- doctor(); Type: FUNCTION
CREATE FUNCTION tenure.doctor() RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- emit(timestamp with time zone, integer, text, text, text, text, jsonb); Type: FUNCTION
CREATE FUNCTION tenure.emit(p_at timestamp with time zone, p_tenant_id integer, p_kind text, p_actor text, p_on_behalf_of text, p_subject text, p_data jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- end_fault(text, jsonb, text, integer); Type: FUNCTION
CREATE FUNCTION tenure.end_fault(p_outcome text, p_result jsonb, p_result_ref text, p_delay_seconds integer) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$...$$;

-- end_of_late(uuid, integer, integer, integer, integer, timestamp with time zone, timestamp with time zone); Type: FUNCTION
CREATE FUNCTION tenure.end_of_late(p_job_id uuid, p_tenant_id integer, p_lane integer, p_run integer, p_attempts integer, p_due timestamp with time zone, p_deadline timestamp with time zone) RETURNS tenure.run_end
    LANGUAGE sql STABLE
    AS $$...$$;

-- ends_answer(tenure.caller_identity, timestamp with time zone, tenure.end_batch, tenure.batch_taken, text); Type: FUNCTION
CREATE FUNCTION tenure.ends_answer(p_caller tenure.caller_identity, p_now timestamp with time zone, p_ends tenure.end_batch, p_taken tenure.batch_taken, p_answers text) RETURNS TABLE(job_id uuid, status text, state text, next_due timestamp with time zone, token uuid)
    LANGUAGE plpgsql
    AS $$...$$;

-- ends_follow(timestamp with time zone, text, integer[], uuid[]); Type: FUNCTION
CREATE FUNCTION tenure.ends_follow(p_now timestamp with time zone, p_actor text, p_lanes integer[], p_job_ids uuid[]) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- ends_of(tenure.end_batch, text); Type: FUNCTION
CREATE FUNCTION tenure.ends_of(p_ends tenure.end_batch, p_outcome text) RETURNS text[]
    LANGUAGE plpgsql
    AS $$...$$;

-- enqueue_alike(tenure.caller_identity, tenure.tunings, timestamp with time zone, tenure.new_job, integer, json[], text[], boolean); Type: FUNCTION
CREATE FUNCTION tenure.enqueue_alike(p_caller tenure.caller_identity, p_tuning tenure.tunings, p_now timestamp with time zone, p_like tenure.new_job, p_rows integer, p_payloads json[], p_keys text[], p_hand boolean, OUT ids uuid[], OUT hashes uuid[], OUT unmade uuid[], OUT handed boolean) RETURNS record
    LANGUAGE plpgsql
    AS $$...$$;

-- enqueue_batch(tenure.caller_identity, tenure.tunings, timestamp with time zone, tenure.new_job[]); Type: FUNCTION
CREATE FUNCTION tenure.enqueue_batch(p_caller tenure.caller_identity, p_tuning tenure.tunings, p_now timestamp with time zone, p_jobs tenure.new_job[], OUT ids uuid[], OUT hashes uuid[], OUT unmade uuid[]) RETURNS record
    LANGUAGE plpgsql
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_nestloop TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$...$$;

-- enqueue_lanes(tenure.caller_identity, tenure.tunings, tenure.new_job[]); Type: FUNCTION
CREATE FUNCTION tenure.enqueue_lanes(p_caller tenure.caller_identity, p_tuning tenure.tunings, p_jobs tenure.new_job[]) RETURNS integer[]
    LANGUAGE plpgsql
    AS $$...$$;

-- entry_times(integer, text); Type: FUNCTION
CREATE FUNCTION tenure.entry_times(p_tenant_id integer, p_subject text) RETURNS timestamp with time zone[]
    LANGUAGE plpgsql STABLE
    AS $_$...$_$;

-- epoch_after(integer); Type: FUNCTION
CREATE FUNCTION tenure.epoch_after(p_epoch integer) RETURNS integer
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- error_fingerprint(text, text, text); Type: FUNCTION
CREATE FUNCTION tenure.error_fingerprint(p_kind text, p_code text, p_message text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$...$$;

-- event_end(); Type: FUNCTION
CREATE FUNCTION tenure.event_end() RETURNS TABLE(tenant_id integer, tenant text, cursor text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- event_entries(bigint, text, text, jsonb, tenure.event_entry[]); Type: FUNCTION
CREATE FUNCTION tenure.event_entries(p_seq bigint, p_kind text, p_subject text, p_data jsonb, p_entries tenure.event_entry[]) RETURNS TABLE(seq bigint, kind text, subject text, data jsonb)
    LANGUAGE sql STABLE
    AS $$...$$;

-- event_kinds(); Type: FUNCTION
CREATE FUNCTION tenure.event_kinds() RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$...$$;

-- event_list(text, integer, text, text, boolean); Type: FUNCTION
CREATE FUNCTION tenure.event_list(p_after text DEFAULT NULL::text, p_limit integer DEFAULT 100, p_kind text DEFAULT NULL::text, p_subject text DEFAULT NULL::text, p_newest boolean DEFAULT false) RETURNS TABLE(cursor text, at timestamp with time zone, kind text, actor text, on_behalf_of text, subject text, job_kind text, executor text, job_ids uuid[], runs integer[], data jsonb, via text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    AS $$...$$;

-- events_held_off(); Type: FUNCTION
CREATE FUNCTION tenure.events_held_off() RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '100ms'
    AS $$...$$;

-- events_never_change(); Type: FUNCTION
CREATE FUNCTION tenure.events_never_change() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- evidence_error(text); Type: FUNCTION
CREATE FUNCTION tenure.evidence_error(p_message text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$...$$;

-- evidence_key_add(text, bytea, bytea, boolean); Type: FUNCTION
CREATE FUNCTION tenure.evidence_key_add(p_key_id text, p_public_key bytea, p_secret_key bytea, p_first boolean DEFAULT false) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- evidence_key_current(); Type: FUNCTION
CREATE FUNCTION tenure.evidence_key_current() RETURNS TABLE(key_id text, public_key bytea, secret_key bytea)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- evidence_key_list(); Type: FUNCTION
CREATE FUNCTION tenure.evidence_key_list() RETURNS TABLE(key_id text, public_key bytea, created_at timestamp with time zone, created_by text, signs boolean, kept text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- evidence_key_register(text, bytea); Type: FUNCTION
CREATE FUNCTION tenure.evidence_key_register(p_key_id text, p_public_key bytea) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- evidence_keys; Type: TABLE
CREATE TABLE tenure.evidence_keys (
    key_id text NOT NULL,
    public_key bytea NOT NULL,
    is_external boolean DEFAULT false NOT NULL,
    created_at timestamp with time zone NOT NULL,
    created_by text NOT NULL,
    CONSTRAINT evidence_keys_created_by_check CHECK ((created_by ~ '\S'::text)),
    CONSTRAINT evidence_keys_key_id_check CHECK ((key_id ~ '^[0-9a-f]{16}$'::text)),
    CONSTRAINT evidence_keys_public_key_check CHECK ((octet_length(public_key) = 32))
);
ALTER TABLE ONLY tenure.evidence_keys FORCE ROW LEVEL SECURITY;

-- TABLE evidence_keys; Type: COMMENT
COMMENT ON TABLE tenure.evidence_keys IS 'Public keys of evidence; the newest signs. The secret half is in tenure.secrets, as evidence:<key id>, or outside.';

-- COLUMN evidence_keys.is_external; Type: COMMENT
COMMENT ON COLUMN tenure.evidence_keys.is_external IS 'The secret half was never in the database: servers have it in a file or in their environment.';

-- evidence_key_signing(); Type: FUNCTION
CREATE FUNCTION tenure.evidence_key_signing() RETURNS tenure.evidence_keys
    LANGUAGE sql STABLE
    AS $$...$$;

-- evidence_payload(jsonb, boolean); Type: FUNCTION
CREATE FUNCTION tenure.evidence_payload(p_payload jsonb, p_restricted boolean) RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    AS $$...$$;

-- evidence_plan(uuid, text); Type: FUNCTION
CREATE FUNCTION tenure.evidence_plan(p_execution_id uuid, p_plan text) RETURNS text
    LANGUAGE sql STABLE
    AS $$...$$;

-- evidence_rows(tenure.execution_rows); Type: FUNCTION
CREATE FUNCTION tenure.evidence_rows(p_execution tenure.execution_rows) RETURNS TABLE(part integer, place bigint, rank text, line jsonb)
    LANGUAGE sql STABLE
    AS $$...$$;

-- excerpt(text); Type: FUNCTION
CREATE FUNCTION tenure.excerpt(p_text text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$...$$;

-- execution_admit(timestamp with time zone, text, uuid); Type: FUNCTION
CREATE FUNCTION tenure.execution_admit(p_now timestamp with time zone, p_actor text, p_execution_id uuid) RETURNS tenure.execution_rows
    LANGUAGE plpgsql
    AS $$...$$;

-- execution_approval_stands(timestamp with time zone, tenure.execution_rows); Type: FUNCTION
CREATE FUNCTION tenure.execution_approval_stands(p_now timestamp with time zone, p_execution tenure.execution_rows) RETURNS text
    LANGUAGE plpgsql
    AS $$...$$;

-- execution_approve_by_rule(timestamp with time zone, text, tenure.execution_rows, tenure.plans); Type: FUNCTION
CREATE FUNCTION tenure.execution_approve_by_rule(p_now timestamp with time zone, p_actor text, p_execution tenure.execution_rows, p_plan tenure.plans) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- execution_archive(uuid, text); Type: FUNCTION
CREATE FUNCTION tenure.execution_archive(p_execution_id uuid, p_evidence text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- execution_archive_due(integer); Type: FUNCTION
CREATE FUNCTION tenure.execution_archive_due(p_limit integer DEFAULT 10) RETURNS TABLE(tenant text, execution_id uuid)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- execution_archive_list(text[], text, text, text, timestamp with time zone, timestamp with time zone, uuid, integer); Type: FUNCTION
CREATE FUNCTION tenure.execution_archive_list(p_state text[] DEFAULT NULL::text[], p_requested_by text DEFAULT NULL::text, p_target text DEFAULT NULL::text, p_correlation_id text DEFAULT NULL::text, p_ended_after timestamp with time zone DEFAULT NULL::timestamp with time zone, p_ended_before timestamp with time zone DEFAULT NULL::timestamp with time zone, p_before uuid DEFAULT NULL::uuid, p_limit integer DEFAULT 50) RETURNS TABLE(execution_id uuid, state text, purpose text, requested_by text, requesters text[], plan_hash text, correlation_id text, targets text[], created_at timestamp with time zone, ended_at timestamp with time zone, archived_at timestamp with time zone, evidence_bytes integer)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$...$$;

-- execution_archive_show(uuid); Type: FUNCTION
CREATE FUNCTION tenure.execution_archive_show(p_execution_id uuid) RETURNS text
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- execution_archive_terms_add(uuid); Type: FUNCTION
CREATE FUNCTION tenure.execution_archive_terms_add(p_execution_id uuid) RETURNS void
    LANGUAGE sql
    AS $$...$$;

-- execution_background(uuid); Type: FUNCTION
CREATE FUNCTION tenure.execution_background(p_execution_id uuid) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- execution_become(timestamp with time zone, text, uuid, text, text, text); Type: FUNCTION
CREATE FUNCTION tenure.execution_become(p_now timestamp with time zone, p_actor text, p_execution_id uuid, p_state text, p_reason_code text, p_reason text) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- execution_cancel(uuid, text, text); Type: FUNCTION
CREATE FUNCTION tenure.execution_cancel(p_execution_id uuid, p_reason text, p_on_behalf_of text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- execution_close(uuid, text); Type: FUNCTION
CREATE FUNCTION tenure.execution_close(p_execution_id uuid, p_reason text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- execution_dead_letter_list(integer, text[], integer, timestamp with time zone, uuid); Type: FUNCTION
CREATE FUNCTION tenure.execution_dead_letter_list(p_days integer DEFAULT 7, p_triage_status text[] DEFAULT NULL::text[], p_limit integer DEFAULT 50, p_before timestamp with time zone DEFAULT NULL::timestamp with time zone, p_before_id uuid DEFAULT NULL::uuid) RETURNS TABLE(execution_id uuid, purpose text, plan_hash text, attempt_count integer, last_error text, failed_at timestamp with time zone, triage_status text, triage_note text, triaged_at timestamp with time zone, triaged_by text, retried_as uuid)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- execution_dead_letter_show(uuid); Type: FUNCTION
CREATE FUNCTION tenure.execution_dead_letter_show(p_execution_id uuid) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- execution_dead_letter_triage(uuid, text, text); Type: FUNCTION
CREATE FUNCTION tenure.execution_dead_letter_triage(p_execution_id uuid, p_status text, p_note text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- execution_dead_letters_write(uuid[]); Type: FUNCTION
CREATE FUNCTION tenure.execution_dead_letters_write(p_ids uuid[]) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- execution_difference(uuid, uuid); Type: FUNCTION
CREATE FUNCTION tenure.execution_difference(p_execution_id uuid, p_other_id uuid) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- execution_end_state(integer, integer, text); Type: FUNCTION
CREATE FUNCTION tenure.execution_end_state(p_succeeded integer, p_step_count integer, p_stopping text) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS $$...$$;

-- execution_end_unstarted(timestamp with time zone, text, uuid, text, text, text); Type: FUNCTION
CREATE FUNCTION tenure.execution_end_unstarted(p_now timestamp with time zone, p_actor text, p_execution_id uuid, p_reason_code text, p_reason text, p_on_behalf_of text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$...$$;

-- execution_ended(uuid[]); Type: FUNCTION
CREATE FUNCTION tenure.execution_ended(p_execution_ids uuid[]) RETURNS TABLE(execution_id uuid, state text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- execution_evidence(uuid); Type: FUNCTION
CREATE FUNCTION tenure.execution_evidence(p_execution_id uuid) RETURNS TABLE(n integer, line text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET "TimeZone" TO 'UTC'
    AS $$...$$;

-- execution_freeze(text, timestamp with time zone); Type: FUNCTION
CREATE FUNCTION tenure.execution_freeze(p_reason text, p_until timestamp with time zone DEFAULT NULL::timestamp with time zone) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- execution_freeze_plan(tenure.caller_identity, timestamp with time zone, tenure.submission); Type: FUNCTION
CREATE FUNCTION tenure.execution_freeze_plan(p_caller tenure.caller_identity, p_now timestamp with time zone, p_submission tenure.submission) RETURNS tenure.execution_rows
    LANGUAGE plpgsql
    AS $$...$$;

-- execution_handle_due(timestamp with time zone, uuid); Type: FUNCTION
CREATE FUNCTION tenure.execution_handle_due(p_now timestamp with time zone, p_execution_id uuid) RETURNS text
    LANGUAGE plpgsql
    AS $$...$$;

-- execution_key(integer, text, text); Type: FUNCTION
CREATE FUNCTION tenure.execution_key(p_tenant_id integer, p_principal text, p_plan_hash text) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS $$...$$;

-- execution_lapses_at(timestamp with time zone, tenure.execution_rows); Type: FUNCTION
CREATE FUNCTION tenure.execution_lapses_at(p_now timestamp with time zone, p_execution tenure.execution_rows) RETURNS timestamp with time zone
    LANGUAGE plpgsql STABLE
    AS $$...$$;

-- execution_list(text[], text, text, uuid, integer); Type: FUNCTION
CREATE FUNCTION tenure.execution_list(p_state text[] DEFAULT NULL::text[], p_requested_by text DEFAULT NULL::text, p_target text DEFAULT NULL::text, p_before uuid DEFAULT NULL::uuid, p_limit integer DEFAULT 50) RETURNS TABLE(execution_id uuid, state text, purpose text, requested_by text, plan_hash text, sla_class text, action_class text, mode text, priority integer, approval_level integer, rule text, parked text, stopping text, reason_code text, generator text, correlation_id text, step_count integer, steps_open integer, steps_succeeded integer, steps_failed integer, steps_skipped integer, steps_cancelled integer, steps_unknown integer, created_at timestamp with time zone, started_at timestamp with time zone, ended_at timestamp with time zone, queue_wait_ms bigint, duration_ms bigint, error_message text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$...$$;

-- execution_locked(integer, uuid); Type: FUNCTION
CREATE FUNCTION tenure.execution_locked(p_tenant_id integer, p_execution_id uuid) RETURNS tenure.execution_rows
    LANGUAGE plpgsql
    AS $$...$$;

-- execution_moves(); Type: FUNCTION
CREATE FUNCTION tenure.execution_moves() RETURNS TABLE(from_state text, to_state text)
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- execution_park(timestamp with time zone, tenure.execution_rows); Type: FUNCTION
CREATE FUNCTION tenure.execution_park(p_now timestamp with time zone, p_execution tenure.execution_rows) RETURNS boolean
    LANGUAGE plpgsql
    AS $$...$$;

-- execution_plan(uuid); Type: FUNCTION
CREATE FUNCTION tenure.execution_plan(p_execution_id uuid) RETURNS text
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- execution_preview(text, text); Type: FUNCTION
CREATE FUNCTION tenure.execution_preview(p_plan text, p_on_behalf_of text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- execution_request_approval(timestamp with time zone, text, tenure.execution_rows, tenure.plans, tenure.approval_terms); Type: FUNCTION
CREATE FUNCTION tenure.execution_request_approval(p_now timestamp with time zone, p_actor text, p_execution tenure.execution_rows, p_plan tenure.plans, p_terms tenure.approval_terms) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- execution_requesters(text, text, uuid); Type: FUNCTION
CREATE FUNCTION tenure.execution_requesters(p_principal text, p_on_behalf_of text, p_retry_of uuid) RETURNS text[]
    LANGUAGE sql STABLE
    AS $$...$$;

-- execution_resolve(uuid, text, text, text, jsonb, text); Type: FUNCTION
CREATE FUNCTION tenure.execution_resolve(p_execution_id uuid, p_step_id text, p_verdict text, p_reason text, p_result jsonb DEFAULT NULL::jsonb, p_on_behalf_of text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- execution_retry(uuid, text, text, text); Type: FUNCTION
CREATE FUNCTION tenure.execution_retry(p_execution_id uuid, p_mode text DEFAULT 'resume'::text, p_reason text DEFAULT NULL::text, p_on_behalf_of text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- execution_show(uuid); Type: FUNCTION
CREATE FUNCTION tenure.execution_show(p_execution_id uuid) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- execution_states_move(); Type: FUNCTION
CREATE FUNCTION tenure.execution_states_move() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- execution_states_values(); Type: FUNCTION
CREATE FUNCTION tenure.execution_states_values() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET standard_conforming_strings TO 'on'
    AS $$...$$;

-- execution_stop(timestamp with time zone, text, uuid, text, text, text, text); Type: FUNCTION
CREATE FUNCTION tenure.execution_stop(p_now timestamp with time zone, p_actor text, p_execution_id uuid, p_stopping text, p_reason_code text, p_reason text, p_on_behalf_of text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$...$$;

-- execution_submit(text, text, text, uuid, timestamp with time zone, timestamp with time zone, jsonb, text); Type: FUNCTION
CREATE FUNCTION tenure.execution_submit(p_plan text, p_key text DEFAULT NULL::text, p_plan_hash text DEFAULT NULL::text, p_supersedes uuid DEFAULT NULL::uuid, p_start_after timestamp with time zone DEFAULT NULL::timestamp with time zone, p_start_before timestamp with time zone DEFAULT NULL::timestamp with time zone, p_metadata jsonb DEFAULT '{}'::jsonb, p_on_behalf_of text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$...$$;

-- execution_supersede(tenure.caller_identity, timestamp with time zone, tenure.submission); Type: FUNCTION
CREATE FUNCTION tenure.execution_supersede(p_caller tenure.caller_identity, p_now timestamp with time zone, p_submission tenure.submission, OUT answer jsonb, OUT difference jsonb) RETURNS record
    LANGUAGE plpgsql
    AS $$...$$;

-- execution_targets(uuid); Type: FUNCTION
CREATE FUNCTION tenure.execution_targets(p_execution_id uuid) RETURNS text[]
    LANGUAGE sql STABLE
    AS $$...$$;

-- execution_terms(tenure.execution_rows, jsonb); Type: FUNCTION
CREATE FUNCTION tenure.execution_terms(p_execution tenure.execution_rows, p_plan jsonb) RETURNS tenure.approval_terms
    LANGUAGE plpgsql
    AS $$...$$;

-- execution_tick(integer); Type: FUNCTION
CREATE FUNCTION tenure.execution_tick(p_limit integer DEFAULT 100) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$...$$;

-- execution_timeline(uuid, integer, integer); Type: FUNCTION
CREATE FUNCTION tenure.execution_timeline(p_execution_id uuid, p_after integer DEFAULT 0, p_limit integer DEFAULT 1000) RETURNS TABLE(seq integer, at timestamp with time zone, kind text, actor text, step_id text, data jsonb, hash text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- execution_unfreeze(text); Type: FUNCTION
CREATE FUNCTION tenure.execution_unfreeze(p_reason text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- execution_waits(timestamp with time zone, tenure.execution_rows); Type: FUNCTION
CREATE FUNCTION tenure.execution_waits(p_now timestamp with time zone, p_execution tenure.execution_rows) RETURNS text[]
    LANGUAGE sql STABLE
    AS $$...$$;

-- execution_withdraw(uuid, text); Type: FUNCTION
CREATE FUNCTION tenure.execution_withdraw(p_execution_id uuid, p_reason text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- execution_write(tenure.caller_identity, timestamp with time zone, tenure.submission, tenure.new_execution); Type: FUNCTION
CREATE FUNCTION tenure.execution_write(p_caller tenure.caller_identity, p_now timestamp with time zone, p_submission tenure.submission, p_new tenure.new_execution) RETURNS boolean
    LANGUAGE plpgsql
    AS $$...$$;

-- executions_advance(timestamp with time zone, text, uuid[], integer[], text[], tenure.chain_entry[], text); Type: FUNCTION
CREATE FUNCTION tenure.executions_advance(p_now timestamp with time zone, p_actor text, p_execs uuid[], p_numbers integer[], p_states text[], p_entries tenure.chain_entry[], p_freed text DEFAULT 'hand_over'::text) RETURNS void
    LANGUAGE plpgsql
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$...$$;

-- executions_finish(timestamp with time zone, text, uuid[]); Type: FUNCTION
CREATE FUNCTION tenure.executions_finish(p_now timestamp with time zone, p_actor text, p_ids uuid[]) RETURNS tenure.chain_entry[]
    LANGUAGE plpgsql
    AS $$...$$;

-- executions_lock_rows(uuid[], uuid[]); Type: FUNCTION
CREATE FUNCTION tenure.executions_lock_rows(p_ids uuid[], p_job_ids uuid[]) RETURNS boolean
    LANGUAGE plpgsql
    SET lock_timeout TO '1s'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$...$$;

-- executions_may_start(timestamp with time zone, uuid[]); Type: FUNCTION
CREATE FUNCTION tenure.executions_may_start(p_now timestamp with time zone, p_ids uuid[]) RETURNS uuid[]
    LANGUAGE plpgsql
    AS $$...$$;

-- executions_set_due(timestamp with time zone, uuid[]); Type: FUNCTION
CREATE FUNCTION tenure.executions_set_due(p_now timestamp with time zone, p_ids uuid[]) RETURNS void
    LANGUAGE plpgsql
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$...$$;

-- executions_start(timestamp with time zone, text, uuid[]); Type: FUNCTION
CREATE FUNCTION tenure.executions_start(p_now timestamp with time zone, p_actor text, p_execs uuid[]) RETURNS tenure.chain_entry[]
    LANGUAGE plpgsql
    AS $$...$$;

-- executions_try_start(timestamp with time zone, text, uuid[], text); Type: FUNCTION
CREATE FUNCTION tenure.executions_try_start(p_now timestamp with time zone, p_actor text, p_ids uuid[], p_patience text DEFAULT 'wait'::text) RETURNS void
    LANGUAGE plpgsql
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$...$$;

-- executor_beat(text, text, text, uuid, jsonb, uuid); Type: FUNCTION
CREATE FUNCTION tenure.executor_beat(p_name text, p_executor text, p_status text DEFAULT 'ok'::text, p_current_job_id uuid DEFAULT NULL::uuid, p_metadata jsonb DEFAULT '{}'::jsonb, p_instance uuid DEFAULT NULL::uuid) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- executor_list(); Type: FUNCTION
CREATE FUNCTION tenure.executor_list() RETURNS TABLE(executor text, role text, note text, alive bigint, last_tick_at timestamp with time zone)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- executor_seen(integer, text, text, integer, text, tenure.tunings, timestamp with time zone); Type: FUNCTION
CREATE FUNCTION tenure.executor_seen(p_tenant_id integer, p_name text, p_executor text, p_lane integer, p_principal text, p_tuning tenure.tunings, p_now timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- explain_ended(jsonb); Type: FUNCTION
CREATE FUNCTION tenure.explain_ended(p_job jsonb) RETURNS jsonb
    LANGUAGE sql STABLE
    AS $$...$$;

-- explain_executor(integer, timestamp with time zone, text); Type: FUNCTION
CREATE FUNCTION tenure.explain_executor(p_tenant_id integer, p_now timestamp with time zone, p_executor text) RETURNS jsonb
    LANGUAGE plpgsql
    AS $$...$$;

-- explain_held(timestamp with time zone, jsonb); Type: FUNCTION
CREATE FUNCTION tenure.explain_held(p_now timestamp with time zone, p_job jsonb) RETURNS jsonb
    LANGUAGE plpgsql
    AS $$...$$;

-- explain_kind(integer, text); Type: FUNCTION
CREATE FUNCTION tenure.explain_kind(p_tenant_id integer, p_kind text) RETURNS jsonb
    LANGUAGE plpgsql
    AS $$...$$;

-- explain_times(timestamp with time zone, jsonb); Type: FUNCTION
CREATE FUNCTION tenure.explain_times(p_now timestamp with time zone, p_job jsonb) RETURNS jsonb
    LANGUAGE plpgsql
    AS $$...$$;

-- explain_turn(jsonb); Type: FUNCTION
CREATE FUNCTION tenure.explain_turn(p_job jsonb) RETURNS jsonb
    LANGUAGE plpgsql
    AS $$...$$;

-- fence_of(uuid); Type: FUNCTION
CREATE FUNCTION tenure.fence_of(p_job_id uuid) RETURNS bigint
    LANGUAGE sql STABLE
    AS $$...$$;

-- follow_up_failed(text, integer, text, timestamp with time zone, text); Type: FUNCTION
CREATE FUNCTION tenure.follow_up_failed(p_task text, p_tenant_id integer, p_subject text, p_now timestamp with time zone, p_reason text) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- follow_up_note(text, integer[], text[], timestamp with time zone, text); Type: FUNCTION
CREATE FUNCTION tenure.follow_up_note(p_task text, p_tenants integer[], p_subjects text[], p_due_at timestamp with time zone, p_reason text DEFAULT NULL::text) RETURNS void
    LANGUAGE sql
    AS $$...$$;

-- follow_up_take(text, integer, text); Type: FUNCTION
CREATE FUNCTION tenure.follow_up_take(p_task text, p_tenant_id integer, p_subject text) RETURNS boolean
    LANGUAGE plpgsql
    AS $$...$$;

-- follow_ups_due(text, integer[], integer); Type: FUNCTION
CREATE FUNCTION tenure.follow_ups_due(p_task text, p_tenants integer[], p_limit integer) RETURNS TABLE(tenant_id integer, subject text)
    LANGUAGE sql STABLE
    AS $$...$$;

-- forbidden_path(json); Type: FUNCTION
CREATE FUNCTION tenure.forbidden_path(p_payload json) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $_$...$_$;

-- gate_set(text, text, text); Type: FUNCTION
CREATE FUNCTION tenure.gate_set(p_key text, p_position text, p_on_behalf_of text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- governance_apply(tenure.governance_changes, timestamp with time zone); Type: FUNCTION
CREATE FUNCTION tenure.governance_apply(p_change tenure.governance_changes, p_now timestamp with time zone) RETURNS jsonb
    LANGUAGE plpgsql
    AS $$...$$;

-- governance_change(tenure.caller_identity, text, text, text, jsonb, text); Type: FUNCTION
CREATE FUNCTION tenure.governance_change(p_caller tenure.caller_identity, p_subject text, p_name text, p_operation text, p_new jsonb, p_on_behalf_of text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE plpgsql
    AS $$...$$;

-- governance_change_decide(uuid, text, text); Type: FUNCTION
CREATE FUNCTION tenure.governance_change_decide(p_change_id uuid, p_decision text, p_comment text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- governance_change_list(text[], integer, timestamp with time zone, uuid); Type: FUNCTION
CREATE FUNCTION tenure.governance_change_list(p_state text[] DEFAULT '{pending}'::text[], p_limit integer DEFAULT 100, p_before timestamp with time zone DEFAULT NULL::timestamp with time zone, p_before_id uuid DEFAULT NULL::uuid) RETURNS TABLE(change_id uuid, subject text, name text, operation text, old jsonb, new jsonb, state text, proposed_at timestamp with time zone, proposed_by text, on_behalf_of text, decided_at timestamp with time zone, decided_by text, auth_method text, comment text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- governance_changes_kept(); Type: FUNCTION
CREATE FUNCTION tenure.governance_changes_kept() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- governance_changes_move(); Type: FUNCTION
CREATE FUNCTION tenure.governance_changes_move() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- governance_content(integer, text, text); Type: FUNCTION
CREATE FUNCTION tenure.governance_content(p_tenant_id integer, p_subject text, p_name text) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET "TimeZone" TO 'UTC'
    AS $$...$$;

-- governance_needs_approval(integer); Type: FUNCTION
CREATE FUNCTION tenure.governance_needs_approval(p_tenant_id integer) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$...$$;

-- governance_remove(integer, text, text); Type: FUNCTION
CREATE FUNCTION tenure.governance_remove(p_tenant_id integer, p_subject text, p_name text) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- has_long_number(jsonb); Type: FUNCTION
CREATE FUNCTION tenure.has_long_number(p_value jsonb) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $_$...$_$;

-- health(); Type: FUNCTION
CREATE FUNCTION tenure.health() RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    AS $$...$$;

-- heartbeats_only_executors(); Type: FUNCTION
CREATE FUNCTION tenure.heartbeats_only_executors() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- id_floor(timestamp with time zone); Type: FUNCTION
CREATE FUNCTION tenure.id_floor(p_at timestamp with time zone) RETURNS uuid
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$...$$;

-- id_time(uuid); Type: FUNCTION
CREATE FUNCTION tenure.id_time(p_id uuid) RETURNS timestamp with time zone
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$...$$;

-- idempotency_hash(text, text); Type: FUNCTION
CREATE FUNCTION tenure.idempotency_hash(p_scope text, p_key text) RETURNS uuid
    LANGUAGE sql STABLE PARALLEL SAFE
    AS $$...$$;

-- idempotency_kept(uuid, timestamp with time zone, timestamp with time zone); Type: FUNCTION
CREATE FUNCTION tenure.idempotency_kept(p_job_id uuid, p_ended_at timestamp with time zone, p_now timestamp with time zone) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$...$$;

-- idempotency_prove(uuid[]); Type: FUNCTION
CREATE FUNCTION tenure.idempotency_prove(p_job_ids uuid[]) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- idempotency_scope(integer, text); Type: FUNCTION
CREATE FUNCTION tenure.idempotency_scope(p_tenant_id integer, p_kind text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$...$$;

-- idempotency_take(uuid[], uuid[]); Type: FUNCTION
CREATE FUNCTION tenure.idempotency_take(p_ids uuid[], p_hashes uuid[]) RETURNS uuid[]
    LANGUAGE plpgsql
    AS $$...$$;

-- installation_check(); Type: FUNCTION
CREATE FUNCTION tenure.installation_check() RETURNS TABLE(epoch integer, began boolean)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- installation_stamp(text, boolean); Type: FUNCTION
CREATE FUNCTION tenure.installation_stamp(p_functions_hash text, p_restored boolean DEFAULT false) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- is_blank(text); Type: FUNCTION
CREATE FUNCTION tenure.is_blank(p_text text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $_$...$_$;

-- is_event_wanted(text, text, text, text); Type: FUNCTION
CREATE FUNCTION tenure.is_event_wanted(p_kind text, p_subject text, p_of_kind text, p_of_subject text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$...$$;

-- is_every_tenant(); Type: FUNCTION
CREATE FUNCTION tenure.is_every_tenant() RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- is_governed(integer, text); Type: FUNCTION
CREATE FUNCTION tenure.is_governed(p_tenant_id integer, p_kind text) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$...$$;

-- is_governed_key(text); Type: FUNCTION
CREATE FUNCTION tenure.is_governed_key(p_key text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$...$$;

-- is_kind_of(text, text[]); Type: FUNCTION
CREATE FUNCTION tenure.is_kind_of(p_kind text, p_event_kinds text[]) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$...$$;

-- is_moment(text); Type: FUNCTION
CREATE FUNCTION tenure.is_moment(p_text text) RETURNS boolean
    LANGUAGE plpgsql STABLE
    SET standard_conforming_strings TO 'on'
    AS $_$...$_$;

-- is_plan_number(text); Type: FUNCTION
CREATE FUNCTION tenure.is_plan_number(p_text text) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- is_plan_restricted(uuid); Type: FUNCTION
CREATE FUNCTION tenure.is_plan_restricted(p_execution_id uuid) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$...$$;

-- is_requester(tenure.execution_rows, text[]); Type: FUNCTION
CREATE FUNCTION tenure.is_requester(p_execution tenure.execution_rows, p_names text[]) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$...$$;

-- is_resolved_so(uuid, jsonb); Type: FUNCTION
CREATE FUNCTION tenure.is_resolved_so(p_execution_id uuid, p_plan jsonb) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$...$$;

-- is_ruled_so(uuid, integer, text[], jsonb); Type: FUNCTION
CREATE FUNCTION tenure.is_ruled_so(p_execution_id uuid, p_tenant_id integer, p_requesters text[], p_plan jsonb) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$...$$;

-- step_states; Type: TABLE
CREATE TABLE tenure.step_states (
    execution_id uuid NOT NULL,
    step_number integer NOT NULL,
    tenant_id integer NOT NULL,
    attempts_max smallint,
    state text DEFAULT 'waiting'::text NOT NULL,
    needs_left integer NOT NULL,
    job_id uuid,
    dispatches smallint DEFAULT 0 NOT NULL,
    fence bigint,
    attempt smallint DEFAULT 0 NOT NULL,
    worker text,
    queued_at timestamp with time zone,
    started_at timestamp with time zone,
    ended_at timestamp with time zone,
    output_summary jsonb,
    output_ref text,
    output_size_bytes integer,
    error_code text,
    error_class text,
    error_message text,
    carried_from uuid,
    verdict_by text,
    verdict_reason text,
    CONSTRAINT step_states_moves CHECK ((
CASE
    WHEN (state = ANY (ARRAY['waiting'::text, 'awaiting_approval'::text, 'blocked'::text])) THEN (ended_at IS NULL)
    WHEN (state = ANY (ARRAY['running'::text, 'unknown'::text])) THEN ((ended_at IS NULL) AND (job_id IS NOT NULL))
    ELSE ((state = ANY (ARRAY['succeeded'::text, 'failed'::text, 'cancelled'::text, 'skipped'::text])) AND (ended_at IS NOT NULL))
END AND (LEAST(needs_left, (attempt)::integer, (dispatches)::integer, output_size_bytes) >= 0) AND ((attempt <= attempts_max) OR (verdict_by IS NOT NULL) OR (attempts_max IS NULL)) AND (ended_at >= started_at) AND (octet_length((output_summary)::text) <= 10240) AND (length(output_ref) <= 500) AND (octet_length(error_message) <= 4000)))
)
WITH (fillfactor='50', autovacuum_vacuum_scale_factor='0.05');

-- TABLE step_states; Type: COMMENT
COMMENT ON TABLE tenure.step_states IS 'Where a step stands. It becomes a job when its turn comes. Only a transaction that has locked the row of its execution in execution_states changes it. attempts_max is a copy, for the check.';

-- COLUMN step_states.needs_left; Type: COMMENT
COMMENT ON COLUMN tenure.step_states.needs_left IS 'How many of its needs have not succeeded yet.';

-- COLUMN step_states.fence; Type: COMMENT
COMMENT ON COLUMN tenure.step_states.fence IS 'The fencing number of the run that may act on the target, or was the last: greater than all before it. Null for a step without a lock.';

-- steps; Type: TABLE
CREATE TABLE tenure.steps (
    execution_id uuid NOT NULL,
    step_number integer NOT NULL,
    tenant_id integer NOT NULL,
    step_id text NOT NULL,
    action text NOT NULL,
    action_class text NOT NULL,
    target_type text NOT NULL,
    target_ref text NOT NULL,
    kind text NOT NULL,
    executor text,
    payload jsonb DEFAULT '{}'::jsonb NOT NULL,
    payload_ref text,
    payload_classification text DEFAULT 'safe_metadata'::text NOT NULL,
    effects text NOT NULL,
    attempts_max smallint,
    timeout_seconds integer NOT NULL,
    renewals_max integer NOT NULL,
    lease_seconds integer NOT NULL,
    priority smallint NOT NULL,
    registration text,
    level_min smallint DEFAULT 0 NOT NULL,
    approval_level smallint NOT NULL,
    rule text NOT NULL,
    approval_roles text[] DEFAULT '{}'::text[] NOT NULL,
    approval_quorum smallint DEFAULT 1 NOT NULL,
    approval_seconds integer DEFAULT 86400 NOT NULL,
    section text,
    lock_target text,
    lock_action text,
    compensation_note text,
    CONSTRAINT steps_action_check CHECK ((action ~ '\S'::text)),
    CONSTRAINT steps_action_class_check CHECK ((action_class = ANY (ARRAY['read'::text, 'modify'::text, 'deploy'::text]))),
    CONSTRAINT steps_approval_level_check CHECK (((approval_level >= 0) AND (approval_level <= 3))),
    CONSTRAINT steps_approval_quorum_check CHECK (((approval_quorum >= 1) AND (approval_quorum <= 10))),
    CONSTRAINT steps_approval_seconds_check CHECK ((approval_seconds > 0)),
    CONSTRAINT steps_attempts_max_check CHECK ((attempts_max >= 1)),
    CONSTRAINT steps_effects_check CHECK ((effects = ANY (ARRAY['idempotent'::text, 'once'::text]))),
    CONSTRAINT steps_lease_seconds_check CHECK (((lease_seconds >= 1) AND (lease_seconds <= 86400))),
    CONSTRAINT steps_level_min_check CHECK (((level_min >= 0) AND (level_min <= 3))),
    CONSTRAINT steps_level_reached CHECK ((approval_level >= level_min)),
    CONSTRAINT steps_lock CHECK (((lock_target IS NOT NULL) OR (lock_action IS NULL))),
    CONSTRAINT steps_payload_check CHECK ((jsonb_typeof(payload) = 'object'::text)),
    CONSTRAINT steps_payload_classification_check CHECK ((payload_classification = ANY (ARRAY['safe_metadata'::text, 'restricted'::text]))),
    CONSTRAINT steps_renewals_max_check CHECK ((renewals_max >= 0)),
    CONSTRAINT steps_rule_check CHECK ((rule ~ '\S'::text)),
    CONSTRAINT steps_step_id_check CHECK ((step_id ~ '\S'::text)),
    CONSTRAINT steps_step_number_check CHECK ((step_number > 0)),
    CONSTRAINT steps_target_ref_check CHECK ((target_ref ~ '\S'::text)),
    CONSTRAINT steps_target_type_check CHECK ((target_type ~ '\S'::text)),
    CONSTRAINT steps_timeout_seconds_check CHECK ((timeout_seconds > 0))
);

-- TABLE steps; Type: COMMENT
COMMENT ON TABLE tenure.steps IS 'One step of a frozen plan, as the plan, the registered actions and the rules have it. Written once.';

-- COLUMN steps.action_class; Type: COMMENT
COMMENT ON COLUMN tenure.steps.action_class IS 'The class that applies: that of the registered action, or that of the plan where it is stricter.';

-- COLUMN steps.payload_classification; Type: COMMENT
COMMENT ON COLUMN tenure.steps.payload_classification IS 'Where it is restricted, evidence shows only the SHA-256 of the payload, in the step and in the plan.';

-- COLUMN steps.registration; Type: COMMENT
COMMENT ON COLUMN tenure.steps.registration IS 'The registered action that decided, by its name or glob. Null: none matched.';

-- COLUMN steps.level_min; Type: COMMENT
COMMENT ON COLUMN tenure.steps.level_min IS 'The approval level that the action itself demands, whatever the rules say.';

-- COLUMN steps.approval_quorum; Type: COMMENT
COMMENT ON COLUMN tenure.steps.approval_quorum IS 'With the roles and the time: what an approval of this step takes, by the rules when the plan was submitted.';

-- COLUMN steps.section; Type: COMMENT
COMMENT ON COLUMN tenure.steps.section IS 'The section of the plan that it belongs to: steps that hold one lock together, one after the other.';

-- step_rows; Type: VIEW
CREATE VIEW tenure.step_rows WITH (security_invoker='true') AS
 SELECT p.execution_id,
    p.step_number,
    p.tenant_id,
    p.step_id,
    p.action,
    p.action_class,
    p.target_type,
    p.target_ref,
    p.kind,
    p.executor,
    p.payload,
    p.payload_ref,
    p.payload_classification,
    p.effects,
    p.attempts_max,
    p.timeout_seconds,
    p.renewals_max,
    p.lease_seconds,
    p.priority,
    p.approval_level,
    p.level_min,
    p.rule,
    p.approval_roles,
    p.approval_quorum,
    p.approval_seconds,
    p.lock_target,
    p.lock_action,
    p.section,
    p.compensation_note,
    p.registration,
    s.state,
    s.needs_left,
    s.fence,
    s.job_id,
    s.dispatches,
    s.carried_from,
    s.attempt,
    s.worker,
    s.queued_at,
    s.started_at,
    s.ended_at,
    tenure.milliseconds(s.started_at, s.ended_at) AS duration_ms,
    s.output_summary,
    s.output_ref,
    s.output_size_bytes,
    s.error_code,
    s.error_class,
    s.error_message,
    s.verdict_by,
    s.verdict_reason
   FROM (tenure.steps p
     JOIN tenure.step_states s ON (((s.execution_id = p.execution_id) AND (s.step_number = p.step_number))));

-- VIEW step_rows; Type: COMMENT
COMMENT ON VIEW tenure.step_rows IS 'Steps: what the plan says, and where each stands.';

-- is_run_chained(tenure.step_rows, uuid, integer); Type: FUNCTION
CREATE FUNCTION tenure.is_run_chained(p_step tenure.step_rows, p_job_id uuid, p_run integer) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$...$$;

-- is_settled(tenure.execution_rows); Type: FUNCTION
CREATE FUNCTION tenure.is_settled(p_execution tenure.execution_rows) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$...$$;

-- is_trusted(); Type: FUNCTION
CREATE FUNCTION tenure.is_trusted() RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- is_unreadable(jsonb); Type: FUNCTION
CREATE FUNCTION tenure.is_unreadable(p_value jsonb) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $_$...$_$;

-- job_acknowledge_cancel(uuid, uuid); Type: FUNCTION
CREATE FUNCTION tenure.job_acknowledge_cancel(p_job_id uuid, p_token uuid) RETURNS jsonb
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- job_cancel(uuid, text, text, text); Type: FUNCTION
CREATE FUNCTION tenure.job_cancel(p_job_id uuid, p_reason text, p_mode text DEFAULT 'cooperative'::text, p_on_behalf_of text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- job_claim(text, text, text[], integer, text, text, integer); Type: FUNCTION
CREATE FUNCTION tenure.job_claim(p_worker text, p_executor text DEFAULT NULL::text, p_kinds text[] DEFAULT NULL::text[], p_lease_seconds integer DEFAULT NULL::integer, p_mode text DEFAULT 'leased'::text, p_affinity_key text DEFAULT NULL::text, p_priority_min integer DEFAULT NULL::integer) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- job_claim_many(text, text, text[], integer, integer, text, uuid, text, integer, integer, smallint, timestamp with time zone, timestamp with time zone, integer); Type: FUNCTION
CREATE FUNCTION tenure.job_claim_many(p_worker text, p_executor text DEFAULT NULL::text, p_kinds text[] DEFAULT NULL::text[], p_limit integer DEFAULT 1, p_lease_seconds integer DEFAULT NULL::integer, p_mode text DEFAULT 'leased'::text, p_token uuid DEFAULT NULL::uuid, p_affinity_key text DEFAULT NULL::text, p_lane_after integer DEFAULT NULL::integer, p_hint_lane integer DEFAULT NULL::integer, p_hint_rank smallint DEFAULT NULL::smallint, p_hint_due timestamp with time zone DEFAULT NULL::timestamp with time zone, p_hint_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_priority_min integer DEFAULT NULL::integer) RETURNS TABLE(job_id uuid, token uuid, lane integer, rank smallint, due timestamp with time zone, kind text, executor text, state text, run integer, attempt smallint, attempts_max smallint, leased_at timestamp with time zone, leased_until timestamp with time zone, started_at timestamp with time zone, run_until timestamp with time zone, deadline_at timestamp with time zone, payload json, payload_classification text, source_ref text, target_ref text, payload_ref text, idempotency_key text, affinity_key text, correlation_id text, parent_job_id uuid, workflow_id uuid, run_id uuid, enqueued_by text, created_at timestamp with time zone, traceparent text, step jsonb, slot jsonb, fence bigint)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    AS $$...$$;

-- job_complete(uuid, uuid, jsonb, text); Type: FUNCTION
CREATE FUNCTION tenure.job_complete(p_job_id uuid, p_token uuid, p_result jsonb DEFAULT NULL::jsonb, p_result_ref text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- job_dead_letter(uuid, text, text); Type: FUNCTION
CREATE FUNCTION tenure.job_dead_letter(p_job_id uuid, p_reason text, p_on_behalf_of text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- job_depth(uuid, integer); Type: FUNCTION
CREATE FUNCTION tenure.job_depth(p_job_id uuid, p_depth_max integer) RETURNS integer
    LANGUAGE plpgsql STABLE
    AS $$...$$;

-- job_end_many(uuid[], uuid[], text[], jsonb[], text[], text[], text[], text[], integer[]); Type: FUNCTION
CREATE FUNCTION tenure.job_end_many(p_job_ids uuid[], p_tokens uuid[], p_outcomes text[], p_results jsonb[] DEFAULT NULL::jsonb[], p_result_refs text[] DEFAULT NULL::text[], p_error_codes text[] DEFAULT NULL::text[], p_error_classes text[] DEFAULT NULL::text[], p_error_messages text[] DEFAULT NULL::text[], p_delay_seconds integer[] DEFAULT NULL::integer[]) RETURNS TABLE(job_id uuid, status text, state text, next_due timestamp with time zone)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    AS $$...$$;

-- job_end_one(uuid, uuid, text, jsonb, text, tenure.run_error, integer); Type: FUNCTION
CREATE FUNCTION tenure.job_end_one(p_job_id uuid, p_token uuid, p_outcome text, p_result jsonb DEFAULT NULL::jsonb, p_result_ref text DEFAULT NULL::text, p_error tenure.run_error DEFAULT NULL::tenure.run_error, p_delay_seconds integer DEFAULT NULL::integer) RETURNS jsonb
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$...$_$;

-- job_ended(uuid[]); Type: FUNCTION
CREATE FUNCTION tenure.job_ended(p_job_ids uuid[]) RETURNS uuid[]
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- job_enqueue(text, jsonb, text, text, text, timestamp with time zone, timestamp with time zone, text, text, text, text, integer, text, bigint, uuid, uuid, uuid, text, text, text, uuid, text); Type: FUNCTION
CREATE FUNCTION tenure.job_enqueue(p_kind text, p_payload jsonb DEFAULT '{}'::jsonb, p_key text DEFAULT NULL::text, p_executor text DEFAULT NULL::text, p_priority text DEFAULT 'normal'::text, p_due timestamp with time zone DEFAULT NULL::timestamp with time zone, p_deadline timestamp with time zone DEFAULT NULL::timestamp with time zone, p_source_ref text DEFAULT NULL::text, p_target_ref text DEFAULT NULL::text, p_payload_ref text DEFAULT NULL::text, p_classification text DEFAULT NULL::text, p_attempts_max integer DEFAULT NULL::integer, p_correlation_id text DEFAULT NULL::text, p_causation_event bigint DEFAULT NULL::bigint, p_parent_job_id uuid DEFAULT NULL::uuid, p_workflow_id uuid DEFAULT NULL::uuid, p_run_id uuid DEFAULT NULL::uuid, p_affinity_key text DEFAULT NULL::text, p_event_domain text DEFAULT NULL::text, p_source_system text DEFAULT NULL::text, p_job_id uuid DEFAULT NULL::uuid, p_on_behalf_of text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- job_enqueue_many(text[], json[], text[], text[], integer[], timestamp with time zone[], timestamp with time zone[], text[], text[], text[], text[], integer[], text[], bigint[], uuid[], uuid[], uuid[], text[], text[], text[], uuid[], text); Type: FUNCTION
CREATE FUNCTION tenure.job_enqueue_many(p_kinds text[], p_payloads json[] DEFAULT NULL::json[], p_keys text[] DEFAULT NULL::text[], p_executors text[] DEFAULT NULL::text[], p_priorities integer[] DEFAULT NULL::integer[], p_due timestamp with time zone[] DEFAULT NULL::timestamp with time zone[], p_deadlines timestamp with time zone[] DEFAULT NULL::timestamp with time zone[], p_source_refs text[] DEFAULT NULL::text[], p_target_refs text[] DEFAULT NULL::text[], p_payload_refs text[] DEFAULT NULL::text[], p_classifications text[] DEFAULT NULL::text[], p_attempts_max integer[] DEFAULT NULL::integer[], p_correlation_ids text[] DEFAULT NULL::text[], p_causation_events bigint[] DEFAULT NULL::bigint[], p_parent_job_ids uuid[] DEFAULT NULL::uuid[], p_workflow_ids uuid[] DEFAULT NULL::uuid[], p_run_ids uuid[] DEFAULT NULL::uuid[], p_affinity_keys text[] DEFAULT NULL::text[], p_event_domains text[] DEFAULT NULL::text[], p_source_systems text[] DEFAULT NULL::text[], p_job_ids uuid[] DEFAULT NULL::uuid[], p_on_behalf_of text DEFAULT NULL::text) RETURNS TABLE(ordinal integer, job_id uuid, duplicate boolean, state text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$...$$;

-- job_enqueue_plain(text, json, text, boolean); Type: FUNCTION
CREATE FUNCTION tenure.job_enqueue_plain(p_kind text, p_payload json, p_key text, p_alone boolean DEFAULT false, OUT job_id uuid, OUT duplicate boolean, OUT state text) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$...$$;

-- job_explain(uuid); Type: FUNCTION
CREATE FUNCTION tenure.job_explain(p_job_id uuid) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- job_fail(uuid, uuid, text, text, text, text, integer); Type: FUNCTION
CREATE FUNCTION tenure.job_fail(p_job_id uuid, p_token uuid, p_message text, p_permanence text DEFAULT 'transient'::text, p_code text DEFAULT NULL::text, p_class text DEFAULT NULL::text, p_retry_seconds integer DEFAULT NULL::integer) RETURNS jsonb
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- job_hand(tenure.caller_identity, tenure.tunings, tenure.handed_job); Type: FUNCTION
CREATE FUNCTION tenure.job_hand(p_caller tenure.caller_identity, p_tuning tenure.tunings, p_job tenure.handed_job) RETURNS boolean
    LANGUAGE plpgsql
    AS $$...$$;

-- job_heartbeat(uuid, uuid, integer); Type: FUNCTION
CREATE FUNCTION tenure.job_heartbeat(p_job_id uuid, p_token uuid, p_lease_seconds integer DEFAULT NULL::integer) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- job_heartbeat_many(uuid[], uuid[], integer); Type: FUNCTION
CREATE FUNCTION tenure.job_heartbeat_many(p_job_ids uuid[], p_tokens uuid[], p_lease_seconds integer DEFAULT NULL::integer) RETURNS TABLE(job_id uuid, status text, leased_until timestamp with time zone, cancel_reason text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$...$$;

-- job_held(uuid); Type: FUNCTION
CREATE FUNCTION tenure.job_held(p_token uuid) RETURNS TABLE(job_id uuid, token uuid, lane integer, rank smallint, due timestamp with time zone, kind text, executor text, state text, run integer, attempt smallint, attempts_max smallint, leased_at timestamp with time zone, leased_until timestamp with time zone, started_at timestamp with time zone, run_until timestamp with time zone, deadline_at timestamp with time zone, payload json, payload_classification text, source_ref text, target_ref text, payload_ref text, idempotency_key text, affinity_key text, correlation_id text, parent_job_id uuid, workflow_id uuid, run_id uuid, enqueued_by text, created_at timestamp with time zone, traceparent text, step jsonb, slot jsonb, fence bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    AS $$...$$;

-- job_lease(uuid); Type: FUNCTION
CREATE FUNCTION tenure.job_lease(p_job_id uuid) RETURNS TABLE(owner text, leased_at timestamp with time zone, until timestamp with time zone)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- job_list(text[], text, text, text, uuid, integer, timestamp with time zone, timestamp with time zone, text); Type: FUNCTION
CREATE FUNCTION tenure.job_list(p_state text[] DEFAULT NULL::text[], p_kind text DEFAULT NULL::text, p_executor text DEFAULT NULL::text, p_correlation_id text DEFAULT NULL::text, p_before uuid DEFAULT NULL::uuid, p_limit integer DEFAULT 50, p_created_after timestamp with time zone DEFAULT NULL::timestamp with time zone, p_created_before timestamp with time zone DEFAULT NULL::timestamp with time zone, p_error_code text DEFAULT NULL::text) RETURNS TABLE(job_id uuid, kind text, executor text, state text, priority smallint, due timestamp with time zone, attempts integer, attempts_max smallint, lease_owner text, lease_until timestamp with time zone, error_message text, enqueued_by text, created_at timestamp with time zone, finished_at timestamp with time zone, step jsonb, slot jsonb)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    AS $$...$$;

-- job_payload(uuid); Type: FUNCTION
CREATE FUNCTION tenure.job_payload(p_job_id uuid) RETURNS jsonb
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- job_progress(uuid, uuid, jsonb); Type: FUNCTION
CREATE FUNCTION tenure.job_progress(p_job_id uuid, p_token uuid, p_progress jsonb DEFAULT '{}'::jsonb) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- job_reap(text, integer); Type: FUNCTION
CREATE FUNCTION tenure.job_reap(p_mode text DEFAULT 'apply'::text, p_limit integer DEFAULT 500) RETURNS TABLE(job_id uuid, tenant text, kind text, finding text, worker text, state text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    AS $$...$$;

-- job_release(uuid, uuid); Type: FUNCTION
CREATE FUNCTION tenure.job_release(p_job_id uuid, p_token uuid) RETURNS jsonb
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- job_requeue(uuid, text); Type: FUNCTION
CREATE FUNCTION tenure.job_requeue(p_job_id uuid, p_on_behalf_of text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- job_retry(uuid, text, text); Type: FUNCTION
CREATE FUNCTION tenure.job_retry(p_job_id uuid, p_reason text DEFAULT NULL::text, p_on_behalf_of text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- job_settle(timestamp with time zone, text, text, tenure.run_end[]); Type: FUNCTION
CREATE FUNCTION tenure.job_settle(p_now timestamp with time zone, p_actor text, p_on_behalf_of text, p_ends tenure.run_end[]) RETURNS TABLE(job_id uuid, state text, next_due timestamp with time zone)
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$...$$;

-- job_show(uuid); Type: FUNCTION
CREATE FUNCTION tenure.job_show(p_job_id uuid) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- job_snooze(uuid, uuid, integer); Type: FUNCTION
CREATE FUNCTION tenure.job_snooze(p_job_id uuid, p_token uuid, p_seconds integer) RETURNS jsonb
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- job_start(uuid, uuid); Type: FUNCTION
CREATE FUNCTION tenure.job_start(p_job_id uuid, p_token uuid) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- job_start_many(uuid[], uuid[]); Type: FUNCTION
CREATE FUNCTION tenure.job_start_many(p_job_ids uuid[], p_tokens uuid[]) RETURNS TABLE(job_id uuid, status text, started_at timestamp with time zone, run_until timestamp with time zone)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    AS $$...$$;

-- job_state(uuid); Type: FUNCTION
CREATE FUNCTION tenure.job_state(p_job_id uuid) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- job_stop(tenure.caller_identity, timestamp with time zone, uuid, text, text, text); Type: FUNCTION
CREATE FUNCTION tenure.job_stop(p_caller tenure.caller_identity, p_now timestamp with time zone, p_job_id uuid, p_reason text, p_mode text, p_on_behalf_of text) RETURNS jsonb
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- job_sweep(integer); Type: FUNCTION
CREATE FUNCTION tenure.job_sweep(p_limit integer DEFAULT 1000) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    AS $$...$$;

-- job_timeline(uuid); Type: FUNCTION
CREATE FUNCTION tenure.job_timeline(p_job_id uuid) RETURNS TABLE(at timestamp with time zone, state text, verb text, run integer, attempt integer, actor text, worker text, detail text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- job_turn(uuid[], uuid[], text[], jsonb[], text[], text[], text[], text[], integer[], text, text, text[], integer, integer, text, uuid, integer, integer, smallint, timestamp with time zone, timestamp with time zone, text, boolean, boolean, integer); Type: FUNCTION
CREATE FUNCTION tenure.job_turn(p_job_ids uuid[], p_tokens uuid[], p_outcomes text[], p_results jsonb[], p_result_refs text[], p_error_codes text[], p_error_classes text[], p_error_messages text[], p_delay_seconds integer[], p_worker text, p_executor text, p_kinds text[], p_limit integer, p_lease_seconds integer, p_mode text, p_token uuid, p_lane_after integer DEFAULT NULL::integer, p_hint_lane integer DEFAULT NULL::integer, p_hint_rank smallint DEFAULT NULL::smallint, p_hint_due timestamp with time zone DEFAULT NULL::timestamp with time zone, p_hint_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_affinity_key text DEFAULT NULL::text, p_gated boolean DEFAULT true, p_hint_alone boolean DEFAULT false, p_priority_min integer DEFAULT NULL::integer) RETURNS TABLE(part text, job_id uuid, lane integer, rank smallint, due timestamp with time zone, run integer, attempt smallint, attempts_max smallint, payload json, idempotency_key text, enqueued_by text, created_at timestamp with time zone, more jsonb)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$...$$;

-- jobs_clean(timestamp with time zone, uuid[], uuid[]); Type: FUNCTION
CREATE FUNCTION tenure.jobs_clean(p_now timestamp with time zone, p_job_ids uuid[], p_step_job_ids uuid[]) RETURNS integer
    LANGUAGE plpgsql
    AS $$...$$;

-- jobs_only_cleaned(); Type: FUNCTION
CREATE FUNCTION tenure.jobs_only_cleaned() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- json_depth(text); Type: FUNCTION
CREATE FUNCTION tenure.json_depth(p_text text) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $_$...$_$;

-- key_check(text, bytea); Type: FUNCTION
CREATE FUNCTION tenure.key_check(p_prefix text, p_digest bytea) RETURNS uuid
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- key_create(text, text, bytea, text[], integer, text[], text[], text, timestamp with time zone, text); Type: FUNCTION
CREATE FUNCTION tenure.key_create(p_principal text, p_prefix text, p_digest bytea, p_roles text[], p_approver_level integer DEFAULT NULL::integer, p_executors text[] DEFAULT NULL::text[], p_kinds text[] DEFAULT NULL::text[], p_payload_access text DEFAULT 'safe'::text, p_expires_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_note text DEFAULT ''::text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$...$_$;

-- key_home(uuid); Type: FUNCTION
CREATE FUNCTION tenure.key_home(p_key_id uuid) RETURNS text
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- key_list(text[], integer, text, timestamp with time zone, text); Type: FUNCTION
CREATE FUNCTION tenure.key_list(p_state text[] DEFAULT NULL::text[], p_limit integer DEFAULT NULL::integer, p_after_state text DEFAULT NULL::text, p_after_at timestamp with time zone DEFAULT NULL::timestamp with time zone, p_after_prefix text DEFAULT NULL::text) RETURNS TABLE(prefix text, principal text, kind text, state text, roles text[], approver_level integer, executors text[], kinds text[], payload_access text, note text, created_at timestamp with time zone, created_by text, makers text[], expires_at timestamp with time zone, revoked_at timestamp with time zone, revoked_by text, last_used_at timestamp with time zone)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- key_revoke(text); Type: FUNCTION
CREATE FUNCTION tenure.key_revoke(p_prefix text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- key_roles(); Type: FUNCTION
CREATE FUNCTION tenure.key_roles() RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$...$$;

-- keyed_hash(bytea); Type: FUNCTION
CREATE FUNCTION tenure.keyed_hash(p_digest bytea) RETURNS bytea
    LANGUAGE plpgsql STABLE
    AS $$...$$;

-- keys_ended(uuid[]); Type: FUNCTION
CREATE FUNCTION tenure.keys_ended(p_key_ids uuid[]) RETURNS SETOF uuid
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- keys_used(uuid[]); Type: FUNCTION
CREATE FUNCTION tenure.keys_used(p_key_ids uuid[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- kind_hold(text, text, text, text); Type: FUNCTION
CREATE FUNCTION tenure.kind_hold(p_kind text, p_verb text, p_note text, p_on_behalf_of text) RETURNS jsonb
    LANGUAGE plpgsql
    AS $$...$$;

-- kind_list(); Type: FUNCTION
CREATE FUNCTION tenure.kind_list() RETURNS TABLE(kind text, executor text, event_domain text, only_by_plan boolean, attempts_max smallint, backoff_base_seconds integer, backoff_jitter_percent smallint, on_exhausted text, lease_seconds integer, lease_seconds_max integer, renewals_max integer, run_timeout_seconds integer, concurrency_max integer, paused_at timestamp with time zone, paused_by text, pause_note text, catch_up text, retention_seconds integer, key_keep_seconds integer, description text, updated_at timestamp with time zone, updated_by text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- kind_mark_held(integer, text); Type: FUNCTION
CREATE FUNCTION tenure.kind_mark_held(p_tenant_id integer, p_kind text) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- kinds; Type: TABLE
CREATE TABLE tenure.kinds (
    tenant_id integer NOT NULL,
    kind text NOT NULL,
    executor text DEFAULT 'external_worker'::text NOT NULL,
    event_domain text DEFAULT 'job'::text NOT NULL,
    only_by_plan boolean DEFAULT false NOT NULL,
    attempts_max smallint,
    backoff_base_seconds integer,
    backoff_jitter_percent smallint,
    on_exhausted text DEFAULT 'dead_letter'::text NOT NULL,
    lease_seconds integer,
    lease_seconds_max integer,
    renewals_max integer,
    run_timeout_seconds integer,
    concurrency_max integer,
    paused_at timestamp with time zone,
    paused_by text,
    pause_note text,
    catch_up text,
    retention_seconds integer,
    key_keep_seconds integer,
    description text DEFAULT ''::text NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    updated_by text NOT NULL,
    CONSTRAINT kinds_attempts_max_check CHECK (((attempts_max >= 1) AND (attempts_max <= 1000))),
    CONSTRAINT kinds_backoff_base_seconds_check CHECK (((backoff_base_seconds >= 1) AND (backoff_base_seconds <= 86400))),
    CONSTRAINT kinds_backoff_jitter_percent_check CHECK (((backoff_jitter_percent >= 0) AND (backoff_jitter_percent <= 100))),
    CONSTRAINT kinds_catch_up_check CHECK ((catch_up = ANY (ARRAY['latest_only'::text, 'every_plan'::text, 'none'::text]))),
    CONSTRAINT kinds_concurrency_max_check CHECK (((concurrency_max >= 1) AND (concurrency_max <= 100000))),
    CONSTRAINT kinds_key_keep_seconds_check CHECK (((key_keep_seconds >= 1) AND (key_keep_seconds <= 315360000))),
    CONSTRAINT kinds_kind_check CHECK (((kind ~ '\S'::text) AND (length(kind) <= 200) AND (kind !~ '[[:cntrl:]]'::text))),
    CONSTRAINT kinds_lease_seconds_check CHECK (((lease_seconds >= 1) AND (lease_seconds <= 86400))),
    CONSTRAINT kinds_lease_seconds_max_check CHECK (((lease_seconds_max >= 1) AND (lease_seconds_max <= 86400))),
    CONSTRAINT kinds_lease_within_max CHECK (((lease_seconds IS NULL) OR (lease_seconds_max IS NULL) OR (lease_seconds <= lease_seconds_max))),
    CONSTRAINT kinds_on_exhausted_check CHECK ((on_exhausted = ANY (ARRAY['dead_letter'::text, 'fail'::text]))),
    CONSTRAINT kinds_pause_has_author CHECK (((paused_at IS NULL) = (paused_by IS NULL))),
    CONSTRAINT kinds_paused_by_check CHECK ((paused_by ~ '\S'::text)),
    CONSTRAINT kinds_renewals_max_check CHECK (((renewals_max >= 0) AND (renewals_max <= 1000000))),
    CONSTRAINT kinds_retention_seconds_check CHECK (((retention_seconds >= 60) AND (retention_seconds <= 315360000))),
    CONSTRAINT kinds_run_timeout_seconds_check CHECK (((run_timeout_seconds >= 1) AND (run_timeout_seconds <= 2592000))),
    CONSTRAINT kinds_updated_by_check CHECK ((updated_by ~ '\S'::text))
);

-- TABLE kinds; Type: COMMENT
COMMENT ON TABLE tenure.kinds IS 'The policy of a kind. Null: the configuration decides. A job keeps the policy it was enqueued under.';

-- COLUMN kinds.only_by_plan; Type: COMMENT
COMMENT ON COLUMN tenure.kinds.only_by_plan IS 'True: each job of the kind is the step of an execution. Every other way to make one is refused.';

-- COLUMN kinds.concurrency_max; Type: COMMENT
COMMENT ON COLUMN tenure.kinds.concurrency_max IS 'Maximum number of held jobs of this kind, over all workers and executors. Null: no limit.';

-- COLUMN kinds.catch_up; Type: COMMENT
COMMENT ON COLUMN tenure.kinds.catch_up IS 'Applies to late slots of schedules without a rule of their own. Null: none for agents, else latest_only.';

-- COLUMN kinds.key_keep_seconds; Type: COMMENT
COMMENT ON COLUMN tenure.kinds.key_keep_seconds IS 'How long after its end a job keeps its key, at most as long as it is kept itself. Null: until its end.';

-- kind_merge(integer, tenure.kinds, jsonb); Type: FUNCTION
CREATE FUNCTION tenure.kind_merge(p_tenant_id integer, p_old tenure.kinds, p_policy jsonb) RETURNS tenure.kinds
    LANGUAGE plpgsql STABLE
    AS $$...$$;

-- kind_pause(text, text, text); Type: FUNCTION
CREATE FUNCTION tenure.kind_pause(p_kind text, p_note text DEFAULT NULL::text, p_on_behalf_of text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- kind_resume(text, text); Type: FUNCTION
CREATE FUNCTION tenure.kind_resume(p_kind text, p_on_behalf_of text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- kind_room(integer, text); Type: FUNCTION
CREATE FUNCTION tenure.kind_room(p_tenant_id integer, p_kind text) RETURNS integer
    LANGUAGE plpgsql
    SET lock_timeout TO '100ms'
    AS $$...$$;

-- kind_set(text, jsonb, text); Type: FUNCTION
CREATE FUNCTION tenure.kind_set(p_kind text, p_policy jsonb DEFAULT '{}'::jsonb, p_on_behalf_of text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- kind_show(text); Type: FUNCTION
CREATE FUNCTION tenure.kind_show(p_kind text) RETURNS jsonb
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- kind_unplanned(integer, text); Type: FUNCTION
CREATE FUNCTION tenure.kind_unplanned(p_tenant_id integer, p_kind text) RETURNS integer
    LANGUAGE sql STABLE
    AS $$...$$;

-- kind_write(integer, timestamp with time zone, text, text, text, jsonb, jsonb); Type: FUNCTION
CREATE FUNCTION tenure.kind_write(p_tenant_id integer, p_now timestamp with time zone, p_author text, p_on_behalf_of text, p_kind text, p_policy jsonb, p_approval jsonb DEFAULT '{}'::jsonb) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- lane_check(tenure.caller_identity, text, text, text); Type: FUNCTION
CREATE FUNCTION tenure.lane_check(p_caller tenure.caller_identity, p_kind text, p_executor text, p_of text DEFAULT ''::text) RETURNS text
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- lane_ensure(tenure.caller_identity, text, text, text, boolean); Type: FUNCTION
CREATE FUNCTION tenure.lane_ensure(p_caller tenure.caller_identity, p_kind text, p_executor text, p_of text DEFAULT ''::text, p_stepped boolean DEFAULT false) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- lane_lapse(integer[], timestamp with time zone, integer, text); Type: FUNCTION
CREATE FUNCTION tenure.lane_lapse(p_lanes integer[], p_now timestamp with time zone, p_rows_max integer, p_actor text) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- lane_make(integer, text, text, boolean); Type: FUNCTION
CREATE FUNCTION tenure.lane_make(p_tenant_id integer, p_kind text, p_executor text, p_stepped boolean) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- lane_open(text, text); Type: FUNCTION
CREATE FUNCTION tenure.lane_open(p_kind text, p_executor text DEFAULT NULL::text) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- lane_policy(integer, text, text); Type: FUNCTION
CREATE FUNCTION tenure.lane_policy(p_tenant_id integer, p_kind text, p_executor text) RETURNS TABLE(lane integer, executor text, timed boolean, kind text, event_domain text, attempts_max smallint, backoff_base_seconds integer, backoff_jitter_percent smallint, run_timeout_seconds integer, renewals_max integer, on_exhausted text, only_by_plan boolean)
    LANGUAGE sql STABLE
    AS $$...$$;

-- lane_preferred(integer, text); Type: FUNCTION
CREATE FUNCTION tenure.lane_preferred(p_lane integer, p_affinity_key text, OUT ids uuid[], OUT last_rank smallint, OUT last_due timestamp with time zone) RETURNS record
    LANGUAGE plpgsql STABLE
    AS $$...$$;

-- lane_promote(integer[], timestamp with time zone, integer); Type: FUNCTION
CREATE FUNCTION tenure.lane_promote(p_lanes integer[], p_now timestamp with time zone, p_rows_max integer) RETURNS integer
    LANGUAGE plpgsql
    AS $$...$$;

-- lane_ranges(integer, timestamp with time zone, tenure.claim_request, tenure.claim_terms, integer); Type: FUNCTION
CREATE FUNCTION tenure.lane_ranges(p_tenant_id integer, p_now timestamp with time zone, p_claim tenure.claim_request, p_terms tenure.claim_terms, p_at integer) RETURNS tenure.lane_pick[]
    LANGUAGE plpgsql
    AS $$...$$;

-- lane_ready(integer[], integer); Type: FUNCTION
CREATE FUNCTION tenure.lane_ready(p_lanes integer[], p_limit integer DEFAULT 1000) RETURNS integer
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- lane_take(tenure.caller_identity, timestamp with time zone, tenure.claim_request, tenure.lane_pick, integer); Type: FUNCTION
CREATE FUNCTION tenure.lane_take(p_caller tenure.caller_identity, p_now timestamp with time zone, p_claim tenure.claim_request, p_pick tenure.lane_pick, p_room integer) RETURNS TABLE(job_id uuid, rank smallint, due timestamp with time zone, run integer, attempt smallint, attempts_max smallint, payload json, idempotency_key text, enqueued_by text, created_at timestamp with time zone, more jsonb)
    LANGUAGE plpgsql
    AS $$...$$;

-- lane_time(integer[]); Type: FUNCTION
CREATE FUNCTION tenure.lane_time(p_lanes integer[]) RETURNS void
    LANGUAGE sql
    AS $$...$$;

-- lane_try(integer, text, text, boolean); Type: FUNCTION
CREATE FUNCTION tenure.lane_try(p_tenant_id integer, p_kind text, p_executor text, p_stepped boolean) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '100ms'
    AS $$...$$;

-- lane_wake(integer[], timestamp with time zone); Type: FUNCTION
CREATE FUNCTION tenure.lane_wake(p_lanes integer[], p_now timestamp with time zone) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- lease_count_down(uuid[], integer[], integer[]); Type: FUNCTION
CREATE FUNCTION tenure.lease_count_down(p_tokens uuid[], p_lanes integer[], p_ended integer[]) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- lease_shrink(tenure.run_end[]); Type: FUNCTION
CREATE FUNCTION tenure.lease_shrink(p_ends tenure.run_end[]) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- lease_subtract(uuid, integer, integer); Type: FUNCTION
CREATE FUNCTION tenure.lease_subtract(p_token uuid, p_lane integer, p_ended integer) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- limit_of(text); Type: FUNCTION
CREATE FUNCTION tenure.limit_of(p_name text) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$...$$;

-- lineage(); Type: FUNCTION
CREATE FUNCTION tenure.lineage() RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- lock_acquire(text[], integer, text); Type: FUNCTION
CREATE FUNCTION tenure.lock_acquire(p_parts text[], p_seconds integer, p_reason text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- lock_break(text, text); Type: FUNCTION
CREATE FUNCTION tenure.lock_break(p_part text, p_reason text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- lock_freed(timestamp with time zone, text, integer, text); Type: FUNCTION
CREATE FUNCTION tenure.lock_freed(p_now timestamp with time zone, p_actor text, p_tenant_id integer, p_target text) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- lock_hand_over(timestamp with time zone, text, integer, text, tenure.chain_entry[]); Type: FUNCTION
CREATE FUNCTION tenure.lock_hand_over(p_now timestamp with time zone, p_actor text, p_tenant_id integer, p_target text, INOUT entries tenure.chain_entry[], OUT refused_execs uuid[], OUT refused_numbers integer[]) RETURNS record
    LANGUAGE plpgsql
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$...$$;

-- lock_list(text, integer, timestamp with time zone, text); Type: FUNCTION
CREATE FUNCTION tenure.lock_list(p_target text DEFAULT NULL::text, p_limit integer DEFAULT 100, p_after timestamp with time zone DEFAULT NULL::timestamp with time zone, p_after_key text DEFAULT NULL::text) RETURNS TABLE(lock_key text, part text, fence bigint, owner text, execution_id uuid, step_id text, reason text, acquired_at timestamp with time zone, expires_at timestamp with time zone, waiters bigint, section text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- lock_part(text, text); Type: FUNCTION
CREATE FUNCTION tenure.lock_part(p_type text, p_ref text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$...$$;

-- lock_queue_go_on(integer[], text[]); Type: FUNCTION
CREATE FUNCTION tenure.lock_queue_go_on(p_tenants integer[], p_targets text[]) RETURNS void
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    AS $$...$$;

-- lock_queue_join(timestamp with time zone, uuid[], integer[]); Type: FUNCTION
CREATE FUNCTION tenure.lock_queue_join(p_now timestamp with time zone, p_execs uuid[], p_numbers integer[]) RETURNS void
    LANGUAGE sql
    AS $$...$$;

-- lock_queue_leave(uuid[], integer[]); Type: FUNCTION
CREATE FUNCTION tenure.lock_queue_leave(p_execs uuid[], p_numbers integer[]) RETURNS void
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    AS $$...$$;

-- lock_queue_recheck(timestamp with time zone, uuid[], integer[]); Type: FUNCTION
CREATE FUNCTION tenure.lock_queue_recheck(p_now timestamp with time zone, p_execs uuid[], p_numbers integer[]) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- lock_reach(text); Type: FUNCTION
CREATE FUNCTION tenure.lock_reach(p_lock_scope text) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$...$$;

-- lock_read(text); Type: FUNCTION
CREATE FUNCTION tenure.lock_read(p_part text, OUT target text, OUT action text) RETURNS record
    LANGUAGE plpgsql
    AS $_$...$_$;

-- lock_release(text[], bigint[]); Type: FUNCTION
CREATE FUNCTION tenure.lock_release(p_parts text[], p_fences bigint[]) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- lock_renew(text[], bigint[], integer); Type: FUNCTION
CREATE FUNCTION tenure.lock_renew(p_parts text[], p_fences bigint[], p_seconds integer) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- lock_waiters(text, integer, integer, bigint); Type: FUNCTION
CREATE FUNCTION tenure.lock_waiters(p_part text, p_limit integer DEFAULT 100, p_after_priority integer DEFAULT NULL::integer, p_after_turn bigint DEFAULT NULL::bigint) RETURNS TABLE(place bigint, execution_id uuid, step_id text, purpose text, priority integer, action text, waiting_since timestamp with time zone, turn bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- locks_expire(timestamp with time zone, integer, text); Type: FUNCTION
CREATE FUNCTION tenure.locks_expire(p_now timestamp with time zone, p_tenant_id integer, p_target text) RETURNS integer
    LANGUAGE plpgsql
    AS $$...$$;

-- locks_lock_rows(integer, text[]); Type: FUNCTION
CREATE FUNCTION tenure.locks_lock_rows(p_tenant_id integer, p_parts text[]) RETURNS TABLE(part text, target text, action text, place bigint)
    LANGUAGE plpgsql
    SET lock_timeout TO '2s'
    AS $$...$$;

-- login_approves(text); Type: FUNCTION
CREATE FUNCTION tenure.login_approves(p_login text) RETURNS boolean
    LANGUAGE sql STABLE
    AS $$...$$;

-- login_bind(text, text, text, text[], text[], text); Type: FUNCTION
CREATE FUNCTION tenure.login_bind(p_login text, p_tenant text DEFAULT NULL::text, p_principal text DEFAULT NULL::text, p_executors text[] DEFAULT NULL::text[], p_kinds text[] DEFAULT NULL::text[], p_payload_access text DEFAULT 'safe'::text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- login_unbind(text); Type: FUNCTION
CREATE FUNCTION tenure.login_unbind(p_login text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- long_number_path(json); Type: FUNCTION
CREATE FUNCTION tenure.long_number_path(p_payload json) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $_$...$_$;

-- look_alike(text); Type: FUNCTION
CREATE FUNCTION tenure.look_alike(p_text text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET standard_conforming_strings TO 'on'
    AS $$...$$;

-- makers_now(tenure.caller_identity); Type: FUNCTION
CREATE FUNCTION tenure.makers_now(p_caller tenure.caller_identity) RETURNS text[]
    LANGUAGE plpgsql STABLE
    AS $$...$$;

-- marked_lanes(integer, text[], integer, smallint); Type: FUNCTION
CREATE FUNCTION tenure.marked_lanes(p_tenant_id integer, p_executors text[], p_lane_after integer, p_last smallint) RETURNS integer[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$...$$;

-- marks_from(integer, text, smallint, integer); Type: FUNCTION
CREATE FUNCTION tenure.marks_from(p_tenant_id integer, p_executor text, p_rank smallint, p_lane_after integer) RETURNS TABLE(mark_id bigint, lane integer, turn integer)
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$...$$;

-- marks_retire(bigint[]); Type: FUNCTION
CREATE FUNCTION tenure.marks_retire(p_ids bigint[]) RETURNS void
    LANGUAGE sql
    AS $$...$$;

-- marks_to_tidy(bigint[]); Type: FUNCTION
CREATE FUNCTION tenure.marks_to_tidy(p_ids bigint[]) RETURNS bigint[]
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- mask_text(text); Type: FUNCTION
CREATE FUNCTION tenure.mask_text(p_text text) RETURNS text
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    SET standard_conforming_strings TO 'on'
    AS $$...$$;

-- matches_any(text, text[]); Type: FUNCTION
CREATE FUNCTION tenure.matches_any(p_text text, p_globs text[]) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $_$...$_$;

-- may_be_deep(text); Type: FUNCTION
CREATE FUNCTION tenure.may_be_deep(p_text text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$...$$;

-- may_be_refused(json, text, text); Type: FUNCTION
CREATE FUNCTION tenure.may_be_refused(p_payload json, p_text text, p_key text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$...$$;

-- may_have_forbidden_key(text); Type: FUNCTION
CREATE FUNCTION tenure.may_have_forbidden_key(p_text text) RETURNS boolean
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    AS $_$...$_$;

-- may_have_long_number(text); Type: FUNCTION
CREATE FUNCTION tenure.may_have_long_number(p_text text) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$...$$;

-- may_have_refused_field(tenure.new_job, timestamp with time zone); Type: FUNCTION
CREATE FUNCTION tenure.may_have_refused_field(p_job tenure.new_job, p_now timestamp with time zone) RETURNS boolean
    LANGUAGE sql STABLE PARALLEL SAFE
    AS $$...$$;

-- may_read_plan(tenure.caller_identity, uuid); Type: FUNCTION
CREATE FUNCTION tenure.may_read_plan(p_caller tenure.caller_identity, p_execution_id uuid) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$...$$;

-- may_see(text); Type: FUNCTION
CREATE FUNCTION tenure.may_see(p_classification text) RETURNS boolean
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- means_makers(tenure.caller_identity); Type: FUNCTION
CREATE FUNCTION tenure.means_makers(p_caller tenure.caller_identity) RETURNS text[]
    LANGUAGE plpgsql STABLE
    AS $$...$$;

-- merkle_level(bytea); Type: FUNCTION
CREATE FUNCTION tenure.merkle_level(p_hashes bytea) RETURNS bytea
    LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
    AS $$...$$;

-- merkle_path(bytea, integer); Type: FUNCTION
CREATE FUNCTION tenure.merkle_path(p_hashes bytea, p_place integer) RETURNS bytea[]
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    AS $$...$$;

-- merkle_root(bytea); Type: FUNCTION
CREATE FUNCTION tenure.merkle_root(p_hashes bytea) RETURNS bytea
    LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
    AS $$...$$;

-- metrics(text); Type: FUNCTION
CREATE FUNCTION tenure.metrics(p_after text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $_$...$_$;

-- metrics_care(integer[], timestamp with time zone); Type: FUNCTION
CREATE FUNCTION tenure.metrics_care(p_tenants integer[], p_now timestamp with time zone) RETURNS TABLE(name text, labels jsonb, value double precision)
    LANGUAGE sql
    AS $$...$$;

-- metrics_database(integer[], timestamp with time zone); Type: FUNCTION
CREATE FUNCTION tenure.metrics_database(p_tenants integer[], p_now timestamp with time zone) RETURNS TABLE(name text, labels jsonb, value double precision)
    LANGUAGE sql
    AS $$...$$;

-- metrics_events(integer[], timestamp with time zone, integer, xid8, xid8); Type: FUNCTION
CREATE FUNCTION tenure.metrics_events(p_tenants integer[], p_now timestamp with time zone, p_epoch integer, p_from xid8, p_to xid8, OUT counts jsonb, OUT samples jsonb) RETURNS record
    LANGUAGE sql
    AS $$...$$;

-- metrics_executions(integer[], timestamp with time zone); Type: FUNCTION
CREATE FUNCTION tenure.metrics_executions(p_tenants integer[], p_now timestamp with time zone) RETURNS TABLE(name text, labels jsonb, value double precision)
    LANGUAGE sql
    AS $$...$$;

-- metrics_lanes(integer[]); Type: FUNCTION
CREATE FUNCTION tenure.metrics_lanes(p_tenants integer[]) RETURNS TABLE(lane integer, tenant text, kind text, is_shown boolean)
    LANGUAGE sql STABLE
    AS $$...$$;

-- metrics_queue(integer[], timestamp with time zone); Type: FUNCTION
CREATE FUNCTION tenure.metrics_queue(p_tenants integer[], p_now timestamp with time zone) RETURNS TABLE(name text, labels jsonb, value double precision)
    LANGUAGE sql
    AS $$...$$;

-- metrics_schedules(integer[], timestamp with time zone); Type: FUNCTION
CREATE FUNCTION tenure.metrics_schedules(p_tenants integer[], p_now timestamp with time zone) RETURNS TABLE(name text, labels jsonb, value double precision)
    LANGUAGE sql
    AS $$...$$;

-- metrics_services(timestamp with time zone); Type: FUNCTION
CREATE FUNCTION tenure.metrics_services(p_now timestamp with time zone) RETURNS TABLE(name text, labels jsonb, value double precision)
    LANGUAGE sql
    AS $$...$$;

-- nearest_word(text, text[]); Type: FUNCTION
CREATE FUNCTION tenure.nearest_word(p_word text, p_words text[]) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$...$$;

-- new_id(timestamp with time zone); Type: FUNCTION
CREATE FUNCTION tenure.new_id(p_at timestamp with time zone) RETURNS uuid
    LANGUAGE sql PARALLEL SAFE
    AS $$...$$;

-- now(); Type: FUNCTION
CREATE FUNCTION tenure.now() RETURNS timestamp with time zone
    LANGUAGE plpgsql PARALLEL SAFE
    AS $$...$$;

-- number_used_up(bigint); Type: FUNCTION
CREATE FUNCTION tenure.number_used_up(p_mark_id bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- offer_lock(text); Type: FUNCTION
CREATE FUNCTION tenure.offer_lock(p_channel text) RETURNS bigint
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$...$$;

-- offer_make(uuid[], text, text, text, text[], integer, integer); Type: FUNCTION
CREATE FUNCTION tenure.offer_make(p_tokens uuid[], p_worker text, p_channel text, p_executor text, p_kinds text[], p_lease_seconds integer, p_seconds integer) RETURNS TABLE(token uuid, lane integer, at timestamp with time zone, lease_seconds integer)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$...$_$;

-- offers; Type: TABLE
CREATE TABLE tenure.offers (
    token uuid NOT NULL,
    lane integer NOT NULL,
    tenant_id integer NOT NULL,
    owner text NOT NULL,
    executor text NOT NULL,
    principal text NOT NULL,
    channel text NOT NULL,
    lease_seconds integer NOT NULL,
    until timestamp with time zone NOT NULL
)
WITH (vacuum_truncate=off, autovacuum_vacuum_cost_delay='0');

-- TABLE offers; Type: COMMENT
COMMENT ON TABLE tenure.offers IS 'Idle workers that take one job each. An enqueue may hand a job over in its own transaction, under token.';

-- COLUMN offers.channel; Type: COMMENT
COMMENT ON COLUMN tenure.offers.channel IS 'The notification channel of the worker. No other program knows it.';

-- offer_notice(text, timestamp with time zone, tenure.handed_job, tenure.offers); Type: FUNCTION
CREATE FUNCTION tenure.offer_notice(p_principal text, p_now timestamp with time zone, p_job tenure.handed_job, p_offer tenure.offers) RETURNS text
    LANGUAGE plpgsql
    AS $$...$$;

-- offer_take(integer, timestamp with time zone); Type: FUNCTION
CREATE FUNCTION tenure.offer_take(p_lane integer, p_now timestamp with time zone) RETURNS tenure.offers
    LANGUAGE plpgsql
    AS $$...$$;

-- offer_withdraw(uuid[]); Type: FUNCTION
CREATE FUNCTION tenure.offer_withdraw(p_tokens uuid[]) RETURNS uuid[]
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- offers_end(integer[], timestamp with time zone); Type: FUNCTION
CREATE FUNCTION tenure.offers_end(p_tenants integer[], p_until timestamp with time zone) RETURNS void
    LANGUAGE sql
    AS $$...$$;

-- open_tenants(tenure.caller_identity); Type: FUNCTION
CREATE FUNCTION tenure.open_tenants(p_caller tenure.caller_identity) RETURNS integer[]
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- origin_words(jsonb); Type: FUNCTION
CREATE FUNCTION tenure.origin_words(p_origin jsonb) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS $$...$$;

-- partition_bound(text, timestamp with time zone); Type: FUNCTION
CREATE FUNCTION tenure.partition_bound(p_table text, p_at timestamp with time zone) RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- partition_in_use(timestamp with time zone, timestamp with time zone); Type: FUNCTION
CREATE FUNCTION tenure.partition_in_use(p_lower timestamp with time zone, p_upper timestamp with time zone) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- partition_list(text); Type: FUNCTION
CREATE FUNCTION tenure.partition_list(p_table text) RETURNS TABLE(name text, lower_at timestamp with time zone, upper_at timestamp with time zone, total bigint)
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$...$_$;

-- partition_split(text, timestamp with time zone, text); Type: FUNCTION
CREATE FUNCTION tenure.partition_split(p_table text, p_bound timestamp with time zone, p_new text) RETURNS text[]
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- partition_split_at(text, timestamp with time zone, integer); Type: FUNCTION
CREATE FUNCTION tenure.partition_split_at(p_table text, p_now timestamp with time zone, p_days integer) RETURNS timestamp with time zone
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- partition_upkeep(text); Type: FUNCTION
CREATE FUNCTION tenure.partition_upkeep(p_table text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET lock_timeout TO '100ms'
    SET "TimeZone" TO 'UTC'
    AS $$...$$;

-- partitions_over(text[], timestamp with time zone, text[]); Type: FUNCTION
CREATE FUNCTION tenure.partitions_over(p_tables text[], p_now timestamp with time zone, p_gone text[]) RETURNS TABLE(table_name text, name text, lower_at timestamp with time zone, upper_at timestamp with time zone)
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- schedules; Type: TABLE
CREATE TABLE tenure.schedules (
    schedule_id integer NOT NULL,
    tenant_id integer NOT NULL,
    name text NOT NULL,
    description text NOT NULL,
    cron text,
    every_seconds integer,
    zone text NOT NULL,
    jitter_seconds integer NOT NULL,
    start_at timestamp with time zone,
    end_at timestamp with time zone,
    scope_kind text NOT NULL,
    scope_id text NOT NULL,
    kind text NOT NULL,
    executor text,
    priority smallint NOT NULL,
    payload jsonb NOT NULL,
    classification text NOT NULL,
    source_ref text,
    target_ref text,
    payload_ref text,
    run_timeout_seconds integer,
    attempts_max smallint,
    backoff_base_seconds integer,
    overlap text NOT NULL,
    catch_up text NOT NULL,
    catch_up_window_seconds integer NOT NULL,
    catch_up_slots_max integer NOT NULL,
    reentry text NOT NULL,
    plan_from timestamp with time zone NOT NULL,
    planned_to timestamp with time zone,
    next_at timestamp with time zone,
    ended_at timestamp with time zone,
    paused_at timestamp with time zone,
    paused_by text,
    pause_note text,
    error_code text,
    error_message text,
    created_at timestamp with time zone NOT NULL,
    created_by text NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    updated_by text NOT NULL,
    deleted_at timestamp with time zone,
    CONSTRAINT schedules_attempts_max_check CHECK (((attempts_max >= 1) AND (attempts_max <= 1000))),
    CONSTRAINT schedules_backoff_base_seconds_check CHECK (((backoff_base_seconds >= 1) AND (backoff_base_seconds <= 86400))),
    CONSTRAINT schedules_catch_up_check CHECK ((catch_up = ANY (ARRAY['latest_only'::text, 'every_plan'::text, 'none'::text]))),
    CONSTRAINT schedules_catch_up_slots_max_check CHECK (((catch_up_slots_max >= 1) AND (catch_up_slots_max <= 100))),
    CONSTRAINT schedules_catch_up_window_seconds_check CHECK (((catch_up_window_seconds >= 60) AND (catch_up_window_seconds <= 2592000))),
    CONSTRAINT schedules_classification_check CHECK ((classification = ANY (ARRAY['safe_metadata'::text, 'restricted'::text]))),
    CONSTRAINT schedules_created_by_check CHECK ((created_by ~ '\S'::text)),
    CONSTRAINT schedules_deleted_is_not_due CHECK (((deleted_at IS NULL) OR (next_at IS NULL))),
    CONSTRAINT schedules_end_after_start CHECK ((end_at > start_at)),
    CONSTRAINT schedules_end_at_check CHECK (isfinite(end_at)),
    CONSTRAINT schedules_every_seconds_check CHECK (((every_seconds >= 10) AND (every_seconds <= 31622400))),
    CONSTRAINT schedules_jitter_seconds_check CHECK (((jitter_seconds >= 0) AND (jitter_seconds <= 86400))),
    CONSTRAINT schedules_name_check CHECK (((name ~ '\S'::text) AND (length(name) <= 200))),
    CONSTRAINT schedules_one_rule CHECK (((cron IS NULL) <> (every_seconds IS NULL))),
    CONSTRAINT schedules_overlap_check CHECK ((overlap = ANY (ARRAY['skip'::text, 'queue'::text, 'cancel_other'::text, 'allow'::text]))),
    CONSTRAINT schedules_pause_has_author CHECK (((paused_at IS NULL) = (paused_by IS NULL))),
    CONSTRAINT schedules_payload_check CHECK ((jsonb_typeof(payload) = 'object'::text)),
    CONSTRAINT schedules_reentry_check CHECK ((reentry = ANY (ARRAY['allowed'::text, 'refused'::text]))),
    CONSTRAINT schedules_run_timeout_seconds_check CHECK (((run_timeout_seconds >= 1) AND (run_timeout_seconds <= 2592000))),
    CONSTRAINT schedules_scope_id_check CHECK (((scope_id ~ '\S'::text) AND (length(scope_id) <= 200))),
    CONSTRAINT schedules_scope_kind_check CHECK (((scope_kind ~ '\S'::text) AND (length(scope_kind) <= 200))),
    CONSTRAINT schedules_start_at_check CHECK (isfinite(start_at)),
    CONSTRAINT schedules_updated_by_check CHECK ((updated_by ~ '\S'::text)),
    CONSTRAINT schedules_zone_check CHECK ((zone ~ '\S'::text))
)
WITH (fillfactor='80', autovacuum_vacuum_scale_factor='0.05');
ALTER TABLE ONLY tenure.schedules FORCE ROW LEVEL SECURITY;

-- TABLE schedules; Type: COMMENT
COMMENT ON TABLE tenure.schedules IS 'A rule (cron in a time zone, or an interval) and the job it starts. A transaction that changes slots locks this row. A deleted schedule keeps its row as long as it has slots.';

-- COLUMN schedules.plan_from; Type: COMMENT
COMMENT ON COLUMN tenure.schedules.plan_from IS 'Slots of the present rule begin here: when it was made or last changed.';

-- COLUMN schedules.planned_to; Type: COMMENT
COMMENT ON COLUMN tenure.schedules.planned_to IS 'The newest slot of the present rule.';

-- COLUMN schedules.next_at; Type: COMMENT
COMMENT ON COLUMN tenure.schedules.next_at IS 'When the scheduler looks at it next. Null: not until it is changed.';

-- COLUMN schedules.ended_at; Type: COMMENT
COMMENT ON COLUMN tenure.schedules.ended_at IS 'Since when the rule has no further slot.';

-- pause_words(tenure.schedules); Type: FUNCTION
CREATE FUNCTION tenure.pause_words(p_schedule tenure.schedules) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS $$...$$;

-- payload_shown(json); Type: FUNCTION
CREATE FUNCTION tenure.payload_shown(p_payload json) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- plan_allowed(text, bigint, bigint, text[]); Type: FUNCTION
CREATE FUNCTION tenure.plan_allowed(p_form text, p_low bigint, p_high bigint, p_words text[]) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$...$$;

-- plan_canonical(jsonb); Type: FUNCTION
CREATE FUNCTION tenure.plan_canonical(p_plan jsonb) RETURNS text
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- plan_check(text); Type: FUNCTION
CREATE FUNCTION tenure.plan_check(p_plan text) RETURNS jsonb
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- plan_check_fields(json, jsonb); Type: FUNCTION
CREATE FUNCTION tenure.plan_check_fields(p_document json, p_plan jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- plan_check_list(text, jsonb, bigint, bigint); Type: FUNCTION
CREATE FUNCTION tenure.plan_check_list(p_place text, p_list jsonb, p_low bigint, p_high bigint) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- plan_check_needs(jsonb); Type: FUNCTION
CREATE FUNCTION tenure.plan_check_needs(p_plan jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- plan_check_section_fields(text, json, jsonb); Type: FUNCTION
CREATE FUNCTION tenure.plan_check_section_fields(p_place text, p_document json, p_section jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- plan_check_section_steps(jsonb, text, jsonb, text[]); Type: FUNCTION
CREATE FUNCTION tenure.plan_check_section_steps(p_plan jsonb, p_place text, p_section jsonb, p_taken text[]) RETURNS text[]
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- plan_check_sections(json, jsonb); Type: FUNCTION
CREATE FUNCTION tenure.plan_check_sections(p_document json, p_plan jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- plan_check_step_fits(text, jsonb, text, text[]); Type: FUNCTION
CREATE FUNCTION tenure.plan_check_step_fits(p_place text, p_step jsonb, p_target text, p_mine text[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- plan_demands(jsonb); Type: FUNCTION
CREATE FUNCTION tenure.plan_demands(p_plan jsonb) RETURNS TABLE(step_number integer, registration text, level_min integer, fold boolean, classification text)
    LANGUAGE sql IMMUTABLE
    AS $$...$$;

-- plan_difference(jsonb, jsonb); Type: FUNCTION
CREATE FUNCTION tenure.plan_difference(p_old jsonb, p_new jsonb) RETURNS jsonb
    LANGUAGE sql IMMUTABLE
    AS $$...$$;

-- plan_document(text); Type: FUNCTION
CREATE FUNCTION tenure.plan_document(p_text text) RETURNS json
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET standard_conforming_strings TO 'on'
    AS $$...$$;

-- plan_document_finding(json, boolean); Type: FUNCTION
CREATE FUNCTION tenure.plan_document_finding(p_document json, p_marked boolean) RETURNS TABLE(finding text, at integer[])
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET standard_conforming_strings TO 'on'
    AS $_$...$_$;

-- plan_field_finding(json, jsonb); Type: FUNCTION
CREATE FUNCTION tenure.plan_field_finding(p_document json, p_plan jsonb) RETURNS TABLE(finding text, step integer, field text, item integer, form text, low bigint, high bigint, words text[])
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- plan_fields(); Type: FUNCTION
CREATE FUNCTION tenure.plan_fields() RETURNS TABLE(of_step boolean, rank integer, field text, form text, required boolean, low bigint, high bigint, words text[])
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$...$$;

-- plan_findings(); Type: FUNCTION
CREATE FUNCTION tenure.plan_findings() RETURNS TABLE(finding text, code text)
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$...$$;

-- plan_lanes(tenure.caller_identity, jsonb); Type: FUNCTION
CREATE FUNCTION tenure.plan_lanes(p_caller tenure.caller_identity, p_plan jsonb) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- plan_lock_target(jsonb); Type: FUNCTION
CREATE FUNCTION tenure.plan_lock_target(p_step jsonb) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$...$$;

-- plan_longest(tenure.plan_step[], integer[]); Type: FUNCTION
CREATE FUNCTION tenure.plan_longest(p_steps tenure.plan_step[], p_seconds integer[], OUT seconds bigint, OUT path text[]) RETURNS record
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- plan_needs(jsonb); Type: FUNCTION
CREATE FUNCTION tenure.plan_needs(p_plan jsonb) RETURNS TABLE(step integer, n integer, needed integer, again boolean)
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- plan_place(text, text); Type: FUNCTION
CREATE FUNCTION tenure.plan_place(p_parent text, p_name text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $_$...$_$;

-- plan_place_at(json, integer[]); Type: FUNCTION
CREATE FUNCTION tenure.plan_place_at(p_document json, p_at integer[]) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- plan_quoted(text); Type: FUNCTION
CREATE FUNCTION tenure.plan_quoted(p_text text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET standard_conforming_strings TO 'on'
    AS $$...$$;

-- plan_readable(text); Type: FUNCTION
CREATE FUNCTION tenure.plan_readable(p_text text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET standard_conforming_strings TO 'on'
    AS $_$...$_$;

-- plan_refuse(text, text, text); Type: FUNCTION
CREATE FUNCTION tenure.plan_refuse(p_place text, p_finding text, p_allowed text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- plan_refuse_cycle(jsonb, integer[], integer[], integer[]); Type: FUNCTION
CREATE FUNCTION tenure.plan_refuse_cycle(p_plan jsonb, p_needs integer[], p_needs_from integer[], p_waiting integer[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- plan_registrations(integer, jsonb); Type: FUNCTION
CREATE FUNCTION tenure.plan_registrations(p_tenant_id integer, p_plan jsonb) RETURNS jsonb
    LANGUAGE sql STABLE
    AS $$...$$;

-- plan_resolve(integer, jsonb); Type: FUNCTION
CREATE FUNCTION tenure.plan_resolve(p_tenant_id integer, p_plan jsonb) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    AS $$...$$;

-- plan_rules(integer, text[], jsonb); Type: FUNCTION
CREATE FUNCTION tenure.plan_rules(p_tenant_id integer, p_requesters text[], p_plan jsonb) RETURNS TABLE(step_number integer, rule text, level integer, roles text[], quorum integer, expires_seconds integer, start_window jsonb)
    LANGUAGE sql STABLE
    AS $$...$$;

-- plan_sections(jsonb); Type: FUNCTION
CREATE FUNCTION tenure.plan_sections(p_plan jsonb) RETURNS TABLE(section text, step_id text, place integer)
    LANGUAGE sql IMMUTABLE
    AS $$...$$;

-- plan_steps(jsonb); Type: FUNCTION
CREATE FUNCTION tenure.plan_steps(p_plan jsonb) RETURNS SETOF tenure.plan_step
    LANGUAGE sql IMMUTABLE
    AS $$...$$;

-- plan_terms(integer, text[], jsonb); Type: FUNCTION
CREATE FUNCTION tenure.plan_terms(p_tenant_id integer, p_requesters text[], p_plan jsonb, OUT level integer, OUT rule text, OUT roles text[], OUT quorum integer, OUT expires_seconds integer, OUT start_window jsonb) RETURNS record
    LANGUAGE plpgsql STABLE
    AS $$...$$;

-- plan_timeout_ms(integer, jsonb, text); Type: FUNCTION
CREATE FUNCTION tenure.plan_timeout_ms(p_tenant_id integer, p_plan jsonb, p_action_class text) RETURNS integer
    LANGUAGE plpgsql STABLE
    AS $$...$$;

-- plan_uses(jsonb); Type: FUNCTION
CREATE FUNCTION tenure.plan_uses(p_plan jsonb) RETURNS TABLE(kind text, executor text, place text)
    LANGUAGE sql STABLE
    AS $$...$$;

-- plan_value_finding(jsonb, text, boolean, bigint, bigint, text[]); Type: FUNCTION
CREATE FUNCTION tenure.plan_value_finding(p_value jsonb, p_form text, p_required boolean, p_low bigint, p_high bigint, p_words text[]) RETURNS text
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET standard_conforming_strings TO 'on'
    AS $_$...$_$;

-- plan_warnings(integer, jsonb, tenure.plan_step[], integer); Type: FUNCTION
CREATE FUNCTION tenure.plan_warnings(p_tenant_id integer, p_plan jsonb, p_steps tenure.plan_step[], p_timeout_ms integer) RETURNS text[]
    LANGUAGE plpgsql STABLE
    AS $$...$$;

-- planned_slots_touched(); Type: FUNCTION
CREATE FUNCTION tenure.planned_slots_touched() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- principal_create(text, text, text); Type: FUNCTION
CREATE FUNCTION tenure.principal_create(p_name text, p_kind text, p_email text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET standard_conforming_strings TO 'on'
    AS $_$...$_$;

-- principal_home(tenure.caller_identity); Type: FUNCTION
CREATE FUNCTION tenure.principal_home(p_caller tenure.caller_identity) RETURNS integer
    LANGUAGE plpgsql STABLE
    AS $$...$$;

-- principal_kind(integer, text); Type: FUNCTION
CREATE FUNCTION tenure.principal_kind(p_tenant_id integer, p_principal text) RETURNS text
    LANGUAGE sql STABLE
    AS $$...$$;

-- principal_list(integer, text); Type: FUNCTION
CREATE FUNCTION tenure.principal_list(p_limit integer DEFAULT NULL::integer, p_after text DEFAULT NULL::text) RETURNS TABLE(name text, kind text, email text, approver_level integer, approval_roles text[], created_at timestamp with time zone, created_by text, makers text[], keys bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- principal_set(text, jsonb); Type: FUNCTION
CREATE FUNCTION tenure.principal_set(p_name text, p_spec jsonb) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- priority_of(text); Type: FUNCTION
CREATE FUNCTION tenure.priority_of(p_name text) RETURNS integer
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$...$_$;

-- random_secret(); Type: FUNCTION
CREATE FUNCTION tenure.random_secret() RETURNS bytea
    LANGUAGE sql
    AS $$...$$;

-- ready_mark(integer[], integer[]); Type: FUNCTION
CREATE FUNCTION tenure.ready_mark(p_lanes integer[], p_ranks integer[]) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- ready_marks_mend(); Type: FUNCTION
CREATE FUNCTION tenure.ready_marks_mend() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$...$$;

-- ready_marks_tidy(integer[], integer); Type: FUNCTION
CREATE FUNCTION tenure.ready_marks_tidy(p_tenants integer[], p_limit integer) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_sort TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    AS $$...$$;

-- reap_delayed(integer[], timestamp with time zone, integer); Type: FUNCTION
CREATE FUNCTION tenure.reap_delayed(p_tenants integer[], p_now timestamp with time zone, p_limit integer) RETURNS tenure.run_end[]
    LANGUAGE plpgsql
    AS $$...$$;

-- reap_expired(integer[], timestamp with time zone, integer); Type: FUNCTION
CREATE FUNCTION tenure.reap_expired(p_tenants integer[], p_now timestamp with time zone, p_limit integer) RETURNS tenure.run_end[]
    LANGUAGE plpgsql
    SET enable_nestloop TO 'off'
    AS $$...$$;

-- reap_list(integer[], timestamp with time zone, integer); Type: FUNCTION
CREATE FUNCTION tenure.reap_list(p_tenants integer[], p_now timestamp with time zone, p_limit integer) RETURNS TABLE(job_id uuid, tenant text, kind text, finding text, worker text, state text)
    LANGUAGE plpgsql
    AS $$...$$;

-- reap_overdue(integer[], timestamp with time zone, integer); Type: FUNCTION
CREATE FUNCTION tenure.reap_overdue(p_tenants integer[], p_now timestamp with time zone, p_limit integer) RETURNS tenure.run_end[]
    LANGUAGE plpgsql
    SET enable_nestloop TO 'off'
    AS $$...$$;

-- reap_ready(integer[], timestamp with time zone, integer); Type: FUNCTION
CREATE FUNCTION tenure.reap_ready(p_tenants integer[], p_now timestamp with time zone, p_limit integer) RETURNS tenure.run_end[]
    LANGUAGE plpgsql
    AS $$...$$;

-- refusal(text, text, text, text); Type: FUNCTION
CREATE FUNCTION tenure.refusal(p_sqlstate text, p_what text, p_why text, p_next text) RETURNS jsonb
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- refusal_codes(); Type: FUNCTION
CREATE FUNCTION tenure.refusal_codes() RETURNS TABLE(code text, sqlstate text)
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$...$$;

-- refusal_deadline(uuid); Type: FUNCTION
CREATE FUNCTION tenure.refusal_deadline(p_job_id uuid) RETURNS jsonb
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- refuse(text, text, text, text); Type: FUNCTION
CREATE FUNCTION tenure.refuse(p_code text, p_what text, p_why text, p_next text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- refuse_agent(tenure.caller_identity); Type: FUNCTION
CREATE FUNCTION tenure.refuse_agent(p_caller tenure.caller_identity) RETURNS void
    LANGUAGE plpgsql STABLE
    AS $$...$$;

-- refuse_approval(uuid); Type: FUNCTION
CREATE FUNCTION tenure.refuse_approval(p_approval_id uuid) RETURNS void
    LANGUAGE sql
    AS $$...$$;

-- refuse_busy(uuid); Type: FUNCTION
CREATE FUNCTION tenure.refuse_busy(p_job_id uuid) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- refuse_change(); Type: FUNCTION
CREATE FUNCTION tenure.refuse_change() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- refuse_execution(uuid); Type: FUNCTION
CREATE FUNCTION tenure.refuse_execution(p_execution_id uuid) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- refuse_execution_letter(uuid); Type: FUNCTION
CREATE FUNCTION tenure.refuse_execution_letter(p_execution_id uuid) RETURNS void
    LANGUAGE sql
    AS $$...$$;

-- refuse_execution_state(tenure.execution_rows, text, text, text); Type: FUNCTION
CREATE FUNCTION tenure.refuse_execution_state(p_execution tenure.execution_rows, p_wanted text, p_from text, p_next text) RETURNS void
    LANGUAGE sql
    AS $$...$$;

-- refuse_gate(text); Type: FUNCTION
CREATE FUNCTION tenure.refuse_gate(p_key text) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- refuse_id_taken(); Type: FUNCTION
CREATE FUNCTION tenure.refuse_id_taken() RETURNS void
    LANGUAGE sql
    AS $$...$$;

-- refuse_long_number(text, text); Type: FUNCTION
CREATE FUNCTION tenure.refuse_long_number(p_what text, p_place text) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$...$_$;

-- refuse_loss(); Type: FUNCTION
CREATE FUNCTION tenure.refuse_loss() RETURNS trigger
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- refuse_only_by_plan(text, text); Type: FUNCTION
CREATE FUNCTION tenure.refuse_only_by_plan(p_kind text, p_of text DEFAULT ''::text) RETURNS void
    LANGUAGE sql
    AS $$...$$;

-- traceparent(); Type: FUNCTION
CREATE FUNCTION tenure.traceparent() RETURNS text
    LANGUAGE sql STABLE PARALLEL SAFE
    AS $$...$$;

-- jobs; Type: TABLE
CREATE TABLE tenure.jobs (
    job_id uuid NOT NULL,
    tenant_id integer NOT NULL,
    lane integer NOT NULL,
    kind text NOT NULL,
    executor text NOT NULL,
    event_domain text NOT NULL,
    priority smallint NOT NULL,
    due timestamp with time zone NOT NULL,
    deadline_at timestamp with time zone,
    attempts_max smallint NOT NULL,
    backoff_base_seconds integer NOT NULL,
    backoff_jitter_percent smallint NOT NULL,
    lease_seconds integer,
    run_timeout_seconds integer,
    renewals_max integer,
    on_exhausted text NOT NULL,
    on_lost text,
    payload_classification text NOT NULL,
    payload json NOT NULL,
    source_ref text,
    target_ref text,
    payload_ref text,
    idempotency_key text,
    affinity_key text,
    correlation_id text,
    causation_event bigint,
    parent_job_id uuid,
    workflow_id uuid,
    run_id uuid,
    replay_of uuid,
    origin jsonb,
    traceparent text DEFAULT tenure.traceparent(),
    source_system text NOT NULL,
    enqueued_by text NOT NULL,
    on_behalf_of text,
    created_at timestamp with time zone NOT NULL,
    cleaned_at timestamp with time zone
)
PARTITION BY RANGE (job_id);

-- TABLE jobs; Type: COMMENT
COMMENT ON TABLE tenure.jobs IS 'A job as it was enqueued, with the policy that applies to it. Only the retention sweep changes it.';

-- COLUMN jobs.lease_seconds; Type: COMMENT
COMMENT ON COLUMN tenure.jobs.lease_seconds IS 'The lease that the job of a step needs. Null: a plain job, which has the lease of its kind.';

-- COLUMN jobs.on_lost; Type: COMMENT
COMMENT ON COLUMN tenure.jobs.on_lost IS 'What follows when the lease ran out or the run timed out. Null: another attempt. fail: it has failed.';

-- COLUMN jobs.payload; Type: COMMENT
COMMENT ON COLUMN tenure.jobs.payload IS 'The JSON object exactly as it was given. Kept as text: parsing it again slowed down enqueue and claim.';

-- COLUMN jobs.origin; Type: COMMENT
COMMENT ON COLUMN tenure.jobs.origin IS 'What it runs for: {"step": …} or {"slot": …}, kept when the job is emptied. Null: a plain job.';

-- COLUMN jobs.traceparent; Type: COMMENT
COMMENT ON COLUMN tenure.jobs.traceparent IS 'The trace and span it was enqueued in, as a W3C traceparent. Null: there was none.';

-- COLUMN jobs.cleaned_at; Type: COMMENT
COMMENT ON COLUMN tenure.jobs.cleaned_at IS 'When the retention sweep removed its payload and references.';

-- refuse_requeued(tenure.jobs); Type: FUNCTION
CREATE FUNCTION tenure.refuse_requeued(p_job tenure.jobs) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- refuse_schedule(integer, text); Type: FUNCTION
CREATE FUNCTION tenure.refuse_schedule(p_tenant_id integer, p_name text) RETURNS void
    LANGUAGE sql
    AS $$...$$;

-- refuse_schedule_exists(text); Type: FUNCTION
CREATE FUNCTION tenure.refuse_schedule_exists(p_name text) RETURNS void
    LANGUAGE sql
    AS $$...$$;

-- refuse_state(uuid, text, text, text[]); Type: FUNCTION
CREATE FUNCTION tenure.refuse_state(p_job_id uuid, p_state text, p_wanted text, p_from text[]) RETURNS void
    LANGUAGE sql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- refuse_step_job(uuid); Type: FUNCTION
CREATE FUNCTION tenure.refuse_step_job(p_job_id uuid) RETURNS void
    LANGUAGE plpgsql STABLE
    AS $$...$$;

-- refuse_token(); Type: FUNCTION
CREATE FUNCTION tenure.refuse_token() RETURNS integer
    LANGUAGE plpgsql
    AS $$...$$;

-- request_begin(text, jsonb); Type: FUNCTION
CREATE FUNCTION tenure.request_begin(p_key text, p_asked jsonb) RETURNS TABLE(status integer, answer text, answered_at timestamp with time zone)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- request_difference(jsonb, jsonb); Type: FUNCTION
CREATE FUNCTION tenure.request_difference(p_first jsonb, p_second jsonb) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS $$...$$;

-- request_end(text, jsonb, integer, text); Type: FUNCTION
CREATE FUNCTION tenure.request_end(p_key text, p_asked jsonb, p_status integer, p_answer text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- request_scope(text); Type: FUNCTION
CREATE FUNCTION tenure.request_scope(p_key text, OUT key_hash uuid, OUT tenant_id integer, OUT key_id uuid) RETURNS record
    LANGUAGE plpgsql STABLE
    AS $$...$$;

-- request_sweep(integer); Type: FUNCTION
CREATE FUNCTION tenure.request_sweep(p_limit integer DEFAULT 1000) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- requeue_key(tenure.jobs); Type: FUNCTION
CREATE FUNCTION tenure.requeue_key(p_old tenure.jobs) RETURNS text
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- requeued_job(tenure.jobs, uuid, text); Type: FUNCTION
CREATE FUNCTION tenure.requeued_job(p_old tenure.jobs, p_job_id uuid, p_on_behalf_of text) RETURNS tenure.new_job
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- reserved_actors(); Type: FUNCTION
CREATE FUNCTION tenure.reserved_actors() RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$...$$;

-- roles_missing(tenure.approvals); Type: FUNCTION
CREATE FUNCTION tenure.roles_missing(p_approval tenure.approvals) RETURNS text[]
    LANGUAGE sql STABLE
    AS $$...$$;

-- rules_named(tenure.execution_rows); Type: FUNCTION
CREATE FUNCTION tenure.rules_named(p_execution tenure.execution_rows) RETURNS jsonb
    LANGUAGE sql STABLE
    AS $$...$$;

-- rulings_write(timestamp with time zone, text, text, tenure.run_ruling[]); Type: FUNCTION
CREATE FUNCTION tenure.rulings_write(p_now timestamp with time zone, p_actor text, p_on_behalf_of text, p_rulings tenure.run_ruling[]) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- attempts; Type: TABLE
CREATE TABLE tenure.attempts (
    job_id uuid NOT NULL,
    run integer NOT NULL,
    tenant_id integer NOT NULL,
    lane integer NOT NULL,
    attempt smallint NOT NULL,
    outcome text NOT NULL,
    state text NOT NULL,
    final boolean NOT NULL,
    token uuid,
    owner text,
    holder text,
    leased_at timestamp with time zone,
    started_at timestamp with time zone,
    ended_at timestamp with time zone NOT NULL,
    next_due timestamp with time zone,
    actor text NOT NULL,
    reason text,
    error_code text,
    error_class text,
    error_message text,
    result jsonb,
    result_ref text,
    CONSTRAINT attempts_final_state CHECK (((final = (state = ANY (ARRAY['succeeded'::text, 'failed'::text, 'cancelled'::text, 'dead_letter'::text]))) OR ((state = 'failed'::text) AND (NOT final)))),
    CONSTRAINT attempts_goes_on_when_due CHECK ((final OR (next_due IS NOT NULL)))
)
PARTITION BY RANGE (job_id);

-- TABLE attempts; Type: COMMENT
COMMENT ON TABLE tenure.attempts IS 'One row per ended run; the row marked final ends the job. An end outside a run takes run + 1 and no token.';

-- COLUMN attempts.owner; Type: COMMENT
COMMENT ON COLUMN tenure.attempts.owner IS 'The name that the worker gave itself.';

-- COLUMN attempts.holder; Type: COMMENT
COMMENT ON COLUMN tenure.attempts.holder IS 'The principal that held the job.';

-- run_facts(tenure.attempts, text); Type: FUNCTION
CREATE FUNCTION tenure.run_facts(p_run tenure.attempts, p_actor text) RETURNS jsonb
    LANGUAGE sql STABLE
    AS $$...$$;

-- runs_end(tenure.caller_identity, tenure.tunings, timestamp with time zone, tenure.end_batch, uuid[], text); Type: FUNCTION
CREATE FUNCTION tenure.runs_end(p_caller tenure.caller_identity, p_tuning tenure.tunings, p_now timestamp with time zone, p_ends tenure.end_batch, p_done uuid[], p_answers text) RETURNS TABLE(job_id uuid, status text, state text, next_due timestamp with time zone, token uuid)
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    SET enable_nestloop TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$...$$;

-- runs_not_chained(uuid, integer, uuid, integer, text); Type: FUNCTION
CREATE FUNCTION tenure.runs_not_chained(p_execution_id uuid, p_step_number integer, p_job_id uuid, p_run integer, p_actor text) RETURNS jsonb
    LANGUAGE sql STABLE
    AS $$...$$;

-- runs_rule(timestamp with time zone, tenure.run_end[]); Type: FUNCTION
CREATE FUNCTION tenure.runs_rule(p_now timestamp with time zone, p_ends tenure.run_end[]) RETURNS tenure.run_ruling[]
    LANGUAGE plpgsql
    AS $$...$$;

-- runs_settle(timestamp with time zone, text, text, tenure.run_end[]); Type: FUNCTION
CREATE FUNCTION tenure.runs_settle(p_now timestamp with time zone, p_actor text, p_on_behalf_of text, p_ends tenure.run_end[]) RETURNS tenure.run_ruling[]
    LANGUAGE plpgsql
    AS $$...$$;

-- runs_succeed(tenure.caller_identity, tenure.tunings, timestamp with time zone, tenure.end_batch); Type: FUNCTION
CREATE FUNCTION tenure.runs_succeed(p_caller tenure.caller_identity, p_tuning tenure.tunings, p_now timestamp with time zone, p_ends tenure.end_batch) RETURNS uuid[]
    LANGUAGE plpgsql
    AS $$...$$;

-- runs_take(tenure.caller_identity, timestamp with time zone, tenure.end_batch, uuid[]); Type: FUNCTION
CREATE FUNCTION tenure.runs_take(p_caller tenure.caller_identity, p_now timestamp with time zone, p_ends tenure.end_batch, p_done uuid[]) RETURNS tenure.batch_taken
    LANGUAGE plpgsql
    AS $$...$$;

-- schedule_advance(jsonb); Type: FUNCTION
CREATE FUNCTION tenure.schedule_advance(p_plans jsonb) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$...$$;

-- schedule_advance_batch(tenure.caller_identity, timestamp with time zone, jsonb); Type: FUNCTION
CREATE FUNCTION tenure.schedule_advance_batch(p_caller tenure.caller_identity, p_now timestamp with time zone, p_plans jsonb) RETURNS jsonb
    LANGUAGE plpgsql
    AS $$...$$;

-- schedule_answer(integer, text); Type: FUNCTION
CREATE FUNCTION tenure.schedule_answer(p_tenant_id integer, p_name text) RETURNS jsonb
    LANGUAGE sql
    AS $$...$$;

-- schedule_at(text, timestamp with time zone); Type: FUNCTION
CREATE FUNCTION tenure.schedule_at(p_name text, p_at timestamp with time zone) RETURNS SETOF tenure.slot_row
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- schedule_backfill(text, timestamp with time zone[], text, integer, text); Type: FUNCTION
CREATE FUNCTION tenure.schedule_backfill(p_name text, p_times timestamp with time zone[], p_mode text DEFAULT 'dry_run'::text, p_stagger_seconds integer DEFAULT 0, p_on_behalf_of text DEFAULT NULL::text) RETURNS TABLE(plan_time timestamp with time zone, verdict text, state text, due_at timestamp with time zone)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- schedule_create(text, jsonb, text); Type: FUNCTION
CREATE FUNCTION tenure.schedule_create(p_name text, p_spec jsonb, p_on_behalf_of text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- schedule_delete(text, text); Type: FUNCTION
CREATE FUNCTION tenure.schedule_delete(p_name text, p_on_behalf_of text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- schedule_event_data(tenure.schedules); Type: FUNCTION
CREATE FUNCTION tenure.schedule_event_data(p_schedule tenure.schedules) RETURNS jsonb
    LANGUAGE sql STABLE
    AS $$...$$;

-- schedule_insert(tenure.caller_identity, timestamp with time zone, text, tenure.schedules); Type: FUNCTION
CREATE FUNCTION tenure.schedule_insert(p_caller tenure.caller_identity, p_now timestamp with time zone, p_name text, p_new tenure.schedules) RETURNS boolean
    LANGUAGE plpgsql
    AS $$...$$;

-- schedule_list(integer, text); Type: FUNCTION
CREATE FUNCTION tenure.schedule_list(p_limit integer DEFAULT 100, p_after text DEFAULT NULL::text) RETURNS SETOF tenure.schedule_row
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- schedule_locked(integer, text); Type: FUNCTION
CREATE FUNCTION tenure.schedule_locked(p_tenant_id integer, p_name text) RETURNS tenure.schedules
    LANGUAGE plpgsql
    AS $$...$$;

-- schedule_pause(text, text, text); Type: FUNCTION
CREATE FUNCTION tenure.schedule_pause(p_name text, p_note text DEFAULT NULL::text, p_on_behalf_of text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- schedule_put(text, jsonb, text); Type: FUNCTION
CREATE FUNCTION tenure.schedule_put(p_name text, p_spec jsonb, p_on_behalf_of text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- schedule_read(tenure.caller_identity, tenure.schedules, jsonb); Type: FUNCTION
CREATE FUNCTION tenure.schedule_read(p_caller tenure.caller_identity, p_old tenure.schedules, p_spec jsonb) RETURNS tenure.schedules
    LANGUAGE plpgsql
    AS $$...$$;

-- schedule_read_field(text, jsonb); Type: FUNCTION
CREATE FUNCTION tenure.schedule_read_field(p_field text, p_value jsonb) RETURNS jsonb
    LANGUAGE plpgsql
    AS $$...$$;

-- schedule_read_job(tenure.schedules, jsonb); Type: FUNCTION
CREATE FUNCTION tenure.schedule_read_job(p_new tenure.schedules, p_spec jsonb) RETURNS tenure.schedules
    LANGUAGE plpgsql
    AS $$...$$;

-- schedule_read_number(text, jsonb); Type: FUNCTION
CREATE FUNCTION tenure.schedule_read_number(p_field text, p_value jsonb) RETURNS jsonb
    LANGUAGE plpgsql
    AS $$...$$;

-- schedule_read_policy(tenure.caller_identity, tenure.schedules, tenure.schedules, jsonb); Type: FUNCTION
CREATE FUNCTION tenure.schedule_read_policy(p_caller tenure.caller_identity, p_old tenure.schedules, p_new tenure.schedules, p_spec jsonb) RETURNS tenure.schedules
    LANGUAGE plpgsql
    AS $$...$$;

-- schedule_read_rule(tenure.schedules, jsonb); Type: FUNCTION
CREATE FUNCTION tenure.schedule_read_rule(p_new tenure.schedules, p_spec jsonb) RETURNS tenure.schedules
    LANGUAGE plpgsql
    SET standard_conforming_strings TO 'on'
    AS $_$...$_$;

-- schedule_resume(text, text); Type: FUNCTION
CREATE FUNCTION tenure.schedule_resume(p_name text, p_on_behalf_of text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- schedule_rows(integer, text, integer, text); Type: FUNCTION
CREATE FUNCTION tenure.schedule_rows(p_tenant_id integer, p_name text, p_limit integer, p_after text) RETURNS SETOF tenure.schedule_row
    LANGUAGE sql STABLE
    AS $$...$$;

-- schedule_rule(tenure.schedules); Type: FUNCTION
CREATE FUNCTION tenure.schedule_rule(p_schedule tenure.schedules) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS $$...$$;

-- schedule_run(text, text); Type: FUNCTION
CREATE FUNCTION tenure.schedule_run(p_name text, p_on_behalf_of text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- schedule_show(text); Type: FUNCTION
CREATE FUNCTION tenure.schedule_show(p_name text) RETURNS SETOF tenure.schedule_row
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- schedule_slots(text, text[], timestamp with time zone, timestamp with time zone, integer, timestamp with time zone); Type: FUNCTION
CREATE FUNCTION tenure.schedule_slots(p_name text, p_state text[] DEFAULT NULL::text[], p_from timestamp with time zone DEFAULT NULL::timestamp with time zone, p_until timestamp with time zone DEFAULT NULL::timestamp with time zone, p_limit integer DEFAULT 100, p_before timestamp with time zone DEFAULT NULL::timestamp with time zone) RETURNS SETOF tenure.slot_row
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET plan_cache_mode TO 'force_custom_plan'
    AS $$...$$;

-- schedule_take(integer); Type: FUNCTION
CREATE FUNCTION tenure.schedule_take(p_limit integer DEFAULT 500) RETURNS TABLE(schedule_id integer, tenant text, name text, cron text, every_seconds integer, zone text, start_at timestamp with time zone, end_at timestamp with time zone, after timestamp with time zone, now timestamp with time zone, list_from timestamp with time zone, list_max integer)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$...$$;

-- schedule_update(text, jsonb, text); Type: FUNCTION
CREATE FUNCTION tenure.schedule_update(p_name text, p_changes jsonb, p_on_behalf_of text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- schedule_write(text, jsonb, text, text); Type: FUNCTION
CREATE FUNCTION tenure.schedule_write(p_name text, p_spec jsonb, p_mode text, p_on_behalf_of text) RETURNS jsonb
    LANGUAGE plpgsql
    AS $$...$$;

-- schedules_catch_up(timestamp with time zone, tenure.rule_plan[]); Type: FUNCTION
CREATE FUNCTION tenure.schedules_catch_up(p_now timestamp with time zone, p_plans tenure.rule_plan[]) RETURNS bigint
    LANGUAGE plpgsql
    AS $$...$$;

-- schedules_look_again(timestamp with time zone, tenure.rule_plan[]); Type: FUNCTION
CREATE FUNCTION tenure.schedules_look_again(p_now timestamp with time zone, p_plans tenure.rule_plan[]) RETURNS bigint
    LANGUAGE plpgsql
    AS $$...$$;

-- secret_text(bytea); Type: FUNCTION
CREATE FUNCTION tenure.secret_text(p_secret bytea) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS $$...$$;

-- section_enter_entries(uuid[], integer[]); Type: FUNCTION
CREATE FUNCTION tenure.section_enter_entries(p_execs uuid[], p_numbers integer[]) RETURNS tenure.chain_entry[]
    LANGUAGE sql STABLE
    AS $$...$$;

-- section_is_over(uuid, text); Type: FUNCTION
CREATE FUNCTION tenure.section_is_over(p_execution_id uuid, p_section text) RETURNS boolean
    LANGUAGE plpgsql STABLE
    AS $$...$$;

-- section_step_fail(timestamp with time zone, uuid, integer); Type: FUNCTION
CREATE FUNCTION tenure.section_step_fail(p_now timestamp with time zone, p_execution_id uuid, p_number integer) RETURNS tenure.chain_entry[]
    LANGUAGE plpgsql
    AS $$...$$;

-- sections_continue(timestamp with time zone, uuid[], integer[], tenure.chain_entry[]); Type: FUNCTION
CREATE FUNCTION tenure.sections_continue(p_now timestamp with time zone, p_execs uuid[], p_numbers integer[], INOUT entries tenure.chain_entry[], OUT execs uuid[], OUT numbers integer[], OUT inner_execs uuid[], OUT inner_numbers integer[], OUT lost_execs uuid[], OUT lost_numbers integer[]) RETURNS record
    LANGUAGE plpgsql
    AS $$...$$;

-- sections_release(uuid[]); Type: FUNCTION
CREATE FUNCTION tenure.sections_release(p_execs uuid[]) RETURNS tenure.chain_entry[]
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    AS $$...$$;

-- sections_shown(uuid); Type: FUNCTION
CREATE FUNCTION tenure.sections_shown(p_execution_id uuid) RETURNS jsonb
    LANGUAGE sql STABLE
    AS $$...$$;

-- service_beat(text, uuid, text, text); Type: FUNCTION
CREATE FUNCTION tenure.service_beat(p_service text, p_instance uuid, p_version text, p_zones text DEFAULT NULL::text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- service_list(); Type: FUNCTION
CREATE FUNCTION tenure.service_list() RETURNS TABLE(service text, is_running boolean, last_run_at timestamp with time zone, instances bigint, versions text[], zones text[], effect text)
    LANGUAGE sql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- setting(integer, text); Type: FUNCTION
CREATE FUNCTION tenure.setting(p_tenant_id integer, p_key text) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    AS $$...$$;

-- setting_integer(integer, text); Type: FUNCTION
CREATE FUNCTION tenure.setting_integer(p_tenant_id integer, p_key text) RETURNS integer
    LANGUAGE sql STABLE
    AS $$...$$;

-- slot_give_way(tenure.caller_identity, timestamp with time zone, integer, uuid, text); Type: FUNCTION
CREATE FUNCTION tenure.slot_give_way(p_caller tenure.caller_identity, p_now timestamp with time zone, p_tenant_id integer, p_job_id uuid, p_actor text) RETURNS void
    LANGUAGE plpgsql
    SET lock_timeout TO '500ms'
    AS $$...$$;

-- slot_jitter(integer, timestamp with time zone, bigint); Type: FUNCTION
CREATE FUNCTION tenure.slot_jitter(p_schedule_id integer, p_plan_time timestamp with time zone, p_seconds bigint) RETURNS bigint
    LANGUAGE sql IMMUTABLE
    AS $$...$$;

-- slot_moment(tenure.schedules, timestamp with time zone); Type: FUNCTION
CREATE FUNCTION tenure.slot_moment(p_schedule tenure.schedules, p_now timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE sql STABLE
    AS $$...$$;

-- planned_slots; Type: TABLE
CREATE TABLE tenure.planned_slots (
    slot_id bigint NOT NULL,
    tenant_id integer NOT NULL,
    schedule_id integer NOT NULL,
    scope_kind text NOT NULL,
    scope_id text NOT NULL,
    plan_time timestamp with time zone NOT NULL,
    origin text NOT NULL,
    expression text NOT NULL,
    zone text NOT NULL,
    planned_at timestamp with time zone NOT NULL,
    planned_by text NOT NULL,
    state text NOT NULL,
    skip_reason text,
    due_at timestamp with time zone NOT NULL,
    waiting_since timestamp with time zone,
    missed integer,
    missed_until timestamp with time zone,
    updated_at timestamp with time zone NOT NULL,
    job_id uuid,
    attempts smallint DEFAULT 0 NOT NULL,
    worker text,
    fired_at timestamp with time zone,
    started_at timestamp with time zone,
    ended_at timestamp with time zone,
    duration_ms bigint,
    rows_affected bigint,
    result jsonb,
    result_ref text,
    error_code text,
    error_message text,
    CONSTRAINT planned_slots_attempts_check CHECK ((attempts >= 0)),
    CONSTRAINT planned_slots_due_at_check CHECK (isfinite(due_at)),
    CONSTRAINT planned_slots_duration_ms_check CHECK ((duration_ms >= 0)),
    CONSTRAINT planned_slots_end_after_start CHECK ((ended_at >= started_at)),
    CONSTRAINT planned_slots_error_message_check CHECK ((octet_length(error_message) <= 4000)),
    CONSTRAINT planned_slots_expression_check CHECK ((expression ~ '\S'::text)),
    CONSTRAINT planned_slots_fired_with_job CHECK (((job_id IS NULL) = (fired_at IS NULL))),
    CONSTRAINT planned_slots_missed_check CHECK ((missed >= 1)),
    CONSTRAINT planned_slots_missed_until CHECK (((missed IS NULL) = (missed_until IS NULL))),
    CONSTRAINT planned_slots_open_until_ended CHECK (((state = ANY (ARRAY['planned'::text, 'running'::text])) = (ended_at IS NULL))),
    CONSTRAINT planned_slots_origin_check CHECK ((origin = ANY (ARRAY['rule'::text, 'manual'::text, 'backfill'::text]))),
    CONSTRAINT planned_slots_plan_time_check CHECK ((isfinite(plan_time) AND ((origin = 'manual'::text) OR (EXTRACT(epoch FROM plan_time) = trunc(EXTRACT(epoch FROM plan_time)))))),
    CONSTRAINT planned_slots_planned_by_check CHECK ((planned_by ~ '\S'::text)),
    CONSTRAINT planned_slots_result_check CHECK ((octet_length((result)::text) <= 16384)),
    CONSTRAINT planned_slots_run_has_job CHECK (((state = ANY (ARRAY['planned'::text, 'skipped'::text])) = (job_id IS NULL))),
    CONSTRAINT planned_slots_scope_id_check CHECK ((scope_id ~ '\S'::text)),
    CONSTRAINT planned_slots_scope_kind_check CHECK ((scope_kind ~ '\S'::text)),
    CONSTRAINT planned_slots_skip_has_reason CHECK (((state = 'skipped'::text) = (skip_reason IS NOT NULL))),
    CONSTRAINT planned_slots_skip_reason_check CHECK ((skip_reason = ANY (ARRAY['overlap'::text, 'paused'::text, 'missed_window'::text, 'superseded'::text, 'refused'::text]))),
    CONSTRAINT planned_slots_state_check CHECK ((state = ANY (ARRAY['planned'::text, 'running'::text, 'succeeded'::text, 'failed'::text, 'cancelled'::text, 'skipped'::text]))),
    CONSTRAINT planned_slots_waits_while_planned CHECK (((waiting_since IS NULL) OR (state = 'planned'::text))),
    CONSTRAINT planned_slots_zone_check CHECK ((zone ~ '\S'::text))
)
WITH (fillfactor='80', autovacuum_vacuum_scale_factor='0.05');
ALTER TABLE ONLY tenure.planned_slots FORCE ROW LEVEL SECURITY;

-- TABLE planned_slots; Type: COMMENT
COMMENT ON TABLE tenure.planned_slots IS 'One moment of a schedule: planned ahead, then its run, then its record, which outlives the job. Each moment has one row.';

-- COLUMN planned_slots.plan_time; Type: COMMENT
COMMENT ON COLUMN tenure.planned_slots.plan_time IS 'The moment it stands for: a whole second of the rule, or the exact moment at which a run by hand was requested.';

-- COLUMN planned_slots.missed; Type: COMMENT
COMMENT ON COLUMN tenure.planned_slots.missed IS 'How many slots, this one included, were not seen in time; missed_until is the last of them.';

-- slot_origin(tenure.schedules, tenure.planned_slots); Type: FUNCTION
CREATE FUNCTION tenure.slot_origin(p_schedule tenure.schedules, p_slot tenure.planned_slots) RETURNS jsonb
    LANGUAGE sql STABLE
    AS $$...$$;

-- slot_plan(tenure.schedules, timestamp with time zone, timestamp with time zone, timestamp with time zone, text, text); Type: FUNCTION
CREATE FUNCTION tenure.slot_plan(p_schedule tenure.schedules, p_now timestamp with time zone, p_plan_time timestamp with time zone, p_due_at timestamp with time zone, p_origin text, p_by text) RETURNS bigint
    LANGUAGE sql
    AS $$...$$;

-- slot_reopen(uuid, uuid); Type: FUNCTION
CREATE FUNCTION tenure.slot_reopen(p_job_id uuid, p_by_job_id uuid) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- slot_shown(tenure.planned_slots); Type: FUNCTION
CREATE FUNCTION tenure.slot_shown(p_slot tenure.planned_slots) RETURNS tenure.slot_row
    LANGUAGE plpgsql STABLE
    AS $$...$$;

-- slot_sweep(integer); Type: FUNCTION
CREATE FUNCTION tenure.slot_sweep(p_limit integer DEFAULT 1000) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    AS $$...$$;

-- slots_catch_up(tenure.schedules, tenure.planned_slots, timestamp with time zone, tenure.rule_plan); Type: FUNCTION
CREATE FUNCTION tenure.slots_catch_up(p_schedule tenure.schedules, p_slot tenure.planned_slots, p_now timestamp with time zone, p_plan tenure.rule_plan) RETURNS integer
    LANGUAGE plpgsql
    AS $$...$$;

-- slots_emit(text, timestamp with time zone, text, bigint[]); Type: FUNCTION
CREATE FUNCTION tenure.slots_emit(p_what text, p_now timestamp with time zone, p_actor text, p_slot_ids bigint[]) RETURNS void
    LANGUAGE sql
    AS $$...$$;

-- slots_end(timestamp with time zone, text, uuid[]); Type: FUNCTION
CREATE FUNCTION tenure.slots_end(p_now timestamp with time zone, p_actor text, p_job_ids uuid[]) RETURNS void
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    AS $_$...$_$;

-- slots_fire(tenure.caller_identity, timestamp with time zone, integer[], text, bigint); Type: FUNCTION
CREATE FUNCTION tenure.slots_fire(p_caller tenure.caller_identity, p_now timestamp with time zone, p_schedule_ids integer[], p_actor text, p_slot_id bigint DEFAULT NULL::bigint, OUT started integer, OUT skipped integer, OUT waiting integer) RETURNS record
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$...$$;

-- slots_followed(integer[]); Type: FUNCTION
CREATE FUNCTION tenure.slots_followed(p_schedule_ids integer[]) RETURNS void
    LANGUAGE sql
    AS $$...$$;

-- slots_judged(timestamp with time zone, integer[], bigint); Type: FUNCTION
CREATE FUNCTION tenure.slots_judged(p_now timestamp with time zone, p_schedule_ids integer[], p_slot_id bigint) RETURNS TABLE(slot_id bigint, schedule_id integer, tenant_id integer, origin text, waiting_since timestamp with time zone, overlap text, verdict text)
    LANGUAGE sql STABLE
    AS $$...$$;

-- slots_plan_next(timestamp with time zone, tenure.rule_plan[]); Type: FUNCTION
CREATE FUNCTION tenure.slots_plan_next(p_now timestamp with time zone, p_plans tenure.rule_plan[]) RETURNS bigint
    LANGUAGE plpgsql
    AS $$...$$;

-- slots_room(integer, timestamp with time zone); Type: FUNCTION
CREATE FUNCTION tenure.slots_room(p_schedule_id integer, p_now timestamp with time zone) RETURNS integer
    LANGUAGE sql STABLE
    AS $$...$$;

-- slots_start(tenure.caller_identity, integer, timestamp with time zone, bigint[], text); Type: FUNCTION
CREATE FUNCTION tenure.slots_start(p_caller tenure.caller_identity, p_tenant_id integer, p_now timestamp with time zone, p_slot_ids bigint[], p_actor text) RETURNS integer
    LANGUAGE plpgsql
    SET lock_timeout TO '500ms'
    AS $$...$$;

-- slots_supersede(integer, timestamp with time zone, text, text, boolean); Type: FUNCTION
CREATE FUNCTION tenure.slots_supersede(p_schedule_id integer, p_now timestamp with time zone, p_actor text, p_why text, p_all boolean DEFAULT false) RETURNS void
    LANGUAGE sql
    AS $$...$$;

-- sqlstate_code(text); Type: FUNCTION
CREATE FUNCTION tenure.sqlstate_code(p_sqlstate text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$...$$;

-- stale_check(integer); Type: FUNCTION
CREATE FUNCTION tenure.stale_check(p_threshold_seconds integer DEFAULT NULL::integer) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- start_line(integer, text, timestamp with time zone, bigint); Type: FUNCTION
CREATE FUNCTION tenure.start_line(p_run integer, p_worker text, p_started_at timestamp with time zone, p_fence bigint) RETURNS jsonb
    LANGUAGE sql STABLE
    AS $$...$$;

-- starts_follow(timestamp with time zone, uuid[], text); Type: FUNCTION
CREATE FUNCTION tenure.starts_follow(p_now timestamp with time zone, p_job_ids uuid[], p_which text) RETURNS integer
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    AS $$...$$;

-- starts_left(uuid[]); Type: FUNCTION
CREATE FUNCTION tenure.starts_left(p_job_ids uuid[]) RETURNS TABLE(place tid, job_id uuid, run integer)
    LANGUAGE sql STABLE
    AS $$...$$;

-- step_approvals_consume(timestamp with time zone, uuid[], integer[]); Type: FUNCTION
CREATE FUNCTION tenure.step_approvals_consume(p_now timestamp with time zone, p_execs uuid[], p_numbers integer[]) RETURNS tenure.chain_entry[]
    LANGUAGE plpgsql
    AS $$...$$;

-- step_approvals_request(timestamp with time zone, uuid[], integer[], tenure.chain_entry[]); Type: FUNCTION
CREATE FUNCTION tenure.step_approvals_request(p_now timestamp with time zone, p_execs uuid[], p_numbers integer[], INOUT entries tenure.chain_entry[], OUT execs uuid[], OUT numbers integer[]) RETURNS record
    LANGUAGE plpgsql
    AS $$...$$;

-- step_approvals_withdraw(timestamp with time zone, uuid[], integer[], tenure.chain_entry[]); Type: FUNCTION
CREATE FUNCTION tenure.step_approvals_withdraw(p_now timestamp with time zone, p_execs uuid[], p_numbers integer[], INOUT entries tenure.chain_entry[]) RETURNS tenure.chain_entry[]
    LANGUAGE plpgsql
    AS $$...$$;

-- step_ends_apply(timestamp with time zone, text, uuid[], text); Type: FUNCTION
CREATE FUNCTION tenure.step_ends_apply(p_now timestamp with time zone, p_actor text, p_job_ids uuid[], p_freed text) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- step_ends_follow(timestamp with time zone, text, uuid[]); Type: FUNCTION
CREATE FUNCTION tenure.step_ends_follow(p_now timestamp with time zone, p_actor text, p_job_ids uuid[]) RETURNS void
    LANGUAGE plpgsql
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$...$$;

-- step_ends_note(timestamp with time zone, uuid[], text); Type: FUNCTION
CREATE FUNCTION tenure.step_ends_note(p_now timestamp with time zone, p_job_ids uuid[], p_reason text) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- step_ends_try(timestamp with time zone, text, uuid[]); Type: FUNCTION
CREATE FUNCTION tenure.step_ends_try(p_now timestamp with time zone, p_actor text, p_job_ids uuid[]) RETURNS text
    LANGUAGE plpgsql
    AS $$...$$;

-- step_ends_write(timestamp with time zone, text, uuid[]); Type: FUNCTION
CREATE FUNCTION tenure.step_ends_write(p_now timestamp with time zone, p_actor text, p_job_ids uuid[], OUT execs uuid[], OUT numbers integer[], OUT states text[], OUT entries tenure.chain_entry[]) RETURNS record
    LANGUAGE plpgsql
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$...$$;

-- step_errors(uuid); Type: FUNCTION
CREATE FUNCTION tenure.step_errors(p_execution_id uuid) RETURNS TABLE(error_class text, error_message text, errors jsonb)
    LANGUAGE sql STABLE
    AS $$...$$;

-- step_fail_refused(timestamp with time zone, uuid, integer, text, text); Type: FUNCTION
CREATE FUNCTION tenure.step_fail_refused(p_now timestamp with time zone, p_execution_id uuid, p_number integer, p_code text, p_message text) RETURNS tenure.chain_entry[]
    LANGUAGE plpgsql
    AS $$...$$;

-- step_fail_unapproved(timestamp with time zone, text, tenure.approvals, tenure.execution_rows); Type: FUNCTION
CREATE FUNCTION tenure.step_fail_unapproved(p_now timestamp with time zone, p_actor text, p_approval tenure.approvals, p_execution tenure.execution_rows) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- step_fenced(uuid, bigint); Type: FUNCTION
CREATE FUNCTION tenure.step_fenced(p_job_id uuid, p_fence bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- step_job_take(integer, uuid); Type: FUNCTION
CREATE FUNCTION tenure.step_job_take(p_tenant_id integer, p_job_id uuid) RETURNS tenure.run_end
    LANGUAGE plpgsql
    SET lock_timeout TO '100ms'
    AS $$...$$;

-- step_jobs_cancel(timestamp with time zone, text, uuid[], text); Type: FUNCTION
CREATE FUNCTION tenure.step_jobs_cancel(p_now timestamp with time zone, p_actor text, p_ids uuid[], p_reason text) RETURNS uuid[]
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    AS $$...$$;

-- step_jobs_stop(timestamp with time zone, text, uuid, text); Type: FUNCTION
CREATE FUNCTION tenure.step_jobs_stop(p_now timestamp with time zone, p_actor text, p_execution_id uuid, p_reason text) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- step_jobs_take_back(timestamp with time zone, text, uuid[], text); Type: FUNCTION
CREATE FUNCTION tenure.step_jobs_take_back(p_now timestamp with time zone, p_actor text, p_ids uuid[], p_reason text, OUT at timestamp with time zone, OUT execs uuid[], OUT numbers integer[], OUT states text[], OUT entries tenure.chain_entry[]) RETURNS record
    LANGUAGE plpgsql
    AS $$...$$;

-- step_jobs_withdraw(timestamp with time zone, text, uuid, text); Type: FUNCTION
CREATE FUNCTION tenure.step_jobs_withdraw(p_now timestamp with time zone, p_actor text, p_execution_id uuid, p_reason text) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- timeout_policies; Type: TABLE
CREATE TABLE tenure.timeout_policies (
    tenant_id integer NOT NULL,
    sla_class text NOT NULL,
    action_class text NOT NULL,
    execution_timeout_ms integer NOT NULL,
    step_timeout_ms integer NOT NULL,
    lease_ms integer NOT NULL,
    renewals_max integer DEFAULT 3 NOT NULL,
    CONSTRAINT timeout_policies_action_class_check CHECK ((action_class = ANY (ARRAY['read'::text, 'modify'::text, 'deploy'::text]))),
    CONSTRAINT timeout_policies_execution_covers_step CHECK ((execution_timeout_ms >= step_timeout_ms)),
    CONSTRAINT timeout_policies_execution_timeout_ms_check CHECK ((execution_timeout_ms > 0)),
    CONSTRAINT timeout_policies_lease_covers_step CHECK ((lease_ms >= step_timeout_ms)),
    CONSTRAINT timeout_policies_lease_ms_check CHECK ((lease_ms > 0)),
    CONSTRAINT timeout_policies_renewals_max_check CHECK (((renewals_max >= 0) AND (renewals_max <= 1000))),
    CONSTRAINT timeout_policies_sla_class_check CHECK ((sla_class = ANY (ARRAY['fast'::text, 'medium'::text, 'long'::text]))),
    CONSTRAINT timeout_policies_step_timeout_ms_check CHECK ((step_timeout_ms > 0))
);
ALTER TABLE ONLY tenure.timeout_policies FORCE ROW LEVEL SECURITY;

-- TABLE timeout_policies; Type: COMMENT
COMMENT ON TABLE tenure.timeout_policies IS 'Limits for an execution, a step and a lease, by SLA class and action class. Rows of tenant 0 are the defaults of the installation; rows of a tenant come first.';

-- step_lease_seconds(integer, tenure.timeout_policies); Type: FUNCTION
CREATE FUNCTION tenure.step_lease_seconds(p_own_timeout integer, p_policy tenure.timeout_policies) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$...$$;

-- step_lease_usual(integer, text); Type: FUNCTION
CREATE FUNCTION tenure.step_lease_usual(p_tenant_id integer, p_kind text) RETURNS integer
    LANGUAGE plpgsql STABLE
    AS $$...$$;

-- step_list(uuid, text[]); Type: FUNCTION
CREATE FUNCTION tenure.step_list(p_execution_id uuid, p_state text[] DEFAULT NULL::text[]) RETURNS TABLE(step_number integer, step_id text, state text, action text, action_class text, target_type text, target_ref text, kind text, executor text, effects text, needs text[], approval_level integer, rule text, lock_key text, fence bigint, timeout_seconds integer, attempts_max integer, attempt integer, job_id uuid, job_state text, worker text, carried_from uuid, queued_at timestamp with time zone, started_at timestamp with time zone, ended_at timestamp with time zone, duration_ms bigint, output_summary jsonb, output_ref text, output_size_bytes integer, error_code text, error_class text, error_message text, verdict_by text, verdict_reason text, waiting_place bigint, compensation_note text, registration text, level_min integer, section text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- step_of_key(text); Type: FUNCTION
CREATE FUNCTION tenure.step_of_key(p_key text) RETURNS integer
    LANGUAGE sql IMMUTABLE
    AS $_$...$_$;

-- step_origin(uuid, integer, text, text, text, text, text); Type: FUNCTION
CREATE FUNCTION tenure.step_origin(p_execution_id uuid, p_number integer, p_step_id text, p_action text, p_action_class text, p_target_type text, p_plan_hash text) RETURNS jsonb
    LANGUAGE sql STABLE
    AS $$...$$;

-- step_progress(timestamp with time zone, text, uuid, jsonb); Type: FUNCTION
CREATE FUNCTION tenure.step_progress(p_now timestamp with time zone, p_actor text, p_job_id uuid, p_progress jsonb) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- step_run_again(timestamp with time zone, text, tenure.step_rows); Type: FUNCTION
CREATE FUNCTION tenure.step_run_again(p_now timestamp with time zone, p_actor text, p_step tenure.step_rows) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- step_runs_keep(uuid[]); Type: FUNCTION
CREATE FUNCTION tenure.step_runs_keep(p_job_ids uuid[]) RETURNS uuid[]
    LANGUAGE plpgsql
    AS $$...$$;

-- step_runs; Type: TABLE
CREATE TABLE tenure.step_runs (
    execution_id uuid NOT NULL,
    step_number integer NOT NULL,
    job_id uuid NOT NULL,
    run integer NOT NULL,
    tenant_id integer NOT NULL,
    attempt smallint NOT NULL,
    outcome text NOT NULL,
    state text NOT NULL,
    owner text,
    holder text,
    leased_at timestamp with time zone,
    started_at timestamp with time zone,
    ended_at timestamp with time zone NOT NULL,
    actor text NOT NULL,
    reason text,
    error_code text,
    error_class text,
    error_message text,
    result jsonb,
    result_ref text
);

-- TABLE step_runs; Type: COMMENT
COMMENT ON TABLE tenure.step_runs IS 'The runs of steps, copied from tenure.attempts when the job is emptied. They are kept as long as the execution, then in its evidence.';

-- step_runs_of(uuid); Type: FUNCTION
CREATE FUNCTION tenure.step_runs_of(p_execution_id uuid) RETURNS SETOF tenure.step_runs
    LANGUAGE sql STABLE
    AS $$...$$;

-- step_shown(jsonb, text, bigint); Type: FUNCTION
CREATE FUNCTION tenure.step_shown(p_origin jsonb, p_target_ref text, p_fence bigint DEFAULT NULL::bigint) RETURNS jsonb
    LANGUAGE sql STABLE PARALLEL SAFE
    AS $$...$$;

-- step_starts_read(uuid[]); Type: FUNCTION
CREATE FUNCTION tenure.step_starts_read(p_job_ids uuid[]) RETURNS TABLE(job_id uuid, execution_id uuid, tenant_id integer, run integer, worker text, fence bigint, started_at timestamp with time zone, owed boolean, entries tenure.chain_entry)
    LANGUAGE sql STABLE
    AS $$...$$;

-- step_starts_record(timestamp with time zone, text, uuid[]); Type: FUNCTION
CREATE FUNCTION tenure.step_starts_record(p_now timestamp with time zone, p_actor text, p_job_ids uuid[]) RETURNS void
    LANGUAGE plpgsql
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$...$$;

-- step_terms(uuid, jsonb); Type: FUNCTION
CREATE FUNCTION tenure.step_terms(p_execution_id uuid, p_plan jsonb) RETURNS jsonb
    LANGUAGE sql STABLE
    AS $$...$$;

-- step_to_resolve(tenure.caller_identity, tenure.execution_rows, text, tenure.verdict); Type: FUNCTION
CREATE FUNCTION tenure.step_to_resolve(p_caller tenure.caller_identity, p_execution tenure.execution_rows, p_step_id text, p_verdict tenure.verdict) RETURNS tenure.step_rows
    LANGUAGE plpgsql
    AS $$...$$;

-- steps_block(timestamp with time zone, uuid[], integer[]); Type: FUNCTION
CREATE FUNCTION tenure.steps_block(p_now timestamp with time zone, p_execs uuid[], p_numbers integer[]) RETURNS tenure.chain_entry[]
    LANGUAGE plpgsql
    AS $$...$$;

-- steps_carry_over(timestamp with time zone, text, uuid, uuid, text); Type: FUNCTION
CREATE FUNCTION tenure.steps_carry_over(p_now timestamp with time zone, p_actor text, p_from uuid, p_to uuid, p_reason text) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- steps_claimed(uuid[]); Type: FUNCTION
CREATE FUNCTION tenure.steps_claimed(p_job_ids uuid[], OUT job_ids uuid[], OUT fences bigint[]) RETURNS record
    LANGUAGE plpgsql
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$...$$;

-- steps_dispatch(timestamp with time zone, text, uuid[], integer[], boolean, boolean, tenure.chain_entry[]); Type: FUNCTION
CREATE FUNCTION tenure.steps_dispatch(p_now timestamp with time zone, p_actor text, p_execs uuid[], p_numbers integer[], p_granted boolean, p_begun boolean, INOUT entries tenure.chain_entry[], OUT refused_execs uuid[], OUT refused_numbers integer[]) RETURNS record
    LANGUAGE plpgsql
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$...$$;

-- steps_dispatch_held(timestamp with time zone, text, uuid, integer[], boolean); Type: FUNCTION
CREATE FUNCTION tenure.steps_dispatch_held(p_now timestamp with time zone, p_actor text, p_execution_id uuid, p_numbers integer[], p_granted boolean) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- steps_enqueue(timestamp with time zone, integer, uuid[], integer[]); Type: FUNCTION
CREATE FUNCTION tenure.steps_enqueue(p_now timestamp with time zone, p_tenant_id integer, p_execs uuid[], p_numbers integer[], OUT entries tenure.chain_entry[], OUT refused_execs uuid[], OUT refused_numbers integer[]) RETURNS record
    LANGUAGE plpgsql
    AS $$...$$;

-- steps_enqueue_by_tenant(timestamp with time zone, uuid[], integer[]); Type: FUNCTION
CREATE FUNCTION tenure.steps_enqueue_by_tenant(p_now timestamp with time zone, p_execs uuid[], p_numbers integer[], OUT entries tenure.chain_entry[], OUT refused_execs uuid[], OUT refused_numbers integer[]) RETURNS record
    LANGUAGE plpgsql
    AS $$...$$;

-- steps_find_next(timestamp with time zone, uuid[], integer[], text[], tenure.chain_entry[]); Type: FUNCTION
CREATE FUNCTION tenure.steps_find_next(p_now timestamp with time zone, p_execs uuid[], p_numbers integer[], p_states text[], INOUT entries tenure.chain_entry[], OUT execs uuid[], OUT numbers integer[], OUT stopped uuid[]) RETURNS record
    LANGUAGE plpgsql
    AS $$...$$;

-- steps_lease(integer, text, uuid[]); Type: FUNCTION
CREATE FUNCTION tenure.steps_lease(p_tenant_id integer, p_kind text, p_job_ids uuid[], OUT job_ids uuid[], OUT lease_seconds integer) RETURNS record
    LANGUAGE plpgsql STABLE
    AS $$...$$;

-- steps_lock(timestamp with time zone, uuid[], integer[], boolean, tenure.chain_entry[]); Type: FUNCTION
CREATE FUNCTION tenure.steps_lock(p_now timestamp with time zone, p_execs uuid[], p_numbers integer[], p_granted boolean, INOUT entries tenure.chain_entry[], OUT execs uuid[], OUT numbers integer[]) RETURNS record
    LANGUAGE plpgsql
    AS $$...$$;

-- steps_new_jobs(uuid[], integer[]); Type: FUNCTION
CREATE FUNCTION tenure.steps_new_jobs(p_execs uuid[], p_numbers integer[]) RETURNS tenure.new_job[]
    LANGUAGE sql STABLE
    AS $$...$$;

-- steps_set_running(timestamp with time zone, uuid[], integer[], uuid[]); Type: FUNCTION
CREATE FUNCTION tenure.steps_set_running(p_now timestamp with time zone, p_execs uuid[], p_numbers integer[], p_job_ids uuid[]) RETURNS tenure.chain_entry[]
    LANGUAGE plpgsql
    AS $$...$$;

-- steps_skip(timestamp with time zone, uuid[], integer[], text); Type: FUNCTION
CREATE FUNCTION tenure.steps_skip(p_now timestamp with time zone, p_execs uuid[], p_numbers integer[], p_reason text) RETURNS tenure.chain_entry[]
    LANGUAGE plpgsql
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$...$$;

-- steps_write(integer, tenure.new_execution); Type: FUNCTION
CREATE FUNCTION tenure.steps_write(p_tenant_id integer, p_new tenure.new_execution) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- stream_lag(); Type: FUNCTION
CREATE FUNCTION tenure.stream_lag() RETURNS TABLE(held_seconds double precision, pid integer, login text, application text, waiting_events bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- stream_place(text); Type: FUNCTION
CREATE FUNCTION tenure.stream_place(p_from text, OUT epoch integer, OUT txid xid8, OUT seq bigint) RETURNS record
    LANGUAGE plpgsql STABLE
    AS $$...$$;

-- stricter_class(text, text); Type: FUNCTION
CREATE FUNCTION tenure.stricter_class(p_said text, p_demanded text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$...$$;

-- stricter_lock(text, text); Type: FUNCTION
CREATE FUNCTION tenure.stricter_lock(p_said text, p_demanded text) RETURNS text
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$...$$;

-- submission_again(tenure.execution_rows, text); Type: FUNCTION
CREATE FUNCTION tenure.submission_again(p_old tenure.execution_rows, p_on_behalf_of text) RETURNS tenure.submission
    LANGUAGE plpgsql STABLE
    AS $$...$$;

-- submission_check(tenure.caller_identity, timestamp with time zone, tenure.submission); Type: FUNCTION
CREATE FUNCTION tenure.submission_check(p_caller tenure.caller_identity, p_now timestamp with time zone, p_submission tenure.submission) RETURNS tenure.submission
    LANGUAGE plpgsql
    AS $$...$$;

-- submission_judge(tenure.caller_identity, timestamp with time zone, tenure.submission); Type: FUNCTION
CREATE FUNCTION tenure.submission_judge(p_caller tenure.caller_identity, p_now timestamp with time zone, p_submission tenure.submission) RETURNS tenure.new_execution
    LANGUAGE plpgsql
    AS $$...$$;

-- submission_record(tenure.execution_rows, jsonb, text); Type: FUNCTION
CREATE FUNCTION tenure.submission_record(p_execution tenure.execution_rows, p_plan jsonb, p_text text) RETURNS jsonb
    LANGUAGE sql STABLE
    AS $$...$$;

-- submission_shown(tenure.execution_rows, boolean, boolean, jsonb); Type: FUNCTION
CREATE FUNCTION tenure.submission_shown(p_execution tenure.execution_rows, p_duplicate boolean, p_unchanged boolean, p_difference jsonb) RETURNS jsonb
    LANGUAGE sql STABLE
    AS $$...$$;

-- submissions_exclude(integer); Type: FUNCTION
CREATE FUNCTION tenure.submissions_exclude(p_tenant_id integer) RETURNS void
    LANGUAGE plpgsql
    SET lock_timeout TO '1s'
    AS $$...$$;

-- subscription_ack(text, text); Type: FUNCTION
CREATE FUNCTION tenure.subscription_ack(p_name text, p_cursor text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- subscription_actor(tenure.subscriptions); Type: FUNCTION
CREATE FUNCTION tenure.subscription_actor(p_sub tenure.subscriptions) RETURNS text
    LANGUAGE sql IMMUTABLE
    AS $$...$$;

-- subscription_create(text, text[], text, jsonb, text, text, text, integer, integer, text, text); Type: FUNCTION
CREATE FUNCTION tenure.subscription_create(p_name text, p_event_kinds text[], p_target text, p_filter jsonb DEFAULT '{}'::jsonb, p_from text DEFAULT 'now'::text, p_job_kind text DEFAULT NULL::text, p_executor text DEFAULT NULL::text, p_priority integer DEFAULT NULL::integer, p_depth_max integer DEFAULT NULL::integer, p_url text DEFAULT NULL::text, p_on_behalf_of text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET standard_conforming_strings TO 'on'
    AS $$...$$;

-- subscription_delete(text, text); Type: FUNCTION
CREATE FUNCTION tenure.subscription_delete(p_name text, p_on_behalf_of text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- subscription_enqueue(tenure.subscriptions, text, timestamp with time zone, jsonb[], bigint[], uuid[]); Type: FUNCTION
CREATE FUNCTION tenure.subscription_enqueue(p_sub tenure.subscriptions, p_actor text, p_now timestamp with time zone, p_parts jsonb[], p_seqs bigint[], p_jobs uuid[]) RETURNS integer
    LANGUAGE plpgsql
    AS $$...$$;

-- subscription_list(); Type: FUNCTION
CREATE FUNCTION tenure.subscription_list() RETURNS TABLE(name text, target text, state text, event_kinds text[], filter jsonb, job_kind text, executor text, priority integer, depth_max integer, url text, cursor text, moved_at timestamp with time zone, behind_since timestamp with time zone, matched bigint, skipped bigint, waiting bigint, dead bigint, paused_at timestamp with time zone, paused_by text, pause_note text, failures integer, retry_at timestamp with time zone, error_code text, error_message text, created_at timestamp with time zone, created_by text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- subscription_locked(integer, text); Type: FUNCTION
CREATE FUNCTION tenure.subscription_locked(p_tenant_id integer, p_name text) RETURNS tenure.subscriptions
    LANGUAGE plpgsql
    AS $$...$$;

-- subscription_pause(text, text, text); Type: FUNCTION
CREATE FUNCTION tenure.subscription_pause(p_name text, p_note text DEFAULT NULL::text, p_on_behalf_of text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- subscription_read(text, integer); Type: FUNCTION
CREATE FUNCTION tenure.subscription_read(p_name text, p_limit integer DEFAULT 100) RETURNS TABLE(cursor text, at timestamp with time zone, kind text, actor text, on_behalf_of text, subject text, job_kind text, executor text, job_ids uuid[], runs integer[], data jsonb, via text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- subscription_resume(text, text, text); Type: FUNCTION
CREATE FUNCTION tenure.subscription_resume(p_name text, p_from text DEFAULT NULL::text, p_on_behalf_of text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- subscription_rotate(text, text); Type: FUNCTION
CREATE FUNCTION tenure.subscription_rotate(p_name text, p_on_behalf_of text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- subscription_row(tenure.subscriptions); Type: FUNCTION
CREATE FUNCTION tenure.subscription_row(p_subscription tenure.subscriptions) RETURNS jsonb
    LANGUAGE sql STABLE
    AS $$...$$;

-- subscription_run(integer); Type: FUNCTION
CREATE FUNCTION tenure.subscription_run(p_rows_max integer DEFAULT 1000) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- subscription_scan(tenure.subscriptions, integer); Type: FUNCTION
CREATE FUNCTION tenure.subscription_scan(p_subscription tenure.subscriptions, p_rows_max integer) RETURNS TABLE(epoch integer, txid xid8, seq bigint, at timestamp with time zone, kind text, actor text, on_behalf_of text, subject text, job_kind text, executor text, job_ids uuid[], runs integer[], data jsonb, via text, matches boolean)
    LANGUAGE plpgsql STABLE
    SET jit TO 'off'
    AS $$...$$;

-- subscription_step(tenure.subscriptions, integer, timestamp with time zone); Type: FUNCTION
CREATE FUNCTION tenure.subscription_step(p_sub tenure.subscriptions, p_rows_max integer, p_now timestamp with time zone, OUT events integer, OUT made integer, OUT skipped integer) RETURNS record
    LANGUAGE plpgsql
    AS $$...$$;

-- sweep_find(integer[], timestamp with time zone, uuid, integer); Type: FUNCTION
CREATE FUNCTION tenure.sweep_find(p_tenants integer[], p_now timestamp with time zone, p_after uuid, p_limit integer, OUT examined integer, OUT last_id uuid, OUT job_ids uuid[], OUT step_job_ids uuid[]) RETURNS record
    LANGUAGE plpgsql
    AS $$...$$;

-- target_folded(integer, text, text); Type: FUNCTION
CREATE FUNCTION tenure.target_folded(p_tenant_id integer, p_type text, p_ref text) RETURNS text
    LANGUAGE plpgsql STABLE
    AS $$...$$;

-- target_matches(text, text[], boolean); Type: FUNCTION
CREATE FUNCTION tenure.target_matches(p_ref text, p_globs text[], p_fold boolean) RETURNS boolean
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$...$$;

-- target_type_delete(text); Type: FUNCTION
CREATE FUNCTION tenure.target_type_delete(p_name text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- target_type_list(); Type: FUNCTION
CREATE FUNCTION tenure.target_type_list() RETURNS TABLE(name text, case_rule text, note text, updated_at timestamp with time zone, updated_by text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- target_type_set(text, jsonb); Type: FUNCTION
CREATE FUNCTION tenure.target_type_set(p_name text, p_spec jsonb) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- target_type_write(integer, timestamp with time zone, text, text, jsonb); Type: FUNCTION
CREATE FUNCTION tenure.target_type_write(p_tenant_id integer, p_now timestamp with time zone, p_author text, p_name text, p_spec jsonb) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- targets_lock_rows(uuid[], text); Type: FUNCTION
CREATE FUNCTION tenure.targets_lock_rows(p_ids uuid[], p_patience text) RETURNS boolean
    LANGUAGE plpgsql
    SET jit TO 'off'
    SET enable_seqscan TO 'off'
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$...$$;

-- targets_wanted(uuid[]); Type: FUNCTION
CREATE FUNCTION tenure.targets_wanted(p_ids uuid[]) RETURNS TABLE(tenant_id integer, target text)
    LANGUAGE sql STABLE
    AS $$...$$;

-- tenant_create(text, text); Type: FUNCTION
CREATE FUNCTION tenure.tenant_create(p_name text, p_on_behalf_of text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- tenant_list(integer, text); Type: FUNCTION
CREATE FUNCTION tenure.tenant_list(p_limit integer DEFAULT NULL::integer, p_after text DEFAULT NULL::text) RETURNS TABLE(name text, created_at timestamp with time zone, created_by text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- tenant_promote(integer, timestamp with time zone, integer); Type: FUNCTION
CREATE FUNCTION tenure.tenant_promote(p_tenant_id integer, p_now timestamp with time zone, p_rows_max integer) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    SET enable_seqscan TO 'off'
    SET enable_bitmapscan TO 'off'
    AS $$...$$;

-- tick_ends(timestamp with time zone, integer[], integer); Type: FUNCTION
CREATE FUNCTION tenure.tick_ends(p_now timestamp with time zone, p_tenants integer[], p_limit integer) RETURNS integer
    LANGUAGE plpgsql
    AS $$...$$;

-- tick_executions(timestamp with time zone, integer[], integer); Type: FUNCTION
CREATE FUNCTION tenure.tick_executions(p_now timestamp with time zone, p_tenants integer[], p_limit integer) RETURNS jsonb
    LANGUAGE plpgsql
    AS $$...$$;

-- tick_locks(timestamp with time zone, integer[], integer); Type: FUNCTION
CREATE FUNCTION tenure.tick_locks(p_now timestamp with time zone, p_tenants integer[], p_limit integer) RETURNS jsonb
    LANGUAGE plpgsql
    AS $$...$$;

-- tick_starts(timestamp with time zone, integer[], integer); Type: FUNCTION
CREATE FUNCTION tenure.tick_starts(p_now timestamp with time zone, p_tenants integer[], p_limit integer) RETURNS integer
    LANGUAGE plpgsql
    AS $$...$$;

-- timeout_policy(integer, text, text); Type: FUNCTION
CREATE FUNCTION tenure.timeout_policy(p_tenant_id integer, p_sla_class text, p_action_class text) RETURNS tenure.timeout_policies
    LANGUAGE plpgsql STABLE
    AS $$...$$;

-- timeout_policy_list(); Type: FUNCTION
CREATE FUNCTION tenure.timeout_policy_list() RETURNS TABLE(sla_class text, action_class text, execution_timeout_ms integer, step_timeout_ms integer, lease_ms integer, renewals_max integer, origin text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- timeout_policy_set(text, text, jsonb); Type: FUNCTION
CREATE FUNCTION tenure.timeout_policy_set(p_sla_class text, p_action_class text, p_spec jsonb) RETURNS jsonb
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- try_executor_beat(text, text, text, uuid, jsonb, uuid); Type: FUNCTION
CREATE FUNCTION tenure.try_executor_beat(p_name text, p_executor text, p_status text DEFAULT 'ok'::text, p_current_job_id uuid DEFAULT NULL::uuid, p_metadata jsonb DEFAULT '{}'::jsonb, p_instance uuid DEFAULT NULL::uuid) RETURNS jsonb
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- try_job_cancel(uuid, text, text, text); Type: FUNCTION
CREATE FUNCTION tenure.try_job_cancel(p_job_id uuid, p_reason text, p_mode text DEFAULT 'cooperative'::text, p_on_behalf_of text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- try_job_claim(text, text, text[], integer, text, text, integer); Type: FUNCTION
CREATE FUNCTION tenure.try_job_claim(p_worker text, p_executor text DEFAULT NULL::text, p_kinds text[] DEFAULT NULL::text[], p_lease_seconds integer DEFAULT NULL::integer, p_mode text DEFAULT 'leased'::text, p_affinity_key text DEFAULT NULL::text, p_priority_min integer DEFAULT NULL::integer) RETURNS jsonb
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- try_job_complete(uuid, uuid, jsonb, text); Type: FUNCTION
CREATE FUNCTION tenure.try_job_complete(p_job_id uuid, p_token uuid, p_result jsonb DEFAULT NULL::jsonb, p_result_ref text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- try_job_dead_letter(uuid, text, text); Type: FUNCTION
CREATE FUNCTION tenure.try_job_dead_letter(p_job_id uuid, p_reason text, p_on_behalf_of text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- try_job_enqueue(text, jsonb, text, text, text, timestamp with time zone, timestamp with time zone, text, text, text, text, integer, text, bigint, uuid, uuid, uuid, text, text, text, uuid, text); Type: FUNCTION
CREATE FUNCTION tenure.try_job_enqueue(p_kind text, p_payload jsonb DEFAULT '{}'::jsonb, p_key text DEFAULT NULL::text, p_executor text DEFAULT NULL::text, p_priority text DEFAULT 'normal'::text, p_due timestamp with time zone DEFAULT NULL::timestamp with time zone, p_deadline timestamp with time zone DEFAULT NULL::timestamp with time zone, p_source_ref text DEFAULT NULL::text, p_target_ref text DEFAULT NULL::text, p_payload_ref text DEFAULT NULL::text, p_classification text DEFAULT NULL::text, p_attempts_max integer DEFAULT NULL::integer, p_correlation_id text DEFAULT NULL::text, p_causation_event bigint DEFAULT NULL::bigint, p_parent_job_id uuid DEFAULT NULL::uuid, p_workflow_id uuid DEFAULT NULL::uuid, p_run_id uuid DEFAULT NULL::uuid, p_affinity_key text DEFAULT NULL::text, p_event_domain text DEFAULT NULL::text, p_source_system text DEFAULT NULL::text, p_job_id uuid DEFAULT NULL::uuid, p_on_behalf_of text DEFAULT NULL::text) RETURNS jsonb
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- try_job_fail(uuid, uuid, text, text, text, text, integer); Type: FUNCTION
CREATE FUNCTION tenure.try_job_fail(p_job_id uuid, p_token uuid, p_message text, p_permanence text DEFAULT 'transient'::text, p_code text DEFAULT NULL::text, p_class text DEFAULT NULL::text, p_retry_seconds integer DEFAULT NULL::integer) RETURNS jsonb
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- try_job_heartbeat(uuid, uuid, integer); Type: FUNCTION
CREATE FUNCTION tenure.try_job_heartbeat(p_job_id uuid, p_token uuid, p_lease_seconds integer DEFAULT NULL::integer) RETURNS jsonb
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- try_job_progress(uuid, uuid, jsonb); Type: FUNCTION
CREATE FUNCTION tenure.try_job_progress(p_job_id uuid, p_token uuid, p_progress jsonb DEFAULT '{}'::jsonb) RETURNS jsonb
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- try_job_start(uuid, uuid); Type: FUNCTION
CREATE FUNCTION tenure.try_job_start(p_job_id uuid, p_token uuid) RETURNS jsonb
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- try_job_sweep(integer); Type: FUNCTION
CREATE FUNCTION tenure.try_job_sweep(p_limit integer DEFAULT 1000) RETURNS jsonb
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- tuning(integer); Type: FUNCTION
CREATE FUNCTION tenure.tuning(p_tenant_id integer) RETURNS tenure.tunings
    LANGUAGE plpgsql STABLE
    AS $$...$$;

-- tunings_refresh(integer); Type: FUNCTION
CREATE FUNCTION tenure.tunings_refresh(p_tenant_id integer) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- unread_query(text); Type: FUNCTION
CREATE FUNCTION tenure.unread_query(p_partition text) RETURNS text
    LANGUAGE sql IMMUTABLE
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $_$...$_$;

-- utf16_rank(text); Type: FUNCTION
CREATE FUNCTION tenure.utf16_rank(p_text text) RETURNS bytea
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$...$$;

-- verdict_record(timestamp with time zone, tenure.caller_identity, tenure.execution_rows, tenure.step_rows, tenure.verdict); Type: FUNCTION
CREATE FUNCTION tenure.verdict_record(p_now timestamp with time zone, p_caller tenure.caller_identity, p_execution tenure.execution_rows, p_step tenure.step_rows, p_verdict tenure.verdict) RETURNS void
    LANGUAGE plpgsql
    AS $$...$$;

-- vote_record(tenure.approvals, tenure.approval_votes); Type: FUNCTION
CREATE FUNCTION tenure.vote_record(p_approval tenure.approvals, p_vote tenure.approval_votes) RETURNS tenure.approvals
    LANGUAGE plpgsql
    AS $$...$$;

-- vote_trouble(tenure.approvals, tenure.approval_votes); Type: FUNCTION
CREATE FUNCTION tenure.vote_trouble(p_approval tenure.approvals, p_vote tenure.approval_votes, OUT trouble text, OUT roles text[]) RETURNS record
    LANGUAGE plpgsql
    AS $$...$$;

-- waiting_take(uuid, integer); Type: FUNCTION
CREATE FUNCTION tenure.waiting_take(p_job_id uuid, p_tenant_id integer) RETURNS tenure.run_end
    LANGUAGE plpgsql
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- window_opens(jsonb, timestamp with time zone); Type: FUNCTION
CREATE FUNCTION tenure.window_opens(p_window jsonb, p_now timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE sql STABLE
    AS $$...$$;

-- windows_open(jsonb, timestamp with time zone); Type: FUNCTION
CREATE FUNCTION tenure.windows_open(p_windows jsonb, p_now timestamp with time zone) RETURNS timestamp with time zone
    LANGUAGE plpgsql STABLE
    AS $$...$$;

-- word_distance(text, text); Type: FUNCTION
CREATE FUNCTION tenure.word_distance(p_a text, p_b text) RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    AS $$...$$;

-- worker_park(text, text[], integer); Type: FUNCTION
CREATE FUNCTION tenure.worker_park(p_executor text DEFAULT NULL::text, p_kinds text[] DEFAULT NULL::text[], p_seconds integer DEFAULT 60) RETURNS integer[]
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO 'pg_catalog', 'pg_temp'
    AS $$...$$;

-- chain_hash(bytea, text); Type: AGGREGATE
CREATE AGGREGATE tenure.chain_hash(bytea, text) (
    SFUNC = tenure.chain_link,
    STYPE = bytea
);

-- actions; Type: TABLE
CREATE TABLE tenure.actions (
    tenant_id integer NOT NULL,
    name text NOT NULL,
    action_class text NOT NULL,
    kinds text[],
    level_min smallint DEFAULT 0 NOT NULL,
    lock_scope text NOT NULL,
    payload_restricted boolean DEFAULT false NOT NULL,
    note text DEFAULT ''::text NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    updated_by text NOT NULL,
    pattern text GENERATED ALWAYS AS (replace(regexp_replace(name, '([%_\\])'::text, '\\\1'::text, 'g'::text), '*'::text, '%'::text)) STORED NOT NULL,
    CONSTRAINT actions_action_class_check CHECK ((action_class = ANY (ARRAY['read'::text, 'modify'::text, 'deploy'::text]))),
    CONSTRAINT actions_kinds_check CHECK ((cardinality(kinds) > 0)),
    CONSTRAINT actions_level_min_check CHECK (((level_min >= 0) AND (level_min <= 3))),
    CONSTRAINT actions_lock_scope_check CHECK ((lock_scope = ANY (ARRAY['none'::text, 'target_and_action'::text, 'target'::text]))),
    CONSTRAINT actions_name_check CHECK (((name ~ '\S'::text) AND (length(name) <= 200))),
    CONSTRAINT actions_updated_by_check CHECK ((updated_by ~ '\S'::text))
);
ALTER TABLE ONLY tenure.actions FORCE ROW LEVEL SECURITY;

-- TABLE actions; Type: COMMENT
COMMENT ON TABLE tenure.actions IS 'Registered actions, by name or glob, with the least class, level and lock of their steps. A plan may raise these, never lower them.';

-- COLUMN actions.kinds; Type: COMMENT
COMMENT ON COLUMN tenure.actions.kinds IS 'Kinds of jobs that may carry the action, with * for anything. Null: only the kind of its own name.';

-- active; Type: TABLE
CREATE TABLE tenure.active (
    job_id uuid NOT NULL,
    token uuid NOT NULL,
    lane integer NOT NULL,
    run integer NOT NULL,
    attempt smallint NOT NULL,
    limited boolean DEFAULT false NOT NULL,
    due timestamp with time zone NOT NULL,
    started_at timestamp with time zone,
    run_until timestamp with time zone,
    hold_until timestamp with time zone,
    cancel_requested_at timestamp with time zone,
    cancel_by text,
    cancel_reason text,
    progress jsonb,
    progress_at timestamp with time zone,
    fence bigint,
    CONSTRAINT active_attempt_check CHECK ((attempt >= 1)),
    CONSTRAINT active_cancel_has_author CHECK (((cancel_requested_at IS NULL) = (cancel_by IS NULL))),
    CONSTRAINT active_hold_until_when_started CHECK (((hold_until IS NULL) OR (started_at IS NOT NULL))),
    CONSTRAINT active_run_until_when_started CHECK (((run_until IS NULL) OR (started_at IS NOT NULL)))
)
WITH (fillfactor='80', vacuum_truncate=off, autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_cost_delay='0');

-- TABLE active; Type: COMMENT
COMMENT ON TABLE tenure.active IS 'Held jobs: leased until started_at is set, then in_progress. A row whose lease has ended is expired.';

-- COLUMN active.limited; Type: COMMENT
COMMENT ON COLUMN tenure.active.limited IS 'Whether it counts against the concurrency_max of its kind.';

-- COLUMN active.fence; Type: COMMENT
COMMENT ON COLUMN tenure.active.fence IS 'The fencing number of this run, where its step has another: a later run of a step that locks its target.';

-- anchor_leaves; Type: TABLE
CREATE TABLE tenure.anchor_leaves (
    number bigint NOT NULL,
    place integer NOT NULL,
    tenant_id integer NOT NULL,
    execution_id uuid NOT NULL,
    chain_length integer NOT NULL,
    chain_hash bytea NOT NULL,
    CONSTRAINT anchor_leaves_chain_hash_check CHECK ((octet_length(chain_hash) = 32)),
    CONSTRAINT anchor_leaves_chain_length_check CHECK ((chain_length > 0)),
    CONSTRAINT anchor_leaves_place_check CHECK ((place >= 0))
);
ALTER TABLE ONLY tenure.anchor_leaves FORCE ROW LEVEL SECURITY;

-- TABLE anchor_leaves; Type: COMMENT
COMMENT ON TABLE tenure.anchor_leaves IS 'The chain heads that a checkpoint covers. Leaves without their checkpoint cannot be committed.';

-- anchor_log; Type: TABLE
CREATE TABLE tenure.anchor_log (
    singleton boolean DEFAULT true NOT NULL,
    installation uuid DEFAULT gen_random_uuid() NOT NULL,
    walked uuid,
    walk_began timestamp with time zone,
    CONSTRAINT anchor_log_singleton_check CHECK (singleton)
);

-- TABLE anchor_log; Type: COMMENT
COMMENT ON TABLE tenure.anchor_log IS 'One row, which the process that makes checkpoints locks: the id under which this installation signs them, and the place of the walk through all executions.';

-- anchor_pending; Type: TABLE
CREATE TABLE tenure.anchor_pending (
    execution_id uuid NOT NULL,
    tenant_id integer NOT NULL,
    seen_at timestamp with time zone NOT NULL
);
ALTER TABLE ONLY tenure.anchor_pending FORCE ROW LEVEL SECURITY;

-- TABLE anchor_pending; Type: COMMENT
COMMENT ON TABLE tenure.anchor_pending IS 'Executions whose chain has grown since the last checkpoint that covers them.';

-- anchor_sinks; Type: TABLE
CREATE TABLE tenure.anchor_sinks (
    sink text NOT NULL,
    number bigint NOT NULL,
    published_at timestamp with time zone,
    tried_at timestamp with time zone NOT NULL,
    error text,
    CONSTRAINT anchor_sinks_error_check CHECK ((length(error) <= 2000)),
    CONSTRAINT anchor_sinks_number_check CHECK ((number >= 0)),
    CONSTRAINT anchor_sinks_sink_check CHECK (((sink ~ '\S'::text) AND (length(sink) <= 1000)))
);

-- TABLE anchor_sinks; Type: COMMENT
COMMENT ON TABLE tenure.anchor_sinks IS 'The last checkpoint that each sink outside the database has, as reported by the server that writes to it.';

-- approval_rules; Type: TABLE
CREATE TABLE tenure.approval_rules (
    tenant_id integer NOT NULL,
    name text NOT NULL,
    "position" integer NOT NULL,
    action_classes text[],
    actions text[],
    kinds text[],
    executors text[],
    target_types text[],
    target_refs text[],
    sla_classes text[],
    requesters text[],
    requester_kinds text[],
    level smallint NOT NULL,
    roles text[] DEFAULT '{}'::text[] NOT NULL,
    quorum smallint DEFAULT 1 NOT NULL,
    expires_seconds integer DEFAULT 86400 NOT NULL,
    start_window jsonb,
    note text DEFAULT ''::text NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    updated_by text NOT NULL,
    CONSTRAINT approval_rules_action_classes_check CHECK ((action_classes <@ ARRAY['read'::text, 'modify'::text, 'deploy'::text])),
    CONSTRAINT approval_rules_expires_seconds_check CHECK (((expires_seconds >= 60) AND (expires_seconds <= 2592000))),
    CONSTRAINT approval_rules_level_check CHECK (((level >= 0) AND (level <= 3))),
    CONSTRAINT approval_rules_name_check CHECK (((name ~ '\S'::text) AND (length(name) <= 200))),
    CONSTRAINT approval_rules_quorum_check CHECK (((quorum >= 1) AND (quorum <= 10))),
    CONSTRAINT approval_rules_requester_kinds_check CHECK ((requester_kinds <@ ARRAY['human'::text, 'agent'::text, 'service'::text])),
    CONSTRAINT approval_rules_sla_classes_check CHECK ((sla_classes <@ ARRAY['fast'::text, 'medium'::text, 'long'::text])),
    CONSTRAINT approval_rules_updated_by_check CHECK ((updated_by ~ '\S'::text))
);
ALTER TABLE ONLY tenure.approval_rules FORCE ROW LEVEL SECURITY;

-- TABLE approval_rules; Type: COMMENT
COMMENT ON TABLE tenure.approval_rules IS 'The first rule that matches a step decides about it; the strictest of all steps decides about the plan.';

-- attempts_p0; Type: TABLE
CREATE TABLE tenure.attempts_p0 (
    job_id uuid NOT NULL,
    run integer NOT NULL,
    tenant_id integer NOT NULL,
    lane integer NOT NULL,
    attempt smallint NOT NULL,
    outcome text NOT NULL,
    state text NOT NULL,
    final boolean NOT NULL,
    token uuid,
    owner text,
    holder text,
    leased_at timestamp with time zone,
    started_at timestamp with time zone,
    ended_at timestamp with time zone NOT NULL,
    next_due timestamp with time zone,
    actor text NOT NULL,
    reason text,
    error_code text,
    error_class text,
    error_message text,
    result jsonb,
    result_ref text,
    CONSTRAINT attempts_final_state CHECK (((final = (state = ANY (ARRAY['succeeded'::text, 'failed'::text, 'cancelled'::text, 'dead_letter'::text]))) OR ((state = 'failed'::text) AND (NOT final)))),
    CONSTRAINT attempts_goes_on_when_due CHECK ((final OR (next_due IS NOT NULL)))
)
WITH (autovacuum_vacuum_insert_scale_factor='0.5');

-- config; Type: TABLE
CREATE TABLE tenure.config (
    tenant_id integer NOT NULL,
    key text NOT NULL,
    value jsonb NOT NULL,
    updated_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    updated_by text NOT NULL,
    CONSTRAINT config_updated_by_check CHECK ((updated_by ~ '\S'::text))
);
ALTER TABLE ONLY tenure.config FORCE ROW LEVEL SECURITY;

-- TABLE config; Type: COMMENT
COMMENT ON TABLE tenure.config IS 'Values that were set, for one tenant or (tenant 0) for all. Every other key has its default.';

-- config_keys; Type: TABLE
CREATE TABLE tenure.config_keys (
    key text NOT NULL,
    value_type text NOT NULL,
    default_value jsonb NOT NULL,
    value_min bigint,
    value_max bigint,
    is_gate boolean DEFAULT false NOT NULL,
    description text NOT NULL,
    CONSTRAINT config_keys_boolean CHECK (((value_type <> 'boolean'::text) OR (jsonb_typeof(default_value) = 'boolean'::text))),
    CONSTRAINT config_keys_gate CHECK ((is_gate = ((value_type = 'boolean'::text) AND (key ~~ '%.enabled'::text)))),
    CONSTRAINT config_keys_integer CHECK (((value_type <> 'integer'::text) OR ((jsonb_typeof(default_value) = 'number'::text) AND (value_min IS NOT NULL) AND (value_max IS NOT NULL)))),
    CONSTRAINT config_keys_key_check CHECK ((key ~ '^[a-z0-9_.]+$'::text)),
    CONSTRAINT config_keys_text CHECK (((value_type <> 'text'::text) OR (jsonb_typeof(default_value) = 'string'::text))),
    CONSTRAINT config_keys_value_type_check CHECK ((value_type = ANY (ARRAY['boolean'::text, 'integer'::text, 'text'::text])))
);

-- TABLE config_keys; Type: COMMENT
COMMENT ON TABLE tenure.config_keys IS 'Every configuration key with its type, default and bounds. tenure.config holds only values that were set.';

-- dead_letter_summary; Type: VIEW
CREATE VIEW tenure.dead_letter_summary WITH (security_invoker='true') AS
 SELECT d.tenant_id,
    d.kind AS job_kind,
    d.triage_status,
    count(*) AS row_count,
    min(d.moved_at) AS oldest_moved_at,
    max(d.moved_at) AS newest_moved_at,
    count(DISTINCT d.fingerprint) AS fingerprints
   FROM tenure.dead_letters d
  GROUP BY d.tenant_id, d.kind, d.triage_status;

-- VIEW dead_letter_summary; Type: COMMENT
COMMENT ON VIEW tenure.dead_letter_summary IS 'Dead letters per kind and triage status.';

-- dead_letters_open; Type: VIEW
CREATE VIEW tenure.dead_letters_open WITH (security_invoker='true') AS
 SELECT d.dead_letter_id,
    d.tenant_id,
    d.job_id,
    d.kind AS job_kind,
    d.executor,
    d.attempts,
    d.error_code,
    d.error_class,
    d.final_error,
    d.fingerprint,
    d.moved_at,
    d.moved_by,
    d.triage_status,
    d.triage_note,
    d.triaged_at,
    d.triaged_by
   FROM tenure.dead_letters d
  WHERE (d.triage_status <> 'closed'::text);

-- VIEW dead_letters_open; Type: COMMENT
COMMENT ON VIEW tenure.dead_letters_open IS 'Dead letters that somebody still has to decide about.';

-- delayed; Type: TABLE
CREATE TABLE tenure.delayed (
    lane integer NOT NULL,
    tenant_id integer NOT NULL,
    due timestamp with time zone NOT NULL,
    job_id uuid NOT NULL,
    rank smallint NOT NULL,
    state text NOT NULL,
    run integer NOT NULL,
    attempts smallint NOT NULL,
    deadline timestamp with time zone,
    CONSTRAINT delayed_state_check CHECK ((state = ANY (ARRAY['queued'::text, 'retry_waiting'::text])))
)
WITH (vacuum_truncate=off, autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_cost_delay='0');

-- TABLE delayed; Type: COMMENT
COMMENT ON TABLE tenure.delayed IS 'Jobs that are not due yet: scheduled, snoozed or waiting for a retry. A claim moves what is due to ready.';

-- deliveries; Type: TABLE
CREATE TABLE tenure.deliveries (
    place bigint NOT NULL,
    delivery_id uuid NOT NULL,
    subscription_id integer NOT NULL,
    tenant_id integer NOT NULL,
    subject text NOT NULL,
    event_kind text NOT NULL,
    event_cursor text NOT NULL,
    body text NOT NULL,
    state text DEFAULT 'waiting'::text NOT NULL,
    attempts smallint DEFAULT 0 NOT NULL,
    due timestamp with time zone,
    leased_until timestamp with time zone,
    status integer,
    error text,
    created_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone,
    CONSTRAINT deliveries_state_check CHECK ((state = ANY (ARRAY['waiting'::text, 'delivered'::text, 'dead'::text])))
)
WITH (autovacuum_vacuum_scale_factor='0.05');
ALTER TABLE ONLY tenure.deliveries FORCE ROW LEVEL SECURITY;

-- TABLE deliveries; Type: COMMENT
COMMENT ON TABLE tenure.deliveries IS 'Events on their way to a webhook: at least once, in stream order for each subject, retried with growing delays, dead after the last.';

-- COLUMN deliveries.due; Type: COMMENT
COMMENT ON COLUMN tenure.deliveries.due IS 'Null: an earlier event of the same subject is delivered first.';

-- deliveries_place_seq; Type: SEQUENCE
ALTER TABLE tenure.deliveries ALTER COLUMN place ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tenure.deliveries_place_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

-- event_domains; Type: TABLE
CREATE TABLE tenure.event_domains (
    domain text NOT NULL,
    description text NOT NULL,
    CONSTRAINT event_domains_domain_check CHECK ((domain ~ '^[a-z_]+$'::text))
);

-- TABLE event_domains; Type: COMMENT
COMMENT ON TABLE tenure.event_domains IS 'The subject area of an event or a job, in one word.';

-- event_seq; Type: SEQUENCE
CREATE SEQUENCE tenure.event_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 16;

-- events; Type: TABLE
CREATE TABLE tenure.events (
    seq bigint DEFAULT nextval('tenure.event_seq'::regclass) NOT NULL,
    epoch integer DEFAULT tenure.current_epoch() NOT NULL,
    txid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    at timestamp with time zone NOT NULL,
    tenant_id integer NOT NULL,
    lane integer,
    kind text NOT NULL,
    actor text NOT NULL,
    on_behalf_of text,
    subject text,
    job_ids uuid[],
    runs integer[],
    data jsonb DEFAULT '{}'::jsonb NOT NULL,
    job_count integer,
    via text DEFAULT 
CASE
    WHEN ((COALESCE(current_setting('tenure.key'::text, true), ''::text) <> ''::text) AND pg_has_role(SESSION_USER, 'tenure_server'::name, 'member'::text)) THEN NULLIF(current_setting('tenure.via'::text, true), ''::text)
    ELSE NULL::text
END,
    entries tenure.event_entry[],
    entry_count integer
)
PARTITION BY RANGE (at);
ALTER TABLE ONLY tenure.events ALTER COLUMN job_ids SET STORAGE EXTERNAL;
ALTER TABLE ONLY tenure.events ALTER COLUMN entries SET STORAGE EXTERNAL;

-- TABLE events; Type: COMMENT
COMMENT ON TABLE tenure.events IS 'The log of transitions, at most 1000 jobs or 100 entries of chains a row. Readers use tenure.event_list(), or tenure.event_stream, in which each entry is a row.';

-- COLUMN events.job_count; Type: COMMENT
COMMENT ON COLUMN tenure.events.job_count IS 'The number of jobs. Null: count job_ids.';

-- COLUMN events.via; Type: COMMENT
COMMENT ON COLUMN tenure.events.via IS 'The request that caused it: method, path and address. Null for calls that did not come over HTTP.';

-- COLUMN events.entries; Type: COMMENT
COMMENT ON COLUMN tenure.events.entries IS 'The entries of chains that this row stands for, at most 100, each an event of its own for readers: see tenure.event_entries(). The kind of the row is then "entries", and its seq that of the last. Null: the row is one event.';

-- COLUMN events.entry_count; Type: COMMENT
COMMENT ON COLUMN tenure.events.entry_count IS 'The number of entries, so that they are counted without being read. Null: the row is one event.';

-- lanes; Type: TABLE
CREATE TABLE tenure.lanes (
    lane integer NOT NULL,
    tenant_id integer NOT NULL,
    kind text NOT NULL,
    executor text NOT NULL,
    stepped boolean DEFAULT false NOT NULL,
    twin integer DEFAULT 0 NOT NULL,
    parked_until timestamp with time zone,
    timed boolean DEFAULT false NOT NULL,
    planned boolean DEFAULT false NOT NULL,
    CONSTRAINT lanes_kind_check CHECK (((kind ~ '\S'::text) AND (length(kind) <= 200) AND (kind !~ '[[:cntrl:]]'::text))),
    CONSTRAINT lanes_twin_check CHECK ((twin >= 0))
)
WITH (fillfactor='70');

-- TABLE lanes; Type: COMMENT
COMMENT ON TABLE tenure.lanes IS 'The queue of a tenant, kind and executor: one for plain jobs, one for the jobs of steps.';

-- COLUMN lanes.stepped; Type: COMMENT
COMMENT ON COLUMN tenure.lanes.stepped IS 'Whether it is the lane of steps: a claim and an end do more with each of them than with a plain job.';

-- COLUMN lanes.twin; Type: COMMENT
COMMENT ON COLUMN tenure.lanes.twin IS '0, or the number of the lane: made by a transaction that could not see another lane of the same key.';

-- COLUMN lanes.parked_until; Type: COMMENT
COMMENT ON COLUMN tenure.lanes.parked_until IS 'An idle worker listens for jobs of this lane until then.';

-- COLUMN lanes.timed; Type: COMMENT
COMMENT ON COLUMN tenure.lanes.timed IS 'Whether a job with a run timeout or a limit on renewals was ever enqueued here. A claim reads them only then.';

-- COLUMN lanes.planned; Type: COMMENT
COMMENT ON COLUMN tenure.lanes.planned IS 'Whether the job of a slot was ever enqueued here. The end of a job looks for its slot only then.';

-- event_stream; Type: VIEW
CREATE VIEW tenure.event_stream WITH (security_invoker='true') AS
 SELECT x.tenant_id,
    x.epoch,
    x.txid,
    x.seq,
    x.at,
    x.kind,
    x.actor,
    x.on_behalf_of,
    x.subject,
    n.kind AS job_kind,
    n.executor,
    x.job_ids,
    x.runs,
    x.data,
    x.via
   FROM (( SELECT e.tenant_id,
            e.epoch,
            e.txid,
            e.seq,
            e.at,
            e.lane,
            e.kind,
            e.actor,
            e.on_behalf_of,
            e.subject,
            e.job_ids,
            e.runs,
            e.data,
            e.via
           FROM tenure.events e
          WHERE (e.entries IS NULL)
        UNION ALL
         SELECT e.tenant_id,
            e.epoch,
            e.txid,
            l.seq,
            e.at,
            e.lane,
            l.kind,
            e.actor,
            e.on_behalf_of,
            (l.subject)::text AS subject,
            e.job_ids,
            e.runs,
            (l.data ||
                CASE
                    WHEN (l.step_id IS NULL) THEN jsonb_build_object('seq', l.chain_seq)
                    ELSE jsonb_build_object('seq', l.chain_seq, 'step', l.step_id)
                END),
            e.via
           FROM (tenure.events e
             CROSS JOIN LATERAL unnest(e.entries) l(seq, kind, subject, chain_seq, step_id, data))
          WHERE (e.entries IS NOT NULL)) x
     LEFT JOIN tenure.lanes n ON ((n.lane = x.lane)));

-- VIEW event_stream; Type: COMMENT
COMMENT ON VIEW tenure.event_stream IS 'Every event as a row. Shows events that an open transaction may still precede: to follow the stream use tenure.event_list(), which also finds the events of an execution by index.';

-- events_p0; Type: TABLE
CREATE TABLE tenure.events_p0 (
    seq bigint DEFAULT nextval('tenure.event_seq'::regclass) NOT NULL,
    epoch integer DEFAULT tenure.current_epoch() NOT NULL,
    txid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    at timestamp with time zone NOT NULL,
    tenant_id integer NOT NULL,
    lane integer,
    kind text NOT NULL,
    actor text NOT NULL,
    on_behalf_of text,
    subject text,
    job_ids uuid[],
    runs integer[],
    data jsonb DEFAULT '{}'::jsonb NOT NULL,
    job_count integer,
    via text DEFAULT 
CASE
    WHEN ((COALESCE(current_setting('tenure.key'::text, true), ''::text) <> ''::text) AND pg_has_role(SESSION_USER, 'tenure_server'::name, 'member'::text)) THEN NULLIF(current_setting('tenure.via'::text, true), ''::text)
    ELSE NULL::text
END,
    entries tenure.event_entry[],
    entry_count integer
)
WITH (autovacuum_vacuum_insert_scale_factor='0.5');
ALTER TABLE ONLY tenure.events_p0 ALTER COLUMN job_ids SET STORAGE EXTERNAL;
ALTER TABLE ONLY tenure.events_p0 ALTER COLUMN entries SET STORAGE EXTERNAL;

-- execution_archive_terms; Type: TABLE
CREATE TABLE tenure.execution_archive_terms (
    tenant_id integer NOT NULL,
    term text NOT NULL,
    value text NOT NULL,
    ended_at timestamp with time zone NOT NULL,
    execution_id uuid NOT NULL,
    CONSTRAINT execution_archive_terms_term_check CHECK ((term = ANY (ARRAY['target'::text, 'requester'::text, 'correlation'::text])))
);
ALTER TABLE ONLY tenure.execution_archive_terms FORCE ROW LEVEL SECURITY;

-- TABLE execution_archive_terms; Type: COMMENT
COMMENT ON TABLE tenure.execution_archive_terms IS 'What archived executions are searched by: their targets, requesters and correlation id.';

-- execution_archives; Type: TABLE
CREATE TABLE tenure.execution_archives (
    execution_id uuid NOT NULL,
    tenant_id integer NOT NULL,
    purpose text NOT NULL,
    plan_hash text NOT NULL,
    state text NOT NULL,
    requested_by text NOT NULL,
    requesters text[] DEFAULT '{}'::text[] NOT NULL,
    correlation_id text,
    targets text[] DEFAULT '{}'::text[] NOT NULL,
    created_at timestamp with time zone NOT NULL,
    ended_at timestamp with time zone NOT NULL,
    archived_at timestamp with time zone NOT NULL,
    evidence text NOT NULL,
    proof jsonb,
    event_times timestamp with time zone[] DEFAULT '{}'::timestamp with time zone[] NOT NULL
);
ALTER TABLE ONLY tenure.execution_archives FORCE ROW LEVEL SECURITY;

-- TABLE execution_archives; Type: COMMENT
COMMENT ON TABLE tenure.execution_archives IS 'The signed evidence of executions whose rows were removed.';

-- COLUMN execution_archives.requesters; Type: COMMENT
COMMENT ON COLUMN tenure.execution_archives.requesters IS 'The requester, the principal it acted for, and those of the executions that it retried.';

-- COLUMN execution_archives.targets; Type: COMMENT
COMMENT ON COLUMN tenure.execution_archives.targets IS 'The targets of its steps, type:ref as in the key of a lock, and type:ref:action for each action at them.';

-- COLUMN execution_archives.proof; Type: COMMENT
COMMENT ON COLUMN tenure.execution_archives.proof IS 'The proof that a checkpoint covers its last chain head, if one did when it was archived.';

-- execution_dead_letters; Type: TABLE
CREATE TABLE tenure.execution_dead_letters (
    execution_id uuid NOT NULL,
    tenant_id integer NOT NULL,
    purpose text NOT NULL,
    plan text NOT NULL,
    plan_hash text NOT NULL,
    plan_restricted boolean DEFAULT false NOT NULL,
    context jsonb NOT NULL,
    attempt_count integer NOT NULL,
    last_error text NOT NULL,
    failed_at timestamp with time zone NOT NULL,
    triage_status text DEFAULT 'pending'::text NOT NULL,
    triage_note text,
    triaged_at timestamp with time zone,
    triaged_by text,
    retried_as uuid,
    CONSTRAINT execution_dead_letters_attempt_count_check CHECK ((attempt_count >= 0)),
    CONSTRAINT execution_dead_letters_context_check CHECK ((jsonb_typeof(context) = 'object'::text)),
    CONSTRAINT execution_dead_letters_last_error_check CHECK ((last_error ~ '\S'::text)),
    CONSTRAINT execution_dead_letters_triage_has_author CHECK (((triaged_at IS NULL) = (triaged_by IS NULL))),
    CONSTRAINT execution_dead_letters_triage_status_check CHECK ((triage_status = ANY (ARRAY['pending'::text, 'acknowledged'::text, 'manual_replay'::text, 'escalated'::text, 'closed'::text])))
);
ALTER TABLE ONLY tenure.execution_dead_letters FORCE ROW LEVEL SECURITY;

-- TABLE execution_dead_letters; Type: COMMENT
COMMENT ON TABLE tenure.execution_dead_letters IS 'Executions that failed, with everything that a retry by hand needs. They outlive their execution.';

-- COLUMN execution_dead_letters.plan_restricted; Type: COMMENT
COMMENT ON COLUMN tenure.execution_dead_letters.plan_restricted IS 'Whether a payload in the plan is restricted; only callers who may see restricted payloads then see the plan.';

-- execution_events; Type: TABLE
CREATE TABLE tenure.execution_events (
    execution_id uuid NOT NULL,
    seq integer NOT NULL,
    tenant_id integer NOT NULL,
    at timestamp with time zone NOT NULL,
    kind text NOT NULL,
    step_number integer,
    body text NOT NULL,
    hash bytea NOT NULL,
    CONSTRAINT execution_events_line CHECK (((seq > 0) AND (kind ~ '^[a-z_]+$'::text) AND (octet_length(hash) = 32)))
);

-- TABLE execution_events; Type: COMMENT
COMMENT ON TABLE tenure.execution_events IS 'The events of an execution. The hash of each covers the hash of the one before and its own body. They are kept as long as the execution, then in its evidence.';

-- executors; Type: TABLE
CREATE TABLE tenure.executors (
    name text NOT NULL,
    role text NOT NULL,
    nature text DEFAULT 'program'::text NOT NULL,
    note text DEFAULT ''::text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT executors_name_check CHECK (((name ~ '\S'::text) AND (length(name) <= 200))),
    CONSTRAINT executors_nature_check CHECK ((nature = ANY (ARRAY['program'::text, 'agent'::text]))),
    CONSTRAINT executors_role_check CHECK ((role = ANY (ARRAY['executor'::text, 'generator'::text])))
);

-- TABLE executors; Type: COMMENT
COMMENT ON TABLE tenure.executors IS 'The list of allowed executors. An executor may claim; a generator makes work and can never claim.';

-- COLUMN executors.nature; Type: COMMENT
COMMENT ON COLUMN tenure.executors.nature IS 'Late slots of an agent are not run, unless the kind or the schedule says otherwise.';

-- follow_ups; Type: TABLE
CREATE TABLE tenure.follow_ups (
    task text NOT NULL,
    subject text NOT NULL COLLATE pg_catalog."C",
    tenant_id integer NOT NULL,
    due_at timestamp with time zone NOT NULL,
    reason text,
    detail jsonb,
    CONSTRAINT follow_ups_task_check CHECK ((task = ANY (ARRAY['step_end'::text, 'step_start'::text, 'lock_grant'::text, 'slot_next'::text])))
);

-- TABLE follow_ups; Type: COMMENT
COMMENT ON TABLE tenure.follow_ups IS 'Work left for the next tick, done at least once. step_end: the end of a step''s job. step_start: starts of a step''s run that its chain lacks. lock_grant: a target whose queue may go on. slot_next: a run of a schedule has ended that another slot may wait for.';

-- COLUMN follow_ups.subject; Type: COMMENT
COMMENT ON COLUMN tenure.follow_ups.subject IS 'The id of the job (of a start: with "/" and the number of the run), the target, or the id of the slot.';

-- COLUMN follow_ups.reason; Type: COMMENT
COMMENT ON COLUMN tenure.follow_ups.reason IS 'Why the last try failed. Null: it has not been tried.';

-- freezes; Type: TABLE
CREATE TABLE tenure.freezes (
    freeze_id integer NOT NULL,
    tenant_id integer NOT NULL,
    reason text NOT NULL,
    frozen_at timestamp with time zone NOT NULL,
    frozen_by text NOT NULL,
    until timestamp with time zone,
    ended_at timestamp with time zone,
    ended_by text,
    end_reason text,
    CONSTRAINT freezes_end_later CHECK ((ended_at >= frozen_at)),
    CONSTRAINT freezes_frozen_by_check CHECK ((frozen_by ~ '\S'::text)),
    CONSTRAINT freezes_reason_check CHECK ((reason ~ '\S'::text)),
    CONSTRAINT freezes_until_later CHECK ((until > frozen_at))
);
ALTER TABLE ONLY tenure.freezes FORCE ROW LEVEL SECURITY;

-- TABLE freezes; Type: COMMENT
COMMENT ON TABLE tenure.freezes IS 'While a freeze is in force, no approved execution of the tenant starts.';

-- freezes_freeze_id_seq; Type: SEQUENCE
ALTER TABLE tenure.freezes ALTER COLUMN freeze_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tenure.freezes_freeze_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

-- heartbeats; Type: TABLE
CREATE TABLE tenure.heartbeats (
    tenant_id integer NOT NULL,
    executor_name text NOT NULL,
    executor_kind text NOT NULL,
    instance uuid,
    last_tick_at timestamp with time zone NOT NULL,
    last_tick_status text DEFAULT 'ok'::text NOT NULL,
    ticks_total bigint DEFAULT 0 NOT NULL,
    current_job_id uuid,
    lease_owner text,
    metadata jsonb DEFAULT '{}'::jsonb NOT NULL,
    created_at timestamp with time zone NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    CONSTRAINT heartbeats_executor_name_check CHECK (((executor_name ~ '\S'::text) AND (length(executor_name) <= 200))),
    CONSTRAINT heartbeats_last_tick_status_check CHECK ((last_tick_status = ANY (ARRAY['ok'::text, 'warn'::text, 'error'::text]))),
    CONSTRAINT heartbeats_ticks_total_check CHECK ((ticks_total >= 0))
);
ALTER TABLE ONLY tenure.heartbeats FORCE ROW LEVEL SECURITY;

-- TABLE heartbeats; Type: COMMENT
COMMENT ON TABLE tenure.heartbeats IS 'One row per tenant and executor instance, with the time of its last sign of life.';

-- idempotency; Type: TABLE
CREATE TABLE tenure.idempotency (
    key_hash uuid NOT NULL,
    job_id uuid NOT NULL
);

-- TABLE idempotency; Type: COMMENT
COMMENT ON TABLE tenure.idempotency IS 'Hash of (tenant, kind, key), and the job that has the key. A later job takes the row over once that job ended.';

-- installation; Type: TABLE
CREATE TABLE tenure.installation (
    singleton boolean DEFAULT true NOT NULL,
    epoch integer DEFAULT 1 NOT NULL,
    lineage text,
    txid xid8,
    functions_hash text,
    migrated_at timestamp with time zone,
    CONSTRAINT installation_epoch_check CHECK ((epoch >= 1)),
    CONSTRAINT installation_singleton_check CHECK (singleton)
);

-- TABLE installation; Type: COMMENT
COMMENT ON TABLE tenure.installation IS 'One row: the epoch of the event stream, and the hash of the functions and views in force.';

-- COLUMN installation.lineage; Type: COMMENT
COMMENT ON COLUMN tenure.installation.lineage IS 'System identifier, timeline and database, as tenure.lineage() computes them. A restored copy differs.';

-- COLUMN installation.txid; Type: COMMENT
COMMENT ON COLUMN tenure.installation.txid IS 'The last transaction id that was seen here. A restored server may be behind it.';

-- ready; Type: TABLE
CREATE TABLE tenure.ready (
    lane integer NOT NULL,
    rank smallint NOT NULL,
    due timestamp with time zone NOT NULL,
    job_id uuid NOT NULL,
    state text NOT NULL,
    run integer NOT NULL,
    attempts smallint NOT NULL,
    deadline timestamp with time zone,
    CONSTRAINT ready_state_check CHECK ((state = ANY (ARRAY['queued'::text, 'retry_waiting'::text])))
)
WITH (vacuum_truncate=off, autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_cost_delay='0');

-- TABLE ready; Type: COMMENT
COMMENT ON TABLE tenure.ready IS 'Jobs that can be claimed now, in claim order: lane, rank (minus priority), due, job.';

-- job_queue; Type: VIEW
CREATE VIEW tenure.job_queue WITH (security_invoker='true') AS
 WITH waiting AS NOT MATERIALIZED (
         SELECT r.job_id,
            r.state,
            r.due,
            r.attempts,
            r.run
           FROM tenure.ready r
        UNION ALL
         SELECT d.job_id,
            d.state,
            d.due,
            d.attempts,
            d.run
           FROM tenure.delayed d
        )
 SELECT j.tenant_id,
    j.job_id,
    j.kind AS job_kind,
    j.event_domain,
    p.state,
    j.source_ref,
    j.target_ref,
    j.payload_ref,
    tenure.job_payload(j.job_id) AS payload_json,
    j.payload_classification,
    j.executor,
    j.priority,
    p.scheduled_at,
    j.deadline_at,
    p.picked_at,
    p.started_at,
    p.finished_at,
    p.lease_owner,
    p.lease_until,
    p.attempts,
    j.attempts_max AS max_attempts,
    COALESCE(j.idempotency_key, (j.job_id)::text) AS idempotency_key,
    j.affinity_key,
    j.enqueued_by AS actor,
    j.on_behalf_of,
    j.source_system,
    j.run_id,
    j.correlation_id,
    j.causation_event AS causation_event_id,
    j.parent_job_id,
    j.workflow_id,
    j.replay_of,
    p.result_ref,
    ( SELECT COALESCE(e.error_message, e.error_code) AS "coalesce"
           FROM tenure.attempts e
          WHERE ((e.job_id = j.job_id) AND ((e.error_code IS NOT NULL) OR (e.error_message IS NOT NULL)))
          ORDER BY e.run DESC
         LIMIT 1) AS last_error,
    ( SELECT e.ended_at
           FROM tenure.attempts e
          WHERE ((e.job_id = j.job_id) AND ((e.error_code IS NOT NULL) OR (e.error_message IS NOT NULL)))
          ORDER BY e.run DESC
         LIMIT 1) AS last_error_at,
    j.created_at,
    COALESCE(p.updated_at, j.created_at) AS updated_at,
    ((j.origin -> 'step'::text) || jsonb_strip_nulls(jsonb_build_object('target_ref', j.target_ref))) AS step,
    (j.origin -> 'slot'::text) AS slot
   FROM (( SELECT w.job_id,
            w.state,
            w.due AS scheduled_at,
            NULL::timestamp with time zone AS picked_at,
            NULL::timestamp with time zone AS started_at,
            NULL::timestamp with time zone AS finished_at,
            NULL::text AS lease_owner,
            NULL::timestamp with time zone AS lease_until,
            (w.attempts)::integer AS attempts,
            NULL::text AS result_ref,
            ( SELECT max(a.ended_at) AS max
                   FROM tenure.attempts a
                  WHERE (a.job_id = w.job_id)) AS updated_at
           FROM waiting w
        UNION ALL
         SELECT a.job_id,
            'leased'::text,
            a.due,
            l.leased_at,
            NULL::timestamp with time zone,
            NULL::timestamp with time zone,
            l.owner,
            l.until,
            (a.attempt)::integer AS attempt,
            NULL::text,
            l.leased_at
           FROM (tenure.active a
             LEFT JOIN LATERAL tenure.job_lease(a.job_id) l(owner, leased_at, until) ON (true))
          WHERE (a.started_at IS NULL)
        UNION ALL
         SELECT a.job_id,
            'in_progress'::text,
            a.due,
            l.leased_at,
            a.started_at,
            NULL::timestamp with time zone,
            l.owner,
            l.until,
            (a.attempt)::integer AS attempt,
            NULL::text,
            COALESCE(a.progress_at, a.started_at) AS "coalesce"
           FROM (tenure.active a
             LEFT JOIN LATERAL tenure.job_lease(a.job_id) l(owner, leased_at, until) ON (true))
          WHERE (a.started_at IS NOT NULL)
        UNION ALL
         SELECT a.job_id,
            'succeeded'::text,
            a.ended_at,
            a.leased_at,
            a.started_at,
            a.ended_at,
            NULL::text,
            NULL::timestamp with time zone,
            (a.attempt)::integer AS attempt,
            a.result_ref,
            a.ended_at
           FROM tenure.attempts a
          WHERE (a.final AND (a.state = 'succeeded'::text) AND (NOT (EXISTS ( SELECT
                   FROM tenure.jobs c
                  WHERE ((c.job_id = a.job_id) AND (c.cleaned_at IS NOT NULL))))))
        UNION ALL
         SELECT a.job_id,
            'failed'::text,
            a.ended_at,
            a.leased_at,
            a.started_at,
            a.ended_at,
            NULL::text,
            NULL::timestamp with time zone,
            (a.attempt - (((a.outcome = 'released'::text) OR ((a.outcome = 'expired'::text) AND (a.started_at IS NULL))))::integer),
            a.result_ref,
            a.ended_at
           FROM tenure.attempts a
          WHERE (a.final AND (a.state = 'failed'::text) AND (NOT (EXISTS ( SELECT
                   FROM tenure.jobs c
                  WHERE ((c.job_id = a.job_id) AND (c.cleaned_at IS NOT NULL))))))
        UNION ALL
         SELECT a.job_id,
            'cancelled'::text,
            a.ended_at,
            a.leased_at,
            a.started_at,
            a.ended_at,
            NULL::text,
            NULL::timestamp with time zone,
            (a.attempt - (((a.outcome = 'released'::text) OR ((a.outcome = 'expired'::text) AND (a.started_at IS NULL))))::integer),
            a.result_ref,
            a.ended_at
           FROM tenure.attempts a
          WHERE (a.final AND (a.state = 'cancelled'::text) AND (NOT (EXISTS ( SELECT
                   FROM tenure.jobs c
                  WHERE ((c.job_id = a.job_id) AND (c.cleaned_at IS NOT NULL))))))
        UNION ALL
         SELECT a.job_id,
            'dead_letter'::text,
            a.ended_at,
            a.leased_at,
            a.started_at,
            a.ended_at,
            NULL::text,
            NULL::timestamp with time zone,
            (a.attempt - (((a.outcome = 'released'::text) OR ((a.outcome = 'expired'::text) AND (a.started_at IS NULL))))::integer),
            a.result_ref,
            a.ended_at
           FROM tenure.attempts a
          WHERE (a.final AND (a.state = 'dead_letter'::text) AND (NOT (EXISTS ( SELECT
                   FROM tenure.jobs c
                  WHERE ((c.job_id = a.job_id) AND (c.cleaned_at IS NOT NULL))))))
        UNION ALL
         SELECT c.job_id,
            'cleaned'::text,
            a.ended_at,
            a.leased_at,
            a.started_at,
            a.ended_at,
            NULL::text,
            NULL::timestamp with time zone,
            (a.attempt - (((a.outcome = 'released'::text) OR ((a.outcome = 'expired'::text) AND (a.started_at IS NULL))))::integer),
            NULL::text,
            c.cleaned_at
           FROM (tenure.jobs c
             JOIN tenure.attempts a ON (((a.job_id = c.job_id) AND a.final)))
          WHERE (c.cleaned_at IS NOT NULL)) p
     JOIN tenure.jobs j ON ((j.job_id = p.job_id)));

-- VIEW job_queue; Type: COMMENT
COMMENT ON VIEW tenure.job_queue IS 'All jobs as one table with the nine states. The lease token is not shown: it is the proof of holding.';

-- job_backlog; Type: VIEW
CREATE VIEW tenure.job_backlog WITH (security_invoker='true') AS
 SELECT q.tenant_id,
    q.job_kind,
    q.state,
    count(*) AS row_count,
    min(q.created_at) AS oldest_created_at,
    max(q.created_at) AS newest_created_at,
    min(q.scheduled_at) AS next_scheduled_at,
    (avg(q.attempts))::numeric(10,2) AS attempts_avg,
    max(q.attempts) AS attempts_max
   FROM tenure.job_queue q
  GROUP BY q.tenant_id, q.job_kind, q.state;

-- VIEW job_backlog; Type: COMMENT
COMMENT ON VIEW tenure.job_backlog IS 'How many jobs of each kind are in each state. Filter by state to keep it cheap: terminal states count history.';

-- job_in_progress; Type: VIEW
CREATE VIEW tenure.job_in_progress WITH (security_invoker='true') AS
 SELECT n.tenant_id,
    n.kind AS job_kind,
    n.executor,
    count(*) FILTER (WHERE (a.started_at IS NULL)) AS leased,
    count(*) FILTER (WHERE (a.started_at IS NOT NULL)) AS in_progress,
    min(a.started_at) AS oldest_started_at
   FROM (tenure.active a
     JOIN tenure.lanes n ON ((n.lane = a.lane)))
  GROUP BY n.tenant_id, n.kind, n.executor;

-- VIEW job_in_progress; Type: COMMENT
COMMENT ON VIEW tenure.job_in_progress IS 'Held jobs per kind and executor.';

-- jobs_p0; Type: TABLE
CREATE TABLE tenure.jobs_p0 (
    job_id uuid NOT NULL,
    tenant_id integer NOT NULL,
    lane integer NOT NULL,
    kind text NOT NULL,
    executor text NOT NULL,
    event_domain text NOT NULL,
    priority smallint NOT NULL,
    due timestamp with time zone NOT NULL,
    deadline_at timestamp with time zone,
    attempts_max smallint NOT NULL,
    backoff_base_seconds integer NOT NULL,
    backoff_jitter_percent smallint NOT NULL,
    lease_seconds integer,
    run_timeout_seconds integer,
    renewals_max integer,
    on_exhausted text NOT NULL,
    on_lost text,
    payload_classification text NOT NULL,
    payload json NOT NULL,
    source_ref text,
    target_ref text,
    payload_ref text,
    idempotency_key text,
    affinity_key text,
    correlation_id text,
    causation_event bigint,
    parent_job_id uuid,
    workflow_id uuid,
    run_id uuid,
    replay_of uuid,
    origin jsonb,
    traceparent text DEFAULT tenure.traceparent(),
    source_system text NOT NULL,
    enqueued_by text NOT NULL,
    on_behalf_of text,
    created_at timestamp with time zone NOT NULL,
    cleaned_at timestamp with time zone
);

-- keys; Type: TABLE
CREATE TABLE tenure.keys (
    key_id uuid NOT NULL,
    tenant_id integer NOT NULL,
    principal_id integer NOT NULL,
    prefix text NOT NULL,
    hash bytea NOT NULL,
    roles text[] NOT NULL,
    approver_level smallint,
    executors text[],
    kinds text[],
    payload_access text DEFAULT 'safe'::text NOT NULL,
    note text DEFAULT ''::text NOT NULL,
    makers text[] DEFAULT '{}'::text[] NOT NULL,
    created_at timestamp with time zone NOT NULL,
    created_by text NOT NULL,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone,
    revoked_by text,
    last_used_at timestamp with time zone,
    CONSTRAINT keys_approver_has_level CHECK (((approver_level IS NOT NULL) = ('approver'::text = ANY (roles)))),
    CONSTRAINT keys_approver_level_check CHECK (((approver_level >= 1) AND (approver_level <= 3))),
    CONSTRAINT keys_created_by_check CHECK ((created_by ~ '\S'::text)),
    CONSTRAINT keys_expires_at_check CHECK (isfinite(expires_at)),
    CONSTRAINT keys_hash_check CHECK ((octet_length(hash) = 32)),
    CONSTRAINT keys_note_check CHECK ((length(note) <= 500)),
    CONSTRAINT keys_payload_access_check CHECK ((payload_access = ANY (ARRAY['safe'::text, 'restricted'::text]))),
    CONSTRAINT keys_prefix_check CHECK ((prefix ~ '^[a-z0-9]{8,32}$'::text)),
    CONSTRAINT keys_revocation_has_author CHECK (((revoked_at IS NULL) = (revoked_by IS NULL))),
    CONSTRAINT keys_roles_check CHECK (((cardinality(roles) > 0) AND (roles <@ ARRAY['viewer'::text, 'requester'::text, 'producer'::text, 'worker'::text, 'operator'::text, 'approver'::text, 'admin'::text])))
);
ALTER TABLE ONLY tenure.keys FORCE ROW LEVEL SECURITY;

-- TABLE keys; Type: COMMENT
COMMENT ON TABLE tenure.keys IS 'API keys. The secret is not stored: only its keyed hash, and a prefix to recognise it by.';

-- COLUMN keys.makers; Type: COMMENT
COMMENT ON COLUMN tenure.keys.makers IS 'Who made it, and the makers of the key or login they used. It cannot decide about their plans.';

-- lanes_lane_seq; Type: SEQUENCE
ALTER TABLE tenure.lanes ALTER COLUMN lane ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tenure.lanes_lane_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

-- leases; Type: TABLE
CREATE TABLE tenure.leases (
    token uuid NOT NULL,
    lane integer NOT NULL,
    tenant_id integer NOT NULL,
    owner text NOT NULL,
    executor text NOT NULL,
    principal text NOT NULL,
    leased_at timestamp with time zone NOT NULL,
    until timestamp with time zone NOT NULL,
    lease_seconds integer NOT NULL,
    renewals integer DEFAULT 0 NOT NULL,
    held integer NOT NULL,
    limited boolean DEFAULT false NOT NULL,
    CONSTRAINT leases_held_check CHECK ((held >= 0)),
    CONSTRAINT leases_owner_check CHECK ((owner ~ '\S'::text))
)
WITH (fillfactor='50', vacuum_truncate=off, autovacuum_vacuum_cost_delay='0');

-- TABLE leases; Type: COMMENT
COMMENT ON TABLE tenure.leases IS 'One row per claim and lane. A heartbeat renews the whole batch through this one row.';

-- COLUMN leases.limited; Type: COMMENT
COMMENT ON COLUMN tenure.leases.limited IS 'Whether all its jobs have the mark active.limited. One that was claimed before its kind had a limit, or while it was set, may have jobs without the mark.';

-- lock_fence; Type: SEQUENCE
CREATE SEQUENCE tenure.lock_fence
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

-- lock_turn; Type: SEQUENCE
CREATE SEQUENCE tenure.lock_turn
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

-- lock_queue; Type: TABLE
CREATE TABLE tenure.lock_queue (
    execution_id uuid NOT NULL,
    step_number integer NOT NULL,
    tenant_id integer NOT NULL,
    target text NOT NULL,
    action text NOT NULL,
    priority smallint NOT NULL,
    turn bigint DEFAULT nextval('tenure.lock_turn'::regclass) NOT NULL,
    since timestamp with time zone NOT NULL
);

-- TABLE lock_queue; Type: COMMENT
COMMENT ON TABLE tenure.lock_queue IS 'Blocked steps: those that wait for a lock on their target, by priority and then by arrival.';

-- lock_targets; Type: TABLE
CREATE TABLE tenure.lock_targets (
    tenant_id integer NOT NULL,
    target text NOT NULL,
    CONSTRAINT lock_targets_target_check CHECK ((length(target) <= 400))
)
WITH (fillfactor='80');

-- TABLE lock_targets; Type: COMMENT
COMMENT ON TABLE tenure.lock_targets IS 'Targets that were ever locked. A transaction that takes, frees or waits for a lock on the target locks this row, so that no step waits for a free target.';

-- locks; Type: TABLE
CREATE TABLE tenure.locks (
    tenant_id integer NOT NULL,
    target text NOT NULL,
    action text DEFAULT ''::text NOT NULL,
    lock_key text GENERATED ALWAYS AS ((((('lock:v1:'::text || tenant_id) || ':'::text) || target) ||
CASE
    WHEN (action = ''::text) THEN ''::text
    ELSE (':'::text || action)
END)) STORED NOT NULL,
    fence bigint NOT NULL,
    owner text NOT NULL,
    execution_id uuid,
    step_number integer,
    section text,
    reason text,
    acquired_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT locks_expire_later CHECK ((expires_at > acquired_at)),
    CONSTRAINT locks_lock_key_check CHECK ((length(lock_key) <= 500)),
    CONSTRAINT locks_owner_check CHECK ((owner ~ '\S'::text)),
    CONSTRAINT locks_section_of_execution CHECK (((section IS NULL) OR (execution_id IS NOT NULL))),
    CONSTRAINT locks_step_of_execution CHECK (((execution_id IS NULL) = (step_number IS NULL)))
)
WITH (fillfactor='80');

-- TABLE locks; Type: COMMENT
COMMENT ON TABLE tenure.locks IS 'Exclusive locks on a target, or on one action at it; a lock on the target excludes those on its actions. The lock of a step lasts until the step has ended, every other until it expires.';

-- COLUMN locks.section; Type: COMMENT
COMMENT ON COLUMN tenure.locks.section IS 'The section that holds it, until its last step has ended; step_number is the step that came last.';

-- logins; Type: TABLE
CREATE TABLE tenure.logins (
    login text NOT NULL,
    tenant_id integer NOT NULL,
    principal text,
    executors text[],
    kinds text[],
    payload_access text DEFAULT 'safe'::text NOT NULL,
    makers text[] DEFAULT '{}'::text[] NOT NULL,
    bound_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    bound_by text NOT NULL,
    CONSTRAINT logins_login_check CHECK ((login ~ '\S'::text)),
    CONSTRAINT logins_payload_access_check CHECK ((payload_access = ANY (ARRAY['safe'::text, 'restricted'::text]))),
    CONSTRAINT logins_principal_check CHECK ((principal ~ '\S'::text))
);
ALTER TABLE ONLY tenure.logins FORCE ROW LEVEL SECURITY;

-- TABLE logins; Type: COMMENT
COMMENT ON TABLE tenure.logins IS 'Binds a database login to a tenant and a principal. The row * applies to logins without a row of their own.';

-- COLUMN logins.makers; Type: COMMENT
COMMENT ON COLUMN tenure.logins.makers IS 'Who bound it, and the makers of the key or login they used. It cannot decide about their plans.';

-- migrations; Type: TABLE
CREATE TABLE tenure.migrations (
    version integer NOT NULL,
    name text NOT NULL,
    checksum text NOT NULL,
    applied_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    applied_by text DEFAULT SESSION_USER NOT NULL,
    CONSTRAINT migrations_version_check CHECK ((version > 0))
);

-- TABLE migrations; Type: COMMENT
COMMENT ON TABLE tenure.migrations IS 'The migrations that this database has, with the checksum of each as it was applied.';

-- planned_slots_slot_id_seq; Type: SEQUENCE
ALTER TABLE tenure.planned_slots ALTER COLUMN slot_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tenure.planned_slots_slot_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

-- principals; Type: TABLE
CREATE TABLE tenure.principals (
    principal_id integer NOT NULL,
    tenant_id integer NOT NULL,
    name text NOT NULL,
    kind text NOT NULL,
    email text,
    approver_level smallint,
    approval_roles text[] DEFAULT '{}'::text[] NOT NULL,
    makers text[] DEFAULT '{}'::text[] NOT NULL,
    created_at timestamp with time zone NOT NULL,
    created_by text NOT NULL,
    CONSTRAINT principals_agents_do_not_approve CHECK (((kind <> 'agent'::text) OR (approver_level IS NULL))),
    CONSTRAINT principals_approver_level_check CHECK (((approver_level >= 1) AND (approver_level <= 3))),
    CONSTRAINT principals_created_by_check CHECK ((created_by ~ '\S'::text)),
    CONSTRAINT principals_email_check CHECK (((email ~ '^[^@\s]+@[^@\s]+$'::text) AND (length(email) <= 320))),
    CONSTRAINT principals_kind_check CHECK ((kind = ANY (ARRAY['human'::text, 'agent'::text, 'service'::text]))),
    CONSTRAINT principals_name_check CHECK (((name ~ '\S'::text) AND (length(name) <= 200)))
);
ALTER TABLE ONLY tenure.principals FORCE ROW LEVEL SECURITY;

-- TABLE principals; Type: COMMENT
COMMENT ON TABLE tenure.principals IS 'A person, an agent or a service. The name is the actor of events. Those of tenant 0 (*) run the installation.';

-- COLUMN principals.approver_level; Type: COMMENT
COMMENT ON COLUMN tenure.principals.approver_level IS 'The highest level this principal approves when it comes by a database login. A key has a level of its own.';

-- COLUMN principals.makers; Type: COMMENT
COMMENT ON COLUMN tenure.principals.makers IS 'Who registered or changed it, and the makers of the key or login they used. It cannot decide about their plans.';

-- principals_principal_id_seq; Type: SEQUENCE
ALTER TABLE tenure.principals ALTER COLUMN principal_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tenure.principals_principal_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

-- queue_health; Type: VIEW
CREATE VIEW tenure.queue_health WITH (security_invoker='true') AS
 WITH clock AS MATERIALIZED (
         SELECT tenure.now() AS now,
            tenure.current_tenant() AS tenant_id,
            tenure.setting_integer(tenure.current_tenant(), 'queue.heartbeat.stale_threshold_seconds'::text) AS threshold
        ), counts AS MATERIALIZED (
         SELECT ( SELECT count(*) AS count
                   FROM tenure.ready r
                  WHERE (r.state = 'queued'::text)) AS queued,
            ( SELECT count(*) AS count
                   FROM tenure.delayed d) AS delayed,
            (( SELECT count(*) AS count
                   FROM tenure.ready r
                  WHERE (r.state = 'retry_waiting'::text)) + ( SELECT count(*) AS count
                   FROM tenure.delayed d
                  WHERE (d.state = 'retry_waiting'::text))) AS retry_waiting,
            ( SELECT count(*) AS count
                   FROM tenure.active a
                  WHERE (a.started_at IS NULL)) AS leased,
            ( SELECT count(*) AS count
                   FROM tenure.active a
                  WHERE (a.started_at IS NOT NULL)) AS in_progress,
            ( SELECT COALESCE(sum(COALESCE(e.job_count, cardinality(e.job_ids))), (0)::bigint) AS "coalesce"
                   FROM tenure.events e,
                    clock c_1
                  WHERE ((e.at > (c_1.now - '01:00:00'::interval)) AND (e.kind = 'job.succeeded'::text))) AS succeeded_last_hour,
            ( SELECT count(*) AS count
                   FROM tenure.attempts a
                  WHERE (a.final AND (a.state = 'failed'::text))) AS failed,
            ( SELECT count(*) AS count
                   FROM tenure.attempts a
                  WHERE (a.final AND (a.state = 'cancelled'::text))) AS cancelled,
            ( SELECT count(*) AS count
                   FROM tenure.attempts a
                  WHERE (a.final AND (a.state = 'dead_letter'::text))) AS dead_letter,
            ( SELECT count(*) AS count
                   FROM tenure.dead_letters d
                  WHERE (d.triage_status = 'pending'::text)) AS dead_letters_pending,
            ( SELECT count(*) AS count
                   FROM tenure.dead_letters d
                  WHERE (d.triage_status <> 'closed'::text)) AS dead_letters_open,
            ( SELECT (COALESCE(EXTRACT(epoch FROM (c_1.now - min(r.due))), (0)::numeric))::bigint AS "coalesce"
                   FROM tenure.ready r,
                    clock c_1
                  GROUP BY c_1.now) AS oldest_ready_age_seconds,
            ( SELECT count(*) AS count
                   FROM tenure.leases l,
                    clock c_1
                  WHERE (l.until > c_1.now)) AS leases_active
        )
 SELECT h.executor_name,
    h.executor_kind,
    h.last_tick_at,
    h.last_tick_status,
    h.ticks_total,
    h.current_job_id,
    (EXTRACT(epoch FROM (c.now - h.last_tick_at)))::bigint AS age_seconds,
        CASE
            WHEN (h.executor_name IS NULL) THEN 'none'::text
            WHEN (h.last_tick_at > (c.now - make_interval(secs => (c.threshold)::double precision))) THEN 'fresh'::text
            WHEN (h.last_tick_at > (c.now - make_interval(secs => ((2 * c.threshold))::double precision))) THEN 'warning'::text
            ELSE 'stale'::text
        END AS freshness,
    n.queued,
    n.delayed,
    n.retry_waiting,
    n.leased,
    n.in_progress,
    n.succeeded_last_hour,
    n.failed,
    n.cancelled,
    n.dead_letter,
    n.dead_letters_pending,
    n.dead_letters_open,
    COALESCE(n.oldest_ready_age_seconds, (0)::bigint) AS oldest_ready_age_seconds,
    n.leases_active,
    (tenure.setting(c.tenant_id, 'queue.job_substrate.enabled'::text))::boolean AS gate_job_substrate,
    (tenure.setting(c.tenant_id, 'queue.worker.enabled'::text))::boolean AS gate_worker,
    (tenure.setting(c.tenant_id, 'queue.notify.enabled'::text))::boolean AS gate_notify,
    (tenure.setting(c.tenant_id, 'queue.heartbeat.enabled'::text))::boolean AS gate_heartbeat
   FROM ((clock c
     CROSS JOIN counts n)
     LEFT JOIN tenure.heartbeats h ON ((h.tenant_id = c.tenant_id)));

-- VIEW queue_health; Type: COMMENT
COMMENT ON VIEW tenure.queue_health IS 'Executors with their freshness, the distribution of states, the triage backlog, and the gates: 25 columns, at least one row.';

-- ready_marks; Type: TABLE
CREATE TABLE tenure.ready_marks (
    mark_id bigint NOT NULL,
    tenant_id integer NOT NULL,
    executor text NOT NULL,
    rank smallint NOT NULL,
    lane integer NOT NULL,
    retired_in xid8,
    unused_from xid8,
    CONSTRAINT ready_marks_unused_after_retired CHECK (((unused_from IS NULL) OR (retired_in IS NOT NULL)))
)
WITH (vacuum_truncate=off, autovacuum_vacuum_scale_factor='0.05', autovacuum_vacuum_cost_delay='0');

-- TABLE ready_marks; Type: COMMENT
COMMENT ON TABLE tenure.ready_marks IS 'Lanes and ranks that may have jobs in ready. Every pair that has some is marked; others may be too.';

-- COLUMN ready_marks.retired_in; Type: COMMENT
COMMENT ON COLUMN tenure.ready_marks.retired_in IS 'The transaction that found the pair empty. New jobs no longer rely on the mark; those under way may.';

-- COLUMN ready_marks.unused_from; Type: COMMENT
COMMENT ON COLUMN tenure.ready_marks.unused_from IS 'When every transaction before this one has ended, no job under way relies on the mark.';

-- ready_marks_mark_id_seq; Type: SEQUENCE
ALTER TABLE tenure.ready_marks ALTER COLUMN mark_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tenure.ready_marks_mark_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

-- requests; Type: TABLE
CREATE TABLE tenure.requests (
    key_hash uuid NOT NULL,
    tenant_id integer NOT NULL,
    key_id uuid NOT NULL,
    asked jsonb NOT NULL,
    status smallint NOT NULL,
    answer text,
    created_at timestamp with time zone NOT NULL,
    expires_at timestamp with time zone NOT NULL,
    CONSTRAINT requests_answer_check CHECK ((octet_length(answer) <= 1048576)),
    CONSTRAINT requests_asked_check CHECK ((jsonb_typeof((asked -> 'members'::text)) = 'object'::text)),
    CONSTRAINT requests_expire_later CHECK ((expires_at > created_at)),
    CONSTRAINT requests_status_check CHECK (((status >= 200) AND (status <= 299)))
)
WITH (autovacuum_vacuum_scale_factor='0.05');
ALTER TABLE ONLY tenure.requests FORCE ROW LEVEL SECURITY;

-- TABLE requests; Type: COMMENT
COMMENT ON TABLE tenure.requests IS 'Answers to requests with an Idempotency-Key. A request that is repeated before it expires gets the same answer.';

-- COLUMN requests.key_hash; Type: COMMENT
COMMENT ON COLUMN tenure.requests.key_hash IS 'Hash of tenant, principal and key.';

-- COLUMN requests.key_id; Type: COMMENT
COMMENT ON COLUMN tenure.requests.key_id IS 'The API key of the request. A key with other rights does not see the answer.';

-- COLUMN requests.asked; Type: COMMENT
COMMENT ON COLUMN tenure.requests.asked IS 'Method, path with query, and a hash for each top-level member of the body, salted with the key.';

-- COLUMN requests.answer; Type: COMMENT
COMMENT ON COLUMN tenure.requests.answer IS 'The body. Null: it held a secret, or was too large to keep.';

-- schedules_schedule_id_seq; Type: SEQUENCE
ALTER TABLE tenure.schedules ALTER COLUMN schedule_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tenure.schedules_schedule_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

-- secrets; Type: TABLE
CREATE TABLE tenure.secrets (
    name text NOT NULL,
    value bytea NOT NULL
);
ALTER TABLE ONLY tenure.secrets FORCE ROW LEVEL SECURITY;

-- TABLE secrets; Type: COMMENT
COMMENT ON TABLE tenure.secrets IS 'Secrets of the installation, read by the owner only. keys: the key of the hashes of API keys; replacing it makes every API key invalid.';

-- services; Type: TABLE
CREATE TABLE tenure.services (
    service text NOT NULL,
    instance uuid NOT NULL,
    version text NOT NULL,
    zones text,
    started_at timestamp with time zone NOT NULL,
    last_run_at timestamp with time zone NOT NULL,
    CONSTRAINT services_service_check CHECK (((service ~ '\S'::text) AND (length(service) <= 200))),
    CONSTRAINT services_version_check CHECK (((version ~ '\S'::text) AND (length(version) <= 200))),
    CONSTRAINT services_zones_check CHECK (((zones ~ '\S'::text) AND (length(zones) <= 200)))
)
WITH (fillfactor='50');

-- TABLE services; Type: COMMENT
COMMENT ON TABLE tenure.services IS 'One row per service and process, with the time of its last complete run. A service acts for all tenants.';

-- COLUMN services.zones; Type: COMMENT
COMMENT ON COLUMN tenure.services.zones IS 'The version of the time zone data that the process computes with.';

-- step_fences; Type: TABLE
CREATE TABLE tenure.step_fences (
    execution_id uuid NOT NULL,
    step_number integer NOT NULL,
    tenant_id integer NOT NULL,
    fence bigint NOT NULL
);

-- TABLE step_fences; Type: COMMENT
COMMENT ON TABLE tenure.step_fences IS 'The greatest fencing number that a later run of a step got when it was claimed, even if it never started.';

-- step_needs; Type: TABLE
CREATE TABLE tenure.step_needs (
    execution_id uuid NOT NULL,
    needs_number integer NOT NULL,
    step_number integer NOT NULL,
    tenant_id integer NOT NULL
);

-- TABLE step_needs; Type: COMMENT
COMMENT ON TABLE tenure.step_needs IS 'Step step_number waits for step needs_number.';

-- subscriptions_subscription_id_seq; Type: SEQUENCE
ALTER TABLE tenure.subscriptions ALTER COLUMN subscription_id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME tenure.subscriptions_subscription_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

-- sweep_cursors; Type: TABLE
CREATE TABLE tenure.sweep_cursors (
    name text NOT NULL,
    job_id uuid,
    pass_began timestamp with time zone
);

-- TABLE sweep_cursors; Type: COMMENT
COMMENT ON TABLE tenure.sweep_cursors IS 'jobs: how far the retention sweep has come. partitions: the row that partition upkeep locks.';

-- target_types; Type: TABLE
CREATE TABLE tenure.target_types (
    tenant_id integer NOT NULL,
    name text NOT NULL,
    case_rule text NOT NULL,
    note text DEFAULT ''::text NOT NULL,
    updated_at timestamp with time zone NOT NULL,
    updated_by text NOT NULL,
    CONSTRAINT target_types_case_rule_check CHECK ((case_rule = ANY (ARRAY['exact'::text, 'lower'::text]))),
    CONSTRAINT target_types_name_check CHECK (((name ~ '\S'::text) AND (length(name) <= 200))),
    CONSTRAINT target_types_updated_by_check CHECK ((updated_by ~ '\S'::text))
);
ALTER TABLE ONLY tenure.target_types FORCE ROW LEVEL SECURITY;

-- TABLE target_types; Type: COMMENT
COMMENT ON TABLE tenure.target_types IS 'Types of targets: whether upper and lower case in a reference name two targets (exact) or one (lower).';

-- tenants; Type: TABLE
CREATE TABLE tenure.tenants (
    tenant_id integer NOT NULL,
    name text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    created_by text NOT NULL,
    CONSTRAINT tenants_name_check CHECK (((name ~ '\S'::text) AND (length(name) <= 200))),
    CONSTRAINT tenants_tenant_id_check CHECK ((tenant_id >= 0))
);
ALTER TABLE ONLY tenure.tenants FORCE ROW LEVEL SECURITY;

-- TABLE tenants; Type: COMMENT
COMMENT ON TABLE tenure.tenants IS 'Row 0 (*) stands for every tenant and holds settings of the whole installation; row 1 is the default.';

-- tenants_tenant_id_seq; Type: SEQUENCE
ALTER TABLE tenure.tenants ALTER COLUMN tenant_id ADD GENERATED BY DEFAULT AS IDENTITY (
    SEQUENCE NAME tenure.tenants_tenant_id_seq
    START WITH 2
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

-- transitions; Type: VIEW
CREATE VIEW tenure.transitions AS
 SELECT "*VALUES*".column1 AS from_state,
    "*VALUES*".column2 AS verb,
    "*VALUES*".column3 AS to_state
   FROM (VALUES (NULL::text,'enqueue'::text,'queued'::text), ('queued'::text,'claim'::text,'leased'::text), ('retry_waiting'::text,'claim'::text,'leased'::text), ('leased'::text,'start'::text,'in_progress'::text), ('leased'::text,'release'::text,'queued'::text), ('in_progress'::text,'release'::text,'queued'::text), ('leased'::text,'complete'::text,'succeeded'::text), ('in_progress'::text,'complete'::text,'succeeded'::text), ('leased'::text,'fail'::text,'failed'::text), ('in_progress'::text,'fail'::text,'failed'::text), ('leased'::text,'expire'::text,'failed'::text), ('in_progress'::text,'expire'::text,'failed'::text), ('in_progress'::text,'time_out'::text,'failed'::text), ('failed'::text,'schedule_retry'::text,'retry_waiting'::text), ('failed'::text,'dead_letter'::text,'dead_letter'::text), ('in_progress'::text,'snooze'::text,'retry_waiting'::text), ('queued'::text,'cancel'::text,'cancelled'::text), ('retry_waiting'::text,'cancel'::text,'cancelled'::text), ('queued'::text,'pass_deadline'::text,'dead_letter'::text), ('retry_waiting'::text,'pass_deadline'::text,'dead_letter'::text), ('leased'::text,'pass_deadline'::text,'dead_letter'::text), ('queued'::text,'move_to_dead_letter'::text,'dead_letter'::text), ('retry_waiting'::text,'move_to_dead_letter'::text,'dead_letter'::text), ('leased'::text,'acknowledge_cancel'::text,'cancelled'::text), ('in_progress'::text,'acknowledge_cancel'::text,'cancelled'::text), ('leased'::text,'settle_cancel'::text,'cancelled'::text), ('in_progress'::text,'settle_cancel'::text,'cancelled'::text), ('leased'::text,'force_cancel'::text,'cancelled'::text), ('in_progress'::text,'force_cancel'::text,'cancelled'::text), ('failed'::text,'operator_retry'::text,'queued'::text), ('succeeded'::text,'clean'::text,'cleaned'::text), ('failed'::text,'clean'::text,'cleaned'::text), ('cancelled'::text,'clean'::text,'cleaned'::text), ('dead_letter'::text,'clean'::text,'cleaned'::text)) "*VALUES*";

-- VIEW transitions; Type: COMMENT
COMMENT ON VIEW tenure.transitions IS 'The job machine: every legal transition. Any other pair of states is refused.';

-- unbound_logins; Type: TABLE
CREATE TABLE tenure.unbound_logins (
    login text NOT NULL,
    tenant_id integer NOT NULL,
    makers text[] DEFAULT '{}'::text[] NOT NULL,
    unbound_at timestamp with time zone NOT NULL,
    unbound_by text NOT NULL,
    CONSTRAINT unbound_logins_login_check CHECK ((login ~ '\S'::text)),
    CONSTRAINT unbound_logins_unbound_by_check CHECK ((unbound_by ~ '\S'::text))
);
ALTER TABLE ONLY tenure.unbound_logins FORCE ROW LEVEL SECURITY;

-- TABLE unbound_logins; Type: COMMENT
COMMENT ON TABLE tenure.unbound_logins IS 'Logins whose binding was removed. The principal who removed it counts as a maker until it is bound again.';

-- attempts_p0; Type: TABLE ATTACH
ALTER TABLE ONLY tenure.attempts ATTACH PARTITION tenure.attempts_p0 FOR VALUES FROM (MINVALUE) TO (...);

-- events_p0; Type: TABLE ATTACH
ALTER TABLE ONLY tenure.events ATTACH PARTITION tenure.events_p0 FOR VALUES FROM (MINVALUE) TO (...);

-- jobs_p0; Type: TABLE ATTACH
ALTER TABLE ONLY tenure.jobs ATTACH PARTITION tenure.jobs_p0 FOR VALUES FROM (MINVALUE) TO (...);

-- actions actions_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.actions
    ADD CONSTRAINT actions_pkey PRIMARY KEY (tenant_id, name);

-- active active_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.active
    ADD CONSTRAINT active_pkey PRIMARY KEY (job_id);

-- anchor_cursors anchor_cursors_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.anchor_cursors
    ADD CONSTRAINT anchor_cursors_pkey PRIMARY KEY (tenant_id);

-- anchor_leaves anchor_leaves_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.anchor_leaves
    ADD CONSTRAINT anchor_leaves_pkey PRIMARY KEY (number, place);

-- anchor_log anchor_log_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.anchor_log
    ADD CONSTRAINT anchor_log_pkey PRIMARY KEY (singleton);

-- anchor_pending anchor_pending_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.anchor_pending
    ADD CONSTRAINT anchor_pending_pkey PRIMARY KEY (execution_id);

-- anchor_sinks anchor_sinks_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.anchor_sinks
    ADD CONSTRAINT anchor_sinks_pkey PRIMARY KEY (sink);

-- anchors anchors_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.anchors
    ADD CONSTRAINT anchors_pkey PRIMARY KEY (number);

-- approval_rules approval_rules_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.approval_rules
    ADD CONSTRAINT approval_rules_pkey PRIMARY KEY (tenant_id, name);

-- approval_rules approval_rules_tenant_id_position_key; Type: CONSTRAINT
ALTER TABLE ONLY tenure.approval_rules
    ADD CONSTRAINT approval_rules_tenant_id_position_key UNIQUE (tenant_id, "position");

-- approval_votes approval_votes_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.approval_votes
    ADD CONSTRAINT approval_votes_pkey PRIMARY KEY (approval_id, principal);

-- approvals approvals_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.approvals
    ADD CONSTRAINT approvals_pkey PRIMARY KEY (approval_id);

-- attempts attempts_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.attempts
    ADD CONSTRAINT attempts_pkey PRIMARY KEY (job_id, run);

-- attempts_p0 attempts_p0_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.attempts_p0
    ADD CONSTRAINT attempts_p0_pkey PRIMARY KEY (job_id, run);

-- config_keys config_keys_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.config_keys
    ADD CONSTRAINT config_keys_pkey PRIMARY KEY (key);

-- config config_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.config
    ADD CONSTRAINT config_pkey PRIMARY KEY (tenant_id, key);

-- dead_letters dead_letters_job_id_run_key; Type: CONSTRAINT
ALTER TABLE ONLY tenure.dead_letters
    ADD CONSTRAINT dead_letters_job_id_run_key UNIQUE (job_id, run);

-- dead_letters dead_letters_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.dead_letters
    ADD CONSTRAINT dead_letters_pkey PRIMARY KEY (dead_letter_id);

-- delayed delayed_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.delayed
    ADD CONSTRAINT delayed_pkey PRIMARY KEY (lane, due, job_id);

-- deliveries deliveries_delivery_id_key; Type: CONSTRAINT
ALTER TABLE ONLY tenure.deliveries
    ADD CONSTRAINT deliveries_delivery_id_key UNIQUE (delivery_id);

-- deliveries deliveries_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.deliveries
    ADD CONSTRAINT deliveries_pkey PRIMARY KEY (place);

-- event_domains event_domains_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.event_domains
    ADD CONSTRAINT event_domains_pkey PRIMARY KEY (domain);

-- evidence_keys evidence_keys_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.evidence_keys
    ADD CONSTRAINT evidence_keys_pkey PRIMARY KEY (key_id);

-- execution_archive_terms execution_archive_terms_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.execution_archive_terms
    ADD CONSTRAINT execution_archive_terms_pkey PRIMARY KEY (tenant_id, term, value, ended_at, execution_id);

-- execution_archives execution_archives_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.execution_archives
    ADD CONSTRAINT execution_archives_pkey PRIMARY KEY (execution_id);

-- execution_dead_letters execution_dead_letters_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.execution_dead_letters
    ADD CONSTRAINT execution_dead_letters_pkey PRIMARY KEY (execution_id);

-- execution_events execution_events_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.execution_events
    ADD CONSTRAINT execution_events_pkey PRIMARY KEY (execution_id, seq);

-- execution_states execution_states_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.execution_states
    ADD CONSTRAINT execution_states_pkey PRIMARY KEY (execution_id);

-- executions executions_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.executions
    ADD CONSTRAINT executions_pkey PRIMARY KEY (execution_id);

-- executors executors_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.executors
    ADD CONSTRAINT executors_pkey PRIMARY KEY (name);

-- follow_ups follow_ups_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.follow_ups
    ADD CONSTRAINT follow_ups_pkey PRIMARY KEY (task, subject, tenant_id);

-- freezes freezes_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.freezes
    ADD CONSTRAINT freezes_pkey PRIMARY KEY (freeze_id);

-- governance_changes governance_changes_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.governance_changes
    ADD CONSTRAINT governance_changes_pkey PRIMARY KEY (change_id);

-- heartbeats heartbeats_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.heartbeats
    ADD CONSTRAINT heartbeats_pkey PRIMARY KEY (tenant_id, executor_name);

-- idempotency idempotency_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.idempotency
    ADD CONSTRAINT idempotency_pkey PRIMARY KEY (key_hash);

-- installation installation_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.installation
    ADD CONSTRAINT installation_pkey PRIMARY KEY (singleton);

-- jobs jobs_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.jobs
    ADD CONSTRAINT jobs_pkey PRIMARY KEY (job_id);

-- jobs_p0 jobs_p0_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.jobs_p0
    ADD CONSTRAINT jobs_p0_pkey PRIMARY KEY (job_id);

-- keys keys_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.keys
    ADD CONSTRAINT keys_pkey PRIMARY KEY (key_id);

-- keys keys_prefix_key; Type: CONSTRAINT
ALTER TABLE ONLY tenure.keys
    ADD CONSTRAINT keys_prefix_key UNIQUE (prefix);

-- kinds kinds_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.kinds
    ADD CONSTRAINT kinds_pkey PRIMARY KEY (tenant_id, kind);

-- lanes lanes_key; Type: CONSTRAINT
ALTER TABLE ONLY tenure.lanes
    ADD CONSTRAINT lanes_key UNIQUE (tenant_id, kind, executor, stepped, twin);

-- lanes lanes_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.lanes
    ADD CONSTRAINT lanes_pkey PRIMARY KEY (lane);

-- leases leases_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.leases
    ADD CONSTRAINT leases_pkey PRIMARY KEY (token, lane);

-- lock_queue lock_queue_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.lock_queue
    ADD CONSTRAINT lock_queue_pkey PRIMARY KEY (execution_id, step_number);

-- lock_targets lock_targets_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.lock_targets
    ADD CONSTRAINT lock_targets_pkey PRIMARY KEY (tenant_id, target);

-- locks locks_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.locks
    ADD CONSTRAINT locks_pkey PRIMARY KEY (tenant_id, target, action);

-- logins logins_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.logins
    ADD CONSTRAINT logins_pkey PRIMARY KEY (login);

-- migrations migrations_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.migrations
    ADD CONSTRAINT migrations_pkey PRIMARY KEY (version);

-- offers offers_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.offers
    ADD CONSTRAINT offers_pkey PRIMARY KEY (token);

-- planned_slots planned_slots_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.planned_slots
    ADD CONSTRAINT planned_slots_pkey PRIMARY KEY (slot_id);

-- planned_slots planned_slots_schedule_id_plan_time_scope_kind_scope_id_ten_key; Type: CONSTRAINT
ALTER TABLE ONLY tenure.planned_slots
    ADD CONSTRAINT planned_slots_schedule_id_plan_time_scope_kind_scope_id_ten_key UNIQUE (schedule_id, plan_time, scope_kind, scope_id, tenant_id);

-- plans plans_execution_id_plan_hash_key; Type: CONSTRAINT
ALTER TABLE ONLY tenure.plans
    ADD CONSTRAINT plans_execution_id_plan_hash_key UNIQUE (execution_id, plan_hash);

-- plans plans_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.plans
    ADD CONSTRAINT plans_pkey PRIMARY KEY (execution_id);

-- principals principals_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.principals
    ADD CONSTRAINT principals_pkey PRIMARY KEY (principal_id);

-- principals principals_tenant_id_name_key; Type: CONSTRAINT
ALTER TABLE ONLY tenure.principals
    ADD CONSTRAINT principals_tenant_id_name_key UNIQUE (tenant_id, name);

-- ready_marks ready_marks_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.ready_marks
    ADD CONSTRAINT ready_marks_pkey PRIMARY KEY (mark_id);

-- ready ready_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.ready
    ADD CONSTRAINT ready_pkey PRIMARY KEY (lane, rank, due, job_id);

-- requests requests_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.requests
    ADD CONSTRAINT requests_pkey PRIMARY KEY (key_hash);

-- schedules schedules_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.schedules
    ADD CONSTRAINT schedules_pkey PRIMARY KEY (schedule_id);

-- secrets secrets_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.secrets
    ADD CONSTRAINT secrets_pkey PRIMARY KEY (name);

-- services services_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.services
    ADD CONSTRAINT services_pkey PRIMARY KEY (service, instance);

-- step_fences step_fences_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.step_fences
    ADD CONSTRAINT step_fences_pkey PRIMARY KEY (execution_id, step_number);

-- step_needs step_needs_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.step_needs
    ADD CONSTRAINT step_needs_pkey PRIMARY KEY (execution_id, needs_number, step_number);

-- step_runs step_runs_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.step_runs
    ADD CONSTRAINT step_runs_pkey PRIMARY KEY (execution_id, step_number, job_id, run);

-- step_states step_states_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.step_states
    ADD CONSTRAINT step_states_pkey PRIMARY KEY (execution_id, step_number);

-- steps steps_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.steps
    ADD CONSTRAINT steps_pkey PRIMARY KEY (execution_id, step_number);

-- subscriptions subscriptions_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.subscriptions
    ADD CONSTRAINT subscriptions_pkey PRIMARY KEY (subscription_id);

-- subscriptions subscriptions_tenant_id_name_key; Type: CONSTRAINT
ALTER TABLE ONLY tenure.subscriptions
    ADD CONSTRAINT subscriptions_tenant_id_name_key UNIQUE (tenant_id, name);

-- sweep_cursors sweep_cursors_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.sweep_cursors
    ADD CONSTRAINT sweep_cursors_pkey PRIMARY KEY (name);

-- target_types target_types_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.target_types
    ADD CONSTRAINT target_types_pkey PRIMARY KEY (tenant_id, name);

-- tenants tenants_name_key; Type: CONSTRAINT
ALTER TABLE ONLY tenure.tenants
    ADD CONSTRAINT tenants_name_key UNIQUE (name);

-- tenants tenants_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.tenants
    ADD CONSTRAINT tenants_pkey PRIMARY KEY (tenant_id);

-- timeout_policies timeout_policies_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.timeout_policies
    ADD CONSTRAINT timeout_policies_pkey PRIMARY KEY (tenant_id, sla_class, action_class);

-- tunings tunings_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.tunings
    ADD CONSTRAINT tunings_pkey PRIMARY KEY (tenant_id);

-- unbound_logins unbound_logins_pkey; Type: CONSTRAINT
ALTER TABLE ONLY tenure.unbound_logins
    ADD CONSTRAINT unbound_logins_pkey PRIMARY KEY (login);

-- active_limited; Type: INDEX
CREATE INDEX active_limited ON tenure.active USING btree (lane) WHERE limited;

-- anchor_leaves_execution; Type: INDEX
CREATE INDEX anchor_leaves_execution ON tenure.anchor_leaves USING btree (execution_id, number);

-- anchor_pending_seen; Type: INDEX
CREATE INDEX anchor_pending_seen ON tenure.anchor_pending USING btree (seen_at, execution_id);

-- anchors_key_id; Type: INDEX
CREATE INDEX anchors_key_id ON tenure.anchors USING btree (key_id);

-- anchors_leaves; Type: INDEX
CREATE INDEX anchors_leaves ON tenure.anchors USING btree (at) WHERE (leaf_hashes IS NOT NULL);

-- approval_votes_principal; Type: INDEX
CREATE INDEX approval_votes_principal ON tenure.approval_votes USING btree (tenant_id, principal, at);

-- approvals_execution; Type: INDEX
CREATE INDEX approvals_execution ON tenure.approvals USING btree (execution_id, plan_hash);

-- approvals_execution_step; Type: INDEX
CREATE INDEX approvals_execution_step ON tenure.approvals USING btree (execution_id, step_number) WHERE (step_number IS NOT NULL);

-- approvals_expiry; Type: INDEX
CREATE INDEX approvals_expiry ON tenure.approvals USING btree (expires_at) WHERE (state = 'pending'::text);

-- approvals_one_open; Type: INDEX
CREATE UNIQUE INDEX approvals_one_open ON tenure.approvals USING btree (execution_id, COALESCE(step_number, 0)) WHERE ((state = ANY (ARRAY['pending'::text, 'approved'::text])) AND (consumed_at IS NULL));

-- approvals_pending; Type: INDEX
CREATE INDEX approvals_pending ON tenure.approvals USING btree (tenant_id, created_at) WHERE (state = 'pending'::text);

-- approvals_plan_hash; Type: INDEX
CREATE INDEX approvals_plan_hash ON tenure.approvals USING btree (tenant_id, plan_hash);

-- attempts_rare_endings; Type: INDEX
CREATE INDEX attempts_rare_endings ON ONLY tenure.attempts USING btree (tenant_id, state, ended_at) WHERE (final AND (state <> 'succeeded'::text));

-- attempts_p0_tenant_id_state_ended_at_idx; Type: INDEX
CREATE INDEX attempts_p0_tenant_id_state_ended_at_idx ON tenure.attempts_p0 USING btree (tenant_id, state, ended_at) WHERE (final AND (state <> 'succeeded'::text));

-- config_key; Type: INDEX
CREATE INDEX config_key ON tenure.config USING btree (key);

-- dead_letters_fingerprint; Type: INDEX
CREATE INDEX dead_letters_fingerprint ON tenure.dead_letters USING btree (tenant_id, fingerprint);

-- dead_letters_kind; Type: INDEX
CREATE INDEX dead_letters_kind ON tenure.dead_letters USING btree (tenant_id, kind, moved_at DESC);

-- dead_letters_triage; Type: INDEX
CREATE INDEX dead_letters_triage ON tenure.dead_letters USING btree (tenant_id, triage_status, moved_at);

-- delayed_deadline; Type: INDEX
CREATE INDEX delayed_deadline ON tenure.delayed USING btree (deadline) WHERE (deadline IS NOT NULL);

-- delayed_due; Type: INDEX
CREATE INDEX delayed_due ON tenure.delayed USING btree (tenant_id, due);

-- deliveries_dead; Type: INDEX
CREATE INDEX deliveries_dead ON tenure.deliveries USING btree (subscription_id, place) WHERE (state = 'dead'::text);

-- deliveries_due; Type: INDEX
CREATE INDEX deliveries_due ON tenure.deliveries USING btree (subscription_id, due) WHERE (state = 'waiting'::text);

-- deliveries_ended; Type: INDEX
CREATE INDEX deliveries_ended ON tenure.deliveries USING btree (tenant_id, ended_at) WHERE (state <> 'waiting'::text);

-- deliveries_leased; Type: INDEX
CREATE INDEX deliveries_leased ON tenure.deliveries USING btree (subscription_id, leased_until) WHERE (leased_until IS NOT NULL);

-- deliveries_list; Type: INDEX
CREATE INDEX deliveries_list ON tenure.deliveries USING btree (subscription_id, place);

-- deliveries_order; Type: INDEX
CREATE INDEX deliveries_order ON tenure.deliveries USING btree (subscription_id, subject, place) WHERE (state = 'waiting'::text);

-- events_at; Type: INDEX
CREATE INDEX events_at ON ONLY tenure.events USING brin (at);

-- events_entries; Type: INDEX
CREATE INDEX events_entries ON ONLY tenure.events USING btree (tenant_id, at) WHERE (entries IS NOT NULL);

-- events_p0_at_idx; Type: INDEX
CREATE INDEX events_p0_at_idx ON tenure.events_p0 USING brin (at);

-- events_p0_tenant_id_at_idx; Type: INDEX
CREATE INDEX events_p0_tenant_id_at_idx ON tenure.events_p0 USING btree (tenant_id, at) WHERE (entries IS NOT NULL);

-- events_stream; Type: INDEX
CREATE INDEX events_stream ON ONLY tenure.events USING btree (tenant_id, epoch, txid, seq);

-- events_p0_tenant_id_epoch_txid_seq_idx; Type: INDEX
CREATE INDEX events_p0_tenant_id_epoch_txid_seq_idx ON tenure.events_p0 USING btree (tenant_id, epoch, txid, seq);

-- events_subject; Type: INDEX
CREATE INDEX events_subject ON ONLY tenure.events USING btree (tenant_id, subject, at) WHERE (subject IS NOT NULL);

-- events_p0_tenant_id_subject_at_idx; Type: INDEX
CREATE INDEX events_p0_tenant_id_subject_at_idx ON tenure.events_p0 USING btree (tenant_id, subject, at) WHERE (subject IS NOT NULL);

-- execution_archives_tenant; Type: INDEX
CREATE INDEX execution_archives_tenant ON tenure.execution_archives USING btree (tenant_id, ended_at, execution_id);

-- execution_dead_letters_closed; Type: INDEX
CREATE INDEX execution_dead_letters_closed ON tenure.execution_dead_letters USING btree (tenant_id, triaged_at) WHERE (triage_status = 'closed'::text);

-- execution_dead_letters_failed_at; Type: INDEX
CREATE INDEX execution_dead_letters_failed_at ON tenure.execution_dead_letters USING btree (tenant_id, failed_at);

-- execution_events_kind; Type: INDEX
CREATE INDEX execution_events_kind ON tenure.execution_events USING btree (tenant_id, kind, at) WHERE (kind <> ALL (ARRAY['step_queued'::text, 'step_started'::text, 'step_completed'::text]));

-- execution_events_progress; Type: INDEX
CREATE INDEX execution_events_progress ON tenure.execution_events USING btree (execution_id, step_number) WHERE (kind = 'step_progress'::text);

-- execution_states_approved; Type: INDEX
CREATE INDEX execution_states_approved ON tenure.execution_states USING btree (execution_id) WHERE (state = 'approved'::text);

-- execution_states_cancelled; Type: INDEX
CREATE INDEX execution_states_cancelled ON tenure.execution_states USING btree (tenant_id, cancelled_at) WHERE (cancelled_at IS NOT NULL);

-- execution_states_ended; Type: INDEX
CREATE INDEX execution_states_ended ON tenure.execution_states USING btree (ended_at) WHERE (ended_at IS NOT NULL);

-- execution_states_key; Type: INDEX
CREATE UNIQUE INDEX execution_states_key ON tenure.execution_states USING btree (tenant_id, held_key) WHERE (held_key IS NOT NULL);

-- execution_states_next; Type: INDEX
CREATE INDEX execution_states_next ON tenure.execution_states USING btree (next_at) WHERE (next_at IS NOT NULL);

-- execution_states_sla; Type: INDEX
CREATE INDEX execution_states_sla ON tenure.execution_states USING btree (tenant_id, sla_class, ((ended_at - started_at))) WHERE ((ended_at IS NOT NULL) AND (started_at IS NOT NULL));

-- execution_states_state; Type: INDEX
CREATE INDEX execution_states_state ON tenure.execution_states USING btree (tenant_id, state, created_at);

-- execution_states_timed_out; Type: INDEX
CREATE INDEX execution_states_timed_out ON tenure.execution_states USING btree (tenant_id, ended_at) WHERE (reason_code = 'timed_out'::text);

-- executions_correlation; Type: INDEX
CREATE INDEX executions_correlation ON tenure.executions USING btree (tenant_id, correlation_id) WHERE (correlation_id IS NOT NULL);

-- executions_created; Type: INDEX
CREATE INDEX executions_created ON tenure.executions USING btree (tenant_id, created_at, execution_id);

-- executions_requested_by; Type: INDEX
CREATE INDEX executions_requested_by ON tenure.executions USING btree (tenant_id, requested_by, created_at);

-- follow_ups_due; Type: INDEX
CREATE INDEX follow_ups_due ON tenure.follow_ups USING btree (task, due_at);

-- freezes_in_force; Type: INDEX
CREATE UNIQUE INDEX freezes_in_force ON tenure.freezes USING btree (tenant_id) WHERE (ended_at IS NULL);

-- governance_changes_tenant; Type: INDEX
CREATE INDEX governance_changes_tenant ON tenure.governance_changes USING btree (tenant_id, proposed_at);

-- heartbeats_executor_kind; Type: INDEX
CREATE INDEX heartbeats_executor_kind ON tenure.heartbeats USING btree (executor_kind, last_tick_at);

-- jobs_correlation_id; Type: INDEX
CREATE INDEX jobs_correlation_id ON ONLY tenure.jobs USING btree (correlation_id) WHERE (correlation_id IS NOT NULL);

-- jobs_p0_correlation_id_idx; Type: INDEX
CREATE INDEX jobs_p0_correlation_id_idx ON tenure.jobs_p0 USING btree (correlation_id) WHERE (correlation_id IS NOT NULL);

-- jobs_parent_job_id; Type: INDEX
CREATE INDEX jobs_parent_job_id ON ONLY tenure.jobs USING btree (parent_job_id) WHERE (parent_job_id IS NOT NULL);

-- jobs_p0_parent_job_id_idx; Type: INDEX
CREATE INDEX jobs_p0_parent_job_id_idx ON tenure.jobs_p0 USING btree (parent_job_id) WHERE (parent_job_id IS NOT NULL);

-- jobs_workflow_id; Type: INDEX
CREATE INDEX jobs_workflow_id ON ONLY tenure.jobs USING btree (workflow_id) WHERE (workflow_id IS NOT NULL);

-- jobs_p0_workflow_id_idx; Type: INDEX
CREATE INDEX jobs_p0_workflow_id_idx ON tenure.jobs_p0 USING btree (workflow_id) WHERE (workflow_id IS NOT NULL);

-- keys_principal_id; Type: INDEX
CREATE INDEX keys_principal_id ON tenure.keys USING btree (principal_id);

-- keys_tenant_id; Type: INDEX
CREATE INDEX keys_tenant_id ON tenure.keys USING btree (tenant_id);

-- kinds_event_domain; Type: INDEX
CREATE INDEX kinds_event_domain ON tenure.kinds USING btree (event_domain);

-- kinds_executor; Type: INDEX
CREATE INDEX kinds_executor ON tenure.kinds USING btree (executor);

-- lanes_executor; Type: INDEX
CREATE INDEX lanes_executor ON tenure.lanes USING btree (executor);

-- lock_queue_turn; Type: INDEX
CREATE UNIQUE INDEX lock_queue_turn ON tenure.lock_queue USING btree (tenant_id, target, priority DESC, turn);

-- locks_expires_at; Type: INDEX
CREATE INDEX locks_expires_at ON tenure.locks USING btree (expires_at) WHERE (execution_id IS NULL);

-- locks_section; Type: INDEX
CREATE INDEX locks_section ON tenure.locks USING btree (execution_id) WHERE (section IS NOT NULL);

-- locks_step; Type: INDEX
CREATE INDEX locks_step ON tenure.locks USING btree (execution_id, step_number);

-- logins_tenant_id; Type: INDEX
CREATE INDEX logins_tenant_id ON tenure.logins USING btree (tenant_id);

-- offers_lane; Type: INDEX
CREATE INDEX offers_lane ON tenure.offers USING btree (lane, until);

-- planned_slots_covering; Type: INDEX
CREATE INDEX planned_slots_covering ON tenure.planned_slots USING btree (schedule_id, plan_time) WHERE (missed IS NOT NULL);

-- planned_slots_ended; Type: INDEX
CREATE INDEX planned_slots_ended ON tenure.planned_slots USING btree (tenant_id, ended_at) WHERE (ended_at IS NOT NULL);

-- planned_slots_ended_well; Type: INDEX
CREATE INDEX planned_slots_ended_well ON tenure.planned_slots USING btree (tenant_id, ended_at) WHERE (state = ANY (ARRAY['succeeded'::text, 'skipped'::text]));

-- planned_slots_failed; Type: INDEX
CREATE INDEX planned_slots_failed ON tenure.planned_slots USING btree (schedule_id, plan_time) WHERE (state = 'failed'::text);

-- planned_slots_job; Type: INDEX
CREATE UNIQUE INDEX planned_slots_job ON tenure.planned_slots USING btree (job_id) WHERE (job_id IS NOT NULL);

-- planned_slots_planned; Type: INDEX
CREATE INDEX planned_slots_planned ON tenure.planned_slots USING btree (schedule_id, due_at) WHERE (state = 'planned'::text);

-- planned_slots_running; Type: INDEX
CREATE INDEX planned_slots_running ON tenure.planned_slots USING btree (schedule_id) WHERE (state = 'running'::text);

-- planned_slots_succeeded; Type: INDEX
CREATE INDEX planned_slots_succeeded ON tenure.planned_slots USING btree (schedule_id, plan_time) WHERE (state = 'succeeded'::text);

-- ready_deadline; Type: INDEX
CREATE INDEX ready_deadline ON tenure.ready USING btree (deadline) WHERE (deadline IS NOT NULL);

-- ready_marks_order; Type: INDEX
CREATE INDEX ready_marks_order ON tenure.ready_marks USING btree (tenant_id, executor, rank, lane) WHERE (retired_in IS NULL);

-- ready_marks_retired; Type: INDEX
CREATE INDEX ready_marks_retired ON tenure.ready_marks USING btree (tenant_id, lane) WHERE (retired_in IS NOT NULL);

-- requests_expired; Type: INDEX
CREATE INDEX requests_expired ON tenure.requests USING btree (expires_at);

-- schedules_deleted; Type: INDEX
CREATE INDEX schedules_deleted ON tenure.schedules USING btree (tenant_id, deleted_at) WHERE (deleted_at IS NOT NULL);

-- schedules_name; Type: INDEX
CREATE UNIQUE INDEX schedules_name ON tenure.schedules USING btree (tenant_id, name) WHERE (deleted_at IS NULL);

-- schedules_next; Type: INDEX
CREATE INDEX schedules_next ON tenure.schedules USING btree (next_at) WHERE (next_at IS NOT NULL);

-- step_needs_step; Type: INDEX
CREATE INDEX step_needs_step ON tenure.step_needs USING btree (step_number, execution_id);

-- step_states_job; Type: INDEX
CREATE UNIQUE INDEX step_states_job ON tenure.step_states USING btree (job_id) WHERE (job_id IS NOT NULL);

-- step_states_timed_out; Type: INDEX
CREATE INDEX step_states_timed_out ON tenure.step_states USING btree (tenant_id, execution_id) WHERE (error_code = 'timed_out'::text);

-- steps_kind; Type: INDEX
CREATE INDEX steps_kind ON tenure.steps USING btree (tenant_id, kind, execution_id);

-- steps_section; Type: INDEX
CREATE INDEX steps_section ON tenure.steps USING btree (execution_id, section) WHERE (section IS NOT NULL);

-- steps_target; Type: INDEX
CREATE INDEX steps_target ON tenure.steps USING btree (tenant_id, target_type, target_ref, action);

-- unbound_logins_tenant_id; Type: INDEX
CREATE INDEX unbound_logins_tenant_id ON tenure.unbound_logins USING btree (tenant_id);

-- attempts_p0_pkey; Type: INDEX ATTACH
ALTER INDEX tenure.attempts_pkey ATTACH PARTITION tenure.attempts_p0_pkey;

-- attempts_p0_tenant_id_state_ended_at_idx; Type: INDEX ATTACH
ALTER INDEX tenure.attempts_rare_endings ATTACH PARTITION tenure.attempts_p0_tenant_id_state_ended_at_idx;

-- events_p0_at_idx; Type: INDEX ATTACH
ALTER INDEX tenure.events_at ATTACH PARTITION tenure.events_p0_at_idx;

-- events_p0_tenant_id_at_idx; Type: INDEX ATTACH
ALTER INDEX tenure.events_entries ATTACH PARTITION tenure.events_p0_tenant_id_at_idx;

-- events_p0_tenant_id_epoch_txid_seq_idx; Type: INDEX ATTACH
ALTER INDEX tenure.events_stream ATTACH PARTITION tenure.events_p0_tenant_id_epoch_txid_seq_idx;

-- events_p0_tenant_id_subject_at_idx; Type: INDEX ATTACH
ALTER INDEX tenure.events_subject ATTACH PARTITION tenure.events_p0_tenant_id_subject_at_idx;

-- jobs_p0_correlation_id_idx; Type: INDEX ATTACH
ALTER INDEX tenure.jobs_correlation_id ATTACH PARTITION tenure.jobs_p0_correlation_id_idx;

-- jobs_p0_parent_job_id_idx; Type: INDEX ATTACH
ALTER INDEX tenure.jobs_parent_job_id ATTACH PARTITION tenure.jobs_p0_parent_job_id_idx;

-- jobs_p0_pkey; Type: INDEX ATTACH
ALTER INDEX tenure.jobs_pkey ATTACH PARTITION tenure.jobs_p0_pkey;

-- jobs_p0_workflow_id_idx; Type: INDEX ATTACH
ALTER INDEX tenure.jobs_workflow_id ATTACH PARTITION tenure.jobs_p0_workflow_id_idx;

-- anchor_leaves anchor_leaves_frozen; Type: TRIGGER
CREATE TRIGGER anchor_leaves_frozen BEFORE UPDATE ON tenure.anchor_leaves FOR EACH ROW EXECUTE FUNCTION tenure.refuse_change();

-- anchors anchors_frozen; Type: TRIGGER
CREATE TRIGGER anchors_frozen BEFORE UPDATE OF number, at, installation, previous, leaf_count, root, key_id, signature, hash ON tenure.anchors FOR EACH ROW EXECUTE FUNCTION tenure.refuse_change();

-- anchors anchors_kept; Type: TRIGGER
CREATE TRIGGER anchors_kept BEFORE DELETE ON tenure.anchors FOR EACH ROW EXECUTE FUNCTION tenure.refuse_change();

-- approval_votes approval_votes_check; Type: TRIGGER
CREATE TRIGGER approval_votes_check BEFORE INSERT ON tenure.approval_votes FOR EACH ROW EXECUTE FUNCTION tenure.approval_votes_check();

-- approval_votes approval_votes_frozen; Type: TRIGGER
CREATE TRIGGER approval_votes_frozen BEFORE UPDATE ON tenure.approval_votes FOR EACH ROW EXECUTE FUNCTION tenure.refuse_change();

-- approval_votes approval_votes_kept; Type: TRIGGER
CREATE TRIGGER approval_votes_kept BEFORE DELETE ON tenure.approval_votes FOR EACH ROW EXECUTE FUNCTION tenure.refuse_loss();

-- approvals approvals_kept; Type: TRIGGER
CREATE TRIGGER approvals_kept BEFORE DELETE ON tenure.approvals FOR EACH ROW EXECUTE FUNCTION tenure.refuse_loss();

-- approvals approvals_move; Type: TRIGGER
CREATE TRIGGER approvals_move BEFORE INSERT OR UPDATE ON tenure.approvals FOR EACH ROW EXECUTE FUNCTION tenure.approvals_move();

-- attempts attempts_only_amended; Type: TRIGGER
CREATE TRIGGER attempts_only_amended BEFORE UPDATE ON tenure.attempts FOR EACH ROW EXECUTE FUNCTION tenure.attempts_only_amended();

-- events events_never_change; Type: TRIGGER
CREATE TRIGGER events_never_change BEFORE DELETE OR UPDATE ON tenure.events FOR EACH ROW EXECUTE FUNCTION tenure.events_never_change();

-- execution_archive_terms execution_archive_terms_frozen; Type: TRIGGER
CREATE TRIGGER execution_archive_terms_frozen BEFORE UPDATE ON tenure.execution_archive_terms FOR EACH ROW EXECUTE FUNCTION tenure.refuse_change();

-- execution_archives execution_archives_frozen; Type: TRIGGER
CREATE TRIGGER execution_archives_frozen BEFORE UPDATE ON tenure.execution_archives FOR EACH ROW EXECUTE FUNCTION tenure.refuse_change();

-- execution_events execution_events_frozen; Type: TRIGGER
CREATE TRIGGER execution_events_frozen BEFORE UPDATE ON tenure.execution_events FOR EACH ROW EXECUTE FUNCTION tenure.refuse_change();

-- execution_events execution_events_kept; Type: TRIGGER
CREATE TRIGGER execution_events_kept BEFORE DELETE ON tenure.execution_events FOR EACH ROW EXECUTE FUNCTION tenure.refuse_loss();

-- execution_states execution_states_begin; Type: TRIGGER
CREATE TRIGGER execution_states_begin BEFORE INSERT ON tenure.execution_states FOR EACH ROW WHEN ((new.state <> 'pending'::text)) EXECUTE FUNCTION tenure.execution_states_move();

-- execution_states execution_states_frozen; Type: TRIGGER
CREATE TRIGGER execution_states_frozen BEFORE UPDATE OF execution_id, tenant_id, created_at, sla_class, step_count ON tenure.execution_states FOR EACH ROW EXECUTE FUNCTION tenure.refuse_change();

-- execution_states execution_states_kept; Type: TRIGGER
CREATE TRIGGER execution_states_kept BEFORE DELETE ON tenure.execution_states FOR EACH ROW EXECUTE FUNCTION tenure.refuse_loss();

-- execution_states execution_states_move; Type: TRIGGER
CREATE TRIGGER execution_states_move AFTER UPDATE OF state ON tenure.execution_states FOR EACH ROW WHEN ((old.state <> new.state)) EXECUTE FUNCTION tenure.execution_states_move();

-- execution_states execution_states_values; Type: TRIGGER
CREATE TRIGGER execution_states_values AFTER INSERT OR UPDATE OF state, mode, parked, stopping, stopped_by, reason_code, last_transition_by, error_class, error_message, result_summary, started_at, ended_at, cancelled_at, cancelled_by ON tenure.execution_states FOR EACH ROW EXECUTE FUNCTION tenure.execution_states_values();

-- executions executions_frozen; Type: TRIGGER
CREATE TRIGGER executions_frozen BEFORE UPDATE ON tenure.executions FOR EACH ROW EXECUTE FUNCTION tenure.refuse_change();

-- executions executions_kept; Type: TRIGGER
CREATE TRIGGER executions_kept BEFORE DELETE ON tenure.executions FOR EACH ROW EXECUTE FUNCTION tenure.refuse_loss();

-- governance_changes governance_changes_kept; Type: TRIGGER
CREATE TRIGGER governance_changes_kept BEFORE DELETE ON tenure.governance_changes FOR EACH ROW EXECUTE FUNCTION tenure.governance_changes_kept();

-- governance_changes governance_changes_move; Type: TRIGGER
CREATE TRIGGER governance_changes_move BEFORE UPDATE ON tenure.governance_changes FOR EACH ROW EXECUTE FUNCTION tenure.governance_changes_move();

-- heartbeats heartbeats_only_executors; Type: TRIGGER
CREATE TRIGGER heartbeats_only_executors BEFORE INSERT OR UPDATE OF executor_kind ON tenure.heartbeats FOR EACH ROW EXECUTE FUNCTION tenure.heartbeats_only_executors();

-- jobs jobs_only_cleaned; Type: TRIGGER
CREATE TRIGGER jobs_only_cleaned BEFORE UPDATE ON tenure.jobs FOR EACH ROW EXECUTE FUNCTION tenure.jobs_only_cleaned();

-- planned_slots planned_slots_touched; Type: TRIGGER
CREATE TRIGGER planned_slots_touched BEFORE UPDATE ON tenure.planned_slots FOR EACH ROW WHEN ((new.updated_at = old.updated_at)) EXECUTE FUNCTION tenure.planned_slots_touched();

-- plans plans_frozen; Type: TRIGGER
CREATE TRIGGER plans_frozen BEFORE UPDATE ON tenure.plans FOR EACH ROW EXECUTE FUNCTION tenure.refuse_change();

-- plans plans_kept; Type: TRIGGER
CREATE TRIGGER plans_kept BEFORE DELETE ON tenure.plans FOR EACH ROW EXECUTE FUNCTION tenure.refuse_loss();

-- step_needs step_needs_frozen; Type: TRIGGER
CREATE TRIGGER step_needs_frozen BEFORE UPDATE ON tenure.step_needs FOR EACH ROW EXECUTE FUNCTION tenure.refuse_change();

-- step_runs step_runs_frozen; Type: TRIGGER
CREATE TRIGGER step_runs_frozen BEFORE UPDATE ON tenure.step_runs FOR EACH ROW EXECUTE FUNCTION tenure.refuse_change();

-- step_runs step_runs_kept; Type: TRIGGER
CREATE TRIGGER step_runs_kept BEFORE DELETE ON tenure.step_runs FOR EACH ROW EXECUTE FUNCTION tenure.refuse_loss();

-- step_states step_states_frozen; Type: TRIGGER
CREATE TRIGGER step_states_frozen BEFORE UPDATE OF execution_id, step_number, tenant_id, attempts_max ON tenure.step_states FOR EACH ROW EXECUTE FUNCTION tenure.refuse_change();

-- step_states step_states_kept; Type: TRIGGER
CREATE TRIGGER step_states_kept BEFORE DELETE ON tenure.step_states FOR EACH ROW EXECUTE FUNCTION tenure.refuse_loss();

-- steps steps_frozen; Type: TRIGGER
CREATE TRIGGER steps_frozen BEFORE UPDATE ON tenure.steps FOR EACH ROW EXECUTE FUNCTION tenure.refuse_change();

-- steps steps_kept; Type: TRIGGER
CREATE TRIGGER steps_kept BEFORE DELETE ON tenure.steps FOR EACH ROW EXECUTE FUNCTION tenure.refuse_loss();

-- actions actions_tenant_id_fkey; Type: FK CONSTRAINT
ALTER TABLE ONLY tenure.actions
    ADD CONSTRAINT actions_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenure.tenants(tenant_id);

-- anchor_cursors anchor_cursors_tenant_id_fkey; Type: FK CONSTRAINT
ALTER TABLE ONLY tenure.anchor_cursors
    ADD CONSTRAINT anchor_cursors_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenure.tenants(tenant_id);

-- anchor_leaves anchor_leaves_number_fkey; Type: FK CONSTRAINT
ALTER TABLE ONLY tenure.anchor_leaves
    ADD CONSTRAINT anchor_leaves_number_fkey FOREIGN KEY (number) REFERENCES tenure.anchors(number) DEFERRABLE INITIALLY DEFERRED;

-- anchors anchors_key_id_fkey; Type: FK CONSTRAINT
ALTER TABLE ONLY tenure.anchors
    ADD CONSTRAINT anchors_key_id_fkey FOREIGN KEY (key_id) REFERENCES tenure.evidence_keys(key_id);

-- approval_rules approval_rules_tenant_id_fkey; Type: FK CONSTRAINT
ALTER TABLE ONLY tenure.approval_rules
    ADD CONSTRAINT approval_rules_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenure.tenants(tenant_id);

-- approval_votes approval_votes_approval_id_fkey; Type: FK CONSTRAINT
ALTER TABLE ONLY tenure.approval_votes
    ADD CONSTRAINT approval_votes_approval_id_fkey FOREIGN KEY (approval_id) REFERENCES tenure.approvals(approval_id);

-- approvals approvals_execution_id_plan_hash_fkey; Type: FK CONSTRAINT
ALTER TABLE ONLY tenure.approvals
    ADD CONSTRAINT approvals_execution_id_plan_hash_fkey FOREIGN KEY (execution_id, plan_hash) REFERENCES tenure.plans(execution_id, plan_hash);

-- approvals approvals_execution_id_step_number_fkey; Type: FK CONSTRAINT
ALTER TABLE ONLY tenure.approvals
    ADD CONSTRAINT approvals_execution_id_step_number_fkey FOREIGN KEY (execution_id, step_number) REFERENCES tenure.steps(execution_id, step_number);

-- config config_key_fkey; Type: FK CONSTRAINT
ALTER TABLE ONLY tenure.config
    ADD CONSTRAINT config_key_fkey FOREIGN KEY (key) REFERENCES tenure.config_keys(key);

-- config config_tenant_id_fkey; Type: FK CONSTRAINT
ALTER TABLE ONLY tenure.config
    ADD CONSTRAINT config_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenure.tenants(tenant_id);

-- dead_letters dead_letters_tenant_id_fkey; Type: FK CONSTRAINT
ALTER TABLE ONLY tenure.dead_letters
    ADD CONSTRAINT dead_letters_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenure.tenants(tenant_id);

-- deliveries deliveries_subscription_id_fkey; Type: FK CONSTRAINT
ALTER TABLE ONLY tenure.deliveries
    ADD CONSTRAINT deliveries_subscription_id_fkey FOREIGN KEY (subscription_id) REFERENCES tenure.subscriptions(subscription_id);

-- execution_states execution_states_execution_id_fkey; Type: FK CONSTRAINT
ALTER TABLE ONLY tenure.execution_states
    ADD CONSTRAINT execution_states_execution_id_fkey FOREIGN KEY (execution_id) REFERENCES tenure.executions(execution_id);

-- executions executions_execution_id_plan_hash_fkey; Type: FK CONSTRAINT
ALTER TABLE ONLY tenure.executions
    ADD CONSTRAINT executions_execution_id_plan_hash_fkey FOREIGN KEY (execution_id, plan_hash) REFERENCES tenure.plans(execution_id, plan_hash);

-- freezes freezes_tenant_id_fkey; Type: FK CONSTRAINT
ALTER TABLE ONLY tenure.freezes
    ADD CONSTRAINT freezes_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenure.tenants(tenant_id);

-- governance_changes governance_changes_tenant_id_fkey; Type: FK CONSTRAINT
ALTER TABLE ONLY tenure.governance_changes
    ADD CONSTRAINT governance_changes_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenure.tenants(tenant_id);

-- heartbeats heartbeats_executor_kind_fkey; Type: FK CONSTRAINT
ALTER TABLE ONLY tenure.heartbeats
    ADD CONSTRAINT heartbeats_executor_kind_fkey FOREIGN KEY (executor_kind) REFERENCES tenure.executors(name);

-- heartbeats heartbeats_tenant_id_fkey; Type: FK CONSTRAINT
ALTER TABLE ONLY tenure.heartbeats
    ADD CONSTRAINT heartbeats_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenure.tenants(tenant_id);

-- keys keys_principal_id_fkey; Type: FK CONSTRAINT
ALTER TABLE ONLY tenure.keys
    ADD CONSTRAINT keys_principal_id_fkey FOREIGN KEY (principal_id) REFERENCES tenure.principals(principal_id);

-- keys keys_tenant_id_fkey; Type: FK CONSTRAINT
ALTER TABLE ONLY tenure.keys
    ADD CONSTRAINT keys_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenure.tenants(tenant_id);

-- kinds kinds_event_domain_fkey; Type: FK CONSTRAINT
ALTER TABLE ONLY tenure.kinds
    ADD CONSTRAINT kinds_event_domain_fkey FOREIGN KEY (event_domain) REFERENCES tenure.event_domains(domain);

-- kinds kinds_executor_fkey; Type: FK CONSTRAINT
ALTER TABLE ONLY tenure.kinds
    ADD CONSTRAINT kinds_executor_fkey FOREIGN KEY (executor) REFERENCES tenure.executors(name);

-- kinds kinds_tenant_id_fkey; Type: FK CONSTRAINT
ALTER TABLE ONLY tenure.kinds
    ADD CONSTRAINT kinds_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenure.tenants(tenant_id);

-- lanes lanes_executor_fkey; Type: FK CONSTRAINT
ALTER TABLE ONLY tenure.lanes
    ADD CONSTRAINT lanes_executor_fkey FOREIGN KEY (executor) REFERENCES tenure.executors(name);

-- lanes lanes_tenant_id_fkey; Type: FK CONSTRAINT
ALTER TABLE ONLY tenure.lanes
    ADD CONSTRAINT lanes_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenure.tenants(tenant_id);

-- lock_queue lock_queue_execution_id_step_number_fkey; Type: FK CONSTRAINT
ALTER TABLE ONLY tenure.lock_queue
    ADD CONSTRAINT lock_queue_execution_id_step_number_fkey FOREIGN KEY (execution_id, step_number) REFERENCES tenure.steps(execution_id, step_number);

-- lock_queue lock_queue_tenant_id_target_fkey; Type: FK CONSTRAINT
ALTER TABLE ONLY tenure.lock_queue
    ADD CONSTRAINT lock_queue_tenant_id_target_fkey FOREIGN KEY (tenant_id, target) REFERENCES tenure.lock_targets(tenant_id, target);

-- locks locks_tenant_id_target_fkey; Type: FK CONSTRAINT
ALTER TABLE ONLY tenure.locks
    ADD CONSTRAINT locks_tenant_id_target_fkey FOREIGN KEY (tenant_id, target) REFERENCES tenure.lock_targets(tenant_id, target);

-- logins logins_tenant_id_fkey; Type: FK CONSTRAINT
ALTER TABLE ONLY tenure.logins
    ADD CONSTRAINT logins_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenure.tenants(tenant_id);

-- planned_slots planned_slots_schedule_id_fkey; Type: FK CONSTRAINT
ALTER TABLE ONLY tenure.planned_slots
    ADD CONSTRAINT planned_slots_schedule_id_fkey FOREIGN KEY (schedule_id) REFERENCES tenure.schedules(schedule_id);

-- principals principals_tenant_id_fkey; Type: FK CONSTRAINT
ALTER TABLE ONLY tenure.principals
    ADD CONSTRAINT principals_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenure.tenants(tenant_id);

-- schedules schedules_tenant_id_fkey; Type: FK CONSTRAINT
ALTER TABLE ONLY tenure.schedules
    ADD CONSTRAINT schedules_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenure.tenants(tenant_id);

-- step_runs step_runs_execution_id_step_number_fkey; Type: FK CONSTRAINT
ALTER TABLE ONLY tenure.step_runs
    ADD CONSTRAINT step_runs_execution_id_step_number_fkey FOREIGN KEY (execution_id, step_number) REFERENCES tenure.steps(execution_id, step_number);

-- step_states step_states_execution_id_step_number_fkey; Type: FK CONSTRAINT
ALTER TABLE ONLY tenure.step_states
    ADD CONSTRAINT step_states_execution_id_step_number_fkey FOREIGN KEY (execution_id, step_number) REFERENCES tenure.steps(execution_id, step_number);

-- subscriptions subscriptions_tenant_id_fkey; Type: FK CONSTRAINT
ALTER TABLE ONLY tenure.subscriptions
    ADD CONSTRAINT subscriptions_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenure.tenants(tenant_id);

-- target_types target_types_tenant_id_fkey; Type: FK CONSTRAINT
ALTER TABLE ONLY tenure.target_types
    ADD CONSTRAINT target_types_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenure.tenants(tenant_id);

-- timeout_policies timeout_policies_tenant_id_fkey; Type: FK CONSTRAINT
ALTER TABLE ONLY tenure.timeout_policies
    ADD CONSTRAINT timeout_policies_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenure.tenants(tenant_id);

-- tunings tunings_tenant_id_fkey; Type: FK CONSTRAINT
ALTER TABLE ONLY tenure.tunings
    ADD CONSTRAINT tunings_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenure.tenants(tenant_id);

-- unbound_logins unbound_logins_tenant_id_fkey; Type: FK CONSTRAINT
ALTER TABLE ONLY tenure.unbound_logins
    ADD CONSTRAINT unbound_logins_tenant_id_fkey FOREIGN KEY (tenant_id) REFERENCES tenure.tenants(tenant_id);

-- actions; Type: ROW SECURITY
ALTER TABLE tenure.actions ENABLE ROW LEVEL SECURITY;

-- active; Type: ROW SECURITY
ALTER TABLE tenure.active ENABLE ROW LEVEL SECURITY;

-- anchor_cursors; Type: ROW SECURITY
ALTER TABLE tenure.anchor_cursors ENABLE ROW LEVEL SECURITY;

-- anchor_leaves; Type: ROW SECURITY
ALTER TABLE tenure.anchor_leaves ENABLE ROW LEVEL SECURITY;

-- anchor_pending; Type: ROW SECURITY
ALTER TABLE tenure.anchor_pending ENABLE ROW LEVEL SECURITY;

-- approval_rules; Type: ROW SECURITY
ALTER TABLE tenure.approval_rules ENABLE ROW LEVEL SECURITY;

-- approval_votes; Type: ROW SECURITY
ALTER TABLE tenure.approval_votes ENABLE ROW LEVEL SECURITY;

-- approvals; Type: ROW SECURITY
ALTER TABLE tenure.approvals ENABLE ROW LEVEL SECURITY;

-- attempts; Type: ROW SECURITY
ALTER TABLE tenure.attempts ENABLE ROW LEVEL SECURITY;

-- attempts_p0; Type: ROW SECURITY
ALTER TABLE tenure.attempts_p0 ENABLE ROW LEVEL SECURITY;

-- config; Type: ROW SECURITY
ALTER TABLE tenure.config ENABLE ROW LEVEL SECURITY;

-- dead_letters; Type: ROW SECURITY
ALTER TABLE tenure.dead_letters ENABLE ROW LEVEL SECURITY;

-- delayed; Type: ROW SECURITY
ALTER TABLE tenure.delayed ENABLE ROW LEVEL SECURITY;

-- deliveries; Type: ROW SECURITY
ALTER TABLE tenure.deliveries ENABLE ROW LEVEL SECURITY;

-- events; Type: ROW SECURITY
ALTER TABLE tenure.events ENABLE ROW LEVEL SECURITY;

-- events_p0; Type: ROW SECURITY
ALTER TABLE tenure.events_p0 ENABLE ROW LEVEL SECURITY;

-- evidence_keys; Type: ROW SECURITY
ALTER TABLE tenure.evidence_keys ENABLE ROW LEVEL SECURITY;

-- execution_archive_terms; Type: ROW SECURITY
ALTER TABLE tenure.execution_archive_terms ENABLE ROW LEVEL SECURITY;

-- execution_archives; Type: ROW SECURITY
ALTER TABLE tenure.execution_archives ENABLE ROW LEVEL SECURITY;

-- execution_dead_letters; Type: ROW SECURITY
ALTER TABLE tenure.execution_dead_letters ENABLE ROW LEVEL SECURITY;

-- execution_events; Type: ROW SECURITY
ALTER TABLE tenure.execution_events ENABLE ROW LEVEL SECURITY;

-- execution_states; Type: ROW SECURITY
ALTER TABLE tenure.execution_states ENABLE ROW LEVEL SECURITY;

-- executions; Type: ROW SECURITY
ALTER TABLE tenure.executions ENABLE ROW LEVEL SECURITY;

-- follow_ups; Type: ROW SECURITY
ALTER TABLE tenure.follow_ups ENABLE ROW LEVEL SECURITY;

-- freezes; Type: ROW SECURITY
ALTER TABLE tenure.freezes ENABLE ROW LEVEL SECURITY;

-- governance_changes; Type: ROW SECURITY
ALTER TABLE tenure.governance_changes ENABLE ROW LEVEL SECURITY;

-- heartbeats; Type: ROW SECURITY
ALTER TABLE tenure.heartbeats ENABLE ROW LEVEL SECURITY;

-- idempotency; Type: ROW SECURITY
ALTER TABLE tenure.idempotency ENABLE ROW LEVEL SECURITY;

-- jobs; Type: ROW SECURITY
ALTER TABLE tenure.jobs ENABLE ROW LEVEL SECURITY;

-- jobs_p0; Type: ROW SECURITY
ALTER TABLE tenure.jobs_p0 ENABLE ROW LEVEL SECURITY;

-- keys; Type: ROW SECURITY
ALTER TABLE tenure.keys ENABLE ROW LEVEL SECURITY;

-- kinds; Type: ROW SECURITY
ALTER TABLE tenure.kinds ENABLE ROW LEVEL SECURITY;

-- lanes; Type: ROW SECURITY
ALTER TABLE tenure.lanes ENABLE ROW LEVEL SECURITY;

-- leases; Type: ROW SECURITY
ALTER TABLE tenure.leases ENABLE ROW LEVEL SECURITY;

-- lock_queue; Type: ROW SECURITY
ALTER TABLE tenure.lock_queue ENABLE ROW LEVEL SECURITY;

-- lock_targets; Type: ROW SECURITY
ALTER TABLE tenure.lock_targets ENABLE ROW LEVEL SECURITY;

-- locks; Type: ROW SECURITY
ALTER TABLE tenure.locks ENABLE ROW LEVEL SECURITY;

-- logins; Type: ROW SECURITY
ALTER TABLE tenure.logins ENABLE ROW LEVEL SECURITY;

-- offers; Type: ROW SECURITY
ALTER TABLE tenure.offers ENABLE ROW LEVEL SECURITY;

-- actions own_tenant; Type: POLICY
CREATE POLICY own_tenant ON tenure.actions USING (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant)));

-- active own_tenant; Type: POLICY
CREATE POLICY own_tenant ON tenure.active FOR SELECT USING ((lane IN ( SELECT l.lane
   FROM tenure.lanes l)));

-- anchor_cursors own_tenant; Type: POLICY
CREATE POLICY own_tenant ON tenure.anchor_cursors USING (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant)));

-- anchor_leaves own_tenant; Type: POLICY
CREATE POLICY own_tenant ON tenure.anchor_leaves USING (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant)));

-- anchor_pending own_tenant; Type: POLICY
CREATE POLICY own_tenant ON tenure.anchor_pending USING (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant)));

-- approval_rules own_tenant; Type: POLICY
CREATE POLICY own_tenant ON tenure.approval_rules USING (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant)));

-- approval_votes own_tenant; Type: POLICY
CREATE POLICY own_tenant ON tenure.approval_votes USING (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant)));

-- approvals own_tenant; Type: POLICY
CREATE POLICY own_tenant ON tenure.approvals USING (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant)));

-- attempts own_tenant; Type: POLICY
CREATE POLICY own_tenant ON tenure.attempts FOR SELECT USING (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant)));

-- config own_tenant; Type: POLICY
CREATE POLICY own_tenant ON tenure.config USING (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR (tenant_id = 0) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant))) WITH CHECK (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant)));

-- dead_letters own_tenant; Type: POLICY
CREATE POLICY own_tenant ON tenure.dead_letters USING (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant))) WITH CHECK (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant)));

-- delayed own_tenant; Type: POLICY
CREATE POLICY own_tenant ON tenure.delayed FOR SELECT USING ((lane IN ( SELECT l.lane
   FROM tenure.lanes l)));

-- deliveries own_tenant; Type: POLICY
CREATE POLICY own_tenant ON tenure.deliveries USING (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant))) WITH CHECK (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant)));

-- events own_tenant; Type: POLICY
CREATE POLICY own_tenant ON tenure.events FOR SELECT USING (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant)));

-- execution_archive_terms own_tenant; Type: POLICY
CREATE POLICY own_tenant ON tenure.execution_archive_terms USING (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant)));

-- execution_archives own_tenant; Type: POLICY
CREATE POLICY own_tenant ON tenure.execution_archives USING (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant)));

-- execution_dead_letters own_tenant; Type: POLICY
CREATE POLICY own_tenant ON tenure.execution_dead_letters USING (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant)));

-- execution_events own_tenant; Type: POLICY
CREATE POLICY own_tenant ON tenure.execution_events USING (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant)));

-- execution_states own_tenant; Type: POLICY
CREATE POLICY own_tenant ON tenure.execution_states USING (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant)));

-- executions own_tenant; Type: POLICY
CREATE POLICY own_tenant ON tenure.executions USING (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant)));

-- follow_ups own_tenant; Type: POLICY
CREATE POLICY own_tenant ON tenure.follow_ups USING (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant)));

-- freezes own_tenant; Type: POLICY
CREATE POLICY own_tenant ON tenure.freezes USING (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant)));

-- governance_changes own_tenant; Type: POLICY
CREATE POLICY own_tenant ON tenure.governance_changes USING (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant)));

-- heartbeats own_tenant; Type: POLICY
CREATE POLICY own_tenant ON tenure.heartbeats USING (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant))) WITH CHECK (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant)));

-- jobs own_tenant; Type: POLICY
CREATE POLICY own_tenant ON tenure.jobs FOR SELECT USING (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant)));

-- kinds own_tenant; Type: POLICY
CREATE POLICY own_tenant ON tenure.kinds USING (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant))) WITH CHECK (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant)));

-- lanes own_tenant; Type: POLICY
CREATE POLICY own_tenant ON tenure.lanes USING (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant))) WITH CHECK (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant)));

-- leases own_tenant; Type: POLICY
CREATE POLICY own_tenant ON tenure.leases FOR SELECT USING (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant)));

-- lock_queue own_tenant; Type: POLICY
CREATE POLICY own_tenant ON tenure.lock_queue USING (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant)));

-- lock_targets own_tenant; Type: POLICY
CREATE POLICY own_tenant ON tenure.lock_targets USING (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant)));

-- locks own_tenant; Type: POLICY
CREATE POLICY own_tenant ON tenure.locks USING (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant)));

-- offers own_tenant; Type: POLICY
CREATE POLICY own_tenant ON tenure.offers FOR SELECT USING (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant)));

-- planned_slots own_tenant; Type: POLICY
CREATE POLICY own_tenant ON tenure.planned_slots USING (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant))) WITH CHECK (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant)));

-- plans own_tenant; Type: POLICY
CREATE POLICY own_tenant ON tenure.plans USING (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant)));

-- ready own_tenant; Type: POLICY
CREATE POLICY own_tenant ON tenure.ready FOR SELECT USING ((lane IN ( SELECT l.lane
   FROM tenure.lanes l)));

-- ready_marks own_tenant; Type: POLICY
CREATE POLICY own_tenant ON tenure.ready_marks FOR SELECT USING (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant)));

-- requests own_tenant; Type: POLICY
CREATE POLICY own_tenant ON tenure.requests USING (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant))) WITH CHECK (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant)));

-- schedules own_tenant; Type: POLICY
CREATE POLICY own_tenant ON tenure.schedules USING (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant))) WITH CHECK (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant)));

-- step_fences own_tenant; Type: POLICY
CREATE POLICY own_tenant ON tenure.step_fences USING (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant)));

-- step_needs own_tenant; Type: POLICY
CREATE POLICY own_tenant ON tenure.step_needs USING (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant)));

-- step_runs own_tenant; Type: POLICY
CREATE POLICY own_tenant ON tenure.step_runs USING (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant)));

-- step_states own_tenant; Type: POLICY
CREATE POLICY own_tenant ON tenure.step_states USING (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant)));

-- steps own_tenant; Type: POLICY
CREATE POLICY own_tenant ON tenure.steps USING (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant)));

-- subscriptions own_tenant; Type: POLICY
CREATE POLICY own_tenant ON tenure.subscriptions USING (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant))) WITH CHECK (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant)));

-- target_types own_tenant; Type: POLICY
CREATE POLICY own_tenant ON tenure.target_types USING (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant)));

-- tenants own_tenant; Type: POLICY
CREATE POLICY own_tenant ON tenure.tenants FOR SELECT TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer USING ((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)));

-- timeout_policies own_tenant; Type: POLICY
CREATE POLICY own_tenant ON tenure.timeout_policies USING (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant) OR (tenant_id = 0))) WITH CHECK (((tenant_id = ( SELECT tenure.current_tenant() AS current_tenant)) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant)));

-- tunings own_tenant; Type: POLICY
CREATE POLICY own_tenant ON tenure.tunings FOR SELECT USING (((tenant_id = ANY (ARRAY[( SELECT tenure.current_tenant() AS current_tenant), 0])) OR ( SELECT tenure.is_every_tenant() AS is_every_tenant)));

-- evidence_keys owner_sees_all; Type: POLICY
CREATE POLICY owner_sees_all ON tenure.evidence_keys TO tenure_owner USING (true) WITH CHECK (true);

-- keys owner_sees_all; Type: POLICY
CREATE POLICY owner_sees_all ON tenure.keys TO tenure_owner USING (true) WITH CHECK (true);

-- logins owner_sees_all; Type: POLICY
CREATE POLICY owner_sees_all ON tenure.logins TO tenure_owner USING (true) WITH CHECK (true);

-- principals owner_sees_all; Type: POLICY
CREATE POLICY owner_sees_all ON tenure.principals TO tenure_owner USING (true) WITH CHECK (true);

-- secrets owner_sees_all; Type: POLICY
CREATE POLICY owner_sees_all ON tenure.secrets TO tenure_owner USING (true) WITH CHECK (true);

-- tenants owner_sees_all; Type: POLICY
CREATE POLICY owner_sees_all ON tenure.tenants TO tenure_owner USING (true) WITH CHECK (true);

-- unbound_logins owner_sees_all; Type: POLICY
CREATE POLICY owner_sees_all ON tenure.unbound_logins TO tenure_owner USING (true) WITH CHECK (true);

-- planned_slots; Type: ROW SECURITY
ALTER TABLE tenure.planned_slots ENABLE ROW LEVEL SECURITY;

-- plans; Type: ROW SECURITY
ALTER TABLE tenure.plans ENABLE ROW LEVEL SECURITY;

-- principals; Type: ROW SECURITY
ALTER TABLE tenure.principals ENABLE ROW LEVEL SECURITY;

-- ready; Type: ROW SECURITY
ALTER TABLE tenure.ready ENABLE ROW LEVEL SECURITY;

-- ready_marks; Type: ROW SECURITY
ALTER TABLE tenure.ready_marks ENABLE ROW LEVEL SECURITY;

-- requests; Type: ROW SECURITY
ALTER TABLE tenure.requests ENABLE ROW LEVEL SECURITY;

-- schedules; Type: ROW SECURITY
ALTER TABLE tenure.schedules ENABLE ROW LEVEL SECURITY;

-- secrets; Type: ROW SECURITY
ALTER TABLE tenure.secrets ENABLE ROW LEVEL SECURITY;

-- step_fences; Type: ROW SECURITY
ALTER TABLE tenure.step_fences ENABLE ROW LEVEL SECURITY;

-- step_needs; Type: ROW SECURITY
ALTER TABLE tenure.step_needs ENABLE ROW LEVEL SECURITY;

-- step_runs; Type: ROW SECURITY
ALTER TABLE tenure.step_runs ENABLE ROW LEVEL SECURITY;

-- step_states; Type: ROW SECURITY
ALTER TABLE tenure.step_states ENABLE ROW LEVEL SECURITY;

-- steps; Type: ROW SECURITY
ALTER TABLE tenure.steps ENABLE ROW LEVEL SECURITY;

-- subscriptions; Type: ROW SECURITY
ALTER TABLE tenure.subscriptions ENABLE ROW LEVEL SECURITY;

-- target_types; Type: ROW SECURITY
ALTER TABLE tenure.target_types ENABLE ROW LEVEL SECURITY;

-- tenants; Type: ROW SECURITY
ALTER TABLE tenure.tenants ENABLE ROW LEVEL SECURITY;

-- timeout_policies; Type: ROW SECURITY
ALTER TABLE tenure.timeout_policies ENABLE ROW LEVEL SECURITY;

-- tunings; Type: ROW SECURITY
ALTER TABLE tenure.tunings ENABLE ROW LEVEL SECURITY;

-- unbound_logins; Type: ROW SECURITY
ALTER TABLE tenure.unbound_logins ENABLE ROW LEVEL SECURITY;

-- SCHEMA tenure; Type: ACL; Schema: -; Owner: -
GRANT USAGE ON SCHEMA tenure TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION accept_batch(p_tenant_id integer, p_now timestamp with time zone, p_jobs tenure.new_job[], OUT ids uuid[], OUT hashes uuid[], OUT related boolean, OUT timed boolean); Type: ACL
REVOKE ALL ON FUNCTION tenure.accept_batch(p_tenant_id integer, p_now timestamp with time zone, p_jobs tenure.new_job[], OUT ids uuid[], OUT hashes uuid[], OUT related boolean, OUT timed boolean) FROM PUBLIC;

-- FUNCTION act_for_key(p_key_id uuid, p_function text, p_tenant text, p_via text, p_traceparent text, OUT tenant text, OUT principal text); Type: ACL
REVOKE ALL ON FUNCTION tenure.act_for_key(p_key_id uuid, p_function text, p_tenant text, p_via text, p_traceparent text, OUT tenant text, OUT principal text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.act_for_key(p_key_id uuid, p_function text, p_tenant text, p_via text, p_traceparent text, OUT tenant text, OUT principal text) TO tenure_server;

-- FUNCTION action_complete(p_spec jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.action_complete(p_spec jsonb) FROM PUBLIC;

-- FUNCTION action_default(p_tenant_id integer, OUT is_open boolean, OUT action_class text, OUT level_min integer, OUT lock_scope text); Type: ACL
REVOKE ALL ON FUNCTION tenure.action_default(p_tenant_id integer, OUT is_open boolean, OUT action_class text, OUT level_min integer, OUT lock_scope text) FROM PUBLIC;

-- FUNCTION action_delete(p_name text); Type: ACL
REVOKE ALL ON FUNCTION tenure.action_delete(p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.action_delete(p_name text) TO tenure_server, tenure_admin;

-- FUNCTION action_list(); Type: ACL
REVOKE ALL ON FUNCTION tenure.action_list() FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.action_list() TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION action_match(p_tenant_id integer, p_action text, p_kind text); Type: ACL
REVOKE ALL ON FUNCTION tenure.action_match(p_tenant_id integer, p_action text, p_kind text) FROM PUBLIC;

-- FUNCTION action_set(p_name text, p_spec jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.action_set(p_name text, p_spec jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.action_set(p_name text, p_spec jsonb) TO tenure_server, tenure_admin;

-- FUNCTION action_show(p_name text, p_kind text); Type: ACL
REVOKE ALL ON FUNCTION tenure.action_show(p_name text, p_kind text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.action_show(p_name text, p_kind text) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION action_write(p_tenant_id integer, p_now timestamp with time zone, p_author text, p_name text, p_spec jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.action_write(p_tenant_id integer, p_now timestamp with time zone, p_author text, p_name text, p_spec jsonb) FROM PUBLIC;

-- FUNCTION acts_as(p_role text); Type: ACL
REVOKE ALL ON FUNCTION tenure.acts_as(p_role text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.acts_as(p_role text) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION alike_lane(p_caller tenure.caller_identity, p_like tenure.new_job); Type: ACL
REVOKE ALL ON FUNCTION tenure.alike_lane(p_caller tenure.caller_identity, p_like tenure.new_job) FROM PUBLIC;

-- FUNCTION alike_pass(p_micros bigint, p_tail text, p_scope text, p_rows integer, p_payloads json[], p_keys text[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.alike_pass(p_micros bigint, p_tail text, p_scope text, p_rows integer, p_payloads json[], p_keys text[]) FROM PUBLIC;

-- FUNCTION anchor_add(p_number bigint, p_at timestamp with time zone, p_key_id text, p_signature bytea); Type: ACL
REVOKE ALL ON FUNCTION tenure.anchor_add(p_number bigint, p_at timestamp with time zone, p_key_id text, p_signature bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.anchor_add(p_number bigint, p_at timestamp with time zone, p_key_id text, p_signature bytea) TO tenure_server;

-- FUNCTION anchor_begin(p_key_id text); Type: ACL
REVOKE ALL ON FUNCTION tenure.anchor_begin(p_key_id text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.anchor_begin(p_key_id text) TO tenure_server;

-- FUNCTION anchor_collect(p_rows_max integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.anchor_collect(p_rows_max integer) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.anchor_collect(p_rows_max integer) TO tenure_server;

-- FUNCTION anchor_covers(p_execution_id uuid, p_chain_length integer, p_chain_hash bytea); Type: ACL
REVOKE ALL ON FUNCTION tenure.anchor_covers(p_execution_id uuid, p_chain_length integer, p_chain_hash bytea) FROM PUBLIC;

-- FUNCTION anchor_differs(p_execution_id uuid, p_chain_length integer, p_chain_hash bytea, p_number_max bigint); Type: ACL
REVOKE ALL ON FUNCTION tenure.anchor_differs(p_execution_id uuid, p_chain_length integer, p_chain_hash bytea, p_number_max bigint) FROM PUBLIC;

-- FUNCTION anchor_due(p_now timestamp with time zone, OUT due boolean, OUT daily boolean); Type: ACL
REVOKE ALL ON FUNCTION tenure.anchor_due(p_now timestamp with time zone, OUT due boolean, OUT daily boolean) FROM PUBLIC;

-- FUNCTION anchor_hash(p_anchor tenure.anchors); Type: ACL
REVOKE ALL ON FUNCTION tenure.anchor_hash(p_anchor tenure.anchors) FROM PUBLIC;

-- FUNCTION anchor_heads(p_number bigint, p_tenant_id integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.anchor_heads(p_number bigint, p_tenant_id integer) FROM PUBLIC;

-- FUNCTION anchor_leaf_hash(p_tenant text, p_execution_id uuid, p_chain_length integer, p_chain_hash bytea); Type: ACL
REVOKE ALL ON FUNCTION tenure.anchor_leaf_hash(p_tenant text, p_execution_id uuid, p_chain_length integer, p_chain_hash bytea) FROM PUBLIC;

-- FUNCTION anchor_line(p_anchor tenure.anchors, p_tenant_id integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.anchor_line(p_anchor tenure.anchors, p_tenant_id integer) FROM PUBLIC;

-- FUNCTION anchor_list(p_after bigint, p_limit integer, p_heads boolean, p_newest boolean); Type: ACL
REVOKE ALL ON FUNCTION tenure.anchor_list(p_after bigint, p_limit integer, p_heads boolean, p_newest boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.anchor_list(p_after bigint, p_limit integer, p_heads boolean, p_newest boolean) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION anchor_proof(p_execution_id uuid, p_number bigint); Type: ACL
REVOKE ALL ON FUNCTION tenure.anchor_proof(p_execution_id uuid, p_number bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.anchor_proof(p_execution_id uuid, p_number bigint) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION anchor_proof_of(p_execution_id uuid, p_number bigint); Type: ACL
REVOKE ALL ON FUNCTION tenure.anchor_proof_of(p_execution_id uuid, p_number bigint) FROM PUBLIC;

-- FUNCTION anchor_published(p_sink text, p_number bigint, p_error text); Type: ACL
REVOKE ALL ON FUNCTION tenure.anchor_published(p_sink text, p_number bigint, p_error text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.anchor_published(p_sink text, p_number bigint, p_error text) TO tenure_server;

-- FUNCTION anchor_scan(p_cursor tenure.anchor_cursors, p_now timestamp with time zone, p_epoch integer, p_xmin xid8, p_rows_max integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.anchor_scan(p_cursor tenure.anchor_cursors, p_now timestamp with time zone, p_epoch integer, p_xmin xid8, p_rows_max integer) FROM PUBLIC;

-- FUNCTION anchor_show(p_number bigint); Type: ACL
REVOKE ALL ON FUNCTION tenure.anchor_show(p_number bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.anchor_show(p_number bigint) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION anchor_status(); Type: ACL
REVOKE ALL ON FUNCTION tenure.anchor_status() FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.anchor_status() TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION anchor_sweep(p_limit integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.anchor_sweep(p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.anchor_sweep(p_limit integer) TO tenure_server;

-- FUNCTION anchor_text(p_anchor tenure.anchors); Type: ACL
REVOKE ALL ON FUNCTION tenure.anchor_text(p_anchor tenure.anchors) FROM PUBLIC;

-- FUNCTION anchor_time(p_at timestamp with time zone); Type: ACL
REVOKE ALL ON FUNCTION tenure.anchor_time(p_at timestamp with time zone) FROM PUBLIC;

-- FUNCTION anchor_unsigned(p_at timestamp with time zone, p_key_id text); Type: ACL
REVOKE ALL ON FUNCTION tenure.anchor_unsigned(p_at timestamp with time zone, p_key_id text) FROM PUBLIC;

-- FUNCTION anchor_walk(p_now timestamp with time zone, p_restart boolean, p_rows_max integer, OUT more boolean, OUT rewritten jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.anchor_walk(p_now timestamp with time zone, p_restart boolean, p_rows_max integer, OUT more boolean, OUT rewritten jsonb) FROM PUBLIC;

-- FUNCTION approval_apply(p_now timestamp with time zone, p_actor text, p_approval tenure.approvals, p_reason text); Type: ACL
REVOKE ALL ON FUNCTION tenure.approval_apply(p_now timestamp with time zone, p_actor text, p_approval tenure.approvals, p_reason text) FROM PUBLIC;

-- FUNCTION milliseconds(p_from timestamp with time zone, p_to timestamp with time zone); Type: ACL
REVOKE ALL ON FUNCTION tenure.milliseconds(p_from timestamp with time zone, p_to timestamp with time zone) FROM PUBLIC;

-- FUNCTION approval_apply_to_plan(p_now timestamp with time zone, p_actor text, p_approval tenure.approvals, p_execution tenure.execution_rows); Type: ACL
REVOKE ALL ON FUNCTION tenure.approval_apply_to_plan(p_now timestamp with time zone, p_actor text, p_approval tenure.approvals, p_execution tenure.execution_rows) FROM PUBLIC;

-- FUNCTION approval_apply_to_step(p_now timestamp with time zone, p_actor text, p_approval tenure.approvals, p_execution tenure.execution_rows); Type: ACL
REVOKE ALL ON FUNCTION tenure.approval_apply_to_step(p_now timestamp with time zone, p_actor text, p_approval tenure.approvals, p_execution tenure.execution_rows) FROM PUBLIC;

-- FUNCTION approval_decide(p_approval_id uuid, p_decision text, p_plan_hash text, p_comment text, p_on_behalf_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.approval_decide(p_approval_id uuid, p_decision text, p_plan_hash text, p_comment text, p_on_behalf_of text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.approval_decide(p_approval_id uuid, p_decision text, p_plan_hash text, p_comment text, p_on_behalf_of text) TO tenure_server, tenure_approver;

-- FUNCTION approval_event(p_approval tenure.approvals); Type: ACL
REVOKE ALL ON FUNCTION tenure.approval_event(p_approval tenure.approvals) FROM PUBLIC;

-- FUNCTION approval_list(p_execution_id uuid, p_state text[], p_limit integer, p_after timestamp with time zone, p_after_id uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.approval_list(p_execution_id uuid, p_state text[], p_limit integer, p_after timestamp with time zone, p_after_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.approval_list(p_execution_id uuid, p_state text[], p_limit integer, p_after timestamp with time zone, p_after_id uuid) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION text_hash(p_text text); Type: ACL
REVOKE ALL ON FUNCTION tenure.text_hash(p_text text) FROM PUBLIC;

-- FUNCTION approval_request(p_now timestamp with time zone, p_execution tenure.execution_rows, p_plan tenure.plans, p_terms tenure.approval_terms); Type: ACL
REVOKE ALL ON FUNCTION tenure.approval_request(p_now timestamp with time zone, p_execution tenure.execution_rows, p_plan tenure.plans, p_terms tenure.approval_terms) FROM PUBLIC;

-- FUNCTION approval_request_data(p_approval tenure.approvals, p_execution tenure.execution_rows); Type: ACL
REVOKE ALL ON FUNCTION tenure.approval_request_data(p_approval tenure.approvals, p_execution tenure.execution_rows) FROM PUBLIC;

-- FUNCTION approval_rule_complete(p_tenant_id integer, p_name text, p_spec jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.approval_rule_complete(p_tenant_id integer, p_name text, p_spec jsonb) FROM PUBLIC;

-- FUNCTION approval_rule_delete(p_name text); Type: ACL
REVOKE ALL ON FUNCTION tenure.approval_rule_delete(p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.approval_rule_delete(p_name text) TO tenure_server, tenure_admin;

-- FUNCTION approval_rule_list(); Type: ACL
REVOKE ALL ON FUNCTION tenure.approval_rule_list() FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.approval_rule_list() TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION approval_rule_set(p_name text, p_spec jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.approval_rule_set(p_name text, p_spec jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.approval_rule_set(p_name text, p_spec jsonb) TO tenure_server, tenure_admin;

-- FUNCTION approval_rule_write(p_tenant_id integer, p_now timestamp with time zone, p_author text, p_name text, p_spec jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.approval_rule_write(p_tenant_id integer, p_now timestamp with time zone, p_author text, p_name text, p_spec jsonb) FROM PUBLIC;

-- FUNCTION approval_show(p_approval_id uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.approval_show(p_approval_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.approval_show(p_approval_id uuid) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION approval_trouble(p_approval tenure.approvals); Type: ACL
REVOKE ALL ON FUNCTION tenure.approval_trouble(p_approval tenure.approvals) FROM PUBLIC;

-- FUNCTION approval_voter(p_caller tenure.caller_identity, p_execution tenure.execution_rows, p_on_behalf_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.approval_voter(p_caller tenure.caller_identity, p_execution tenure.execution_rows, p_on_behalf_of text) FROM PUBLIC;

-- FUNCTION approval_votes_check(); Type: ACL
REVOKE ALL ON FUNCTION tenure.approval_votes_check() FROM PUBLIC;

-- FUNCTION approval_votes_of(p_approval_id uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.approval_votes_of(p_approval_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.approval_votes_of(p_approval_id uuid) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION approvals_move(); Type: ACL
REVOKE ALL ON FUNCTION tenure.approvals_move() FROM PUBLIC;

-- FUNCTION approver(p_caller tenure.caller_identity, OUT level integer, OUT roles text[], OUT auth_method text, OUT source text); Type: ACL
REVOKE ALL ON FUNCTION tenure.approver(p_caller tenure.caller_identity, OUT level integer, OUT roles text[], OUT auth_method text, OUT source text) FROM PUBLIC;

-- FUNCTION approvers_changed(p_now timestamp with time zone, p_names text[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.approvers_changed(p_now timestamp with time zone, p_names text[]) FROM PUBLIC;

-- FUNCTION are_clean(p_payloads json[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.are_clean(p_payloads json[]) FROM PUBLIC;

-- FUNCTION array_shape(p_array anyarray); Type: ACL
REVOKE ALL ON FUNCTION tenure.array_shape(p_array anyarray) FROM PUBLIC;

-- FUNCTION attempts_only_amended(); Type: ACL
REVOKE ALL ON FUNCTION tenure.attempts_only_amended() FROM PUBLIC;

-- FUNCTION attempts_spent(p_outcome text, p_started_at timestamp with time zone, p_attempt integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.attempts_spent(p_outcome text, p_started_at timestamp with time zone, p_attempt integer) FROM PUBLIC;

-- FUNCTION auth_makers(p_caller tenure.caller_identity); Type: ACL
REVOKE ALL ON FUNCTION tenure.auth_makers(p_caller tenure.caller_identity) FROM PUBLIC;

-- FUNCTION backoff_seconds(p_base integer, p_attempt integer, p_jitter_percent integer, p_fraction double precision); Type: ACL
REVOKE ALL ON FUNCTION tenure.backoff_seconds(p_base integer, p_attempt integer, p_jitter_percent integer, p_fraction double precision) FROM PUBLIC;

-- FUNCTION batch_id(p_micros bigint, p_tail text); Type: ACL
REVOKE ALL ON FUNCTION tenure.batch_id(p_micros bigint, p_tail text) FROM PUBLIC;

-- FUNCTION caller(); Type: ACL
REVOKE ALL ON FUNCTION tenure.caller() FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.caller() TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION canonical_number(p_number numeric); Type: ACL
REVOKE ALL ON FUNCTION tenure.canonical_number(p_number numeric) FROM PUBLIC;

-- FUNCTION canonical_text(p_value jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.canonical_text(p_value jsonb) FROM PUBLIC;

-- FUNCTION case_rules_keep(p_tenant_id integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.case_rules_keep(p_tenant_id integer) FROM PUBLIC;

-- FUNCTION chain_append(p_now timestamp with time zone, p_actor text, p_entries tenure.chain_entry[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.chain_append(p_now timestamp with time zone, p_actor text, p_entries tenure.chain_entry[]) FROM PUBLIC;

-- FUNCTION chain_link(p_hash bytea, p_seed bytea, p_body text); Type: ACL
REVOKE ALL ON FUNCTION tenure.chain_link(p_hash bytea, p_seed bytea, p_body text) FROM PUBLIC;

-- FUNCTION check_acted_for(p_on_behalf_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_acted_for(p_on_behalf_of text) FROM PUBLIC;

-- FUNCTION check_action_spec(p_name text, p_spec jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_action_spec(p_name text, p_spec jsonb) FROM PUBLIC;

-- FUNCTION check_actions(p_plan jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_actions(p_plan jsonb) FROM PUBLIC;

-- FUNCTION check_actor(p_what text, p_name text); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_actor(p_what text, p_name text) FROM PUBLIC;

-- FUNCTION check_alike(p_now timestamp with time zone, p_like tenure.new_job, p_rows integer, p_payloads json[], p_keys text[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_alike(p_now timestamp with time zone, p_like tenure.new_job, p_rows integer, p_payloads json[], p_keys text[]) FROM PUBLIC;

-- FUNCTION check_approval_open(p_now timestamp with time zone, p_approval tenure.approvals, p_execution tenure.execution_rows); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_approval_open(p_now timestamp with time zone, p_approval tenure.approvals, p_execution tenure.execution_rows) FROM PUBLIC;

-- FUNCTION check_claim(p_caller tenure.caller_identity, p_tuning tenure.tunings, p_worker text, p_executor text, p_limit integer, p_lease_seconds integer, p_mode text); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_claim(p_caller tenure.caller_identity, p_tuning tenure.tunings, p_worker text, p_executor text, p_limit integer, p_lease_seconds integer, p_mode text) FROM PUBLIC;

-- FUNCTION check_config_key(p_key text); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_config_key(p_key text) FROM PUBLIC;

-- FUNCTION check_counts_once(p_approval_id uuid, p_decision text, p_names text[], p_makers text[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_counts_once(p_approval_id uuid, p_decision text, p_names text[], p_makers text[]) FROM PUBLIC;

-- FUNCTION check_driven(p_caller tenure.caller_identity, p_executor text); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_driven(p_caller tenure.caller_identity, p_executor text) FROM PUBLIC;

-- FUNCTION check_ends(p_ends tenure.end_batch); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_ends(p_ends tenure.end_batch) FROM PUBLIC;

-- FUNCTION check_enqueue_rights(p_caller tenure.caller_identity, p_lanes integer[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_enqueue_rights(p_caller tenure.caller_identity, p_lanes integer[]) FROM PUBLIC;

-- FUNCTION check_event_kind(p_kind text); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_event_kind(p_kind text) FROM PUBLIC;

-- FUNCTION check_every_tenant(); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_every_tenant() FROM PUBLIC;

-- FUNCTION check_evidence_key(p_key_id text, p_public_key bytea); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_evidence_key(p_key_id text, p_public_key bytea) FROM PUBLIC;

-- FUNCTION check_executor(p_executor text, p_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_executor(p_executor text, p_of text) FROM PUBLIC;

-- FUNCTION check_fences(p_parts text[], p_fences bigint[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_fences(p_parts text[], p_fences bigint[]) FROM PUBLIC;

-- FUNCTION check_filter(p_what text, p_values text[], p_allowed text[], p_code text); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_filter(p_what text, p_values text[], p_allowed text[], p_code text) FROM PUBLIC;

-- FUNCTION check_gate(p_tenant_id integer, p_key text); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_gate(p_tenant_id integer, p_key text) FROM PUBLIC;

-- FUNCTION check_governing(p_caller tenure.caller_identity, p_value jsonb, p_old boolean); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_governing(p_caller tenure.caller_identity, p_value jsonb, p_old boolean) FROM PUBLIC;

-- FUNCTION check_held(p_job_id uuid, p_status text); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_held(p_job_id uuid, p_status text) FROM PUBLIC;

-- FUNCTION check_isolation(); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_isolation() FROM PUBLIC;

-- FUNCTION check_job(p_place text, p_now timestamp with time zone, p_job tenure.new_job); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_job(p_place text, p_now timestamp with time zone, p_job tenure.new_job) FROM PUBLIC;

-- FUNCTION check_job_exists(p_job_id uuid, p_tenant_id integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_job_exists(p_job_id uuid, p_tenant_id integer) FROM PUBLIC;

-- FUNCTION check_json_numbers(p_what text, p_value jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_json_numbers(p_what text, p_value jsonb) FROM PUBLIC;

-- FUNCTION check_kind_policy(p_policy jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_kind_policy(p_policy jsonb) FROM PUBLIC;

-- FUNCTION check_lock(p_now timestamp with time zone, p_tenant_id integer, p_principal text, p_part text, p_target text, p_action text, p_fence bigint); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_lock(p_now timestamp with time zone, p_tenant_id integer, p_principal text, p_part text, p_target text, p_action text, p_fence bigint) FROM PUBLIC;

-- FUNCTION check_lock_keys(p_plan jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_lock_keys(p_plan jsonb) FROM PUBLIC;

-- FUNCTION check_look_alikes(p_tenant_id integer, p_plan jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_look_alikes(p_tenant_id integer, p_plan jsonb) FROM PUBLIC;

-- FUNCTION check_makers(p_caller tenure.caller_identity, p_execution tenure.execution_rows, p_makers text[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_makers(p_caller tenure.caller_identity, p_execution tenure.execution_rows, p_makers text[]) FROM PUBLIC;

-- FUNCTION check_moment(p_what text, p_at timestamp with time zone, p_now timestamp with time zone); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_moment(p_what text, p_at timestamp with time zone, p_now timestamp with time zone) FROM PUBLIC;

-- FUNCTION check_name(p_what text, p_name text); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_name(p_what text, p_name text) FROM PUBLIC;

-- FUNCTION check_new_execution(p_caller tenure.caller_identity, p_now timestamp with time zone, p_submission tenure.submission, p_new tenure.new_execution); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_new_execution(p_caller tenure.caller_identity, p_now timestamp with time zone, p_submission tenure.submission, p_new tenure.new_execution) FROM PUBLIC;

-- FUNCTION check_not_own_login(p_caller tenure.caller_identity, p_login text, p_principal text); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_not_own_login(p_caller tenure.caller_identity, p_login text, p_principal text) FROM PUBLIC;

-- FUNCTION check_note(p_value jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_note(p_value jsonb) FROM PUBLIC;

-- FUNCTION check_number(p_what text, p_value bigint, p_min bigint, p_max bigint); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_number(p_what text, p_value bigint, p_min bigint, p_max bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.check_number(p_what text, p_value bigint, p_min bigint, p_max bigint) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION check_pairs(p_job_ids uuid[], p_tokens uuid[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_pairs(p_job_ids uuid[], p_tokens uuid[]) FROM PUBLIC;

-- FUNCTION check_payload(p_what text, p_payload json, p_bytes_max bigint); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_payload(p_what text, p_payload json, p_bytes_max bigint) FROM PUBLIC;

-- FUNCTION check_plan_here(p_caller tenure.caller_identity, p_now timestamp with time zone, p_plan jsonb, p_steps tenure.plan_step[], p_window jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_plan_here(p_caller tenure.caller_identity, p_now timestamp with time zone, p_plan jsonb, p_steps tenure.plan_step[], p_window jsonb) FROM PUBLIC;

-- FUNCTION check_reader(p_sub tenure.subscriptions); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_reader(p_sub tenure.subscriptions) FROM PUBLIC;

-- FUNCTION check_relatives(p_tenant_id integer, p_ids uuid[], p_hashes uuid[], p_jobs tenure.new_job[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_relatives(p_tenant_id integer, p_ids uuid[], p_hashes uuid[], p_jobs tenure.new_job[]) FROM PUBLIC;

-- FUNCTION check_repeatable(p_tenant_id integer, p_kind text); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_repeatable(p_tenant_id integer, p_kind text) FROM PUBLIC;

-- FUNCTION check_request(p_caller tenure.caller_identity, p_tuning tenure.tunings, p_claim tenure.claim_request); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_request(p_caller tenure.caller_identity, p_tuning tenure.tunings, p_claim tenure.claim_request) FROM PUBLIC;

-- FUNCTION check_reserved(p_source_systems text[], p_keys text[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_reserved(p_source_systems text[], p_keys text[]) FROM PUBLIC;

-- FUNCTION check_retry(p_caller tenure.caller_identity, p_execution tenure.execution_rows); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_retry(p_caller tenure.caller_identity, p_execution tenure.execution_rows) FROM PUBLIC;

-- FUNCTION check_retry_state(p_now timestamp with time zone, p_old tenure.execution_rows); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_retry_state(p_now timestamp with time zone, p_old tenure.execution_rows) FROM PUBLIC;

-- FUNCTION check_rule(p_name text, p_spec jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_rule(p_name text, p_spec jsonb) FROM PUBLIC;

-- FUNCTION check_second_admin(p_caller tenure.caller_identity, p_change tenure.governance_changes, p_makers text[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_second_admin(p_caller tenure.caller_identity, p_change tenure.governance_changes, p_makers text[]) FROM PUBLIC;

-- FUNCTION check_supersedes(p_caller tenure.caller_identity, p_old tenure.execution_rows, p_plan jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_supersedes(p_caller tenure.caller_identity, p_old tenure.execution_rows, p_plan jsonb) FROM PUBLIC;

-- FUNCTION check_superseding_key(p_tenant_id integer, p_submission tenure.submission); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_superseding_key(p_tenant_id integer, p_submission tenure.submission) FROM PUBLIC;

-- FUNCTION check_target_type_unused(p_tenant_id integer, p_name text, p_case_rule text); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_target_type_unused(p_tenant_id integer, p_name text, p_case_rule text) FROM PUBLIC;

-- FUNCTION check_targets(p_tenant_id integer, p_plan jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_targets(p_tenant_id integer, p_plan jsonb) FROM PUBLIC;

-- FUNCTION check_tenant(p_tenant_id integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_tenant(p_tenant_id integer) FROM PUBLIC;

-- FUNCTION check_texts(p_field text, p_value jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_texts(p_field text, p_value jsonb) FROM PUBLIC;

-- FUNCTION check_verdict(p_caller tenure.caller_identity, p_execution tenure.execution_rows, p_verdict text, p_on_behalf_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_verdict(p_caller tenure.caller_identity, p_execution tenure.execution_rows, p_verdict text, p_on_behalf_of text) FROM PUBLIC;

-- FUNCTION check_verdict_result(p_result jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_verdict_result(p_result jsonb) FROM PUBLIC;

-- FUNCTION check_vote(p_approval tenure.approvals, p_vote tenure.approval_votes); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_vote(p_approval tenure.approvals, p_vote tenure.approval_votes) FROM PUBLIC;

-- FUNCTION check_webhook_url(p_url text); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_webhook_url(p_url text) FROM PUBLIC;

-- FUNCTION check_window(p_window jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_window(p_window jsonb) FROM PUBLIC;

-- FUNCTION check_word(p_code text, p_what text, p_value text, p_allowed text[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.check_word(p_code text, p_what text, p_value text, p_allowed text[]) FROM PUBLIC;

-- FUNCTION claim_lanes(p_caller tenure.caller_identity, p_tuning tenure.tunings, p_executor text, p_kinds text[], p_lease_seconds integer, p_also_paused boolean, p_lanes integer[], p_lanes_max integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.claim_lanes(p_caller tenure.caller_identity, p_tuning tenure.tunings, p_executor text, p_kinds text[], p_lease_seconds integer, p_also_paused boolean, p_lanes integer[], p_lanes_max integer) FROM PUBLIC;

-- FUNCTION claim_marked(p_caller tenure.caller_identity, p_executor text, p_lane_after integer, p_last smallint, p_now timestamp with time zone, p_rows_max integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.claim_marked(p_caller tenure.caller_identity, p_executor text, p_lane_after integer, p_last smallint, p_now timestamp with time zone, p_rows_max integer) FROM PUBLIC;

-- FUNCTION claim_prepare(p_caller tenure.caller_identity, p_tuning tenure.tunings, p_now timestamp with time zone, p_claim tenure.claim_request); Type: ACL
REVOKE ALL ON FUNCTION tenure.claim_prepare(p_caller tenure.caller_identity, p_tuning tenure.tunings, p_now timestamp with time zone, p_claim tenure.claim_request) FROM PUBLIC;

-- FUNCTION claim_ranking(p_tenant_id integer, p_terms tenure.claim_terms, p_rank_last smallint); Type: ACL
REVOKE ALL ON FUNCTION tenure.claim_ranking(p_tenant_id integer, p_terms tenure.claim_terms, p_rank_last smallint) FROM PUBLIC;

-- FUNCTION claimed_job(p_job_id uuid, p_started timestamp with time zone); Type: ACL
REVOKE ALL ON FUNCTION tenure.claimed_job(p_job_id uuid, p_started timestamp with time zone) FROM PUBLIC;

-- FUNCTION class_reach(p_action_class text); Type: ACL
REVOKE ALL ON FUNCTION tenure.class_reach(p_action_class text) FROM PUBLIC;

-- FUNCTION clock_stood(p_execution tenure.execution_rows, p_from timestamp with time zone, p_to timestamp with time zone, p_approval_id uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.clock_stood(p_execution tenure.execution_rows, p_from timestamp with time zone, p_to timestamp with time zone, p_approval_id uuid) FROM PUBLIC;

-- FUNCTION config_get(p_key text); Type: ACL
REVOKE ALL ON FUNCTION tenure.config_get(p_key text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.config_get(p_key text) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION config_list(); Type: ACL
REVOKE ALL ON FUNCTION tenure.config_list() FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.config_list() TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION config_lock(p_tenant_id integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.config_lock(p_tenant_id integer) FROM PUBLIC;

-- FUNCTION config_set(p_key text, p_value jsonb, p_on_behalf_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.config_set(p_key text, p_value jsonb, p_on_behalf_of text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.config_set(p_key text, p_value jsonb, p_on_behalf_of text) TO tenure_server, tenure_admin;

-- FUNCTION config_write(p_tenant_id integer, p_now timestamp with time zone, p_author text, p_on_behalf_of text, p_key text, p_value jsonb, p_approval jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.config_write(p_tenant_id integer, p_now timestamp with time zone, p_author text, p_on_behalf_of text, p_key text, p_value jsonb, p_approval jsonb) FROM PUBLIC;

-- FUNCTION current_epoch(); Type: ACL
REVOKE ALL ON FUNCTION tenure.current_epoch() FROM PUBLIC;

-- FUNCTION current_tenant(); Type: ACL
REVOKE ALL ON FUNCTION tenure.current_tenant() FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.current_tenant() TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION cursor_parts(p_cursor text, OUT epoch integer, OUT txid xid8, OUT seq bigint); Type: ACL
REVOKE ALL ON FUNCTION tenure.cursor_parts(p_cursor text, OUT epoch integer, OUT txid xid8, OUT seq bigint) FROM PUBLIC;

-- FUNCTION cursor_text(p_epoch integer, p_txid xid8, p_seq bigint); Type: ACL
REVOKE ALL ON FUNCTION tenure.cursor_text(p_epoch integer, p_txid xid8, p_seq bigint) FROM PUBLIC;

-- FUNCTION cut_text(p_text text, p_bytes_max integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.cut_text(p_text text, p_bytes_max integer) FROM PUBLIC;

-- COLUMN dead_letters.dead_letter_id; Type: ACL
GRANT SELECT(dead_letter_id) ON TABLE tenure.dead_letters TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN dead_letters.tenant_id; Type: ACL
GRANT SELECT(tenant_id) ON TABLE tenure.dead_letters TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN dead_letters.job_id; Type: ACL
GRANT SELECT(job_id) ON TABLE tenure.dead_letters TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN dead_letters.run; Type: ACL
GRANT SELECT(run) ON TABLE tenure.dead_letters TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN dead_letters.kind; Type: ACL
GRANT SELECT(kind) ON TABLE tenure.dead_letters TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN dead_letters.executor; Type: ACL
GRANT SELECT(executor) ON TABLE tenure.dead_letters TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN dead_letters.event_domain; Type: ACL
GRANT SELECT(event_domain) ON TABLE tenure.dead_letters TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN dead_letters.priority; Type: ACL
GRANT SELECT(priority) ON TABLE tenure.dead_letters TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN dead_letters.attempts; Type: ACL
GRANT SELECT(attempts) ON TABLE tenure.dead_letters TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN dead_letters.attempts_max; Type: ACL
GRANT SELECT(attempts_max) ON TABLE tenure.dead_letters TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN dead_letters.payload_classification; Type: ACL
GRANT SELECT(payload_classification) ON TABLE tenure.dead_letters TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN dead_letters.source_ref; Type: ACL
GRANT SELECT(source_ref) ON TABLE tenure.dead_letters TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN dead_letters.target_ref; Type: ACL
GRANT SELECT(target_ref) ON TABLE tenure.dead_letters TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN dead_letters.payload_ref; Type: ACL
GRANT SELECT(payload_ref) ON TABLE tenure.dead_letters TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN dead_letters.idempotency_key; Type: ACL
GRANT SELECT(idempotency_key) ON TABLE tenure.dead_letters TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN dead_letters.affinity_key; Type: ACL
GRANT SELECT(affinity_key) ON TABLE tenure.dead_letters TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN dead_letters.correlation_id; Type: ACL
GRANT SELECT(correlation_id) ON TABLE tenure.dead_letters TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN dead_letters.parent_job_id; Type: ACL
GRANT SELECT(parent_job_id) ON TABLE tenure.dead_letters TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN dead_letters.workflow_id; Type: ACL
GRANT SELECT(workflow_id) ON TABLE tenure.dead_letters TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN dead_letters.run_id; Type: ACL
GRANT SELECT(run_id) ON TABLE tenure.dead_letters TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN dead_letters.source_system; Type: ACL
GRANT SELECT(source_system) ON TABLE tenure.dead_letters TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN dead_letters.actor; Type: ACL
GRANT SELECT(actor) ON TABLE tenure.dead_letters TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN dead_letters.job_created_at; Type: ACL
GRANT SELECT(job_created_at) ON TABLE tenure.dead_letters TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN dead_letters.final_error; Type: ACL
GRANT SELECT(final_error) ON TABLE tenure.dead_letters TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN dead_letters.error_code; Type: ACL
GRANT SELECT(error_code) ON TABLE tenure.dead_letters TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN dead_letters.error_class; Type: ACL
GRANT SELECT(error_class) ON TABLE tenure.dead_letters TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN dead_letters.fingerprint; Type: ACL
GRANT SELECT(fingerprint) ON TABLE tenure.dead_letters TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN dead_letters.moved_at; Type: ACL
GRANT SELECT(moved_at) ON TABLE tenure.dead_letters TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN dead_letters.moved_by; Type: ACL
GRANT SELECT(moved_by) ON TABLE tenure.dead_letters TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN dead_letters.triage_status; Type: ACL
GRANT SELECT(triage_status) ON TABLE tenure.dead_letters TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN dead_letters.triage_note; Type: ACL
GRANT SELECT(triage_note) ON TABLE tenure.dead_letters TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN dead_letters.triaged_at; Type: ACL
GRANT SELECT(triaged_at) ON TABLE tenure.dead_letters TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN dead_letters.triaged_by; Type: ACL
GRANT SELECT(triaged_by) ON TABLE tenure.dead_letters TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN dead_letters.replayed_as; Type: ACL
GRANT SELECT(replayed_as) ON TABLE tenure.dead_letters TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN dead_letters.replayed_at; Type: ACL
GRANT SELECT(replayed_at) ON TABLE tenure.dead_letters TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION dead_letter_job(p_row tenure.dead_letters); Type: ACL
REVOKE ALL ON FUNCTION tenure.dead_letter_job(p_row tenure.dead_letters) FROM PUBLIC;

-- FUNCTION dead_letter_list(p_triage_status text[], p_kind text, p_fingerprint text, p_before timestamp with time zone, p_limit integer, p_before_id uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.dead_letter_list(p_triage_status text[], p_kind text, p_fingerprint text, p_before timestamp with time zone, p_limit integer, p_before_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.dead_letter_list(p_triage_status text[], p_kind text, p_fingerprint text, p_before timestamp with time zone, p_limit integer, p_before_id uuid) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION dead_letter_replay(p_dead_letter_id uuid, p_on_behalf_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.dead_letter_replay(p_dead_letter_id uuid, p_on_behalf_of text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.dead_letter_replay(p_dead_letter_id uuid, p_on_behalf_of text) TO tenure_server, tenure_admin, tenure_operator;

-- FUNCTION dead_letter_replay_preview(p_dead_letter_id uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.dead_letter_replay_preview(p_dead_letter_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.dead_letter_replay_preview(p_dead_letter_id uuid) TO tenure_server, tenure_admin, tenure_operator;

-- FUNCTION dead_letter_row(p_dead_letter_id uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.dead_letter_row(p_dead_letter_id uuid) FROM PUBLIC;

-- FUNCTION dead_letter_show(p_dead_letter_id uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.dead_letter_show(p_dead_letter_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.dead_letter_show(p_dead_letter_id uuid) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION dead_letter_triage(p_dead_letter_id uuid, p_status text, p_note text, p_on_behalf_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.dead_letter_triage(p_dead_letter_id uuid, p_status text, p_note text, p_on_behalf_of text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.dead_letter_triage(p_dead_letter_id uuid, p_status text, p_note text, p_on_behalf_of text) TO tenure_server, tenure_admin, tenure_operator;

-- FUNCTION dead_letters_sweep(p_tenants integer[], p_now timestamp with time zone, p_limit integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.dead_letters_sweep(p_tenants integer[], p_now timestamp with time zone, p_limit integer) FROM PUBLIC;

-- FUNCTION dead_letters_write(p_now timestamp with time zone, p_actor text, p_rulings tenure.run_ruling[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.dead_letters_write(p_now timestamp with time zone, p_actor text, p_rulings tenure.run_ruling[]) FROM PUBLIC;

-- FUNCTION deceptive_sign(p_text text); Type: ACL
REVOKE ALL ON FUNCTION tenure.deceptive_sign(p_text text) FROM PUBLIC;

-- FUNCTION deliveries_add(p_sub tenure.subscriptions, p_now timestamp with time zone, p_parts jsonb[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.deliveries_add(p_sub tenure.subscriptions, p_now timestamp with time zone, p_parts jsonb[]) FROM PUBLIC;

-- FUNCTION delivery_claim(p_limit integer, p_lease_seconds integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.delivery_claim(p_limit integer, p_lease_seconds integer) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.delivery_claim(p_limit integer, p_lease_seconds integer) TO tenure_server;

-- FUNCTION delivery_end(p_delivery_ids uuid[], p_attempts integer[], p_statuses integer[], p_errors text[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.delivery_end(p_delivery_ids uuid[], p_attempts integer[], p_statuses integer[], p_errors text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.delivery_end(p_delivery_ids uuid[], p_attempts integer[], p_statuses integer[], p_errors text[]) TO tenure_server;

-- FUNCTION delivery_list(p_subscription text, p_state text[], p_limit integer, p_before bigint); Type: ACL
REVOKE ALL ON FUNCTION tenure.delivery_list(p_subscription text, p_state text[], p_limit integer, p_before bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.delivery_list(p_subscription text, p_state text[], p_limit integer, p_before bigint) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION delivery_retry(p_delivery_id uuid, p_on_behalf_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.delivery_retry(p_delivery_id uuid, p_on_behalf_of text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.delivery_retry(p_delivery_id uuid, p_on_behalf_of text) TO tenure_server, tenure_admin, tenure_operator;

-- FUNCTION delivery_sweep(p_limit integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.delivery_sweep(p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.delivery_sweep(p_limit integer) TO tenure_server, tenure_admin, tenure_operator;

-- FUNCTION doctor(); Type: ACL
REVOKE ALL ON FUNCTION tenure.doctor() FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.doctor() TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION emit(p_at timestamp with time zone, p_tenant_id integer, p_kind text, p_actor text, p_on_behalf_of text, p_subject text, p_data jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.emit(p_at timestamp with time zone, p_tenant_id integer, p_kind text, p_actor text, p_on_behalf_of text, p_subject text, p_data jsonb) FROM PUBLIC;

-- FUNCTION end_fault(p_outcome text, p_result jsonb, p_result_ref text, p_delay_seconds integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.end_fault(p_outcome text, p_result jsonb, p_result_ref text, p_delay_seconds integer) FROM PUBLIC;

-- FUNCTION end_of_late(p_job_id uuid, p_tenant_id integer, p_lane integer, p_run integer, p_attempts integer, p_due timestamp with time zone, p_deadline timestamp with time zone); Type: ACL
REVOKE ALL ON FUNCTION tenure.end_of_late(p_job_id uuid, p_tenant_id integer, p_lane integer, p_run integer, p_attempts integer, p_due timestamp with time zone, p_deadline timestamp with time zone) FROM PUBLIC;

-- FUNCTION ends_answer(p_caller tenure.caller_identity, p_now timestamp with time zone, p_ends tenure.end_batch, p_taken tenure.batch_taken, p_answers text); Type: ACL
REVOKE ALL ON FUNCTION tenure.ends_answer(p_caller tenure.caller_identity, p_now timestamp with time zone, p_ends tenure.end_batch, p_taken tenure.batch_taken, p_answers text) FROM PUBLIC;

-- FUNCTION ends_follow(p_now timestamp with time zone, p_actor text, p_lanes integer[], p_job_ids uuid[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.ends_follow(p_now timestamp with time zone, p_actor text, p_lanes integer[], p_job_ids uuid[]) FROM PUBLIC;

-- FUNCTION ends_of(p_ends tenure.end_batch, p_outcome text); Type: ACL
REVOKE ALL ON FUNCTION tenure.ends_of(p_ends tenure.end_batch, p_outcome text) FROM PUBLIC;

-- FUNCTION enqueue_alike(p_caller tenure.caller_identity, p_tuning tenure.tunings, p_now timestamp with time zone, p_like tenure.new_job, p_rows integer, p_payloads json[], p_keys text[], p_hand boolean, OUT ids uuid[], OUT hashes uuid[], OUT unmade uuid[], OUT handed boolean); Type: ACL
REVOKE ALL ON FUNCTION tenure.enqueue_alike(p_caller tenure.caller_identity, p_tuning tenure.tunings, p_now timestamp with time zone, p_like tenure.new_job, p_rows integer, p_payloads json[], p_keys text[], p_hand boolean, OUT ids uuid[], OUT hashes uuid[], OUT unmade uuid[], OUT handed boolean) FROM PUBLIC;

-- FUNCTION enqueue_batch(p_caller tenure.caller_identity, p_tuning tenure.tunings, p_now timestamp with time zone, p_jobs tenure.new_job[], OUT ids uuid[], OUT hashes uuid[], OUT unmade uuid[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.enqueue_batch(p_caller tenure.caller_identity, p_tuning tenure.tunings, p_now timestamp with time zone, p_jobs tenure.new_job[], OUT ids uuid[], OUT hashes uuid[], OUT unmade uuid[]) FROM PUBLIC;

-- FUNCTION enqueue_lanes(p_caller tenure.caller_identity, p_tuning tenure.tunings, p_jobs tenure.new_job[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.enqueue_lanes(p_caller tenure.caller_identity, p_tuning tenure.tunings, p_jobs tenure.new_job[]) FROM PUBLIC;

-- FUNCTION entry_times(p_tenant_id integer, p_subject text); Type: ACL
REVOKE ALL ON FUNCTION tenure.entry_times(p_tenant_id integer, p_subject text) FROM PUBLIC;

-- FUNCTION epoch_after(p_epoch integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.epoch_after(p_epoch integer) FROM PUBLIC;

-- FUNCTION error_fingerprint(p_kind text, p_code text, p_message text); Type: ACL
REVOKE ALL ON FUNCTION tenure.error_fingerprint(p_kind text, p_code text, p_message text) FROM PUBLIC;

-- FUNCTION event_end(); Type: ACL
REVOKE ALL ON FUNCTION tenure.event_end() FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.event_end() TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION event_entries(p_seq bigint, p_kind text, p_subject text, p_data jsonb, p_entries tenure.event_entry[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.event_entries(p_seq bigint, p_kind text, p_subject text, p_data jsonb, p_entries tenure.event_entry[]) FROM PUBLIC;

-- FUNCTION event_kinds(); Type: ACL
REVOKE ALL ON FUNCTION tenure.event_kinds() FROM PUBLIC;

-- FUNCTION event_list(p_after text, p_limit integer, p_kind text, p_subject text, p_newest boolean); Type: ACL
REVOKE ALL ON FUNCTION tenure.event_list(p_after text, p_limit integer, p_kind text, p_subject text, p_newest boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.event_list(p_after text, p_limit integer, p_kind text, p_subject text, p_newest boolean) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION events_held_off(); Type: ACL
REVOKE ALL ON FUNCTION tenure.events_held_off() FROM PUBLIC;

-- FUNCTION events_never_change(); Type: ACL
REVOKE ALL ON FUNCTION tenure.events_never_change() FROM PUBLIC;

-- FUNCTION evidence_error(p_message text); Type: ACL
REVOKE ALL ON FUNCTION tenure.evidence_error(p_message text) FROM PUBLIC;

-- FUNCTION evidence_key_add(p_key_id text, p_public_key bytea, p_secret_key bytea, p_first boolean); Type: ACL
REVOKE ALL ON FUNCTION tenure.evidence_key_add(p_key_id text, p_public_key bytea, p_secret_key bytea, p_first boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.evidence_key_add(p_key_id text, p_public_key bytea, p_secret_key bytea, p_first boolean) TO tenure_server;

-- FUNCTION evidence_key_current(); Type: ACL
REVOKE ALL ON FUNCTION tenure.evidence_key_current() FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.evidence_key_current() TO tenure_server;

-- FUNCTION evidence_key_list(); Type: ACL
REVOKE ALL ON FUNCTION tenure.evidence_key_list() FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.evidence_key_list() TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION evidence_key_register(p_key_id text, p_public_key bytea); Type: ACL
REVOKE ALL ON FUNCTION tenure.evidence_key_register(p_key_id text, p_public_key bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.evidence_key_register(p_key_id text, p_public_key bytea) TO tenure_server;

-- FUNCTION evidence_key_signing(); Type: ACL
REVOKE ALL ON FUNCTION tenure.evidence_key_signing() FROM PUBLIC;

-- FUNCTION evidence_payload(p_payload jsonb, p_restricted boolean); Type: ACL
REVOKE ALL ON FUNCTION tenure.evidence_payload(p_payload jsonb, p_restricted boolean) FROM PUBLIC;

-- FUNCTION evidence_plan(p_execution_id uuid, p_plan text); Type: ACL
REVOKE ALL ON FUNCTION tenure.evidence_plan(p_execution_id uuid, p_plan text) FROM PUBLIC;

-- FUNCTION evidence_rows(p_execution tenure.execution_rows); Type: ACL
REVOKE ALL ON FUNCTION tenure.evidence_rows(p_execution tenure.execution_rows) FROM PUBLIC;

-- FUNCTION excerpt(p_text text); Type: ACL
REVOKE ALL ON FUNCTION tenure.excerpt(p_text text) FROM PUBLIC;

-- FUNCTION execution_admit(p_now timestamp with time zone, p_actor text, p_execution_id uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_admit(p_now timestamp with time zone, p_actor text, p_execution_id uuid) FROM PUBLIC;

-- FUNCTION execution_approval_stands(p_now timestamp with time zone, p_execution tenure.execution_rows); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_approval_stands(p_now timestamp with time zone, p_execution tenure.execution_rows) FROM PUBLIC;

-- FUNCTION execution_approve_by_rule(p_now timestamp with time zone, p_actor text, p_execution tenure.execution_rows, p_plan tenure.plans); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_approve_by_rule(p_now timestamp with time zone, p_actor text, p_execution tenure.execution_rows, p_plan tenure.plans) FROM PUBLIC;

-- FUNCTION execution_archive(p_execution_id uuid, p_evidence text); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_archive(p_execution_id uuid, p_evidence text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.execution_archive(p_execution_id uuid, p_evidence text) TO tenure_server;

-- FUNCTION execution_archive_due(p_limit integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_archive_due(p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.execution_archive_due(p_limit integer) TO tenure_server;

-- FUNCTION execution_archive_list(p_state text[], p_requested_by text, p_target text, p_correlation_id text, p_ended_after timestamp with time zone, p_ended_before timestamp with time zone, p_before uuid, p_limit integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_archive_list(p_state text[], p_requested_by text, p_target text, p_correlation_id text, p_ended_after timestamp with time zone, p_ended_before timestamp with time zone, p_before uuid, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.execution_archive_list(p_state text[], p_requested_by text, p_target text, p_correlation_id text, p_ended_after timestamp with time zone, p_ended_before timestamp with time zone, p_before uuid, p_limit integer) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION execution_archive_show(p_execution_id uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_archive_show(p_execution_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.execution_archive_show(p_execution_id uuid) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION execution_archive_terms_add(p_execution_id uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_archive_terms_add(p_execution_id uuid) FROM PUBLIC;

-- FUNCTION execution_background(p_execution_id uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_background(p_execution_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.execution_background(p_execution_id uuid) TO tenure_server, tenure_admin, tenure_operator, tenure_requester;

-- FUNCTION execution_become(p_now timestamp with time zone, p_actor text, p_execution_id uuid, p_state text, p_reason_code text, p_reason text); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_become(p_now timestamp with time zone, p_actor text, p_execution_id uuid, p_state text, p_reason_code text, p_reason text) FROM PUBLIC;

-- FUNCTION execution_cancel(p_execution_id uuid, p_reason text, p_on_behalf_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_cancel(p_execution_id uuid, p_reason text, p_on_behalf_of text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.execution_cancel(p_execution_id uuid, p_reason text, p_on_behalf_of text) TO tenure_server, tenure_admin, tenure_operator;

-- FUNCTION execution_close(p_execution_id uuid, p_reason text); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_close(p_execution_id uuid, p_reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.execution_close(p_execution_id uuid, p_reason text) TO tenure_server, tenure_admin, tenure_operator;

-- FUNCTION execution_dead_letter_list(p_days integer, p_triage_status text[], p_limit integer, p_before timestamp with time zone, p_before_id uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_dead_letter_list(p_days integer, p_triage_status text[], p_limit integer, p_before timestamp with time zone, p_before_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.execution_dead_letter_list(p_days integer, p_triage_status text[], p_limit integer, p_before timestamp with time zone, p_before_id uuid) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION execution_dead_letter_show(p_execution_id uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_dead_letter_show(p_execution_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.execution_dead_letter_show(p_execution_id uuid) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION execution_dead_letter_triage(p_execution_id uuid, p_status text, p_note text); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_dead_letter_triage(p_execution_id uuid, p_status text, p_note text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.execution_dead_letter_triage(p_execution_id uuid, p_status text, p_note text) TO tenure_server, tenure_admin, tenure_operator;

-- FUNCTION execution_dead_letters_write(p_ids uuid[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_dead_letters_write(p_ids uuid[]) FROM PUBLIC;

-- FUNCTION execution_difference(p_execution_id uuid, p_other_id uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_difference(p_execution_id uuid, p_other_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.execution_difference(p_execution_id uuid, p_other_id uuid) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION execution_end_state(p_succeeded integer, p_step_count integer, p_stopping text); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_end_state(p_succeeded integer, p_step_count integer, p_stopping text) FROM PUBLIC;

-- FUNCTION execution_end_unstarted(p_now timestamp with time zone, p_actor text, p_execution_id uuid, p_reason_code text, p_reason text, p_on_behalf_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_end_unstarted(p_now timestamp with time zone, p_actor text, p_execution_id uuid, p_reason_code text, p_reason text, p_on_behalf_of text) FROM PUBLIC;

-- FUNCTION execution_ended(p_execution_ids uuid[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_ended(p_execution_ids uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.execution_ended(p_execution_ids uuid[]) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION execution_evidence(p_execution_id uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_evidence(p_execution_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.execution_evidence(p_execution_id uuid) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION execution_freeze(p_reason text, p_until timestamp with time zone); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_freeze(p_reason text, p_until timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.execution_freeze(p_reason text, p_until timestamp with time zone) TO tenure_server, tenure_admin, tenure_operator;

-- FUNCTION execution_freeze_plan(p_caller tenure.caller_identity, p_now timestamp with time zone, p_submission tenure.submission); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_freeze_plan(p_caller tenure.caller_identity, p_now timestamp with time zone, p_submission tenure.submission) FROM PUBLIC;

-- FUNCTION execution_handle_due(p_now timestamp with time zone, p_execution_id uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_handle_due(p_now timestamp with time zone, p_execution_id uuid) FROM PUBLIC;

-- FUNCTION execution_key(p_tenant_id integer, p_principal text, p_plan_hash text); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_key(p_tenant_id integer, p_principal text, p_plan_hash text) FROM PUBLIC;

-- FUNCTION execution_lapses_at(p_now timestamp with time zone, p_execution tenure.execution_rows); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_lapses_at(p_now timestamp with time zone, p_execution tenure.execution_rows) FROM PUBLIC;

-- FUNCTION execution_list(p_state text[], p_requested_by text, p_target text, p_before uuid, p_limit integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_list(p_state text[], p_requested_by text, p_target text, p_before uuid, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.execution_list(p_state text[], p_requested_by text, p_target text, p_before uuid, p_limit integer) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION execution_locked(p_tenant_id integer, p_execution_id uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_locked(p_tenant_id integer, p_execution_id uuid) FROM PUBLIC;

-- FUNCTION execution_moves(); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_moves() FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.execution_moves() TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION execution_park(p_now timestamp with time zone, p_execution tenure.execution_rows); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_park(p_now timestamp with time zone, p_execution tenure.execution_rows) FROM PUBLIC;

-- FUNCTION execution_plan(p_execution_id uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_plan(p_execution_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.execution_plan(p_execution_id uuid) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION execution_preview(p_plan text, p_on_behalf_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_preview(p_plan text, p_on_behalf_of text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.execution_preview(p_plan text, p_on_behalf_of text) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION execution_request_approval(p_now timestamp with time zone, p_actor text, p_execution tenure.execution_rows, p_plan tenure.plans, p_terms tenure.approval_terms); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_request_approval(p_now timestamp with time zone, p_actor text, p_execution tenure.execution_rows, p_plan tenure.plans, p_terms tenure.approval_terms) FROM PUBLIC;

-- FUNCTION execution_requesters(p_principal text, p_on_behalf_of text, p_retry_of uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_requesters(p_principal text, p_on_behalf_of text, p_retry_of uuid) FROM PUBLIC;

-- FUNCTION execution_resolve(p_execution_id uuid, p_step_id text, p_verdict text, p_reason text, p_result jsonb, p_on_behalf_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_resolve(p_execution_id uuid, p_step_id text, p_verdict text, p_reason text, p_result jsonb, p_on_behalf_of text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.execution_resolve(p_execution_id uuid, p_step_id text, p_verdict text, p_reason text, p_result jsonb, p_on_behalf_of text) TO tenure_server, tenure_admin, tenure_operator;

-- FUNCTION execution_retry(p_execution_id uuid, p_mode text, p_reason text, p_on_behalf_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_retry(p_execution_id uuid, p_mode text, p_reason text, p_on_behalf_of text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.execution_retry(p_execution_id uuid, p_mode text, p_reason text, p_on_behalf_of text) TO tenure_server, tenure_admin, tenure_operator, tenure_requester;

-- FUNCTION execution_show(p_execution_id uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_show(p_execution_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.execution_show(p_execution_id uuid) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION execution_states_move(); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_states_move() FROM PUBLIC;

-- FUNCTION execution_states_values(); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_states_values() FROM PUBLIC;

-- FUNCTION execution_stop(p_now timestamp with time zone, p_actor text, p_execution_id uuid, p_stopping text, p_reason_code text, p_reason text, p_on_behalf_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_stop(p_now timestamp with time zone, p_actor text, p_execution_id uuid, p_stopping text, p_reason_code text, p_reason text, p_on_behalf_of text) FROM PUBLIC;

-- FUNCTION execution_submit(p_plan text, p_key text, p_plan_hash text, p_supersedes uuid, p_start_after timestamp with time zone, p_start_before timestamp with time zone, p_metadata jsonb, p_on_behalf_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_submit(p_plan text, p_key text, p_plan_hash text, p_supersedes uuid, p_start_after timestamp with time zone, p_start_before timestamp with time zone, p_metadata jsonb, p_on_behalf_of text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.execution_submit(p_plan text, p_key text, p_plan_hash text, p_supersedes uuid, p_start_after timestamp with time zone, p_start_before timestamp with time zone, p_metadata jsonb, p_on_behalf_of text) TO tenure_server, tenure_admin, tenure_operator, tenure_requester;

-- FUNCTION execution_supersede(p_caller tenure.caller_identity, p_now timestamp with time zone, p_submission tenure.submission, OUT answer jsonb, OUT difference jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_supersede(p_caller tenure.caller_identity, p_now timestamp with time zone, p_submission tenure.submission, OUT answer jsonb, OUT difference jsonb) FROM PUBLIC;

-- FUNCTION execution_targets(p_execution_id uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_targets(p_execution_id uuid) FROM PUBLIC;

-- FUNCTION execution_terms(p_execution tenure.execution_rows, p_plan jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_terms(p_execution tenure.execution_rows, p_plan jsonb) FROM PUBLIC;

-- FUNCTION execution_tick(p_limit integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_tick(p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.execution_tick(p_limit integer) TO tenure_server, tenure_admin, tenure_operator;

-- FUNCTION execution_timeline(p_execution_id uuid, p_after integer, p_limit integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_timeline(p_execution_id uuid, p_after integer, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.execution_timeline(p_execution_id uuid, p_after integer, p_limit integer) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION execution_unfreeze(p_reason text); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_unfreeze(p_reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.execution_unfreeze(p_reason text) TO tenure_server, tenure_admin, tenure_operator;

-- FUNCTION execution_waits(p_now timestamp with time zone, p_execution tenure.execution_rows); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_waits(p_now timestamp with time zone, p_execution tenure.execution_rows) FROM PUBLIC;

-- FUNCTION execution_withdraw(p_execution_id uuid, p_reason text); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_withdraw(p_execution_id uuid, p_reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.execution_withdraw(p_execution_id uuid, p_reason text) TO tenure_server, tenure_admin, tenure_operator, tenure_requester;

-- FUNCTION execution_write(p_caller tenure.caller_identity, p_now timestamp with time zone, p_submission tenure.submission, p_new tenure.new_execution); Type: ACL
REVOKE ALL ON FUNCTION tenure.execution_write(p_caller tenure.caller_identity, p_now timestamp with time zone, p_submission tenure.submission, p_new tenure.new_execution) FROM PUBLIC;

-- FUNCTION executions_advance(p_now timestamp with time zone, p_actor text, p_execs uuid[], p_numbers integer[], p_states text[], p_entries tenure.chain_entry[], p_freed text); Type: ACL
REVOKE ALL ON FUNCTION tenure.executions_advance(p_now timestamp with time zone, p_actor text, p_execs uuid[], p_numbers integer[], p_states text[], p_entries tenure.chain_entry[], p_freed text) FROM PUBLIC;

-- FUNCTION executions_finish(p_now timestamp with time zone, p_actor text, p_ids uuid[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.executions_finish(p_now timestamp with time zone, p_actor text, p_ids uuid[]) FROM PUBLIC;

-- FUNCTION executions_lock_rows(p_ids uuid[], p_job_ids uuid[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.executions_lock_rows(p_ids uuid[], p_job_ids uuid[]) FROM PUBLIC;

-- FUNCTION executions_may_start(p_now timestamp with time zone, p_ids uuid[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.executions_may_start(p_now timestamp with time zone, p_ids uuid[]) FROM PUBLIC;

-- FUNCTION executions_set_due(p_now timestamp with time zone, p_ids uuid[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.executions_set_due(p_now timestamp with time zone, p_ids uuid[]) FROM PUBLIC;

-- FUNCTION executions_start(p_now timestamp with time zone, p_actor text, p_execs uuid[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.executions_start(p_now timestamp with time zone, p_actor text, p_execs uuid[]) FROM PUBLIC;

-- FUNCTION executions_try_start(p_now timestamp with time zone, p_actor text, p_ids uuid[], p_patience text); Type: ACL
REVOKE ALL ON FUNCTION tenure.executions_try_start(p_now timestamp with time zone, p_actor text, p_ids uuid[], p_patience text) FROM PUBLIC;

-- FUNCTION executor_beat(p_name text, p_executor text, p_status text, p_current_job_id uuid, p_metadata jsonb, p_instance uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.executor_beat(p_name text, p_executor text, p_status text, p_current_job_id uuid, p_metadata jsonb, p_instance uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.executor_beat(p_name text, p_executor text, p_status text, p_current_job_id uuid, p_metadata jsonb, p_instance uuid) TO tenure_server, tenure_worker;

-- FUNCTION executor_list(); Type: ACL
REVOKE ALL ON FUNCTION tenure.executor_list() FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.executor_list() TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION executor_seen(p_tenant_id integer, p_name text, p_executor text, p_lane integer, p_principal text, p_tuning tenure.tunings, p_now timestamp with time zone); Type: ACL
REVOKE ALL ON FUNCTION tenure.executor_seen(p_tenant_id integer, p_name text, p_executor text, p_lane integer, p_principal text, p_tuning tenure.tunings, p_now timestamp with time zone) FROM PUBLIC;

-- FUNCTION explain_ended(p_job jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.explain_ended(p_job jsonb) FROM PUBLIC;

-- FUNCTION explain_executor(p_tenant_id integer, p_now timestamp with time zone, p_executor text); Type: ACL
REVOKE ALL ON FUNCTION tenure.explain_executor(p_tenant_id integer, p_now timestamp with time zone, p_executor text) FROM PUBLIC;

-- FUNCTION explain_held(p_now timestamp with time zone, p_job jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.explain_held(p_now timestamp with time zone, p_job jsonb) FROM PUBLIC;

-- FUNCTION explain_kind(p_tenant_id integer, p_kind text); Type: ACL
REVOKE ALL ON FUNCTION tenure.explain_kind(p_tenant_id integer, p_kind text) FROM PUBLIC;

-- FUNCTION explain_times(p_now timestamp with time zone, p_job jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.explain_times(p_now timestamp with time zone, p_job jsonb) FROM PUBLIC;

-- FUNCTION explain_turn(p_job jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.explain_turn(p_job jsonb) FROM PUBLIC;

-- FUNCTION fence_of(p_job_id uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.fence_of(p_job_id uuid) FROM PUBLIC;

-- FUNCTION follow_up_failed(p_task text, p_tenant_id integer, p_subject text, p_now timestamp with time zone, p_reason text); Type: ACL
REVOKE ALL ON FUNCTION tenure.follow_up_failed(p_task text, p_tenant_id integer, p_subject text, p_now timestamp with time zone, p_reason text) FROM PUBLIC;

-- FUNCTION follow_up_note(p_task text, p_tenants integer[], p_subjects text[], p_due_at timestamp with time zone, p_reason text); Type: ACL
REVOKE ALL ON FUNCTION tenure.follow_up_note(p_task text, p_tenants integer[], p_subjects text[], p_due_at timestamp with time zone, p_reason text) FROM PUBLIC;

-- FUNCTION follow_up_take(p_task text, p_tenant_id integer, p_subject text); Type: ACL
REVOKE ALL ON FUNCTION tenure.follow_up_take(p_task text, p_tenant_id integer, p_subject text) FROM PUBLIC;

-- FUNCTION follow_ups_due(p_task text, p_tenants integer[], p_limit integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.follow_ups_due(p_task text, p_tenants integer[], p_limit integer) FROM PUBLIC;

-- FUNCTION forbidden_path(p_payload json); Type: ACL
REVOKE ALL ON FUNCTION tenure.forbidden_path(p_payload json) FROM PUBLIC;

-- FUNCTION gate_set(p_key text, p_position text, p_on_behalf_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.gate_set(p_key text, p_position text, p_on_behalf_of text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.gate_set(p_key text, p_position text, p_on_behalf_of text) TO tenure_server, tenure_admin, tenure_operator;

-- FUNCTION governance_apply(p_change tenure.governance_changes, p_now timestamp with time zone); Type: ACL
REVOKE ALL ON FUNCTION tenure.governance_apply(p_change tenure.governance_changes, p_now timestamp with time zone) FROM PUBLIC;

-- FUNCTION governance_change(p_caller tenure.caller_identity, p_subject text, p_name text, p_operation text, p_new jsonb, p_on_behalf_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.governance_change(p_caller tenure.caller_identity, p_subject text, p_name text, p_operation text, p_new jsonb, p_on_behalf_of text) FROM PUBLIC;

-- FUNCTION governance_change_decide(p_change_id uuid, p_decision text, p_comment text); Type: ACL
REVOKE ALL ON FUNCTION tenure.governance_change_decide(p_change_id uuid, p_decision text, p_comment text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.governance_change_decide(p_change_id uuid, p_decision text, p_comment text) TO tenure_server, tenure_admin;

-- FUNCTION governance_change_list(p_state text[], p_limit integer, p_before timestamp with time zone, p_before_id uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.governance_change_list(p_state text[], p_limit integer, p_before timestamp with time zone, p_before_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.governance_change_list(p_state text[], p_limit integer, p_before timestamp with time zone, p_before_id uuid) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION governance_changes_kept(); Type: ACL
REVOKE ALL ON FUNCTION tenure.governance_changes_kept() FROM PUBLIC;

-- FUNCTION governance_changes_move(); Type: ACL
REVOKE ALL ON FUNCTION tenure.governance_changes_move() FROM PUBLIC;

-- FUNCTION governance_content(p_tenant_id integer, p_subject text, p_name text); Type: ACL
REVOKE ALL ON FUNCTION tenure.governance_content(p_tenant_id integer, p_subject text, p_name text) FROM PUBLIC;

-- FUNCTION governance_needs_approval(p_tenant_id integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.governance_needs_approval(p_tenant_id integer) FROM PUBLIC;

-- FUNCTION governance_remove(p_tenant_id integer, p_subject text, p_name text); Type: ACL
REVOKE ALL ON FUNCTION tenure.governance_remove(p_tenant_id integer, p_subject text, p_name text) FROM PUBLIC;

-- FUNCTION has_long_number(p_value jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.has_long_number(p_value jsonb) FROM PUBLIC;

-- FUNCTION health(); Type: ACL
REVOKE ALL ON FUNCTION tenure.health() FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.health() TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION heartbeats_only_executors(); Type: ACL
REVOKE ALL ON FUNCTION tenure.heartbeats_only_executors() FROM PUBLIC;

-- FUNCTION id_floor(p_at timestamp with time zone); Type: ACL
REVOKE ALL ON FUNCTION tenure.id_floor(p_at timestamp with time zone) FROM PUBLIC;

-- FUNCTION id_time(p_id uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.id_time(p_id uuid) FROM PUBLIC;

-- FUNCTION idempotency_hash(p_scope text, p_key text); Type: ACL
REVOKE ALL ON FUNCTION tenure.idempotency_hash(p_scope text, p_key text) FROM PUBLIC;

-- FUNCTION idempotency_kept(p_job_id uuid, p_ended_at timestamp with time zone, p_now timestamp with time zone); Type: ACL
REVOKE ALL ON FUNCTION tenure.idempotency_kept(p_job_id uuid, p_ended_at timestamp with time zone, p_now timestamp with time zone) FROM PUBLIC;

-- FUNCTION idempotency_prove(p_job_ids uuid[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.idempotency_prove(p_job_ids uuid[]) FROM PUBLIC;

-- FUNCTION idempotency_scope(p_tenant_id integer, p_kind text); Type: ACL
REVOKE ALL ON FUNCTION tenure.idempotency_scope(p_tenant_id integer, p_kind text) FROM PUBLIC;

-- FUNCTION idempotency_take(p_ids uuid[], p_hashes uuid[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.idempotency_take(p_ids uuid[], p_hashes uuid[]) FROM PUBLIC;

-- FUNCTION installation_check(); Type: ACL
REVOKE ALL ON FUNCTION tenure.installation_check() FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.installation_check() TO tenure_server;

-- FUNCTION installation_stamp(p_functions_hash text, p_restored boolean); Type: ACL
REVOKE ALL ON FUNCTION tenure.installation_stamp(p_functions_hash text, p_restored boolean) FROM PUBLIC;

-- FUNCTION is_blank(p_text text); Type: ACL
REVOKE ALL ON FUNCTION tenure.is_blank(p_text text) FROM PUBLIC;

-- FUNCTION is_event_wanted(p_kind text, p_subject text, p_of_kind text, p_of_subject text); Type: ACL
REVOKE ALL ON FUNCTION tenure.is_event_wanted(p_kind text, p_subject text, p_of_kind text, p_of_subject text) FROM PUBLIC;

-- FUNCTION is_every_tenant(); Type: ACL
REVOKE ALL ON FUNCTION tenure.is_every_tenant() FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.is_every_tenant() TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION is_governed(p_tenant_id integer, p_kind text); Type: ACL
REVOKE ALL ON FUNCTION tenure.is_governed(p_tenant_id integer, p_kind text) FROM PUBLIC;

-- FUNCTION is_governed_key(p_key text); Type: ACL
REVOKE ALL ON FUNCTION tenure.is_governed_key(p_key text) FROM PUBLIC;

-- FUNCTION is_kind_of(p_kind text, p_event_kinds text[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.is_kind_of(p_kind text, p_event_kinds text[]) FROM PUBLIC;

-- FUNCTION is_moment(p_text text); Type: ACL
REVOKE ALL ON FUNCTION tenure.is_moment(p_text text) FROM PUBLIC;

-- FUNCTION is_plan_number(p_text text); Type: ACL
REVOKE ALL ON FUNCTION tenure.is_plan_number(p_text text) FROM PUBLIC;

-- FUNCTION is_plan_restricted(p_execution_id uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.is_plan_restricted(p_execution_id uuid) FROM PUBLIC;

-- FUNCTION is_requester(p_execution tenure.execution_rows, p_names text[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.is_requester(p_execution tenure.execution_rows, p_names text[]) FROM PUBLIC;

-- FUNCTION is_resolved_so(p_execution_id uuid, p_plan jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.is_resolved_so(p_execution_id uuid, p_plan jsonb) FROM PUBLIC;

-- FUNCTION is_ruled_so(p_execution_id uuid, p_tenant_id integer, p_requesters text[], p_plan jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.is_ruled_so(p_execution_id uuid, p_tenant_id integer, p_requesters text[], p_plan jsonb) FROM PUBLIC;

-- FUNCTION is_run_chained(p_step tenure.step_rows, p_job_id uuid, p_run integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.is_run_chained(p_step tenure.step_rows, p_job_id uuid, p_run integer) FROM PUBLIC;

-- FUNCTION is_settled(p_execution tenure.execution_rows); Type: ACL
REVOKE ALL ON FUNCTION tenure.is_settled(p_execution tenure.execution_rows) FROM PUBLIC;

-- FUNCTION is_trusted(); Type: ACL
REVOKE ALL ON FUNCTION tenure.is_trusted() FROM PUBLIC;

-- FUNCTION is_unreadable(p_value jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.is_unreadable(p_value jsonb) FROM PUBLIC;

-- FUNCTION job_acknowledge_cancel(p_job_id uuid, p_token uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.job_acknowledge_cancel(p_job_id uuid, p_token uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.job_acknowledge_cancel(p_job_id uuid, p_token uuid) TO tenure_server, tenure_worker;

-- FUNCTION job_cancel(p_job_id uuid, p_reason text, p_mode text, p_on_behalf_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.job_cancel(p_job_id uuid, p_reason text, p_mode text, p_on_behalf_of text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.job_cancel(p_job_id uuid, p_reason text, p_mode text, p_on_behalf_of text) TO tenure_server, tenure_admin, tenure_operator;

-- FUNCTION job_claim(p_worker text, p_executor text, p_kinds text[], p_lease_seconds integer, p_mode text, p_affinity_key text, p_priority_min integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.job_claim(p_worker text, p_executor text, p_kinds text[], p_lease_seconds integer, p_mode text, p_affinity_key text, p_priority_min integer) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.job_claim(p_worker text, p_executor text, p_kinds text[], p_lease_seconds integer, p_mode text, p_affinity_key text, p_priority_min integer) TO tenure_server, tenure_worker;

-- FUNCTION job_claim_many(p_worker text, p_executor text, p_kinds text[], p_limit integer, p_lease_seconds integer, p_mode text, p_token uuid, p_affinity_key text, p_lane_after integer, p_hint_lane integer, p_hint_rank smallint, p_hint_due timestamp with time zone, p_hint_at timestamp with time zone, p_priority_min integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.job_claim_many(p_worker text, p_executor text, p_kinds text[], p_limit integer, p_lease_seconds integer, p_mode text, p_token uuid, p_affinity_key text, p_lane_after integer, p_hint_lane integer, p_hint_rank smallint, p_hint_due timestamp with time zone, p_hint_at timestamp with time zone, p_priority_min integer) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.job_claim_many(p_worker text, p_executor text, p_kinds text[], p_limit integer, p_lease_seconds integer, p_mode text, p_token uuid, p_affinity_key text, p_lane_after integer, p_hint_lane integer, p_hint_rank smallint, p_hint_due timestamp with time zone, p_hint_at timestamp with time zone, p_priority_min integer) TO tenure_server, tenure_worker;

-- FUNCTION job_complete(p_job_id uuid, p_token uuid, p_result jsonb, p_result_ref text); Type: ACL
REVOKE ALL ON FUNCTION tenure.job_complete(p_job_id uuid, p_token uuid, p_result jsonb, p_result_ref text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.job_complete(p_job_id uuid, p_token uuid, p_result jsonb, p_result_ref text) TO tenure_server, tenure_worker;

-- FUNCTION job_dead_letter(p_job_id uuid, p_reason text, p_on_behalf_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.job_dead_letter(p_job_id uuid, p_reason text, p_on_behalf_of text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.job_dead_letter(p_job_id uuid, p_reason text, p_on_behalf_of text) TO tenure_server, tenure_admin, tenure_operator;

-- FUNCTION job_depth(p_job_id uuid, p_depth_max integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.job_depth(p_job_id uuid, p_depth_max integer) FROM PUBLIC;

-- FUNCTION job_end_many(p_job_ids uuid[], p_tokens uuid[], p_outcomes text[], p_results jsonb[], p_result_refs text[], p_error_codes text[], p_error_classes text[], p_error_messages text[], p_delay_seconds integer[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.job_end_many(p_job_ids uuid[], p_tokens uuid[], p_outcomes text[], p_results jsonb[], p_result_refs text[], p_error_codes text[], p_error_classes text[], p_error_messages text[], p_delay_seconds integer[]) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.job_end_many(p_job_ids uuid[], p_tokens uuid[], p_outcomes text[], p_results jsonb[], p_result_refs text[], p_error_codes text[], p_error_classes text[], p_error_messages text[], p_delay_seconds integer[]) TO tenure_server, tenure_worker;

-- FUNCTION job_end_one(p_job_id uuid, p_token uuid, p_outcome text, p_result jsonb, p_result_ref text, p_error tenure.run_error, p_delay_seconds integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.job_end_one(p_job_id uuid, p_token uuid, p_outcome text, p_result jsonb, p_result_ref text, p_error tenure.run_error, p_delay_seconds integer) FROM PUBLIC;

-- FUNCTION job_ended(p_job_ids uuid[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.job_ended(p_job_ids uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.job_ended(p_job_ids uuid[]) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION job_enqueue(p_kind text, p_payload jsonb, p_key text, p_executor text, p_priority text, p_due timestamp with time zone, p_deadline timestamp with time zone, p_source_ref text, p_target_ref text, p_payload_ref text, p_classification text, p_attempts_max integer, p_correlation_id text, p_causation_event bigint, p_parent_job_id uuid, p_workflow_id uuid, p_run_id uuid, p_affinity_key text, p_event_domain text, p_source_system text, p_job_id uuid, p_on_behalf_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.job_enqueue(p_kind text, p_payload jsonb, p_key text, p_executor text, p_priority text, p_due timestamp with time zone, p_deadline timestamp with time zone, p_source_ref text, p_target_ref text, p_payload_ref text, p_classification text, p_attempts_max integer, p_correlation_id text, p_causation_event bigint, p_parent_job_id uuid, p_workflow_id uuid, p_run_id uuid, p_affinity_key text, p_event_domain text, p_source_system text, p_job_id uuid, p_on_behalf_of text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.job_enqueue(p_kind text, p_payload jsonb, p_key text, p_executor text, p_priority text, p_due timestamp with time zone, p_deadline timestamp with time zone, p_source_ref text, p_target_ref text, p_payload_ref text, p_classification text, p_attempts_max integer, p_correlation_id text, p_causation_event bigint, p_parent_job_id uuid, p_workflow_id uuid, p_run_id uuid, p_affinity_key text, p_event_domain text, p_source_system text, p_job_id uuid, p_on_behalf_of text) TO tenure_server, tenure_admin, tenure_operator, tenure_producer, tenure_worker;

-- FUNCTION job_enqueue_many(p_kinds text[], p_payloads json[], p_keys text[], p_executors text[], p_priorities integer[], p_due timestamp with time zone[], p_deadlines timestamp with time zone[], p_source_refs text[], p_target_refs text[], p_payload_refs text[], p_classifications text[], p_attempts_max integer[], p_correlation_ids text[], p_causation_events bigint[], p_parent_job_ids uuid[], p_workflow_ids uuid[], p_run_ids uuid[], p_affinity_keys text[], p_event_domains text[], p_source_systems text[], p_job_ids uuid[], p_on_behalf_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.job_enqueue_many(p_kinds text[], p_payloads json[], p_keys text[], p_executors text[], p_priorities integer[], p_due timestamp with time zone[], p_deadlines timestamp with time zone[], p_source_refs text[], p_target_refs text[], p_payload_refs text[], p_classifications text[], p_attempts_max integer[], p_correlation_ids text[], p_causation_events bigint[], p_parent_job_ids uuid[], p_workflow_ids uuid[], p_run_ids uuid[], p_affinity_keys text[], p_event_domains text[], p_source_systems text[], p_job_ids uuid[], p_on_behalf_of text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.job_enqueue_many(p_kinds text[], p_payloads json[], p_keys text[], p_executors text[], p_priorities integer[], p_due timestamp with time zone[], p_deadlines timestamp with time zone[], p_source_refs text[], p_target_refs text[], p_payload_refs text[], p_classifications text[], p_attempts_max integer[], p_correlation_ids text[], p_causation_events bigint[], p_parent_job_ids uuid[], p_workflow_ids uuid[], p_run_ids uuid[], p_affinity_keys text[], p_event_domains text[], p_source_systems text[], p_job_ids uuid[], p_on_behalf_of text) TO tenure_server, tenure_admin, tenure_operator, tenure_producer, tenure_worker;

-- FUNCTION job_enqueue_plain(p_kind text, p_payload json, p_key text, p_alone boolean, OUT job_id uuid, OUT duplicate boolean, OUT state text); Type: ACL
REVOKE ALL ON FUNCTION tenure.job_enqueue_plain(p_kind text, p_payload json, p_key text, p_alone boolean, OUT job_id uuid, OUT duplicate boolean, OUT state text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.job_enqueue_plain(p_kind text, p_payload json, p_key text, p_alone boolean, OUT job_id uuid, OUT duplicate boolean, OUT state text) TO tenure_server, tenure_admin, tenure_operator, tenure_producer, tenure_worker;

-- FUNCTION job_explain(p_job_id uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.job_explain(p_job_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.job_explain(p_job_id uuid) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION job_fail(p_job_id uuid, p_token uuid, p_message text, p_permanence text, p_code text, p_class text, p_retry_seconds integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.job_fail(p_job_id uuid, p_token uuid, p_message text, p_permanence text, p_code text, p_class text, p_retry_seconds integer) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.job_fail(p_job_id uuid, p_token uuid, p_message text, p_permanence text, p_code text, p_class text, p_retry_seconds integer) TO tenure_server, tenure_worker;

-- FUNCTION job_hand(p_caller tenure.caller_identity, p_tuning tenure.tunings, p_job tenure.handed_job); Type: ACL
REVOKE ALL ON FUNCTION tenure.job_hand(p_caller tenure.caller_identity, p_tuning tenure.tunings, p_job tenure.handed_job) FROM PUBLIC;

-- FUNCTION job_heartbeat(p_job_id uuid, p_token uuid, p_lease_seconds integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.job_heartbeat(p_job_id uuid, p_token uuid, p_lease_seconds integer) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.job_heartbeat(p_job_id uuid, p_token uuid, p_lease_seconds integer) TO tenure_server, tenure_worker;

-- FUNCTION job_heartbeat_many(p_job_ids uuid[], p_tokens uuid[], p_lease_seconds integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.job_heartbeat_many(p_job_ids uuid[], p_tokens uuid[], p_lease_seconds integer) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.job_heartbeat_many(p_job_ids uuid[], p_tokens uuid[], p_lease_seconds integer) TO tenure_server, tenure_worker;

-- FUNCTION job_held(p_token uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.job_held(p_token uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.job_held(p_token uuid) TO tenure_server, tenure_worker;

-- FUNCTION job_lease(p_job_id uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.job_lease(p_job_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.job_lease(p_job_id uuid) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION job_list(p_state text[], p_kind text, p_executor text, p_correlation_id text, p_before uuid, p_limit integer, p_created_after timestamp with time zone, p_created_before timestamp with time zone, p_error_code text); Type: ACL
REVOKE ALL ON FUNCTION tenure.job_list(p_state text[], p_kind text, p_executor text, p_correlation_id text, p_before uuid, p_limit integer, p_created_after timestamp with time zone, p_created_before timestamp with time zone, p_error_code text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.job_list(p_state text[], p_kind text, p_executor text, p_correlation_id text, p_before uuid, p_limit integer, p_created_after timestamp with time zone, p_created_before timestamp with time zone, p_error_code text) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION job_payload(p_job_id uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.job_payload(p_job_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.job_payload(p_job_id uuid) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION job_progress(p_job_id uuid, p_token uuid, p_progress jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.job_progress(p_job_id uuid, p_token uuid, p_progress jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.job_progress(p_job_id uuid, p_token uuid, p_progress jsonb) TO tenure_server, tenure_worker;

-- FUNCTION job_reap(p_mode text, p_limit integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.job_reap(p_mode text, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.job_reap(p_mode text, p_limit integer) TO tenure_server, tenure_admin, tenure_operator;

-- FUNCTION job_release(p_job_id uuid, p_token uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.job_release(p_job_id uuid, p_token uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.job_release(p_job_id uuid, p_token uuid) TO tenure_server, tenure_worker;

-- FUNCTION job_requeue(p_job_id uuid, p_on_behalf_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.job_requeue(p_job_id uuid, p_on_behalf_of text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.job_requeue(p_job_id uuid, p_on_behalf_of text) TO tenure_server, tenure_admin, tenure_operator;

-- FUNCTION job_retry(p_job_id uuid, p_reason text, p_on_behalf_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.job_retry(p_job_id uuid, p_reason text, p_on_behalf_of text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.job_retry(p_job_id uuid, p_reason text, p_on_behalf_of text) TO tenure_server, tenure_admin, tenure_operator;

-- FUNCTION job_settle(p_now timestamp with time zone, p_actor text, p_on_behalf_of text, p_ends tenure.run_end[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.job_settle(p_now timestamp with time zone, p_actor text, p_on_behalf_of text, p_ends tenure.run_end[]) FROM PUBLIC;

-- FUNCTION job_show(p_job_id uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.job_show(p_job_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.job_show(p_job_id uuid) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION job_snooze(p_job_id uuid, p_token uuid, p_seconds integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.job_snooze(p_job_id uuid, p_token uuid, p_seconds integer) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.job_snooze(p_job_id uuid, p_token uuid, p_seconds integer) TO tenure_server, tenure_worker;

-- FUNCTION job_start(p_job_id uuid, p_token uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.job_start(p_job_id uuid, p_token uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.job_start(p_job_id uuid, p_token uuid) TO tenure_server, tenure_worker;

-- FUNCTION job_start_many(p_job_ids uuid[], p_tokens uuid[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.job_start_many(p_job_ids uuid[], p_tokens uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.job_start_many(p_job_ids uuid[], p_tokens uuid[]) TO tenure_server, tenure_worker;

-- FUNCTION job_state(p_job_id uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.job_state(p_job_id uuid) FROM PUBLIC;

-- FUNCTION job_stop(p_caller tenure.caller_identity, p_now timestamp with time zone, p_job_id uuid, p_reason text, p_mode text, p_on_behalf_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.job_stop(p_caller tenure.caller_identity, p_now timestamp with time zone, p_job_id uuid, p_reason text, p_mode text, p_on_behalf_of text) FROM PUBLIC;

-- FUNCTION job_sweep(p_limit integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.job_sweep(p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.job_sweep(p_limit integer) TO tenure_server, tenure_admin, tenure_operator;

-- FUNCTION job_timeline(p_job_id uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.job_timeline(p_job_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.job_timeline(p_job_id uuid) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION job_turn(p_job_ids uuid[], p_tokens uuid[], p_outcomes text[], p_results jsonb[], p_result_refs text[], p_error_codes text[], p_error_classes text[], p_error_messages text[], p_delay_seconds integer[], p_worker text, p_executor text, p_kinds text[], p_limit integer, p_lease_seconds integer, p_mode text, p_token uuid, p_lane_after integer, p_hint_lane integer, p_hint_rank smallint, p_hint_due timestamp with time zone, p_hint_at timestamp with time zone, p_affinity_key text, p_gated boolean, p_hint_alone boolean, p_priority_min integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.job_turn(p_job_ids uuid[], p_tokens uuid[], p_outcomes text[], p_results jsonb[], p_result_refs text[], p_error_codes text[], p_error_classes text[], p_error_messages text[], p_delay_seconds integer[], p_worker text, p_executor text, p_kinds text[], p_limit integer, p_lease_seconds integer, p_mode text, p_token uuid, p_lane_after integer, p_hint_lane integer, p_hint_rank smallint, p_hint_due timestamp with time zone, p_hint_at timestamp with time zone, p_affinity_key text, p_gated boolean, p_hint_alone boolean, p_priority_min integer) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.job_turn(p_job_ids uuid[], p_tokens uuid[], p_outcomes text[], p_results jsonb[], p_result_refs text[], p_error_codes text[], p_error_classes text[], p_error_messages text[], p_delay_seconds integer[], p_worker text, p_executor text, p_kinds text[], p_limit integer, p_lease_seconds integer, p_mode text, p_token uuid, p_lane_after integer, p_hint_lane integer, p_hint_rank smallint, p_hint_due timestamp with time zone, p_hint_at timestamp with time zone, p_affinity_key text, p_gated boolean, p_hint_alone boolean, p_priority_min integer) TO tenure_server, tenure_worker;

-- FUNCTION jobs_clean(p_now timestamp with time zone, p_job_ids uuid[], p_step_job_ids uuid[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.jobs_clean(p_now timestamp with time zone, p_job_ids uuid[], p_step_job_ids uuid[]) FROM PUBLIC;

-- FUNCTION jobs_only_cleaned(); Type: ACL
REVOKE ALL ON FUNCTION tenure.jobs_only_cleaned() FROM PUBLIC;

-- FUNCTION json_depth(p_text text); Type: ACL
REVOKE ALL ON FUNCTION tenure.json_depth(p_text text) FROM PUBLIC;

-- FUNCTION key_check(p_prefix text, p_digest bytea); Type: ACL
REVOKE ALL ON FUNCTION tenure.key_check(p_prefix text, p_digest bytea) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.key_check(p_prefix text, p_digest bytea) TO tenure_server;

-- FUNCTION key_create(p_principal text, p_prefix text, p_digest bytea, p_roles text[], p_approver_level integer, p_executors text[], p_kinds text[], p_payload_access text, p_expires_at timestamp with time zone, p_note text); Type: ACL
REVOKE ALL ON FUNCTION tenure.key_create(p_principal text, p_prefix text, p_digest bytea, p_roles text[], p_approver_level integer, p_executors text[], p_kinds text[], p_payload_access text, p_expires_at timestamp with time zone, p_note text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.key_create(p_principal text, p_prefix text, p_digest bytea, p_roles text[], p_approver_level integer, p_executors text[], p_kinds text[], p_payload_access text, p_expires_at timestamp with time zone, p_note text) TO tenure_server, tenure_admin;

-- FUNCTION key_home(p_key_id uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.key_home(p_key_id uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.key_home(p_key_id uuid) TO tenure_server;

-- FUNCTION key_list(p_state text[], p_limit integer, p_after_state text, p_after_at timestamp with time zone, p_after_prefix text); Type: ACL
REVOKE ALL ON FUNCTION tenure.key_list(p_state text[], p_limit integer, p_after_state text, p_after_at timestamp with time zone, p_after_prefix text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.key_list(p_state text[], p_limit integer, p_after_state text, p_after_at timestamp with time zone, p_after_prefix text) TO tenure_server, tenure_admin;

-- FUNCTION key_revoke(p_prefix text); Type: ACL
REVOKE ALL ON FUNCTION tenure.key_revoke(p_prefix text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.key_revoke(p_prefix text) TO tenure_server, tenure_admin;

-- FUNCTION key_roles(); Type: ACL
REVOKE ALL ON FUNCTION tenure.key_roles() FROM PUBLIC;

-- FUNCTION keyed_hash(p_digest bytea); Type: ACL
REVOKE ALL ON FUNCTION tenure.keyed_hash(p_digest bytea) FROM PUBLIC;

-- FUNCTION keys_ended(p_key_ids uuid[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.keys_ended(p_key_ids uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.keys_ended(p_key_ids uuid[]) TO tenure_server;

-- FUNCTION keys_used(p_key_ids uuid[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.keys_used(p_key_ids uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.keys_used(p_key_ids uuid[]) TO tenure_server;

-- FUNCTION kind_hold(p_kind text, p_verb text, p_note text, p_on_behalf_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.kind_hold(p_kind text, p_verb text, p_note text, p_on_behalf_of text) FROM PUBLIC;

-- FUNCTION kind_list(); Type: ACL
REVOKE ALL ON FUNCTION tenure.kind_list() FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.kind_list() TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION kind_mark_held(p_tenant_id integer, p_kind text); Type: ACL
REVOKE ALL ON FUNCTION tenure.kind_mark_held(p_tenant_id integer, p_kind text) FROM PUBLIC;

-- TABLE kinds; Type: ACL
GRANT SELECT ON TABLE tenure.kinds TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION kind_merge(p_tenant_id integer, p_old tenure.kinds, p_policy jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.kind_merge(p_tenant_id integer, p_old tenure.kinds, p_policy jsonb) FROM PUBLIC;

-- FUNCTION kind_pause(p_kind text, p_note text, p_on_behalf_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.kind_pause(p_kind text, p_note text, p_on_behalf_of text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.kind_pause(p_kind text, p_note text, p_on_behalf_of text) TO tenure_server, tenure_admin, tenure_operator;

-- FUNCTION kind_resume(p_kind text, p_on_behalf_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.kind_resume(p_kind text, p_on_behalf_of text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.kind_resume(p_kind text, p_on_behalf_of text) TO tenure_server, tenure_admin, tenure_operator;

-- FUNCTION kind_room(p_tenant_id integer, p_kind text); Type: ACL
REVOKE ALL ON FUNCTION tenure.kind_room(p_tenant_id integer, p_kind text) FROM PUBLIC;

-- FUNCTION kind_set(p_kind text, p_policy jsonb, p_on_behalf_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.kind_set(p_kind text, p_policy jsonb, p_on_behalf_of text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.kind_set(p_kind text, p_policy jsonb, p_on_behalf_of text) TO tenure_server, tenure_admin;

-- FUNCTION kind_show(p_kind text); Type: ACL
REVOKE ALL ON FUNCTION tenure.kind_show(p_kind text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.kind_show(p_kind text) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION kind_unplanned(p_tenant_id integer, p_kind text); Type: ACL
REVOKE ALL ON FUNCTION tenure.kind_unplanned(p_tenant_id integer, p_kind text) FROM PUBLIC;

-- FUNCTION kind_write(p_tenant_id integer, p_now timestamp with time zone, p_author text, p_on_behalf_of text, p_kind text, p_policy jsonb, p_approval jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.kind_write(p_tenant_id integer, p_now timestamp with time zone, p_author text, p_on_behalf_of text, p_kind text, p_policy jsonb, p_approval jsonb) FROM PUBLIC;

-- FUNCTION lane_check(p_caller tenure.caller_identity, p_kind text, p_executor text, p_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.lane_check(p_caller tenure.caller_identity, p_kind text, p_executor text, p_of text) FROM PUBLIC;

-- FUNCTION lane_ensure(p_caller tenure.caller_identity, p_kind text, p_executor text, p_of text, p_stepped boolean); Type: ACL
REVOKE ALL ON FUNCTION tenure.lane_ensure(p_caller tenure.caller_identity, p_kind text, p_executor text, p_of text, p_stepped boolean) FROM PUBLIC;

-- FUNCTION lane_lapse(p_lanes integer[], p_now timestamp with time zone, p_rows_max integer, p_actor text); Type: ACL
REVOKE ALL ON FUNCTION tenure.lane_lapse(p_lanes integer[], p_now timestamp with time zone, p_rows_max integer, p_actor text) FROM PUBLIC;

-- FUNCTION lane_make(p_tenant_id integer, p_kind text, p_executor text, p_stepped boolean); Type: ACL
REVOKE ALL ON FUNCTION tenure.lane_make(p_tenant_id integer, p_kind text, p_executor text, p_stepped boolean) FROM PUBLIC;

-- FUNCTION lane_open(p_kind text, p_executor text); Type: ACL
REVOKE ALL ON FUNCTION tenure.lane_open(p_kind text, p_executor text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.lane_open(p_kind text, p_executor text) TO tenure_server, tenure_admin, tenure_operator, tenure_producer, tenure_worker;

-- FUNCTION lane_policy(p_tenant_id integer, p_kind text, p_executor text); Type: ACL
REVOKE ALL ON FUNCTION tenure.lane_policy(p_tenant_id integer, p_kind text, p_executor text) FROM PUBLIC;

-- FUNCTION lane_preferred(p_lane integer, p_affinity_key text, OUT ids uuid[], OUT last_rank smallint, OUT last_due timestamp with time zone); Type: ACL
REVOKE ALL ON FUNCTION tenure.lane_preferred(p_lane integer, p_affinity_key text, OUT ids uuid[], OUT last_rank smallint, OUT last_due timestamp with time zone) FROM PUBLIC;

-- FUNCTION lane_promote(p_lanes integer[], p_now timestamp with time zone, p_rows_max integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.lane_promote(p_lanes integer[], p_now timestamp with time zone, p_rows_max integer) FROM PUBLIC;

-- FUNCTION lane_ranges(p_tenant_id integer, p_now timestamp with time zone, p_claim tenure.claim_request, p_terms tenure.claim_terms, p_at integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.lane_ranges(p_tenant_id integer, p_now timestamp with time zone, p_claim tenure.claim_request, p_terms tenure.claim_terms, p_at integer) FROM PUBLIC;

-- FUNCTION lane_ready(p_lanes integer[], p_limit integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.lane_ready(p_lanes integer[], p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.lane_ready(p_lanes integer[], p_limit integer) TO tenure_server, tenure_worker;

-- FUNCTION lane_take(p_caller tenure.caller_identity, p_now timestamp with time zone, p_claim tenure.claim_request, p_pick tenure.lane_pick, p_room integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.lane_take(p_caller tenure.caller_identity, p_now timestamp with time zone, p_claim tenure.claim_request, p_pick tenure.lane_pick, p_room integer) FROM PUBLIC;

-- FUNCTION lane_time(p_lanes integer[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.lane_time(p_lanes integer[]) FROM PUBLIC;

-- FUNCTION lane_try(p_tenant_id integer, p_kind text, p_executor text, p_stepped boolean); Type: ACL
REVOKE ALL ON FUNCTION tenure.lane_try(p_tenant_id integer, p_kind text, p_executor text, p_stepped boolean) FROM PUBLIC;

-- FUNCTION lane_wake(p_lanes integer[], p_now timestamp with time zone); Type: ACL
REVOKE ALL ON FUNCTION tenure.lane_wake(p_lanes integer[], p_now timestamp with time zone) FROM PUBLIC;

-- FUNCTION lease_count_down(p_tokens uuid[], p_lanes integer[], p_ended integer[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.lease_count_down(p_tokens uuid[], p_lanes integer[], p_ended integer[]) FROM PUBLIC;

-- FUNCTION lease_shrink(p_ends tenure.run_end[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.lease_shrink(p_ends tenure.run_end[]) FROM PUBLIC;

-- FUNCTION lease_subtract(p_token uuid, p_lane integer, p_ended integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.lease_subtract(p_token uuid, p_lane integer, p_ended integer) FROM PUBLIC;

-- FUNCTION limit_of(p_name text); Type: ACL
REVOKE ALL ON FUNCTION tenure.limit_of(p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.limit_of(p_name text) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION lineage(); Type: ACL
REVOKE ALL ON FUNCTION tenure.lineage() FROM PUBLIC;

-- FUNCTION lock_acquire(p_parts text[], p_seconds integer, p_reason text); Type: ACL
REVOKE ALL ON FUNCTION tenure.lock_acquire(p_parts text[], p_seconds integer, p_reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.lock_acquire(p_parts text[], p_seconds integer, p_reason text) TO tenure_server, tenure_operator, tenure_worker;

-- FUNCTION lock_break(p_part text, p_reason text); Type: ACL
REVOKE ALL ON FUNCTION tenure.lock_break(p_part text, p_reason text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.lock_break(p_part text, p_reason text) TO tenure_server, tenure_admin, tenure_operator;

-- FUNCTION lock_freed(p_now timestamp with time zone, p_actor text, p_tenant_id integer, p_target text); Type: ACL
REVOKE ALL ON FUNCTION tenure.lock_freed(p_now timestamp with time zone, p_actor text, p_tenant_id integer, p_target text) FROM PUBLIC;

-- FUNCTION lock_hand_over(p_now timestamp with time zone, p_actor text, p_tenant_id integer, p_target text, INOUT entries tenure.chain_entry[], OUT refused_execs uuid[], OUT refused_numbers integer[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.lock_hand_over(p_now timestamp with time zone, p_actor text, p_tenant_id integer, p_target text, INOUT entries tenure.chain_entry[], OUT refused_execs uuid[], OUT refused_numbers integer[]) FROM PUBLIC;

-- FUNCTION lock_list(p_target text, p_limit integer, p_after timestamp with time zone, p_after_key text); Type: ACL
REVOKE ALL ON FUNCTION tenure.lock_list(p_target text, p_limit integer, p_after timestamp with time zone, p_after_key text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.lock_list(p_target text, p_limit integer, p_after timestamp with time zone, p_after_key text) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION lock_part(p_type text, p_ref text); Type: ACL
REVOKE ALL ON FUNCTION tenure.lock_part(p_type text, p_ref text) FROM PUBLIC;

-- FUNCTION lock_queue_go_on(p_tenants integer[], p_targets text[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.lock_queue_go_on(p_tenants integer[], p_targets text[]) FROM PUBLIC;

-- FUNCTION lock_queue_join(p_now timestamp with time zone, p_execs uuid[], p_numbers integer[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.lock_queue_join(p_now timestamp with time zone, p_execs uuid[], p_numbers integer[]) FROM PUBLIC;

-- FUNCTION lock_queue_leave(p_execs uuid[], p_numbers integer[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.lock_queue_leave(p_execs uuid[], p_numbers integer[]) FROM PUBLIC;

-- FUNCTION lock_queue_recheck(p_now timestamp with time zone, p_execs uuid[], p_numbers integer[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.lock_queue_recheck(p_now timestamp with time zone, p_execs uuid[], p_numbers integer[]) FROM PUBLIC;

-- FUNCTION lock_reach(p_lock_scope text); Type: ACL
REVOKE ALL ON FUNCTION tenure.lock_reach(p_lock_scope text) FROM PUBLIC;

-- FUNCTION lock_read(p_part text, OUT target text, OUT action text); Type: ACL
REVOKE ALL ON FUNCTION tenure.lock_read(p_part text, OUT target text, OUT action text) FROM PUBLIC;

-- FUNCTION lock_release(p_parts text[], p_fences bigint[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.lock_release(p_parts text[], p_fences bigint[]) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.lock_release(p_parts text[], p_fences bigint[]) TO tenure_server, tenure_operator, tenure_worker;

-- FUNCTION lock_renew(p_parts text[], p_fences bigint[], p_seconds integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.lock_renew(p_parts text[], p_fences bigint[], p_seconds integer) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.lock_renew(p_parts text[], p_fences bigint[], p_seconds integer) TO tenure_server, tenure_operator, tenure_worker;

-- FUNCTION lock_waiters(p_part text, p_limit integer, p_after_priority integer, p_after_turn bigint); Type: ACL
REVOKE ALL ON FUNCTION tenure.lock_waiters(p_part text, p_limit integer, p_after_priority integer, p_after_turn bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.lock_waiters(p_part text, p_limit integer, p_after_priority integer, p_after_turn bigint) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION locks_expire(p_now timestamp with time zone, p_tenant_id integer, p_target text); Type: ACL
REVOKE ALL ON FUNCTION tenure.locks_expire(p_now timestamp with time zone, p_tenant_id integer, p_target text) FROM PUBLIC;

-- FUNCTION locks_lock_rows(p_tenant_id integer, p_parts text[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.locks_lock_rows(p_tenant_id integer, p_parts text[]) FROM PUBLIC;

-- FUNCTION login_approves(p_login text); Type: ACL
REVOKE ALL ON FUNCTION tenure.login_approves(p_login text) FROM PUBLIC;

-- FUNCTION login_bind(p_login text, p_tenant text, p_principal text, p_executors text[], p_kinds text[], p_payload_access text); Type: ACL
REVOKE ALL ON FUNCTION tenure.login_bind(p_login text, p_tenant text, p_principal text, p_executors text[], p_kinds text[], p_payload_access text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.login_bind(p_login text, p_tenant text, p_principal text, p_executors text[], p_kinds text[], p_payload_access text) TO tenure_server, tenure_admin;

-- FUNCTION login_unbind(p_login text); Type: ACL
REVOKE ALL ON FUNCTION tenure.login_unbind(p_login text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.login_unbind(p_login text) TO tenure_server, tenure_admin;

-- FUNCTION long_number_path(p_payload json); Type: ACL
REVOKE ALL ON FUNCTION tenure.long_number_path(p_payload json) FROM PUBLIC;

-- FUNCTION look_alike(p_text text); Type: ACL
REVOKE ALL ON FUNCTION tenure.look_alike(p_text text) FROM PUBLIC;

-- FUNCTION makers_now(p_caller tenure.caller_identity); Type: ACL
REVOKE ALL ON FUNCTION tenure.makers_now(p_caller tenure.caller_identity) FROM PUBLIC;

-- FUNCTION marked_lanes(p_tenant_id integer, p_executors text[], p_lane_after integer, p_last smallint); Type: ACL
REVOKE ALL ON FUNCTION tenure.marked_lanes(p_tenant_id integer, p_executors text[], p_lane_after integer, p_last smallint) FROM PUBLIC;

-- FUNCTION marks_from(p_tenant_id integer, p_executor text, p_rank smallint, p_lane_after integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.marks_from(p_tenant_id integer, p_executor text, p_rank smallint, p_lane_after integer) FROM PUBLIC;

-- FUNCTION marks_retire(p_ids bigint[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.marks_retire(p_ids bigint[]) FROM PUBLIC;

-- FUNCTION marks_to_tidy(p_ids bigint[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.marks_to_tidy(p_ids bigint[]) FROM PUBLIC;

-- FUNCTION mask_text(p_text text); Type: ACL
REVOKE ALL ON FUNCTION tenure.mask_text(p_text text) FROM PUBLIC;

-- FUNCTION matches_any(p_text text, p_globs text[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.matches_any(p_text text, p_globs text[]) FROM PUBLIC;

-- FUNCTION may_be_deep(p_text text); Type: ACL
REVOKE ALL ON FUNCTION tenure.may_be_deep(p_text text) FROM PUBLIC;

-- FUNCTION may_be_refused(p_payload json, p_text text, p_key text); Type: ACL
REVOKE ALL ON FUNCTION tenure.may_be_refused(p_payload json, p_text text, p_key text) FROM PUBLIC;

-- FUNCTION may_have_forbidden_key(p_text text); Type: ACL
REVOKE ALL ON FUNCTION tenure.may_have_forbidden_key(p_text text) FROM PUBLIC;

-- FUNCTION may_have_long_number(p_text text); Type: ACL
REVOKE ALL ON FUNCTION tenure.may_have_long_number(p_text text) FROM PUBLIC;

-- FUNCTION may_have_refused_field(p_job tenure.new_job, p_now timestamp with time zone); Type: ACL
REVOKE ALL ON FUNCTION tenure.may_have_refused_field(p_job tenure.new_job, p_now timestamp with time zone) FROM PUBLIC;

-- FUNCTION may_read_plan(p_caller tenure.caller_identity, p_execution_id uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.may_read_plan(p_caller tenure.caller_identity, p_execution_id uuid) FROM PUBLIC;

-- FUNCTION may_see(p_classification text); Type: ACL
REVOKE ALL ON FUNCTION tenure.may_see(p_classification text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.may_see(p_classification text) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION means_makers(p_caller tenure.caller_identity); Type: ACL
REVOKE ALL ON FUNCTION tenure.means_makers(p_caller tenure.caller_identity) FROM PUBLIC;

-- FUNCTION merkle_level(p_hashes bytea); Type: ACL
REVOKE ALL ON FUNCTION tenure.merkle_level(p_hashes bytea) FROM PUBLIC;

-- FUNCTION merkle_path(p_hashes bytea, p_place integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.merkle_path(p_hashes bytea, p_place integer) FROM PUBLIC;

-- FUNCTION merkle_root(p_hashes bytea); Type: ACL
REVOKE ALL ON FUNCTION tenure.merkle_root(p_hashes bytea) FROM PUBLIC;

-- FUNCTION metrics(p_after text); Type: ACL
REVOKE ALL ON FUNCTION tenure.metrics(p_after text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.metrics(p_after text) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION metrics_care(p_tenants integer[], p_now timestamp with time zone); Type: ACL
REVOKE ALL ON FUNCTION tenure.metrics_care(p_tenants integer[], p_now timestamp with time zone) FROM PUBLIC;

-- FUNCTION metrics_database(p_tenants integer[], p_now timestamp with time zone); Type: ACL
REVOKE ALL ON FUNCTION tenure.metrics_database(p_tenants integer[], p_now timestamp with time zone) FROM PUBLIC;

-- FUNCTION metrics_events(p_tenants integer[], p_now timestamp with time zone, p_epoch integer, p_from xid8, p_to xid8, OUT counts jsonb, OUT samples jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.metrics_events(p_tenants integer[], p_now timestamp with time zone, p_epoch integer, p_from xid8, p_to xid8, OUT counts jsonb, OUT samples jsonb) FROM PUBLIC;

-- FUNCTION metrics_executions(p_tenants integer[], p_now timestamp with time zone); Type: ACL
REVOKE ALL ON FUNCTION tenure.metrics_executions(p_tenants integer[], p_now timestamp with time zone) FROM PUBLIC;

-- FUNCTION metrics_lanes(p_tenants integer[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.metrics_lanes(p_tenants integer[]) FROM PUBLIC;

-- FUNCTION metrics_queue(p_tenants integer[], p_now timestamp with time zone); Type: ACL
REVOKE ALL ON FUNCTION tenure.metrics_queue(p_tenants integer[], p_now timestamp with time zone) FROM PUBLIC;

-- FUNCTION metrics_schedules(p_tenants integer[], p_now timestamp with time zone); Type: ACL
REVOKE ALL ON FUNCTION tenure.metrics_schedules(p_tenants integer[], p_now timestamp with time zone) FROM PUBLIC;

-- FUNCTION metrics_services(p_now timestamp with time zone); Type: ACL
REVOKE ALL ON FUNCTION tenure.metrics_services(p_now timestamp with time zone) FROM PUBLIC;

-- FUNCTION nearest_word(p_word text, p_words text[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.nearest_word(p_word text, p_words text[]) FROM PUBLIC;

-- FUNCTION new_id(p_at timestamp with time zone); Type: ACL
REVOKE ALL ON FUNCTION tenure.new_id(p_at timestamp with time zone) FROM PUBLIC;

-- FUNCTION now(); Type: ACL
REVOKE ALL ON FUNCTION tenure.now() FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.now() TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION number_used_up(p_mark_id bigint); Type: ACL
REVOKE ALL ON FUNCTION tenure.number_used_up(p_mark_id bigint) FROM PUBLIC;

-- FUNCTION offer_lock(p_channel text); Type: ACL
REVOKE ALL ON FUNCTION tenure.offer_lock(p_channel text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.offer_lock(p_channel text) TO tenure_server, tenure_worker;

-- FUNCTION offer_make(p_tokens uuid[], p_worker text, p_channel text, p_executor text, p_kinds text[], p_lease_seconds integer, p_seconds integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.offer_make(p_tokens uuid[], p_worker text, p_channel text, p_executor text, p_kinds text[], p_lease_seconds integer, p_seconds integer) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.offer_make(p_tokens uuid[], p_worker text, p_channel text, p_executor text, p_kinds text[], p_lease_seconds integer, p_seconds integer) TO tenure_server, tenure_worker;

-- FUNCTION offer_notice(p_principal text, p_now timestamp with time zone, p_job tenure.handed_job, p_offer tenure.offers); Type: ACL
REVOKE ALL ON FUNCTION tenure.offer_notice(p_principal text, p_now timestamp with time zone, p_job tenure.handed_job, p_offer tenure.offers) FROM PUBLIC;

-- FUNCTION offer_take(p_lane integer, p_now timestamp with time zone); Type: ACL
REVOKE ALL ON FUNCTION tenure.offer_take(p_lane integer, p_now timestamp with time zone) FROM PUBLIC;

-- FUNCTION offer_withdraw(p_tokens uuid[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.offer_withdraw(p_tokens uuid[]) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.offer_withdraw(p_tokens uuid[]) TO tenure_server, tenure_worker;

-- FUNCTION offers_end(p_tenants integer[], p_until timestamp with time zone); Type: ACL
REVOKE ALL ON FUNCTION tenure.offers_end(p_tenants integer[], p_until timestamp with time zone) FROM PUBLIC;

-- FUNCTION open_tenants(p_caller tenure.caller_identity); Type: ACL
REVOKE ALL ON FUNCTION tenure.open_tenants(p_caller tenure.caller_identity) FROM PUBLIC;

-- FUNCTION origin_words(p_origin jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.origin_words(p_origin jsonb) FROM PUBLIC;

-- FUNCTION partition_bound(p_table text, p_at timestamp with time zone); Type: ACL
REVOKE ALL ON FUNCTION tenure.partition_bound(p_table text, p_at timestamp with time zone) FROM PUBLIC;

-- FUNCTION partition_in_use(p_lower timestamp with time zone, p_upper timestamp with time zone); Type: ACL
REVOKE ALL ON FUNCTION tenure.partition_in_use(p_lower timestamp with time zone, p_upper timestamp with time zone) FROM PUBLIC;

-- FUNCTION partition_list(p_table text); Type: ACL
REVOKE ALL ON FUNCTION tenure.partition_list(p_table text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.partition_list(p_table text) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION partition_split(p_table text, p_bound timestamp with time zone, p_new text); Type: ACL
REVOKE ALL ON FUNCTION tenure.partition_split(p_table text, p_bound timestamp with time zone, p_new text) FROM PUBLIC;

-- FUNCTION partition_split_at(p_table text, p_now timestamp with time zone, p_days integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.partition_split_at(p_table text, p_now timestamp with time zone, p_days integer) FROM PUBLIC;

-- FUNCTION partition_upkeep(p_table text); Type: ACL
REVOKE ALL ON FUNCTION tenure.partition_upkeep(p_table text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.partition_upkeep(p_table text) TO tenure_server, tenure_admin, tenure_operator;

-- FUNCTION partitions_over(p_tables text[], p_now timestamp with time zone, p_gone text[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.partitions_over(p_tables text[], p_now timestamp with time zone, p_gone text[]) FROM PUBLIC;

-- FUNCTION pause_words(p_schedule tenure.schedules); Type: ACL
REVOKE ALL ON FUNCTION tenure.pause_words(p_schedule tenure.schedules) FROM PUBLIC;

-- FUNCTION payload_shown(p_payload json); Type: ACL
REVOKE ALL ON FUNCTION tenure.payload_shown(p_payload json) FROM PUBLIC;

-- FUNCTION plan_allowed(p_form text, p_low bigint, p_high bigint, p_words text[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.plan_allowed(p_form text, p_low bigint, p_high bigint, p_words text[]) FROM PUBLIC;

-- FUNCTION plan_canonical(p_plan jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.plan_canonical(p_plan jsonb) FROM PUBLIC;

-- FUNCTION plan_check(p_plan text); Type: ACL
REVOKE ALL ON FUNCTION tenure.plan_check(p_plan text) FROM PUBLIC;

-- FUNCTION plan_check_fields(p_document json, p_plan jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.plan_check_fields(p_document json, p_plan jsonb) FROM PUBLIC;

-- FUNCTION plan_check_list(p_place text, p_list jsonb, p_low bigint, p_high bigint); Type: ACL
REVOKE ALL ON FUNCTION tenure.plan_check_list(p_place text, p_list jsonb, p_low bigint, p_high bigint) FROM PUBLIC;

-- FUNCTION plan_check_needs(p_plan jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.plan_check_needs(p_plan jsonb) FROM PUBLIC;

-- FUNCTION plan_check_section_fields(p_place text, p_document json, p_section jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.plan_check_section_fields(p_place text, p_document json, p_section jsonb) FROM PUBLIC;

-- FUNCTION plan_check_section_steps(p_plan jsonb, p_place text, p_section jsonb, p_taken text[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.plan_check_section_steps(p_plan jsonb, p_place text, p_section jsonb, p_taken text[]) FROM PUBLIC;

-- FUNCTION plan_check_sections(p_document json, p_plan jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.plan_check_sections(p_document json, p_plan jsonb) FROM PUBLIC;

-- FUNCTION plan_check_step_fits(p_place text, p_step jsonb, p_target text, p_mine text[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.plan_check_step_fits(p_place text, p_step jsonb, p_target text, p_mine text[]) FROM PUBLIC;

-- FUNCTION plan_demands(p_plan jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.plan_demands(p_plan jsonb) FROM PUBLIC;

-- FUNCTION plan_difference(p_old jsonb, p_new jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.plan_difference(p_old jsonb, p_new jsonb) FROM PUBLIC;

-- FUNCTION plan_document(p_text text); Type: ACL
REVOKE ALL ON FUNCTION tenure.plan_document(p_text text) FROM PUBLIC;

-- FUNCTION plan_document_finding(p_document json, p_marked boolean); Type: ACL
REVOKE ALL ON FUNCTION tenure.plan_document_finding(p_document json, p_marked boolean) FROM PUBLIC;

-- FUNCTION plan_field_finding(p_document json, p_plan jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.plan_field_finding(p_document json, p_plan jsonb) FROM PUBLIC;

-- FUNCTION plan_fields(); Type: ACL
REVOKE ALL ON FUNCTION tenure.plan_fields() FROM PUBLIC;

-- FUNCTION plan_findings(); Type: ACL
REVOKE ALL ON FUNCTION tenure.plan_findings() FROM PUBLIC;

-- FUNCTION plan_lanes(p_caller tenure.caller_identity, p_plan jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.plan_lanes(p_caller tenure.caller_identity, p_plan jsonb) FROM PUBLIC;

-- FUNCTION plan_lock_target(p_step jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.plan_lock_target(p_step jsonb) FROM PUBLIC;

-- FUNCTION plan_longest(p_steps tenure.plan_step[], p_seconds integer[], OUT seconds bigint, OUT path text[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.plan_longest(p_steps tenure.plan_step[], p_seconds integer[], OUT seconds bigint, OUT path text[]) FROM PUBLIC;

-- FUNCTION plan_needs(p_plan jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.plan_needs(p_plan jsonb) FROM PUBLIC;

-- FUNCTION plan_place(p_parent text, p_name text); Type: ACL
REVOKE ALL ON FUNCTION tenure.plan_place(p_parent text, p_name text) FROM PUBLIC;

-- FUNCTION plan_place_at(p_document json, p_at integer[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.plan_place_at(p_document json, p_at integer[]) FROM PUBLIC;

-- FUNCTION plan_quoted(p_text text); Type: ACL
REVOKE ALL ON FUNCTION tenure.plan_quoted(p_text text) FROM PUBLIC;

-- FUNCTION plan_readable(p_text text); Type: ACL
REVOKE ALL ON FUNCTION tenure.plan_readable(p_text text) FROM PUBLIC;

-- FUNCTION plan_refuse(p_place text, p_finding text, p_allowed text); Type: ACL
REVOKE ALL ON FUNCTION tenure.plan_refuse(p_place text, p_finding text, p_allowed text) FROM PUBLIC;

-- FUNCTION plan_refuse_cycle(p_plan jsonb, p_needs integer[], p_needs_from integer[], p_waiting integer[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.plan_refuse_cycle(p_plan jsonb, p_needs integer[], p_needs_from integer[], p_waiting integer[]) FROM PUBLIC;

-- FUNCTION plan_registrations(p_tenant_id integer, p_plan jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.plan_registrations(p_tenant_id integer, p_plan jsonb) FROM PUBLIC;

-- FUNCTION plan_resolve(p_tenant_id integer, p_plan jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.plan_resolve(p_tenant_id integer, p_plan jsonb) FROM PUBLIC;

-- FUNCTION plan_rules(p_tenant_id integer, p_requesters text[], p_plan jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.plan_rules(p_tenant_id integer, p_requesters text[], p_plan jsonb) FROM PUBLIC;

-- FUNCTION plan_sections(p_plan jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.plan_sections(p_plan jsonb) FROM PUBLIC;

-- FUNCTION plan_steps(p_plan jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.plan_steps(p_plan jsonb) FROM PUBLIC;

-- FUNCTION plan_terms(p_tenant_id integer, p_requesters text[], p_plan jsonb, OUT level integer, OUT rule text, OUT roles text[], OUT quorum integer, OUT expires_seconds integer, OUT start_window jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.plan_terms(p_tenant_id integer, p_requesters text[], p_plan jsonb, OUT level integer, OUT rule text, OUT roles text[], OUT quorum integer, OUT expires_seconds integer, OUT start_window jsonb) FROM PUBLIC;

-- FUNCTION plan_timeout_ms(p_tenant_id integer, p_plan jsonb, p_action_class text); Type: ACL
REVOKE ALL ON FUNCTION tenure.plan_timeout_ms(p_tenant_id integer, p_plan jsonb, p_action_class text) FROM PUBLIC;

-- FUNCTION plan_uses(p_plan jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.plan_uses(p_plan jsonb) FROM PUBLIC;

-- FUNCTION plan_value_finding(p_value jsonb, p_form text, p_required boolean, p_low bigint, p_high bigint, p_words text[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.plan_value_finding(p_value jsonb, p_form text, p_required boolean, p_low bigint, p_high bigint, p_words text[]) FROM PUBLIC;

-- FUNCTION plan_warnings(p_tenant_id integer, p_plan jsonb, p_steps tenure.plan_step[], p_timeout_ms integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.plan_warnings(p_tenant_id integer, p_plan jsonb, p_steps tenure.plan_step[], p_timeout_ms integer) FROM PUBLIC;

-- FUNCTION planned_slots_touched(); Type: ACL
REVOKE ALL ON FUNCTION tenure.planned_slots_touched() FROM PUBLIC;

-- FUNCTION principal_create(p_name text, p_kind text, p_email text); Type: ACL
REVOKE ALL ON FUNCTION tenure.principal_create(p_name text, p_kind text, p_email text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.principal_create(p_name text, p_kind text, p_email text) TO tenure_server, tenure_admin;

-- FUNCTION principal_home(p_caller tenure.caller_identity); Type: ACL
REVOKE ALL ON FUNCTION tenure.principal_home(p_caller tenure.caller_identity) FROM PUBLIC;

-- FUNCTION principal_kind(p_tenant_id integer, p_principal text); Type: ACL
REVOKE ALL ON FUNCTION tenure.principal_kind(p_tenant_id integer, p_principal text) FROM PUBLIC;

-- FUNCTION principal_list(p_limit integer, p_after text); Type: ACL
REVOKE ALL ON FUNCTION tenure.principal_list(p_limit integer, p_after text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.principal_list(p_limit integer, p_after text) TO tenure_server, tenure_admin;

-- FUNCTION principal_set(p_name text, p_spec jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.principal_set(p_name text, p_spec jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.principal_set(p_name text, p_spec jsonb) TO tenure_server, tenure_admin;

-- FUNCTION priority_of(p_name text); Type: ACL
REVOKE ALL ON FUNCTION tenure.priority_of(p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.priority_of(p_name text) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION random_secret(); Type: ACL
REVOKE ALL ON FUNCTION tenure.random_secret() FROM PUBLIC;

-- FUNCTION ready_mark(p_lanes integer[], p_ranks integer[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.ready_mark(p_lanes integer[], p_ranks integer[]) FROM PUBLIC;

-- FUNCTION ready_marks_mend(); Type: ACL
REVOKE ALL ON FUNCTION tenure.ready_marks_mend() FROM PUBLIC;

-- FUNCTION ready_marks_tidy(p_tenants integer[], p_limit integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.ready_marks_tidy(p_tenants integer[], p_limit integer) FROM PUBLIC;

-- FUNCTION reap_delayed(p_tenants integer[], p_now timestamp with time zone, p_limit integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.reap_delayed(p_tenants integer[], p_now timestamp with time zone, p_limit integer) FROM PUBLIC;

-- FUNCTION reap_expired(p_tenants integer[], p_now timestamp with time zone, p_limit integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.reap_expired(p_tenants integer[], p_now timestamp with time zone, p_limit integer) FROM PUBLIC;

-- FUNCTION reap_list(p_tenants integer[], p_now timestamp with time zone, p_limit integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.reap_list(p_tenants integer[], p_now timestamp with time zone, p_limit integer) FROM PUBLIC;

-- FUNCTION reap_overdue(p_tenants integer[], p_now timestamp with time zone, p_limit integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.reap_overdue(p_tenants integer[], p_now timestamp with time zone, p_limit integer) FROM PUBLIC;

-- FUNCTION reap_ready(p_tenants integer[], p_now timestamp with time zone, p_limit integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.reap_ready(p_tenants integer[], p_now timestamp with time zone, p_limit integer) FROM PUBLIC;

-- FUNCTION refusal(p_sqlstate text, p_what text, p_why text, p_next text); Type: ACL
REVOKE ALL ON FUNCTION tenure.refusal(p_sqlstate text, p_what text, p_why text, p_next text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.refusal(p_sqlstate text, p_what text, p_why text, p_next text) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION refusal_codes(); Type: ACL
REVOKE ALL ON FUNCTION tenure.refusal_codes() FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.refusal_codes() TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION refusal_deadline(p_job_id uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.refusal_deadline(p_job_id uuid) FROM PUBLIC;

-- FUNCTION refuse(p_code text, p_what text, p_why text, p_next text); Type: ACL
REVOKE ALL ON FUNCTION tenure.refuse(p_code text, p_what text, p_why text, p_next text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.refuse(p_code text, p_what text, p_why text, p_next text) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION refuse_agent(p_caller tenure.caller_identity); Type: ACL
REVOKE ALL ON FUNCTION tenure.refuse_agent(p_caller tenure.caller_identity) FROM PUBLIC;

-- FUNCTION refuse_approval(p_approval_id uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.refuse_approval(p_approval_id uuid) FROM PUBLIC;

-- FUNCTION refuse_busy(p_job_id uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.refuse_busy(p_job_id uuid) FROM PUBLIC;

-- FUNCTION refuse_change(); Type: ACL
REVOKE ALL ON FUNCTION tenure.refuse_change() FROM PUBLIC;

-- FUNCTION refuse_execution(p_execution_id uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.refuse_execution(p_execution_id uuid) FROM PUBLIC;

-- FUNCTION refuse_execution_letter(p_execution_id uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.refuse_execution_letter(p_execution_id uuid) FROM PUBLIC;

-- FUNCTION refuse_execution_state(p_execution tenure.execution_rows, p_wanted text, p_from text, p_next text); Type: ACL
REVOKE ALL ON FUNCTION tenure.refuse_execution_state(p_execution tenure.execution_rows, p_wanted text, p_from text, p_next text) FROM PUBLIC;

-- FUNCTION refuse_gate(p_key text); Type: ACL
REVOKE ALL ON FUNCTION tenure.refuse_gate(p_key text) FROM PUBLIC;

-- FUNCTION refuse_id_taken(); Type: ACL
REVOKE ALL ON FUNCTION tenure.refuse_id_taken() FROM PUBLIC;

-- FUNCTION refuse_long_number(p_what text, p_place text); Type: ACL
REVOKE ALL ON FUNCTION tenure.refuse_long_number(p_what text, p_place text) FROM PUBLIC;

-- FUNCTION refuse_loss(); Type: ACL
REVOKE ALL ON FUNCTION tenure.refuse_loss() FROM PUBLIC;

-- FUNCTION refuse_only_by_plan(p_kind text, p_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.refuse_only_by_plan(p_kind text, p_of text) FROM PUBLIC;

-- FUNCTION traceparent(); Type: ACL
REVOKE ALL ON FUNCTION tenure.traceparent() FROM PUBLIC;

-- COLUMN jobs.job_id; Type: ACL
GRANT SELECT(job_id) ON TABLE tenure.jobs TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN jobs.tenant_id; Type: ACL
GRANT SELECT(tenant_id) ON TABLE tenure.jobs TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN jobs.lane; Type: ACL
GRANT SELECT(lane) ON TABLE tenure.jobs TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN jobs.kind; Type: ACL
GRANT SELECT(kind) ON TABLE tenure.jobs TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN jobs.executor; Type: ACL
GRANT SELECT(executor) ON TABLE tenure.jobs TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN jobs.event_domain; Type: ACL
GRANT SELECT(event_domain) ON TABLE tenure.jobs TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN jobs.priority; Type: ACL
GRANT SELECT(priority) ON TABLE tenure.jobs TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN jobs.due; Type: ACL
GRANT SELECT(due) ON TABLE tenure.jobs TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN jobs.deadline_at; Type: ACL
GRANT SELECT(deadline_at) ON TABLE tenure.jobs TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN jobs.attempts_max; Type: ACL
GRANT SELECT(attempts_max) ON TABLE tenure.jobs TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN jobs.backoff_base_seconds; Type: ACL
GRANT SELECT(backoff_base_seconds) ON TABLE tenure.jobs TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN jobs.backoff_jitter_percent; Type: ACL
GRANT SELECT(backoff_jitter_percent) ON TABLE tenure.jobs TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN jobs.lease_seconds; Type: ACL
GRANT SELECT(lease_seconds) ON TABLE tenure.jobs TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN jobs.run_timeout_seconds; Type: ACL
GRANT SELECT(run_timeout_seconds) ON TABLE tenure.jobs TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN jobs.renewals_max; Type: ACL
GRANT SELECT(renewals_max) ON TABLE tenure.jobs TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN jobs.on_exhausted; Type: ACL
GRANT SELECT(on_exhausted) ON TABLE tenure.jobs TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN jobs.on_lost; Type: ACL
GRANT SELECT(on_lost) ON TABLE tenure.jobs TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN jobs.payload_classification; Type: ACL
GRANT SELECT(payload_classification) ON TABLE tenure.jobs TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN jobs.source_ref; Type: ACL
GRANT SELECT(source_ref) ON TABLE tenure.jobs TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN jobs.target_ref; Type: ACL
GRANT SELECT(target_ref) ON TABLE tenure.jobs TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN jobs.payload_ref; Type: ACL
GRANT SELECT(payload_ref) ON TABLE tenure.jobs TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN jobs.idempotency_key; Type: ACL
GRANT SELECT(idempotency_key) ON TABLE tenure.jobs TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN jobs.affinity_key; Type: ACL
GRANT SELECT(affinity_key) ON TABLE tenure.jobs TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN jobs.correlation_id; Type: ACL
GRANT SELECT(correlation_id) ON TABLE tenure.jobs TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN jobs.causation_event; Type: ACL
GRANT SELECT(causation_event) ON TABLE tenure.jobs TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN jobs.parent_job_id; Type: ACL
GRANT SELECT(parent_job_id) ON TABLE tenure.jobs TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN jobs.workflow_id; Type: ACL
GRANT SELECT(workflow_id) ON TABLE tenure.jobs TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN jobs.run_id; Type: ACL
GRANT SELECT(run_id) ON TABLE tenure.jobs TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN jobs.replay_of; Type: ACL
GRANT SELECT(replay_of) ON TABLE tenure.jobs TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN jobs.origin; Type: ACL
GRANT SELECT(origin) ON TABLE tenure.jobs TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN jobs.traceparent; Type: ACL
GRANT SELECT(traceparent) ON TABLE tenure.jobs TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN jobs.source_system; Type: ACL
GRANT SELECT(source_system) ON TABLE tenure.jobs TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN jobs.enqueued_by; Type: ACL
GRANT SELECT(enqueued_by) ON TABLE tenure.jobs TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN jobs.on_behalf_of; Type: ACL
GRANT SELECT(on_behalf_of) ON TABLE tenure.jobs TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN jobs.created_at; Type: ACL
GRANT SELECT(created_at) ON TABLE tenure.jobs TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN jobs.cleaned_at; Type: ACL
GRANT SELECT(cleaned_at) ON TABLE tenure.jobs TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION refuse_requeued(p_job tenure.jobs); Type: ACL
REVOKE ALL ON FUNCTION tenure.refuse_requeued(p_job tenure.jobs) FROM PUBLIC;

-- FUNCTION refuse_schedule(p_tenant_id integer, p_name text); Type: ACL
REVOKE ALL ON FUNCTION tenure.refuse_schedule(p_tenant_id integer, p_name text) FROM PUBLIC;

-- FUNCTION refuse_schedule_exists(p_name text); Type: ACL
REVOKE ALL ON FUNCTION tenure.refuse_schedule_exists(p_name text) FROM PUBLIC;

-- FUNCTION refuse_state(p_job_id uuid, p_state text, p_wanted text, p_from text[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.refuse_state(p_job_id uuid, p_state text, p_wanted text, p_from text[]) FROM PUBLIC;

-- FUNCTION refuse_step_job(p_job_id uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.refuse_step_job(p_job_id uuid) FROM PUBLIC;

-- FUNCTION refuse_token(); Type: ACL
REVOKE ALL ON FUNCTION tenure.refuse_token() FROM PUBLIC;

-- FUNCTION request_begin(p_key text, p_asked jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.request_begin(p_key text, p_asked jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.request_begin(p_key text, p_asked jsonb) TO tenure_server;

-- FUNCTION request_difference(p_first jsonb, p_second jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.request_difference(p_first jsonb, p_second jsonb) FROM PUBLIC;

-- FUNCTION request_end(p_key text, p_asked jsonb, p_status integer, p_answer text); Type: ACL
REVOKE ALL ON FUNCTION tenure.request_end(p_key text, p_asked jsonb, p_status integer, p_answer text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.request_end(p_key text, p_asked jsonb, p_status integer, p_answer text) TO tenure_server;

-- FUNCTION request_scope(p_key text, OUT key_hash uuid, OUT tenant_id integer, OUT key_id uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.request_scope(p_key text, OUT key_hash uuid, OUT tenant_id integer, OUT key_id uuid) FROM PUBLIC;

-- FUNCTION request_sweep(p_limit integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.request_sweep(p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.request_sweep(p_limit integer) TO tenure_server, tenure_admin, tenure_operator;

-- FUNCTION requeue_key(p_old tenure.jobs); Type: ACL
REVOKE ALL ON FUNCTION tenure.requeue_key(p_old tenure.jobs) FROM PUBLIC;

-- FUNCTION requeued_job(p_old tenure.jobs, p_job_id uuid, p_on_behalf_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.requeued_job(p_old tenure.jobs, p_job_id uuid, p_on_behalf_of text) FROM PUBLIC;

-- FUNCTION reserved_actors(); Type: ACL
REVOKE ALL ON FUNCTION tenure.reserved_actors() FROM PUBLIC;

-- FUNCTION roles_missing(p_approval tenure.approvals); Type: ACL
REVOKE ALL ON FUNCTION tenure.roles_missing(p_approval tenure.approvals) FROM PUBLIC;

-- FUNCTION rules_named(p_execution tenure.execution_rows); Type: ACL
REVOKE ALL ON FUNCTION tenure.rules_named(p_execution tenure.execution_rows) FROM PUBLIC;

-- FUNCTION rulings_write(p_now timestamp with time zone, p_actor text, p_on_behalf_of text, p_rulings tenure.run_ruling[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.rulings_write(p_now timestamp with time zone, p_actor text, p_on_behalf_of text, p_rulings tenure.run_ruling[]) FROM PUBLIC;

-- COLUMN attempts.job_id; Type: ACL
GRANT SELECT(job_id) ON TABLE tenure.attempts TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN attempts.run; Type: ACL
GRANT SELECT(run) ON TABLE tenure.attempts TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN attempts.tenant_id; Type: ACL
GRANT SELECT(tenant_id) ON TABLE tenure.attempts TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN attempts.lane; Type: ACL
GRANT SELECT(lane) ON TABLE tenure.attempts TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN attempts.attempt; Type: ACL
GRANT SELECT(attempt) ON TABLE tenure.attempts TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN attempts.outcome; Type: ACL
GRANT SELECT(outcome) ON TABLE tenure.attempts TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN attempts.state; Type: ACL
GRANT SELECT(state) ON TABLE tenure.attempts TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN attempts.final; Type: ACL
GRANT SELECT(final) ON TABLE tenure.attempts TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN attempts.owner; Type: ACL
GRANT SELECT(owner) ON TABLE tenure.attempts TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN attempts.holder; Type: ACL
GRANT SELECT(holder) ON TABLE tenure.attempts TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN attempts.leased_at; Type: ACL
GRANT SELECT(leased_at) ON TABLE tenure.attempts TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN attempts.started_at; Type: ACL
GRANT SELECT(started_at) ON TABLE tenure.attempts TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN attempts.ended_at; Type: ACL
GRANT SELECT(ended_at) ON TABLE tenure.attempts TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN attempts.next_due; Type: ACL
GRANT SELECT(next_due) ON TABLE tenure.attempts TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN attempts.actor; Type: ACL
GRANT SELECT(actor) ON TABLE tenure.attempts TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN attempts.reason; Type: ACL
GRANT SELECT(reason) ON TABLE tenure.attempts TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN attempts.error_code; Type: ACL
GRANT SELECT(error_code) ON TABLE tenure.attempts TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN attempts.error_class; Type: ACL
GRANT SELECT(error_class) ON TABLE tenure.attempts TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN attempts.error_message; Type: ACL
GRANT SELECT(error_message) ON TABLE tenure.attempts TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN attempts.result; Type: ACL
GRANT SELECT(result) ON TABLE tenure.attempts TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN attempts.result_ref; Type: ACL
GRANT SELECT(result_ref) ON TABLE tenure.attempts TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION run_facts(p_run tenure.attempts, p_actor text); Type: ACL
REVOKE ALL ON FUNCTION tenure.run_facts(p_run tenure.attempts, p_actor text) FROM PUBLIC;

-- FUNCTION runs_end(p_caller tenure.caller_identity, p_tuning tenure.tunings, p_now timestamp with time zone, p_ends tenure.end_batch, p_done uuid[], p_answers text); Type: ACL
REVOKE ALL ON FUNCTION tenure.runs_end(p_caller tenure.caller_identity, p_tuning tenure.tunings, p_now timestamp with time zone, p_ends tenure.end_batch, p_done uuid[], p_answers text) FROM PUBLIC;

-- FUNCTION runs_not_chained(p_execution_id uuid, p_step_number integer, p_job_id uuid, p_run integer, p_actor text); Type: ACL
REVOKE ALL ON FUNCTION tenure.runs_not_chained(p_execution_id uuid, p_step_number integer, p_job_id uuid, p_run integer, p_actor text) FROM PUBLIC;

-- FUNCTION runs_rule(p_now timestamp with time zone, p_ends tenure.run_end[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.runs_rule(p_now timestamp with time zone, p_ends tenure.run_end[]) FROM PUBLIC;

-- FUNCTION runs_settle(p_now timestamp with time zone, p_actor text, p_on_behalf_of text, p_ends tenure.run_end[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.runs_settle(p_now timestamp with time zone, p_actor text, p_on_behalf_of text, p_ends tenure.run_end[]) FROM PUBLIC;

-- FUNCTION runs_succeed(p_caller tenure.caller_identity, p_tuning tenure.tunings, p_now timestamp with time zone, p_ends tenure.end_batch); Type: ACL
REVOKE ALL ON FUNCTION tenure.runs_succeed(p_caller tenure.caller_identity, p_tuning tenure.tunings, p_now timestamp with time zone, p_ends tenure.end_batch) FROM PUBLIC;

-- FUNCTION runs_take(p_caller tenure.caller_identity, p_now timestamp with time zone, p_ends tenure.end_batch, p_done uuid[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.runs_take(p_caller tenure.caller_identity, p_now timestamp with time zone, p_ends tenure.end_batch, p_done uuid[]) FROM PUBLIC;

-- FUNCTION schedule_advance(p_plans jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.schedule_advance(p_plans jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.schedule_advance(p_plans jsonb) TO tenure_server;

-- FUNCTION schedule_advance_batch(p_caller tenure.caller_identity, p_now timestamp with time zone, p_plans jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.schedule_advance_batch(p_caller tenure.caller_identity, p_now timestamp with time zone, p_plans jsonb) FROM PUBLIC;

-- FUNCTION schedule_answer(p_tenant_id integer, p_name text); Type: ACL
REVOKE ALL ON FUNCTION tenure.schedule_answer(p_tenant_id integer, p_name text) FROM PUBLIC;

-- FUNCTION schedule_at(p_name text, p_at timestamp with time zone); Type: ACL
REVOKE ALL ON FUNCTION tenure.schedule_at(p_name text, p_at timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.schedule_at(p_name text, p_at timestamp with time zone) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION schedule_backfill(p_name text, p_times timestamp with time zone[], p_mode text, p_stagger_seconds integer, p_on_behalf_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.schedule_backfill(p_name text, p_times timestamp with time zone[], p_mode text, p_stagger_seconds integer, p_on_behalf_of text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.schedule_backfill(p_name text, p_times timestamp with time zone[], p_mode text, p_stagger_seconds integer, p_on_behalf_of text) TO tenure_server, tenure_admin, tenure_operator;

-- FUNCTION schedule_create(p_name text, p_spec jsonb, p_on_behalf_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.schedule_create(p_name text, p_spec jsonb, p_on_behalf_of text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.schedule_create(p_name text, p_spec jsonb, p_on_behalf_of text) TO tenure_server, tenure_admin, tenure_operator;

-- FUNCTION schedule_delete(p_name text, p_on_behalf_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.schedule_delete(p_name text, p_on_behalf_of text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.schedule_delete(p_name text, p_on_behalf_of text) TO tenure_server, tenure_admin, tenure_operator;

-- FUNCTION schedule_event_data(p_schedule tenure.schedules); Type: ACL
REVOKE ALL ON FUNCTION tenure.schedule_event_data(p_schedule tenure.schedules) FROM PUBLIC;

-- FUNCTION schedule_insert(p_caller tenure.caller_identity, p_now timestamp with time zone, p_name text, p_new tenure.schedules); Type: ACL
REVOKE ALL ON FUNCTION tenure.schedule_insert(p_caller tenure.caller_identity, p_now timestamp with time zone, p_name text, p_new tenure.schedules) FROM PUBLIC;

-- FUNCTION schedule_list(p_limit integer, p_after text); Type: ACL
REVOKE ALL ON FUNCTION tenure.schedule_list(p_limit integer, p_after text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.schedule_list(p_limit integer, p_after text) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION schedule_locked(p_tenant_id integer, p_name text); Type: ACL
REVOKE ALL ON FUNCTION tenure.schedule_locked(p_tenant_id integer, p_name text) FROM PUBLIC;

-- FUNCTION schedule_pause(p_name text, p_note text, p_on_behalf_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.schedule_pause(p_name text, p_note text, p_on_behalf_of text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.schedule_pause(p_name text, p_note text, p_on_behalf_of text) TO tenure_server, tenure_admin, tenure_operator;

-- FUNCTION schedule_put(p_name text, p_spec jsonb, p_on_behalf_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.schedule_put(p_name text, p_spec jsonb, p_on_behalf_of text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.schedule_put(p_name text, p_spec jsonb, p_on_behalf_of text) TO tenure_server, tenure_admin, tenure_operator;

-- FUNCTION schedule_read(p_caller tenure.caller_identity, p_old tenure.schedules, p_spec jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.schedule_read(p_caller tenure.caller_identity, p_old tenure.schedules, p_spec jsonb) FROM PUBLIC;

-- FUNCTION schedule_read_field(p_field text, p_value jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.schedule_read_field(p_field text, p_value jsonb) FROM PUBLIC;

-- FUNCTION schedule_read_job(p_new tenure.schedules, p_spec jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.schedule_read_job(p_new tenure.schedules, p_spec jsonb) FROM PUBLIC;

-- FUNCTION schedule_read_number(p_field text, p_value jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.schedule_read_number(p_field text, p_value jsonb) FROM PUBLIC;

-- FUNCTION schedule_read_policy(p_caller tenure.caller_identity, p_old tenure.schedules, p_new tenure.schedules, p_spec jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.schedule_read_policy(p_caller tenure.caller_identity, p_old tenure.schedules, p_new tenure.schedules, p_spec jsonb) FROM PUBLIC;

-- FUNCTION schedule_read_rule(p_new tenure.schedules, p_spec jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.schedule_read_rule(p_new tenure.schedules, p_spec jsonb) FROM PUBLIC;

-- FUNCTION schedule_resume(p_name text, p_on_behalf_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.schedule_resume(p_name text, p_on_behalf_of text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.schedule_resume(p_name text, p_on_behalf_of text) TO tenure_server, tenure_admin, tenure_operator;

-- FUNCTION schedule_rows(p_tenant_id integer, p_name text, p_limit integer, p_after text); Type: ACL
REVOKE ALL ON FUNCTION tenure.schedule_rows(p_tenant_id integer, p_name text, p_limit integer, p_after text) FROM PUBLIC;

-- FUNCTION schedule_rule(p_schedule tenure.schedules); Type: ACL
REVOKE ALL ON FUNCTION tenure.schedule_rule(p_schedule tenure.schedules) FROM PUBLIC;

-- FUNCTION schedule_run(p_name text, p_on_behalf_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.schedule_run(p_name text, p_on_behalf_of text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.schedule_run(p_name text, p_on_behalf_of text) TO tenure_server, tenure_admin, tenure_operator;

-- FUNCTION schedule_show(p_name text); Type: ACL
REVOKE ALL ON FUNCTION tenure.schedule_show(p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.schedule_show(p_name text) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION schedule_slots(p_name text, p_state text[], p_from timestamp with time zone, p_until timestamp with time zone, p_limit integer, p_before timestamp with time zone); Type: ACL
REVOKE ALL ON FUNCTION tenure.schedule_slots(p_name text, p_state text[], p_from timestamp with time zone, p_until timestamp with time zone, p_limit integer, p_before timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.schedule_slots(p_name text, p_state text[], p_from timestamp with time zone, p_until timestamp with time zone, p_limit integer, p_before timestamp with time zone) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION schedule_take(p_limit integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.schedule_take(p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.schedule_take(p_limit integer) TO tenure_server;

-- FUNCTION schedule_update(p_name text, p_changes jsonb, p_on_behalf_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.schedule_update(p_name text, p_changes jsonb, p_on_behalf_of text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.schedule_update(p_name text, p_changes jsonb, p_on_behalf_of text) TO tenure_server, tenure_admin, tenure_operator;

-- FUNCTION schedule_write(p_name text, p_spec jsonb, p_mode text, p_on_behalf_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.schedule_write(p_name text, p_spec jsonb, p_mode text, p_on_behalf_of text) FROM PUBLIC;

-- FUNCTION schedules_catch_up(p_now timestamp with time zone, p_plans tenure.rule_plan[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.schedules_catch_up(p_now timestamp with time zone, p_plans tenure.rule_plan[]) FROM PUBLIC;

-- FUNCTION schedules_look_again(p_now timestamp with time zone, p_plans tenure.rule_plan[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.schedules_look_again(p_now timestamp with time zone, p_plans tenure.rule_plan[]) FROM PUBLIC;

-- FUNCTION secret_text(p_secret bytea); Type: ACL
REVOKE ALL ON FUNCTION tenure.secret_text(p_secret bytea) FROM PUBLIC;

-- FUNCTION section_enter_entries(p_execs uuid[], p_numbers integer[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.section_enter_entries(p_execs uuid[], p_numbers integer[]) FROM PUBLIC;

-- FUNCTION section_is_over(p_execution_id uuid, p_section text); Type: ACL
REVOKE ALL ON FUNCTION tenure.section_is_over(p_execution_id uuid, p_section text) FROM PUBLIC;

-- FUNCTION section_step_fail(p_now timestamp with time zone, p_execution_id uuid, p_number integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.section_step_fail(p_now timestamp with time zone, p_execution_id uuid, p_number integer) FROM PUBLIC;

-- FUNCTION sections_continue(p_now timestamp with time zone, p_execs uuid[], p_numbers integer[], INOUT entries tenure.chain_entry[], OUT execs uuid[], OUT numbers integer[], OUT inner_execs uuid[], OUT inner_numbers integer[], OUT lost_execs uuid[], OUT lost_numbers integer[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.sections_continue(p_now timestamp with time zone, p_execs uuid[], p_numbers integer[], INOUT entries tenure.chain_entry[], OUT execs uuid[], OUT numbers integer[], OUT inner_execs uuid[], OUT inner_numbers integer[], OUT lost_execs uuid[], OUT lost_numbers integer[]) FROM PUBLIC;

-- FUNCTION sections_release(p_execs uuid[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.sections_release(p_execs uuid[]) FROM PUBLIC;

-- FUNCTION sections_shown(p_execution_id uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.sections_shown(p_execution_id uuid) FROM PUBLIC;

-- FUNCTION service_beat(p_service text, p_instance uuid, p_version text, p_zones text); Type: ACL
REVOKE ALL ON FUNCTION tenure.service_beat(p_service text, p_instance uuid, p_version text, p_zones text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.service_beat(p_service text, p_instance uuid, p_version text, p_zones text) TO tenure_server;

-- FUNCTION service_list(); Type: ACL
REVOKE ALL ON FUNCTION tenure.service_list() FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.service_list() TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION setting(p_tenant_id integer, p_key text); Type: ACL
REVOKE ALL ON FUNCTION tenure.setting(p_tenant_id integer, p_key text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.setting(p_tenant_id integer, p_key text) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION setting_integer(p_tenant_id integer, p_key text); Type: ACL
REVOKE ALL ON FUNCTION tenure.setting_integer(p_tenant_id integer, p_key text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.setting_integer(p_tenant_id integer, p_key text) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION slot_give_way(p_caller tenure.caller_identity, p_now timestamp with time zone, p_tenant_id integer, p_job_id uuid, p_actor text); Type: ACL
REVOKE ALL ON FUNCTION tenure.slot_give_way(p_caller tenure.caller_identity, p_now timestamp with time zone, p_tenant_id integer, p_job_id uuid, p_actor text) FROM PUBLIC;

-- FUNCTION slot_jitter(p_schedule_id integer, p_plan_time timestamp with time zone, p_seconds bigint); Type: ACL
REVOKE ALL ON FUNCTION tenure.slot_jitter(p_schedule_id integer, p_plan_time timestamp with time zone, p_seconds bigint) FROM PUBLIC;

-- FUNCTION slot_moment(p_schedule tenure.schedules, p_now timestamp with time zone); Type: ACL
REVOKE ALL ON FUNCTION tenure.slot_moment(p_schedule tenure.schedules, p_now timestamp with time zone) FROM PUBLIC;

-- FUNCTION slot_origin(p_schedule tenure.schedules, p_slot tenure.planned_slots); Type: ACL
REVOKE ALL ON FUNCTION tenure.slot_origin(p_schedule tenure.schedules, p_slot tenure.planned_slots) FROM PUBLIC;

-- FUNCTION slot_plan(p_schedule tenure.schedules, p_now timestamp with time zone, p_plan_time timestamp with time zone, p_due_at timestamp with time zone, p_origin text, p_by text); Type: ACL
REVOKE ALL ON FUNCTION tenure.slot_plan(p_schedule tenure.schedules, p_now timestamp with time zone, p_plan_time timestamp with time zone, p_due_at timestamp with time zone, p_origin text, p_by text) FROM PUBLIC;

-- FUNCTION slot_reopen(p_job_id uuid, p_by_job_id uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.slot_reopen(p_job_id uuid, p_by_job_id uuid) FROM PUBLIC;

-- FUNCTION slot_shown(p_slot tenure.planned_slots); Type: ACL
REVOKE ALL ON FUNCTION tenure.slot_shown(p_slot tenure.planned_slots) FROM PUBLIC;

-- FUNCTION slot_sweep(p_limit integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.slot_sweep(p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.slot_sweep(p_limit integer) TO tenure_server, tenure_admin, tenure_operator;

-- FUNCTION slots_catch_up(p_schedule tenure.schedules, p_slot tenure.planned_slots, p_now timestamp with time zone, p_plan tenure.rule_plan); Type: ACL
REVOKE ALL ON FUNCTION tenure.slots_catch_up(p_schedule tenure.schedules, p_slot tenure.planned_slots, p_now timestamp with time zone, p_plan tenure.rule_plan) FROM PUBLIC;

-- FUNCTION slots_emit(p_what text, p_now timestamp with time zone, p_actor text, p_slot_ids bigint[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.slots_emit(p_what text, p_now timestamp with time zone, p_actor text, p_slot_ids bigint[]) FROM PUBLIC;

-- FUNCTION slots_end(p_now timestamp with time zone, p_actor text, p_job_ids uuid[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.slots_end(p_now timestamp with time zone, p_actor text, p_job_ids uuid[]) FROM PUBLIC;

-- FUNCTION slots_fire(p_caller tenure.caller_identity, p_now timestamp with time zone, p_schedule_ids integer[], p_actor text, p_slot_id bigint, OUT started integer, OUT skipped integer, OUT waiting integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.slots_fire(p_caller tenure.caller_identity, p_now timestamp with time zone, p_schedule_ids integer[], p_actor text, p_slot_id bigint, OUT started integer, OUT skipped integer, OUT waiting integer) FROM PUBLIC;

-- FUNCTION slots_followed(p_schedule_ids integer[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.slots_followed(p_schedule_ids integer[]) FROM PUBLIC;

-- FUNCTION slots_judged(p_now timestamp with time zone, p_schedule_ids integer[], p_slot_id bigint); Type: ACL
REVOKE ALL ON FUNCTION tenure.slots_judged(p_now timestamp with time zone, p_schedule_ids integer[], p_slot_id bigint) FROM PUBLIC;

-- FUNCTION slots_plan_next(p_now timestamp with time zone, p_plans tenure.rule_plan[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.slots_plan_next(p_now timestamp with time zone, p_plans tenure.rule_plan[]) FROM PUBLIC;

-- FUNCTION slots_room(p_schedule_id integer, p_now timestamp with time zone); Type: ACL
REVOKE ALL ON FUNCTION tenure.slots_room(p_schedule_id integer, p_now timestamp with time zone) FROM PUBLIC;

-- FUNCTION slots_start(p_caller tenure.caller_identity, p_tenant_id integer, p_now timestamp with time zone, p_slot_ids bigint[], p_actor text); Type: ACL
REVOKE ALL ON FUNCTION tenure.slots_start(p_caller tenure.caller_identity, p_tenant_id integer, p_now timestamp with time zone, p_slot_ids bigint[], p_actor text) FROM PUBLIC;

-- FUNCTION slots_supersede(p_schedule_id integer, p_now timestamp with time zone, p_actor text, p_why text, p_all boolean); Type: ACL
REVOKE ALL ON FUNCTION tenure.slots_supersede(p_schedule_id integer, p_now timestamp with time zone, p_actor text, p_why text, p_all boolean) FROM PUBLIC;

-- FUNCTION sqlstate_code(p_sqlstate text); Type: ACL
REVOKE ALL ON FUNCTION tenure.sqlstate_code(p_sqlstate text) FROM PUBLIC;

-- FUNCTION stale_check(p_threshold_seconds integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.stale_check(p_threshold_seconds integer) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.stale_check(p_threshold_seconds integer) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION start_line(p_run integer, p_worker text, p_started_at timestamp with time zone, p_fence bigint); Type: ACL
REVOKE ALL ON FUNCTION tenure.start_line(p_run integer, p_worker text, p_started_at timestamp with time zone, p_fence bigint) FROM PUBLIC;

-- FUNCTION starts_follow(p_now timestamp with time zone, p_job_ids uuid[], p_which text); Type: ACL
REVOKE ALL ON FUNCTION tenure.starts_follow(p_now timestamp with time zone, p_job_ids uuid[], p_which text) FROM PUBLIC;

-- FUNCTION starts_left(p_job_ids uuid[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.starts_left(p_job_ids uuid[]) FROM PUBLIC;

-- FUNCTION step_approvals_consume(p_now timestamp with time zone, p_execs uuid[], p_numbers integer[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.step_approvals_consume(p_now timestamp with time zone, p_execs uuid[], p_numbers integer[]) FROM PUBLIC;

-- FUNCTION step_approvals_request(p_now timestamp with time zone, p_execs uuid[], p_numbers integer[], INOUT entries tenure.chain_entry[], OUT execs uuid[], OUT numbers integer[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.step_approvals_request(p_now timestamp with time zone, p_execs uuid[], p_numbers integer[], INOUT entries tenure.chain_entry[], OUT execs uuid[], OUT numbers integer[]) FROM PUBLIC;

-- FUNCTION step_approvals_withdraw(p_now timestamp with time zone, p_execs uuid[], p_numbers integer[], INOUT entries tenure.chain_entry[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.step_approvals_withdraw(p_now timestamp with time zone, p_execs uuid[], p_numbers integer[], INOUT entries tenure.chain_entry[]) FROM PUBLIC;

-- FUNCTION step_ends_apply(p_now timestamp with time zone, p_actor text, p_job_ids uuid[], p_freed text); Type: ACL
REVOKE ALL ON FUNCTION tenure.step_ends_apply(p_now timestamp with time zone, p_actor text, p_job_ids uuid[], p_freed text) FROM PUBLIC;

-- FUNCTION step_ends_follow(p_now timestamp with time zone, p_actor text, p_job_ids uuid[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.step_ends_follow(p_now timestamp with time zone, p_actor text, p_job_ids uuid[]) FROM PUBLIC;

-- FUNCTION step_ends_note(p_now timestamp with time zone, p_job_ids uuid[], p_reason text); Type: ACL
REVOKE ALL ON FUNCTION tenure.step_ends_note(p_now timestamp with time zone, p_job_ids uuid[], p_reason text) FROM PUBLIC;

-- FUNCTION step_ends_try(p_now timestamp with time zone, p_actor text, p_job_ids uuid[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.step_ends_try(p_now timestamp with time zone, p_actor text, p_job_ids uuid[]) FROM PUBLIC;

-- FUNCTION step_ends_write(p_now timestamp with time zone, p_actor text, p_job_ids uuid[], OUT execs uuid[], OUT numbers integer[], OUT states text[], OUT entries tenure.chain_entry[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.step_ends_write(p_now timestamp with time zone, p_actor text, p_job_ids uuid[], OUT execs uuid[], OUT numbers integer[], OUT states text[], OUT entries tenure.chain_entry[]) FROM PUBLIC;

-- FUNCTION step_errors(p_execution_id uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.step_errors(p_execution_id uuid) FROM PUBLIC;

-- FUNCTION step_fail_refused(p_now timestamp with time zone, p_execution_id uuid, p_number integer, p_code text, p_message text); Type: ACL
REVOKE ALL ON FUNCTION tenure.step_fail_refused(p_now timestamp with time zone, p_execution_id uuid, p_number integer, p_code text, p_message text) FROM PUBLIC;

-- FUNCTION step_fail_unapproved(p_now timestamp with time zone, p_actor text, p_approval tenure.approvals, p_execution tenure.execution_rows); Type: ACL
REVOKE ALL ON FUNCTION tenure.step_fail_unapproved(p_now timestamp with time zone, p_actor text, p_approval tenure.approvals, p_execution tenure.execution_rows) FROM PUBLIC;

-- FUNCTION step_fenced(p_job_id uuid, p_fence bigint); Type: ACL
REVOKE ALL ON FUNCTION tenure.step_fenced(p_job_id uuid, p_fence bigint) FROM PUBLIC;

-- FUNCTION step_job_take(p_tenant_id integer, p_job_id uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.step_job_take(p_tenant_id integer, p_job_id uuid) FROM PUBLIC;

-- FUNCTION step_jobs_cancel(p_now timestamp with time zone, p_actor text, p_ids uuid[], p_reason text); Type: ACL
REVOKE ALL ON FUNCTION tenure.step_jobs_cancel(p_now timestamp with time zone, p_actor text, p_ids uuid[], p_reason text) FROM PUBLIC;

-- FUNCTION step_jobs_stop(p_now timestamp with time zone, p_actor text, p_execution_id uuid, p_reason text); Type: ACL
REVOKE ALL ON FUNCTION tenure.step_jobs_stop(p_now timestamp with time zone, p_actor text, p_execution_id uuid, p_reason text) FROM PUBLIC;

-- FUNCTION step_jobs_take_back(p_now timestamp with time zone, p_actor text, p_ids uuid[], p_reason text, OUT at timestamp with time zone, OUT execs uuid[], OUT numbers integer[], OUT states text[], OUT entries tenure.chain_entry[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.step_jobs_take_back(p_now timestamp with time zone, p_actor text, p_ids uuid[], p_reason text, OUT at timestamp with time zone, OUT execs uuid[], OUT numbers integer[], OUT states text[], OUT entries tenure.chain_entry[]) FROM PUBLIC;

-- FUNCTION step_jobs_withdraw(p_now timestamp with time zone, p_actor text, p_execution_id uuid, p_reason text); Type: ACL
REVOKE ALL ON FUNCTION tenure.step_jobs_withdraw(p_now timestamp with time zone, p_actor text, p_execution_id uuid, p_reason text) FROM PUBLIC;

-- FUNCTION step_lease_seconds(p_own_timeout integer, p_policy tenure.timeout_policies); Type: ACL
REVOKE ALL ON FUNCTION tenure.step_lease_seconds(p_own_timeout integer, p_policy tenure.timeout_policies) FROM PUBLIC;

-- FUNCTION step_lease_usual(p_tenant_id integer, p_kind text); Type: ACL
REVOKE ALL ON FUNCTION tenure.step_lease_usual(p_tenant_id integer, p_kind text) FROM PUBLIC;

-- FUNCTION step_list(p_execution_id uuid, p_state text[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.step_list(p_execution_id uuid, p_state text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.step_list(p_execution_id uuid, p_state text[]) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION step_of_key(p_key text); Type: ACL
REVOKE ALL ON FUNCTION tenure.step_of_key(p_key text) FROM PUBLIC;

-- FUNCTION step_origin(p_execution_id uuid, p_number integer, p_step_id text, p_action text, p_action_class text, p_target_type text, p_plan_hash text); Type: ACL
REVOKE ALL ON FUNCTION tenure.step_origin(p_execution_id uuid, p_number integer, p_step_id text, p_action text, p_action_class text, p_target_type text, p_plan_hash text) FROM PUBLIC;

-- FUNCTION step_progress(p_now timestamp with time zone, p_actor text, p_job_id uuid, p_progress jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.step_progress(p_now timestamp with time zone, p_actor text, p_job_id uuid, p_progress jsonb) FROM PUBLIC;

-- FUNCTION step_run_again(p_now timestamp with time zone, p_actor text, p_step tenure.step_rows); Type: ACL
REVOKE ALL ON FUNCTION tenure.step_run_again(p_now timestamp with time zone, p_actor text, p_step tenure.step_rows) FROM PUBLIC;

-- FUNCTION step_runs_keep(p_job_ids uuid[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.step_runs_keep(p_job_ids uuid[]) FROM PUBLIC;

-- FUNCTION step_runs_of(p_execution_id uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.step_runs_of(p_execution_id uuid) FROM PUBLIC;

-- FUNCTION step_shown(p_origin jsonb, p_target_ref text, p_fence bigint); Type: ACL
REVOKE ALL ON FUNCTION tenure.step_shown(p_origin jsonb, p_target_ref text, p_fence bigint) FROM PUBLIC;

-- FUNCTION step_starts_read(p_job_ids uuid[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.step_starts_read(p_job_ids uuid[]) FROM PUBLIC;

-- FUNCTION step_starts_record(p_now timestamp with time zone, p_actor text, p_job_ids uuid[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.step_starts_record(p_now timestamp with time zone, p_actor text, p_job_ids uuid[]) FROM PUBLIC;

-- FUNCTION step_terms(p_execution_id uuid, p_plan jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.step_terms(p_execution_id uuid, p_plan jsonb) FROM PUBLIC;

-- FUNCTION step_to_resolve(p_caller tenure.caller_identity, p_execution tenure.execution_rows, p_step_id text, p_verdict tenure.verdict); Type: ACL
REVOKE ALL ON FUNCTION tenure.step_to_resolve(p_caller tenure.caller_identity, p_execution tenure.execution_rows, p_step_id text, p_verdict tenure.verdict) FROM PUBLIC;

-- FUNCTION steps_block(p_now timestamp with time zone, p_execs uuid[], p_numbers integer[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.steps_block(p_now timestamp with time zone, p_execs uuid[], p_numbers integer[]) FROM PUBLIC;

-- FUNCTION steps_carry_over(p_now timestamp with time zone, p_actor text, p_from uuid, p_to uuid, p_reason text); Type: ACL
REVOKE ALL ON FUNCTION tenure.steps_carry_over(p_now timestamp with time zone, p_actor text, p_from uuid, p_to uuid, p_reason text) FROM PUBLIC;

-- FUNCTION steps_claimed(p_job_ids uuid[], OUT job_ids uuid[], OUT fences bigint[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.steps_claimed(p_job_ids uuid[], OUT job_ids uuid[], OUT fences bigint[]) FROM PUBLIC;

-- FUNCTION steps_dispatch(p_now timestamp with time zone, p_actor text, p_execs uuid[], p_numbers integer[], p_granted boolean, p_begun boolean, INOUT entries tenure.chain_entry[], OUT refused_execs uuid[], OUT refused_numbers integer[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.steps_dispatch(p_now timestamp with time zone, p_actor text, p_execs uuid[], p_numbers integer[], p_granted boolean, p_begun boolean, INOUT entries tenure.chain_entry[], OUT refused_execs uuid[], OUT refused_numbers integer[]) FROM PUBLIC;

-- FUNCTION steps_dispatch_held(p_now timestamp with time zone, p_actor text, p_execution_id uuid, p_numbers integer[], p_granted boolean); Type: ACL
REVOKE ALL ON FUNCTION tenure.steps_dispatch_held(p_now timestamp with time zone, p_actor text, p_execution_id uuid, p_numbers integer[], p_granted boolean) FROM PUBLIC;

-- FUNCTION steps_enqueue(p_now timestamp with time zone, p_tenant_id integer, p_execs uuid[], p_numbers integer[], OUT entries tenure.chain_entry[], OUT refused_execs uuid[], OUT refused_numbers integer[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.steps_enqueue(p_now timestamp with time zone, p_tenant_id integer, p_execs uuid[], p_numbers integer[], OUT entries tenure.chain_entry[], OUT refused_execs uuid[], OUT refused_numbers integer[]) FROM PUBLIC;

-- FUNCTION steps_enqueue_by_tenant(p_now timestamp with time zone, p_execs uuid[], p_numbers integer[], OUT entries tenure.chain_entry[], OUT refused_execs uuid[], OUT refused_numbers integer[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.steps_enqueue_by_tenant(p_now timestamp with time zone, p_execs uuid[], p_numbers integer[], OUT entries tenure.chain_entry[], OUT refused_execs uuid[], OUT refused_numbers integer[]) FROM PUBLIC;

-- FUNCTION steps_find_next(p_now timestamp with time zone, p_execs uuid[], p_numbers integer[], p_states text[], INOUT entries tenure.chain_entry[], OUT execs uuid[], OUT numbers integer[], OUT stopped uuid[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.steps_find_next(p_now timestamp with time zone, p_execs uuid[], p_numbers integer[], p_states text[], INOUT entries tenure.chain_entry[], OUT execs uuid[], OUT numbers integer[], OUT stopped uuid[]) FROM PUBLIC;

-- FUNCTION steps_lease(p_tenant_id integer, p_kind text, p_job_ids uuid[], OUT job_ids uuid[], OUT lease_seconds integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.steps_lease(p_tenant_id integer, p_kind text, p_job_ids uuid[], OUT job_ids uuid[], OUT lease_seconds integer) FROM PUBLIC;

-- FUNCTION steps_lock(p_now timestamp with time zone, p_execs uuid[], p_numbers integer[], p_granted boolean, INOUT entries tenure.chain_entry[], OUT execs uuid[], OUT numbers integer[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.steps_lock(p_now timestamp with time zone, p_execs uuid[], p_numbers integer[], p_granted boolean, INOUT entries tenure.chain_entry[], OUT execs uuid[], OUT numbers integer[]) FROM PUBLIC;

-- FUNCTION steps_new_jobs(p_execs uuid[], p_numbers integer[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.steps_new_jobs(p_execs uuid[], p_numbers integer[]) FROM PUBLIC;

-- FUNCTION steps_set_running(p_now timestamp with time zone, p_execs uuid[], p_numbers integer[], p_job_ids uuid[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.steps_set_running(p_now timestamp with time zone, p_execs uuid[], p_numbers integer[], p_job_ids uuid[]) FROM PUBLIC;

-- FUNCTION steps_skip(p_now timestamp with time zone, p_execs uuid[], p_numbers integer[], p_reason text); Type: ACL
REVOKE ALL ON FUNCTION tenure.steps_skip(p_now timestamp with time zone, p_execs uuid[], p_numbers integer[], p_reason text) FROM PUBLIC;

-- FUNCTION steps_write(p_tenant_id integer, p_new tenure.new_execution); Type: ACL
REVOKE ALL ON FUNCTION tenure.steps_write(p_tenant_id integer, p_new tenure.new_execution) FROM PUBLIC;

-- FUNCTION stream_lag(); Type: ACL
REVOKE ALL ON FUNCTION tenure.stream_lag() FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.stream_lag() TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION stream_place(p_from text, OUT epoch integer, OUT txid xid8, OUT seq bigint); Type: ACL
REVOKE ALL ON FUNCTION tenure.stream_place(p_from text, OUT epoch integer, OUT txid xid8, OUT seq bigint) FROM PUBLIC;

-- FUNCTION stricter_class(p_said text, p_demanded text); Type: ACL
REVOKE ALL ON FUNCTION tenure.stricter_class(p_said text, p_demanded text) FROM PUBLIC;

-- FUNCTION stricter_lock(p_said text, p_demanded text); Type: ACL
REVOKE ALL ON FUNCTION tenure.stricter_lock(p_said text, p_demanded text) FROM PUBLIC;

-- FUNCTION submission_again(p_old tenure.execution_rows, p_on_behalf_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.submission_again(p_old tenure.execution_rows, p_on_behalf_of text) FROM PUBLIC;

-- FUNCTION submission_check(p_caller tenure.caller_identity, p_now timestamp with time zone, p_submission tenure.submission); Type: ACL
REVOKE ALL ON FUNCTION tenure.submission_check(p_caller tenure.caller_identity, p_now timestamp with time zone, p_submission tenure.submission) FROM PUBLIC;

-- FUNCTION submission_judge(p_caller tenure.caller_identity, p_now timestamp with time zone, p_submission tenure.submission); Type: ACL
REVOKE ALL ON FUNCTION tenure.submission_judge(p_caller tenure.caller_identity, p_now timestamp with time zone, p_submission tenure.submission) FROM PUBLIC;

-- FUNCTION submission_record(p_execution tenure.execution_rows, p_plan jsonb, p_text text); Type: ACL
REVOKE ALL ON FUNCTION tenure.submission_record(p_execution tenure.execution_rows, p_plan jsonb, p_text text) FROM PUBLIC;

-- FUNCTION submission_shown(p_execution tenure.execution_rows, p_duplicate boolean, p_unchanged boolean, p_difference jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.submission_shown(p_execution tenure.execution_rows, p_duplicate boolean, p_unchanged boolean, p_difference jsonb) FROM PUBLIC;

-- FUNCTION submissions_exclude(p_tenant_id integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.submissions_exclude(p_tenant_id integer) FROM PUBLIC;

-- FUNCTION subscription_ack(p_name text, p_cursor text); Type: ACL
REVOKE ALL ON FUNCTION tenure.subscription_ack(p_name text, p_cursor text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.subscription_ack(p_name text, p_cursor text) TO tenure_server, tenure_admin, tenure_operator, tenure_producer, tenure_worker;

-- FUNCTION subscription_actor(p_sub tenure.subscriptions); Type: ACL
REVOKE ALL ON FUNCTION tenure.subscription_actor(p_sub tenure.subscriptions) FROM PUBLIC;

-- FUNCTION subscription_create(p_name text, p_event_kinds text[], p_target text, p_filter jsonb, p_from text, p_job_kind text, p_executor text, p_priority integer, p_depth_max integer, p_url text, p_on_behalf_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.subscription_create(p_name text, p_event_kinds text[], p_target text, p_filter jsonb, p_from text, p_job_kind text, p_executor text, p_priority integer, p_depth_max integer, p_url text, p_on_behalf_of text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.subscription_create(p_name text, p_event_kinds text[], p_target text, p_filter jsonb, p_from text, p_job_kind text, p_executor text, p_priority integer, p_depth_max integer, p_url text, p_on_behalf_of text) TO tenure_server, tenure_admin, tenure_operator;

-- FUNCTION subscription_delete(p_name text, p_on_behalf_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.subscription_delete(p_name text, p_on_behalf_of text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.subscription_delete(p_name text, p_on_behalf_of text) TO tenure_server, tenure_admin, tenure_operator;

-- FUNCTION subscription_enqueue(p_sub tenure.subscriptions, p_actor text, p_now timestamp with time zone, p_parts jsonb[], p_seqs bigint[], p_jobs uuid[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.subscription_enqueue(p_sub tenure.subscriptions, p_actor text, p_now timestamp with time zone, p_parts jsonb[], p_seqs bigint[], p_jobs uuid[]) FROM PUBLIC;

-- FUNCTION subscription_list(); Type: ACL
REVOKE ALL ON FUNCTION tenure.subscription_list() FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.subscription_list() TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION subscription_locked(p_tenant_id integer, p_name text); Type: ACL
REVOKE ALL ON FUNCTION tenure.subscription_locked(p_tenant_id integer, p_name text) FROM PUBLIC;

-- FUNCTION subscription_pause(p_name text, p_note text, p_on_behalf_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.subscription_pause(p_name text, p_note text, p_on_behalf_of text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.subscription_pause(p_name text, p_note text, p_on_behalf_of text) TO tenure_server, tenure_admin, tenure_operator;

-- FUNCTION subscription_read(p_name text, p_limit integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.subscription_read(p_name text, p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.subscription_read(p_name text, p_limit integer) TO tenure_server, tenure_admin, tenure_operator, tenure_producer, tenure_worker;

-- FUNCTION subscription_resume(p_name text, p_from text, p_on_behalf_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.subscription_resume(p_name text, p_from text, p_on_behalf_of text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.subscription_resume(p_name text, p_from text, p_on_behalf_of text) TO tenure_server, tenure_admin, tenure_operator;

-- FUNCTION subscription_rotate(p_name text, p_on_behalf_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.subscription_rotate(p_name text, p_on_behalf_of text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.subscription_rotate(p_name text, p_on_behalf_of text) TO tenure_server, tenure_admin, tenure_operator;

-- FUNCTION subscription_row(p_subscription tenure.subscriptions); Type: ACL
REVOKE ALL ON FUNCTION tenure.subscription_row(p_subscription tenure.subscriptions) FROM PUBLIC;

-- FUNCTION subscription_run(p_rows_max integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.subscription_run(p_rows_max integer) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.subscription_run(p_rows_max integer) TO tenure_server, tenure_admin, tenure_operator;

-- FUNCTION subscription_scan(p_subscription tenure.subscriptions, p_rows_max integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.subscription_scan(p_subscription tenure.subscriptions, p_rows_max integer) FROM PUBLIC;

-- FUNCTION subscription_step(p_sub tenure.subscriptions, p_rows_max integer, p_now timestamp with time zone, OUT events integer, OUT made integer, OUT skipped integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.subscription_step(p_sub tenure.subscriptions, p_rows_max integer, p_now timestamp with time zone, OUT events integer, OUT made integer, OUT skipped integer) FROM PUBLIC;

-- FUNCTION sweep_find(p_tenants integer[], p_now timestamp with time zone, p_after uuid, p_limit integer, OUT examined integer, OUT last_id uuid, OUT job_ids uuid[], OUT step_job_ids uuid[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.sweep_find(p_tenants integer[], p_now timestamp with time zone, p_after uuid, p_limit integer, OUT examined integer, OUT last_id uuid, OUT job_ids uuid[], OUT step_job_ids uuid[]) FROM PUBLIC;

-- FUNCTION target_folded(p_tenant_id integer, p_type text, p_ref text); Type: ACL
REVOKE ALL ON FUNCTION tenure.target_folded(p_tenant_id integer, p_type text, p_ref text) FROM PUBLIC;

-- FUNCTION target_matches(p_ref text, p_globs text[], p_fold boolean); Type: ACL
REVOKE ALL ON FUNCTION tenure.target_matches(p_ref text, p_globs text[], p_fold boolean) FROM PUBLIC;

-- FUNCTION target_type_delete(p_name text); Type: ACL
REVOKE ALL ON FUNCTION tenure.target_type_delete(p_name text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.target_type_delete(p_name text) TO tenure_server, tenure_admin;

-- FUNCTION target_type_list(); Type: ACL
REVOKE ALL ON FUNCTION tenure.target_type_list() FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.target_type_list() TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION target_type_set(p_name text, p_spec jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.target_type_set(p_name text, p_spec jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.target_type_set(p_name text, p_spec jsonb) TO tenure_server, tenure_admin;

-- FUNCTION target_type_write(p_tenant_id integer, p_now timestamp with time zone, p_author text, p_name text, p_spec jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.target_type_write(p_tenant_id integer, p_now timestamp with time zone, p_author text, p_name text, p_spec jsonb) FROM PUBLIC;

-- FUNCTION targets_lock_rows(p_ids uuid[], p_patience text); Type: ACL
REVOKE ALL ON FUNCTION tenure.targets_lock_rows(p_ids uuid[], p_patience text) FROM PUBLIC;

-- FUNCTION targets_wanted(p_ids uuid[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.targets_wanted(p_ids uuid[]) FROM PUBLIC;

-- FUNCTION tenant_create(p_name text, p_on_behalf_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.tenant_create(p_name text, p_on_behalf_of text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.tenant_create(p_name text, p_on_behalf_of text) TO tenure_server, tenure_admin;

-- FUNCTION tenant_list(p_limit integer, p_after text); Type: ACL
REVOKE ALL ON FUNCTION tenure.tenant_list(p_limit integer, p_after text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.tenant_list(p_limit integer, p_after text) TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION tenant_promote(p_tenant_id integer, p_now timestamp with time zone, p_rows_max integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.tenant_promote(p_tenant_id integer, p_now timestamp with time zone, p_rows_max integer) FROM PUBLIC;

-- FUNCTION tick_ends(p_now timestamp with time zone, p_tenants integer[], p_limit integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.tick_ends(p_now timestamp with time zone, p_tenants integer[], p_limit integer) FROM PUBLIC;

-- FUNCTION tick_executions(p_now timestamp with time zone, p_tenants integer[], p_limit integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.tick_executions(p_now timestamp with time zone, p_tenants integer[], p_limit integer) FROM PUBLIC;

-- FUNCTION tick_locks(p_now timestamp with time zone, p_tenants integer[], p_limit integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.tick_locks(p_now timestamp with time zone, p_tenants integer[], p_limit integer) FROM PUBLIC;

-- FUNCTION tick_starts(p_now timestamp with time zone, p_tenants integer[], p_limit integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.tick_starts(p_now timestamp with time zone, p_tenants integer[], p_limit integer) FROM PUBLIC;

-- FUNCTION timeout_policy(p_tenant_id integer, p_sla_class text, p_action_class text); Type: ACL
REVOKE ALL ON FUNCTION tenure.timeout_policy(p_tenant_id integer, p_sla_class text, p_action_class text) FROM PUBLIC;

-- FUNCTION timeout_policy_list(); Type: ACL
REVOKE ALL ON FUNCTION tenure.timeout_policy_list() FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.timeout_policy_list() TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- FUNCTION timeout_policy_set(p_sla_class text, p_action_class text, p_spec jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.timeout_policy_set(p_sla_class text, p_action_class text, p_spec jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.timeout_policy_set(p_sla_class text, p_action_class text, p_spec jsonb) TO tenure_server, tenure_admin;

-- FUNCTION try_executor_beat(p_name text, p_executor text, p_status text, p_current_job_id uuid, p_metadata jsonb, p_instance uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.try_executor_beat(p_name text, p_executor text, p_status text, p_current_job_id uuid, p_metadata jsonb, p_instance uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.try_executor_beat(p_name text, p_executor text, p_status text, p_current_job_id uuid, p_metadata jsonb, p_instance uuid) TO tenure_server, tenure_worker;

-- FUNCTION try_job_cancel(p_job_id uuid, p_reason text, p_mode text, p_on_behalf_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.try_job_cancel(p_job_id uuid, p_reason text, p_mode text, p_on_behalf_of text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.try_job_cancel(p_job_id uuid, p_reason text, p_mode text, p_on_behalf_of text) TO tenure_server, tenure_admin, tenure_operator;

-- FUNCTION try_job_claim(p_worker text, p_executor text, p_kinds text[], p_lease_seconds integer, p_mode text, p_affinity_key text, p_priority_min integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.try_job_claim(p_worker text, p_executor text, p_kinds text[], p_lease_seconds integer, p_mode text, p_affinity_key text, p_priority_min integer) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.try_job_claim(p_worker text, p_executor text, p_kinds text[], p_lease_seconds integer, p_mode text, p_affinity_key text, p_priority_min integer) TO tenure_server, tenure_worker;

-- FUNCTION try_job_complete(p_job_id uuid, p_token uuid, p_result jsonb, p_result_ref text); Type: ACL
REVOKE ALL ON FUNCTION tenure.try_job_complete(p_job_id uuid, p_token uuid, p_result jsonb, p_result_ref text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.try_job_complete(p_job_id uuid, p_token uuid, p_result jsonb, p_result_ref text) TO tenure_server, tenure_worker;

-- FUNCTION try_job_dead_letter(p_job_id uuid, p_reason text, p_on_behalf_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.try_job_dead_letter(p_job_id uuid, p_reason text, p_on_behalf_of text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.try_job_dead_letter(p_job_id uuid, p_reason text, p_on_behalf_of text) TO tenure_server, tenure_admin, tenure_operator;

-- FUNCTION try_job_enqueue(p_kind text, p_payload jsonb, p_key text, p_executor text, p_priority text, p_due timestamp with time zone, p_deadline timestamp with time zone, p_source_ref text, p_target_ref text, p_payload_ref text, p_classification text, p_attempts_max integer, p_correlation_id text, p_causation_event bigint, p_parent_job_id uuid, p_workflow_id uuid, p_run_id uuid, p_affinity_key text, p_event_domain text, p_source_system text, p_job_id uuid, p_on_behalf_of text); Type: ACL
REVOKE ALL ON FUNCTION tenure.try_job_enqueue(p_kind text, p_payload jsonb, p_key text, p_executor text, p_priority text, p_due timestamp with time zone, p_deadline timestamp with time zone, p_source_ref text, p_target_ref text, p_payload_ref text, p_classification text, p_attempts_max integer, p_correlation_id text, p_causation_event bigint, p_parent_job_id uuid, p_workflow_id uuid, p_run_id uuid, p_affinity_key text, p_event_domain text, p_source_system text, p_job_id uuid, p_on_behalf_of text) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.try_job_enqueue(p_kind text, p_payload jsonb, p_key text, p_executor text, p_priority text, p_due timestamp with time zone, p_deadline timestamp with time zone, p_source_ref text, p_target_ref text, p_payload_ref text, p_classification text, p_attempts_max integer, p_correlation_id text, p_causation_event bigint, p_parent_job_id uuid, p_workflow_id uuid, p_run_id uuid, p_affinity_key text, p_event_domain text, p_source_system text, p_job_id uuid, p_on_behalf_of text) TO tenure_server, tenure_admin, tenure_operator, tenure_producer, tenure_worker;

-- FUNCTION try_job_fail(p_job_id uuid, p_token uuid, p_message text, p_permanence text, p_code text, p_class text, p_retry_seconds integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.try_job_fail(p_job_id uuid, p_token uuid, p_message text, p_permanence text, p_code text, p_class text, p_retry_seconds integer) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.try_job_fail(p_job_id uuid, p_token uuid, p_message text, p_permanence text, p_code text, p_class text, p_retry_seconds integer) TO tenure_server, tenure_worker;

-- FUNCTION try_job_heartbeat(p_job_id uuid, p_token uuid, p_lease_seconds integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.try_job_heartbeat(p_job_id uuid, p_token uuid, p_lease_seconds integer) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.try_job_heartbeat(p_job_id uuid, p_token uuid, p_lease_seconds integer) TO tenure_server, tenure_worker;

-- FUNCTION try_job_progress(p_job_id uuid, p_token uuid, p_progress jsonb); Type: ACL
REVOKE ALL ON FUNCTION tenure.try_job_progress(p_job_id uuid, p_token uuid, p_progress jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.try_job_progress(p_job_id uuid, p_token uuid, p_progress jsonb) TO tenure_server, tenure_worker;

-- FUNCTION try_job_start(p_job_id uuid, p_token uuid); Type: ACL
REVOKE ALL ON FUNCTION tenure.try_job_start(p_job_id uuid, p_token uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.try_job_start(p_job_id uuid, p_token uuid) TO tenure_server, tenure_worker;

-- FUNCTION try_job_sweep(p_limit integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.try_job_sweep(p_limit integer) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.try_job_sweep(p_limit integer) TO tenure_server, tenure_admin, tenure_operator;

-- FUNCTION tuning(p_tenant_id integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.tuning(p_tenant_id integer) FROM PUBLIC;

-- FUNCTION tunings_refresh(p_tenant_id integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.tunings_refresh(p_tenant_id integer) FROM PUBLIC;

-- FUNCTION unread_query(p_partition text); Type: ACL
REVOKE ALL ON FUNCTION tenure.unread_query(p_partition text) FROM PUBLIC;

-- FUNCTION utf16_rank(p_text text); Type: ACL
REVOKE ALL ON FUNCTION tenure.utf16_rank(p_text text) FROM PUBLIC;

-- FUNCTION verdict_record(p_now timestamp with time zone, p_caller tenure.caller_identity, p_execution tenure.execution_rows, p_step tenure.step_rows, p_verdict tenure.verdict); Type: ACL
REVOKE ALL ON FUNCTION tenure.verdict_record(p_now timestamp with time zone, p_caller tenure.caller_identity, p_execution tenure.execution_rows, p_step tenure.step_rows, p_verdict tenure.verdict) FROM PUBLIC;

-- FUNCTION vote_record(p_approval tenure.approvals, p_vote tenure.approval_votes); Type: ACL
REVOKE ALL ON FUNCTION tenure.vote_record(p_approval tenure.approvals, p_vote tenure.approval_votes) FROM PUBLIC;

-- FUNCTION vote_trouble(p_approval tenure.approvals, p_vote tenure.approval_votes, OUT trouble text, OUT roles text[]); Type: ACL
REVOKE ALL ON FUNCTION tenure.vote_trouble(p_approval tenure.approvals, p_vote tenure.approval_votes, OUT trouble text, OUT roles text[]) FROM PUBLIC;

-- FUNCTION waiting_take(p_job_id uuid, p_tenant_id integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.waiting_take(p_job_id uuid, p_tenant_id integer) FROM PUBLIC;

-- FUNCTION window_opens(p_window jsonb, p_now timestamp with time zone); Type: ACL
REVOKE ALL ON FUNCTION tenure.window_opens(p_window jsonb, p_now timestamp with time zone) FROM PUBLIC;

-- FUNCTION windows_open(p_windows jsonb, p_now timestamp with time zone); Type: ACL
REVOKE ALL ON FUNCTION tenure.windows_open(p_windows jsonb, p_now timestamp with time zone) FROM PUBLIC;

-- FUNCTION word_distance(p_a text, p_b text); Type: ACL
REVOKE ALL ON FUNCTION tenure.word_distance(p_a text, p_b text) FROM PUBLIC;

-- FUNCTION worker_park(p_executor text, p_kinds text[], p_seconds integer); Type: ACL
REVOKE ALL ON FUNCTION tenure.worker_park(p_executor text, p_kinds text[], p_seconds integer) FROM PUBLIC;
GRANT ALL ON FUNCTION tenure.worker_park(p_executor text, p_kinds text[], p_seconds integer) TO tenure_server, tenure_worker;

-- FUNCTION chain_hash(bytea, text); Type: ACL
REVOKE ALL ON FUNCTION tenure.chain_hash(bytea, text) FROM PUBLIC;

-- COLUMN active.job_id; Type: ACL
GRANT SELECT(job_id) ON TABLE tenure.active TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN active.lane; Type: ACL
GRANT SELECT(lane) ON TABLE tenure.active TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN active.run; Type: ACL
GRANT SELECT(run) ON TABLE tenure.active TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN active.attempt; Type: ACL
GRANT SELECT(attempt) ON TABLE tenure.active TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN active.limited; Type: ACL
GRANT SELECT(limited) ON TABLE tenure.active TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN active.due; Type: ACL
GRANT SELECT(due) ON TABLE tenure.active TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN active.started_at; Type: ACL
GRANT SELECT(started_at) ON TABLE tenure.active TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN active.run_until; Type: ACL
GRANT SELECT(run_until) ON TABLE tenure.active TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN active.hold_until; Type: ACL
GRANT SELECT(hold_until) ON TABLE tenure.active TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN active.cancel_requested_at; Type: ACL
GRANT SELECT(cancel_requested_at) ON TABLE tenure.active TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN active.cancel_by; Type: ACL
GRANT SELECT(cancel_by) ON TABLE tenure.active TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN active.cancel_reason; Type: ACL
GRANT SELECT(cancel_reason) ON TABLE tenure.active TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN active.progress; Type: ACL
GRANT SELECT(progress) ON TABLE tenure.active TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN active.progress_at; Type: ACL
GRANT SELECT(progress_at) ON TABLE tenure.active TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- TABLE config; Type: ACL
GRANT SELECT ON TABLE tenure.config TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- TABLE config_keys; Type: ACL
GRANT SELECT ON TABLE tenure.config_keys TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- TABLE dead_letter_summary; Type: ACL
GRANT SELECT ON TABLE tenure.dead_letter_summary TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- TABLE dead_letters_open; Type: ACL
GRANT SELECT ON TABLE tenure.dead_letters_open TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- TABLE delayed; Type: ACL
GRANT SELECT ON TABLE tenure.delayed TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- TABLE event_domains; Type: ACL
GRANT SELECT ON TABLE tenure.event_domains TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- TABLE events; Type: ACL
GRANT SELECT ON TABLE tenure.events TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- TABLE lanes; Type: ACL
GRANT SELECT ON TABLE tenure.lanes TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- TABLE event_stream; Type: ACL
GRANT SELECT ON TABLE tenure.event_stream TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- TABLE executors; Type: ACL
GRANT SELECT ON TABLE tenure.executors TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- TABLE heartbeats; Type: ACL
GRANT SELECT ON TABLE tenure.heartbeats TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- TABLE installation; Type: ACL
GRANT SELECT ON TABLE tenure.installation TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- TABLE ready; Type: ACL
GRANT SELECT ON TABLE tenure.ready TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- TABLE job_queue; Type: ACL
GRANT SELECT ON TABLE tenure.job_queue TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- TABLE job_backlog; Type: ACL
GRANT SELECT ON TABLE tenure.job_backlog TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- TABLE job_in_progress; Type: ACL
GRANT SELECT ON TABLE tenure.job_in_progress TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN leases.lane; Type: ACL
GRANT SELECT(lane) ON TABLE tenure.leases TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN leases.tenant_id; Type: ACL
GRANT SELECT(tenant_id) ON TABLE tenure.leases TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN leases.owner; Type: ACL
GRANT SELECT(owner) ON TABLE tenure.leases TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN leases.executor; Type: ACL
GRANT SELECT(executor) ON TABLE tenure.leases TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN leases.principal; Type: ACL
GRANT SELECT(principal) ON TABLE tenure.leases TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN leases.leased_at; Type: ACL
GRANT SELECT(leased_at) ON TABLE tenure.leases TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN leases.until; Type: ACL
GRANT SELECT(until) ON TABLE tenure.leases TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN leases.lease_seconds; Type: ACL
GRANT SELECT(lease_seconds) ON TABLE tenure.leases TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN leases.renewals; Type: ACL
GRANT SELECT(renewals) ON TABLE tenure.leases TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN leases.held; Type: ACL
GRANT SELECT(held) ON TABLE tenure.leases TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- COLUMN leases.limited; Type: ACL
GRANT SELECT(limited) ON TABLE tenure.leases TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- TABLE migrations; Type: ACL
GRANT SELECT ON TABLE tenure.migrations TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- TABLE queue_health; Type: ACL
GRANT SELECT ON TABLE tenure.queue_health TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- TABLE tenants; Type: ACL
GRANT SELECT ON TABLE tenure.tenants TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;

-- TABLE transitions; Type: ACL
GRANT SELECT ON TABLE tenure.transitions TO tenure_server, tenure_admin, tenure_operator, tenure_approver, tenure_requester, tenure_producer, tenure_worker, tenure_viewer;
