#!/usr/bin/env bash
# Runs the test command on clean clones of a commit, in parallel with busy processes, and prints a table at the end.
#
# usage: Tests/Peers/clones.sh [CLONES [BUSY [COMMIT]]]      default: 10 clones, 3 busy processes, HEAD
set -euo pipefail
repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
clones=${1:-10} busy=${2:-3} commit=${3:-HEAD}
commit=$(git -C "$repository" rev-parse "$commit")

loops=()
trap 'kill "${loops[@]}" 2>/dev/null || true' EXIT
for ((number = 0; number < busy; number++)); do
    while :; do :; done &
    loops+=($!)
done

held=0 table='' TIMEFORMAT='%U %S'
work=$(mktemp -d -t navbus-clones-XXXXXX)
for ((number = 1; number <= clones; number++)); do
    clone=$work/$number begun=$SECONDS result=passed used=
    git clone --quiet --no-local "$repository" "$clone"
    git -C "$clone" checkout --quiet --detach "$commit"
    if used=$({ time "$clone/launch/test" >"$work/$number.log" 2>&1; } 2>&1); then
        held=$((held + 1))
        rm -rf "$clone"
    else
        result="failed, see $work/$number.log"
    fi
    minutes=$(awk '{ printf "%.1f", ($1 + $2) / 60 }' <<<"$used")
    table+=$(printf 'clone %3d %6d s %6s CPU min  %s' "$number" $((SECONDS - begun)) "$minutes" "$result")$'\n'
done
printf '%s%d of %d passed, with %d busy processes\n' "$table" "$held" "$clones" "$busy"
((held == clones))
