//! Copies the types of mounted leaves.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use super::absolute_paths::Rewriter;
use crate::schema::{IdentityId, NodeId, Secrecy, Type, TypeKind};

/// Copies types; leaves that share a type share the copy.
pub(super) struct Types {
    /// The node with the mount point.
    root: NodeId,
    secrecy: Secrecy,
    /// By the address of the type and, if it has leafrefs, the level of the leaf.
    copied: FxHashMap<(*const Type, usize), Arc<Type>>,
}

/// How the ids and paths of a type change.
struct Changes<'a> {
    root: NodeId,
    identities: &'a [IdentityId],
    rewriter: &'a Rewriter<'a>,
    target: &'a dyn Fn(NodeId) -> Option<NodeId>,
}

impl Types {
    pub(super) fn new(root: NodeId, secrecy: Secrecy) -> Self {
        Self {
            root,
            secrecy,
            copied: FxHashMap::default(),
        }
    }

    /// The type with the ids of the schema with the mount point.
    pub(super) fn copy(
        &mut self,
        of: &Arc<Type>,
        identities: &[IdentityId],
        rewriter: &Rewriter<'_>,
        target: &dyn Fn(NodeId) -> Option<NodeId>,
    ) -> Arc<Type> {
        if !has_ids(&of.kind) && self.secrecy == Secrecy::Open {
            return Arc::clone(of);
        }
        let levels = match of.has_leafref() {
            true => rewriter.levels,
            false => 0,
        };
        let copied = self.copied.entry((Arc::as_ptr(of), levels));
        let changes = Changes {
            root: self.root,
            identities,
            rewriter,
            target,
        };
        let copy = || {
            let mut copied = Type::clone(of);
            if self.secrecy == Secrecy::Secret {
                copied.secrecy = Secrecy::Secret;
            }
            changes.apply(&mut copied.kind);
            Arc::new(copied)
        };
        Arc::clone(copied.or_insert_with(copy))
    }
}

impl Changes<'_> {
    fn apply(&self, kind: &mut TypeKind) {
        match kind {
            TypeKind::IdentityRef(bases) => {
                for base in bases {
                    *base = self.identities[base.0 as usize];
                }
            }
            TypeKind::LeafRef {
                path,
                target,
                target_type,
                ..
            } => {
                *path = self.rewriter.rewrite(path);
                *target = target.and_then(self.target);
                self.apply(&mut target_type.kind);
            }
            TypeKind::InstanceIdentifier { root, .. } => {
                *root = root.and_then(self.target).or(Some(self.root));
            }
            TypeKind::Union(members) => {
                for member in members {
                    self.apply(&mut member.kind);
                }
            }
            _ => {}
        }
    }
}

/// Returns whether a type refers to nodes or identities of its schema.
fn has_ids(kind: &TypeKind) -> bool {
    match kind {
        TypeKind::IdentityRef(_)
        | TypeKind::LeafRef { .. }
        | TypeKind::InstanceIdentifier { .. } => true,
        TypeKind::Union(members) => members.iter().any(|member| has_ids(&member.kind)),
        _ => false,
    }
}
