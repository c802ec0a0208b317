//! Every refusal code: its SQLSTATE, HTTP status and exit code. `docs/errors/<code>.md` explains each.

/// One row of the table of codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// The stable name on every surface.
    pub name: &'static str,
    /// The SQLSTATE of the exception (class `TN`); none for codes that only the program makes.
    pub sqlstate: Option<&'static str>,
    /// The status of the HTTP answer.
    pub http: u16,
    /// The exit code of the command line, one of [`EXITS`].
    pub exit: u8,
    /// What it means, in one line.
    pub summary: &'static str,
}

/// All went well.
pub const EXIT_OK: u8 = 0;
/// Something unexpected: a bug, or an error without a refusal of its own.
pub const EXIT_UNEXPECTED: u8 = 1;
/// The command line cannot be understood.
pub const EXIT_USAGE: u8 = 2;
/// Understood and refused.
pub const EXIT_REFUSED: u8 = 3;
/// What was named does not exist.
pub const EXIT_NOT_FOUND: u8 = 4;
/// The gate is closed.
pub const EXIT_GATE_CLOSED: u8 = 5;
/// The lease was lost; drop the result.
pub const EXIT_LEASE_LOST: u8 = 6;
/// The database or the server cannot be reached or started.
pub const EXIT_DATABASE_UNREACHABLE: u8 = 7;
/// The schema is missing, too old or too new.
pub const EXIT_SCHEMA: u8 = 8;

/// What the exit codes of the command line mean.
///
/// ```
/// use tenure_core::codes;
///
/// assert_eq!(codes::EXITS[usize::from(codes::EXIT_LEASE_LOST)], (6, "lease lost"));
/// ```
#[rustfmt::skip] // A table is read by column.
pub const EXITS: &[(u8, &str)] = &[
    (EXIT_OK,                   "ok"),
    (EXIT_UNEXPECTED,           "unexpected error"),
    (EXIT_USAGE,                "usage"),
    (EXIT_REFUSED,              "refused"),
    (EXIT_NOT_FOUND,            "not found"),
    (EXIT_GATE_CLOSED,          "gate closed"),
    (EXIT_LEASE_LOST,           "lease lost"),
    (EXIT_DATABASE_UNREACHABLE, "database or server unreachable"),
    (EXIT_SCHEMA,               "schema missing, too old or too new"),
];

macro_rules! codes {
    ($($constant:ident $name:literal $sqlstate:expr, $http:literal, $exit:expr, $summary:literal;)*) => {
        $(
            #[doc = $summary]
            pub const $constant: &Code =
                &Code { name: $name, sqlstate: $sqlstate, http: $http, exit: $exit, summary: $summary };
        )*

        /// Every code, those with a SQLSTATE first, in its order.
        pub const ALL: &[&Code] = &[$($constant,)*];
    };
}

#[rustfmt::skip] // A table is read by column.
codes! {
    GATE_CLOSED                "gate_closed"                Some("TN001"), 503, EXIT_GATE_CLOSED,          "The gate for this work is closed.";
    KIND_UNKNOWN               "kind_unknown"               Some("TN002"), 422, EXIT_REFUSED,              "This kind has no policy, and strict mode is on.";
    NAME_BLANK                 "name_blank"                 Some("TN003"), 422, EXIT_REFUSED,              "A name is blank.";
    NAME_INVALID               "name_invalid"               Some("TN004"), 422, EXIT_REFUSED,              "A name is too long or holds characters that cannot be seen.";
    PAYLOAD_FORBIDDEN_KEY      "payload_forbidden_key"      Some("TN005"), 422, EXIT_REFUSED,              "The payload holds a key that says data or secrets.";
    PAYLOAD_TOO_LARGE          "payload_too_large"          Some("TN006"), 413, EXIT_REFUSED,              "The payload is larger than 8192 bytes.";
    PAYLOAD_NOT_OBJECT         "payload_not_object"         Some("TN007"), 422, EXIT_REFUSED,              "The payload is not a JSON object.";
    NUMBER_OUT_OF_RANGE        "number_out_of_range"        Some("TN008"), 422, EXIT_REFUSED,              "A number is outside its allowed range.";
    EXECUTOR_UNKNOWN           "executor_unknown"           Some("TN009"), 422, EXIT_REFUSED,              "The executor is not on the whitelist.";
    EXECUTOR_CANNOT_CLAIM      "executor_cannot_claim"      Some("TN010"), 403, EXIT_REFUSED,              "This executor makes work and may never claim it.";
    EXECUTOR_NOT_DRIVEN        "executor_not_driven"        Some("TN011"), 403, EXIT_REFUSED,              "Your login does not drive this executor.";
    KIND_NOT_ALLOWED           "kind_not_allowed"           Some("TN012"), 403, EXIT_REFUSED,              "This executor may not run this kind.";
    JOB_NOT_FOUND              "job_not_found"              Some("TN013"), 404, EXIT_NOT_FOUND,            "There is no such job in this tenant.";
    STATE_CONFLICT             "state_conflict"             Some("TN014"), 409, EXIT_REFUSED,              "Its state does not allow this.";
    STALE_LEASE                "stale_lease"                Some("TN015"), 409, EXIT_LEASE_LOST,           "The lease no longer belongs to you.";
    LEASE_EXPIRED              "lease_expired"              Some("TN016"), 409, EXIT_LEASE_LOST,           "The lease has run out.";
    CANCEL_NOT_REQUESTED       "cancel_not_requested"       Some("TN017"), 409, EXIT_REFUSED,              "There is no cancel request to acknowledge.";
    DEADLINE_PASSED            "deadline_passed"            Some("TN018"), 409, EXIT_REFUSED,              "The deadline of the job has passed.";
    KEY_TAKEN                  "key_taken"                  Some("TN019"), 409, EXIT_REFUSED,              "Another unfinished job holds this key.";
    ID_TAKEN                   "id_taken"                   Some("TN020"), 409, EXIT_REFUSED,              "A job with this id exists already.";
    ID_INVALID                 "id_invalid"                 Some("TN021"), 422, EXIT_REFUSED,              "The id is not a version 7 UUID near the current time.";
    TOKEN_REUSED               "token_reused"               Some("TN022"), 409, EXIT_REFUSED,              "This lease token was used before.";
    BUSY_TRY_AGAIN             "busy_try_again"             Some("TN023"), 503, EXIT_REFUSED,              "What the call needs is in use; nothing was changed.";
    BATCH_TOO_LARGE            "batch_too_large"            Some("TN024"), 413, EXIT_REFUSED,              "The batch has too many rows.";
    CONFIG_UNKNOWN             "config_unknown"             Some("TN025"), 404, EXIT_NOT_FOUND,            "There is no such configuration key.";
    CONFIG_INVALID             "config_invalid"             Some("TN026"), 422, EXIT_REFUSED,              "The value does not fit the configuration key.";
    TENANT_UNKNOWN             "tenant_unknown"             Some("TN027"), 404, EXIT_NOT_FOUND,            "There is no such tenant.";
    TENANT_EXISTS              "tenant_exists"              Some("TN028"), 409, EXIT_REFUSED,              "A tenant of this name exists already.";
    LOGIN_UNBOUND              "login_unbound"              Some("TN029"), 403, EXIT_REFUSED,              "Your database login is bound to no tenant and principal.";
    NOT_PERMITTED              "not_permitted"              Some("TN030"), 403, EXIT_REFUSED,              "Your role does not allow this.";
    DEAD_LETTER_NOT_FOUND      "dead_letter_not_found"      Some("TN031"), 404, EXIT_NOT_FOUND,            "There is no such dead letter in this tenant.";
    REPLAY_NEEDS_TRIAGE        "replay_needs_triage"        Some("TN032"), 409, EXIT_REFUSED,              "A dead letter is replayed only after triage.";
    ALREADY_REPLAYED           "already_replayed"           Some("TN033"), 409, EXIT_REFUSED,              "This dead letter was replayed before.";
    STATE_UNKNOWN              "state_unknown"              Some("TN034"), 422, EXIT_REFUSED,              "There is no such state.";
    PRIORITY_UNKNOWN           "priority_unknown"           Some("TN035"), 422, EXIT_REFUSED,              "There is no such priority name.";
    SCHEDULE_TOO_FAR           "schedule_too_far"           Some("TN036"), 422, EXIT_REFUSED,              "The job is scheduled too far ahead.";
    DEADLINE_INVALID           "deadline_invalid"           Some("TN037"), 422, EXIT_REFUSED,              "The deadline lies before the start.";
    LEASE_SECONDS_OUT_OF_RANGE "lease_seconds_out_of_range" Some("TN038"), 422, EXIT_REFUSED,              "The lease length is outside the policy of the kind.";
    RESULT_TOO_LARGE           "result_too_large"           Some("TN039"), 413, EXIT_REFUSED,              "The result is larger than 10240 bytes.";
    CURSOR_INVALID             "cursor_invalid"             Some("TN040"), 422, EXIT_REFUSED,              "The cursor cannot be read here.";
    ARGUMENTS_MISMATCHED       "arguments_mismatched"       Some("TN041"), 422, EXIT_REFUSED,              "The arrays of a batch differ in length.";
    TEXT_INVALID               "text_invalid"               Some("TN042"), 422, EXIT_REFUSED,              "A text holds a NUL character or invalid UTF-8.";
    VALUE_UNKNOWN              "value_unknown"              Some("TN043"), 422, EXIT_REFUSED,              "The value is not one of the allowed ones.";
    EXECUTOR_NAME_SHARED       "executor_name_shared"       Some("TN044"), 409, EXIT_REFUSED,              "The executor name is already taken by another owner.";
    KIND_NOT_FOUND             "kind_not_found"             Some("TN045"), 404, EXIT_NOT_FOUND,            "There is no policy for this kind.";
    KEY_INVALID                "key_invalid"                Some("TN046"), 401, EXIT_REFUSED,              "The API key was revoked or has expired.";
    PRINCIPAL_UNKNOWN          "principal_unknown"          Some("TN047"), 404, EXIT_NOT_FOUND,            "There is no such principal in this tenant.";
    PRINCIPAL_EXISTS           "principal_exists"           Some("TN048"), 409, EXIT_REFUSED,              "A principal of this name exists already.";
    KEY_NOT_FOUND              "key_not_found"              Some("TN049"), 404, EXIT_NOT_FOUND,            "There is no such API key in this tenant.";
    SUBSCRIPTION_UNKNOWN       "subscription_unknown"       Some("TN050"), 404, EXIT_NOT_FOUND,            "There is no such subscription in this tenant.";
    SUBSCRIPTION_EXISTS        "subscription_exists"        Some("TN051"), 409, EXIT_REFUSED,              "A subscription of this name exists already.";
    DELIVERY_UNKNOWN           "delivery_unknown"           Some("TN052"), 404, EXIT_NOT_FOUND,            "There is no such delivery in this tenant.";
    SCHEDULE_UNKNOWN           "schedule_unknown"           Some("TN053"), 404, EXIT_NOT_FOUND,            "There is no such schedule in this tenant.";
    SCHEDULE_EXISTS            "schedule_exists"            Some("TN054"), 409, EXIT_REFUSED,              "A schedule of this name exists already.";
    EXPRESSION_INVALID         "expression_invalid"         Some("TN055"), 422, EXIT_REFUSED,              "The cron expression cannot be read.";
    ZONE_UNKNOWN               "zone_unknown"               Some("TN056"), 422, EXIT_REFUSED,              "There is no such time zone.";
    EXPRESSION_NEVER_FIRES     "expression_never_fires"     Some("TN057"), 422, EXIT_REFUSED,              "The schedule would never have a slot.";
    EXPRESSION_TOO_FREQUENT    "expression_too_frequent"    Some("TN058"), 422, EXIT_REFUSED,              "The schedule would have slots too often.";
    RANGE_INVALID              "range_invalid"              Some("TN059"), 422, EXIT_REFUSED,              "A range ends before it starts.";
    BACKFILL_TOO_LARGE         "backfill_too_large"         Some("TN060"), 413, EXIT_REFUSED,              "The backfill has too many slots.";
    PLAN_INVALID               "plan_invalid"               Some("TN061"), 422, EXIT_REFUSED,              "The plan does not have the form of a plan.";
    PLAN_CYCLE                 "plan_cycle"                 Some("TN062"), 422, EXIT_REFUSED,              "Steps of the plan wait for each other.";
    PLAN_TOO_LARGE             "plan_too_large"             Some("TN063"), 413, EXIT_REFUSED,              "The plan is larger than a plan may be.";
    EXECUTION_UNKNOWN          "execution_unknown"          Some("TN064"), 404, EXIT_NOT_FOUND,            "There is no such execution in this tenant.";
    STEP_UNKNOWN               "step_unknown"               Some("TN065"), 404, EXIT_NOT_FOUND,            "The execution has no such step.";
    APPROVAL_UNKNOWN           "approval_unknown"           Some("TN066"), 404, EXIT_NOT_FOUND,            "There is no such approval in this tenant.";
    APPROVAL_DECIDED           "approval_decided"           Some("TN067"), 409, EXIT_REFUSED,              "The approval is decided already, or was withdrawn.";
    APPROVAL_EXPIRED           "approval_expired"           Some("TN068"), 409, EXIT_REFUSED,              "The approval was not decided in time.";
    PLAN_HASH_MISMATCH         "plan_hash_mismatch"         Some("TN069"), 409, EXIT_REFUSED,              "The hash that was named is not the hash of the plan.";
    SELF_APPROVAL              "self_approval"              Some("TN070"), 403, EXIT_REFUSED,              "A requester does not decide about their own plan.";
    PLAN_DIFFERS               "plan_differs"               Some("TN071"), 409, EXIT_REFUSED,              "The key names an execution of another plan.";
    COMMENT_REQUIRED           "comment_required"           Some("TN072"), 422, EXIT_REFUSED,              "The decision needs a comment.";
    LOCK_HELD                  "lock_held"                  Some("TN073"), 409, EXIT_REFUSED,              "Somebody else holds the lock.";
    LOCK_UNKNOWN               "lock_unknown"               Some("TN074"), 404, EXIT_NOT_FOUND,            "Nobody holds this lock.";
    LOCK_LOST                  "lock_lost"                  Some("TN075"), 409, EXIT_LEASE_LOST,           "The fencing number does not hold the lock.";
    RULE_UNKNOWN               "rule_unknown"               Some("TN076"), 404, EXIT_NOT_FOUND,            "There is no such approval rule in this tenant.";
    TARGET_UNKNOWN             "target_unknown"             Some("TN077"), 422, EXIT_REFUSED,              "No approval rule knows the target.";
    RUNBOOK_REQUIRED           "runbook_required"           Some("TN078"), 422, EXIT_REFUSED,              "The approval that the plan needs asks for a runbook.";
    EVIDENCE_KEY_MISSING       "evidence_key_missing"       Some("TN079"), 409, EXIT_REFUSED,              "There is no key to sign evidence with.";
    PARENT_CYCLE               "parent_cycle"               Some("TN080"), 422, EXIT_REFUSED,              "A job would be its own ancestor.";
    REQUEST_KEY_REUSED         "request_key_reused"         Some("TN081"), 422, EXIT_REFUSED,              "The Idempotency-Key was used for another request.";
    REQUEST_UNDER_WAY          "request_under_way"          Some("TN082"), 409, EXIT_REFUSED,              "A request with this Idempotency-Key is being carried out.";
    KIND_ONLY_BY_PLAN          "kind_only_by_plan"          Some("TN083"), 403, EXIT_REFUSED,              "Only plans make jobs of this kind.";
    ACTION_UNKNOWN             "action_unknown"             Some("TN084"), 404, EXIT_NOT_FOUND,            "No action is registered under this name.";
    ACTION_LOWERED             "action_lowered"             Some("TN085"), 422, EXIT_REFUSED,              "The plan says less than its action demands.";
    ACTION_KIND_REFUSED        "action_kind_refused"        Some("TN086"), 422, EXIT_REFUSED,              "A job of this kind may not carry the action.";
    GOVERNANCE_CHANGE_UNKNOWN  "governance_change_unknown"  Some("TN087"), 404, EXIT_NOT_FOUND,            "There is no such proposed change.";
    TARGET_TYPE_UNKNOWN        "target_type_unknown"        Some("TN088"), 404, EXIT_NOT_FOUND,            "No target type is registered under this name.";
    ANCHOR_UNKNOWN             "anchor_unknown"             Some("TN089"), 404, EXIT_NOT_FOUND,            "There is no such checkpoint, or none covers this execution.";
    SCHEMA_MISSING             "schema_missing"             None,          503, EXIT_SCHEMA,               "The database has no Tenure schema.";
    SCHEMA_TOO_OLD             "schema_too_old"             None,          503, EXIT_SCHEMA,               "The schema is older than this program supports.";
    SCHEMA_TOO_NEW             "schema_too_new"             None,          503, EXIT_SCHEMA,               "The schema is newer than this program supports.";
    DATABASE_UNREACHABLE       "database_unreachable"       None,          503, EXIT_DATABASE_UNREACHABLE, "The database does not answer.";
    DATABASE_ERROR             "database_error"             None,          500, EXIT_UNEXPECTED,           "The database answered with an unexpected error.";
    POSTGRES_NOT_FOUND         "postgres_not_found"         None,          503, EXIT_DATABASE_UNREACHABLE, "No PostgreSQL server programs were found.";
    DATA_DIR_IN_USE            "data_dir_in_use"            None,          409, EXIT_DATABASE_UNREACHABLE, "Another server runs on this data directory.";
    DATA_DIR_VERSION           "data_dir_version"           None,          409, EXIT_DATABASE_UNREACHABLE, "The data directory belongs to another major version of PostgreSQL.";
    DISK_FULL                  "disk_full"                  None,          507, EXIT_DATABASE_UNREACHABLE, "The disk is full.";
    PERMISSION_DENIED          "permission_denied"          None,          403, EXIT_DATABASE_UNREACHABLE, "The operating system refused access.";
    DATABASE_TLS               "database_tls"               None,          503, EXIT_DATABASE_UNREACHABLE, "The encrypted connection could not be made.";
    USAGE                      "usage"                      None,          400, EXIT_USAGE,                "The command or request cannot be understood.";
    WAIT_TIMEOUT               "wait_timeout"               None,          504, EXIT_REFUSED,              "The job has not ended in the time given.";
    JOB_NOT_SUCCEEDED          "job_not_succeeded"          None,          409, EXIT_REFUSED,              "The job ended, but not well.";
    UNAUTHENTICATED            "unauthenticated"            None,          401, EXIT_REFUSED,              "The request has no valid API key.";
    TOO_MANY_ATTEMPTS          "too_many_attempts"          None,          429, EXIT_REFUSED,              "Too many wrong keys came from this address.";
    REQUEST_INVALID            "request_invalid"            None,          400, EXIT_USAGE,                "The request cannot be read.";
    REQUEST_TOO_LARGE          "request_too_large"          None,          413, EXIT_REFUSED,              "The body of the request is too large.";
    REQUEST_TIMEOUT            "request_timeout"            None,          408, EXIT_REFUSED,              "The request did not come in time.";
    ANSWER_NOT_KEPT            "answer_not_kept"            None,          409, EXIT_REFUSED,              "The request was carried out before, and its answer is not kept.";
    SERVER_BUSY                "server_busy"                None,          503, EXIT_REFUSED,              "The server has no room or no time for this now.";
    MEDIA_TYPE_UNSUPPORTED     "media_type_unsupported"     None,          415, EXIT_USAGE,                "The body is not said to be JSON.";
    PATH_UNKNOWN               "path_unknown"               None,          404, EXIT_NOT_FOUND,            "There is nothing at this path.";
    METHOD_NOT_ALLOWED         "method_not_allowed"         None,          405, EXIT_USAGE,                "The path does not take this method.";
    SERVER_UNREACHABLE         "server_unreachable"         None,          503, EXIT_DATABASE_UNREACHABLE, "The Tenure server does not answer.";
    SERVER_TLS                 "server_tls"                 None,          503, EXIT_DATABASE_UNREACHABLE, "The connection to the Tenure server is not safe.";
    SERVER_NOT_TENURE          "server_not_tenure"          None,          502, EXIT_DATABASE_UNREACHABLE, "What answers is no Tenure server.";
    NOT_OVER_HTTP              "not_over_http"              None,          501, EXIT_REFUSED,              "This does not work over HTTP.";
    CONTEXT_UNKNOWN            "context_unknown"            None,          404, EXIT_NOT_FOUND,            "There is no saved context of this name.";
    CONTEXT_GUARDED            "context_guarded"            None,          403, EXIT_REFUSED,              "This context is used only where it is named.";
    EVIDENCE_INVALID           "evidence_invalid"           None,          422, EXIT_REFUSED,              "The file of evidence is not what was signed, or its story does not hold together.";
    FILE_EXPOSED               "file_exposed"               None,          403, EXIT_REFUSED,              "Others can read a file that holds keys.";
    DATABASE_START_FAILED      "database_start_failed"      None,          503, EXIT_DATABASE_UNREACHABLE, "The private database did not start.";
}

/// The code of this name.
///
/// ```
/// use tenure_core::codes;
///
/// assert_eq!(codes::by_name("gate_closed"), Some(codes::GATE_CLOSED));
/// ```
pub fn by_name(name: &str) -> Option<&'static Code> {
    ALL.iter().copied().find(|code| code.name == name)
}

/// The code of this SQLSTATE.
///
/// ```
/// use tenure_core::codes;
///
/// assert_eq!(codes::by_sqlstate("TN015"), Some(codes::STALE_LEASE));
/// assert_eq!(codes::by_sqlstate("23505"), None);
/// ```
pub fn by_sqlstate(sqlstate: &str) -> Option<&'static Code> {
    ALL.iter().copied().find(|code| code.sqlstate == Some(sqlstate))
}
