//! Storage engines behind the key space contract, one folder each.
