# shellcheck shell=bash
# Gets the Python of the checks: a virtual environment in the cache, with exactly the packages of a requirements file.

# The oldest Python that the packages run on.
python_minor_min=11

# python_find: prints a Python that is new enough.
python_find() {
  local candidate
  for candidate in python3 python3.14 python3.13 python3.12 python3.11; do
    if have "$candidate" && "$candidate" -c "import sys; sys.exit(sys.version_info < (3, $python_minor_min))" 2>/dev/null; then
      command -v "$candidate"
      return 0
    fi
  done
  return 1
}

# python_install: Debian and Ubuntu have the module that makes environments in a package of its own.
python_install() {
  may_install || return 1
  case $(package_manager) in
  apt-get) apt_install python3 python3-venv ;;
  dnf) quietly as_root dnf install -y python3 ;;
  apk) quietly as_root apk add python3 ;;
  brew) quietly brew install python3 ;;
  esac
}

# python_unpack REQUIREMENTS HOME: for an ordinary user on Debian. Python's packages below HOME, without any right, and beside
# them those of the requirements file; HOME/bin/python starts it with both. It appears whole or not at all.
python_unpack() {
  local requirements=$1 home=$2 aside version
  have apt-get && have dpkg-deb || return 1
  note "no right to install packages: unpacking Python into $home"
  quietly user_apt apt-get update || return 1
  version=$(user_apt apt-cache depends python3-minimal 2>/dev/null | sed -n 's/.*Depends: \(python3\.[0-9]*\)-minimal$/\1/p' | head -n 1)
  [ -n "$version" ] && [ "${version#python3.}" -ge "$python_minor_min" ] || return 1
  mkdir -p "${home%/*}"
  aside=$(mktemp -d "$home.XXXXXX")
  if unpack_packages "$aside" "$version-minimal" "lib$version-minimal" "lib$version-stdlib" python3-pip-whl &&
    python_wrap "$aside" "$version" &&
    quietly "$aside/bin/python" -m pip install --quiet --disable-pip-version-check --no-input --target "$aside/packages" \
      --requirement "$requirements"; then
    user_apt_forget
    [ -e "$home" ] || mv "$aside" "$home"
  fi
  rm -rf "$aside"
  [ -x "$home/bin/python" ]
}

# python_wrap ROOT VERSION: makes ROOT/bin/python, which finds its libraries and packages wherever ROOT is moved.
python_wrap() {
  local root=$1 version=$2
  mkdir -p "$root/bin"
  # shellcheck disable=SC2016 # written as it is: the wrapper itself expands it
  printf '%s\n' '#!/bin/bash' 'root=$(cd "$(dirname "$0")/.." && pwd)' \
    'for path in "$root"/usr/lib/*-linux-* "$root"/lib/*-linux-*; do LD_LIBRARY_PATH=$path${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}; done' \
    'for path in "$root"/usr/share/python-wheels/pip-*.whl "$root/packages"; do PYTHONPATH=$path${PYTHONPATH:+:$PYTHONPATH}; done' \
    'export LD_LIBRARY_PATH PYTHONPATH PYTHONHOME="$root/usr"' \
    "exec \"\$root/usr/bin/$version\" \"\$@\"" >"$root/bin/python"
  chmod 755 "$root/bin/python"
  "$root/bin/python" -m pip --version >/dev/null 2>&1
}

# python_make PYTHON HOME REQUIREMENTS: fills HOME. It appears there whole or not at all: two runs at once do no harm.
python_make() {
  local python=$1 home=$2 requirements=$3 aside
  mkdir -p "${home%/*}"
  aside=$(mktemp -d "$home.XXXXXX")
  if quietly "$python" -m venv --clear "$aside" &&
    quietly "$aside/bin/python" -m pip install --quiet --disable-pip-version-check --no-input --requirement "$requirements"; then
    [ -e "$home" ] || mv "$aside" "$home"
  fi
  rm -rf "$aside"
  [ -x "$home/bin/python" ]
}

# want_python REQUIREMENTS: sets python_home to an environment with these packages; returns 1, with the reason in
# python_reason, when there can be none.
want_python() {
  local found requirements=$1
  python_reason=
  if ! found=$(python_find) || ! "$found" -c "import ensurepip" 2>/dev/null; then
    python_install || true
    if ! found=$(python_find) || ! "$found" -c "import ensurepip" 2>/dev/null; then
      python_home=$(cache_root)/python-unpacked-$(cksum <"$requirements" | tr ' ' '-')
      [ -x "$python_home/bin/python" ] || python_unpack "$requirements" "$python_home" || {
        python_reason="there is no Python 3.$python_minor_min or newer that makes environments, and none could be installed"
        return 1
      }
      note "$("$python_home/bin/python" --version), with the packages in $python_home"
      return 0
    fi
  fi
  python_home=$(cache_root)/python-$(cat "$requirements" <("$found" --version) | cksum | tr ' ' '-')
  [ -x "$python_home/bin/python" ] || python_make "$found" "$python_home" "$requirements" || {
    # shellcheck disable=SC2034 # for the caller
    python_reason="the packages of ${requirements#"$root/"} could not be installed"
    return 1
  }
  note "$("$python_home/bin/python" --version), with the packages in $python_home"
}
