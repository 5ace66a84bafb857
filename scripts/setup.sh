# Sourced by the scripts: makes the project's own .venv on first use and leaves it alone afterwards.
# Sets ROOT and PYTHON. `setup core` installs what synth needs, `setup dev` what tests, lint and types need as well.
ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
VENV=$ROOT/.venv
PYTHON=$VENV/bin/python

find_python() {
  local name
  for name in python3.13 python3.12 python3.11 python3 python; do
    if command -v "$name" >/dev/null 2>&1 &&
      "$name" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
      command -v "$name"
      return
    fi
  done
  echo "error: groundplan needs Python 3.11 or newer with venv and pip, and none is on the PATH" >&2
  return 2
}

setup() {
  local kind=$1 extras="" wanted stamp base
  [ "$kind" = dev ] && extras="[dev]"
  stamp=$VENV/.groundplan-$kind
  # The sum covers what decides the content of the .venv (it does not survive a move), so that an edit reinstalls.
  wanted=$({ echo "$ROOT"; cat "$ROOT/pyproject.toml" "$ROOT/constraints.txt"; } | cksum)
  if [ -x "$PYTHON" ] && [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; then return 0; fi
  if [ ! -x "$PYTHON" ]; then
    base=$(find_python) || return
    echo "groundplan: making $VENV (once; about a minute)" >&2
    "$base" -m venv "$VENV" || return
  else
    echo "groundplan: bringing $VENV up to date" >&2
  fi
  # --no-compile: the provider packages hold 1,600 big modules of which some 40 are ever imported.
  "$PYTHON" -m pip install --quiet --disable-pip-version-check --no-compile --no-input \
    --constraint "$ROOT/constraints.txt" --editable "$ROOT$extras" >&2 || {
    echo "error: the packages could not be installed; is a package index reachable?" >&2
    return 2
  }
  # Bytecode of what is really used, even where PYTHONDONTWRITEBYTECODE is set: one synth imports it all.
  local scratch
  scratch=$(mktemp -d)
  PYTHONDONTWRITEBYTECODE='' "$PYTHON" -m compileall -q "$ROOT/constructs" >/dev/null || true
  PYTHONDONTWRITEBYTECODE='' "$PYTHON" -m groundplan synth "$ROOT/profiles/smoke.yaml" -o "$scratch" -q >/dev/null 2>&1 || true
  rm -rf "$scratch"
  [ "$kind" = dev ] && echo "$wanted" >"$VENV/.groundplan-core"
  echo "$wanted" >"$stamp"
}
