//! Passwords in URLs: they belong neither on a screen nor in a list of processes.

/// The URL without its password, and the password.
pub(crate) fn without_password(url: &str) -> (String, Option<String>) {
    let Some((scheme, rest)) = url.split_once("://") else {
        return (url.to_owned(), None);
    };
    let end = rest.find(['/', '?']).unwrap_or(rest.len());
    let (authority, tail) = rest.split_at(end);
    match authority.rsplit_once('@') {
        Some((login, host)) => match login.split_once(':') {
            Some((user, password)) => (format!("{scheme}://{user}@{host}{tail}"), Some(decoded(password))),
            None => (url.to_owned(), None),
        },
        None => (url.to_owned(), None),
    }
}

/// Percent-decoded, as a URL's password must be.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, tail)) = rest.split_first() {
        let code = tail
            .get(..2)
            .and_then(|hex| u8::from_str_radix(str::from_utf8(hex).ok()?, 16).ok());
        match (byte, code) {
            (b'%', Some(decoded)) => {
                bytes.push(decoded);
                rest = &tail[2..];
            }
            _ => {
                bytes.push(byte);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_taken_out_of_a_url() {
        let (url, password) = without_password("postgres://me:p%40ss@host:5/db?sslmode=require");
        assert_eq!(url, "postgres://me@host:5/db?sslmode=require");
        assert_eq!(password.as_deref(), Some("p@ss"));
        let socket = "postgresql:///postgres?host=/tmp/a&user=tenure";
        assert_eq!(without_password(socket), (socket.to_owned(), None));
    }
}
