use tenure_core::priority::{DEFAULT, NAMED, name_of, parse};

#[test]
fn names_and_numbers_mean_the_same() {
    for (name, value) in NAMED {
        assert_eq!(parse(name).unwrap(), *value);
        assert_eq!(parse(&name.to_uppercase()).unwrap(), *value);
        assert_eq!(parse(&value.to_string()).unwrap(), *value);
        assert_eq!(name_of(*value), Some(*name));
    }
    assert_eq!(name_of(DEFAULT), Some("normal"));
    assert_eq!(
        (parse("-32768").unwrap(), parse("32767").unwrap()),
        (i16::MIN, i16::MAX)
    );
}

#[test]
fn an_unknown_name_suggests_the_nearest() {
    let refusal = parse("urgnt").unwrap_err();
    assert_eq!(refusal.code, "priority_unknown");
    assert!(refusal.next.contains("\"urgent\""), "{refusal}");
    for text in ["", " ", "1.5", "-", "1e3", "0x10"] {
        assert_eq!(parse(text).unwrap_err().code, "priority_unknown", "{text:?}");
    }
}

#[test]
fn an_absurd_number_is_out_of_range() {
    for text in ["32768", "-32769", "99999999999999999999999999"] {
        assert_eq!(parse(text).unwrap_err().code, "number_out_of_range", "{text}");
    }
}
