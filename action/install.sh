#!/usr/bin/env bash
# Install Remora in an environment of its own, so that the job's Python stays as it is.
set -euo pipefail

if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  echo "::error::Remora needs Python 3.11 or newer; add a step with actions/setup-python before"
  exit 1
fi

environment="$RUNNER_TEMP/remora-environment"
extra=""
for operation in $ACTION_OPERATIONS; do
  if [ "$operation" = types ]; then extra="[types]"; fi
done

python3 -m venv "$environment"
"$environment/bin/python" -m pip install --quiet --disable-pip-version-check "$ACTION_SOURCE$extra"
echo "program=$environment/bin/remora" >> "$GITHUB_OUTPUT"
