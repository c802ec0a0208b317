//! A tenant for every statement of a connection, for what opens connections by URL alone.

/// The start-up options that name the tenant.
pub(crate) fn tenant_options(tenant: &str) -> String {
    let escaped: String = tenant
        .chars()
        .flat_map(|c| {
            if c.is_whitespace() || c == '\\' {
                vec!['\\', c]
            } else {
                vec![c]
            }
        })
        .collect();
    format!("-c tenure.tenant={escaped}")
}

/// The URL or `key=value` string whose connections act in this tenant.
pub(crate) fn in_tenant(url: &str, tenant: Option<&str>) -> String {
    let Some(tenant) = tenant else {
        return url.to_owned();
    };
    let options = tenant_options(tenant);
    if !url.contains("://") {
        let quoted = options.replace('\\', "\\\\").replace('\'', "\\'");
        return format!("{url} options='{quoted}'");
    }
    let encoded: String = options
        .bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'.' | b'_' | b'-' => char::from(byte).to_string(),
            _ => format!("%{byte:02X}"),
        })
        .collect();
    let separator = if url.contains('?') { '&' } else { '?' };
    format!("{url}{separator}options={encoded}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_is_named_whatever_its_name_and_the_form_of_the_address() {
        let options = |url: &str, tenant| {
            let config: tokio_postgres::Config = in_tenant(url, Some(tenant)).parse().expect("an address");
            config.get_options().map(str::to_owned)
        };
        for url in ["postgres://h/d", "postgres://h/d?sslmode=disable", "host=h dbname=d"] {
            for tenant in ["acme", "a b", "it's", r"back\slash", "ü&=?"] {
                assert_eq!(options(url, tenant), Some(tenant_options(tenant)), "{url} {tenant}");
            }
            assert_eq!(in_tenant(url, None), url);
        }
    }
}
