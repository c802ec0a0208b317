# shellcheck shell=bash
# Finds PostgreSQL's server programs, and gets them when there are none. The program's own search looks in the same
# places, so what is found or unpacked here is found there.
#
# TENURE_POSTGRES_BIN     the directory of initdb and postgres to use, before all others
# TENURE_POSTGRES_SEARCH  directories (separated by colons) searched instead of PATH and the system's places; for testing
#                         what happens on a machine without PostgreSQL: TENURE_POSTGRES_SEARCH=/nonexistent script/dev
# TENURE_NO_INSTALL       when set, no package is installed (unpacking into the user's cache is still done)

postgres_oldest=15

# postgres_major DIRECTORY: the major version of a directory with usable server programs; fails for any other.
postgres_major() {
  [ -x "$1/postgres" ] && [ -x "$1/initdb" ] || return 1
  "$1/postgres" --version 2>/dev/null | sed -n 's/^postgres (PostgreSQL) \([0-9][0-9]*\).*/\1/p' | grep .
}

postgres_places() {
  local directory
  if [ -n "${TENURE_POSTGRES_SEARCH:-}" ]; then
    printf '%s\n' "$TENURE_POSTGRES_SEARCH" | tr ':' '\n'
  else
    printf '%s\n' "$PATH" | tr ':' '\n'
    for directory in /usr/lib/postgresql/*/bin /usr/pgsql-*/bin /usr/libexec/postgresql* /usr/libexec/postgresql*/bin \
      /usr/lib/postgresql*/bin /usr/local/pgsql/bin /opt/homebrew/opt/postgresql@*/bin /usr/local/opt/postgresql@*/bin \
      /Applications/Postgres.app/Contents/Versions/*/bin; do
      printf '%s\n' "$directory"
    done
    ! have pg_config || pg_config --bindir
  fi
  find "$(cache_root)/postgresql" -type d -name bin 2>/dev/null || true
}

# postgres_named: checks the one that TENURE_POSTGRES_BIN names, which is used whatever else there is.
postgres_named() {
  local major
  major=$(postgres_major "$TENURE_POSTGRES_BIN") || refuse "TENURE_POSTGRES_BIN names no PostgreSQL server" \
    "there is no usable initdb and postgres in $TENURE_POSTGRES_BIN" "set it to a directory that has both, or unset it"
  [ "$major" -ge "$postgres_oldest" ] || refuse "PostgreSQL $major in TENURE_POSTGRES_BIN is too old" \
    "Tenure needs PostgreSQL $postgres_oldest or newer" "name a newer one, or unset it"
  note "PostgreSQL $major in $TENURE_POSTGRES_BIN"
}

# postgres_find: prints "MAJOR DIRECTORY" of the newest one that is new enough.
postgres_find() {
  local major directory
  postgres_places | while IFS= read -r directory; do
    # An unusable directory is passed over.
    major=$(postgres_major "$directory") || continue
    [ "$major" -lt "$postgres_oldest" ] || printf '%s %s\n' "$major" "$directory"
  done | sort -s -k1,1nr | head -n 1 | grep .
}

postgres_debian_package() {
  "$@" apt-cache pkgnames postgresql- 2>/dev/null | sed -n 's/^postgresql-\([0-9][0-9]*\)$/\1/p' |
    sort -nr | awk -v oldest="$postgres_oldest" '$1 >= oldest { print "postgresql-" $1; exit }' | grep .
}

# The package would make a cluster "main" and start it at boot; the private cluster needs only the programs.
postgres_install_debian() {
  local package
  apt_install postgresql-common || return 1
  package=$(postgres_debian_package) || return 1
  with_file /etc/postgresql-common/createcluster.d/tenure-no-cluster.conf 644 'create_main_cluster = false\n' \
    without_services apt_install "$package"
}

postgres_install() {
  case $(package_manager) in
  apt-get) postgres_install_debian ;;
  dnf) note "dnf install postgresql-server" && quietly as_root dnf install -y postgresql-server ;;
  apk) note "apk add postgresql" && quietly as_root apk add postgresql ;;
  brew) note "brew install postgresql@17" && quietly brew install postgresql@17 ;;
  esac
}

postgres_install_command() {
  case $(package_manager || true) in
  apt-get) echo "sudo apt-get install postgresql" ;;
  dnf) echo "sudo dnf install postgresql-server" ;;
  apk) echo "apk add postgresql (as root)" ;;
  brew) echo "brew install postgresql@17" ;;
  *) echo "your system's package of the PostgreSQL server, version $postgres_oldest or newer" ;;
  esac
}

# postgres_unpack: Debian's package below the user's cache, without any right. Made aside, tried with a real initdb, and
# only then put in place, so that a broken download is never found later.
postgres_unpack() {
  local home aside package major missing
  have apt-get && have dpkg-deb || return 1
  home=$(cache_root)/postgresql
  note "no right to install packages: unpacking into $home"
  quietly user_apt apt-get update || return 1
  package=$(postgres_debian_package user_apt) || return 1
  major=${package#postgresql-}
  mkdir -p "$home"
  aside=$(mktemp -d "$home/.unpacking.XXXXXX")
  chmod 755 "$aside"
  unpack_packages "$aside" "$package" "postgresql-client-$major" libpq5 || { rm -rf "$aside"; return 1; }
  # Without LLVM its plug-in must go too, or long queries fail; without the plug-in they are just not compiled.
  rm -rf "$aside/usr/lib/postgresql/$major/lib"/llvmjit* "$aside/usr/lib/postgresql/$major/lib/bitcode"
  wrap_programs "$aside" "usr/lib/postgresql/$major/bin"
  missing=$(missing_libraries "$aside" "usr/lib/postgresql/$major/bin")
  if [ -n "$missing" ]; then
    note "the unpacked programs miss: $(printf '%s' "$missing" | tr '\n' ' ')"
    rm -rf "$aside"
    return 1
  fi
  if [ "$(id -u)" -ne 0 ]; then
    quietly "$aside/usr/lib/postgresql/$major/bin/initdb" --no-sync -A trust -D "$aside/trial" || { rm -rf "$aside"; return 1; }
    rm -rf "$aside/trial"
  fi
  rm -rf "${home:?}/$major"
  mv "$aside" "$home/$major"
}

# need_postgres: a PostgreSQL new enough, found, installed or unpacked; else a refusal with the one command to run.
need_postgres() {
  local found
  if [ -n "${TENURE_POSTGRES_BIN:-}" ]; then
    postgres_named
    return
  fi
  if ! found=$(postgres_find); then
    if may_install; then
      note "no PostgreSQL $postgres_oldest or newer found: installing it"
      postgres_install || note "the package could not be installed"
    fi
    found=$(postgres_find) || { postgres_unpack && user_apt_forget && found=$(postgres_find); } ||
      refuse "PostgreSQL $postgres_oldest or newer was not found" \
        "the private database needs its initdb and postgres, and they could be neither installed nor unpacked here" \
        "run: $(postgres_install_command)   (or set DATABASE_URL to a running server, or TENURE_POSTGRES_BIN)"
  fi
  note "PostgreSQL ${found%% *} in ${found#* }"
  # With a narrowed search the program must use what was found here.
  [ -z "${TENURE_POSTGRES_SEARCH:-}" ] || export TENURE_POSTGRES_BIN="${found#* }"
}
