//! All operations, in one list that everything walks over.

use crate::{Effect, Operation, Route, Shape};

/// Gives the list of all operations to a macro, each with a word that says how it is carried out and served:
///
/// - `plain`: by one call of its function,
/// - `by_hand`: by hand-written calls, behind the same route as every other operation,
/// - `served`: by a handler of its own, because it waits or must be quick. The document describes it like any other.
#[macro_export]
macro_rules! for_each_operation {
    ($then:ident) => {
        $then! {
            // actions
            plain $crate::actions::ActionList,
            plain $crate::actions::ActionShow,
            plain $crate::actions::ActionSet,
            plain $crate::actions::ActionDelete,
            // anchors
            by_hand $crate::anchors::AnchorList,
            plain $crate::anchors::AnchorShow,
            plain $crate::anchors::AnchorProof,
            // approval rules
            plain $crate::approval_rules::ApprovalRuleList,
            plain $crate::approval_rules::ApprovalRuleSet,
            plain $crate::approval_rules::ApprovalRuleDelete,
            // approvals
            plain $crate::approvals::ApprovalList,
            plain $crate::approvals::ApprovalShow,
            plain $crate::approvals::ApprovalVotesOf,
            plain $crate::approvals::ApprovalDecide,
            // dead letters
            plain $crate::dead_letters::DeadLetterList,
            plain $crate::dead_letters::DeadLetterShow,
            plain $crate::dead_letters::DeadLetterTriage,
            plain $crate::dead_letters::DeadLetterReplayPreview,
            plain $crate::dead_letters::DeadLetterReplay,
            // deliveries
            plain $crate::deliveries::DeliveryList,
            plain $crate::deliveries::DeliveryRetry,
            // events
            served $crate::events::EventList,
            plain $crate::events::StreamLagShow,
            // evidence
            plain $crate::evidence::EvidenceKeyList,
            // executions
            plain $crate::executions::ExecutionList,
            served $crate::executions::ExecutionPreview,
            served $crate::executions::ExecutionShow,
            served $crate::executions::ExecutionSubmit,
            by_hand $crate::executions::ExecutionPlan,
            plain $crate::executions::ExecutionDifference,
            plain $crate::executions::ExecutionTimeline,
            plain $crate::executions::StepList,
            plain $crate::executions::ExecutionCancel,
            plain $crate::executions::ExecutionWithdraw,
            plain $crate::executions::ExecutionResolve,
            plain $crate::executions::ExecutionRetry,
            plain $crate::executions::ExecutionClose,
            plain $crate::executions::ExecutionFreeze,
            plain $crate::executions::ExecutionUnfreeze,
            plain $crate::executions::ExecutionArchiveList,
            plain $crate::executions::ExecutionDeadLetterList,
            plain $crate::executions::ExecutionDeadLetterShow,
            plain $crate::executions::ExecutionDeadLetterTriage,
            // executors
            plain $crate::executors::ExecutorList,
            plain $crate::executors::ExecutorBeat,
            plain $crate::executors::StaleCheck,
            // governance changes
            plain $crate::governance_changes::GovernanceChangeList,
            plain $crate::governance_changes::GovernanceChangeDecide,
            // health
            by_hand $crate::health::HealthShow,
            plain $crate::health::DoctorShow,
            by_hand $crate::health::Now,
            // jobs
            served $crate::jobs::JobEnqueue,
            served $crate::jobs::JobEnqueueMany,
            plain $crate::jobs::JobList,
            served $crate::jobs::JobShow,
            plain $crate::jobs::JobTimeline,
            plain $crate::jobs::JobExplain,
            plain $crate::jobs::JobCancel,
            plain $crate::jobs::JobRetry,
            plain $crate::jobs::JobRequeue,
            plain $crate::jobs::JobDeadLetter,
            plain $crate::jobs::JobReap,
            plain $crate::jobs::JobSweep,
            // keys
            plain $crate::keys::KeyList,
            by_hand $crate::keys::KeyCreate,
            plain $crate::keys::KeyRevoke,
            // kinds
            plain $crate::kinds::KindList,
            plain $crate::kinds::KindShow,
            plain $crate::kinds::KindSet,
            plain $crate::kinds::KindPause,
            plain $crate::kinds::KindResume,
            // locks
            plain $crate::locks::LockList,
            plain $crate::locks::LockWaiters,
            plain $crate::locks::LockAcquire,
            by_hand $crate::locks::LockRenew,
            by_hand $crate::locks::LockRelease,
            plain $crate::locks::LockBreak,
            // logins
            plain $crate::logins::LoginBind,
            plain $crate::logins::LoginUnbind,
            // principals
            plain $crate::principals::PrincipalList,
            plain $crate::principals::PrincipalCreate,
            plain $crate::principals::PrincipalSet,
            // schedules
            plain $crate::schedules::ScheduleList,
            plain $crate::schedules::ScheduleShow,
            by_hand $crate::schedules::ScheduleCreate,
            by_hand $crate::schedules::SchedulePut,
            by_hand $crate::schedules::ScheduleUpdate,
            plain $crate::schedules::ScheduleDelete,
            plain $crate::schedules::SchedulePause,
            plain $crate::schedules::ScheduleResume,
            plain $crate::schedules::ScheduleRun,
            by_hand $crate::schedules::ScheduleBackfill,
            plain $crate::schedules::ScheduleSlots,
            by_hand $crate::schedules::ScheduleExplain,
            by_hand $crate::schedules::SchedulePreview,
            by_hand $crate::schedules::SchedulePreviewRule,
            // settings
            plain $crate::settings::ConfigList,
            by_hand $crate::settings::ConfigGet,
            plain $crate::settings::ConfigSet,
            plain $crate::settings::GateSet,
            // subscriptions
            plain $crate::subscriptions::SubscriptionList,
            served $crate::subscriptions::SubscriptionCreate,
            plain $crate::subscriptions::SubscriptionDelete,
            plain $crate::subscriptions::SubscriptionPause,
            plain $crate::subscriptions::SubscriptionResume,
            plain $crate::subscriptions::SubscriptionRotate,
            plain $crate::subscriptions::SubscriptionRead,
            plain $crate::subscriptions::SubscriptionAck,
            // target types
            plain $crate::target_types::TargetTypeList,
            plain $crate::target_types::TargetTypeSet,
            plain $crate::target_types::TargetTypeDelete,
            // tenants
            plain $crate::tenants::TenantList,
            plain $crate::tenants::TenantCreate,
            // timeout policies
            plain $crate::timeout_policies::TimeoutPolicyList,
            plain $crate::timeout_policies::TimeoutPolicySet,
            // work
            served $crate::work::JobClaim,
            served $crate::work::JobHeld,
            plain $crate::work::JobStart,
            served $crate::work::JobStartMany,
            plain $crate::work::JobHeartbeat,
            served $crate::work::JobHeartbeatMany,
            plain $crate::work::JobProgress,
            plain $crate::work::JobComplete,
            by_hand $crate::work::JobFail,
            plain $crate::work::JobSnooze,
            plain $crate::work::JobRelease,
            plain $crate::work::JobAcknowledgeCancel,
            served $crate::work::JobEndMany,
        }
    };
}

/// What is known about an operation without its type.
#[derive(Clone, Copy)]
pub struct Entry {
    /// [`Operation::NAME`]
    pub name: &'static str,
    /// [`Operation::FUNCTION`]
    pub function: &'static str,
    /// [`Operation::ROUTE`]
    pub route: Route,
    /// [`Operation::EFFECT`]
    pub effect: Effect,
    /// [`Operation::SHAPE`]
    pub shape: Shape,
    /// [`Operation::CURSOR`]
    pub cursor: &'static [(&'static str, &'static str)],
    /// [`Operation::BESIDE`]
    pub beside: &'static [&'static str],
    /// It has a handler of its own.
    pub is_served_by_hand: bool,
    /// Its fields.
    pub describe: fn() -> &'static crate::fields::Description,
    /// The JSON Schema of its answer.
    pub answer: fn() -> serde_json::Value,
}

impl Entry {
    const fn of<O: Operation>(is_served_by_hand: bool) -> Entry {
        Entry {
            name: O::NAME,
            function: O::FUNCTION,
            route: O::ROUTE,
            effect: O::EFFECT,
            shape: O::SHAPE,
            cursor: O::CURSOR,
            beside: O::BESIDE,
            is_served_by_hand,
            describe: crate::fields::describe::<O>,
            answer: || crate::openapi::plain_schema::<O::Answer>(),
        }
    }
}

macro_rules! is_served {
    (served) => {
        true
    };
    ($how:ident) => {
        false
    };
}

macro_rules! entries_of {
    ($($how:ident $operation:ty,)*) => {
        /// Every operation.
        pub static ENTRIES: &[Entry] = &[$(Entry::of::<$operation>(is_served!($how)),)*];
    };
}
crate::for_each_operation!(entries_of);
