//! The libyang calls of this folder. All its `unsafe` code is here.

use std::ffi::{CStr, CString, c_char, c_void};
use std::marker::PhantomData;
use std::ptr;

use espalier_yang::schema::ModuleSource;
use libyang5_sys as sys;

use super::Problem;

const OPTIONS: u32 = sys::LY_CTX_NO_YANGLIBRARY
    | sys::LY_CTX_DISABLE_SEARCHDIRS
    | sys::LY_CTX_DISABLE_SEARCHDIR_CWD
    | sys::LY_CTX_STATIC_PLUGINS_ONLY;

const INNER: u32 = sys::LYS_CONTAINER | sys::LYS_LIST;

thread_local! {
    /// Makes libyang store its messages instead of printing them. libyang reads this through a pointer per
    /// thread, so it is never freed.
    static LOG_OPTIONS: *mut u32 = Box::into_raw(Box::new(sys::LY_LOSTORE));
}

/// The nodes to print.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Nodes {
    /// Explicit nodes, no defaults.
    Explicit,
    /// All nodes, including empty containers.
    All,
}

/// Compiled modules.
pub(super) struct Context {
    raw: *mut sys::ly_ctx,
    /// The submodules, which libyang requests by name. Boxed for a stable address.
    _submodules: Box<Submodules>,
}

/// Names and texts.
type Submodules = Vec<(String, CString)>;

// SAFETY: a context is used by one thread at a time, as nothing of it is shared by reference:
// `Context` is not `Sync`.
unsafe impl Send for Context {}

impl Context {
    /// Compiles modules; each must follow those that it imports.
    pub(super) fn new(modules: &[ModuleSource]) -> Result<Self, Problem> {
        quiet();
        let mut raw = ptr::null_mut();
        // SAFETY: the result goes to `raw`; a null search directory means none.
        let result = unsafe { sys::ly_ctx_new(ptr::null(), OPTIONS, &mut raw) };
        assert_eq!(result, sys::LY_ERR::LY_SUCCESS, "a context");
        let submodules = modules.iter().filter(|module| module.is_submodule());
        let submodules = submodules.map(|module| {
            let text = CString::new(&*module.text).expect("no NUL");
            (module.name.clone(), text)
        });
        let submodules: Box<Submodules> = Box::new(submodules.collect());
        let data = ptr::from_ref(&*submodules).cast_mut().cast();
        // SAFETY: the data live as long as the context.
        unsafe { sys::ly_ctx_set_module_imp_clb(raw, Some(submodule), data) };
        let context = Self {
            raw,
            _submodules: submodules,
        };
        for module in modules.iter().filter(|module| !module.is_submodule()) {
            let text = CString::new(&*module.text).expect("no NUL");
            // SAFETY: the text lives beyond the call; the module stays with the context.
            let result = unsafe {
                sys::lys_parse_mem(
                    raw,
                    text.as_ptr(),
                    sys::LYS_INFORMAT::LYS_IN_YANG,
                    ptr::null_mut(),
                )
            };
            if result != sys::LY_ERR::LY_SUCCESS {
                return Err(context.problem());
            }
        }
        Ok(context)
    }

    /// Parses a JSON document; checks only types.
    pub(super) fn parse(&self, json: &str) -> Result<Tree<'_>, Problem> {
        quiet();
        let text = CString::new(json).expect("no NUL");
        let mut root = ptr::null_mut();
        let options = sys::LYD_PARSE_ONLY | sys::LYD_PARSE_STRICT;
        // SAFETY: the text lives beyond the call; the tree is ours to free.
        let result = unsafe {
            sys::lyd_parse_data_mem(
                self.raw,
                text.as_ptr(),
                sys::LYD_FORMAT::LYD_JSON,
                options,
                0,
                &mut root,
            )
        };
        match result {
            sys::LY_ERR::LY_SUCCESS => Ok(Tree {
                root,
                context: self,
            }),
            _ => Err(self.problem()),
        }
    }

    /// The first error of the last call.
    fn problem(&self) -> Problem {
        self.problems().into_iter().next().unwrap_or_default()
    }

    /// The errors of the last call, in order.
    fn problems(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        // SAFETY: the list belongs to the context and this thread; it is copied before it is freed.
        unsafe {
            let mut item = sys::ly_err_first(self.raw);
            while let Some(error) = item.as_ref() {
                if error.level == sys::LY_LOG_LEVEL::LY_LLERR {
                    problems.push(Problem {
                        message: text(error.msg).unwrap_or_default(),
                        path: text(error.data_path).unwrap_or_default(),
                        schema_path: text(error.schema_path).unwrap_or_default(),
                        app_tag: text(error.apptag),
                    });
                }
                item = error.next;
            }
            sys::ly_err_clean(self.raw, ptr::null_mut());
        }
        problems
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        quiet();
        // SAFETY: trees borrow the context, so none is left.
        unsafe { sys::ly_ctx_destroy(self.raw) };
    }
}

/// The callback of libyang that loads a submodule.
unsafe extern "C" fn submodule(
    _module: *const c_char,
    _module_revision: *const c_char,
    submodule: *const c_char,
    _submodule_revision: *const c_char,
    user_data: *mut c_void,
    format: *mut sys::LYS_INFORMAT::Type,
    data: *mut *const c_char,
    free_data: *mut sys::ly_module_imp_data_free_clb,
) -> sys::LY_ERR::Type {
    if submodule.is_null() {
        return sys::LY_ERR::LY_ENOTFOUND;
    }
    // SAFETY: the name lives during the call, the data as long as the context; the other pointers are for
    // the result.
    unsafe {
        let name = CStr::from_ptr(submodule).to_string_lossy();
        let submodules = &*user_data.cast_const().cast::<Submodules>();
        let Some((_, text)) = submodules.iter().find(|(submodule, _)| *submodule == name) else {
            return sys::LY_ERR::LY_ENOTFOUND;
        };
        *format = sys::LYS_INFORMAT::LYS_IN_YANG;
        *data = text.as_ptr();
        *free_data = None;
    }
    sys::LY_ERR::LY_SUCCESS
}

/// Makes libyang store its messages instead of printing them.
fn quiet() {
    // SAFETY: the pointer lives for ever.
    LOG_OPTIONS.with(|options| unsafe { sys::ly_temp_log_options(*options) });
}

/// A copy of a C string; none for null.
///
/// # Safety
/// The pointer is null or points to a string that lives during the call.
unsafe fn text(pointer: *const c_char) -> Option<String> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: by the contract of this function.
    Some(
        unsafe { CStr::from_ptr(pointer) }
            .to_string_lossy()
            .into_owned(),
    )
}

/// A data tree.
pub(super) struct Tree<'c> {
    /// The first top node; null if there is none.
    root: *mut sys::lyd_node,
    context: &'c Context,
}

/// A node of a tree.
#[derive(Clone, Copy)]
pub(super) struct Node<'t> {
    raw: *mut sys::lyd_node,
    tree: PhantomData<&'t ()>,
}

impl Tree<'_> {
    /// Adds all default nodes.
    pub(super) fn add_defaults(&mut self) {
        quiet();
        // SAFETY: the root is null or the first sibling, and is updated.
        let result = unsafe {
            sys::lyd_new_implicit_all(
                &mut self.root,
                self.context.raw,
                sys::LYD_IMPLICIT_NO_STATE,
                ptr::null_mut(),
            )
        };
        assert_eq!(
            result,
            sys::LY_ERR::LY_SUCCESS,
            "{:?}",
            self.context.problem()
        );
    }

    /// The tree as JSON.
    pub(super) fn print(&self, nodes: Nodes) -> String {
        let which = match nodes {
            Nodes::Explicit => sys::LYD_PRINT_WD_EXPLICIT,
            Nodes::All => sys::LYD_PRINT_WD_ALL | sys::LYD_PRINT_EMPTY_CONT,
        };
        let options = sys::LYD_PRINT_SIBLINGS | sys::LYD_PRINT_SHRINK | which;
        let mut printed = ptr::null_mut();
        // SAFETY: the root is null or valid; the string is ours to free, with the C allocator.
        unsafe {
            let result =
                sys::lyd_print_mem(&mut printed, self.root, sys::LYD_FORMAT::LYD_JSON, options);
            assert_eq!(
                result,
                sys::LY_ERR::LY_SUCCESS,
                "{:?}",
                self.context.problem()
            );
            let copy = text(printed);
            free(printed.cast());
            copy.unwrap_or_else(|| "{}".to_owned())
        }
    }

    /// Validates without adding default values. Treats all conditions as untested. Returns all conditions
    /// that are false independently of the others, otherwise the first error.
    pub(super) fn validate(&mut self) -> Result<(), Vec<Problem>> {
        quiet();
        let options = sys::LYD_VALIDATE_NO_STATE
            | sys::LYD_VALIDATE_NO_DEFAULTS
            | sys::LYD_VALIDATE_MULTI_ERROR;
        // SAFETY: the root is null or the first sibling, and is updated.
        let result = unsafe {
            sys::lyd_validate_all(&mut self.root, self.context.raw, options, ptr::null_mut())
        };
        match result {
            sys::LY_ERR::LY_SUCCESS => Ok(()),
            _ => Err(self.context.problems()),
        }
    }

    /// The node at a path in the notation of libyang.
    pub(super) fn find(&self, path: &str) -> Option<Node<'_>> {
        if self.root.is_null() {
            return None;
        }
        quiet();
        let path = CString::new(path).expect("no NUL");
        let mut found = ptr::null_mut();
        // SAFETY: root and path are valid; the result is a node of this tree.
        let result = unsafe { sys::lyd_find_path(self.root, path.as_ptr(), 0, &mut found) };
        if result != sys::LY_ERR::LY_SUCCESS {
            self.context.problem();
            return None;
        }
        Some(Node {
            raw: found,
            tree: PhantomData,
        })
    }

    /// Deletes the node at a path and its subtree, if it exists.
    pub(super) fn remove(&mut self, path: &str) {
        let Some(raw) = self.find(path).map(|node| node.raw) else {
            return;
        };
        // SAFETY: the node is in this tree; the root is updated if it is the node.
        unsafe {
            if raw == self.root {
                self.root = (*raw).next;
            }
            sys::lyd_free_tree(raw);
        }
    }

    /// Marks the nodes as default that are default in another tree with the same nodes.
    pub(super) fn copy_defaults(&mut self, from: &Tree<'_>) {
        copy_defaults(self.first(), from.first());
    }

    /// The first top node.
    fn first(&self) -> Option<Node<'_>> {
        (!self.root.is_null()).then_some(Node {
            raw: self.root,
            tree: PhantomData,
        })
    }

    /// Whether a condition was not tested because of a circular dependency.
    pub(super) fn has_untested_conditions(&self) -> bool {
        let mut next: Vec<Node<'_>> = self.first().into_iter().collect();
        while let Some(node) = next.pop() {
            // SAFETY: the schema node lives as long as the context.
            let has_when = unsafe { has_when((*node.raw).schema) };
            if has_when && !node.has_flag(sys::LYD_WHEN_TRUE) {
                return true;
            }
            next.extend(node.child());
            next.extend(node.next());
        }
        false
    }
}

impl Drop for Tree<'_> {
    fn drop(&mut self) {
        quiet();
        // SAFETY: the tree is ours, and no node is borrowed any more.
        unsafe { sys::lyd_free_all(self.root) };
    }
}

impl<'t> Node<'t> {
    fn has_flag(self, flag: u32) -> bool {
        // SAFETY: the node lives as long as the borrow of its tree.
        unsafe { (*self.raw).flags & flag != 0 }
    }

    /// Whether libyang treats the node as a default.
    pub(super) fn is_default(self) -> bool {
        self.has_flag(sys::LYD_DEFAULT)
    }

    fn node_type(self) -> u32 {
        // SAFETY: trees of this module have no opaque nodes, so there is a schema node.
        unsafe { u32::from((*(*self.raw).schema).nodetype) }
    }

    /// The canonical value of a leaf or leaf-list entry.
    pub(super) fn value(self) -> Option<String> {
        if self.node_type() & (sys::LYS_LEAF | sys::LYS_LEAFLIST) == 0 {
            return None;
        }
        // SAFETY: the node is a term node, by its type; the string lives as long as the node.
        unsafe {
            let term = self.raw.cast::<sys::lyd_node_term>();
            let context = (*(*(*self.raw).schema).module).ctx;
            text(sys::lyd_value_get_canonical(
                context,
                &raw const (*term).value,
            ))
        }
    }

    /// The path in the notation of libyang.
    pub(super) fn path(self) -> String {
        // SAFETY: the node is valid; the string is ours to free.
        unsafe {
            let path = sys::lyd_path(
                self.raw,
                sys::LYD_PATH_TYPE::LYD_PATH_STD,
                ptr::null_mut(),
                0,
            );
            let copy = text(path);
            free(path.cast());
            copy.unwrap_or_default()
        }
    }

    /// The first child.
    pub(super) fn child(self) -> Option<Node<'t>> {
        if self.node_type() & INNER == 0 {
            return None;
        }
        // SAFETY: containers and list entries are inner nodes.
        let child = unsafe { (*self.raw.cast::<sys::lyd_node_inner>()).child };
        (!child.is_null()).then_some(Node {
            raw: child,
            tree: PhantomData,
        })
    }

    /// The next sibling.
    pub(super) fn next(self) -> Option<Node<'t>> {
        // SAFETY: the node is valid.
        let next = unsafe { (*self.raw).next };
        (!next.is_null()).then_some(Node {
            raw: next,
            tree: PhantomData,
        })
    }
}

fn copy_defaults(mut to: Option<Node<'_>>, mut from: Option<Node<'_>>) {
    while let (Some(node), Some(other)) = (to, from) {
        // SAFETY: both are valid, and the tree of the modified node is borrowed mutably.
        unsafe {
            let names = [(*(*node.raw).schema).name, (*(*other.raw).schema).name];
            let [mine, theirs] = names.map(|name| CStr::from_ptr(name));
            assert_eq!(mine, theirs, "trees of the same nodes");
            (*node.raw).flags &= !sys::LYD_DEFAULT;
            (*node.raw).flags |= (*other.raw).flags & sys::LYD_DEFAULT;
        }
        copy_defaults(node.child(), other.child());
        (to, from) = (node.next(), other.next());
    }
    assert!(to.is_none() && from.is_none(), "trees of the same nodes");
}

/// Whether a schema node or a choice or case around it has a `when`.
///
/// # Safety
/// The schema node is valid.
unsafe fn has_when(mut node: *const sys::lysc_node) -> bool {
    loop {
        // SAFETY: the node and those around it live as long as the context.
        unsafe {
            if !sys::lysc_node_when(node).is_null() {
                return true;
            }
            node = (*node).parent;
            let is_schema_only = |node: *const sys::lysc_node| {
                u32::from((*node).nodetype) & (sys::LYS_CHOICE | sys::LYS_CASE) != 0
            };
            if node.is_null() || !is_schema_only(node) {
                return false;
            }
        }
    }
}

unsafe extern "C" {
    /// Frees memory of the C allocator, which libyang uses for strings.
    fn free(pointer: *mut std::ffi::c_void);
}
