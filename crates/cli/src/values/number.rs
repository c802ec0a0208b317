//! Whole numbers.

use std::convert::Infallible;
use std::ops::RangeInclusive;
use std::str::FromStr;

use tenure_core::{Refusal, codes};

/// A whole number as it was written. Read late, so that one that is absurd is refused by name, not as a usage error.
#[derive(Clone, Debug)]
pub(crate) struct Number(String);

impl FromStr for Number {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Number, Infallible> {
        Ok(Number(text.to_owned()))
    }
}

impl From<i64> for Number {
    fn from(number: i64) -> Number {
        Number(number.to_string())
    }
}

impl Number {
    /// The number, for the field of this name.
    pub(crate) fn read(&self, field: &str) -> Result<i32, Refusal> {
        let text = self.0.trim();
        text.parse().map_err(|_| {
            let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
            if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
                Refusal::new(
                    codes::NUMBER_OUT_OF_RANGE,
                    format!("{field} is {text}."),
                    format!("No number here may be below {} or above {}.", i32::MIN, i32::MAX),
                    "Give a smaller number.",
                )
            } else {
                Refusal::new(
                    codes::USAGE,
                    format!("{field} is {text:?}."),
                    "It must be a whole number.",
                    "Give digits only.",
                )
            }
        })
    }

    /// The number within these bounds, for what this program itself must bound.
    pub(crate) fn within(&self, field: &str, bounds: RangeInclusive<u32>) -> Result<u32, Refusal> {
        let number = self.read(field)?;
        match u32::try_from(number) {
            Ok(number) if bounds.contains(&number) => Ok(number),
            _ => Err(Refusal::new(
                codes::NUMBER_OUT_OF_RANGE,
                format!("{field} is {number}."),
                format!("It lies between {} and {}.", bounds.start(), bounds.end()),
                "Give a number within these bounds.",
            )),
        }
    }

    /// The number that may have been given.
    pub(crate) fn read_option(number: Option<&Number>, field: &str) -> Result<Option<i32>, Refusal> {
        number.map(|number| number.read(field)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<i32, Refusal> {
        Number(text.to_owned()).read("limit")
    }

    #[test]
    fn numbers_are_read_late_and_absurd_ones_refused_by_name() {
        assert_eq!(read("-5"), Ok(-5));
        assert!(read("99999999999").is_err_and(|refusal| refusal.is(codes::NUMBER_OUT_OF_RANGE)));
        assert!(read("five").is_err_and(|refusal| refusal.is(codes::USAGE)));
    }
}
