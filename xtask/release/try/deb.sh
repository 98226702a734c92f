# By dpkg, in a root folder of Debian or a relative.
. "$LIB"
[ -x "$ROOT/usr/bin/dpkg" ] || cannot "no dpkg in this root"
enter
cp "$PACKAGES"/dbduel_*.deb "$ROOT/tmp/dbduel.deb"
installed 'dpkg -i /tmp/dbduel.deb' 'dpkg --purge dbduel; rm /tmp/dbduel.deb'
