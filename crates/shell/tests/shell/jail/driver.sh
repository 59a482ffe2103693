# Runs inside the jail: each text of the batch in a Bash of its own, and what is there before and after.
# A record is four values of variables, a working folder and a text, each ended by a NUL.
cp -a /jail/fixture/. /
mkdir -p /canary /log /tmp /var/tmp
while read -r name; do
    printf '#!/bin/dash\necho > "/log/%s.$$"\n' "$name" > "/canary/$name"
    chmod 755 "/canary/$name"
done < /jail/canaries
ulimit -c 0 -u 48 -t 4 -f 40000 -v 3000000
unset OLDPWD

look() {
    find / /dev/shm -xdev \( -path /proc -o -path /dev -o -path /usr -o -path /etc -o -path /jail \) -prune \
        -o \( -path /tmp -o -path /dev/shm \) -printf '%p\n' \
        -o -printf '%p\t%y\t%M\t%n\t%s\t%T@\t%C@\t%l\n'

    # Also the packets that were tried to send: nothing is there to take them.
    sed -n 's/^Tcp: [0-9]* [0-9]* [0-9]* [-0-9]* \([0-9]*\) .*/connections \1/p; s/^Udp: [0-9]* [0-9]* [0-9]* \([0-9]*\) .*/datagrams \1/p' \
        /proc/net/snmp
}

echo BEFORE
look
echo TEXTS
exec 3< /jail/batch
while IFS= read -r -d '' -u 3 a; do
    IFS= read -r -d '' -u 3 b
    IFS= read -r -d '' -u 3 c
    IFS= read -r -d '' -u 3 d
    IFS= read -r -d '' -u 3 folder
    IFS= read -r -d '' -u 3 text
    (
        cd "$folder" || exit
        export X=$a FILE=$a f=$a Y=$b DIR=$b x=$b Z=$c NAME=$c i=$c W=$d LINE=$d n=$d
        unset a b c d folder
        exec timeout -s KILL 1 /bin/bash -c "$text" < /dev/null > /dev/null 2>&1 3<&-
    ) 2> /dev/null
    # What runs on in the background gets a moment, and then ends.
    set -- /proc/[0-9]*
    if (($# > 2)); then
        sleep 0.03
        kill -KILL -1
    fi
done
echo AFTER
look
echo END
