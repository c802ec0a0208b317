//! The slots that a schedule, or a rule without a schedule, will have.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Effect, Operation, Route, Timestamp};

/// Preview a schedule: its rule in words, and its next slots
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SchedulePreview {
    /// The name of the schedule.
    pub name: String,
    /// The maximum number of slots.
    #[serde(default = "count_default")]
    #[schemars(range(min = 1, max = 1000))]
    pub count: i32,
}

fn count_default() -> i32 {
    10
}

impl Operation for SchedulePreview {
    const NAME: &str = "schedule_preview";
    const FUNCTION: &str = "schedule_show";
    const ROUTE: Route = Route::get("/v1/schedules/{name}/preview", "schedules");
    const EFFECT: Effect = Effect::Reads;
    const BESIDE: &[&str] = &["count"];
    type Answer = RulePreview;
}

/// Preview a rule without a schedule: the rule in words, and its next slots
#[derive(Debug, Clone, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SchedulePreviewRule {
    /// The rule: cron with its time zone, or an interval.
    #[schemars(example = serde_json::json!({"cron": "30 2 * * *", "zone": "Europe/Berlin"}))]
    pub rule: ScheduleRule,
    /// The maximum number of slots.
    #[serde(default = "count_default")]
    #[schemars(range(min = 1, max = 1000))]
    pub count: i32,
}

impl Operation for SchedulePreviewRule {
    const NAME: &str = "schedule_preview_rule";
    const FUNCTION: &str = "now";
    const ROUTE: Route = Route::post("/v1/schedules/preview", "schedules");
    const EFFECT: Effect = Effect::Reads;
    const BESIDE: &[&str] = &["rule", "count"];
    type Answer = RulePreview;
}

/// A rule without a schedule: `cron` or `every_seconds`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScheduleRule {
    /// The rule, if it is cron: minute, hour, day of the month, month, day of the week.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 200), example = &"30 2 * * *")]
    pub cron: Option<String>,
    /// The rule, if it is a fixed interval: seconds between two slots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 10, max = 31_622_400))]
    pub every_seconds: Option<i64>,
    /// The time zone that cron is read in, by its IANA name; UTC if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(example = &"Europe/Berlin")]
    pub zone: Option<String>,
    /// No slot before this time. An interval counts from here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub start_at: Option<Timestamp>,
    /// No slot after this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub end_at: Option<Timestamp>,
}

/// A rule in words, and its next slots.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RulePreview {
    /// The rule in words.
    pub rule: String,
    /// Why the slots may not run: the schedule is paused or fails.
    pub note: Option<String>,
    /// The next slots, in order.
    pub slots: Vec<PreviewedSlot>,
}

/// A slot that will come.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct PreviewedSlot {
    /// The moment that it stands for.
    pub plan_time: Timestamp,
    /// The local time at that moment, in the time zone of the rule.
    pub local: String,
}
