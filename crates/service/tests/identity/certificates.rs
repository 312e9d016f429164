//! Names from certificates.

use std::net::IpAddr;

use espalier_service::identity::{
    CERTIFICATE_BYTES_MAX, CHAIN_CERTIFICATES_MAX, CertToName, CertToNameError, CertificateError,
    Fingerprint, FingerprintError, MapEntry, MapType,
};
use espalier_testkit::seed;
use rand::Rng;
use rcgen::string::BmpString;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, DnValue, IsCa, KeyPair, SanType,
    date_time_ymd,
};

use crate::fixture::NOW;

type Authority = CertifiedIssuer<'static, KeyPair>;

/// The parameters of a certificate with a common name.
pub fn parameters(common_name: impl Into<DnValue>) -> CertificateParams {
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name = rcgen::DistinguishedName::new();
    parameters
        .distinguished_name
        .push(DnType::CommonName, common_name);
    parameters
}

fn authority_parameters(name: &str) -> CertificateParams {
    let mut parameters = parameters(name);
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    parameters
}

fn with_names(common_name: &str, names: Vec<SanType>) -> CertificateParams {
    let mut parameters = parameters(common_name);
    parameters.subject_alt_names = names;
    parameters
}

fn until_2020(mut parameters: CertificateParams) -> CertificateParams {
    parameters.not_after = date_time_ymd(2020, 1, 1);
    parameters
}

/// A self-signed authority.
pub fn authority(name: &str) -> Authority {
    let key = KeyPair::generate().unwrap();
    CertifiedIssuer::self_signed(authority_parameters(name), key).unwrap()
}

/// An authority below another one.
fn intermediate(name: &str, issuer: &Authority) -> Authority {
    let key = KeyPair::generate().unwrap();
    CertifiedIssuer::signed_by(authority_parameters(name), key, issuer).unwrap()
}

/// A certificate of a client.
pub fn client(parameters: &CertificateParams, issuer: &Authority) -> Vec<u8> {
    let key = KeyPair::generate().unwrap();
    parameters.signed_by(&key, issuer).unwrap().der().to_vec()
}

fn der(authority: &Authority) -> Vec<u8> {
    authority.der().to_vec()
}

fn entry(id: u32, certificate: &[u8], map_type: MapType) -> MapEntry {
    MapEntry {
        id,
        fingerprint: Fingerprint::of(certificate),
        map_type,
    }
}

fn specified(name: &str) -> MapType {
    MapType::Specified(name.to_owned())
}

fn name_of(
    entries: Vec<MapEntry>,
    chain: &[Vec<u8>],
    authorities: &[&Authority],
) -> Option<String> {
    let authorities = authorities.iter().map(|authority| der(authority)).collect();
    let map = CertToName::new(entries, authorities).unwrap();
    map.user_of(chain, NOW).unwrap()
}

#[test]
fn each_map_type_derives_a_name() {
    let root = authority("root");
    let ia5 = |text: &str| text.try_into().unwrap();
    let address = |text: &str| SanType::IpAddress(text.parse::<IpAddr>().unwrap());
    let with = |names: Vec<SanType>| client(&with_names("Änn", names), &root);
    let mail = SanType::Rfc822Name(ia5("FooBar@Example.COM"));
    let dns = SanType::DnsName(ia5("Host.Example.COM"));
    let (v4, v6) = (address("192.0.2.7"), address("2001:DB8::1"));
    let v6_text = "20010db8000000000000000000000001";
    let uri = SanType::URI(ia5("http://x"));
    let all = with(vec![
        uri.clone(),
        dns.clone(),
        mail.clone(),
        v6.clone(),
        v4.clone(),
    ]);
    let cases = [
        (&all, specified("ann"), Some("ann")),
        (&all, specified(""), None),
        (&all, MapType::SanRfc822Name, Some("FooBar@example.com")),
        (&all, MapType::SanDnsName, Some("host.example.com")),
        (&all, MapType::SanIpAddress, Some(v6_text)),
        (&all, MapType::SanAny, Some("host.example.com")),
        (&all, MapType::CommonName, Some("Änn")),
        (&with(vec![v4]), MapType::SanIpAddress, Some("192.0.2.7")),
        (&with(vec![v6]), MapType::SanAny, Some(v6_text)),
        (
            &with(vec![mail]),
            MapType::SanAny,
            Some("FooBar@example.com"),
        ),
        (&with(vec![dns]), MapType::SanRfc822Name, None),
        (&with(vec![uri]), MapType::SanAny, None),
        (&with(vec![]), MapType::SanDnsName, None),
        (
            &with(vec![SanType::Rfc822Name(ia5("nohost"))]),
            MapType::SanRfc822Name,
            None,
        ),
        (
            &with(vec![SanType::DnsName(ia5("a\0b"))]),
            MapType::SanDnsName,
            None,
        ),
    ];
    for (certificate, map_type, expected) in cases {
        let entries = vec![entry(1, certificate, map_type.clone())];
        let name = name_of(entries, std::slice::from_ref(certificate), &[]);
        assert_eq!(name.as_deref(), expected, "{map_type:?}");
    }
    let bmp = BmpString::from_utf16be("Änn".encode_utf16().flat_map(u16::to_be_bytes).collect());
    let bmp = client(&parameters(DnValue::BmpString(bmp.unwrap())), &root);
    let entries = vec![entry(1, &bmp, MapType::CommonName)];
    assert_eq!(name_of(entries, &[bmp], &[]).as_deref(), Some("Änn"));
}

#[test]
fn the_first_entry_by_id_that_matches_and_gives_a_name_decides() {
    let (root, other) = (authority("root"), authority("other"));
    let client = client(&parameters("ann"), &root);
    let entries = vec![
        entry(30, &client, specified("third")),
        entry(20, &der(&root), MapType::CommonName),
        entry(10, &client, MapType::SanDnsName),
        entry(1, &der(&other), specified("other")),
    ];
    let chain = [client];
    assert_eq!(
        name_of(entries.clone(), &chain, &[&root, &other]).as_deref(),
        Some("ann")
    );
    assert_eq!(
        name_of(entries.clone(), &chain, &[]).as_deref(),
        Some("third")
    );
    assert_eq!(name_of(entries[1..].to_vec(), &chain, &[&other]), None);
    assert_eq!(name_of(vec![], &chain, &[&root]), None);
}

#[test]
fn authorities_are_found_through_intermediates() {
    let root = authority("root");
    let middle = intermediate("middle", &root);
    let lower = intermediate("lower", &middle);
    let client = client(&parameters("ann"), &lower);
    for fingerprint in [&root, &middle, &lower] {
        let entries = || vec![entry(1, &der(fingerprint), MapType::CommonName)];
        // The order in which a client sends them does not matter.
        let chain = [client.clone(), der(&middle), der(&lower)];
        assert_eq!(name_of(entries(), &chain, &[&root]).as_deref(), Some("ann"));
        let full = [client.clone(), der(&lower), der(&middle), der(&root)];
        assert_eq!(name_of(entries(), &full, &[]).as_deref(), Some("ann"));
    }
    let root_only = vec![entry(1, &der(&root), MapType::CommonName)];
    assert_eq!(name_of(root_only, &[client, der(&lower)], &[&root]), None);
}

#[test]
fn a_certificate_that_did_not_sign_gives_no_name() {
    let (root, admins) = (authority("root"), authority("admins"));
    let mallory = client(&parameters("root"), &root);
    let entries = || vec![entry(1, &der(&admins), MapType::CommonName)];
    assert_eq!(
        name_of(entries(), &[mallory, der(&admins)], &[&root, &admins]),
        None
    );
    // The same name, another key.
    let twin = authority("admins");
    let mallory = client(&parameters("root"), &twin);
    assert_eq!(
        name_of(entries(), &[mallory, der(&admins)], &[&root, &admins]),
        None
    );
    // A client's certificate is not an authority, even if its key signs.
    let key = KeyPair::generate().unwrap();
    let leaf = CertifiedIssuer::signed_by(parameters("leaf"), key, &admins).unwrap();
    let below = client(&parameters("root"), &leaf);
    let chain = [below, der(&leaf), der(&admins)];
    assert_eq!(name_of(entries(), &chain, &[&admins]), None);
}

#[test]
fn expired_certificates_give_no_name() {
    let root = authority("root");
    let expired = until_2020(parameters("ann"));
    let expired = client(&expired, &root);
    let map = CertToName::new(vec![entry(1, &expired, MapType::CommonName)], vec![]).unwrap();
    assert_eq!(
        map.user_of(&[expired], NOW),
        Err(CertificateError::NotValidNow)
    );
    let key = KeyPair::generate().unwrap();
    let old = until_2020(authority_parameters("old"));
    let old = CertifiedIssuer::self_signed(old, key).unwrap();
    let client = client(&parameters("ann"), &old);
    let entries = vec![entry(1, &der(&old), MapType::CommonName)];
    assert_eq!(name_of(entries, &[client], &[&old]), None);
}

#[test]
fn hostile_certificates_are_errors_or_give_no_name() {
    let root = authority("root");
    let good = client(&parameters("ann"), &root);
    let map = |certificate: &[u8]| {
        CertToName::new(
            vec![entry(1, certificate, MapType::SanAny)],
            vec![der(&root)],
        )
        .unwrap()
    };
    let of_good = map(&good);
    for length in 0..good.len() {
        let truncated = [good[..length].to_vec()];
        assert_eq!(
            of_good.user_of(&truncated, NOW),
            Err(CertificateError::Malformed)
        );
        let chain = [good.clone(), good[..length].to_vec()];
        assert_eq!(
            of_good.user_of(&chain, NOW),
            Err(CertificateError::Malformed)
        );
    }
    let mut long = good.clone();
    long.push(0);
    assert_eq!(
        of_good.user_of(&[long], NOW),
        Err(CertificateError::Malformed)
    );
    assert_eq!(of_good.user_of(&[], NOW), Err(CertificateError::Missing));
    let many = vec![good.clone(); CHAIN_CERTIFICATES_MAX + 1];
    assert_eq!(of_good.user_of(&many, NOW), Err(CertificateError::TooMany));
    let huge = vec![vec![0x30; CERTIFICATE_BYTES_MAX + 1]];
    assert_eq!(of_good.user_of(&huge, NOW), Err(CertificateError::TooLong));

    let san = |index: usize| SanType::URI(format!("http://{index}").as_str().try_into().unwrap());
    let sans = |count| with_names("ann", (0..count).map(san).collect());
    let many = client(&sans(3_000), &root);
    assert_eq!(map(&many).user_of(&[many], NOW), Ok(None));
    let more = client(&sans(10_000), &root);
    assert_eq!(
        of_good.user_of(&[more], NOW),
        Err(CertificateError::TooLong)
    );

    // Issuers of the same name cost a bounded number of verifications.
    let twins: Vec<Vec<u8>> = (0..CHAIN_CERTIFICATES_MAX - 1)
        .map(|_| der(&authority("root")))
        .collect();
    let chain = [vec![good.clone()], twins].concat();
    assert_eq!(of_good.user_of(&chain, NOW), Ok(None));
}

#[test]
fn no_certificate_makes_the_parser_panic() {
    let root = authority("root");
    let names = ["a@b", "c"].map(|name| SanType::DnsName(name.try_into().unwrap()));
    let good = with_names("ann", names.to_vec());
    let good = client(&good, &root);
    seed::run("certificates", |random| {
        for _ in 0..5_000 {
            let mut changed = good.clone();
            for _ in 0..random.random_range(1..4) {
                let place = random.random_range(0..changed.len());
                changed[place] = random.random();
            }
            for map_type in [MapType::SanAny, MapType::CommonName] {
                let entries = vec![entry(1, &changed, map_type)];
                let map = CertToName::new(entries, vec![der(&root)]).unwrap();
                let _ = map.user_of(&[changed.clone(), good.clone()], NOW);
            }
        }
    });
}

#[test]
fn fingerprints_are_parsed_and_printed() {
    let certificate = b"certificate";
    let own = Fingerprint::of(certificate);
    let text = own.to_string();
    assert_eq!((text.len(), &text[..3]), (98, "04:"));
    assert_eq!(Fingerprint::parse(&text), Ok(own.clone()));
    assert_eq!(Fingerprint::parse(&text.to_uppercase()), Ok(own.clone()));
    assert!(own.matches(certificate) && !own.matches(b"other"));
    let of_length = |algorithm: &str, length| format!("{algorithm}{}", ":00".repeat(length));
    for (algorithm, length) in [("03", 28), ("04", 32), ("05", 48), ("06", 64)] {
        let fingerprint = Fingerprint::parse(&of_length(algorithm, length)).unwrap();
        assert_eq!(fingerprint.to_string(), of_length(algorithm, length));
        assert!(!fingerprint.matches(certificate));
        let short = Fingerprint::parse(&of_length(algorithm, length - 1));
        assert_eq!(short, Err(FingerprintError::Length));
    }
    for (text, expected) in [
        ("", FingerprintError::Malformed),
        ("04:", FingerprintError::Malformed),
        ("4:00", FingerprintError::Malformed),
        ("04:+1", FingerprintError::Malformed),
        ("04:0g", FingerprintError::Malformed),
        ("04:é", FingerprintError::Malformed),
        (&of_length("01", 16), FingerprintError::Algorithm),
        (&of_length("02", 20), FingerprintError::Algorithm),
        (&of_length("07", 32), FingerprintError::Algorithm),
        ("04", FingerprintError::Length),
    ] {
        assert_eq!(Fingerprint::parse(text), Err(expected), "{text}");
    }
}

#[test]
fn a_bad_map_is_rejected() {
    let root = authority("root");
    let error = CertToName::new(vec![], vec![der(&root), vec![1, 2]]).unwrap_err();
    assert_eq!(
        error,
        CertToNameError::Authority(2, CertificateError::Malformed)
    );
    let entries = vec![entry(1, b"", MapType::SanAny); 1_001];
    let error = CertToName::new(entries, vec![]).unwrap_err();
    assert_eq!(error, CertToNameError::TooManyEntries);
}
