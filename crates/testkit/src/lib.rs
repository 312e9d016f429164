//! What correct means, executable: conformance suite, reference model, faults, oracles. For tests only.
