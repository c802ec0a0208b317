//! What a job runs for, read from the column that only the database writes.

use tokio_postgres::types::{FromSql, Json, Type};

use crate::executions::StepInfo;
use crate::schedules::SlotInfo;

/// Read as the JSON document that the column holds.
macro_rules! from_json {
    ($($name:ty),*) => {$(
        impl<'a> FromSql<'a> for $name {
            fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn std::error::Error + Sync + Send>> {
                Json::from_sql(kind, raw).map(|Json(read)| read)
            }

            fn accepts(kind: &Type) -> bool {
                *kind == Type::JSONB
            }
        }
    )*};
}

from_json!(StepInfo, SlotInfo);
