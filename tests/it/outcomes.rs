//! What a provider does, what the user sees of it, and whether it is paid for: one case for each line of the table.

mod nothing;
mod something;
