//! Data in JSON and XML: examples, and comparison with libyang.

mod documents;
mod hostile;
mod json_text;
mod libyang;
mod secret_values;
mod shapes;
