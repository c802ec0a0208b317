# shellcheck shell=bash
# Installs packages with the system's own package manager, or unpacks Debian's into the user's cache without any right.

# The directory everything unpacked goes to; the program looks there too.
cache_root() { printf '%s\n' "${XDG_CACHE_HOME:-$HOME/.cache}/tenure"; }

# TENURE_NO_INSTALL=1 keeps these scripts from changing the system; unpacking into the cache stays allowed.
may_install() {
  [ -z "${TENURE_NO_INSTALL:-}" ] || return 1
  package_manager >/dev/null || return 1
  [ "$(package_manager)" = brew ] || [ "$(id -u)" -eq 0 ] || { have sudo && sudo -n true 2>/dev/null; }
}

package_manager() {
  local candidate
  for candidate in apt-get dnf apk brew; do
    if have "$candidate"; then
      printf '%s\n' "$candidate"
      return 0
    fi
  done
  return 1
}

# as_root COMMAND…: directly when we are root, else by a sudo that asks nothing.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then "$@"; else sudo -n "$@"; fi
}

apt_updated=
apt_install() {
  if [ -z "$apt_updated" ]; then
    note "apt-get update"
    quietly as_root apt-get update || return 1
    apt_updated=yes
  fi
  note "apt-get install $*"
  quietly as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "$@"
}

# with_file FILE MODE TEXT COMMAND…: runs the command while FILE holds TEXT, and takes FILE away afterwards, also after
# Ctrl-C. A FILE that is there already is its owner's, and stays as it is.
with_file() (
  file=$1 mode=$2 text=$3
  shift 3
  if [ ! -e "$file" ]; then
    trap 'as_root rm -f "$file"' EXIT
    trap 'exit 130' INT TERM
    # shellcheck disable=SC2016 # the inner shell expands it
    as_root sh -c 'mkdir -p "${1%/*}" && printf "%b" "$3" >"$1" && chmod "$2" "$1"' sh "$file" "$mode" "$text" || exit 1
  fi
  "$@"
)

# without_services COMMAND…: Debian packages start their service when installed; we only want the programs.
without_services() { with_file /usr/sbin/policy-rc.d 755 '#!/bin/sh\nexit 101\n' "$@"; }

# user_apt COMMAND…: apt with package lists of the user's own, so that neither root nor filled system lists are needed.
user_apt() {
  local tool=$1 lists
  shift
  lists=$(cache_root)/apt
  mkdir -p "$lists/state/lists/partial" "$lists/cache/archives/partial"
  "$tool" -o Dir::State="$lists/state" -o Dir::State::status=/var/lib/dpkg/status -o Dir::Cache="$lists/cache" \
    -o Debug::NoLocking=1 -o APT::Update::Post-Invoke-Success::= -o APT::Sandbox::User="$(id -un)" "$@"
}

# The lists are large, and a later run needs newer ones.
user_apt_forget() { rm -rf "$(cache_root)/apt"; }

# unpack_packages DIRECTORY PACKAGE…: downloads the packages and the libraries they need that this system lacks, and
# unpacks them below DIRECTORY. Left out: LLVM (larger than all the rest, and only for compiling expressions) and Perl's
# libraries (for the packages' own maintenance scripts).
unpack_packages() {
  local directory=$1 debs missing
  shift
  have dpkg-deb || return 1
  debs=$(mktemp -d "${TMPDIR:-/tmp}/tenure-debs.XXXXXX")
  missing=$(user_apt apt-get -s install --no-install-recommends "$@" 2>/dev/null |
    sed -n 's/^Inst \([^ ]*\) .*/\1/p' | grep '^lib' | grep -vE '^lib(llvm|z3|perl|gdbm|c-l10n)|-(perl|dev)$' || true)
  note "downloading $(printf '%s\n' "$@" "$missing" | sort -u | tr '\n' ' ')"
  # shellcheck disable=SC2046 # one word per package is meant
  if ! (cd "$debs" && quietly user_apt apt-get download $(printf '%s\n' "$@" "$missing" | sort -u)); then
    rm -rf "$debs"
    return 1
  fi
  local deb
  for deb in "$debs"/*.deb; do
    dpkg-deb -x "$deb" "$directory" || { rm -rf "$debs"; return 1; }
  done
  rm -rf "$debs"
}

# wrap_programs ROOT DIRECTORY: lets the programs in ROOT/DIRECTORY find the libraries unpacked beside them, whichever user
# starts them and wherever the tree is moved: each becomes a small script around the real one in DIRECTORY/.real.
wrap_programs() {
  local root=$1 directory=$2 up libraries='' path program
  up=$(printf '%s\n' "$directory" | sed 's|[^/][^/]*|..|g')
  for path in "$root"/usr/lib/*-linux-* "$root"/lib/*-linux-*; do
    [ ! -d "$path" ] || libraries="${libraries:+$libraries:}\$root/${path#"$root"/}"
  done
  mkdir -p "$root/$directory/.real"
  for program in "$root/$directory"/*; do
    [ -f "$program" ] || continue
    mv "$program" "$root/$directory/.real/"
    {
      printf '#!/bin/bash\n'
      # shellcheck disable=SC2016 # written as it is: the wrapper itself expands it
      printf 'here=$(cd "$(dirname "$0")" && pwd) && root=$here/%s\n' "$up"
      # shellcheck disable=SC2016
      printf 'export LD_LIBRARY_PATH="%s${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"\n' "$libraries"
      # The program takes its own path from the name it is called by, and its share directory from that path.
      # shellcheck disable=SC2016
      printf 'exec -a "$here/%s" "$here/.real/%s" "$@"\n' "${program##*/}" "${program##*/}"
    } >"$program"
    chmod 755 "$program"
  done
}

# missing_libraries ROOT DIRECTORY: the shared libraries that the unpacked programs would not find.
missing_libraries() {
  local path libraries=''
  for path in "$1"/usr/lib/*-linux-* "$1"/lib/*-linux-*; do
    [ ! -d "$path" ] || libraries="$libraries$path:"
  done
  find "$1/$2/.real" -type f -perm -u+x -exec env LD_LIBRARY_PATH="$libraries" ldd {} + 2>/dev/null |
    sed -n 's/^[[:space:]]*\([^ ]*\) => not found.*/\1/p' | sort -u
}
