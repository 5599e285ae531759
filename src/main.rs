//! The `flatline` command.

fn main() {}
