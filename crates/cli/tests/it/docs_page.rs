//! The documentation that a server shows.

use crate::api::Api;
use crate::workbench::Workbench;

#[tokio::test]
async fn the_documentation_is_browsed_without_a_key_and_without_any_other_host() {
    let bench = Workbench::open().await;
    let api = Api::start(&bench);
    for (path, kind) in [
        ("/docs", "text/html; charset=utf-8"),
        ("/docs/page.css", "text/css; charset=utf-8"),
        ("/docs/page.js", "text/javascript; charset=utf-8"),
    ] {
        let answer = crate::http::get(&format!("{}{path}", api.url()));
        let header = |name: &str| answer.header(name).unwrap_or_else(|| panic!("{path} has {name}"));
        assert_eq!(header("content-type"), kind);
        let policy = header("content-security-policy");
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self'; "),
            "{policy}"
        );
        assert!(!policy.contains("unsafe") && !policy.contains('*'), "{policy}");
        assert_eq!(header("x-content-type-options"), "nosniff");
        let text = answer.text().expect("text");
        for other in ["http://", "https://", "innerHTML", "<style", "onclick"] {
            assert!(!text.contains(other), "{path} has {other}");
        }
        assert!(!text.contains("<script>"), "a script within the page would not run");
    }
}
