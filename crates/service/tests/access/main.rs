//! Access control: the examples of RFC 8341, forms of paths, and random rules.

mod appendix_a;
mod fixture;
mod history;
mod marks;
mod paths;
mod random_rules;
