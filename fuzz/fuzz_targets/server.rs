//! The server of a target.

use std::cell::RefCell;

use crate::fuzz_targets::add_data;
use crate::support::Fixture;

/// The number of inputs after which a new server begins: the history of a datastore grows.
const INPUTS_OF_SERVER: u32 = 2000;

thread_local! {
    /// The server, and the number of its inputs.
    static SERVER: RefCell<Option<(Fixture, u32)>> = const { RefCell::new(None) };
}

/// Runs an input on a server with data.
pub fn with(run: impl FnOnce(&Fixture)) {
    SERVER.with_borrow_mut(|server| {
        server.take_if(|(_, inputs)| *inputs >= INPUTS_OF_SERVER);
        let (fixture, inputs) = server.get_or_insert_with(|| {
            let fixture = Fixture::new();
            add_data(&fixture);
            (fixture, 0)
        });
        *inputs += 1;
        run(fixture);
    });
}
