//! `tenure dev --reset`: begin again with an empty database.

use std::io::{self, IsTerminal};
use std::path::Path;

use tenure_core::codes;

use crate::errors::{Outcome, refuse};
use crate::output::ask;

/// Removes the databases of this data directory after asking, unless that was answered on the command line.
pub(super) async fn reset(data_dir: &Path, confirmed: bool) -> Outcome {
    if !confirmed && data_dir.exists() {
        confirm(data_dir)?;
    }
    tenure_cluster::reset(data_dir).await?;
    Ok(())
}

fn confirm(data_dir: &Path) -> Outcome {
    if !io::stdin().is_terminal() {
        return Err(refuse(
            codes::USAGE,
            "--reset wants a confirmation.",
            "It removes every job in the private database, and there is no terminal to ask on.",
            "Add --yes if that is what you want.",
        ));
    }
    let shown = data_dir.display();
    ask(
        &format!("Remove the private database in {shown} with all its jobs?"),
        "Nothing was removed.",
    )
}
