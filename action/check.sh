#!/usr/bin/env bash
# Run `remora check` or `judge`, print annotations, and write the reports for the next steps.
# python3 -I: a file of the checkout, such as json.py, must not become a module of these steps.
set -euo pipefail
set -f  # an operation is a word, not a pattern of file names

case "$ACTION_COMMAND" in
  check | judge) ;;
  *)
    echo "::error::command: $ACTION_COMMAND is neither check nor judge"
    exit 2
    ;;
esac
reports=$(mktemp -d "$RUNNER_TEMP/remora-reports.XXXXXX")
arguments=("$ACTION_COMMAND" --format github --reports "$reports")
if [ "$ACTION_COMMAND" = check ]; then
  for operation in $ACTION_OPERATIONS; do
    arguments+=(--operation "$operation")
  done
fi
if [ -n "$ACTION_BASELINE" ]; then arguments+=("--baseline=$ACTION_BASELINE"); fi

if [ -n "$ACTION_CHANGED" ]; then
  case "$ACTION_CHANGED" in -*)
    echo "::error::changed: $ACTION_CHANGED is not a revision"
    exit 2
  esac
  # actions/checkout makes a branch for the checked-out commit only
  revision=$(git rev-parse --quiet --verify "$ACTION_CHANGED^{commit}" ||
    git rev-parse --quiet --verify "origin/$ACTION_CHANGED^{commit}" || true)
  if [ -z "$revision" ]; then
    fetch=(git fetch --quiet --no-tags)
    # a shallow clone lacks the base, and has no common ancestor
    if [ "$(git rev-parse --is-shallow-repository)" = true ]; then fetch+=(--depth=1); fi
    "${fetch[@]}" origin "$ACTION_CHANGED"
    revision=$(git rev-parse FETCH_HEAD)
  fi
  base=$(git merge-base "$revision" HEAD 2> /dev/null || echo "$revision")
fi

if [ "$ACTION_COMMAND" = judge ]; then
  if [ -z "$ACTION_CHANGED" ]; then
    echo "::error::judge needs a pull request, or the revision to compare with as \`changed\`"
    exit 2
  fi
  arguments+=("$base..HEAD")
else
  if [ -n "$ACTION_CHANGED" ]; then arguments+=("--changed=$base"); fi
  arguments+=(--)
  while IFS= read -r path; do
    if [ -n "$path" ]; then arguments+=("$path"); fi
  done <<< "$ACTION_PATHS"
fi

status=0
"$ACTION_PROGRAM" "${arguments[@]}" || status=$?
if [ "$ACTION_COMMAND-$status" = judge-4 ]; then status=0; fi  # no test could run: the reports say so
if [ ! -f "$reports/remora.json" ] || [ "$status" -gt 1 ]; then
  exit "$status"
fi

count='import json, sys; print(len(json.load(open(sys.argv[1]))["problems"]))'
{
  echo "status=$status"
  echo "reports=$reports"
  echo "problems=$(python3 -I -c "$count" "$reports/remora.json")"
} >> "$GITHUB_OUTPUT"
cat "$reports/remora.md" >> "$GITHUB_STEP_SUMMARY"
