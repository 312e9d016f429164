//! Copies, backups and restores: complete, interrupted, interfered with, and damaged.

mod files;
mod interrupted;
mod refused;
mod rows;
