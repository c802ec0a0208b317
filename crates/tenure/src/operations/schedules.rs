//! Operations of schedules that need the calendar: rules are checked before they are written, and slots computed from them.

use serde::Serialize;
use serde_json::{Map, Value, json};
use tenure_api::schedules::BackfilledSlot;
use tenure_api::schedules::{
    RulePreview, ScheduleBackfill, ScheduleCreate, ScheduleExplain, ScheduleExplanation, SchedulePreview,
    SchedulePreviewRule, SchedulePut, ScheduleUpdate, ScheduleWritten,
};
use tenure_api::{Operation, Page};
use tokio_postgres::GenericClient;

use super::{Perform, call, rows, unreadable};
use crate::error::Result;
use crate::{schedules, store};

impl Perform for ScheduleCreate {
    async fn perform(&self, client: &(impl GenericClient + Sync)) -> Result<ScheduleWritten> {
        schedules::check_spec(&json_of::<Self>(&self.spec)?, None)?;
        call(client, self).await
    }
}

impl Perform for SchedulePut {
    async fn perform(&self, client: &(impl GenericClient + Sync)) -> Result<ScheduleWritten> {
        schedules::check_spec(&json_of::<Self>(&self.spec)?, None)?;
        call(client, self).await
    }
}

impl Perform for ScheduleUpdate {
    const CALLS_SEVERAL: bool = true;

    async fn perform(&self, client: &(impl GenericClient + Sync)) -> Result<ScheduleWritten> {
        let changes = json_of::<Self>(&self.changes)?;
        schedules::check_changes(client, &self.name, &changes).await?;
        call(client, self).await
    }
}

impl Perform for ScheduleBackfill {
    const CALLS_SEVERAL: bool = true;

    async fn perform(&self, client: &(impl GenericClient + Sync)) -> Result<Page<BackfilledSlot>> {
        let times = schedules::backfill_times(client, self).await?;
        let items = match times.is_empty() {
            true => Vec::new(),
            false => rows(client, self, Map::from_iter([("times".to_owned(), json!(times))])).await?,
        };
        Ok(Page { items, next: None })
    }
}

impl Perform for ScheduleExplain {
    const CALLS_SEVERAL: bool = true;

    async fn perform(&self, client: &(impl GenericClient + Sync)) -> Result<ScheduleExplanation> {
        schedules::explain(client, self).await
    }
}

impl Perform for SchedulePreview {
    const CALLS_SEVERAL: bool = true;

    async fn perform(&self, client: &(impl GenericClient + Sync)) -> Result<RulePreview> {
        schedules::preview(client, &self.name, self.count).await
    }
}

impl Perform for SchedulePreviewRule {
    async fn perform(&self, client: &(impl GenericClient + Sync)) -> Result<RulePreview> {
        let now = store::now(client).await?;
        Ok(schedules::preview_rule(&self.rule, now, self.count)?)
    }
}

fn json_of<O: Operation>(value: &impl Serialize) -> Result<Value> {
    Ok(serde_json::to_value(value).map_err(|error| unreadable(O::FUNCTION, &error.to_string()))?)
}
