//! The vectors that bind the rule here to the one in SQL.

use tenure_core::traceparent::read;

#[test]
fn a_header_is_a_trace_or_nothing() {
    let vectors = include_str!("../../testdata/traceparent.tsv");
    for line in vectors.lines() {
        let (header, trace) = line.split_once('\t').expect("two columns");
        assert_eq!(read(header).as_deref().unwrap_or("none"), trace, "{header}");
    }
    assert_eq!(read(""), None);
}
