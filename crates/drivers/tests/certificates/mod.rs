//! Certificates for the servers of the tests.

use rcgen::{
    BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose,
    date_time_ymd,
};

/// Creates a certificate authority with a name. Returns its certificate as PEM, and the issuer.
pub fn authority(name: &str) -> (String, Issuer<'static, KeyPair>) {
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::new(Vec::new()).expect("parameters");
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let pem = params.self_signed(&key).expect("a certificate").pem();
    (pem, Issuer::new(params, key))
}

/// A certificate for the loopback interface, signed by `signer`, valid from the start of one year to the start of
/// another; and its key, both as PEM.
pub fn certificate(signer: &Issuer<'_, KeyPair>, years: (i32, i32)) -> (String, String) {
    let key = KeyPair::generate().expect("a key");
    let names = vec!["127.0.0.1".to_owned()];
    let mut params = CertificateParams::new(names).expect("parameters");
    params
        .distinguished_name
        .push(DnType::CommonName, "loopback");
    params.not_before = date_time_ymd(years.0, 1, 1);
    params.not_after = date_time_ymd(years.1, 1, 1);
    let certificate = params.signed_by(&key, signer).expect("a certificate");
    (certificate.pem(), key.serialize_pem())
}

/// A self-signed certificate for a name, which may sign others; and its key, both as PEM.
#[allow(dead_code)]
pub fn self_signed(name: &str) -> (String, String) {
    let key = KeyPair::generate().expect("a key");
    let mut params = CertificateParams::new(vec![name.to_owned()]).expect("parameters");
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.not_before = date_time_ymd(2020, 1, 1);
    params.not_after = date_time_ymd(2100, 1, 1);
    let certificate = params.self_signed(&key).expect("a certificate");
    (certificate.pem(), key.serialize_pem())
}
