# shellcheck shell=bash
# How the scripts speak: numbered steps with their time, and refusals that say what, why and what to do next.
# Written for bash 3.2 and newer, which is what macOS has.

say() { printf '%s\n' "$*"; }
note() { printf '      %s\n' "$*"; }

# refuse WHAT WHY NEXT: the three lines of every refusal of Tenure, then the end.
refuse() {
  printf 'error: %s\n  why:  %s\n  next: %s\n' "$1" "$2" "$3" >&2
  exit 1
}

step_number=0
step_total=0
step_name=
step_started=0

# step_begin NAME: announces the next of $step_total steps.
step_begin() {
  step_number=$((step_number + 1))
  step_name=$1
  step_started=$SECONDS
  say "[$step_number/$step_total] $step_name …"
}

# step_end [REMARK]: tells how long the step took.
step_end() {
  say "[$step_number/$step_total] $step_name … $((SECONDS - step_started)) s${1:+ ($1)}"
}

# step_run NAME COMMAND…: one command as one step; the first failing step ends the run.
step_run() {
  step_begin "$1"
  shift
  local status=0
  "$@" || status=$?
  if [ "$status" -ne 0 ]; then
    step_end "failed"
    printf 'error: step "%s" failed; the command was: %s\n' "$step_name" "$*" >&2
    exit "$status"
  fi
  step_end
}

# quietly COMMAND…: keeps a noisy command's output back, and shows its end only when it fails.
quietly() {
  local log status=0
  log=$(mktemp "${TMPDIR:-/tmp}/tenure-script.XXXXXX")
  "$@" >"$log" 2>&1 </dev/null || status=$?
  [ "$status" -eq 0 ] || tail -n 20 "$log" | sed 's/^/      | /' >&2
  rm -f "$log"
  return "$status"
}

have() { command -v "$1" >/dev/null 2>&1; }
