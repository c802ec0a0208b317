//! Rebuilds the crate when a file of `sql/` comes or goes: the SQL is part of the binary.

fn main() {
    println!("cargo::rerun-if-changed=sql");
}
