//! A text from a file, or from standard input (`-`).

use std::fs::File;
use std::io::{self, Read};

use tenure_core::{Refusal, codes};

/// The text of a file of at most so many bytes. Of a longer one `too_large` is the refusal.
pub(crate) fn document(
    noun: &str,
    place: &str,
    bytes_max: usize,
    too_large: impl FnOnce() -> Refusal,
) -> Result<String, Refusal> {
    let bytes = document_bytes(noun, place, bytes_max, too_large)?;
    String::from_utf8(bytes).map_err(|error| {
        Refusal::new(
            codes::TEXT_INVALID,
            format!("The {noun} is not valid UTF-8."),
            error.utf8_error().to_string(),
            "Convert it to UTF-8.",
        )
    })
}

/// The same, whether it is text or not.
pub(crate) fn document_bytes(
    noun: &str,
    place: &str,
    bytes_max: usize,
    too_large: impl FnOnce() -> Refusal,
) -> Result<Vec<u8>, Refusal> {
    let read = match place {
        "-" => bounded(io::stdin(), bytes_max),
        path => File::open(path).and_then(|file| bounded(file, bytes_max)),
    };
    let bytes = read.map_err(|error| {
        Refusal::new(
            codes::USAGE,
            format!("The {noun} cannot be read from {place}."),
            error.to_string(),
            "Give the path of a file, or - for standard input.",
        )
    })?;
    if bytes.len() > bytes_max {
        return Err(too_large());
    }
    Ok(bytes)
}

fn bounded(from: impl Read, bytes_max: usize) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    // One more than allowed shows that there is more.
    from.take(bytes_max as u64 + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}
