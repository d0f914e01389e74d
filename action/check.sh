#!/usr/bin/env bash
# Run `remora check`, print annotations, and write the reports for the next steps.
set -euo pipefail

arguments=()
for operation in $ACTION_OPERATIONS; do
  arguments+=(--operation "$operation")
done

if [ -n "$ACTION_CHANGED" ]; then
  # a shallow clone lacks the base, and has no common ancestor
  if ! git cat-file -e "$ACTION_CHANGED^{commit}" 2> /dev/null; then
    git fetch --quiet --no-tags --depth=1 origin "$ACTION_CHANGED"
    ACTION_CHANGED=$(git rev-parse FETCH_HEAD)
  fi
  base=$(git merge-base "$ACTION_CHANGED" HEAD 2> /dev/null || echo "$ACTION_CHANGED")
  arguments+=("--changed=$base")
fi

paths=()
while IFS= read -r path; do
  if [ -n "$path" ]; then paths+=("$path"); fi
done <<< "$ACTION_PATHS"

reports="$RUNNER_TEMP/remora-reports"
status=0
"$ACTION_PROGRAM" check --format github --reports "$reports" "${arguments[@]}" -- "${paths[@]}" \
  || status=$?
if [ "$status" -gt 1 ]; then exit "$status"; fi

count='import json, sys; print(json.load(open(sys.argv[1]))["totals"]["problems"])'
{
  echo "status=$status"
  echo "reports=$reports"
  echo "problems=$(python3 -c "$count" "$reports/remora.json")"
} >> "$GITHUB_OUTPUT"
cat "$reports/remora.md" >> "$GITHUB_STEP_SUMMARY"
