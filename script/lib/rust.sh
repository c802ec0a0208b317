# shellcheck shell=bash
# Checks the Rust toolchain. Nothing is installed or updated here: a toolchain belongs to its owner.

# version_at_least HAVE WANTED: compares dotted versions by their first three numbers.
version_at_least() {
  local have_major have_minor have_patch want_major want_minor want_patch
  IFS=. read -r have_major have_minor have_patch <<<"$1"
  IFS=. read -r want_major want_minor want_patch <<<"$2"
  local have_number=$((${have_major:-0} * 1000000 + ${have_minor:-0} * 1000 + ${have_patch:-0}))
  local want_number=$((${want_major:-0} * 1000000 + ${want_minor:-0} * 1000 + ${want_patch:-0}))
  [ "$have_number" -ge "$want_number" ]
}

# need_rust ROOT: a cargo at least as new as the workspace asks for, and a C compiler for its linker, or a refusal.
need_rust() {
  local wanted found
  wanted=$(sed -n 's/^rust-version *= *"\([0-9.]*\)".*/\1/p' "$1/Cargo.toml" | head -n 1)
  if ! have cargo && [ -x "${CARGO_HOME:-$HOME/.cargo}/bin/cargo" ]; then
    export PATH="${CARGO_HOME:-$HOME/.cargo}/bin:$PATH"
  fi
  have cargo || refuse "Rust is not installed" "there is no cargo in PATH, and Tenure is built from source" \
    "install Rust $wanted or newer, for example with rustup (https://rustup.rs), then run this again"
  found=$(cd "$1" && cargo --version 2>/dev/null | sed -n 's/^cargo \([0-9]*\.[0-9]*\.[0-9]*\).*/\1/p')
  [ -n "$found" ] || refuse "cargo does not run" "'cargo --version' printed no version" \
    "run 'cargo --version' by hand and mend what it reports; with rustup: rustup default stable"
  if ! version_at_least "$found" "$wanted"; then
    local next="install Rust $wanted or newer, then run this again"
    ! have rustup || next="run 'rustup update stable', then run this again"
    refuse "Rust $found is too old" "this workspace needs Rust $wanted or newer" "$next"
  fi
  have cc || refuse "there is no C compiler" "Rust links its programs with cc" \
    "install one, for example the package gcc (with libc6-dev on Debian), then run this again"
  note "Rust $found"
}

# cargo_target_directory: where cargo puts what it builds, wherever the user's settings moved it.
cargo_target_directory() {
  cargo metadata --format-version 1 --no-deps --locked | sed -n 's/.*"target_directory":"\([^"]*\)".*/\1/p'
}
