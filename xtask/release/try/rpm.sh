# By rpm, in a root folder that has it.
. "$LIB"
[ -x "$ROOT/usr/bin/rpm" ] || cannot "no rpm in this root"
enter
cp "$PACKAGES"/dbduel-*.rpm "$ROOT/root/dbduel.rpm"
installed 'rpm -i /root/dbduel.rpm' 'rpm -e dbduel; rm /root/dbduel.rpm'
