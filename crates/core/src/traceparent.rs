//! The trace and span that a request or a job comes from, as W3C writes it: `00-TRACE-SPAN-FLAGS`, in small hexadecimal
//! digits. The SQL function `tenure.traceparent()` takes what comes out of here, and nothing else.

/// How long one of version 00 is.
const CHARS: usize = 55;

/// The header as version 00, if it names a trace. Later versions may say more after what we know, which is left out;
/// whatever else is malformed is no trace, and never a reason to refuse a request.
///
/// ```
/// use tenure_core::traceparent::read;
///
/// let header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
/// assert_eq!(read(header).as_deref(), Some(header));
/// assert_eq!(read("00-0af7651916cd43dd8448eb211c80319c"), None);
/// ```
pub fn read(header: &str) -> Option<String> {
    let known = header.get(..CHARS)?;
    let rest = &header[CHARS..];
    let mut parts = known.split('-');
    let (version, trace, span, flags) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let is_fine = parts.next().is_none()
        && is_hex(version, 2)
        && is_hex(trace, 32)
        && is_hex(span, 16)
        && is_hex(flags, 2)
        && [trace, span].iter().all(|id| id.contains(|digit| digit != '0'))
        && match version {
            "ff" => false,
            "00" => rest.is_empty(),
            _ => rest.is_empty() || rest.starts_with('-'),
        };
    is_fine.then(|| format!("00-{trace}-{span}-{flags}"))
}

fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}
