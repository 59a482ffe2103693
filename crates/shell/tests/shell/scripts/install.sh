#!/bin/sh
# What many installers look like.
set -e
fail() { echo "error: $*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

case "$(uname -s)-$(uname -m)" in
Linux-x86_64 | Linux-amd64)
    target=linux-x64 ;;
Darwin-*) target=macos
    ;;
*) fail "no binary for this machine" ;;
esac

prefix=${PREFIX:-"$HOME/.local"}
tmp=`mktemp -d "${TMPDIR:-/tmp}/x.XXXXXX"` || fail "no folder"
trap 'rm -rf "$tmp"' EXIT HUP INT TERM

if have curl; then
    curl -fsSL "https://example.com/$target.tar.gz" -o "$tmp/a.tar.gz"
elif have wget; then wget -qO "$tmp/a.tar.gz" "https://example.com/$target.tar.gz"
else fail 'neither curl nor wget'
fi

( cd "$tmp" && tar xzf a.tar.gz ) && mkdir -p "$prefix/bin"
for name in one two; do
    test -x "$tmp/$name" || continue
    cp "$tmp/$name" "$prefix/bin/" && chmod 755 "$prefix/bin/$name"
done
while :; do
    case :$PATH: in *":$prefix/bin:"*) break ;; esac
    cat >&2 <<EOF
Add this to your profile:
    export PATH="$prefix/bin:\$PATH"
EOF
    break
done
{ echo done; date '+%F %T'; } | tee "$prefix/log" > /dev/null
