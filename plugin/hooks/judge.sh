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
# the first 20: tests that fail, then calls that no longer fit, then others, a code once at a place
remarks=$(printf '%s\n' "$remarks" | awk -v all="remora judge $how" '
  $2 == "gate" && $4 ~ /^[A-Z]+[0-9]+$/ && seen[$1 $4]++ { next }
  { rank = /: gate pytest: / ? 1 : /: impact: / ? 2 : /^[^:]+:[0-9]+: / ? 3 : 4
    line[rank, ++number[rank]] = $0 }
  END { for (rank = 1; rank <= 4; rank++)
      for (at = 1; at <= number[rank]; at++)
        if (rank == 4 || shown++ < 20) print line[rank, at]
    if (shown > 20) print shown - 20 " more: `" all "` shows all" }')
printf '%s\n' "Remora's remarks on the change; mend what is right, and say why you leave the others:" "$remarks" >&2
exit 2
