//! Data in JSON and XML: by example, and against libyang.

mod documents;
mod libyang;
mod shapes;
