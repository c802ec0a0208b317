# shellcheck shell=bash
# Gets PgBouncer for the tests that run the SQL suite through it. Only those tests need it, so its absence stops nothing.

# pgbouncer_find: prints the program's path.
pgbouncer_find() {
  local candidate
  for candidate in "$(command -v pgbouncer || true)" /usr/sbin/pgbouncer "$(cache_root)/pgbouncer/usr/sbin/pgbouncer"; do
    if [ -n "$candidate" ] && [ -x "$candidate" ]; then
      printf '%s\n' "$candidate"
      return 0
    fi
  done
  return 1
}

# pgbouncer_unpack: for an ordinary user, who should not get a system service for the sake of a test.
pgbouncer_unpack() {
  local home aside
  have apt-get && have dpkg-deb || return 1
  home=$(cache_root)
  mkdir -p "$home"
  aside=$(mktemp -d "$home/.unpacking.XXXXXX")
  if quietly user_apt apt-get update && unpack_packages "$aside" pgbouncer &&
    wrap_programs "$aside" usr/sbin && [ -z "$(missing_libraries "$aside" usr/sbin)" ] &&
    quietly "$aside/usr/sbin/pgbouncer" --version; then
    user_apt_forget
    rm -rf "$home/pgbouncer"
    mv "$aside" "$home/pgbouncer"
  else
    rm -rf "$aside"
    return 1
  fi
}

# want_pgbouncer: puts PgBouncer into PATH when it can be had; returns 1, with the reason in pgbouncer_reason, when not.
want_pgbouncer() {
  local found
  pgbouncer_reason=
  if ! found=$(pgbouncer_find); then
    if ! have apt-get; then
      pgbouncer_reason="it is not installed, and only Debian's package is fetched by itself"
    elif [ "$(id -u)" -eq 0 ] && may_install; then
      without_services apt_install pgbouncer || pgbouncer_reason="its package could not be installed"
    else
      pgbouncer_unpack || pgbouncer_reason="there is no right to install it, and its package could not be unpacked"
    fi
    [ -z "$pgbouncer_reason" ] || return 1
    found=$(pgbouncer_find) || { pgbouncer_reason="it is still not found after installing it"; return 1; }
  fi
  note "PgBouncer in ${found%/*}"
  export PATH="$PATH:${found%/*}"
}
