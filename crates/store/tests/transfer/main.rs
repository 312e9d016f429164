//! Copies, backups and restores: complete, interrupted, with interfering writers, and damaged.

mod files;
mod interrupted;
mod refused;
mod rows;
