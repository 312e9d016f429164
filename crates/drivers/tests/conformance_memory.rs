//! The conformance suite on the memory driver.
#![cfg(feature = "memory")]

espalier_testkit::conformance!(|| espalier_drivers::open("memory:").expect("memory opens"));
