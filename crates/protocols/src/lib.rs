//! Front ends: bytes on a socket to store requests and back.
