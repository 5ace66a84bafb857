#!/usr/bin/env bash
# What needs no credentials: the profiles are right, and sites/ holds what they give.
set -euo pipefail
cd "$(dirname "$0")/.."
groundplan check profiles/*.yaml --format "${1:-text}"
for profile in profiles/*.yaml; do
  groundplan synth "$profile" -o "sites/$(basename "$profile" .yaml)" --check
done
