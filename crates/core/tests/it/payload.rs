use proptest::prelude::*;
use serde_json::{Value, json};
use tenure_core::payload::{FORBIDDEN_KEYS, check, text_bytes};
use tenure_core::{Refusal, codes};

use crate::json_lines;

/// Proves: S10, S76. Guards: D26.
#[test]
fn a_payload_is_accepted_or_refused_as_the_vectors_say() {
    for vector in json_lines("payload.jsonl") {
        let expected = (!vector["refused"].is_null()).then(|| vector["refused"].clone());
        let got = check(&vector["payload"])
            .err()
            .map(|it| json!({"code": it.code().name, "path": it.path()}));
        assert_eq!(got, expected, "{}", vector["name"]);
    }
}

#[test]
fn a_nul_is_refused_with_its_path() {
    let refused = check(&json!({"a": ["x", "y\0"]})).unwrap_err();
    assert_eq!((refused.code(), refused.path()), (codes::TEXT_INVALID, Some("$.a[1]")));
    assert_eq!(check(&json!({"a\0": 1})).unwrap_err().path(), Some("$[\"a\\u0000\"]"));
}

#[test]
fn a_refusal_names_the_path_and_the_way_out() {
    let refusal = Refusal::from(check(&json!({"a": {"Token": 1}})).unwrap_err());
    assert!(refusal.is(codes::PAYLOAD_FORBIDDEN_KEY));
    assert!(refusal.what.contains("$.a.Token") && !refusal.why.is_empty() && !refusal.next.is_empty());
}

/// Lengths of what PostgreSQL 15 prints for these texts as `jsonb`.
#[test]
fn the_size_is_that_of_the_text_postgresql_prints() {
    for (text, printed) in [
        (
            r#"{"a":1,"b":[1,2,{}],"c":[]}"#,
            r#"{"a": 1, "b": [1, 2, {}], "c": []}"#,
        ),
        (
            r#"{"a":"\u0001\u001f\b\f\n\r\t\"\\/é\u007f"}"#,
            "{\"a\": \"\\u0001\\u001f\\b\\f\\n\\r\\t\\\"\\\\/é\u{7f}\"}",
        ),
        (
            r#"{"a":[1.0,-0.0,1.5e20,1.5e-7,true,false,null]}"#,
            r#"{"a": [1.0, 0.0, 150000000000000000000, 0.00000015, true, false, null]}"#,
        ),
    ] {
        let value: Value = serde_json::from_str(text).unwrap();
        assert_eq!(text_bytes(&value), printed.len(), "{text}");
    }
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z]{0,8}".prop_map(Value::from)
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("k[a-z]{0,5}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    /// Guards: D26.
    #[test]
    fn no_depth_hides_a_forbidden_key(
        harmless in any_json(), which in 0..FORBIDDEN_KEYS.len(), upper: u16, wraps in prop::collection::vec(any::<bool>(), 0..20),
    ) {
        prop_assert_eq!(check(&json!({"a": harmless.clone()})), Ok(()));
        let key: String = FORBIDDEN_KEYS[which].chars().enumerate()
            .map(|(i, c)| if upper >> i & 1 == 1 { c.to_ascii_uppercase() } else { c }).collect();
        let mut value = json!({ key.clone(): harmless.clone() });
        for in_array in wraps {
            value = if in_array { json!([harmless.clone(), value]) } else { json!({"a": value}) };
        }
        let refused = check(&json!({"z": value})).unwrap_err();
        // Many harmless copies may outgrow the limit first.
        if refused.code() != codes::PAYLOAD_TOO_LARGE {
            let end = format!(".{key}");
            prop_assert!(refused.path().unwrap().ends_with(&end));
        }
    }
}
