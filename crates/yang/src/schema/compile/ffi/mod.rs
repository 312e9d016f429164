//! The only place where C is called: libyang, behind safe and borrowed views.
//!
//! Why this is sound. A [`Context`] owns one `ly_ctx`, which is private to one compilation and to
//! one thread (it is neither `Send` nor `Sync`, for it holds raw pointers). Views ([`Module`],
//! [`Node`], [`Type`], ...) borrow the context. libyang changes or frees what they look at only in
//! [`Context::load`] and [`Context::compile`], which take `&mut Context`, so no view can be alive
//! then. Strings are checked to be UTF-8 (libyang refuses other input) before they are handed out.
#![allow(unsafe_code)]

mod context;
mod module;
mod node;
mod pattern;
mod raw;
mod types;
mod written;

pub(super) use context::{Context, Message, ModuleTexts};
pub(super) use module::{Identity, Module, Prefix};
pub(super) use node::{Condition, ContextNode, Node, NodeType};
pub(super) use pattern::accepts_pattern;
pub(super) use types::{BaseType, Type};
pub(super) use written::WrittenType;
