//! Values of every type, compared with libyang.

mod defaults;
mod diagram;
mod generate;
mod libyang;
mod values;
