//! Time zones by name, from data that comes with the program, or from newer data that the program was given.

use std::sync::{LazyLock, OnceLock};

use jiff::tz::{TimeZone, TimeZoneDatabase};

use crate::codes;
use crate::names;
use crate::refusal::Refusal;

static BUNDLED: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);
static INSTALLED: OnceLock<TimeZoneDatabase> = OnceLock::new();

/// Names of files that are no zones: what they hold depends on the machine.
const NO_ZONES: [&str; 2] = ["localtime", "posixrules"];

/// Looks zones up here first, from now on; a zone that is not there comes from the data of the program. Call it
/// before the first rule is read: a rule keeps the zone it was read with. Only the first call counts; the answer says
/// whether this was it.
pub fn zones_install(database: TimeZoneDatabase) -> bool {
    INSTALLED.set(database).is_ok()
}

/// The names of all time zones, in their order.
///
/// ```
/// use tenure_core::rhythm;
///
/// assert!(rhythm::zones().contains(&"Europe/Berlin".to_owned()));
/// ```
pub fn zones() -> Vec<String> {
    let given = INSTALLED.get().into_iter().flat_map(TimeZoneDatabase::available);
    let all = given.chain(BUNDLED.available());
    let mut zones: Vec<String> = all
        .map(|name| name.as_str().to_owned())
        .filter(|name| !NO_ZONES.contains(&name.as_str()))
        .collect();
    zones.sort_unstable();
    zones.dedup();
    zones
}

/// Checks that a zone of exactly this name exists; case matters, so that one zone has one name.
///
/// ```
/// use tenure_core::{codes, rhythm};
///
/// assert!(rhythm::zone_check("America/New_York").is_ok());
/// let refusal = rhythm::zone_check("America/New York").unwrap_err();
/// assert!(refusal.is(codes::ZONE_UNKNOWN));
/// assert_eq!(refusal.next, "Did you mean 'America/New_York'?");
/// ```
pub fn zone_check(name: &str) -> Result<(), Refusal> {
    zone(name).map(|_| ())
}

/// The zone of exactly this name.
pub(super) fn zone(name: &str) -> Result<TimeZone, Refusal> {
    // A database takes any case and says which name it found.
    let exact = |database: &TimeZoneDatabase| database.get(name).ok().filter(|zone| zone.iana_name() == Some(name));
    let found = INSTALLED.get().and_then(exact).or_else(|| exact(&BUNDLED));
    found.filter(|_| !NO_ZONES.contains(&name)).ok_or_else(|| unknown(name))
}

fn unknown(name: &str) -> Refusal {
    let zones = zones();
    let next = match meant(name, &zones) {
        Some(meant) => format!("Did you mean '{meant}'?"),
        None => "Use the name of a city, such as 'Europe/Berlin', or 'UTC'.".to_owned(),
    };
    let shown: String = name.chars().take(crate::limits::NAME_CHARS_MAX).collect();
    Refusal::new(
        codes::ZONE_UNKNOWN,
        format!("There is no time zone '{}'.", shown.escape_debug()),
        "Zones have the names of the IANA database, in exactly its case; offsets and abbreviations of seasons are none.",
        next,
    )
}

/// A name in the wrong case, only its city, or a misspelt one.
fn meant<'a>(name: &str, zones: &'a [String]) -> Option<&'a str> {
    let spaced = name.replace(' ', "_");
    let is_it = |name: &str| name.eq_ignore_ascii_case(&spaced);
    let same = zones.iter().find(|zone| is_it(zone));
    let city = || zones.iter().find(|zone| zone.rsplit('/').next().is_some_and(is_it));
    same.or_else(city)
        .map(String::as_str)
        .or_else(|| names::nearest(&spaced, zones.iter().map(String::as_str)))
}
