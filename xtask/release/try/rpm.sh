# By rpm, in a root folder that has it.
. "$LIB"
[ -x "$ROOT/usr/bin/rpm" ] || cannot "no rpm in this root"
enter
cp "$PACKAGES"/dbduel-*.rpm "$ROOT/tmp/dbduel.rpm"
installed 'rpm -i /tmp/dbduel.rpm' 'rpm -e dbduel; rm /tmp/dbduel.rpm'
