# By pip, into an environment of its own.
. "$LIB"
command -v python3 >/dev/null || cannot "no python3 here"
python3 -m venv env
env/bin/pip install --quiet --no-index "$PACKAGES"/dbduel-*.whl
measure env/bin/dbduel
page env/share/man
env/bin/pip uninstall --quiet --yes dbduel
left=$(find env -name '*dbduel*')
[ -z "$left" ] || { echo "left: $left" >&2; exit 1; }
echo "first verdict after $seconds s, page by $read_by, removed without a rest"
