# By npm, into an empty folder and without a registry.
. "$LIB"
command -v npm >/dev/null || cannot "no npm here"
npm install --offline --no-audit --no-fund "$PACKAGES"/dbduel-linux-*.tgz "$PACKAGES"/dbduel-[0-9]*.tgz >npm.log 2>&1
measure npx --no -- dbduel
set +e
npx --no -- dbduel run nothing.toml 2>/dev/null
[ $? = 2 ] || { echo "another exit status than the program's" >&2; exit 1; }
set -e
npm uninstall dbduel $(node -p '`dbduel-linux-${process.arch}`') >npm.log 2>&1
left=$(find node_modules -name '*dbduel*' 2>/dev/null || true)
[ -z "$left" ] || { echo "left: $left" >&2; exit 1; }
echo "first verdict after $seconds s, removed without a rest"
