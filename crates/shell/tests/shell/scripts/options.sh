#!/bin/bash
# Options, arrays and a here-document.
set -euo pipefail

readonly NAME=${0##*/}
declare -a files=()
declare -A seen=([a]=1 ['b c']=2)
verbose=false output= level=$((1 + 2))

usage() {
    cat <<-EOF
	usage: $NAME [-v] [-o FILE] [--] FILE...
	  -v  say more; now ${verbose:-no}
	  \$HOME stays as it is
	EOF
    exit "${1:-0}"
}

while getopts ':vo:h' option; do
    case $option in
        v) verbose=true ;;
        o) output=$OPTARG ;;
        h) usage ;;
        :) printf '%s: -%s needs a value\n' "$NAME" "$OPTARG" >&2; usage 2 ;;
        \?|*) usage 2 ;;
    esac
done
shift $((OPTIND - 1))

for file in "$@"; do
    [[ -n ${seen[$file]:-} ]] && continue
    seen[$file]=1
    files+=("$file")
done

if ((${#files[@]} == 0)); then
    usage 2
elif [[ $output == *.txt || ( -z $output && $level -gt 2 ) ]]; then
    printf '%s\n' "${files[@]/#/- }" "${!seen[@]}" > "${output:-/dev/stdout}"
else
    echo "nothing for ${files[*]:0:2}" 1>&2 || true
fi
