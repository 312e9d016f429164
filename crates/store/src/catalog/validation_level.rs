//! How much of the models data must conform to.

/// How much of a model the data of an anchor must meet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Validation {
    /// Everything (RFC 7950 §8.1).
    #[default]
    Full,
    /// Structure and types, as ONAP CPS does: for data that break the constraints of their model.
    Structure,
}

impl Validation {
    /// Its name, as the command line has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Structure => "structure",
        }
    }
}
