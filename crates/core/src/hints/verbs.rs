//! What a next step is called on each surface: one row per step that a hint names.

/// One thing to do, as SQL, as a command and as a request. `$1` is the first argument.
#[derive(Debug)]
pub struct Verb {
    /// The SQL function, without its schema; empty where SQL has none.
    pub function: &'static str,
    /// What its arguments are called where a hint gives no values.
    pub arguments: &'static [&'static str],
    /// The command line.
    pub command: &'static str,
    /// The request: a method and a path, perhaps ` with ` a body. Empty where HTTP has none.
    pub request: &'static str,
}

const fn verb(
    function: &'static str,
    arguments: &'static [&'static str],
    command: &'static str,
    request: &'static str,
) -> Verb {
    Verb {
        function,
        arguments,
        command,
        request,
    }
}

/// Every step that a hint may name. `tests/it/hints.rs` walks the hints and fails on one that is not here.
#[rustfmt::skip] // A table is read by column.
pub const VERBS: &[Verb] = &[
    verb("action_list", &[], "tenure action list", "GET /v1/actions"),
    verb("action_set", &["name", "spec"], "tenure action set $1 --class CLASS", "PUT /v1/actions/$1"),
    verb("anchor_list", &[], "tenure evidence anchor list", "GET /v1/anchors"),
    verb("approval_decide", &["approval", "decision", "hash"], "tenure execution approve $1", "POST /v1/approvals/$1/decide"),
    verb("approval_list", &[], "tenure approval list", "GET /v1/approvals"),
    verb("approval_rule_list", &[], "tenure approval rule list", "GET /v1/approval-rules"),
    verb("approval_rule_set", &["name", "file"], "tenure approval rule set $1 FILE", "PUT /v1/approval-rules/$1"),
    verb("config_list", &[], "tenure config list", "GET /v1/config"),
    verb("dead_letter_list", &[], "tenure dead-letter list", "GET /v1/dead-letters"),
    verb("dead_letter_triage", &["dead_letter", "status", "note"], "tenure dead-letter triage $1 $2 --note $3", "POST /v1/dead-letters/$1/triage with {\"status\": \"$2\"}"),
    verb("delivery_list", &["subscription"], "tenure subscription deliveries $1", "GET /v1/subscriptions/$1/deliveries"),
    verb("doctor", &[], "tenure doctor", "GET /v1/doctor"),
    verb("event_list", &[], "tenure event list", "GET /v1/events"),
    verb("evidence_key_add", &[], "tenure evidence key create", ""),
    verb("execution_archive_list", &[], "tenure execution list --archived", "GET /v1/executions/archived"),
    verb("execution_cancel", &["execution", "reason"], "tenure execution cancel $1 --reason $2", "POST /v1/executions/$1/cancel"),
    verb("execution_close", &["execution", "reason"], "tenure execution close $1 --reason $2", "POST /v1/executions/$1/close"),
    verb("execution_dead_letter_list", &[], "tenure execution dead-letter list", "GET /v1/execution-dead-letters"),
    verb("execution_dead_letter_show", &["execution"], "tenure execution dead-letter show $1", "GET /v1/execution-dead-letters/$1"),
    verb("execution_evidence", &["execution"], "tenure execution export $1", "GET /v1/executions/$1/evidence"),
    verb("execution_list", &[], "tenure execution list", "GET /v1/executions"),
    verb("execution_plan", &["execution"], "tenure execution plan $1", "GET /v1/executions/$1/plan"),
    verb("execution_resolve", &["execution", "step", "verdict", "reason"], "tenure execution resolve $1 $2 --verdict $3 --reason $4", "POST /v1/executions/$1/resolve"),
    verb("execution_retry", &["execution"], "tenure execution retry $1", "POST /v1/executions/$1/retry"),
    verb("execution_show", &["execution"], "tenure execution show $1", "GET /v1/executions/$1"),
    verb("execution_submit", &["plan"], "tenure execution submit $1", "POST /v1/executions"),
    verb("execution_timeline", &["execution"], "tenure execution timeline $1", "GET /v1/executions/$1/timeline"),
    verb("executor_list", &[], "tenure executor list", "GET /v1/executors"),
    verb("gate_set", &["gate"], "tenure gate open $1", "PUT /v1/gates/$1 with {\"position\": \"open\"}"),
    verb("governance_change_list", &[], "tenure governance change list", "GET /v1/governance-changes"),
    verb("health", &[], "tenure health", "GET /v1/health"),
    verb("job_cancel", &["job", "reason"], "tenure job cancel $1 --reason $2", "POST /v1/jobs/$1/cancel"),
    verb("job_explain", &["job"], "tenure job explain $1", "GET /v1/jobs/$1/explain"),
    verb("job_held", &["token"], "tenure job list --state leased", "POST /v1/jobs/held"),
    verb("job_list", &[], "tenure job list", "GET /v1/jobs"),
    verb("job_reap", &[], "tenure reap", "POST /v1/jobs/reap"),
    verb("job_retry", &["job"], "tenure job retry $1", "POST /v1/jobs/$1/retry"),
    verb("job_show", &["job"], "tenure job show $1", "GET /v1/jobs/$1"),
    verb("job_timeline", &["job"], "tenure job timeline $1", "GET /v1/jobs/$1/timeline"),
    verb("key_create", &["principal", "role"], "tenure key create $1 --role $2", "POST /v1/keys"),
    verb("key_list", &[], "tenure key list", "GET /v1/keys"),
    verb("key_revoke", &["prefix"], "tenure key revoke $1", "DELETE /v1/keys/$1"),
    verb("kind_list", &[], "tenure kind list", "GET /v1/kinds"),
    verb("kind_resume", &["kind"], "tenure kind resume $1", "POST /v1/kinds/$1/resume"),
    verb("kind_set", &["kind"], "tenure kind set $1", "PUT /v1/kinds/$1"),
    verb("lock_break", &["lock", "reason"], "tenure lock break $1 --reason $2", "POST /v1/locks/break with {\"part\": \"$1\", \"reason\": \"$2\"}"),
    verb("lock_list", &[], "tenure lock list", "GET /v1/locks"),
    verb("lock_waiters", &["lock"], "tenure lock waiters $1", "GET /v1/locks/waiters?part=$1"),
    verb("login_bind", &["login", "executor"], "tenure login bind $1 --executor NAME", "PUT /v1/logins/$1"),
    verb("principal_create", &["name", "kind"], "tenure principal create $1 --kind $2", "POST /v1/principals with {\"name\": \"$1\", \"kind\": \"$2\"}"),
    verb("principal_set", &["name", "level"], "tenure principal set $1 --approver-level 1", "PATCH /v1/principals/$1 with {\"approver_level\": 1}"),
    verb("schedule_backfill", &["schedule", "from", "until"], "tenure schedule backfill $1 --from $2 --until $3", "POST /v1/schedules/$1/backfill with {\"from\": \"$2\", \"until\": \"$3\"}"),
    verb("schedule_list", &[], "tenure schedule list", "GET /v1/schedules"),
    verb("schedule_slots", &["schedule"], "tenure schedule slots $1", "GET /v1/schedules/$1/slots"),
    verb("step_list", &["execution"], "tenure execution steps $1", "GET /v1/executions/$1/steps"),
    verb("subscription_list", &[], "tenure subscription list", "GET /v1/subscriptions"),
    verb("target_type_list", &[], "tenure target-type list", "GET /v1/target-types"),
    verb("target_type_set", &["name", "spec"], "tenure target-type set $1 --case RULE", "PUT /v1/target-types/$1"),
    verb("tenant_create", &["name"], "tenure tenant create $1", "POST /v1/tenants with {\"name\": \"$1\"}"),
    verb("tenant_list", &[], "tenure tenant list", "GET /v1/tenants"),
    verb("", &["code"], "tenure errors $1", "GET /errors/$1"),
    verb("", &[], "tenure plan schema", "GET /plan.schema.json"),
    verb("", &["schedule"], "tenure schedule preview $1", "GET /v1/schedules/$1/preview"),
];

/// What a setting of a session, or another use of a verb, is called on each surface: as SQL, as a command, over HTTP.
pub const PHRASES: &[[&str; 3]] = &[
    [
        "Set tenure.tenant to the name of a tenant for this transaction.",
        "Name a tenant with --tenant.",
        "Name a tenant in the header Tenure-Tenant.",
    ],
    [
        ", with tenure.tenant set to *.",
        " --installation.",
        ", with the header Tenure-Tenant: *.",
    ],
    [
        "Start the server with the key: TENURE_EVIDENCE_KEY_FILE names its file.",
        "Start the server with the key: tenure serve --evidence-key-file FILE. A command on the database itself reads \
         the file that TENURE_EVIDENCE_KEY_FILE names.",
        "Start the server with the key: TENURE_EVIDENCE_KEY_FILE names its file.",
    ],
    [
        "tenure.principal_set(name, {\"confirm\": true})",
        "tenure principal set NAME --confirm",
        "PATCH /v1/principals/NAME with {\"confirm\": true}",
    ],
];

/// Where HTTP has no request for a step.
pub const NO_REQUEST: &str = "on the server's database, by a person who runs it (HTTP has no request for it)";
