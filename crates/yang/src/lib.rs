//! What a YANG model means: schema, types, data trees, edits, XPath, JSON and XML. Pure: no I/O, no clock.
