//! What a MySQL server says first, for tests that play one.

/// The payload of the greeting of a server that wants a native password.
pub fn mysql_greeting() -> Vec<u8> {
    [
        b"\x0a8.0.31\0".as_slice(),
        &[1, 0, 0, 0],
        b"abcdefgh\0",
        &[0xff, 0xf7, 33, 2, 0, 0xff, 0xdf, 21],
        &[0; 10],
        b"ijklmnopqrst\0",
        b"mysql_native_password\0",
    ]
    .concat()
}
