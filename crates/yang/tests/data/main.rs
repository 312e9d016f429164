//! Data in JSON and XML: by example, and against libyang.

mod documents;
mod hostile;
mod libyang;
mod shapes;
