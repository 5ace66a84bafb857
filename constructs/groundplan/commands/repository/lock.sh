#!/usr/bin/env bash
# Pin the providers' checksums for every machine that plans: commit the .terraform.lock.hcl files that it writes.
set -euo pipefail
cd "$(dirname "$0")/.."
for stack in sites/*/stacks/*/; do
  terraform -chdir="$stack" providers lock -platform=linux_amd64 -platform=darwin_arm64
done
