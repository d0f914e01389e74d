#!/bin/sh
# judge.sh edit|stop: a hook of Claude Code and Codex. Remarks go back to the agent: exit 2, on stderr.
# After an edit of a Python file, nothing of the project runs; when the agent stops, its tests do.
# To switch it off: export REMORA_HOOKS=off

[ "$REMORA_HOOKS" = off ] && exit 0
command -v remora >/dev/null || exit 0
event=$(cat)
case $1:$event in
  stop:*'"stop_hook_active":true'* | stop:*'"stop_hook_active": true'*) exit 0 ;; # it has heard the remarks
  stop:* | edit:*.py*) ;;
  *) exit 0 ;;
esac
# 55 s for faults (decision): slow tests may take longer, and the hook ends after 180 s
how="--seconds 55" && [ "$1" = edit ] && how=--static
remarks=$(remora --quiet judge $how --color never 2>/dev/null)
[ $? -eq 1 ] || exit 0 # 1: there are remarks; other codes are not about the change
if [ "$1" = edit ]; then # those on the edited files; the others were said before
  remarks=$(printf '%s\n' "$remarks" | while IFS= read -r line; do
    case $event in *"${line%%:*}"*) printf '%s\n' "$line" ;; esac
  done)
  [ "$remarks" ] || exit 0
fi
printf '%s\n' "Remora's remarks on the change; mend what is right, and say why you leave the others:" "$remarks" >&2
exit 2
