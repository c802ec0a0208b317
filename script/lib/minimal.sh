# shellcheck shell=bash
# A minimal Debian 12 in a directory, and a command of the tree in it. Called by script/minimal, as root.

minimal_suite=bookworm
minimal_place=/var/cache/tenure/minimal
minimal_user=ann

# minimal_sources: "URI SUITE" of Debian's own archives, as this machine's apt is set up.
minimal_sources() {
  # shellcheck disable=SC2016 # apt's own placeholders
  apt-get indextargets --format '$(CREATED_BY) $(ORIGIN) $(COMPONENT) $(REPO_URI) $(CODENAME)' |
    awk -v suite="$minimal_suite" '$1 == "Packages" && $2 == "Debian" && $3 == "main" && index($5, suite) == 1 { print $4, $5 }' | sort -u
}

# minimal_base: makes the system once, and keeps it for the next time.
minimal_base() {
  local base=$minimal_place/base mirror
  [ ! -e "$base" ] || { note "kept from before: $base (remove it to have a new one)"; return 0; }
  have debootstrap || apt_install debootstrap || return 1
  mirror=$(minimal_sources | awk -v suite="$minimal_suite" '$2 == suite { print $1; exit }')
  [ -n "$mirror" ] || refuse "apt has no archive of Debian $minimal_suite" \
    "the minimal system is made from where this machine gets its packages" "run this on Debian 12, after apt-get update"
  mkdir -p "$minimal_place"
  rm -rf "$base.part"
  note "debootstrap $minimal_suite"
  quietly debootstrap --variant=minbase --include=git,gcc,libc6-dev,ca-certificates "$minimal_suite" "$base.part" "$mirror" ||
    return 1
  chroot "$base.part" useradd --create-home --shell /bin/bash "$minimal_user" || return 1
  mv "$base.part" "$base"
}

# minimal_settings SYSTEM: what this machine needs to reach its archives, certificates and proxies included.
minimal_settings() {
  local system=$1 file
  minimal_sources | sed 's/.*/deb & main/' >"$system/etc/apt/sources.list"
  apt-config dump | grep -E '^Acquire::(http|https|Retries|ForceIPv)' >"$system/etc/apt/apt.conf.d/90machine" || true
  for file in /etc/resolv.conf /etc/hosts /etc/pip.conf /etc/ssl/certs/ca-certificates.crt; do
    [ ! -e "$file" ] || cp -L "$file" "$system$file"
  done
  [ ! -d /usr/local/share/ca-certificates ] || cp -rL /usr/local/share/ca-certificates "$system/usr/local/share/"
}

# minimal_home SYSTEM HOME: the tree, and what cargo, pip and npm have here.
minimal_home() {
  local system=$1 home=$2 cargo=${CARGO_HOME:-$HOME/.cargo} file
  quietly git clone --no-hardlinks "$root" "$system$home/tenure" || return 1
  mkdir -p "$system$home/.cargo/registry" "$system$home/.config"
  for file in registry/cache registry/index config.toml config; do
    [ ! -e "$cargo/$file" ] || cp -r "$cargo/$file" "$system$home/.cargo/$file"
  done
  [ ! -d "$HOME/.config/pip" ] || cp -r "$HOME/.config/pip" "$system$home/.config/"
  [ ! -f "$HOME/.npmrc" ] || cp "$HOME/.npmrc" "$system$home/"
  [ ! -f "$HOME/.pip/pip.conf" ] || { mkdir -p "$system$home/.pip" && cp "$HOME/.pip/pip.conf" "$system$home/.pip/"; }
}

# minimal_environment HOME: the variables that reach the system, one NAME=VALUE per line.
minimal_environment() {
  printf '%s\n' "HOME=$1" "PATH=/opt/rust/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin" "LANG=C.UTF-8"
  env | grep -iE '^(https?_proxy|no_proxy|all_proxy|PIP_[A-Z_]+|npm_config_[a-z_]+|NODE_EXTRA_CA_CERTS|CARGO_(HTTP|NET|BUILD|REGISTRIES|SOURCE)_[A-Z_]+|CI)=' || true
}

# minimal_first_job: run inside, in the tree. Starts script/dev, waits until it is ready, runs the README's first block.
# shellcheck disable=SC2016 # the shell inside expands it
minimal_first_job='
  mkfifo /tmp/said
  script/dev >/tmp/said 2>&1 &
  dev=$!
  exec 3</tmp/said
  while IFS= read -r line <&3; do
    printf "%s\n" "$line"
    case $line in ready:*) ready=yes; break ;; esac
  done
  [ -n "${ready:-}" ] || exit 1
  cat <&3 >/dev/null &
  sed -n "/^\`\`\`sh run/,/^\`\`\`/p" README.md | sed "/^\`\`\`$/q" | grep -v "^\`\`\`" >/tmp/first.sh
  sh -e /tmp/first.sh | tee /tmp/printed
  grep -q "hello world" /tmp/printed && grep -q succeeded /tmp/printed || exit 1
  git status --porcelain | tee /tmp/left
  [ ! -s /tmp/left ] || { echo "the README leaves files in the tree"; exit 1; }
  kill -TERM "$dev"
  wait "$dev"
'

# minimal_run COMMAND ACCOUNT FILTER: one of the two commands, in a fresh copy of the system. Mounts and processes live in
# namespaces of their own, so nothing of them is left, however it ends.
minimal_run() {
  local command=$1 account=$2 filter=$3 system=$minimal_place/system home=/root name=root toolchain run variables=()
  [ "$account" = root ] || { home=/home/$minimal_user name=$minimal_user; }
  toolchain=$(rustc --print sysroot)
  rm -rf "$system"
  cp -a --reflink=auto "$minimal_place/base" "$system"
  minimal_settings "$system"
  minimal_home "$system" "$home"
  mkdir -p "$system/opt/rust"
  chroot "$system" chown -R "$name:" "$home"
  while IFS= read -r run; do variables+=("$run"); done < <(minimal_environment "$home")
  case $command in
  dev) run=$minimal_first_job ;;
  test) run="script/test $filter" ;;
  esac
  # shellcheck disable=SC2016 # the shell inside expands it
  local inside='
    set -e
    system=$1 toolchain=$2 name=$3 home=$4 run=$5
    shift 5
    mount --bind -o ro "$toolchain" "$system/opt/rust"
    mount -t proc proc "$system/proc"
    mount -t tmpfs -o mode=1777 tmpfs "$system/dev/shm"
    exec chroot --userspec="$name" "$system" env -i "$@" bash -c "cd ~/tenure && time { $run
    }"'
  unshare --mount --pid --fork --kill-child bash -c "$inside" bash "$system" "$toolchain" "$name" "$home" "$run" "${variables[@]}"
}

# minimal_forget: the copy of the last run; the base stays.
minimal_forget() { rm -rf "$minimal_place/system"; }
