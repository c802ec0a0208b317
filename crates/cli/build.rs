//! The pages about refusals are part of the program.

fn main() {
    println!("cargo::rerun-if-changed=errors");
}
