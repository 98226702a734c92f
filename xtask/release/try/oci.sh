# The image's one layer as a root file system, for an ordinary user: nothing in it but the program.
. "$LIB"
mkdir layout root
tar -xf "$PACKAGES"/dbduel-*.oci.tar -C layout
layer=$(sed -n 's/.*"layers":\[{"digest":"sha256:\([0-9a-f]*\)".*/\1/p' layout/blobs/sha256/* 2>/dev/null | head -1)
[ -n "$layer" ] || layer=$(cd layout/blobs/sha256 && ls -S | head -1)
tar -xzf "layout/blobs/sha256/$layer" -C root
mkdir -p root/proc root/dev
unshare --user --map-root-user --mount true 2>/dev/null || cannot "no user namespaces here"
cat >run.sh <<'S'
mount --rbind /dev root/dev
mount -t proc proc root/proc
exec env -i PATH=/usr/bin HOME=/work unshare --root=root --wd=/work /usr/bin/dbduel "$@"
S
image() { unshare --user --map-root-user --mount --pid --fork sh -eu run.sh "$@"; }
measure_image() {
    image --version | grep -q static
    started=$(date +%s)
    image run quickstart --accept-noisy --set method.blocks=2 >duel.txt 2>duel.log || { tail -20 duel.log >&2; return 1; }
    seconds=$(($(date +%s) - started))
    find root -path '*/runs/*/report.html' | grep -q .
}
measure_image
echo "first verdict after $seconds s"
