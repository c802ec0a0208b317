use tenure_core::evidence::{KeyError, PublicKey, SecretKey};

/// Secret key, public key, message and signature of RFC 8032, section 7.1.
const RFC_8032: &[(&str, &str, &str, &str)] = &[
    (
        "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
        "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
        "",
        "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
    ),
    (
        "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
        "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
        "72",
        "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
    ),
    (
        "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
        "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
        "af82",
        "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
    ),
];

/// The first key, as `openssl pkey` writes it.
const SECRET_PEM: &str = "-----BEGIN PRIVATE KEY-----
MC4CAQAwBQYDK2VwBCIEIJ1hsZ3v/VpguoRK9JLsLMREScVpezJpGXA7rAMcrn9g
-----END PRIVATE KEY-----
";
const PUBLIC_PEM: &str = "-----BEGIN PUBLIC KEY-----
MCowBQYDK2VwAyEA11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=
-----END PUBLIC KEY-----
";
const PUBLIC_BASE64: &str = "11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=";

fn bytes(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2);
    digits
        .map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap())
        .collect()
}

#[test]
fn signatures_are_those_of_the_rfc() {
    for (secret, public, message, signature) in RFC_8032 {
        let key = SecretKey::from_bytes(&bytes(secret)).unwrap();
        assert_eq!(key.public_key().to_bytes().to_vec(), bytes(public));
        assert_eq!(key.sign(&bytes(message)).to_vec(), bytes(signature));
        assert!(key.public_key().verifies(&bytes(message), &bytes(signature)));
        assert!(!key.public_key().verifies(b"another message", &bytes(signature)));
        assert!(!key.public_key().verifies(&bytes(message), &bytes(signature)[..63]));
    }
}

#[test]
fn a_key_is_read_in_every_form_and_written_as_others_do() {
    let secret = SecretKey::from_pem(SECRET_PEM).unwrap();
    let public = secret.public_key();
    assert_eq!(
        (
            secret.to_pem().as_str(),
            public.to_pem().as_str(),
            public.to_base64().as_str()
        ),
        (SECRET_PEM, PUBLIC_PEM, PUBLIC_BASE64)
    );
    for text in [
        PUBLIC_PEM,
        PUBLIC_BASE64,
        &format!("\n {PUBLIC_BASE64}\n"),
        &PUBLIC_PEM.replace('\n', "\r\n"),
    ] {
        assert_eq!(PublicKey::parse(text), Ok(public), "{text}");
    }
    assert_eq!(public.id(), "21fe31dfa154a261");
    assert_eq!(*secret.reveal(), bytes(RFC_8032[0].0));
}

#[test]
fn what_is_no_key_is_refused() {
    let rsa = "-----BEGIN PUBLIC KEY-----\nMFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBAK==\n-----END PUBLIC KEY-----";
    for text in ["", "key", &PUBLIC_BASE64[1..], rsa, "-----BEGIN PUBLIC KEY-----"] {
        assert_eq!(PublicKey::parse(text), Err(KeyError::NoPublicKey), "{text}");
    }
    assert_eq!(PublicKey::parse(SECRET_PEM), Err(KeyError::Secret));
    // The neutral point: under it the signature of one text holds for others.
    let neutral = "AQAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
    assert_eq!(PublicKey::parse(neutral), Err(KeyError::Weak));
    for text in ["", PUBLIC_PEM, "-----BEGIN PRIVATE KEY-----"] {
        assert_eq!(SecretKey::from_pem(text).unwrap_err(), KeyError::NoSecretKey);
    }
    assert!(SecretKey::from_bytes(&[1; 31]).is_err());
}

#[test]
fn a_secret_is_in_no_description() {
    let key = SecretKey::from_pem(SECRET_PEM).unwrap();
    let shown = format!("{key:?} {:?}", key.public_key());
    assert_eq!(shown, "SecretKey(21fe31dfa154a261…) PublicKey(21fe31dfa154a261)");
}
