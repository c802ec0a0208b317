# shellcheck shell=bash
# Gets the Python of the fuzzer: a virtual environment in the cache, with exactly the packages of a requirements file.

# The oldest Python that the fuzzer runs on.
python_minor_min=10

# python_find: prints a Python that is new enough.
python_find() {
  local candidate
  for candidate in python3 python3.14 python3.13 python3.12 python3.11 python3.10; do
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
    found=$(python_find) || {
      python_reason="there is no Python 3.$python_minor_min or newer, and none could be installed"
      return 1
    }
  fi
  python_home=$(cache_root)/python-$(cat "$requirements" <("$found" --version) | cksum | tr ' ' '-')
  [ -x "$python_home/bin/python" ] || python_make "$found" "$python_home" "$requirements" || {
    # shellcheck disable=SC2034 # for the caller
    python_reason="the packages of ${requirements#"$root/"} could not be installed"
    return 1
  }
  note "$("$python_home/bin/python" --version), with the packages in $python_home"
}
