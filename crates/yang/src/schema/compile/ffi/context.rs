//! A libyang context: creation, loading, compilation, error messages, destruction.

use std::ffi::{CStr, CString, c_char, c_void};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::ptr;

use libyang5_sys as sys;

use super::{Module, raw};

/// Provides the texts of modules and submodules to libyang.
pub(in crate::schema::compile) trait ModuleTexts {
    /// The text of a module or submodule, of this revision or (for `None`) of the latest.
    fn text(&self, name: &str, revision: Option<&str>) -> Option<CString>;
}

/// One message of libyang's error list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::schema::compile) struct Message {
    /// What is wrong.
    pub(in crate::schema::compile) text: String,
    /// The schema node, if libyang gives one.
    pub(in crate::schema::compile) path: Option<String>,
    /// The line of the parsed text; 0 if no text was being parsed.
    pub(in crate::schema::compile) line: u32,
}

/// A module could not be loaded or compiled; see [`Context::take_messages`].
#[derive(Debug)]
pub(in crate::schema::compile) struct LoadError;

/// The data of the import callback. Boxed, so that its address is stable.
struct Callback<'t> {
    texts: &'t dyn ModuleTexts,
}

/// An owned `ly_ctx`.
pub(in crate::schema::compile) struct Context<'t> {
    raw: *mut sys::ly_ctx,
    /// The data that the import callback reads through its user data pointer.
    callback: *mut Callback<'t>,
    /// The log options that libyang reads through a thread-local pointer.
    log_options: *mut u32,
    previous_log_options: *mut u32,
}

/// Every module has all features of `*`, including modules that are implemented because of an `augment` and so on.
/// Modules come only from the callback: never from the working directory, and no plugins are loaded from it.
const OPTIONS: u32 = sys::LY_CTX_NO_YANGLIBRARY
    | sys::LY_CTX_DISABLE_SEARCHDIRS
    | sys::LY_CTX_DISABLE_SEARCHDIR_CWD
    | sys::LY_CTX_EXPLICIT_COMPILE
    | sys::LY_CTX_ENABLE_IMP_FEATURES
    | sys::LY_CTX_SET_PRIV_PARSED
    | sys::LY_CTX_STATIC_PLUGINS_ONLY;

/// The maximum length of a chain of features that depend on one another.
const FEATURE_ROUNDS_MAX: usize = 1000;

impl<'t> Context<'t> {
    /// Creates a context that takes modules from `texts`; `None` if memory allocation fails.
    pub(in crate::schema::compile) fn new(texts: &'t dyn ModuleTexts) -> Option<Self> {
        let log_options = Box::into_raw(Box::new(sys::LY_LOSTORE));
        let callback = Box::into_raw(Box::new(Callback { texts }));
        // SAFETY: libyang keeps the pointer to the options, which live until `drop` takes the
        // pointer back out; and the callback data likewise lives as long as the context.
        unsafe {
            let previous_log_options = sys::ly_temp_log_options(log_options);
            let mut raw = ptr::null_mut();
            let result = sys::ly_ctx_new(ptr::null(), OPTIONS, &mut raw);
            let context = Self {
                raw,
                callback,
                log_options,
                previous_log_options,
            };
            if result != sys::LY_ERR::LY_SUCCESS || raw.is_null() {
                return None;
            }
            sys::ly_ctx_set_module_imp_clb(raw, Some(import), callback.cast());
            Some(context)
        }
    }

    /// Loads and implements a module, with these features (`*` for all). It is compiled later.
    pub(in crate::schema::compile) fn load(
        &mut self,
        name: &str,
        revision: Option<&str>,
        features: &[&str],
    ) -> Result<(), LoadError> {
        let name = CString::new(name).map_err(|_| LoadError)?;
        let revision = revision
            .map(CString::new)
            .transpose()
            .map_err(|_| LoadError)?;
        let features = FeatureNames::new(features)?;
        // SAFETY: all strings live beyond the call, and the list of features ends with null.
        let module = unsafe {
            sys::ly_ctx_load_module(
                self.raw,
                name.as_ptr(),
                revision.as_ref().map_or(ptr::null(), |text| text.as_ptr()),
                features.pointers.as_ptr().cast_mut(),
            )
        };
        if module.is_null() {
            Err(LoadError)
        } else {
            Ok(())
        }
    }

    /// Sets the features of a module that was implemented because of others.
    pub(in crate::schema::compile) fn set_features(
        &mut self,
        name: &str,
        features: &[&str],
    ) -> Result<(), LoadError> {
        let name = CString::new(name).map_err(|_| LoadError)?;
        let features = FeatureNames::new(features)?;
        // SAFETY: as in `load`; the module belongs to this context.
        unsafe {
            let module = sys::ly_ctx_get_module_implemented(self.raw, name.as_ptr());
            if module.is_null() {
                return Ok(());
            }
            match sys::lys_set_implemented(module, features.pointers.as_ptr().cast_mut()) {
                sys::LY_ERR::LY_SUCCESS => Ok(()),
                _ => Err(LoadError),
            }
        }
    }

    /// Enables exactly the features that can be enabled in the implemented modules that `has_all` features: libyang
    /// rejects a feature whose `if-feature` is false. Returns whether something changed.
    pub(in crate::schema::compile) fn enable_possible_features(
        &mut self,
        has_all: &dyn Fn(&str) -> bool,
    ) -> Result<bool, LoadError> {
        for round in 0..FEATURE_ROUNDS_MAX {
            let modules = self.modules().into_iter();
            let modules =
                modules.filter(|module| module.is_implemented() && has_all(module.name()));
            let changed: Vec<(String, Vec<String>)> = modules
                .filter_map(|module| {
                    let satisfied = module.features_to_set()?.into_iter();
                    Some((module.name().into(), satisfied.map(Into::into).collect()))
                })
                .collect();
            if changed.is_empty() {
                return Ok(round > 0);
            }
            for (module, features) in changed {
                let features: Vec<&str> = features.iter().map(String::as_str).collect();
                self.set_features(&module, &features)?;
            }
        }
        Ok(true)
    }

    /// Compiles all loaded modules.
    pub(in crate::schema::compile) fn compile(&mut self) -> Result<(), LoadError> {
        // SAFETY: the context is valid.
        match unsafe { sys::ly_ctx_compile(self.raw) } {
            sys::LY_ERR::LY_SUCCESS => Ok(()),
            _ => Err(LoadError),
        }
    }

    /// The errors since the last call, without warnings, oldest first.
    pub(in crate::schema::compile) fn take_messages(&mut self) -> Vec<Message> {
        let mut messages = Vec::new();
        // SAFETY: the list belongs to the context and this thread, and is copied before it is
        // freed.
        unsafe {
            let mut item = sys::ly_err_first(self.raw);
            while let Some(error) = item.as_ref() {
                if error.level == sys::LY_LOG_LEVEL::LY_LLERR {
                    messages.push(Message {
                        text: raw::text(error.msg).to_owned(),
                        path: raw::optional_text(error.schema_path).map(str::to_owned),
                        line: u32::try_from(error.line).unwrap_or(u32::MAX),
                    });
                }
                item = error.next;
            }
            sys::ly_err_clean(self.raw, ptr::null_mut());
        }
        messages
    }

    /// Every module of the context, including libyang's own.
    pub(in crate::schema::compile) fn modules(&self) -> Vec<Module<'_>> {
        let mut modules = Vec::new();
        let mut index = 0;
        // SAFETY: modules live as long as the context, unchanged while it is borrowed.
        unsafe {
            while let Some(module) = sys::ly_ctx_get_module_iter(self.raw, &mut index).as_ref() {
                modules.push(Module(module));
            }
        }
        modules
    }
}

impl Drop for Context<'_> {
    fn drop(&mut self) {
        // SAFETY: made in `new`, freed once; no view outlives the context. Destroying it may log,
        // so the log options are restored after that.
        unsafe {
            if !self.raw.is_null() {
                sys::ly_ctx_destroy(self.raw);
            }
            sys::ly_temp_log_options(self.previous_log_options);
            drop(Box::from_raw(self.callback));
            drop(Box::from_raw(self.log_options));
        }
    }
}

/// A null-terminated list of strings for libyang.
struct FeatureNames {
    pointers: Vec<*const c_char>,
    _names: Vec<CString>,
}

impl FeatureNames {
    fn new(names: &[&str]) -> Result<Self, LoadError> {
        let names: Vec<CString> = names
            .iter()
            .map(|name| CString::new(*name))
            .collect::<Result<_, _>>()
            .map_err(|_| LoadError)?;
        let pointers = names.iter().map(|name| name.as_ptr());
        Ok(Self {
            pointers: pointers.chain([ptr::null()]).collect(),
            _names: names,
        })
    }
}

/// Called by libyang for every import and include.
unsafe extern "C" fn import(
    module: *const c_char,
    module_revision: *const c_char,
    submodule: *const c_char,
    submodule_revision: *const c_char,
    user_data: *mut c_void,
    format: *mut sys::LYS_INFORMAT::Type,
    data: *mut *const c_char,
    free_data: *mut sys::ly_module_imp_data_free_clb,
) -> sys::LY_ERR::Type {
    let (name, revision) = if submodule.is_null() {
        (module, module_revision)
    } else {
        (submodule, submodule_revision)
    };
    if name.is_null() {
        return sys::LY_ERR::LY_ENOTFOUND;
    }
    // SAFETY: the strings live during the call, `user_data` was set by `Context::new`, and the last three pointers are
    // for the result.
    unsafe {
        let callback = &*user_data.cast::<Callback<'_>>();
        let name = CStr::from_ptr(name).to_str().unwrap_or_default();
        let revision = raw::optional_text(revision);
        // A panic must not unwind into C.
        let found = catch_unwind(AssertUnwindSafe(|| callback.texts.text(name, revision)));
        let Ok(Some(text)) = found else {
            return sys::LY_ERR::LY_ENOTFOUND;
        };
        *format = sys::LYS_INFORMAT::LYS_IN_YANG;
        *data = text.into_raw();
        *free_data = Some(free_text);
    }
    sys::LY_ERR::LY_SUCCESS
}

/// Frees the text that [`import`] returned.
unsafe extern "C" fn free_text(text: *mut c_void, _user_data: *mut c_void) {
    if !text.is_null() {
        // SAFETY: it comes from `CString::into_raw` in `import`, and is freed once.
        drop(unsafe { CString::from_raw(text.cast()) });
    }
}
