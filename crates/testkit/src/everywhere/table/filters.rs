//! The filters of reads (RFC 8040 §4.8, RFC 6243, RFC 8527 §3.2).

use super::requests::{edit, read, read_in};
use crate::everywhere::{Case, ContentChoice, DefaultsMode, Page, Read};

/// The cases.
pub fn cases() -> Vec<Case> {
    vec![
        depth(),
        content(),
        fields(),
        with_defaults(),
        tagged(),
        with_origin(),
        pages(),
        together(),
    ]
}

const C: &str = "/orchard:c";

fn depth() -> Case {
    let at = |path, depth| Read {
        depth: Some(depth),
        ..read(path)
    };
    Case::new("depth")
        .ok(at("/", "1"))
        .ok(at("/", "2"))
        .ok(at("/", "3"))
        .ok(at(C, "1"))
        .ok(at(C, "2"))
        .ok(at(C, "65535"))
        .ok(at("/orchard:c/e", "1"))
        .ok(at("/orchard:c/e=a,1", "2"))
        .ok(at("/orchard:c/text", "1"))
        .fails("invalid-value", at(C, "0"))
        .fails("invalid-value", at(C, "65536"))
        .fails("invalid-value", at(C, "-1"))
        .fails("invalid-value", at(C, "all"))
        .missing(at("/orchard:c/p", "1"))
}

fn content() -> Case {
    let of = |path, content| Read {
        content,
        ..read(path)
    };
    Case::new("content")
        .ok(of(C, ContentChoice::All))
        .ok(of(C, ContentChoice::Config))
        .ok(of("/", ContentChoice::Config))
        .ok(of("/", ContentChoice::NonConfig))
        .ok(of("/orchard:c/e=a,1", ContentChoice::Config))
        .fails("invalid-value", of(C, ContentChoice::Wrong("state")))
        .fails("invalid-value", of(C, ContentChoice::Wrong("Config")))
}

fn fields() -> Case {
    let select = |path, fields| Read {
        fields: Some(fields),
        ..read(path)
    };
    Case::new("fields")
        .ok(select(C, "text"))
        .ok(select(C, "text;weight"))
        .ok(select(C, "e(k;box)"))
        .ok(select(C, "e/box/inner"))
        .ok(select(C, "e(k;box(v;inner/w));u/v"))
        .ok(select("/", "orchard:c/text;orchard:tree/name"))
        .ok(select("/orchard:c/e", "o"))
        .ok(select("/orchard:c/e=a,1", "box/v"))
        .ok(select(C, "p"))
        .fails("invalid-value", select(C, "absent"))
        .fails("invalid-value", select(C, "e/absent"))
        .fails("invalid-value", select(C, "e(k"))
        .fails("invalid-value", select(C, "e)"))
        .fails("invalid-value", select(C, ""))
        .fails("invalid-value", select(C, "other:text"))
}

fn with_defaults() -> Case {
    use DefaultsMode::{Explicit, ReportAll, Trim, Wrong};
    let by = |path, with_defaults| Read {
        with_defaults,
        ..read(path)
    };
    Case::new("with-defaults")
        .ok(by(C, Explicit))
        .ok(by(C, ReportAll))
        .ok(by(C, Trim))
        .ok(by("/", ReportAll))
        .ok(by("/orchard:c/e=b,2", ReportAll))
        .ok(by("/orchard:c/e=b,2/d", ReportAll))
        .missing(by("/orchard:c/e=b,2/d", Explicit))
        .missing(by("/orchard:c/e=b,2/d", Trim))
        .ok(by("/orchard:c/weight", Explicit))
        .ok(by("/orchard:c/weight", Trim))
        .ok(by("/orchard:c/colour", ReportAll))
        .missing(by("/orchard:c/colour", Explicit))
        .fails("invalid-value", by(C, Wrong("all")))
        .fails("invalid-value", by(C, Wrong("report-all-taged")))
        .ok(edit(
            r#"{"orchard:c":{"colour":["green"],"e":[{"k":"b","l":2,"d":"there"}]}}"#,
        ))
        .ok(by(C, Trim))
        .ok(by("/orchard:c/e", Trim))
        .ok(by("/orchard:c/colour", ReportAll))
}

fn tagged() -> Case {
    let tagged = |path| Read {
        with_defaults: DefaultsMode::ReportAllTagged,
        ..read(path)
    };
    Case::new("defaults with tags")
        .ok(tagged(C))
        .ok(tagged("/"))
        .ok(tagged("/orchard:c/e=b,2"))
        .ok(tagged("/orchard:c/weight"))
}

fn with_origin() -> Case {
    let of = |datastore, path| Read {
        with_origin: true,
        ..read_in(datastore, path)
    };
    let default = DefaultsMode::ReportAll;
    Case::new("with-origin")
        .ok(of("operational", C))
        .ok(of("operational", "/"))
        .ok(of("operational", "/orchard:c/e=a,1"))
        .ok(Read {
            with_defaults: default,
            ..of("operational", "/orchard:c/e=b,2")
        })
        .fails("invalid-value", of("running", C))
        .fails("invalid-value", of("candidate", C))
        .fails("invalid-value", of("intended", C))
}

fn pages() -> Case {
    let page = |path, offset, limit| Read {
        page: Some(Page { offset, limit }),
        ..read(path)
    };
    Case::new("pages")
        .ok(page("/orchard:c/u", 0, 2))
        .ok(page("/orchard:c/u", 1, 1))
        .ok(page("/orchard:c/w", 1, 5))
        .ok(page("/orchard:tree", 2, 1))
        .fails("invalid-value", page("/orchard:tree", 9, 1))
        .fails("operation-not-supported", page("/orchard:c", 0, 1))
        .fails("operation-not-supported", page("/orchard:tree=oak", 0, 1))
}

fn together() -> Case {
    Case::new("several filters")
        .ok(Read {
            depth: Some("2"),
            content: ContentChoice::Config,
            fields: Some("e;text"),
            ..read(C)
        })
        .ok(Read {
            depth: Some("1"),
            fields: Some("e/box"),
            ..read(C)
        })
        .ok(Read {
            with_defaults: DefaultsMode::ReportAll,
            fields: Some("e(k;d);weight"),
            ..read(C)
        })
        .ok(Read {
            with_defaults: DefaultsMode::Trim,
            depth: Some("2"),
            ..read(C)
        })
}
