# Forms that are seldom seen together.
function outer {
    local -r x=${1-} y=${2:?needs two}
    inner() ( cd / || return; pwd )
    inner | while IFS=: read -r a _ b; do echo "$a${b:+, $b}"; done
}
for ((i = 0; i < 10; i += 2)); do
    until ! false; do break; done
    (( i % 4 )) || continue
done
select word in one two; do echo "$word"; break; done < /dev/null
coproc { sleep 1; }
time -p { true; }
[[ $x =~ ^([a-z]+)(-[0-9]*)?$ && ! -e /none ]] && echo "${BASH_REMATCH[1]}"
diff <(sort a) <(sort b) > >(cat) 2>&1
exec 3< /dev/null {fd}>&1 3<&- 4<> /dev/null
echo {a,b}{1..3} ~ ~root $'a\tb\'' $"x" "$'x'" '`' \` "\`" "${x//\//_}" ${x%%*([0-9])} "${x@Q}" "${!x}" "$((16#ff ** 2))"
echo "$(echo "$(echo "`echo \"nested\"`")")" # "$( and no more
case $x in (a) ;; b|c) echo b ;& [!d]*) echo d ;;& *) esac
cat <<A <<'B' - <<< "here $x"
$(echo one) ${x:-`echo two`}
A
$(not run
B
! { true && false; } || if true; then :; fi &
wait $!
