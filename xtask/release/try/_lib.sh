# What every package is asked to do, by the scripts beside this file.

# The program, as it is started here: says what it is, measures, completes.
measure() {
    "$@" --version | grep -q static
    mkdir -p home
    HOME=$PWD/home
    export HOME
    started=$(date +%s)
    "$@" run quickstart --accept-noisy --set method.blocks=2 >duel.txt 2>duel.log || { tail -20 duel.log >&2; return 1; }
    grep -q "95 % CI" duel.txt
    seconds=$(($(date +%s) - started))
    [ -f runs/last/report.html ] || ls -d runs/*/report.html >/dev/null
    DBDUEL_COMPLETE=bash _CLAP_COMPLETE_INDEX=1 "$@" -- dbduel ru | grep -q run
}

# A page below a folder of manual pages, as a reader has it; where there is no reader, that it can be unpacked.
page() {
    if command -v man >/dev/null; then
        man -M "$1" dbduel-run | grep -q -- --resume
        read_by=man
    else
        gzip -dc "$1/man1/dbduel-run.1.gz" | grep -q resume
        read_by=gzip
    fi
}

cannot() {
    echo "$1"
    exit 77
}

# Into the root folder of a distribution, with what a machine has there; nothing of it is seen outside.
enter() {
    [ "$(id -u)" = 0 ] || cannot "needs root, for chroot"
    [ -n "${INSIDE:-}" ] || INSIDE=1 exec unshare --mount sh -eu "$0"
    mount -t proc proc "$ROOT/proc"
    mount --rbind /dev "$ROOT/dev"
}

# With the environment of an ordinary login.
inside() {
    chroot "$ROOT" /usr/bin/env -i HOME=/root TERM=dumb LANG=C.UTF-8 PATH=/usr/sbin:/usr/bin:/sbin:/bin "$@"
}

# Every file of the root, without what belongs to the user, to logs and to the package client.
listing() {
    (cd "$ROOT" && find . -xdev \( -path ./proc -o -path ./sys -o -path ./dev -o -path ./tmp -o -path ./var/log \
        -o -path ./var/cache -o -path ./var/lib/dpkg -o -path ./var/lib/rpm -o -path ./root \) -prune -o -print | sort)
}

# An installed package in a root: `installed INSTALL... -- REMOVE...`, each with its program.
installed() {
    listing >before.txt
    mkdir -p "$ROOT/root/try"
    inside sh -ceu "$1"
    cp "$LIB" "$ROOT/root/try/lib.sh"
    inside sh -ceu 'cd /root/try && . ./lib.sh && measure dbduel && page /usr/share/man && echo "$seconds $read_by" >result'
    inside bash -ceu 'source /usr/share/bash-completion/completions/dbduel; complete -p dbduel' >/dev/null
    test -f "$ROOT/usr/lib/systemd/user/dbduel.service"
    read -r seconds read_by <"$ROOT/root/try/result"
    inside sh -ceu "$2"
    listing >after.txt
    diff before.txt after.txt
    # The user's: runs and the cache, and nothing beside them.
    (cd "$ROOT/root/try" && rm -rf runs home/.cache lib.sh duel.txt duel.log result && rmdir home && rmdir ../try)
    echo "first verdict after $seconds s, page by $read_by, removed without a rest"
}
