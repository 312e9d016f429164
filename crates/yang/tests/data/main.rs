//! Data in JSON and XML: by example, and against libyang.

mod documents;
mod hostile;
mod json_text;
mod libyang;
mod shapes;
