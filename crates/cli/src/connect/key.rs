//! Where a key comes from: an option, a file, standard input, or the environment.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use tenure_core::api_key::ApiKey;
use tenure_core::codes;

use crate::errors::{Failure, Outcome, refuse};

/// A key in a file is not longer, whatever else stands there.
const LINE_BYTES_MAX: usize = 1024;

/// The key as it was given on the command line: `-` is the first line of standard input.
pub(crate) fn given(key: Option<&str>, file: Option<&Path>) -> Outcome<Option<ApiKey>> {
    match (key, file) {
        (Some(_), Some(_)) => Err(refuse(
            codes::USAGE,
            "Both --key and --key-file are given.",
            "Each names a key.",
            "Leave one out.",
        )),
        (Some("-"), None) => {
            let line = first_line(io::stdin().lock()).map_err(|error| unreadable("standard input", &error))?;
            parsed(&line, "standard input").map(Some)
        }
        (Some(text), None) => parsed(text, "--key").map(Some),
        (None, Some(path)) => {
            let shown = path.display().to_string();
            let file = fs::File::open(path).map_err(|error| unreadable(&shown, &error))?;
            let line = first_line(io::BufReader::new(file)).map_err(|error| unreadable(&shown, &error))?;
            parsed(&line, &shown).map(Some)
        }
        (None, None) => Ok(None),
    }
}

/// Reads a key, or says where there is none; never what stands there instead.
pub(crate) fn parsed(text: &str, origin: &str) -> Outcome<ApiKey> {
    ApiKey::parse(text.trim()).ok_or_else(|| {
        refuse(
            codes::UNAUTHENTICATED,
            format!("There is no key in {origin}."),
            "A key has the form tnr_PREFIX_SECRET.",
            "Copy the whole key; `tenure key create` makes a new one if it was lost.",
        )
    })
}

/// Byte by byte: what follows on standard input is another's, such as a payload.
fn first_line(mut from: impl Read) -> io::Result<String> {
    let (mut line, mut byte) = (Vec::new(), [0]);
    while line.len() < LINE_BYTES_MAX && from.read(&mut byte)? == 1 && byte[0] != b'\n' {
        line.push(byte[0]);
    }
    Ok(String::from_utf8_lossy(&line).into_owned())
}

fn unreadable(origin: &str, error: &io::Error) -> Failure {
    refuse(
        codes::USAGE,
        format!("The key cannot be read from {origin}."),
        error.to_string(),
        "Check the path, or give the key by TENURE_KEY or a context.",
    )
}
