# By dpkg, in a root folder of Debian or a relative.
. "$LIB"
[ -x "$ROOT/usr/bin/dpkg" ] || cannot "no dpkg in this root"
enter
cp "$PACKAGES"/dbduel_*.deb "$ROOT/root/dbduel.deb"
installed 'dpkg -i /root/dbduel.deb' 'dpkg --purge dbduel; rm /root/dbduel.deb'
