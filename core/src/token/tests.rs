use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::json;

use super::*;

const NOW: u64 = 1_800_000_000;
const OLD: &str = "0123456789abcdef0123456789abcdef";
const NEW: &str = "fedcba9876543210fedcba9876543210";

fn secrets(texts: &[&str]) -> Secrets {
    Secrets::new(texts).unwrap()
}

fn claims() -> Claims {
    Claims {
        client_id: ClientId::parse("tab-1").unwrap(),
        agent: None,
        serve: true,
        call: false,
        expires_at: NOW + 60,
        not_before: None,
    }
}

/// Signs whatever claims, under whatever header.
fn sign(secret: &str, header: &serde_json::Value, claims: &serde_json::Value) -> String {
    let part = |value: &serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let message = format!("{}.{}", part(header), part(claims));
    let key = EncodingKey::from_secret(secret.as_bytes()).unwrap();
    let signature = jsonwebtoken::crypto::sign(message.as_bytes(), &key, Algorithm::HS256);
    format!("{message}.{}", signature.unwrap())
}

fn verify(token: &str) -> Result<Grant, TokenError> {
    Verifier::new(&secrets(&[OLD])).verify(token, NOW)
}

fn verify_claims(claims: &serde_json::Value) -> Result<Grant, TokenError> {
    verify(&sign(OLD, &json!({"alg": "HS256"}), claims))
}

#[test]
fn a_minted_token_grants_what_its_claims_say() {
    let minted = Claims {
        agent: Some(Subject::parse("alice@example.com").unwrap()),
        call: true,
        not_before: Some(NOW - 10),
        ..claims()
    };
    let grant = verify(&mint(&secrets(&[OLD]), &minted)).unwrap();
    assert_eq!(grant.client_id().as_str(), "tab-1");
    let call = grant.clone().call().unwrap();
    assert_eq!(call.subject().as_str(), "alice@example.com");
    assert_eq!(call.expires_at(), NOW + 60);
    assert_eq!(call.expires_in(), Duration::from_secs(60));
    let serve = grant.serve().unwrap();
    assert_eq!(serve.client_id().as_str(), "tab-1");
}

#[test]
fn without_an_agent_the_subject_is_the_client_id() {
    let grant = verify(&mint(&secrets(&[OLD]), &claims())).unwrap();
    assert_eq!(grant.serve().unwrap().subject().as_str(), "tab-1");
}

#[test]
fn a_scope_allows_what_it_names_and_nothing_else() {
    let granted = |scope: serde_json::Value| {
        let claims = json!({"sub": "a", "exp": NOW + 9, "scope": scope});
        let grant = verify_claims(&claims).unwrap();
        (grant.clone().serve().is_ok(), grant.call().is_ok())
    };
    assert_eq!(granted(json!("clientmcp:serve")), (true, false));
    assert_eq!(granted(json!("other clientmcp:call")), (false, true));
    assert_eq!(
        granted(json!(["clientmcp:call", "clientmcp:serve"])),
        (true, true)
    );
    assert_eq!(granted(json!("")), (false, false));
    assert_eq!(granted(json!([])), (false, false));
    assert_eq!(
        granted(json!("clientmcp:server xclientmcp:call")),
        (false, false)
    );
    let error = verify(&mint(&secrets(&[OLD]), &claims()))
        .unwrap()
        .call()
        .unwrap_err();
    assert_eq!(error.missing(), SCOPE_CALL);
    assert_eq!(error.closing().code(), CloseCode::Forbidden);
}

#[test]
fn exp_and_nbf_have_one_leeway() {
    let leeway = limits::TOKEN_LEEWAY_S;
    let at = |exp: u64, nbf: Option<u64>| {
        let minted = Claims {
            expires_at: exp,
            not_before: nbf,
            ..claims()
        };
        verify(&mint(&secrets(&[OLD]), &minted)).map(|_| ())
    };
    assert_eq!(at(NOW - leeway + 1, None), Ok(()));
    assert_eq!(at(NOW - leeway, None), Err(TokenError::Expired));
    assert_eq!(at(NOW - 61, None), Err(TokenError::Expired));
    assert_eq!(at(u64::MAX, None), Ok(()));
    assert_eq!(at(NOW + 60, Some(NOW + leeway)), Ok(()));
    assert_eq!(
        at(NOW + 60, Some(NOW + leeway + 1)),
        Err(TokenError::NotYetValid)
    );
    assert_eq!(at(NOW + 60, Some(u64::MAX)), Err(TokenError::NotYetValid));
}

#[test]
fn an_expired_token_within_leeway_ends_at_once_without_underflow() {
    let minted = Claims {
        expires_at: NOW - 2,
        ..claims()
    };
    let grant = verify(&mint(&secrets(&[OLD]), &minted)).unwrap();
    assert_eq!(grant.serve().unwrap().expires_in(), Duration::ZERO);
}

#[test]
fn claims_that_are_missing_or_of_the_wrong_type_are_refused() {
    for claims in [
        json!({"scope": "", "exp": NOW + 9}),
        json!({"sub": "a", "exp": NOW + 9}),
        json!({"sub": "a", "scope": ""}),
        json!({"sub": 1, "scope": "", "exp": NOW + 9}),
        json!({"sub": "a", "scope": 1, "exp": NOW + 9}),
        json!({"sub": "a", "scope": "", "exp": "soon"}),
        json!({"sub": "a", "scope": "", "exp": -1}),
        json!({"sub": "a", "scope": "", "exp": 1e300}),
        json!({"sub": "a", "scope": "", "exp": NOW + 9, "agent": 7}),
    ] {
        assert_eq!(
            verify_claims(&claims).unwrap_err(),
            TokenError::Claims,
            "{claims}"
        );
    }
    let wrong_id = json!({"sub": "a b", "scope": "", "exp": NOW + 9});
    assert_eq!(verify_claims(&wrong_id).unwrap_err(), TokenError::ClientId);
    let wrong_agent = json!({"sub": "a", "scope": "", "exp": NOW + 9, "agent": "a\nb"});
    assert_eq!(verify_claims(&wrong_agent).unwrap_err(), TokenError::Agent);
}

#[test]
fn other_claims_are_ignored_and_fractions_are_cut_off() {
    let claims = json!({
        "sub": "a", "scope": "", "exp": (NOW + 9) as f64 + 0.9, "nbf": null, "agent": null,
        "aud": ["elsewhere"], "iss": 7, "iat": NOW + 999, "jti": "x",
    });
    let grant = verify_claims(&claims).unwrap();
    assert_eq!(grant.expires_at, NOW + 9);
}

#[test]
fn only_hs256_is_accepted_and_kid_is_ignored() {
    let claims = json!({"sub": "a", "scope": "", "exp": NOW + 9});
    for alg in ["none", "HS512", "RS256", "ES256", "hs256"] {
        let token = sign(OLD, &json!({"alg": alg}), &claims);
        assert_eq!(verify(&token).unwrap_err(), TokenError::Algorithm, "{alg}");
    }
    for kid in ["unknown", "../../etc/passwd", "' OR 1=1 --", ""] {
        let token = sign(OLD, &json!({"alg": "HS256", "kid": kid}), &claims);
        assert!(verify(&token).is_ok());
    }
}

#[test]
fn what_is_no_token_is_malformed() {
    let good = mint(&secrets(&[OLD]), &claims());
    let (message, signature) = good.rsplit_once('.').unwrap();
    let cut = format!("{message}.{}", &signature[..20]);
    assert_eq!(verify(&cut).unwrap_err(), TokenError::Signature);
    for bad in [
        "",
        ".",
        "..",
        "a.b.c",
        message,
        &format!("{good}.x"),
        &format!("{good}="),
        "ü",
    ] {
        assert_eq!(verify(bad).unwrap_err(), TokenError::Malformed, "{bad}");
    }
}

#[test]
fn a_rotation_has_no_window_in_which_a_good_token_fails() {
    let (old, both, new) = (secrets(&[OLD]), secrets(&[NEW, OLD]), secrets(&[NEW]));
    let by_old = mint(&old, &claims());
    let by_both = mint(&both, &claims());
    let index = |secrets: &Secrets, token: &str| {
        Verifier::new(secrets)
            .verify(token, NOW)
            .map(|grant| grant.key_index())
    };
    assert_eq!(index(&old, &by_old), Ok(0));
    assert_eq!(index(&both, &by_old), Ok(1));
    assert_eq!(index(&both, &by_both), Ok(0));
    assert_eq!(index(&new, &by_both), Ok(0));
    assert_eq!(index(&new, &by_old), Err(TokenError::Signature));
}

#[test]
fn the_next_secret_is_tried_on_a_signature_that_does_not_match_alone() {
    let expired = Claims {
        expires_at: NOW - 60,
        ..claims()
    };
    let token = mint(&secrets(&[NEW]), &expired);
    let both = Verifier::new(&secrets(&[NEW, OLD]));
    assert_eq!(both.verify(&token, NOW).unwrap_err(), TokenError::Expired);
    let incomplete = sign(NEW, &json!({"alg": "HS256"}), &json!({"sub": "a"}));
    assert_eq!(
        both.verify(&incomplete, NOW).unwrap_err(),
        TokenError::Claims
    );
}

#[test]
fn nothing_shows_a_token_or_a_secret() {
    let token = mint(&secrets(&[OLD]), &claims());
    let bearer = BearerToken::new(token.clone());
    assert_eq!(format!("{bearer:?}"), "BearerToken(redacted)");
    let verifier = Verifier::new(&secrets(&[OLD]));
    assert!(!format!("{verifier:?}").contains(OLD));
    let all = [
        TokenError::Malformed,
        TokenError::Algorithm,
        TokenError::Signature,
        TokenError::Claims,
        TokenError::ClientId,
        TokenError::Agent,
        TokenError::Expired,
        TokenError::NotYetValid,
    ];
    for error in all {
        assert_eq!(error.closing().code(), CloseCode::Unauthorized);
        assert_eq!(error.closing().reason(), error.to_string(), "fits");
        assert!(!error.label().contains(' '));
    }
}
