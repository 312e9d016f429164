//! The only module that calls C: libyang, behind safe and borrowed views.
//!
//! Why this is sound: a [`Context`] owns one `ly_ctx`, which is private to one compilation and to one thread (it is
//! neither `Send` nor `Sync`, because it contains raw pointers). Views ([`Module`], [`Node`], [`Type`], ...) borrow
//! the context. libyang changes or frees the data behind them only in [`Context::load`] and [`Context::compile`],
//! which take `&mut Context`, so no view can be alive then. Strings are checked to be UTF-8 (libyang rejects other
//! input) before they are returned.
#![allow(unsafe_code)]

mod context;
mod module;
mod node;
mod parsed_type;
mod pattern;
mod raw;
mod types;

pub(super) use context::{Context, Message, ModuleTexts};
pub(super) use module::{Identity, Module, Prefix};
pub(super) use node::{Condition, ContextNode, Node, NodeType};
pub(super) use parsed_type::ParsedType;
pub(super) use pattern::accepts_pattern;
pub(super) use types::{BaseType, Type};
