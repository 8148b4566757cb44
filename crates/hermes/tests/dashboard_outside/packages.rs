//! The programs and their versions.

use hermes_testkit::{NodePackage, PythonPackages};

const OIDC_PROVIDER: &str = "9.13.3";
const SCHEMATHESIS: &str = "4.32.5";

pub(crate) fn oidc_provider() -> NodePackage {
    NodePackage::install(
        &format!("oidc-provider-{OIDC_PROVIDER}"),
        &format!("oidc-provider@{OIDC_PROVIDER}"),
    )
}

pub(crate) fn schemathesis() -> PythonPackages {
    PythonPackages::install(
        &format!("schemathesis-{SCHEMATHESIS}"),
        &[&format!("schemathesis=={SCHEMATHESIS}")],
    )
}
