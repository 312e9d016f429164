//! Copies between any two datastores.

use espalier_store::{CommitOptions, Datastore, Tree};
use espalier_yang::ErrorTag;

use crate::fixture::{MODEL, assert_sound, first_tag, load_json, memory_tree, merge, text};

const ONE: &str = r#"{"m:top":"1","m:named":[{"name":"a","in":{"w":1}}],"m:rule":[{"name":"z"},{"name":"b","match":[{"src":"s","dst":"d"}]}]}"#;
const TWO: &str =
    r#"{"m:named":[{"name":"a","in":{"w":2}},{"name":"c"}],"m:rule":[{"name":"b"},{"name":"z"}]}"#;

fn default<'a>() -> CommitOptions<'a> {
    CommitOptions::default()
}

fn fill(tree: &Tree, document: &str) {
    load_json(tree, espalier_store::LoadMode::Replace, document).unwrap();
}

#[test]
fn every_pair_is_copied() {
    let kinds = [
        Datastore::Running,
        Datastore::Startup,
        Datastore::Candidate,
        Datastore::PrivateCandidate,
        Datastore::FactoryDefault,
    ];
    for source in kinds {
        for target in kinds {
            let running = memory_tree(MODEL);
            let source = running.sibling_datastore(source, "s").unwrap();
            let target = running.sibling_datastore(target, "s").unwrap();
            if source.datastore() == target.datastore() {
                let refused = target.copy_from(&source, default());
                assert_eq!(first_tag(&refused), Some(ErrorTag::InvalidValue));
                continue;
            }
            fill(&target, TWO);
            fill(&source, ONE);
            let names = (source.datastore(), target.datastore());
            target.copy_from(&source, default()).unwrap();
            assert_eq!(text(&target), ONE, "{names:?}");
            let again = target.copy_from(&source, default()).unwrap();
            assert!(!again.is_changed, "{names:?}");
            assert_sound(running.store());
        }
    }
}

#[test]
fn read_only_datastores_are_no_targets() {
    let running = memory_tree(MODEL);
    let intended = running.sibling_datastore(Datastore::Intended, "").unwrap();
    let refused = intended.copy_from(&running, default());
    assert_eq!(first_tag(&refused), Some(ErrorTag::OperationNotSupported));
    let refused = running.delete_datastore(default());
    assert_eq!(first_tag(&refused), Some(ErrorTag::OperationNotSupported));
}

#[test]
fn startup_is_deleted() {
    let running = memory_tree(MODEL);
    merge(&running, ONE);
    let startup = running.sibling_datastore(Datastore::Startup, "").unwrap();
    startup.copy_from(&running, default()).unwrap();
    startup.delete_datastore(default()).unwrap();
    assert_eq!(text(&startup), "{}");
    assert_eq!(text(&running), ONE);
}
