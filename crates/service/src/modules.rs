//! The modules that the service brings, embedded at build time.
//!
//! libyang ships none of them. The text of those that an RFC defines is the project's own: namespaces, names and types
//! are those of the RFC, descriptions are not. A schema that has the RFC's text works as well.

use espalier_yang::schema::ModuleSource;
use espalier_yang::standard::{self, StandardModule};

/// Sorted by name.
const MODULES: &[StandardModule] = &[
    StandardModule {
        name: "espalier-access",
        revision: "2026-11-28",
        text: include_str!("../../../models/espalier-access.yang"),
    },
    StandardModule {
        name: "espalier-modules",
        revision: "2026-11-28",
        text: include_str!("../../../models/espalier-modules.yang"),
    },
    StandardModule {
        name: "espalier-notification-receivers",
        revision: "2026-11-29",
        text: include_str!("../../../models/espalier-notification-receivers.yang"),
    },
    StandardModule {
        name: "espalier-notifications",
        revision: "2026-11-28",
        text: include_str!("../../../models/espalier-notifications.yang"),
    },
    StandardModule {
        name: "espalier-server",
        revision: "2026-11-28",
        text: include_str!("../../../models/espalier-server.yang"),
    },
    StandardModule {
        name: "espalier-system",
        revision: "2026-11-27",
        text: include_str!("../../../models/espalier-system.yang"),
    },
    StandardModule {
        name: "iana-crypt-hash",
        revision: "2014-08-06",
        text: include_str!("../../../models/iana-crypt-hash.yang"),
    },
    StandardModule {
        name: "ietf-factory-default",
        revision: "2020-08-31",
        text: include_str!("../../../models/ietf-factory-default.yang"),
    },
    StandardModule {
        name: "ietf-list-pagination",
        revision: "2025-04-03",
        text: include_str!("../../../models/ietf-list-pagination.yang"),
    },
    StandardModule {
        name: "ietf-list-pagination-nc",
        revision: "2025-04-03",
        text: include_str!("../../../models/ietf-list-pagination-nc.yang"),
    },
    StandardModule {
        name: "ietf-netconf-monitoring",
        revision: "2010-10-04",
        text: include_str!("../../../models/ietf-netconf-monitoring.yang"),
    },
    StandardModule {
        name: "ietf-netconf-notifications",
        revision: "2012-02-06",
        text: include_str!("../../../models/ietf-netconf-notifications.yang"),
    },
    StandardModule {
        name: "ietf-netconf-partial-lock",
        revision: "2009-10-19",
        text: include_str!("../../../models/ietf-netconf-partial-lock.yang"),
    },
    StandardModule {
        name: "ietf-netconf-private-candidate",
        revision: "2026-02-03",
        text: include_str!("../../../models/ietf-netconf-private-candidate.yang"),
    },
    StandardModule {
        name: "ietf-nmda-compare",
        revision: "2021-12-10",
        text: include_str!("../../../models/ietf-nmda-compare.yang"),
    },
    StandardModule {
        name: "ietf-restconf-monitoring",
        revision: "2017-01-26",
        text: include_str!("../../../models/ietf-restconf-monitoring.yang"),
    },
    StandardModule {
        name: "ietf-restconf-subscribed-notifications",
        revision: "2019-11-17",
        text: include_str!("../../../models/ietf-restconf-subscribed-notifications.yang"),
    },
    StandardModule {
        name: "ietf-subscribed-notifications",
        revision: "2019-09-09",
        text: include_str!("../../../models/ietf-subscribed-notifications.yang"),
    },
    StandardModule {
        name: "ietf-system",
        revision: "2014-08-06",
        text: include_str!("../../../models/ietf-system.yang"),
    },
    StandardModule {
        name: "ietf-x509-cert-to-name",
        revision: "2014-12-10",
        text: include_str!("../../../models/ietf-x509-cert-to-name.yang"),
    },
    StandardModule {
        name: "ietf-yang-patch",
        revision: "2017-02-22",
        text: include_str!("../../../models/ietf-yang-patch.yang"),
    },
    StandardModule {
        name: "ietf-yang-push",
        revision: "2019-09-09",
        text: include_str!("../../../models/ietf-yang-push.yang"),
    },
    StandardModule {
        name: "nc-notifications",
        revision: "2008-07-14",
        text: include_str!("../../../models/nc-notifications.yang"),
    },
    StandardModule {
        name: "notifications",
        revision: "2008-07-14",
        text: include_str!("../../../models/notifications.yang"),
    },
];

/// All modules, sorted by name.
pub fn modules() -> &'static [StandardModule] {
    MODULES
}

/// The module with a name.
pub fn module(name: &str) -> Option<&'static StandardModule> {
    MODULES.iter().find(|module| module.name == name)
}

/// The built-in modules that users can install: those of [`standard`] and of the service, sorted by name and revision.
pub fn built_in() -> Vec<&'static StandardModule> {
    let mut all: Vec<_> = standard::modules().iter().chain(MODULES).collect();
    all.sort_by_key(|module| (module.name, module.revision));
    all
}

/// The built-in module with a name, in its latest revision, or with `NAME@REVISION`.
pub fn named(text: &str) -> Option<&'static StandardModule> {
    standard::named(text).or_else(|| {
        let (name, revision) = text.split_once('@').unwrap_or((text, ""));
        module(name).filter(|module| revision.is_empty() || module.revision == revision)
    })
}

/// Features of built-in modules that the service does not have, by module.
const UNSUPPORTED_FEATURES: [(&str, &[&str]); 1] = [(
    "ietf-subscribed-notifications",
    &["dscp", "interface-designation", "qos", "supports-vrf"],
)];

/// The features of a built-in module that the service has; `None` if it has all.
pub fn supported_features(module: &ModuleSource) -> Option<Vec<String>> {
    let mut all = UNSUPPORTED_FEATURES.iter();
    let (_, unsupported) = all.find(|(name, _)| *name == module.name)?;
    let mut features = module.features();
    features.retain(|feature| !unsupported.contains(&&**feature));
    Some(features)
}

/// The sources of all modules, for a [`espalier_yang::schema::SchemaSource`]: modules that are not implemented are
/// only used for imports.
pub fn sources() -> Vec<ModuleSource> {
    MODULES.iter().map(StandardModule::source).collect()
}

#[cfg(test)]
mod tests {
    use espalier_yang::Schema;
    use espalier_yang::schema::SchemaSource;

    use super::*;

    #[test]
    fn names_and_revisions_are_those_of_the_texts() {
        for (module, source) in modules().iter().zip(sources()) {
            assert_eq!(ModuleSource::from_text(module.text), Some(source));
        }
        assert!(modules().is_sorted_by_key(|module| module.name));
        assert!(module("ietf-system").is_some() && module("ietf-none").is_none());
    }

    #[test]
    fn features_that_the_service_does_not_have_are_those_of_the_texts() {
        for (name, unsupported) in UNSUPPORTED_FEATURES {
            let source = module(name).expect("a module").source();
            let supported = supported_features(&source).expect("not all");
            assert_eq!(supported.len() + unsupported.len(), source.features().len());
        }
        let system = module("ietf-system").expect("a module").source();
        assert_eq!(supported_features(&system), None);
    }

    #[test]
    fn modules_of_the_service_are_built_in() {
        let revision = |name| named(name).map(|module| module.revision);
        assert_eq!(revision("ietf-system"), Some("2014-08-06"));
        assert_eq!(revision("ietf-system@2014-08-06"), Some("2014-08-06"));
        assert_eq!(revision("ietf-system@2014-08-07"), None);
        assert_eq!(revision("ietf-ip@2014-06-16"), Some("2014-06-16"));
        assert!(built_in().is_sorted_by_key(|module| (module.name, module.revision)));
    }

    #[test]
    fn all_modules_compile_together() {
        let source = SchemaSource {
            modules: sources(),
            ..SchemaSource::default()
        };
        let schema = Schema::compile(&source).unwrap();
        for module in modules() {
            assert!(
                schema.module_by_name(module.name).is_some(),
                "{}",
                module.name
            );
        }
    }
}
