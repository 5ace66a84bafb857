#!/usr/bin/env bash
# Plan a site's stacks, apply nothing: plans/*.json, for groundplan review. scripts/plan SITE
set -euo pipefail
cd "$(dirname "$0")/.."
site=$1
mkdir -p plans
umask 077 # plans hold what Terraform hides from the screen
standing=yes
for kind in host network storage cluster gpu platform workload; do
  name=$site-$kind
  stack=sites/$site/stacks/$name
  [ -d "$stack" ] || continue
  if [ "$standing" = no ] && { [ "$kind" = platform ] || [ "$kind" = workload ]; }; then
    echo "$name: not planned, for the cluster does not stand yet" >&2
    continue
  fi
  readonly_lock=()
  [ ! -f "$stack/.terraform.lock.hcl" ] || readonly_lock=(-lockfile=readonly)
  terraform -chdir="$stack" init -input=false "${readonly_lock[@]}" >/dev/null
  # Tokens are ephemeral: no plan holds them, so that any value serves to plan.
  while read -r variable; do
    [ -z "$variable" ] || export "TF_VAR_$variable=${!variable:-not-needed-to-plan}"
  done < <(python3 - "$stack/cdk.tf.json" <<'PYTHON'
import json, sys
for name, body in json.load(open(sys.argv[1])).get("variable", {}).items():
    if "default" not in body:
        print(name)
PYTHON
  )
  # Without a lock of the state, so that an account that only reads may plan.
  terraform -chdir="$stack" plan -input=false -lock=false -out=plan.tfplan >/dev/null
  terraform -chdir="$stack" show -json plan.tfplan >"plans/$name.json"
  rm -f "$stack/plan.tfplan"
  if [ "$kind" = cluster ] && python3 - "plans/$name.json" <<'PYTHON'; then standing=no; fi
import json, sys
changes = json.load(open(sys.argv[1])).get("resource_changes", [])
made = any(c["type"] == "google_container_cluster" and c["change"]["actions"] == ["create"] for c in changes)
sys.exit(0 if made else 1)
PYTHON
done
