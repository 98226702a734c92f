# Unpacked below a folder.
. "$LIB"
mkdir prefix
tar --zstd -xf "$PACKAGES"/dbduel-*-linux.tar.zst -C prefix --strip-components=1
measure prefix/bin/dbduel
page prefix/share/man
rm -r prefix
echo "first verdict after $seconds s, page by $read_by"
