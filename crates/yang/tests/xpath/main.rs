//! XPath evaluation: by example, and against libyang.

mod cases;
mod fixture;
