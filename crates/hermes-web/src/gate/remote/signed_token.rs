//! Tokens that a provider signed (RFC 7519). Two kinds of signatures are known, and the key decides
//! which one is meant, never the token alone.
//!
//! Signatures are checked by `ring`, which rustls has brought along; here a token is taken apart and its
//! claims are compared. The crates for tokens know no `ring`: they would bring a second cryptography and
//! second versions of what encodes and hashes, and with a provider of our own for them the same lines
//! would stand behind one more interface.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ring::signature::{
    ECDSA_P256_SHA256_FIXED, RSA_PKCS1_2048_8192_SHA256, RsaPublicKeyComponents, UnparsedPublicKey,
};
use serde_json::Value;

/// Clocks of others may be off by so many seconds.
const LEEWAY: i64 = 60;
/// Longest token.
const MAX_BYTES: usize = 64 << 10;

/// A key of a provider.
#[derive(Debug, Clone)]
pub(super) struct PublicKey {
    id: Option<String>,
    key: KeyKind,
}

#[derive(Debug, Clone)]
enum KeyKind {
    Rsa { modulus: Vec<u8>, exponent: Vec<u8> },
    P256 { point: Vec<u8> },
}

impl PublicKey {
    /// Reads an entry of a set of keys; `None` for kinds that are not used here.
    pub(super) fn read(entry: &Value) -> Option<Self> {
        if entry["use"]
            .as_str()
            .is_some_and(|purpose| purpose != "sig")
        {
            return None;
        }
        let part = |name: &str| URL_SAFE_NO_PAD.decode(entry[name].as_str()?).ok();
        let key = match entry["kty"].as_str()? {
            "RSA" => KeyKind::Rsa {
                modulus: part("n")?,
                exponent: part("e")?,
            },
            "EC" if entry["crv"] == "P-256" => {
                let mut point = vec![4];
                point.extend(part("x")?);
                point.extend(part("y")?);
                KeyKind::P256 { point }
            }
            _ => return None,
        };
        Some(Self {
            id: entry["kid"].as_str().map(str::to_owned),
            key,
        })
    }

    fn verifies(&self, algorithm: &str, message: &[u8], signature: &[u8]) -> bool {
        match &self.key {
            KeyKind::Rsa { modulus, exponent } if algorithm == "RS256" => {
                let key = RsaPublicKeyComponents {
                    n: modulus,
                    e: exponent,
                };
                let checked = key.verify(&RSA_PKCS1_2048_8192_SHA256, message, signature);
                checked.is_ok()
            }
            KeyKind::P256 { point } if algorithm == "ES256" => {
                let key = UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, point);
                key.verify(message, signature).is_ok()
            }
            KeyKind::Rsa { .. } | KeyKind::P256 { .. } => false,
        }
    }
}

/// Whom a token must be from and for.
#[derive(Debug, Clone, Copy)]
pub(super) struct Expected<'e> {
    pub(super) issuer: &'e str,
    pub(super) audience: &'e str,
    /// Unix time.
    pub(super) now: i64,
}

/// The id of the key that a token names.
pub(super) fn key_id(token: &str) -> Option<String> {
    let header = part(token.split('.').next()?)?;
    header["kid"].as_str().map(str::to_owned)
}

/// Whether one of the keys has this id.
pub(super) fn has_key(keys: &[PublicKey], id: &str) -> bool {
    keys.iter().any(|key| key.id.as_deref() == Some(id))
}

/// What a token says, if one of these keys signed it and it is meant for us, now.
pub(super) fn verified(
    token: &str,
    keys: &[PublicKey],
    expected: Expected<'_>,
) -> Result<Value, &'static str> {
    if token.len() > MAX_BYTES {
        return Err("its token is too long");
    }
    let mut parts = token.split('.');
    let (Some(header_text), Some(body_text), Some(signature), None) =
        (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return Err("its token is not a signed token");
    };
    let header = part(header_text).ok_or("its token cannot be read")?;
    let algorithm = header["alg"].as_str().unwrap_or_default();
    if header.get("crit").is_some() {
        return Err("its token asks for something unknown");
    }
    let signature = URL_SAFE_NO_PAD
        .decode(signature)
        .map_err(|_| "its token cannot be read")?;
    let message = format!("{header_text}.{body_text}");
    let wanted = header["kid"].as_str();
    let is_signed = keys
        .iter()
        .filter(|key| wanted.is_none() || key.id.is_none() || key.id.as_deref() == wanted)
        .any(|key| key.verifies(algorithm, message.as_bytes(), &signature));
    if !is_signed {
        return Err("its token is not signed by one of its keys");
    }
    let claims = part(body_text).ok_or("its token cannot be read")?;
    check(&claims, expected)?;
    Ok(claims)
}

fn check(claims: &Value, expected: Expected<'_>) -> Result<(), &'static str> {
    let issuer = claims["iss"]
        .as_str()
        .map(|text| text.trim_end_matches('/'));
    if issuer != Some(expected.issuer) {
        return Err("its token is from another issuer");
    }
    let is_for_us = match &claims["aud"] {
        Value::String(audience) => audience == expected.audience,
        Value::Array(audiences) => audiences.iter().any(|entry| entry == expected.audience),
        _ => false,
    };
    if !is_for_us {
        return Err("its token is for somebody else");
    }
    let party = claims["azp"].as_str();
    if party.is_some_and(|party| party != expected.audience) {
        return Err("its token is for somebody else");
    }
    let expires = claims["exp"].as_f64().ok_or("its token never expires")?;
    #[expect(clippy::cast_precision_loss, reason = "seconds since 1970 are small")]
    let (now, leeway) = (expected.now as f64, LEEWAY as f64);
    if expires + leeway <= now {
        return Err("its token has expired");
    }
    for name in ["nbf", "iat"] {
        if claims[name]
            .as_f64()
            .is_some_and(|from| from > now + leeway)
        {
            return Err("its token is not valid yet; compare the clocks");
        }
    }
    Ok(())
}

fn part(text: &str) -> Option<Value> {
    let value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(text).ok()?).ok()?;
    matches!(value, Value::Object(_)).then_some(value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;
    use ring::rand::SystemRandom;
    use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
    use serde_json::json;

    struct Signer {
        pair: EcdsaKeyPair,
        random: SystemRandom,
    }

    impl Signer {
        fn new() -> Self {
            let random = SystemRandom::new();
            let kind = &ECDSA_P256_SHA256_FIXED_SIGNING;
            let document = EcdsaKeyPair::generate_pkcs8(kind, &random).unwrap();
            let pair = EcdsaKeyPair::from_pkcs8(kind, document.as_ref(), &random).unwrap();
            Self { pair, random }
        }

        fn key(&self) -> PublicKey {
            let point = self.pair.public_key().as_ref();
            let (x, y) = point[1..].split_at(32);
            let entry = json!({
                "kty": "EC", "crv": "P-256", "kid": "k1",
                "x": URL_SAFE_NO_PAD.encode(x), "y": URL_SAFE_NO_PAD.encode(y),
            });
            PublicKey::read(&entry).unwrap()
        }

        fn sign(&self, header: &Value, claims: &Value) -> String {
            let encode = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
            let message = format!("{}.{}", encode(header), encode(claims));
            let signature = self.pair.sign(&self.random, message.as_bytes()).unwrap();
            format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature.as_ref()))
        }
    }

    const EXPECTED: Expected<'_> = Expected {
        issuer: "https://id.example",
        audience: "client",
        now: 1_000,
    };

    fn claims() -> Value {
        json!({"iss": "https://id.example/", "aud": ["x", "client"], "exp": 2_000, "sub": "ada"})
    }

    #[test]
    fn a_token_counts_if_it_is_signed_current_and_for_us() {
        let signer = Signer::new();
        let header = json!({"alg": "ES256", "kid": "k1"});
        let token = signer.sign(&header, &claims());
        let keys = [signer.key()];
        assert_eq!(verified(&token, &keys, EXPECTED), Ok(claims()));
        assert!(verified(&token, &[Signer::new().key()], EXPECTED).is_err());
        assert!(verified(&token, &[], EXPECTED).is_err());
        let late = Expected {
            now: 2_060,
            ..EXPECTED
        };
        assert!(verified(&token, &keys, late).is_err());
        for (name, value) in [
            ("iss", json!("https://evil.example")),
            ("aud", json!("other")),
            ("azp", json!("other")),
            ("exp", Value::Null),
            ("nbf", json!(1_100)),
        ] {
            let mut changed = claims();
            changed[name] = value;
            let token = signer.sign(&header, &changed);
            assert!(verified(&token, &keys, EXPECTED).is_err(), "{name}");
        }
    }

    #[test]
    fn the_token_does_not_choose_how_it_is_checked() {
        let signer = Signer::new();
        let keys = [signer.key()];
        for header in [
            json!({"alg": "none"}),
            json!({"alg": "HS256"}),
            json!({"alg": "RS256"}),
            json!({"alg": "ES256", "crit": ["x"]}),
            json!({"alg": "ES256", "kid": "k2"}),
        ] {
            let token = signer.sign(&header, &claims());
            assert!(verified(&token, &keys, EXPECTED).is_err(), "{header}");
        }
        let token = signer.sign(&json!({"alg": "none"}), &claims());
        let unsigned = format!("{}.", token.rsplit_once('.').unwrap().0);
        assert!(verified(&unsigned, &keys, EXPECTED).is_err());
    }

    /// A key and a token that OpenSSL has made.
    const MODULUS: &str = "pcuOjz_pGNz1MZSkQ0AaGt7g5_N9pfceqjwpmD1pnVN6YOfJ5KH7VakOjSaOr-LTGh26FLX1ZxAu5r2U\
        gYf0KDJ-NYakmHd9JnhZKIW7DuFD2j9vpXe6wjCmO--s17nGmGmwm9s9FiXFWIjxy8Ta4M-EyOQTNX_I\
        JyH0AjkWW3IF6K1aXn2K5vE9IqimBhZgDTWjgVzyp9JtvyGNJW-qVjLhdxE6mU3tLyM3HcTCLHQo7ooB\
        yoZoh7TESbjeN6A77Ja-FmaTE7K-AllscEKlSEQHjj5yBfWxSL2NFhbP2y1HOxmzjRGeZzLpa4pH9dT5\
        0-r87amw436dnA7D7-r0QQ";
    const SIGNATURE: &str = "Z-P3lS4oqW9snzJB7NvfXuzmOEci5E1WTpVEVC8uLM1caN5i1O-YDAvABcS63wJyxAiqpt64Ldlb3sOf\
        wxMQLyBkrPp7Eonq_C2_CMz3MnmaWA0q3X4ffs0Z_GpQbrlUZ6GRHU8g0JbG5VI5u84DakN9V0T8XGRB\
        qoINmEGSQy0734z76AGcELIY3C_zc1Z5azaF2l3HYq05a5p94TXyQoplNYXlZpIMxNbmlwqgiWxRtMUT\
        -3mccJ9K6mizgzgMd_gKAXKGuMHu2WvbhZRD8W5ScmtbYfhpZfLGQCxRJJgYt3fF-Yg78CidjLX8nWhF\
        n_2I9zIbOh_xbnukRy5qig";

    #[test]
    fn a_token_with_a_signature_of_rsa_counts_and_a_changed_one_does_not() {
        let entry = json!({"kty": "RSA", "kid": "k1", "n": MODULUS, "e": "AQAB"});
        let keys = [PublicKey::read(&entry).unwrap()];
        let encode = |text: &str| URL_SAFE_NO_PAD.encode(text);
        let header = encode(r#"{"alg":"RS256","kid":"k1"}"#);
        let body = r#"{"iss":"https://id.example","aud":"client","exp":2000,"sub":"ada"}"#;
        let token = format!("{header}.{}.{SIGNATURE}", encode(body));
        assert_eq!(verified(&token, &keys, EXPECTED).unwrap()["sub"], "ada");
        let changed = body.replace("ada", "eve");
        let changed = format!("{header}.{}.{SIGNATURE}", encode(&changed));
        assert!(verified(&changed, &keys, EXPECTED).is_err());
        let other = encode(r#"{"alg":"ES256","kid":"k1"}"#);
        let other = format!("{other}.{}.{SIGNATURE}", encode(body));
        assert!(verified(&other, &keys, EXPECTED).is_err());
    }
}
