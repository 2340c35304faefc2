#!/bin/sh
# One turn of an agent whose session is a JSON file of this script's own shape; the pin goes in beside the rest.
# Usage: agent-loop.sh SESSION.json PROJECT COMMAND [OPTION OF sandbox-pin check]...
set -eu

session=$1 project=$2 command=$3
shift 3

# region check
# Ends here, with the status of the check, where the pin or anything else forbids the launch.
told=$(sandbox-pin check --json --state "$session" --log "${session%.json}.log" --kind local --tree "$project" "$@")
mode=$(printf '%s' "$told" | python3 -c 'import json, sys; print(json.load(sys.stdin)["decision"]["pin"]["mode"])')
# endregion

echo "agent-loop: this turn runs under $mode"
cd "$project"
case $mode in
disabled) sh -c "$command" ;;
*) bwrap --unshare-user --unshare-pid --die-with-parent --ro-bind / / --dev /dev --proc /proc --tmpfs /tmp \
    --bind "$project" "$project" --chdir "$project" sh -c "$command" ;;
esac

# The script rewrites its session as it always has; the pin is one more key to it.
python3 - "$session" <<'PYTHON'
import json, os, sys

with open(sys.argv[1]) as file:
    session = json.load(file)
session["loop"]["turns"] += 1
with open(sys.argv[1] + ".new", "w") as file:
    json.dump(session, file, indent=2)
os.replace(sys.argv[1] + ".new", sys.argv[1])
PYTHON
