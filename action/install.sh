#!/usr/bin/env bash
# Install Remora in an environment of its own, so that the job's Python stays as it is.
# python3 -I: a file of the checkout, such as logging.py, must not become a module of these steps.
set -euo pipefail
set -f  # an operation is a word, not a pattern of file names

if ! python3 -I -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then
  echo "::error::Remora needs Python 3.11 or newer; add a step with actions/setup-python before"
  exit 1
fi

environment="$RUNNER_TEMP/remora-environment"
extras=
for operation in $ACTION_OPERATIONS; do
  if [ "$operation" = types ]; then extras='[types]'; fi
done

python3 -I -m venv "$environment"
"$environment/bin/python" -I -m pip install --quiet --disable-pip-version-check \
  "$ACTION_SOURCE$extras"
echo "program=$environment/bin/remora" >> "$GITHUB_OUTPUT"
