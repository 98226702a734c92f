{ stdenvNoCC, fetchurl, zstd }:
stdenvNoCC.mkDerivation {
  pname = "dbduel";
  version = "{VERSION}";
  src = fetchurl { url = "{URL}/{FILE}"; sha256 = "{SHA256}"; };
  nativeBuildInputs = [ zstd ];
  dontStrip = true;
  installPhase = "mkdir $out && cp -r * $out";
  meta = { description = "Compares database servers in paired, interleaved trials"; platforms = [ "{NIX}-linux" ]; mainProgram = "dbduel"; };
}
